/* deliver.c -- the handler's calls of one lease, and what they return. */
#include "client/processor/deliver.h"

#include "client/processor/failed_changes.h"
#include "client/processor/host.h"
#include "client/processor/state.h"
#include "client/processor/table.h"
#include "client/processor/worker.h"
#include "client/processor/write.h"

#include <stdio.h>

static const int64_t ms_ns = 1000000;

/* ---- on a thread of the pool --------------------------------------------- */

static void post(struct rn_worker *w, struct rn_message *m,
                 enum rn_message_kind kind, void *item)
{
    m->kind = kind;
    m->item = item;
    rn_host_post(w->host, m);
}

static void run_changes(struct rn_job *job)
{
    struct rn_delivery *d = RN_CONTAINER_OF(job, struct rn_delivery, job);
    struct rn_worker *w = d->worker;
    int64_t now_ns = rn_mono_ns(w->host->env);

    /* No call starts once the lease may be another host's. */
    d->was_refused =
        atomic_load(&d->is_cancelled) || !rn_worker_is_valid(w, now_ns);
    if (!d->was_refused) {
        atomic_store(&d->started_ns, now_ns);
        d->verdict =
            w->observer.changes(w->observer.context, w->token, d->batch);
    }
    post(w, &d->returned, RN_MESSAGE_RETURNED, d);
}

void rn_worker_note_job(struct rn_worker *w)
{
    atomic_store(&w->job_started_ns, rn_mono_ns(w->host->env));
}

static void run_open(struct rn_job *job)
{
    struct rn_worker *w = RN_CONTAINER_OF(job, struct rn_worker, job);
    const struct rn_config *c = &w->host->config;
    runnel_code rc = RUNNEL_OK;

    rn_worker_note_job(w);
    w->observer = c->observer;
    if (c->has_factory) {
        w->observer = (runnel_observer){ 0 };
        rc = c->factory.create(c->factory.context, w->token, &w->observer);
        w->has_observer = !rc;
        if (!rc && !w->observer.changes)
            rc = RUNNEL_BAD_REQUEST;
    }
    if (!rc && w->observer.open)
        rc = w->observer.open(w->observer.context, w->token);
    if (rc && w->has_observer && c->factory.destroy)
        c->factory.destroy(c->factory.context, &w->observer);
    w->opened = rc;
    post(w, &w->answer, RN_MESSAGE_OPENED, w);
}

static void run_close(struct rn_job *job)
{
    struct rn_worker *w = RN_CONTAINER_OF(job, struct rn_worker, job);
    const struct rn_config *c = &w->host->config;

    rn_worker_note_job(w);
    if (w->observer.close)
        w->observer.close(w->observer.context, w->token, w->reason);
    if (w->has_observer && c->factory.destroy)
        c->factory.destroy(c->factory.context, &w->observer);
    post(w, &w->answer, RN_MESSAGE_CLOSED, w);
}

void rn_worker_start_job(struct rn_worker *w, void (*run)(struct rn_job *job))
{
    w->is_job_running = true;
    w->is_job_slow = false;
    atomic_store(&w->job_started_ns, 0);
    w->job = (struct rn_job){ .run = run };
    rn_handlers_push(w->host->handlers, &w->job);
}

void rn_worker_start_open(struct rn_worker *w)
{
    w->state = RN_WORKER_OPENING;
    rn_worker_start_job(w, run_open);
}

void rn_worker_start_close(struct rn_worker *w)
{
    if (w->state == RN_WORKER_DRAINING)
        w->state = RN_WORKER_CLOSING;
    rn_worker_start_job(w, run_close);
}

/* ---- on the host's thread ---------------------------------------------- */

void rn_worker_opened(struct rn_worker *w)
{
    struct rn_host *h = w->host;
    runnel_event event = { .kind = RUNNEL_EVENT_ACQUIRED,
                           .severity = RUNNEL_SEVERITY_INFO,
                           .lease = w->token,
                           .host = w->owner_seen };
    runnel_close_reason asked = w->reason;

    w->is_job_running = false;
    w->is_open = !w->opened;
    if (w->state != RN_WORKER_OPENING)
        return; /* lost meanwhile */
    if (w->opened) {
        rn_host_tell(h, RUNNEL_EVENT_RETRIED, RUNNEL_SEVERITY_ERROR, w->token,
                     NULL, "open failed: %s", runnel_code_name(w->opened));
        rn_host_avoid(h, w->id);
        w->reason = RUNNEL_CLOSE_OBSERVER_ERROR;
        w->state = RN_WORKER_RELEASING;
        return;
    }
    rn_host_put(h, &event, "acquired%s%s", w->owner_seen ? " from " : "",
                w->owner_seen ? w->owner_seen : "");
    w->state = RN_WORKER_ACTIVE;
    w->host->moved_ns = rn_mono_ns(w->host->env);
    rn_worker_begin_reading(w);
    if (asked || h->state != RUNNEL_RUNNING)
        rn_worker_drain(w, asked ? asked : RUNNEL_CLOSE_SHUTDOWN);
}

void rn_worker_closed(struct rn_worker *w)
{
    w->is_job_running = false;
    w->is_open = false;
    if (w->state == RN_WORKER_LOST)
        w->state = RN_WORKER_FREE;
    else if (w->state == RN_WORKER_CLOSING)
        w->state = w->reason == RUNNEL_CLOSE_LEASE_GONE ? RN_WORKER_SPLITTING
                                                        : RN_WORKER_RELEASING;
}

void rn_worker_forget_batches(struct rn_worker *w)
{
    rn_window_clear(&w->window);
    w->must_checkpoint = false;
    w->is_manual_open = false;
    rn_worker_forget_manual(w);
    rn_worker_end_checkpoints(w, RUNNEL_LEASE_LOST);
}

void rn_worker_note_progress(struct rn_worker *w)
{
    const runnel_processor_options *o = &w->host->config.o;
    struct rn_window *window = &w->window;

    if (window->changes_done == 0)
        return;
    if (o->manual_checkpoint) {
        w->is_manual_open = strcmp(window->position.etag, w->manual.etag) != 0;
        window->changes_done = 0;
        return;
    }
    if (o->checkpoint_changes && window->changes_done < o->checkpoint_changes)
        return;
    if (!o->checkpoint_changes && o->checkpoint_ms)
        return;
    w->must_checkpoint = true;
    window->changes_done = 0;
}

static void tell_retry(struct rn_worker *w, const struct rn_delivery *d,
                       enum rn_outcome outcome)
{
    runnel_event event = { .kind = RUNNEL_EVENT_RETRIED,
                           .severity = RUNNEL_SEVERITY_ERROR,
                           .lease = w->token,
                           .attempt = d->attempt - 1,
                           .count = d->count };

    if (outcome == RN_OUTCOME_BISECTED) {
        event.kind = RUNNEL_EVENT_BISECTED;
        rn_host_put(w->host, &event, "a batch of %zu changes is halved",
                    d->count);
        return;
    }
    rn_host_put(w->host, &event, "a batch failed, attempt %u%s%s",
                d->attempt - 1, d->why[0] ? ": " : "", d->why);
}

static void judge(struct rn_worker *w, struct rn_delivery *d,
                  runnel_verdict verdict)
{
    struct rn_host *h = w->host;
    size_t count = d->count;
    enum rn_outcome outcome =
        rn_window_judge(&w->window, d, verdict, rn_mono_ns(h->env));

    switch (outcome) {
    case RN_OUTCOME_DONE:
        h->stats.changes += count;
        h->stats.batches++;
        rn_weight_add(&w->weight, count);
        break;
    case RN_OUTCOME_PARTLY:
        h->stats.batches++;
        h->stats.retries++;
        break;
    case RN_OUTCOME_AGAIN:
    case RN_OUTCOME_BISECTED:
        h->stats.retries++;
        tell_retry(w, d, outcome);
        break;
    case RN_OUTCOME_REJECTED:
        break;
    case RN_OUTCOME_NO_MEMORY: /* read it again later */
        rn_worker_forget_batches(w);
        rn_worker_begin_reading(w);
        break;
    }
    rn_worker_note_progress(w);
}

static void conclude(struct rn_delivery *d, runnel_verdict verdict)
{
    struct rn_worker *w = d->worker;
    struct rn_host *h = w->host;

    w->calls--;
    h->stats.batches_open--;
    w->acked_ns = rn_mono_ns(h->env);
    if (w->granted == d)
        rn_worker_end_grant(w, verdict == RUNNEL_DONE && d->slot);
    if (!d->slot) {
        rn_window_drop(&w->window, d); /* the verdict no longer matters */
        return;
    }
    if (verdict == RUNNEL_YIELD) {
        rn_window_undo(&w->window, d);
        rn_host_avoid(h, w->id);
        rn_worker_drain(w, RUNNEL_CLOSE_OBSERVER_ERROR);
        return;
    }
    judge(w, d, verdict);
}

static runnel_verdict verdict_of(const struct rn_delivery *d)
{
    return d->verdict == RUNNEL_PENDING ? d->acked_verdict : d->verdict;
}

void rn_worker_returned(struct rn_delivery *d)
{
    struct rn_worker *w = d->worker;

    d->has_returned = true;
    if (d->was_refused) {
        w->calls--;
        w->host->stats.batches_open--;
        if (d->slot)
            rn_window_undo(&w->window, d);
        else
            rn_window_drop(&w->window, d);
        return;
    }
    /* An ack that was given all the same is on its way, or here. */
    if (d->was_acked || (d->verdict != RUNNEL_PENDING &&
                         !atomic_exchange(&d->is_answered, true)))
        conclude(d, verdict_of(d));
}

void rn_worker_acked(struct rn_delivery *d)
{
    d->was_acked = true;
    if (d->has_returned)
        conclude(d, verdict_of(d));
}

static void start(struct rn_worker *w, struct rn_delivery *d)
{
    w->calls++;
    w->host->stats.batches_open++;
    d->worker = w;
    d->epoch = w->epoch;
    d->has_returned = d->was_acked = d->is_stuck = false;
    d->verdict = d->acked_verdict = RUNNEL_AGAIN;
    atomic_store(&d->started_ns, 0);
    atomic_store(&d->is_answered, false);
    d->job = (struct rn_job){ .run = run_changes };
    rn_handlers_push(w->host->handlers, &d->job);
}

/* Reports calls of a lane that take long, and gives up the lease because of the
 * longest: true then. */
static bool watch_lane(struct rn_worker *w, const struct rn_lane *lane,
                       int64_t now_ns, int64_t *next)
{
    const runnel_processor_options *o = &w->host->config.o;

    for (struct rn_delivery *d = lane->first; d; d = d->after) {
        int64_t since = atomic_load(&d->started_ns);
        int64_t limit =
            (int64_t)(d->is_stuck ? o->give_up_ms : o->stuck_ms) * ms_ns;
        if (d->state != RN_DELIVERY_DELIVERED || since == 0 ||
            (d->is_stuck && o->give_up_ms == RUNNEL_OFF))
            continue;
        if (now_ns - since < limit) {
            if (since + limit - now_ns < *next)
                *next = since + limit - now_ns;
            continue;
        }
        if (d->is_stuck) {
            rn_host_tell(w->host, RUNNEL_EVENT_STUCK, RUNNEL_SEVERITY_ERROR,
                         w->token, NULL,
                         "a handler has not returned for %lld s; its lease is "
                         "released",
                         (long long)((now_ns - since) / 1000000000));
            rn_host_avoid(w->host, w->id);
            rn_worker_drain(w, RUNNEL_CLOSE_OBSERVER_ERROR);
            w->is_deadline_over = true;
            rn_worker_forget_batches(w);
            return true;
        }
        d->is_stuck = true;
        rn_host_tell(w->host, RUNNEL_EVENT_STUCK, RUNNEL_SEVERITY_ERROR,
                     w->token, NULL, "a handler has not returned for %lld s",
                     (long long)((now_ns - since) / 1000000000));
        return true;
    }
    return false;
}

static int64_t watch(struct rn_worker *w, int64_t now_ns)
{
    struct rn_window *window = &w->window;
    int64_t next = RN_TASK_IDLE;

    if (w->host->config.o.stuck_ms == RUNNEL_OFF)
        return RN_TASK_IDLE;
    for (uint32_t i = 0; i < window->options->lanes && window->delivered; i++)
        if (watch_lane(w, &window->lanes[i], now_ns, &next))
            return RN_TASK_NOW;
    /* A call from before a seek keeps the next one waiting. */
    if (w->state == RN_WORKER_ACTIVE &&
        watch_lane(w, &window->cut, now_ns, &next))
        return RN_TASK_NOW;
    return next;
}

int64_t rn_worker_watch_job(struct rn_worker *w, int64_t now_ns)
{
    const runnel_processor_options *o = &w->host->config.o;
    int64_t since = atomic_load(&w->job_started_ns);
    uint32_t limit_ms = w->is_job_slow ? o->give_up_ms : o->stuck_ms;
    int64_t due_ns = since + (int64_t)limit_ms * ms_ns;

    if (!w->is_job_running || since == 0 || o->stuck_ms == RUNNEL_OFF ||
        w->is_deadline_over ||
        (w->is_job_slow &&
         (limit_ms == RUNNEL_OFF || w->state == RN_WORKER_LOST)))
        return RN_TASK_IDLE;
    if (now_ns < due_ns)
        return due_ns - now_ns;
    rn_host_tell(w->host, RUNNEL_EVENT_STUCK, RUNNEL_SEVERITY_ERROR, w->token,
                 NULL,
                 "open, close or dead_letter has not returned for %lld s%s",
                 (long long)((now_ns - since) / 1000000000),
                 w->is_job_slow ? "; its lease is released" : "");
    if (w->is_job_slow) {
        rn_host_avoid(w->host, w->id);
        rn_worker_drain(w, RUNNEL_CLOSE_OBSERVER_ERROR);
        w->is_deadline_over = true;
        rn_worker_forget_batches(w);
    }
    w->is_job_slow = true;
    return RN_TASK_NOW;
}

int64_t rn_worker_deliver(struct rn_worker *w, int64_t now_ns)
{
    int64_t due_ns = INT64_MAX;
    int64_t next = watch(w, now_ns);
    struct rn_delivery *d;
    int64_t at;

    if (w->state == RN_WORKER_ACTIVE && rn_worker_is_valid(w, now_ns)) {
        while ((d = rn_window_next(&w->window, now_ns, &due_ns)))
            start(w, d);
        if (due_ns != INT64_MAX && due_ns - now_ns < next)
            next = due_ns - now_ns;
    }
    at = rn_worker_handle_failed(w, now_ns);
    return at < next ? at : next;
}
