/* engine.c -- the step of a host: messages, requests, leases, transitions. */
#include "client/processor/own.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum {
    TRIM_MS = 5000,
    MARKED_PASS_MS = 1000,
};

static const int64_t ms_ns = 1000000;

/* ---- small services ------------------------------------------------------ */

void rn_engine_put(struct rn_engine *e, runnel_event *event, const char *fmt,
                   ...)
{
    char message[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    event->size = sizeof(*event);
    event->message = message;
    rn_events_put(e->events, event);
}

void rn_engine_tell(struct rn_engine *e, runnel_event_kind kind,
                    runnel_severity severity, const char *lease,
                    const runnel_error *error, const char *fmt, ...)
{
    runnel_event event = {
        .kind = kind, .severity = severity, .lease = lease, .error = error
    };
    char message[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    event.size = sizeof(event);
    event.message = message;
    rn_events_put(e->events, &event);
}

void rn_engine_wake(struct rn_engine *e)
{
    e->env->ops->task_wake(e->env, &e->task);
}

void rn_engine_rouse(void *context)
{
    struct rn_engine *e = context;

    e->transport->ops->wake(e->transport);
    rn_engine_wake(e);
}

void rn_engine_post(struct rn_engine *e, struct rn_message *m)
{
    atomic_fetch_add(&e->posting, 1); /* until the engine is not touched */
    rn_queue_push(&e->inbox, &m->link);
    rn_engine_rouse(e);
    atomic_fetch_sub(&e->posting, 1);
}

int64_t rn_engine_store_ms(const struct rn_engine *e)
{
    return rn_wall_ms(e->env) + e->offset_ms;
}

void rn_engine_learn(struct rn_engine *e, const struct rn_store_call *call)
{
    int64_t offset;

    e->stats.charge += call->charge;
    if (call->code == RUNNEL_THROTTLED)
        e->stats.throttled++;
    if (call->now_ms == 0)
        return;
    /* The store's clock may have whole seconds: half of one is added, and the
     * offset stays until it is wrong by more. */
    offset = call->now_ms + 500 - rn_wall_ms(e->env);
    if (e->has_offset && offset - e->offset_ms < 1500 &&
        e->offset_ms - offset < 1500)
        return;
    e->offset_ms = offset;
    e->has_offset = true;
}

int64_t rn_engine_jitter(struct rn_engine *e, uint32_t ms, unsigned low,
                         unsigned high)
{
    uint32_t chance;

    rn_random(e->env, &chance, sizeof(chance));
    return (int64_t)ms * (low + chance % (high - low + 1)) * (ms_ns / 100);
}

void rn_engine_draw_session(struct rn_engine *e, char out[RN_SESSION_MAX])
{
    unsigned char bytes[16];
    int n = snprintf(out, RN_SESSION_MAX, "%lld-", (long long)e->start_ms);

    rn_random(e->env, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        n += snprintf(out + n, RN_SESSION_MAX - (size_t)n, "%02x", bytes[i]);
}

/* ---- the table of workers ------------------------------------------------ */

/* Where the id is, or where it would be. */
static size_t place_of(const struct rn_engine *e, struct rn_view id,
                       bool *is_there)
{
    size_t low = 0;
    size_t high = e->worker_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rn_view_compare(rn_view_text(e->workers[middle]->id), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_there = low < e->worker_count &&
                rn_view_eq(rn_view_text(e->workers[low]->id), id);
    return low;
}

struct rn_worker *rn_engine_find(struct rn_engine *e, struct rn_view id)
{
    bool is_there;
    size_t at = place_of(e, id, &is_there);

    return is_there ? e->workers[at] : NULL;
}

runnel_code rn_engine_add(struct rn_engine *e, struct rn_worker *w)
{
    bool is_there;
    size_t at = place_of(e, rn_view_text(w->id), &is_there);

    assert(!is_there); /* one worker for one lease in a process */
    if (e->worker_count == e->worker_room) {
        size_t room = e->worker_room ? 2 * e->worker_room : 16;
        struct rn_worker **more = rn_new(room * sizeof(struct rn_worker *));
        if (!more)
            return RUNNEL_NO_MEMORY;
        if (e->worker_count)
            memcpy(more, e->workers, e->worker_count * sizeof(*more));
        rn_free(e->workers);
        e->workers = more;
        e->worker_room = room;
    }
    memmove(&e->workers[at + 1], &e->workers[at],
            (e->worker_count - at) * sizeof(struct rn_worker *));
    e->workers[at] = w;
    e->worker_count++;
    return RUNNEL_OK;
}

/* A lease that a handler gave back is left to others for a while. */
void rn_engine_avoid(struct rn_engine *e, const char *id)
{
    struct rn_avoided *a = rn_new(sizeof(*a));

    if (!a)
        return;
    a->id = rn_new_text(id);
    a->until_ns =
        rn_mono_ns(e->env) + (int64_t)e->config.o.lease_acquire_ms * ms_ns;
    a->next = e->avoided;
    e->avoided = a;
}

bool rn_engine_is_avoided(struct rn_engine *e, struct rn_view id)
{
    struct rn_avoided **at = &e->avoided;
    int64_t now_ns = rn_mono_ns(e->env);
    bool is_found = false;

    while (*at) {
        struct rn_avoided *a = *at;
        if (a->until_ns <= now_ns || !a->id) {
            *at = a->next;
            rn_free(a->id);
            rn_free(a);
            continue;
        }
        is_found = is_found || rn_view_eq(rn_view_text(a->id), id);
        at = &a->next;
    }
    return is_found;
}

/* ---- chores -------------------------------------------------------------- */

void rn_engine_start_chore(struct rn_engine *e, struct rn_chore *c)
{
    c->engine = e;
    c->next = e->chores;
    e->chores = c;
    e->stats.lease_writes++;
    e->store->ops->start(e->store, &c->call);
}

static void end_chores(struct rn_engine *e, bool all)
{
    struct rn_chore **at = &e->chores;

    while (*at) {
        struct rn_chore *c = *at;
        if (c->call.is_under_way && !all) {
            at = &c->next;
            continue;
        }
        if (!all)
            rn_engine_learn(e, &c->call);
        *at = c->next;
        rn_store_call_release(&c->call);
        rn_free(c);
    }
}

/* ---- transitions --------------------------------------------------------- */

static void drain_workers(struct rn_engine *e)
{
    for (size_t i = 0; i < e->worker_count; i++)
        rn_worker_drain(e->workers[i], RUNNEL_CLOSE_SHUTDOWN);
}

void rn_engine_fail(struct rn_engine *e, runnel_event_kind kind,
                    runnel_code code, const runnel_error *error,
                    const char *what)
{
    if (e->state != RUNNEL_RUNNING)
        return;
    e->state = RUNNEL_FAILED;
    e->failure = code;
    if (error)
        e->error = *error;
    else
        rn_error_set(&e->error, code, "%s", what);
    rn_engine_tell(e, kind, RUNNEL_SEVERITY_CRITICAL, NULL, &e->error, "%s: %s",
                   what, e->error.message);
    drain_workers(e);
}

static void take_drain(struct rn_engine *e, int64_t now_ns)
{
    if (!atomic_load(&e->wants_drain))
        return;
    if (e->state == RUNNEL_RUNNING || e->state == RUNNEL_STARTING) {
        e->state = RUNNEL_DRAINING;
        drain_workers(e);
    }
    if (now_ns >= atomic_load(&e->drain_deadline_ns))
        for (size_t i = 0; i < e->worker_count; i++)
            rn_worker_abandon(e->workers[i]);
}

static bool is_still_working(const struct rn_engine *e)
{
    for (size_t i = 0; i < e->worker_count; i++) {
        if (e->workers[i]->state != RN_WORKER_LOST ||
            !e->workers[i]->is_deadline_over)
            return true;
    }
    return e->bootstrap || e->pass || e->chores;
}

static void note_end(struct rn_engine *e)
{
    if (e->is_stopped ||
        (e->state != RUNNEL_DRAINING && e->state != RUNNEL_FAILED) ||
        is_still_working(e))
        return;
    if (e->state == RUNNEL_DRAINING)
        e->state = RUNNEL_STOPPED;
    e->is_stopped = true;
    rn_engine_tell(e, RUNNEL_EVENT_STOPPED, RUNNEL_SEVERITY_INFO, NULL, NULL,
                   "stopped");
    pthread_cond_broadcast(&e->changed);
}

static void ready(struct rn_engine *e)
{
    rn_bootstrap_free(e->bootstrap);
    e->bootstrap = NULL;
    if (e->is_ready || e->state != RUNNEL_STARTING)
        return;
    if (e->failure) {
        e->state = RUNNEL_FAILED;
        e->is_stopped = true;
    } else {
        e->is_ready = true;
        e->state = RUNNEL_RUNNING;
        rn_engine_tell(e, RUNNEL_EVENT_READY, RUNNEL_SEVERITY_INFO, NULL, NULL,
                       "the lease store is initialised");
        if (e->config.o.lease_expire_ms / 3 < e->config.o.lease_renew_ms) {
            rn_engine_tell(e, RUNNEL_EVENT_CONFIGURATION,
                           RUNNEL_SEVERITY_WARNING, NULL, NULL,
                           "lease_expire_ms should be three times "
                           "lease_renew_ms");
        }
    }
    pthread_cond_broadcast(&e->changed);
}

/* ---- the step ------------------------------------------------------------ */

static void take_message(struct rn_engine *e, struct rn_message *m)
{
    struct rn_checkpoint *c = m->item;

    (void)e;
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
    case RN_MESSAGE_BURIED:
        rn_worker_buried(m->item);
        break;
    case RN_MESSAGE_CHECKPOINT:
        rn_worker_checkpoint(c->delivery->worker, c);
        break;
    }
}

static void take_inbox(struct rn_engine *e)
{
    struct rn_queued *next = rn_queue_take_all(&e->inbox);

    while (next) {
        struct rn_message *m = RN_CONTAINER_OF(next, struct rn_message, link);
        next = next->next;
        take_message(e, m);
    }
}

void rn_engine_hasten_pass(struct rn_engine *e)
{
    int64_t due_ns = e->pass_ended_ns + MARKED_PASS_MS * ms_ns;

    if (due_ns < e->pass_due_ns)
        e->pass_due_ns = due_ns;
}

static int64_t step_pass(struct rn_engine *e, int64_t now_ns)
{
    const runnel_processor_options *o = &e->config.o;

    if (e->pass) {
        if (!rn_pass_step(e->pass))
            return RN_TASK_IDLE;
        rn_pass_free(e->pass);
        e->pass = NULL;
        e->pass_due_ns =
            now_ns + (e->has_marks && o->lease_acquire_ms > MARKED_PASS_MS
                          ? MARKED_PASS_MS * ms_ns
                          : rn_engine_jitter(e, o->lease_acquire_ms, 80, 120));
        return RN_TASK_NOW;
    }
    if (e->state != RUNNEL_RUNNING)
        return RN_TASK_IDLE;
    if (e->pass_due_ns > now_ns)
        return e->pass_due_ns - now_ns;
    if (rn_pass_new(e, &e->pass)) {
        e->pass = NULL;
        e->pass_due_ns = now_ns + MARKED_PASS_MS * ms_ns;
    }
    return RN_TASK_NOW;
}

static bool is_removable(const struct rn_worker *w)
{
    return w->state == RN_WORKER_FREE && !w->is_calling && w->calls == 0 &&
           !w->is_job_running && !w->burying && !w->reshape.is_calling;
}

static int64_t step_workers(struct rn_engine *e, int64_t now_ns)
{
    int64_t next = RN_TASK_IDLE;
    size_t kept = 0;
    size_t count = e->worker_count;

    e->stats.buffered_bytes = 0;
    for (size_t i = 0; i < e->worker_count; i++) {
        int64_t at = rn_worker_step(e->workers[i], now_ns);
        next = at < next ? at : next;
        e->stats.buffered_bytes += e->workers[i]->window.bytes;
    }
    if (e->worker_count != count)
        next = RN_TASK_NOW; /* children were added in the midst */
    for (size_t i = 0; i < e->worker_count; i++) {
        if (is_removable(e->workers[i]))
            rn_worker_free(e->workers[i]);
        else
            e->workers[kept++] = e->workers[i];
    }
    e->worker_count = kept;
    return next;
}

static int64_t step_all(struct rn_engine *e)
{
    int64_t now_ns = rn_mono_ns(e->env);
    int64_t next = RN_TASK_IDLE;
    int64_t at;
    bool is_over = false;

    take_inbox(e);
    take_drain(e, now_ns);
    at = e->store->ops->step(e->store);
    next = at < next ? at : next;
    if (e->bootstrap) {
        at = rn_bootstrap_step(e->bootstrap, &is_over);
        next = at < next ? at : next;
        if (is_over)
            ready(e);
    }
    at = step_workers(e, now_ns);
    next = at < next ? at : next;
    /* A pass and the routing map come after all that may ask for them: no
     * other event would begin them. */
    at = step_pass(e, now_ns);
    next = at < next ? at : next;
    at = rn_engine_step_map(e, now_ns);
    next = at < next ? at : next;
    end_chores(e, false);
    if (now_ns - e->trim_ns > TRIM_MS * ms_ns) {
        e->trim_ns = now_ns;
        rn_handlers_trim(e->handlers);
    }
    if (atomic_load(&e->wants_drain)) {
        at = atomic_load(&e->drain_deadline_ns) - now_ns;
        if (at > 0 && at < next)
            next = at;
    }
    if (next > TRIM_MS * ms_ns && !e->is_stopped)
        next = TRIM_MS * ms_ns;
    note_end(e);
    return next;
}

int64_t rn_engine_step(void *context)
{
    struct rn_engine *e = context;
    bool is_ending;
    int64_t next;
    int64_t at;

    /* A transport that waits has ended what it could in the last step. */
    if (!e->has_waited)
        e->transport->ops->step(e->transport, 0);
    pthread_mutex_lock(&e->lock);
    is_ending = e->is_ending;
    next = is_ending ? RN_TASK_IDLE : step_all(e);
    pthread_mutex_unlock(&e->lock);
    if (is_ending)
        return RN_TASK_IDLE;
    /* The transport touches only exchanges, which nobody else does. */
    at = e->transport->ops->step(e->transport, next);
    e->has_waited = at == 0;
    return at < next ? at : next;
}

/* ---- beginning ----------------------------------------------------------- */

static runnel_code open_store(struct rn_engine *e, runnel_error *error)
{
    struct rn_store_options options = { .create = e->config.o.create_leases,
                                        .wake = rn_engine_rouse,
                                        .engine = e };

    if (e->config.has_table)
        return rn_store_blocking_open(e->env, &e->config.table, &options,
                                      &e->store, error);
    return rn_store_container_open(e->config.at.leases, e->transport, &options,
                                   &e->store, error);
}

static void init(struct rn_engine *e, struct rn_config *config)
{
    const runnel_processor_options *o;
    pthread_condattr_t attr;

    e->config = *config;
    o = &e->config.o;
    e->account = rn_container_account(e->config.at.source);
    e->env = rn_account_env(e->account);
    e->window = (struct rn_window_options){
        .batch_limit = o->batch_limit,
        .lanes = o->parallel,
        .pending_limit = o->pending_limit,
        .retry_attempts = o->retry_attempts,
        .retry_delay_ms = o->retry_delay_ms,
        .retry_delay_max_ms = o->retry_delay_max_ms,
        .whole_batch = o->whole_batch,
    };
    e->expiry.expire_ms = o->lease_expire_ms;
    e->task = (struct rn_task){ .name = "runnel-engine",
                                .step = rn_engine_step,
                                .context = e };
    snprintf(e->intervals, sizeof(e->intervals), "%u %u %u",
             o->lease_acquire_ms, o->lease_renew_ms, o->lease_expire_ms);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&e->lock, NULL);
}

static void release(struct rn_engine *e)
{
    rn_handlers_free(e->handlers);
    if (e->store) /* it has calls of what is freed next */
        e->store->ops->close(e->store);
    for (size_t i = 0; i < e->worker_count; i++)
        rn_worker_free(e->workers[i]);
    rn_free(e->workers);
    rn_bootstrap_free(e->bootstrap);
    rn_pass_free(e->pass);
    end_chores(e, true);
    rn_engine_forget_map(e);
    while (e->avoided) {
        struct rn_avoided *a = e->avoided;
        e->avoided = a->next;
        rn_free(a->id);
        rn_free(a);
    }
    rn_definition_unref(e->definition);
    rn_expiry_release(&e->expiry);
    if (e->transport)
        rn_pool_give(rn_account_pool(e->account), e->transport);
    rn_events_free(e->events);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    rn_config_release(&e->config);
    rn_free(e);
}

runnel_code rn_engine_start(struct rn_config *config, struct rn_engine **out,
                            runnel_error *error)
{
    struct rn_engine *e = rn_new(sizeof(*e));
    runnel_code rc;

    if (!e) {
        rn_config_release(config);
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    }
    init(e, config);
    rc = rn_pool_take_own(rn_account_pool(e->account), &e->transport, error);
    if (!rc)
        rc = open_store(e, error);
    if (!rc)
        rc = rn_events_new(e->env, e->config.o.event, e->config.o.event_context,
                           &e->events);
    if (!rc)
        rc = rn_bootstrap_new(e, &e->bootstrap);
    if (!rc) {
        e->handlers = rn_handlers_new(e->env, e->config.o.threads);
        if (!e->handlers || e->env->ops->task_start(e->env, &e->task))
            rc = rn_error_set(error, RUNNEL_NO_MEMORY,
                              "no memory, or no thread");
    }
    if (rc)
        release(e);
    else
        *out = e;
    return rc;
}

/* ---- the end ------------------------------------------------------------- */

/* Threads that wake the engine are gone before its task is. */
void rn_engine_kill(struct rn_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->is_ending = true;
    pthread_mutex_unlock(&e->lock);
    rn_handlers_free(e->handlers);
    e->handlers = NULL;
    e->store->ops->close(e->store);
    e->store = NULL;
    while (atomic_load(&e->posting) > 0)
        e->env->ops->sleep(e->env, 50000);
    rn_engine_rouse(e);
    e->env->ops->task_stop(e->env, &e->task);
    release(e);
}
