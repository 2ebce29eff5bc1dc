/* host.c -- the step of a host: messages, requests, leases, transitions. */
#include "client/processor/host.h"

#include "client/feed/page.h"
#include "client/processor/background_write.h"
#include "client/processor/bootstrap.h"
#include "client/processor/deliver.h"
#include "client/processor/failed_changes.h"
#include "client/processor/map.h"
#include "client/processor/pass.h"
#include "client/processor/source.h"
#include "client/processor/state.h"
#include "client/processor/table.h"
#include "client/processor/worker.h"
#include "client/processor/write.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum {
    TRIM_MS = 5000,
    MARKED_PASS_MS = 1000,
};

static const int64_t ms_ns = 1000000;

/* ---- small services ------------------------------------------------------ */

static RN_PRINTF(3, 0) void put(struct rn_host *h, runnel_event *event,
                                const char *fmt, va_list args)
{
    char message[RN_EVENT_MESSAGE_MAX];

    vsnprintf(message, sizeof(message), fmt, args);
    event->size = sizeof(*event);
    event->message = message;
    rn_events_put(h->events, event); /* copies it */
    event->message = NULL;
}

void rn_host_put(struct rn_host *h, runnel_event *event, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put(h, event, fmt, args);
    va_end(args);
}

void rn_host_tell(struct rn_host *h, runnel_event_kind kind,
                  runnel_severity severity, const char *lease,
                  const runnel_error *error, const char *fmt, ...)
{
    runnel_event event = {
        .kind = kind, .severity = severity, .lease = lease, .error = error
    };
    va_list args;

    va_start(args, fmt);
    put(h, &event, fmt, args);
    va_end(args);
}

void rn_host_tell_failure(struct rn_host *h, const char *lease,
                          const runnel_error *error, const char *what)
{
    bool is_throttled = error->code == RUNNEL_THROTTLED;

    rn_host_tell(h,
                 is_throttled ? RUNNEL_EVENT_THROTTLED : RUNNEL_EVENT_TROUBLE,
                 is_throttled ? RUNNEL_SEVERITY_WARNING : RUNNEL_SEVERITY_ERROR,
                 lease, error, "%s: %s", what, error->message);
}

void rn_host_wake(struct rn_host *h)
{
    h->env->ops->task_wake(h->env, &h->task);
}

void rn_host_rouse(void *context)
{
    struct rn_host *h = context;

    h->transport->ops->wake(h->transport);
    rn_host_wake(h);
}

void rn_host_post(struct rn_host *h, struct rn_message *m)
{
    atomic_fetch_add(&h->posting, 1); /* until the host is not touched */
    rn_queue_push(&h->inbox, &m->link);
    rn_host_rouse(h);
    atomic_fetch_sub(&h->posting, 1);
}

int64_t rn_host_store_ms(const struct rn_host *h)
{
    return h->has_offset ? rn_mono_ns(h->env) / ms_ns + h->offset_ms
                         : rn_wall_ms(h->env);
}

void rn_host_learn(struct rn_host *h, const struct rn_lease_store_call *call)
{
    int64_t offset;

    h->stats.charge += call->charge;
    if (call->code == RUNNEL_THROTTLED)
        h->stats.throttled++;
    if (call->now_ms == 0)
        return;
    /* The store's clock may have whole seconds: half of one is added, and the
     * offset stays until it is wrong by more. */
    offset = call->now_ms + 500 - rn_mono_ns(h->env) / ms_ns;
    if (h->has_offset && offset - h->offset_ms < 1500 &&
        h->offset_ms - offset < 1500)
        return;
    h->offset_ms = offset;
    h->has_offset = true;
}

int64_t rn_host_jitter(struct rn_host *h, uint32_t ms, unsigned low,
                       unsigned high)
{
    uint32_t random;

    rn_random(h->env, &random, sizeof(random));
    return (int64_t)ms * (low + random % (high - low + 1)) * (ms_ns / 100);
}

/* All sessions of a process begin with the same start and the same tag, so that
 * one of two that started at once is the later. */
void rn_host_draw_session(struct rn_host *h, char out[RN_SESSION_MAX])
{
    unsigned char bytes[16];
    int n = snprintf(out, RN_SESSION_MAX, "%lld-", (long long)h->start_ms);

    rn_random(h->env, bytes, sizeof(bytes));
    if (h->has_tag)
        memcpy(bytes, h->tag, sizeof(h->tag));
    for (size_t i = 0; i < sizeof(bytes); i++)
        n += snprintf(out + n, RN_SESSION_MAX - (size_t)n, "%02x", bytes[i]);
    if (h->has_tag)
        return;
    h->has_tag = true;
    memcpy(h->tag, bytes, sizeof(h->tag));
    memcpy(h->session, out, sizeof(h->session));
}

/* ---- transitions --------------------------------------------------------- */

static void drain_workers(struct rn_host *h, runnel_close_reason reason)
{
    for (size_t i = 0; i < h->worker_count; i++)
        rn_worker_drain(h->workers[i], reason);
}

void rn_host_fail(struct rn_host *h, runnel_close_reason reason,
                  runnel_code code, const runnel_error *error, const char *what)
{
    runnel_event_kind kind = code == RUNNEL_CONFLICT ? RUNNEL_EVENT_NAME_CLASH
                                                     : RUNNEL_EVENT_TERMINAL;

    if (h->state != RUNNEL_RUNNING)
        return;
    h->state = RUNNEL_FAILED;
    h->failure = code;
    if (error)
        h->error = *error;
    else
        rn_error_set(&h->error, code, "%s", what);
    rn_host_tell(h, kind, RUNNEL_SEVERITY_CRITICAL, NULL, &h->error, "%s%s%s",
                 what, error ? ": " : "", error ? error->message : "");
    drain_workers(h, reason);
}

void rn_host_clash(struct rn_host *h)
{
    char what[RN_HOST_MAX + 128];

    snprintf(what, sizeof(what),
             "a host that started later is named \"%s\" too, so this one "
             "stops; give each host a name of its own",
             h->config.host);
    rn_host_fail(h, RUNNEL_CLOSE_SHUTDOWN, RUNNEL_CONFLICT, NULL, what);
}

static void take_drain(struct rn_host *h, int64_t now_ns)
{
    if (!atomic_load(&h->wants_drain))
        return;
    if (h->state == RUNNEL_RUNNING || h->state == RUNNEL_STARTING) {
        h->state = RUNNEL_DRAINING;
        drain_workers(h, RUNNEL_CLOSE_SHUTDOWN);
    }
    if (now_ns >= atomic_load(&h->drain_deadline_ns))
        for (size_t i = 0; i < h->worker_count; i++)
            rn_worker_abandon(h->workers[i]);
}

static bool is_still_working(const struct rn_host *h)
{
    for (size_t i = 0; i < h->worker_count; i++) {
        if (h->workers[i]->state != RN_WORKER_LOST ||
            !h->workers[i]->is_deadline_over)
            return true;
    }
    return h->bootstrap || h->pass || h->background_writes;
}

static void note_end(struct rn_host *h)
{
    if (h->is_stopped ||
        (h->state != RUNNEL_DRAINING && h->state != RUNNEL_FAILED) ||
        is_still_working(h))
        return;
    if (h->state == RUNNEL_DRAINING)
        h->state = RUNNEL_STOPPED;
    h->is_stopped = true;
    rn_host_tell(h, RUNNEL_EVENT_STOPPED, RUNNEL_SEVERITY_INFO, NULL, NULL,
                 "stopped");
    pthread_cond_broadcast(&h->changed);
}

static void ready(struct rn_host *h)
{
    rn_bootstrap_free(h->bootstrap);
    h->bootstrap = NULL;
    if (h->is_ready || h->state != RUNNEL_STARTING)
        return;
    if (h->failure) {
        h->state = RUNNEL_FAILED;
        h->is_stopped = true;
    } else {
        h->is_ready = true;
        h->state = RUNNEL_RUNNING;
        h->moved_ns = rn_mono_ns(h->env);
        rn_host_tell(h, RUNNEL_EVENT_READY, RUNNEL_SEVERITY_INFO, NULL, NULL,
                     "the lease store is initialised");
        if (h->config.o.lease_expire_ms / 3 < h->config.o.lease_renew_ms) {
            rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_WARNING,
                         NULL, NULL,
                         "lease_expire_ms (%u) should be at least three times "
                         "lease_renew_ms (%u): one slow write loses a lease",
                         h->config.o.lease_expire_ms,
                         h->config.o.lease_renew_ms);
        }
    }
    pthread_cond_broadcast(&h->changed);
}

/* ---- the step ------------------------------------------------------------ */

static void take_message(struct rn_message *m)
{
    struct rn_checkpoint_wait *c = m->item;

    switch (m->kind) {
    case RN_MESSAGE_RETURNED:
        rn_worker_returned(m->item);
        break;
    case RN_MESSAGE_ACKED:
        rn_worker_acked(m->item);
        break;
    case RN_MESSAGE_OPENED:
        rn_worker_opened(m->item);
        break;
    case RN_MESSAGE_CLOSED:
        rn_worker_closed(m->item);
        break;
    case RN_MESSAGE_DEAD_LETTER_RETURNED:
        rn_worker_dead_letter_returned(m->item);
        break;
    case RN_MESSAGE_CHECKPOINT:
        rn_worker_checkpoint(c->delivery->worker, c);
        break;
    }
}

static void take_inbox(struct rn_host *h)
{
    struct rn_queued *next = rn_queue_take_all(&h->inbox);

    while (next) {
        struct rn_message *m = RN_CONTAINER_OF(next, struct rn_message, link);
        next = next->next;
        take_message(m);
    }
}

void rn_host_hasten_pass(struct rn_host *h)
{
    int64_t due_ns = h->pass_ended_ns + MARKED_PASS_MS * ms_ns;

    if (due_ns < h->pass_due_ns)
        h->pass_due_ns = due_ns;
}

/* Until the next pass.  A lease that this host marked is about to be free.  And
 * after a move there are more: hosts that start together see each other only
 * when each has a lease or a mark, and the owner of all leases sees marks only
 * in a pass. */
static int64_t pass_pause(struct rn_host *h, int64_t now_ns)
{
    uint32_t usual = h->config.o.lease_acquire_ms;
    uint32_t pause = usual;

    if (!h->is_official && now_ns - h->moved_ns < (int64_t)usual * ms_ns)
        pause = usual / 4;
    if (h->has_marks || pause < MARKED_PASS_MS)
        pause = MARKED_PASS_MS;
    return rn_host_jitter(h, pause < usual ? pause : usual, 80, 120);
}

static int64_t step_pass(struct rn_host *h, int64_t now_ns)
{
    if (h->pass) {
        if (!rn_pass_step(h->pass))
            return RN_TASK_IDLE;
        rn_pass_free(h->pass);
        h->pass = NULL;
        h->pass_due_ns = now_ns + pass_pause(h, now_ns);
        return RN_TASK_NOW;
    }
    if (h->state != RUNNEL_RUNNING)
        return RN_TASK_IDLE;
    if (h->pass_due_ns > now_ns)
        return h->pass_due_ns - now_ns;
    if (rn_pass_new(h, &h->pass)) {
        h->pass = NULL;
        h->pass_due_ns = now_ns + MARKED_PASS_MS * ms_ns;
    }
    return RN_TASK_NOW;
}

static bool is_removable(const struct rn_worker *w)
{
    return w->state == RN_WORKER_FREE && !w->is_calling && w->calls == 0 &&
           !w->is_job_running && !w->dead_letter_delivery &&
           !w->split.is_calling;
}

static int64_t step_workers(struct rn_host *h, int64_t now_ns)
{
    int64_t next = RN_TASK_IDLE;
    size_t kept = 0;
    size_t count = h->worker_count;

    for (size_t i = 0; i < h->worker_count; i++) {
        int64_t at = rn_worker_step(h->workers[i], now_ns);
        next = at < next ? at : next;
    }
    if (h->worker_count != count)
        next = RN_TASK_NOW; /* children were added in the midst */
    for (size_t i = 0; i < h->worker_count; i++) {
        if (is_removable(h->workers[i]))
            rn_worker_free(h->workers[i]);
        else
            h->workers[kept++] = h->workers[i];
    }
    h->worker_count = kept;
    h->stats.buffered_bytes = atomic_load(&h->meter->bytes);
    return next;
}

static int64_t step_all(struct rn_host *h)
{
    int64_t now_ns = rn_mono_ns(h->env);
    int64_t next = RN_TASK_IDLE;
    int64_t at;
    bool is_over = false;

    take_inbox(h);
    take_drain(h, now_ns);
    at = h->store->ops->step(h->store);
    next = at < next ? at : next;
    if (h->bootstrap) {
        at = rn_bootstrap_step(h->bootstrap, &is_over);
        next = at < next ? at : next;
        if (is_over)
            ready(h);
    }
    at = step_workers(h, now_ns);
    next = at < next ? at : next;
    /* A pass and the routing map come after all that may ask for them: no
     * other event would begin them. */
    at = step_pass(h, now_ns);
    next = at < next ? at : next;
    at = rn_host_step_source(h, now_ns);
    next = at < next ? at : next;
    at = rn_host_step_map(h, now_ns);
    next = at < next ? at : next;
    rn_background_writes_end(h, false);
    if (now_ns - h->trim_ns > TRIM_MS * ms_ns) {
        h->trim_ns = now_ns;
        rn_handlers_trim(h->handlers);
    }
    if (atomic_load(&h->wants_drain)) {
        at = atomic_load(&h->drain_deadline_ns) - now_ns;
        if (at > 0 && at < next)
            next = at;
    }
    if (next > TRIM_MS * ms_ns && !h->is_stopped)
        next = TRIM_MS * ms_ns;
    note_end(h);
    return next;
}

int64_t rn_host_step(void *context)
{
    struct rn_host *h = context;
    bool is_ending;
    int64_t next;
    int64_t at;

    /* A transport that waits has ended what it could in the last step. */
    if (!h->has_waited)
        h->transport->ops->step(h->transport, 0);
    pthread_mutex_lock(&h->lock);
    is_ending = h->is_ending;
    next = is_ending ? RN_TASK_IDLE : step_all(h);
    pthread_mutex_unlock(&h->lock);
    if (is_ending)
        return RN_TASK_IDLE;
    /* The transport touches only exchanges, which no other thread does. */
    at = h->transport->ops->step(h->transport, next);
    h->has_waited = at == 0;
    return at < next ? at : next;
}

/* ---- beginning ----------------------------------------------------------- */

static runnel_code open_store(struct rn_host *h, runnel_error *error)
{
    struct rn_lease_store_options options = {
        .create = h->config.o.create_leases, .wake = rn_host_rouse, .host = h
    };

    if (h->config.has_table)
        return rn_lease_store_blocking_open(h->env, &h->config.table, &options,
                                            &h->store, error);
    return rn_lease_store_container_open(h->config.at.leases, h->transport,
                                         &options, &h->store, error);
}

static void init(struct rn_host *h, struct rn_config *config)
{
    const runnel_processor_options *o;
    pthread_condattr_t attr;

    h->config = *config;
    o = &h->config.o;
    h->account = rn_client_container_account(h->config.at.source);
    h->env = rn_account_env(h->account);
    h->window = (struct rn_window_options){
        .batch_limit = o->batch_limit,
        .lanes = o->parallel,
        .pending_limit = o->pending_limit,
        .retry_attempts = o->retry_attempts,
        .retry_delay_ms = o->retry_delay_ms,
        .retry_delay_max_ms = o->retry_delay_max_ms,
        .whole_batch = o->whole_batch,
        .single_key = o->single_key,
    };
    h->expiry.expire_ms = o->lease_expire_ms;
    atomic_init(&h->drain_deadline_ns, INT64_MAX); /* no drain yet */
    h->task = (struct rn_task){ .name = "runnel-host",
                                .step = rn_host_step,
                                .context = h };
    snprintf(h->intervals, sizeof(h->intervals), "%u %u %u",
             o->lease_acquire_ms, o->lease_renew_ms, o->lease_expire_ms);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&h->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&h->lock, NULL);
}

static void release(struct rn_host *h)
{
    rn_handlers_free(h->handlers);
    if (h->store) /* it has calls of what is freed next */
        h->store->ops->close(h->store);
    for (size_t i = 0; i < h->worker_count; i++)
        rn_worker_free(h->workers[i]);
    rn_free(h->workers);
    rn_bootstrap_free(h->bootstrap);
    rn_pass_free(h->pass);
    rn_background_writes_end(h, true);
    rn_host_forget_map(h);
    rn_host_forget_source(h);
    while (h->avoided) {
        struct rn_avoided *a = h->avoided;
        h->avoided = a->next;
        rn_free(a->id);
        rn_free(a);
    }
    rn_definition_unref(h->definition);
    rn_lease_expiry_release(&h->expiry);
    rn_change_page_meter_unref(h->meter);
    if (h->transport)
        rn_pool_give(rn_account_pool(h->account), h->transport);
    rn_events_free(h->events);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    rn_config_release(&h->config);
    rn_free(h);
}

runnel_code rn_host_start(struct rn_config *config, struct rn_host **out,
                          runnel_error *error)
{
    struct rn_host *h = rn_new(sizeof(*h));
    runnel_code rc;

    if (!h) {
        rn_config_release(config);
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    }
    init(h, config);
    rc = rn_pool_take_own(rn_account_pool(h->account), &h->transport, error);
    if (!rc)
        rc = open_store(h, error);
    if (!rc)
        rc = rn_events_new(h->env, h->config.o.event, h->config.o.event_context,
                           &h->events);
    if (!rc)
        rc = rn_bootstrap_new(h, &h->bootstrap);
    if (!rc) {
        h->handlers = rn_handlers_new(h->env, h->config.o.threads);
        h->meter = rn_change_page_meter_new();
        if (!h->handlers || !h->meter ||
            h->env->ops->task_start(h->env, &h->task))
            rc = rn_error_set(error, RUNNEL_NO_MEMORY,
                              "no memory, or no thread");
    }
    if (rc)
        release(h);
    else
        *out = h;
    return rc;
}

/* ---- the end ------------------------------------------------------------- */

/* Threads that wake the host are gone before its task is. */
void rn_host_kill(struct rn_host *h)
{
    pthread_mutex_lock(&h->lock);
    h->is_ending = true;
    pthread_mutex_unlock(&h->lock);
    rn_handlers_free(h->handlers);
    h->handlers = NULL;
    h->store->ops->close(h->store);
    h->store = NULL;
    while (atomic_load(&h->posting) > 0)
        h->env->ops->sleep(h->env, 50000);
    rn_host_rouse(h);
    h->env->ops->task_stop(h->env, &h->task);
    release(h);
}
