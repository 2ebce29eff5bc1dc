/* sim_feed_test.c -- readers of a feed get what happened, whatever happens
 * to the server.
 *
 * Goal: what the feed promises (F1 to F7), and D1 to D4 as its readers see
 * them, for rest, engine, waiters, committer and local store together. Method:
 * a seed is a world (sim_server.h) in which three writers, six readers of every
 * kind and one that splits and merges are served, while entries are brought
 * home three at a time.  A world has several lives; each ends by a power cut at
 * some call, in recovery too, or by a stop.  In the end everything is read once
 * more, and what all of them saw is checked as the histories of real servers
 * are (history/check.h).  Here time stands still unless somebody waits, so a
 * reader that was woken late is found, too.
 *
 * A seed that fails is printed; `--seed N --trace` shows all it did.
 */
#include "seeds.h"
#include "sim_server.h"

#include "history/check.h"
#include "history/reader.h"
#include "history/writer.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WRITERS = 3,
    READERS = 6,
    ALL =
        WRITERS + READERS + 2, /* one splits and merges, one begins and ends */
    KEYS = 12,
    SLOTS = 3,
    GROUP = 3,
    PAGE_MAX = 6,
    WAIT_S = 1,
    MS = 1000000,
    LATE_NS = 600 * MS, /* less than anyone waits for */
    STEPS_MAX = 500,    /* of one life */
    STEPS_END = 100000, /* to finish */
};

struct shared {
    atomic_ullong lives, cuts, changes, pages, items, splits, merges, waits;
};

static struct {
    struct rn_sim *sim;
    struct rn_prng *prng;
    struct client clients[ALL];
    struct reader readers[ALL];
    uint64_t haste; /* of all; where it is large nobody waits in vain */
    bool is_over, is_trace;
    char wrong[256];
} world;

static void wrong(const char *format, ...) RN_PRINTF(1, 2);
static void wrong(const char *format, ...)
{
    va_list rest;

    if (world.wrong[0])
        return;
    va_start(rest, format);
    vsnprintf(world.wrong, sizeof(world.wrong), format, rest);
    va_end(rest);
}

/* ---- tasks --------------------------------------------------------------- */

static void pause_a_while(struct client *c, uint64_t ns)
{
    sim_server_sleep((int64_t)(1 + rn_prng_below(&c->prng, ns / world.haste)));
}

static void run_writer(struct client *c)
{
    struct rn_buf text;

    writer_init(&text);
    while (!c->broken && !world.is_over) {
        writer_step(c, &text);
        pause_a_while(c, 300 * MS);
    }
    rn_buf_release(&text);
}

static unsigned draw_max(struct client *c)
{
    return rn_prng_percent(&c->prng, 40)
               ? 1
               : 1 + (unsigned)rn_prng_below(&c->prng, PAGE_MAX);
}

static void run_reader(struct client *c)
{
    struct reader *r = &world.readers[c->number];
    enum reader_kind kind = (enum reader_kind)(c->number % 4);
    uint32_t key = (uint32_t)rn_prng_below(&c->prng, KEYS / 2);

    if (kind != READER_KEY && kind != READER_EPKS)
        key = 0;
    reader_init(r, c, kind, key,
                kind == READER_KEY    ? 1
                : kind == READER_EPKS ? KEYS / 2
                                      : KEYS,
                rn_prng_percent(&c->prng, 20));
    while (!c->broken && !world.is_over) {
        unsigned wait_s = rn_prng_percent(&c->prng, 60) ? WAIT_S : 0;

        if (!reader_step(r, draw_max(c), wait_s))
            pause_a_while(c, 200 * MS);
        if (rn_prng_percent(&c->prng, 10))
            reader_save(r);
        if (rn_prng_percent(&c->prng, 5))
            reader_go_back(r);
    }
    while (!c->broken && reader_step(r, PAGE_MAX, 0))
        ;
}

static void run_shaper(struct client *c)
{
    while (!c->broken && !world.is_over) {
        uint64_t times = 1 + rn_prng_below(&c->prng, 4);

        pause_a_while(c, 1000 * MS);
        while (times--) /* faster than entries come home */
            shape_change(c);
    }
}

static void run_first(struct client *c)
{
    if (!shape_make(c))
        c->broken = "there is no container";
}

/* Everything once more, when nobody writes. */
static void run_last(struct client *c)
{
    for (uint32_t i = 0; i < 3 + KEYS && !c->broken; i++) {
        static const enum reader_kind kinds[] = { READER_RANGES, READER_EPKS,
                                                  READER_ALL };
        struct reader *r = &world.readers[c->number];

        if (i < 3)
            reader_init(r, c, kinds[i], 0, KEYS, false);
        else
            reader_init(r, c, READER_KEY, i - 3, 1, false);
        while (reader_step(r, PAGE_MAX, 0) && !c->broken)
            ;
    }
}

/* ---- lives --------------------------------------------------------------- */

/* A cut may spoil an attempt; without one it must succeed. */
static bool open_somehow(struct shared *shared)
{
    struct rn_err err = { 0 };
    enum rn_code rc = sim_server_open(&err);

    if (rc && rn_sim_is_cut(world.sim)) {
        rn_sim_crash(world.sim);
        rn_sim_cut_after(world.sim, UINT64_MAX);
        atomic_fetch_add(&shared->cuts, 1);
        rc = sim_server_open(&err);
    }
    if (rc)
        wrong("opening: %s", err.text);
    client_note_start(&world.clients[ALL - 1]);
    return !rc;
}

static void end_life(struct shared *shared)
{
    if (rn_prng_percent(world.prng, 70))
        rn_sim_cut_after(world.sim, 0);
    sim_server_close();
    if (rn_sim_is_cut(world.sim)) {
        rn_sim_crash(world.sim);
        atomic_fetch_add(&shared->cuts, 1);
    }
    rn_sim_cut_after(world.sim, UINT64_MAX);
    atomic_fetch_add(&shared->lives, 1);
}

static void live(struct shared *shared)
{
    uint64_t steps = rn_prng_below(world.prng, STEPS_MAX);

    if (rn_prng_percent(world.prng, 60))
        rn_sim_cut_after(world.sim, 1 + rn_prng_below(world.prng, 400));
    if (!open_somehow(shared))
        return;
    while (steps-- && rn_sim_step(world.sim))
        ;
    end_life(shared);
}

static bool run_to_end(const char *what)
{
    int steps = STEPS_END;

    while (!sim_server_has_ended() && steps-- && rn_sim_step(world.sim))
        ;
    if (!sim_server_has_ended())
        wrong("%s does not end", what);
    return sim_server_has_ended();
}

static void run_world(struct shared *shared)
{
    uint64_t lives = 2 + rn_prng_below(world.prng, 3);

    if (!open_somehow(shared))
        return;
    sim_server_run(&world.clients[ALL - 1], run_first);
    if (!run_to_end("the beginning"))
        return;
    for (uint32_t i = 0; i < ALL - 1; i++)
        sim_server_run(&world.clients[i], i < WRITERS             ? run_writer
                                          : i < WRITERS + READERS ? run_reader
                                                                  : run_shaper);
    end_life(shared);
    for (uint64_t i = 0; i < lives && !world.wrong[0]; i++)
        live(shared);
    world.is_over = true;
    if (world.wrong[0] || !open_somehow(shared) || !run_to_end("somebody"))
        return;
    sim_server_run(&world.clients[ALL - 1], run_last);
    run_to_end("the last reader");
}

/* ---- the verdict --------------------------------------------------------- */

static void judge(struct shared *shared)
{
    struct history_verdict v = { 0 };
    struct shape_count shapes = shape_count();
    struct history_entry *all;
    size_t n = 0, at = 0;

    for (size_t i = 0; i < ALL; i++)
        n += world.clients[i].count;
    all = malloc((n + 1) * sizeof(*all));
    if (!all)
        abort();
    for (size_t i = 0; i < ALL; i++) {
        const struct client *c = &world.clients[i];
        if (c->broken)
            wrong("client %u: %s", c->number, c->broken);
        if (c->count)
            memcpy(all + at, c->log, c->count * sizeof(*all));
        at += c->count;
    }
    if (history_check(all, n, world.is_trace ? stdout : NULL, &v))
        abort();
    free(all);
    if (history_violations(&v))
        wrong("%zu violations (order %zu, content %zu, unique %zu, phantom "
              "%zu, feed %zu)",
              history_violations(&v), v.order, v.content, v.unique, v.phantom,
              v.feed);
    if (v.late_ns > LATE_NS)
        wrong("a reader that waited was answered %llu ms late",
              (unsigned long long)v.late_ns / 1000000);
    atomic_fetch_add(&shared->changes, v.writes);
    atomic_fetch_add(&shared->pages, v.pages);
    atomic_fetch_add(&shared->items, v.items);
    atomic_fetch_add(&shared->waits, v.waits);
    atomic_fetch_add(&shared->splits, shapes.splits);
    atomic_fetch_add(&shared->merges, shapes.merges);
}

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
}

static bool run_seed(uint64_t seed, void *all, bool trace)
{
    struct shared *shared = all;

    memset(&world, 0, sizeof(world));
    world.sim = rn_sim_new(seed);
    world.prng = rn_sim_prng(world.sim);
    world.is_trace = trace;
    world.haste = rn_prng_percent(world.prng, 50) ? 1 : 200;
    if (trace)
        rn_sim_trace(world.sim, print_line, NULL);
    server_process.keys = KEYS;
    writers.count = WRITERS;
    writers.slots = SLOTS;
    writers.group = GROUP;
    atomic_store(&writers.tokens, 0);
    shape_init();
    sim_server_begin(world.sim);
    for (uint32_t i = 0; i < ALL; i++)
        client_init(&world.clients[i], i, seed);
    run_world(shared);
    sim_server_end();
    if (!world.wrong[0])
        judge(shared);
    for (uint32_t i = 0; i < ALL; i++)
        client_release(&world.clients[i]);
    if (!world.wrong[0] && rn_sim_open_files(world.sim))
        wrong("%u files left open", rn_sim_open_files(world.sim));
    if (world.wrong[0])
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed,
                world.wrong);
    rn_sim_free(world.sim);
    return !world.wrong[0];
}

static bool report(const void *shared)
{
    const struct shared *s = shared;

    printf("  %llu lives, %llu power cuts, %llu splits, %llu merges; %llu "
           "changes, %llu pages with %llu of them, %llu after a wait\n",
           (unsigned long long)s->lives, (unsigned long long)s->cuts,
           (unsigned long long)s->splits, (unsigned long long)s->merges,
           (unsigned long long)s->changes, (unsigned long long)s->pages,
           (unsigned long long)s->items, (unsigned long long)s->waits);
    return s->changes && s->waits && s->merges;
}

int main(int argc, char **argv)
{
    static const struct seeds_plan plan = {
        .seeds = 5000,
        .seeds_prove = 500000,
        .shared_bytes = sizeof(struct shared),
        .run = run_seed,
        .report = report,
    };

    return seeds_run(argc, argv, &plan);
}
