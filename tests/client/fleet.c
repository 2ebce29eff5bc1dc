/* fleet.c -- see fleet.h. */
#include "client/fleet_own.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROUNDS = 40,
    ROUND_MS = 3000, /* at most */
    KEYS = 6,
    /* R3: the expiry less its margin of a second, by a clock that is slow by 10
     * %. */
    VALID_MS = (FLEET_EXPIRE_MS - 1000) * 100 / 90 + 1,
};

#define YEAR_MS (INT64_C(365) * 24 * 3600 * 1000)

/* ---- hosts --------------------------------------------------------------- */

static void host_options(struct fleet *f, struct host *h,
                         runnel_processor_options *o, runnel_feed_options *feed)
{
    *feed = (runnel_feed_options){
        RUNNEL_FEED_INIT,
        .mode = f->is_full ? RUNNEL_FEED_ALL : RUNNEL_FEED_LATEST,
        .start = f->is_full ? RUNNEL_START_NOW : RUNNEL_START_BEGINNING,
        .page_limit = f->page_limit
    };
    *o = (runnel_processor_options){
        RUNNEL_PROCESSOR_INIT,
        .name = "fleet",
        .host = h->name,
        .feed = feed,
        .poll_ms = 500,
        .wait_ms = f->can_wait ? 3000 : RUNNEL_OFF,
        .lease_renew_ms = FLEET_RENEW_MS,
        .lease_acquire_ms = FLEET_ACQUIRE_MS,
        .lease_expire_ms = FLEET_EXPIRE_MS,
        .leases_per_range = f->leases_per_range,
        .weigh_leases = f->is_weighed,
        .min_leases = f->min_leases,
        .batch_limit = f->batch_limit,
        .parallel = f->parallel,
        .pending_limit = f->pending_limit,
        .single_key = f->is_single_key,
        .whole_batch = f->is_whole_batch,
        .manual_checkpoint = f->is_manual,
        .threads = 4,
        .retry_attempts = 3,
        .retry_delay_ms = 100,
        .retry_delay_max_ms = 2000,
        .exhausted = f->has_dead_letters ? RUNNEL_DEAD_LETTER : RUNNEL_BLOCK,
        .stuck_ms = 5000,
        .give_up_ms = 20000,
        .start_ms = 60000,
        .stop_ms = 5000,
        .event = runnel_event_ignore,
    };
}

static void on_wake(void *context)
{
    struct host *h = context;

    skewed_wake(&h->env);
}

void fleet_host_start(struct fleet *f, struct host *h, const char *name)
{
    runnel_observer observer = fleet_observer;
    struct rn_config_containers at = { 0 };
    runnel_processor_options options;
    runnel_feed_options feed;
    struct rn_config config;
    runnel_error error = { 0 };

    *h = (struct host){ .fleet = f, .number = ++f->numbers };
    observer.context = h;
    snprintf(h->name, sizeof(h->name), "%s", name);
    skewed_init(&h->env, rn_sim_env(f->w.sim));
    if (roll(f, 50)) {
        h->env.ahead_ms = (int64_t)below(f, 2 * YEAR_MS) - YEAR_MS;
        h->env.drift = (int)below(f, 21) - 10;
    }
    h->account = world_account(&f->w, &h->env.env, &h->network);
    scripted_name(h->network, h->number);
    scripted_on_wake(h->network, on_wake, h);
    if (rn_client_container_open(h->account, "d", "c", &h->source, NULL) ||
        rn_client_container_open(h->account, "d", "leases", &h->leases, NULL))
        abort();
    at.source = h->source;
    at.leases = h->leases;
    host_options(f, h, &options, &feed);
    if (rn_config_init(&config, &options, &observer, &at, &h->env.env,
                       &error) ||
        rn_host_start(&config, &h->engine, &error)) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    f->figures->starts++;
}

void fleet_host_kill(struct host *h)
{
    if (!h->engine)
        return;
    checker_killed(&h->fleet->checker, h->number);
    rn_host_kill(h->engine);
    h->engine = NULL;
    fleet_forget(h);
    rn_client_container_unref(h->source);
    rn_client_container_unref(h->leases);
    rn_account_unref(h->account);
}

runnel_processor_state fleet_host_state(const struct host *h)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(h->engine, &stats);
    return stats.state;
}

/* One that has failed or stopped is freed. */
static void host_reap(struct host *h)
{
    runnel_processor_state state;

    if (!h->engine || h->env.is_paused)
        return;
    state = fleet_host_state(h);
    if (state == RUNNEL_STOPPED || state == RUNNEL_FAILED)
        fleet_host_kill(h);
}

bool fleet_host_is_live(void *context, const char *name)
{
    struct fleet *f = context;

    for (int i = 0; i < FLEET_HOSTS; i++) {
        if (f->hosts[i].engine && strcmp(f->hosts[i].name, name) == 0)
            return true;
    }
    return fleet_peer_is_live(f, name);
}

/* ---- the world ----------------------------------------------------------- */

static void on_commit(void *context, const struct service_box *box,
                      const struct service_entry *e)
{
    struct fleet *f = context;

    if (box == f->leases)
        checker_lease(&f->checker, e, f->w.wire.sender, f->w.wire.sent_ns);
}

static int64_t wire_step(void *context)
{
    struct fleet *f = context;

    return scripted_step(&f->w.wire);
}

void fleet_write_some(struct fleet *f)
{
    for (uint64_t n = below(f, 4); n > 0; n--) {
        bool is_new = !f->is_full || f->documents < 4 || roll(f, 50);
        unsigned id =
            is_new ? f->documents++ : (unsigned)below(f, f->documents);
        char json[80], name[16], pk[16];

        snprintf(name, sizeof(name), "%u", id);
        snprintf(pk, sizeof(pk), "[%u]", id % KEYS);
        snprintf(json, sizeof(json), "{\"id\":\"%u\",\"pk\":%u}", id,
                 id % KEYS);
        if (!is_new && roll(f, 30))
            (void)service_delete(f->w.box, name, pk);
        else
            (void)service_upsert(f->w.box, json);
    }
}

static void split_or_merge(struct fleet *f)
{
    struct service_box *box = f->w.box;
    struct service_range *range = &box->ranges[below(f, box->range_count)];
    int64_t closing = (int64_t)below(f, 500);

    while (range->gone)
        range = &box->ranges[below(f, box->range_count)];
    if (roll(f, 60) || f->is_version_2 ||
        rn_epk_compare(&range->keys.max, &rn_epk_all.max) == 0)
        f->figures->splits += service_split(box, range->id, closing);
    else
        f->figures->merges += service_merge(
            box, range->id,
            service_range_of(box, rn_epk_view(&range->keys.max))->id, closing);
}

/* Something happens to one host, or to all. */
static void disturb(struct fleet *f)
{
    struct host *h = &f->hosts[below(f, FLEET_HOSTS)];
    uint64_t what = below(f, 12);
    char name[16];

    snprintf(name, sizeof(name), "h%d", (int)(h - f->hosts));
    checker_note(&f->checker, "%lld ms: disturb %s, host %d, %d",
                 (long long)(now_of(f) / 1000000), name, h->number, (int)what);
    switch (what) {
    case 0:
    case 1:
        f->figures->kills += h->engine != NULL;
        fleet_host_kill(h);
        break;
    case 2:
    case 3:
    case 4:
        /* Perhaps with the name of a neighbour, which may be paused. */
        if (roll(f, 15))
            snprintf(name, sizeof(name), "h%d", (int)below(f, FLEET_HOSTS));
        if (!h->engine)
            fleet_host_start(f, h, name);
        break;
    case 5:
        if (h->engine)
            skewed_pause(&h->env, !h->env.is_paused);
        f->figures->pauses++;
        break;
    case 6:
        if (h->engine && !h->env.is_paused) {
            rn_host_drain(h->engine, (uint32_t)below(f, 5000));
            f->figures->drains++;
        }
        break;
    case 7:
        if (h->engine)
            scripted_cut(h->network, roll(f, 40));
        f->figures->cuts++;
        break;
    case 8:
        h->env.ahead_ms += (int64_t)below(f, 7200000) - 3600000;
        break;
    case 9:
    case 10:
        split_or_merge(f);
        break;
    default:
        break;
    }
}

void fleet_run_for(struct fleet *f, int64_t ms)
{
    int64_t end = now_of(f) + ms * 1000000;

    while (now_of(f) < end && !f->checker.failure[0]) {
        rn_sim_run(f->w.sim, 50 * 1000000);
        for (int i = 0; i < FLEET_HOSTS; i++) {
            fleet_answer(&f->hosts[i]);
            host_reap(&f->hosts[i]);
        }
        fleet_peers_reap(f);
        fleet_check_owned(f);
    }
}

static void run_rounds(struct fleet *f)
{
    f->w.wire.faults = (struct scripted_faults){ 20, 50, 20, 50, 10, 30, 8000 };
    for (int i = 0; i < ROUNDS && !f->checker.failure[0]; i++) {
        fleet_write_some(f);
        disturb(f);
        if (f->is_mixed && roll(f, 50))
            fleet_peers_disturb(f);
        if (f->has_operator && roll(f, 20))
            fleet_tamper(f);
        if (f->has_operator && roll(f, 20))
            fleet_repair(f);
        fleet_run_for(f, (int64_t)below(f, ROUND_MS));
    }
}

static void fleet_open(struct fleet *f, uint64_t seed)
{
    struct service_definition source = {
        .db = "d", .name = "c", .key = "/pk", .retention_min = 1000000
    };
    const struct service_definition leases = {
        .db = "d", .name = "leases", .key = "/id", .default_ttl = -1
    };
    struct rn_env *env;

    source.ranges = 1 + (unsigned)(seed % 3);
    world_open(&f->w, seed, &source);
    env = rn_sim_env(f->w.sim);
    f->w.wire.pass = NULL; /* a step must not step others */
    f->dice = rn_sim_prng(f->w.sim);
    f->leases = service_add(&f->w.service, &leases);
    f->w.service.committed = on_commit;
    f->w.service.context = f;
    /* All versions: the .NET library itself skips what it has not stored. */
    f->is_mixed = seed % FLEET_MIXED == 0;
    f->is_version_2 = seed % FLEET_VERSION_2 == 0;
    f->is_weighed = seed % FLEET_WEIGHED == 0 && !f->is_version_2;
    f->has_operator = seed % FLEET_TAMPERED == 0 && !f->is_mixed;
    f->is_full = roll(f, 40) && !f->is_mixed;
    f->may_yield = roll(f, 50);
    f->has_dead_letters = roll(f, 50);
    f->batch_limit = roll(f, 30) ? 2 : 0;
    f->page_limit = (uint32_t)below(f, 5);
    f->leases_per_range = roll(f, 20) && !f->is_version_2 ? 2 : 0;
    if (f->is_weighed && !f->leases_per_range)
        f->leases_per_range = 4;
    f->min_leases = roll(f, 20) ? 16 : 0; /* every host wants more */
    f->can_wait = roll(f, 60);
    f->w.service.cannot_wait = roll(f, 30);
    checker_init(&f->checker, f->w.box, f->leases);
    f->checker.valid_ms = VALID_MS;
    if (seed % FLEET_OPTIONS == FLEET_OPTIONS_AT && !f->is_mixed &&
        !f->has_operator)
        fleet_options_draw(f, seed);
    f->wire =
        (struct rn_task){ .name = "wire", .step = wire_step, .context = f };
    if (env->ops->task_start(env, &f->wire))
        abort();
}

static void fleet_close(struct fleet *f)
{
    struct rn_env *env = rn_sim_env(f->w.sim);

    for (int i = 0; i < FLEET_HOSTS; i++)
        fleet_host_kill(&f->hosts[i]);
    fleet_peers_kill(f);
    env->ops->task_stop(env, &f->wire);
    world_close(&f->w);
}

bool fleet_run(uint64_t seed, bool trace, struct fleet_figures *figures,
               char *why, size_t room)
{
    struct fleet *f = calloc(1, sizeof(*f));
    bool ok;

    if (!f)
        abort();
    f->figures = figures;
    fleet_open(f, seed);
    f->checker.trace = trace;
    fleet_write_some(f);
    if (f->is_mixed)
        fleet_peer_start(f, &f->peers[0]);
    fleet_host_start(f, &f->hosts[0], "h0");
    if (roll(f, 70))
        fleet_host_start(f, &f->hosts[1], "h1");
    run_rounds(f);
    if (!f->checker.failure[0])
        fleet_run_healed(f);
    ok = !f->checker.failure[0];
    snprintf(why, room, "%s", f->checker.failure);
    figures->changes += f->w.box->commits;
    figures->lease_writes += f->checker.lease_writes;
    figures->positions += f->checker.positions;
    figures->repeats += f->checker.repeats;
    figures->put_back += f->checker.put_back;
    figures->peer_writes += f->checker.peer_writes;
    figures->simulated_s += (uint64_t)now_of(f) / 1000000000;
    fleet_close(f);
    free(f);
    return ok;
}
