/* worker.c -- the life of one lease in this process.
 *
 * Answers only store what they bring; every decision is taken in
 * rn_worker_step, so nothing is entered twice.
 */
#include "client/processor/worker.h"

#include "client/account/call.h"
#include "client/feed/position.h"
#include "client/http/bug.h"
#include "client/lease/property.h"
#include "client/processor/deliver.h"
#include "client/processor/failed_changes.h"
#include "client/processor/host.h"
#include "client/processor/read.h"
#include "client/processor/state.h"
#include "client/processor/write.h"

#include <stdio.h>

runnel_code rn_worker_new(struct rn_host *h, struct rn_lease_document *document,
                          struct rn_worker **out)
{
    struct rn_worker *w = rn_new(sizeof(*w));
    const struct rn_lease *lease = &document->lease;

    if (!w)
        return RUNNEL_NO_MEMORY;
    w->host = h;
    w->id = rn_new(lease->id.len + 1);
    if (!w->id || rn_window_init(&w->window, &h->window, h->env)) {
        rn_free(w->id);
        rn_free(w);
        return RUNNEL_NO_MEMORY;
    }
    memcpy(w->id, lease->id.at, lease->id.len);
    snprintf(w->token, sizeof(w->token), "%.*s", RN_FMT(lease->token));
    w->document = document;
    w->range = lease->range;
    w->identity = (struct rn_update_host){ .host = h->config.host,
                                           .session = w->session,
                                           .intervals = h->intervals };
    rn_host_draw_session(h, w->session);
    rn_lease_store_call_init(&w->call, RN_LEASE_STORE_READ);
    *out = w;
    return RUNNEL_OK;
}

void rn_worker_free(struct rn_worker *w)
{
    if (!w)
        return;
    if (w->has_reader) {
        rn_worker_end_ask(w);
        rn_reader_release(&w->reader);
    }
    if (w->dead_letter_call) {
        rn_client_call_release(w->dead_letter_call);
        rn_free(w->dead_letter_call);
    }
    rn_buf_release(&w->dead_letter_body);
    rn_lease_split_release(&w->split);
    rn_window_release(&w->window);
    rn_lease_store_call_release(&w->call);
    rn_update_release(&w->update);
    rn_lease_document_free(w->document);
    rn_free(w->owner_seen);
    rn_free(w->id);
    rn_free(w);
}

bool rn_worker_is_valid(const struct rn_worker *w, int64_t now_ns)
{
    return RN_BUG(VALIDITY_IGNORED) || now_ns < atomic_load(&w->valid_until_ns);
}

void rn_worker_acquire(struct rn_worker *w, bool is_expired)
{
    struct rn_view owner = w->document->lease.owner;

    w->was_expired = is_expired;
    if (owner.at) {
        w->owner_seen = rn_new(owner.len + 1);
        if (!w->owner_seen) {
            w->state = RN_WORKER_FREE;
            return;
        }
        memcpy(w->owner_seen, owner.at, owner.len);
    }
    w->state = RN_WORKER_ACQUIRING;
}

void rn_worker_adopt(struct rn_worker *w, const char *session, int64_t sent_ns)
{
    snprintf(w->session, sizeof(w->session), "%s", session);
    w->epoch = rn_lease_number(&w->document->lease, RN_LEASE_EPOCH);
    w->checkpointed_ns = sent_ns;
    rn_worker_note_written(w, sent_ns);
    rn_worker_start_open(w);
}

void rn_worker_end_ask(struct rn_worker *w)
{
    w->host->waits -= w->is_waiting;
    w->is_waiting = false;
}

/* ---- where to read ------------------------------------------------------- */

/* A lease without a position remembers where it was to begin. */
static struct rn_position start_of(const struct rn_worker *w)
{
    const struct rn_lease *lease = &w->document->lease;
    struct rn_view start = rn_lease_property(lease, RN_LEASE_START);
    struct rn_position at = w->host->config.start;
    int64_t second;

    if (lease->position.at && !(RN_BUG(POSITION_IGNORED) && w->was_expired)) {
        if (rn_position_set(&at, lease->position, NULL))
            at.kind = RN_POSITION_BEGINNING;
        return at;
    }
    if (!start.at)
        return at; /* of another library: our own option holds */
    at = (struct rn_position){ .kind = RN_POSITION_BEGINNING };
    if (rn_view_eq(start, RN_LIT("now")))
        at.kind = RN_POSITION_NOW;
    if (rn_lease_start_second(lease, &second)) {
        at.kind = RN_POSITION_TIME;
        at.time_ms = second * 1000;
    }
    return at;
}

/* A lease without a position and a start.  This library makes none: if this is
 * one of its leases, the position was erased, and what was read before is not
 * known. */
static void begin_without_position(struct rn_worker *w, struct rn_position *at)
{
    const struct rn_lease *lease = &w->document->lease;
    bool is_full = w->host->config.mode == RUNNEL_FEED_ALL;
    bool is_erased =
        rn_view_eq(rn_lease_property(lease, RN_LEASE_MADE), lease->token);

    if (is_erased && is_full) {
        w->is_retention_over = true;
        rn_host_tell(w->host, RUNNEL_EVENT_RETENTION, RUNNEL_SEVERITY_CRITICAL,
                     w->token, NULL,
                     "the position was erased, and all versions have no "
                     "beginning; move the lease with runnel_leases_seek");
    } else if (is_erased) {
        at->kind = RN_POSITION_BEGINNING;
        rn_host_tell(w->host, RUNNEL_EVENT_CONFIGURATION,
                     RUNNEL_SEVERITY_CRITICAL, w->token, NULL,
                     "the position was erased; the lease is read from the "
                     "beginning");
    } else if (is_full) {
        rn_host_tell(w->host, RUNNEL_EVENT_CONFIGURATION,
                     RUNNEL_SEVERITY_WARNING, w->token, NULL,
                     "another library left the lease without a position; "
                     "earlier changes are not delivered");
    }
}

void rn_worker_begin_reading(struct rn_worker *w)
{
    const struct rn_lease *lease = &w->document->lease;
    struct rn_position at = start_of(w);

    w->is_retention_over = false;
    if (!lease->position.at && !rn_lease_property(lease, RN_LEASE_START).at)
        begin_without_position(w, &at);
    if (w->has_reader) {
        rn_worker_end_ask(w);
        rn_reader_seek(&w->reader, &at);
    } else {
        rn_reader_init(&w->reader, &w->host->source, &w->range, &at);
        w->has_reader = true;
    }
    w->window.first_attempts = rn_lease_attempts(lease);
    w->read_due_ns = 0;
}

void rn_worker_shed_pages(struct rn_worker *w, int64_t due_ns)
{
    struct rn_position at =
        w->window.has_moved ? w->window.position : start_of(w);

    rn_window_shed(&w->window);
    rn_worker_end_ask(w);
    rn_reader_seek(&w->reader, &at);
    w->last_bytes = 0;
    w->read_due_ns = due_ns;
}

/* ---- endings ------------------------------------------------------------- */

static void stop_reading(struct rn_worker *w)
{
    struct rn_position at;

    if (!w->has_reader)
        return;
    at = w->reader.at;
    rn_worker_end_ask(w);
    rn_reader_seek(&w->reader, &at);
}

void rn_worker_drain(struct rn_worker *w, runnel_close_reason reason)
{
    if (w->state != RN_WORKER_ACTIVE && w->state != RN_WORKER_OPENING)
        return;
    w->reason = reason;
    stop_reading(w);
    if (w->state == RN_WORKER_ACTIVE)
        w->state = RN_WORKER_DRAINING;
    /* OPENING: the step drains once open has returned. */
}

void rn_worker_lose(struct rn_worker *w, runnel_close_reason reason)
{
    if (w->state == RN_WORKER_FREE || w->state == RN_WORKER_LOST)
        return;
    w->reason = reason;
    stop_reading(w);
    rn_worker_forget_batches(w);
    w->state = RN_WORKER_LOST;
}

void rn_worker_abandon(struct rn_worker *w)
{
    if (w->is_deadline_over)
        return;
    w->is_deadline_over = true;
    if (w->state == RN_WORKER_DRAINING || w->state == RN_WORKER_CLOSING ||
        w->state == RN_WORKER_OPENING || w->state == RN_WORKER_ACTIVE) {
        w->host->was_abandoned |= w->calls > 0 || w->is_job_running;
        if (w->state == RN_WORKER_OPENING || w->state == RN_WORKER_ACTIVE)
            rn_worker_drain(w, RUNNEL_CLOSE_SHUTDOWN);
        rn_worker_forget_batches(w);
    }
}

static void step_draining(struct rn_worker *w)
{
    bool is_writing = w->is_calling || w->is_updating || w->granted;

    if (RN_BUG(CLOSE_DOES_NOT_WAIT) && w->is_open && !w->is_job_running) {
        rn_worker_start_close(w);
        return;
    }
    if (w->window.delivered > 0 || is_writing)
        return;
    if (w->calls > 0 || w->dead_letter_delivery) {
        if (w->is_deadline_over) /* a handler does not return */
            w->state = RN_WORKER_RELEASING;
        return;
    }
    if (w->is_open)
        rn_worker_start_close(w);
    else
        w->state = w->reason == RUNNEL_CLOSE_LEASE_GONE ? RN_WORKER_SPLITTING
                                                        : RN_WORKER_RELEASING;
}

/* The observer's open or close runs.  If it does not return in time the lease
 * does not wait for it. */
static void step_job(struct rn_worker *w)
{
    if (w->is_deadline_over && w->is_job_running && !w->is_calling &&
        !w->is_updating)
        w->state = RN_WORKER_RELEASING;
}

static void step_lost(struct rn_worker *w)
{
    if (w->calls == 0)
        w->granted = NULL;
    if (w->is_calling || w->calls > 0 || w->dead_letter_delivery ||
        w->is_job_running)
        return;
    if (w->is_open)
        rn_worker_start_close(w);
    else
        w->state = RN_WORKER_FREE;
}

static int64_t step_active(struct rn_worker *w, int64_t now_ns)
{
    int64_t next = RN_TASK_IDLE;
    int64_t at;

    if (rn_worker_is_valid(w, now_ns)) {
        at = rn_worker_read(w, now_ns);
        next = at < next ? at : next;
    }
    if (w->state != RN_WORKER_ACTIVE)
        return RN_TASK_NOW;
    at = rn_worker_deliver(w, now_ns);
    return at < next ? at : next;
}

int64_t rn_worker_step(struct rn_worker *w, int64_t now_ns)
{
    enum rn_worker_state before = w->state;
    int64_t next = rn_worker_write(w, now_ns);
    int64_t at = rn_worker_watch_job(w, now_ns);

    next = at < next ? at : next;
    switch (w->state) {
    case RN_WORKER_OPENING:
    case RN_WORKER_CLOSING:
        step_job(w);
        break;
    case RN_WORKER_ACTIVE:
        at = step_active(w, now_ns);
        break;
    case RN_WORKER_DRAINING:
        at = rn_worker_deliver(w, now_ns);
        if (w->state == RN_WORKER_DRAINING)
            step_draining(w);
        break;
    case RN_WORKER_LOST:
        at = rn_worker_handle_failed(w, now_ns);
        step_lost(w);
        break;
    case RN_WORKER_SPLITTING:
        at = rn_worker_split(w, now_ns);
        break;
    default:
        break;
    }
    if (w->state != before)
        return RN_TASK_NOW;
    return at < next ? at : next;
}
