/* sim_store_test.c -- the store keeps its promises on a disk that does not.
 *
 * Goal: D1 to D6 for committer, local store, WAL and checkpoints together.
 * Method: a seed is a world (base/sim.h) in which clients, committer and
 * maintenance thread are tasks of one thread and the map is a tree over the
 * world's files (map_tree.h).  A world has several lives; each ends by a power
 * cut at some call, by a stop, or by a program that gives up on a failing disk.
 * Calls fail and the disk fills up by the seed.  After each life the store is
 * opened again and compared with the answers to the clients (clients.h).
 *
 * A seed that fails is printed; `--seed N --trace` shows all it did.
 */
#include "clients.h"
#include "map_tree.h"
#include "seeds.h"

#include "store/local/local.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    STEPS_MAX = 250, /* of one life */
    RELIEF_MS = 5000,
};

struct shared {
    atomic_ullong lives, cuts, faults, acked, unknowns, full, reads;
};

struct world {
    struct rn_sim *sim;
    struct rn_prng *prng;
    struct clients clients;
    struct rn_store *store;
    bool faulty; /* calls fail in this life */
    struct shared *shared;
};

/* ---- trouble ------------------------------------------------------------- */

static void draw_fault(struct world *w)
{
    static const enum rn_sim_call calls[] = {
        RN_SIM_OPEN,  RN_SIM_PWRITE,  RN_SIM_PWRITE, RN_SIM_SYNC,
        RN_SIM_SYNC,  RN_SIM_RESERVE, RN_SIM_RENAME, RN_SIM_REMOVE,
        RN_SIM_SPACE, RN_SIM_PREAD,   RN_SIM_SIZE,   RN_SIM_SYNC_DIR,
    };
    enum rn_sim_call call =
        calls[rn_prng_below(w->prng, sizeof(calls) / sizeof(calls[0]))];
    bool common = call == RN_SIM_PWRITE || call == RN_SIM_SYNC ||
                  call == RN_SIM_PREAD || call == RN_SIM_SIZE;

    rn_sim_fail(w->sim, call, 1 + rn_prng_below(w->prng, common ? 80 : 8),
                rn_prng_percent(w->prng, 50) ? EIO : ENOSPC,
                rn_prng_percent(w->prng, 70) ? RN_SIM_ONCE : RN_SIM_FOR_EVER);
    w->faulty = true;
    atomic_fetch_add(&w->shared->faults, 1);
}

static void draw_trouble(struct world *w)
{
    /* Often soon: what opening made of the last life's trouble is not yet
     * buried under new records then. */
    uint64_t calls = rn_prng_percent(w->prng, 50) ? 60 : 250;

    if (rn_prng_percent(w->prng, 60))
        rn_sim_cut_after(w->sim, 1 + rn_prng_below(w->prng, calls));
    if (rn_prng_percent(w->prng, 40))
        draw_fault(w);
    rn_sim_spoil(w->sim, rn_prng_percent(w->prng, 30) ? 40 : 0);
}

static void end_trouble(struct world *w)
{
    for (int call = 0; call < RN_SIM_CALLS; call++)
        rn_sim_fail(w->sim, (enum rn_sim_call)call, 0, 0, RN_SIM_ONCE);
    rn_sim_disk_limit(w->sim, UINT64_MAX);
    w->faulty = false;
}

static void lose_power(struct world *w)
{
    rn_sim_crash(w->sim);
    atomic_fetch_add(&w->shared->cuts, 1);
}

/* ---- lives --------------------------------------------------------------- */

static enum rn_code open_store(struct world *w, struct rn_err *err)
{
    struct rn_store_opts opts = {
        .env = rn_sim_env(w->sim),
        .where = "/data",
        .busy_ms = 1, /* of real time, while no task can make room */
        .readers_max = 8,
        .reader_ms_max = 1000,
        .segment_bytes = 64 << 10,
        .wal_bytes = 4 * (64 << 10),
        .memtable_bytes = 12 << 10,
        .checkpoint_bytes = 30 << 10,
        .checkpoint_ms = 50,
        .throttle_bytes = 200 << 10,
        .reserve_bytes = 32 << 10,
        .ahead_bytes = 32 << 10,
    };

    return rn_local_open_with(&rn_map_tree, &opts, &w->store, err);
}

/* A fault, or a cut, may spoil an attempt; without them it must succeed. */
static bool open_somehow(struct world *w)
{
    struct rn_err err = { 0 };
    enum rn_code rc = open_store(w, &err);

    if (rc && (w->faulty || rn_sim_is_cut(w->sim))) {
        if (rn_sim_is_cut(w->sim) || rn_prng_percent(w->prng, 30)) {
            rn_sim_cut_after(w->sim, 0);
            lose_power(w);
        }
        rn_sim_cut_after(w->sim, UINT64_MAX);
        end_trouble(w);
        rc = open_store(w, &err);
    }
    if (rc)
        clients_wrong(&w->clients, "opening: %s", err.text);
    return !rc;
}

/* D6: the disk fills up, and soon after there is space again all is well. */
static void fill_up(struct world *w)
{
    struct rn_env *env = rn_sim_env(w->sim);
    uint64_t limit = rn_prng_below(w->prng, 1 << 20), before;
    int64_t until;

    rn_sim_disk_limit(w->sim, limit);
    for (int i = 0; i < STEPS_MAX / 4; i++)
        rn_sim_step(w->sim);
    rn_sim_disk_limit(w->sim, UINT64_MAX);
    before = w->clients.acked;
    until = rn_mono_ns(env) + RELIEF_MS * INT64_C(1000000);
    while (w->clients.acked == before && !w->clients.ended &&
           rn_mono_ns(env) < until && rn_sim_step(w->sim))
        ;
    if (w->clients.acked == before && !w->clients.ended && !w->faulty &&
        !rn_sim_is_cut(w->sim))
        clients_wrong(&w->clients, "no write %d ms after space came back",
                      RELIEF_MS);
}

static void live(struct world *w)
{
    struct rn_err err = { 0 };

    clients_resolve(&w->clients, w->store);
    if (clients_start(&w->clients, w->store, &err)) {
        clients_wrong(&w->clients, "%s", err.text);
        return;
    }
    if (rn_prng_percent(w->prng, 25))
        fill_up(w);
    for (int i = 0; i < STEPS_MAX && !w->clients.wrong[0]; i++) {
        if (!rn_sim_step(w->sim))
            break;
    }
    if (rn_prng_percent(w->prng, 30))
        rn_sim_cut_after(w->sim, 0);
    clients_stop(&w->clients);
    rn_store_close(w->store);
    w->store = NULL;
}

static void one_life(struct world *w)
{
    draw_trouble(w);
    if (open_somehow(w))
        live(w);
    if (rn_sim_is_cut(w->sim) || rn_prng_percent(w->prng, 50)) {
        rn_sim_cut_after(w->sim, 0);
        lose_power(w);
    }
    rn_sim_cut_after(w->sim, UINT64_MAX);
    end_trouble(w);
    atomic_fetch_add(&w->shared->lives, 1);
}

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
}

static bool run_seed(uint64_t seed, void *all, bool trace)
{
    struct shared *shared = all;
    struct world w = { .sim = rn_sim_new(seed), .shared = shared };
    uint64_t lives;

    w.prng = rn_sim_prng(w.sim);
    if (trace)
        rn_sim_trace(w.sim, print_line, NULL);
    clients_init(&w.clients, w.sim);
    lives = 3 + rn_prng_below(w.prng, 5);
    for (uint64_t i = 0; i < lives && !w.clients.wrong[0]; i++)
        one_life(&w);
    if (!w.clients.wrong[0] && rn_sim_open_files(w.sim))
        clients_wrong(&w.clients, "%u files left open",
                      rn_sim_open_files(w.sim));
    if (w.clients.wrong[0]) {
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed,
                w.clients.wrong);
    }
    atomic_fetch_add(&shared->acked, w.clients.acked);
    atomic_fetch_add(&shared->unknowns, w.clients.unknowns);
    atomic_fetch_add(&shared->full, w.clients.full);
    atomic_fetch_add(&shared->reads, w.clients.reads);
    rn_sim_free(w.sim);
    return !w.clients.wrong[0];
}

/* ---- many ---------------------------------------------------------------- */

static bool report(const void *shared)
{
    const struct shared *s = shared;

    printf("  %llu lives, %llu power cuts, %llu faults ordered; operations: "
           "%llu acknowledged, %llu unknown, %llu full; %llu reads\n",
           (unsigned long long)s->lives, (unsigned long long)s->cuts,
           (unsigned long long)s->faults, (unsigned long long)s->acked,
           (unsigned long long)s->unknowns, (unsigned long long)s->full,
           (unsigned long long)s->reads);
    return s->acked > 0;
}

int main(int argc, char **argv)
{
    static const struct seeds_plan plan = {
        .seeds = 1000,
        .seeds_prove = 200000,
        .shared_bytes = sizeof(struct shared),
        .run = run_seed,
        .report = report,
    };

    return seeds_run(argc, argv, &plan);
}
