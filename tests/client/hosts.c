/* hosts.c -- see hosts.h. */
#include "client/hosts.h"

#include "client/lease/store_memory.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

const runnel_feed_options hosts_beginning = { RUNNEL_FEED_INIT,
                                              .start = RUNNEL_START_BEGINNING };

static void trace_request(void *context, const struct service_request *q,
                          const struct service_answer *a);

static struct rn_env *env_of(struct hosts *h)
{
    return rn_sim_env(h->world.sim);
}

static int64_t step_wire(void *context)
{
    struct hosts *h = context;

    return scripted_step(&h->world.wire);
}

static void wake_host(void *context)
{
    struct hosts_host *host = context;

    if (host->engine)
        rn_host_wake(host->engine);
}

void hosts_open_keyed(struct hosts *h, uint64_t seed, unsigned ranges,
                      const char *key)
{
    const struct service_definition source = { .db = "db",
                                               .name = "source",
                                               .key = "/pk",
                                               .ranges = ranges,
                                               .retention_min = 60 };
    const struct service_definition leases = {
        .db = "db", .name = "leases", .key = key, .default_ttl = -1
    };

    memset(h, 0, sizeof(*h));
    world_open(&h->world, seed, &source);
    h->leases = service_add(&h->world.service, &leases);
    h->wire =
        (struct rn_task){ .name = "wire", .step = step_wire, .context = h };
    assert_int_equal(env_of(h)->ops->task_start(env_of(h), &h->wire), 0);
    for (int i = 0; i < HOSTS_DOCUMENTS_MAX; i++)
        h->seen[i] = h->written[i] = -1;
    h->world.wire.after = trace_request;
    h->world.wire.context = h;
}

void hosts_open(struct hosts *h, uint64_t seed, unsigned ranges)
{
    hosts_open_keyed(h, seed, ranges, "/id");
}

void hosts_close(struct hosts *h)
{
    for (int i = 0; i < HOSTS_MAX; i++)
        if (h->hosts[i].engine)
            hosts_kill(h, i);
    for (int i = 0; i < HOSTS_MAX; i++) {
        rn_client_container_unref(h->hosts[i].source);
        rn_client_container_unref(h->hosts[i].leases);
        rn_account_unref(h->hosts[i].account);
    }
    env_of(h)->ops->task_stop(env_of(h), &h->wire);
    world_close(&h->world);
}

/* ---- handlers ------------------------------------------------------------ */

static long number_of(struct rn_view json, const char *name)
{
    char pattern[32];
    const char *at;

    snprintf(pattern, sizeof(pattern), "\"%s\":", name);
    at = memmem(json.at, json.len, pattern, strlen(pattern));
    assert_non_null(at);
    at += strlen(pattern);
    return strtol(*at == '"' ? at + 1 : at, NULL, 10);
}

static void note(struct hosts *h, const runnel_change *c, bool is_done)
{
    struct rn_view json = rn_view_of(c->json.at, c->json.len);
    long id = number_of(json, "id");
    long version = number_of(json, "v");

    h->delivered[id]++;
    h->deliveries++;
    h->handled[id] += is_done;
    if (!is_done)
        return;
    if (version < h->seen[id])
        h->disorder++;
    h->seen[id] = (int)version;
}

static runnel_verdict changes(void *context, const char *lease,
                              const runnel_batch *batch)
{
    struct hosts_host *host = context;
    struct hosts *h = host->all;
    runnel_verdict verdict =
        h->judge ? h->judge(host, lease, batch) : RUNNEL_DONE;

    host->batches++;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        note(h, runnel_batch_at(batch, i),
             verdict == RUNNEL_DONE || verdict == RUNNEL_PENDING);
    return verdict;
}

static runnel_code opened(void *context, const char *lease)
{
    struct hosts_host *host = context;

    (void)lease;
    host->opened++;
    if (host->all->opening)
        host->all->opening(host);
    return RUNNEL_OK;
}

static void closed(void *context, const char *lease, runnel_close_reason reason)
{
    struct hosts_host *host = context;

    (void)lease;
    host->closed++;
    host->last_reason = reason;
    if (host->all->closing)
        host->all->closing(host);
}

static void note_event(void *context, const runnel_event *event)
{
    struct hosts_host *host = context;

    host->events[event->kind]++;
    if (event->severity <= RUNNEL_SEVERITY_WARNING)
        snprintf(host->last_message, sizeof(host->last_message), "%s",
                 event->message);
    if (getenv("HOSTS_TRACE"))
        fprintf(stderr, "%lld %s: %d %s %s\n",
                (long long)world_now_ms(&host->all->world), host->name,
                event->kind, event->lease ? event->lease : "", event->message);
}

/* ---- hosts --------------------------------------------------------------- */

runnel_processor_options hosts_options(void)
{
    return (runnel_processor_options){
        RUNNEL_PROCESSOR_INIT,    .name = "p",
        .feed = &hosts_beginning, .poll_ms = 200,
        .lease_acquire_ms = 2000, .lease_renew_ms = 3000,
        .lease_expire_ms = 10000, .retry_delay_ms = 100
    };
}

/* A host keeps its account, and with it what it has learnt, when it is started
 * again. */
static void begin_host(struct hosts *h, struct hosts_host *host)
{
    struct hosts_host fresh = { .all = h,
                                .env = host->env ? host->env : env_of(h),
                                .network = host->network,
                                .account = host->account,
                                .source = host->source,
                                .leases = host->leases };

    *host = fresh;
    if (host->account)
        return;
    host->account = world_account(&h->world, host->env, &host->network);
    scripted_on_wake(host->network, wake_host, host);
    if (rn_client_container_open(host->account, "db", "source", &host->source,
                                 NULL) ||
        rn_client_container_open(host->account, "db", "leases", &host->leases,
                                 NULL))
        fail();
}

runnel_code hosts_try(struct hosts *h, int number,
                      const runnel_processor_options *options,
                      runnel_error *error)
{
    struct hosts_host *host = &h->hosts[number];
    runnel_observer observer = {
        .context = host, .changes = changes, .open = opened, .close = closed
    };
    struct rn_config_containers at;
    runnel_processor_options o = *options;
    struct rn_config config;
    runnel_code rc;

    assert_null(host->engine);
    begin_host(h, host);
    host->number = number;
    at = (struct rn_config_containers){ .source = host->source,
                                        .leases = host->leases,
                                        .dead_letters = h->dead_letters };
    snprintf(host->name, sizeof(host->name), "host-%d", number);
    if (!o.host)
        o.host = host->name;
    if (!o.event) {
        o.event = note_event;
        o.event_context = host;
    }
    if (o.lease_store)
        at.leases = NULL;
    if (o.exhausted != RUNNEL_DEAD_LETTER)
        at.dead_letters = NULL;
    rc = rn_config_init(&config, &o, &observer, &at, host->env, error);
    if (rc) {
        rn_config_release(&config);
        return rc;
    }
    return rn_host_start(&config, &host->engine, error);
}

struct hosts_host *hosts_start(struct hosts *h, int number,
                               const runnel_processor_options *options)
{
    runnel_error error = { 0 };

    if (hosts_try(h, number, options, &error))
        fail_msg("%s", error.message);
    return &h->hosts[number];
}

static bool is_stopped(struct hosts_host *host)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(host->engine, &stats);
    return stats.state == RUNNEL_STOPPED || stats.state == RUNNEL_FAILED;
}

void hosts_stop(struct hosts *h, int number)
{
    struct hosts_host *host = &h->hosts[number];

    rn_host_drain(host->engine, 20000);
    for (int i = 0; i < 400 && !is_stopped(host); i++)
        hosts_run(h, 100);
    assert_true(is_stopped(host));
    hosts_run(h, 100); /* the last callbacks and events */
    rn_host_free(host->engine);
    host->engine = NULL;
}

void hosts_kill(struct hosts *h, int number)
{
    rn_host_kill(h->hosts[number].engine);
    h->hosts[number].engine = NULL;
}

void hosts_run(struct hosts *h, int64_t ms)
{
    world_sleep(&h->world, ms);
}

void hosts_until(struct hosts *h, bool (*is_true)(struct hosts *h), int64_t ms)
{
    int64_t end = world_now_ms(&h->world) + ms;

    while (!is_true(h) && world_now_ms(&h->world) < end)
        hosts_run(h, 50);
    assert_true(is_true(h));
}

bool hosts_all_seen(struct hosts *h)
{
    for (int i = 0; i < HOSTS_DOCUMENTS_MAX; i++)
        if (h->seen[i] < h->written[i])
            return false;
    return true;
}

/* ---- the source and the leases ------------------------------------------- */

void hosts_put(struct hosts *h, int from, int to)
{
    char json[128];

    for (int i = from; i < to; i++) {
        snprintf(json, sizeof(json), "{\"id\":\"%d\",\"pk\":\"%d\",\"v\":%d}",
                 i, i % 97, ++h->written[i]);
        assert_non_null(service_upsert(h->world.box, json));
    }
    env_of(h)->ops->task_wake(env_of(h), &h->wire);
}

static void trace_request(void *context, const struct service_request *q,
                          const struct service_answer *a)
{
    struct hosts *h = context;

    /* No host writes a document without the etag that it has seen. */
    if (rn_view_eq(q->method, RN_LIT("PUT")))
        assert_true(service_header(q, "If-Match").len > 0);
    if (getenv("HOSTS_TRACE"))
        fprintf(stderr, "%lld %.*s %.*s -> %d %.*s\n",
                (long long)world_now_ms(&h->world), RN_FMT(q->method),
                RN_FMT(q->path), a->status,
                a->body.len > 300 ? 300 : (int)a->body.len, a->body.at);
}

static bool is_lease(const struct service_entry *e)
{
    return e->is_live && strstr(e->id, "..");
}

unsigned hosts_leases(struct hosts *h)
{
    unsigned count = 0;

    for (size_t i = 0; i < h->leases->entry_count; i++)
        count += is_lease(h->leases->entries[i]);
    return count;
}

unsigned hosts_owned(struct hosts *h, int number)
{
    char pattern[64];
    unsigned count = 0;

    snprintf(pattern, sizeof(pattern), "\"Owner\":\"host-%d\"", number);
    for (size_t i = 0; i < h->leases->entry_count; i++)
        count += is_lease(h->leases->entries[i]) &&
                 strstr(h->leases->entries[i]->json, pattern);
    return count;
}

const struct service_entry *hosts_lease(struct hosts *h, const char *token)
{
    for (size_t i = 0; i < h->leases->entry_count; i++) {
        const struct service_entry *e = h->leases->entries[i];
        const char *dots = strstr(e->id, "..");
        if (e->is_live && dots && strcmp(dots + 2, token) == 0)
            return e;
    }
    return NULL;
}

void hosts_check(struct hosts *h)
{
    for (int i = 0; i < HOSTS_DOCUMENTS_MAX; i++)
        if (h->seen[i] != h->written[i])
            fail_msg("document %d: written %d, handled %d", i, h->written[i],
                     h->seen[i]);
    assert_int_equal(h->disorder, 0);
}

/* ---- what goes wrong ----------------------------------------------------- */

static bool has_part(const struct service_request *q, const char *part)
{
    return memmem(q->path.at, q->path.len, part, strlen(part)) ||
           (q->body.len && memmem(q->body.at, q->body.len, part, strlen(part)));
}

static bool refuse(void *context, const struct service_request *q,
                   struct service_answer *a)
{
    struct hosts *h = context;
    struct hosts_fault *f = &h->fault;

    if (f->done >= f->times ||
        !rn_view_eq(q->method, rn_view_text(f->method)) ||
        !has_part(q, f->part))
        return false;
    f->done++;
    a->header_count = 0;
    service_refuse(a, f->status, f->sub, "No.");
    if (f->retry_after_ms)
        service_say(a, "x-ms-retry-after-ms", "%u", f->retry_after_ms);
    return true;
}

void hosts_refuse(struct hosts *h, const struct hosts_fault *fault)
{
    h->fault = *fault;
    h->world.wire.before = refuse;
    h->world.wire.context = h;
}

void hosts_tamper(struct hosts *h, const char *token, const char *old,
                  const char *new_text)
{
    const struct service_entry *lease = hosts_lease(h, token);
    const char *at;
    char *text;

    assert_non_null(lease);
    at = strstr(lease->json, old);
    assert_non_null(at);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - lease->json),
                         lease->json, new_text, at + strlen(old)) > 0);
    assert_non_null(service_upsert(h->leases, text));
    free(text);
}

runnel_lease_store *hosts_memory_open(struct hosts *h)
{
    runnel_lease_store *store = NULL;

    assert_int_equal(rn_lease_store_memory_open(rn_sim_env(h->world.sim),
                                                (struct rn_view){ 0 }, &store,
                                                NULL),
                     RUNNEL_OK);
    return store;
}

void hosts_memory_close(runnel_lease_store *store)
{
    struct rn_own_store *own = (struct rn_own_store *)store;

    own->close(own);
}
