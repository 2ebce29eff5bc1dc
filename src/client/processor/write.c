/* write.c -- acquires, renews, checkpoints and releases the lease of a worker.
 *
 * One write is in progress at a time and carries everything: position, attempts
 * and timestamp.  So a checkpoint renews the lease, and while checkpoints flow
 * there is no other write.
 */
#include "client/processor/write.h"

#include "client/http/bug.h"
#include "client/lease/listing.h"
#include "client/lease/property.h"
#include "client/processor/deliver.h"
#include "client/processor/host.h"
#include "client/processor/pause.h"
#include "client/processor/state.h"
#include "client/processor/worker.h"

#include <stdio.h>

enum {
    WRITE_RETRY_MS = 500, /* the first pause after a failed write */
    WRITE_RETRY_MAX_MS = 10000,
    ATTEMPTS_EVERY_MS = 1000,
};

static const int64_t ms_ns = 1000000;

static void call_done(struct rn_lease_store_call *call)
{
    struct rn_worker *w = call->context;

    w->has_answer = true;
}

static void start_call(struct rn_worker *w, enum rn_lease_store_kind kind)
{
    struct rn_host *h = w->host;
    struct rn_lease_store_call *call = &w->call;
    bool is_write = kind == RN_LEASE_STORE_REPLACE;

    rn_lease_store_call_release(call);
    rn_lease_store_call_init(call, kind);
    call->done = call_done;
    call->context = w;
    if (rn_listing_address(call, &w->document->lease) ||
        (is_write && rn_buf_add(&call->json, rn_buf_view(&w->update.text)))) {
        call->code = rn_error_set(&call->error, RUNNEL_TOO_LARGE,
                                  "the lease document is too large");
        w->is_calling = w->has_answer = true;
        return;
    }
    w->is_calling = true;
    w->has_answer = false;
    if (is_write) {
        w->write_sent_ns = rn_mono_ns(h->env);
        h->stats.lease_writes++;
    } else {
        h->stats.lease_reads++;
    }
    h->store->ops->start(h->store, call);
}

/* ---- outcomes ------------------------------------------------------------ */

void rn_worker_note_written(struct rn_worker *w, int64_t sent_ns)
{
    const runnel_processor_options *o = &w->host->config.o;
    uint32_t guard = o->lease_expire_ms / 10;

    if (guard < 1000)
        guard = 1000 < o->lease_expire_ms / 2 ? 1000 : o->lease_expire_ms / 4;
    atomic_store(&w->valid_until_ns,
                 sent_ns + (int64_t)(o->lease_expire_ms - guard) * ms_ns);
    w->written_ns = sent_ns;
    w->renew_due_ns =
        sent_ns + rn_host_jitter(w->host, o->lease_renew_ms, 80, 100);
    w->write_failures = 0;
}

static void acquired(struct rn_worker *w)
{
    const struct rn_lease *lease = &w->document->lease;

    if (RN_BUG(RENEWAL_HAS_A_COPY) && lease->position.at &&
        rn_position_set(&w->manual, lease->position, NULL))
        return;
    w->epoch = rn_lease_number(lease, RN_LEASE_EPOCH);
    w->range = lease->has_range ? lease->range : w->range;
    w->attempts_stored = rn_lease_attempts(lease);
    w->checkpointed_ns = rn_mono_ns(w->host->env);
    rn_weight_init(&w->weight, rn_lease_number(lease, RN_LEASE_WEIGHT),
                   w->checkpointed_ns);
    if (rn_lease_bound(lease, RN_LEASE_SPLIT).at) {
        w->reason = RUNNEL_CLOSE_LEASE_GONE;
        w->state = RN_WORKER_SPLITTING;
        return;
    }
    rn_worker_start_open(w);
}

/* The lease store has another position than ours: continues from there. */
static void moved(struct rn_worker *w)
{
    rn_host_tell(w->host, RUNNEL_EVENT_SEEK, RUNNEL_SEVERITY_INFO, w->token,
                 NULL, "the position was changed from outside to %.*s",
                 RN_FMT(w->document->lease.position));
    rn_worker_forget_batches(w);
    if (w->state == RN_WORKER_ACTIVE)
        rn_worker_begin_reading(w);
}

/* A conflict may be the mark of a host that wants the lease: the next pass
 * decides whether to hand it over, and need not wait for its timer. */
static void look_for_mark(struct rn_worker *w)
{
    struct rn_host *h = w->host;
    struct rn_view host;
    int64_t at_ms;

    if (w->update.rounds > 1 &&
        rn_lease_wanted(&w->document->lease, &host, &at_ms) &&
        !rn_view_eq(host, rn_view_text(h->config.host)))
        rn_host_hasten_pass(h);
}

static void stored(struct rn_worker *w)
{
    struct rn_view position = w->document->lease.position;

    w->attempts_stored = rn_lease_attempts(&w->document->lease);
    w->split.is_stored = w->state == RN_WORKER_SPLITTING;
    look_for_mark(w);
    if (w->update.has_moved) {
        rn_worker_end_checkpoints(w, RUNNEL_LEASE_LOST);
        moved(w);
        return;
    }
    if (w->storing.kind == RN_POSITION_ETAG) {
        w->host->stats.checkpoints++;
        w->checkpointed_ns = rn_mono_ns(w->host->env);
    }
    if (w->has_manual && rn_view_eq(position, rn_view_text(w->manual.etag)))
        w->has_manual = false;
    if (!w->has_manual) /* what waits is done with, or has no position */
        rn_worker_end_checkpoints(w, RUNNEL_OK);
}

static void released(struct rn_worker *w)
{
    runnel_event event = { .kind = RUNNEL_EVENT_RELEASED,
                           .severity = RUNNEL_SEVERITY_INFO,
                           .lease = w->token,
                           .reason = w->reason };

    rn_host_put(w->host, &event, "released");
    /* A call that did not return in time still has to. */
    w->state = w->is_open || w->calls > 0 || w->is_job_running ? RN_WORKER_LOST
                                                               : RN_WORKER_FREE;
}

static void lost(struct rn_worker *w)
{
    struct rn_host *h = w->host;
    runnel_event event = { .kind = RUNNEL_EVENT_LOST,
                           .severity = RUNNEL_SEVERITY_INFO,
                           .lease = w->token,
                           .host = w->update.owner[0] ? w->update.owner : NULL,
                           .reason = RUNNEL_CLOSE_LEASE_LOST };

    if (w->update.kind == RN_UPDATE_ACQUIRE) {
        w->state = RN_WORKER_FREE; /* another was faster */
        return;
    }
    if (w->state == RN_WORKER_RELEASING) {
        released(w);
        return;
    }
    rn_host_put(h, &event, "the lease is lost%s%s",
                w->update.owner[0] ? " to " : "", w->update.owner);
    if (strcmp(w->update.owner, h->config.host) == 0 &&
        rn_lease_session_is_later(rn_view_text(w->update.owner_session),
                                  rn_view_text(h->session)))
        rn_host_clash(h);
    rn_worker_end_checkpoints(w, RUNNEL_LEASE_LOST);
    rn_worker_lose(w, RUNNEL_CLOSE_LEASE_LOST);
}

static void failed(struct rn_worker *w, int64_t now_ns)
{
    struct rn_host *h = w->host;
    int64_t pause =
        rn_pause(WRITE_RETRY_MS, w->write_failures, WRITE_RETRY_MAX_MS);

    w->write_failures++;
    w->retry_write_ns = now_ns + pause * ms_ns;
    rn_host_tell_failure(h, w->token, &w->call.error,
                         "the lease cannot be written");
    rn_worker_forget_manual(w); /* the handler may take back what it did */
    rn_worker_end_checkpoints(w, w->call.code ? w->call.code : RUNNEL_BUSY);
    if (w->call.code == RUNNEL_UNAUTHORIZED ||
        w->call.code == RUNNEL_FORBIDDEN) {
        rn_host_fail(
            h, RUNNEL_CLOSE_SERVICE_ERROR, w->call.code, &w->call.error,
            "the lease store refuses this host; check its key or token");
    }
    if (w->update.kind == RN_UPDATE_ACQUIRE)
        w->state = RN_WORKER_FREE; /* the next pass sees how it ended */
    if (w->state == RN_WORKER_RELEASING &&
        (h->is_writing_pointless || w->is_deadline_over ||
         w->write_failures > 5))
        released(w); /* it expires */
}

static void finish(struct rn_worker *w, int64_t now_ns)
{
    enum rn_update_next next = w->next;

    w->is_updating = false;
    if (next == RN_UPDATE_DONE)
        rn_worker_note_written(w, w->write_sent_ns);
    if (next == RN_UPDATE_DONE)
        w->doubtful.kind = RN_POSITION_BEGINNING;
    else if (w->update.is_doubtful && w->storing.kind == RN_POSITION_ETAG)
        w->doubtful = w->storing;
    if (next == RN_UPDATE_LOST)
        lost(w);
    else if (next == RN_UPDATE_FAILED)
        failed(w, now_ns);
    else if (w->update.kind == RN_UPDATE_ACQUIRE)
        acquired(w);
    else if (w->update.kind == RN_UPDATE_RELEASE)
        released(w);
    else
        stored(w);
    rn_update_release(&w->update);
}

static void proceed(struct rn_worker *w, int64_t now_ns)
{
    if (w->next == RN_UPDATE_WRITE)
        start_call(w, RN_LEASE_STORE_REPLACE);
    else if (w->next == RN_UPDATE_READ)
        start_call(w, RN_LEASE_STORE_READ);
    else
        finish(w, now_ns);
}

static struct rn_lease_document *fresh_document(struct rn_worker *w)
{
    struct rn_lease_document *fresh = NULL;
    runnel_error error;

    if (w->call.code || w->call.count != 1)
        return NULL;
    if (rn_lease_store_record_lease(&w->call.records[0], &fresh, &error)) {
        rn_host_tell(w->host, RUNNEL_EVENT_CONFIGURATION,
                     RUNNEL_SEVERITY_CRITICAL, w->token, &error, "%s",
                     error.message);
        return NULL;
    }
    return fresh;
}

/* Is the batch that comes next still the one behind this position? */
static bool is_at(const struct rn_worker *w, const struct rn_lease *fresh)
{
    const struct rn_lease *known = &w->document->lease;
    struct rn_view a = known->position;
    struct rn_view b = fresh->position;

    return !w->must_forget &&
           rn_lease_number(known, RN_LEASE_GENERATION) ==
               rn_lease_number(fresh, RN_LEASE_GENERATION) &&
           (a.at && b.at ? rn_view_eq(a, b) : a.at == b.at);
}

/* After a transaction of unknown outcome: the store's position counts.  If it
 * was not committed the batch waits for its retry as it is. */
static void reread(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_document *fresh = fresh_document(w);

    w->is_updating = false;
    if (fresh && rn_update_is_ours(&w->identity, &fresh->lease)) {
        bool has_moved = !is_at(w, &fresh->lease);

        rn_lease_document_free(w->document);
        w->document = fresh;
        w->must_reread = false;
        if (has_moved)
            moved(w);
    } else if (fresh || w->call.code == RUNNEL_NOT_FOUND) {
        rn_lease_document_free(fresh);
        w->next = RN_UPDATE_LOST;
        w->must_reread = false;
        finish(w, now_ns);
        return;
    } else {
        w->next = RN_UPDATE_FAILED;
        finish(w, now_ns);
        return;
    }
    rn_update_release(&w->update);
}

static void take_answer(struct rn_worker *w, int64_t now_ns)
{
    w->is_calling = w->has_answer = false;
    rn_host_learn(w->host, &w->call);
    if (w->call.code == RUNNEL_PRECONDITION)
        w->host->stats.lease_conflicts++;
    if (w->must_reread && w->call.kind == RN_LEASE_STORE_READ) {
        reread(w, now_ns);
        return;
    }
    if (w->call.kind == RN_LEASE_STORE_REPLACE)
        w->next = rn_update_written(&w->update, w->call.code, w->call.new_etag);
    else
        w->next = rn_update_read(&w->update, w->call.code, fresh_document(w));
    w->document = w->update.base;
    proceed(w, now_ns);
}

/* ---- what is to be written ----------------------------------------------- */

/* The position that may be stored, if it is new. */
static bool choose_position(struct rn_worker *w, struct rn_position *out)
{
    struct rn_view there = w->document->lease.position;
    bool is_manual = w->host->config.o.manual_checkpoint;
    const struct rn_position *done;

    if (w->window.last &&
        (RN_BUG(CHECKPOINT_AT_DELIVERY) ||
         (RN_BUG(NOTHING_STORED_WHILE_OPEN) && !w->window.last->page)))
        done = &w->window.last->token;
    else if (is_manual && w->has_manual)
        done = &w->manual;
    else if (w->window.has_moved && !(is_manual && w->is_manual_open))
        done = &w->window.position;
    else
        return false;
    if (there.at && rn_view_eq(there, rn_view_text(done->etag)))
        return false;
    *out = *done;
    return true;
}

static void begin(struct rn_worker *w, enum rn_update_kind kind, int64_t now_ns)
{
    struct rn_host *h = w->host;

    w->storing = (struct rn_position){ .kind = RN_POSITION_BEGINNING };
    w->update = (struct rn_update){ .kind = kind,
                                    .host = &w->identity,
                                    .base = w->document,
                                    .now_ms = rn_host_store_ms(h),
                                    .was_expired = w->was_expired,
                                    .has_range = true,
                                    .range = w->range };
    if (kind == RN_UPDATE_ACQUIRE) {
        if (w->owner_seen)
            w->update.owner_seen = rn_view_text(w->owner_seen);
    } else {
        if (w->doubtful.kind == RN_POSITION_ETAG)
            w->update.doubtful = rn_view_text(w->doubtful.etag);
        if (choose_position(w, &w->storing))
            w->update.position = rn_view_text(w->storing.etag);
        else if (RN_BUG(RENEWAL_HAS_A_COPY) &&
                 w->manual.kind == RN_POSITION_ETAG)
            w->update.position = rn_view_text(w->manual.etag);
        w->update.attempts = rn_window_attempts(&w->window);
        w->attempts_ns = now_ns;
        w->update.has_weight = h->config.o.weigh_leases;
        w->update.weight =
            rn_weight_read(&w->weight, h->config.o.lease_renew_ms, now_ns);
        if (kind == RN_UPDATE_RELEASE && w->split.bounds)
            w->update.split = rn_view_text(w->split.bounds);
    }
    w->is_updating = true;
    w->must_checkpoint = false;
    w->next = rn_update_begin(&w->update);
}

/* When a write is due by itself; now_ns or earlier: now. */
static int64_t store_due(struct rn_worker *w)
{
    const runnel_processor_options *o = &w->host->config.o;
    int64_t due = w->must_checkpoint && !RN_BUG(CHECKPOINT_AT_RENEWAL)
                      ? 0
                      : w->renew_due_ns;
    struct rn_position position;

    if (o->checkpoint_ms && choose_position(w, &position)) {
        int64_t at = w->checkpointed_ns + (int64_t)o->checkpoint_ms * ms_ns;
        due = at < due ? at : due;
    }
    if (rn_window_attempts(&w->window) != w->attempts_stored) {
        int64_t at = w->attempts_ns + ATTEMPTS_EVERY_MS * ms_ns;
        due = at < due ? at : due;
    }
    return due > w->retry_write_ns ? due : w->retry_write_ns;
}

/* Lends the write turn to the handler whose checkpoint has a transaction. */
static void grant(struct rn_worker *w, struct rn_checkpoint_wait *c,
                  int64_t now_ns)
{
    begin(w, RN_UPDATE_STORE, now_ns);
    if (w->next != RN_UPDATE_WRITE ||
        rn_listing_address(&c->record, &w->document->lease) ||
        rn_buf_add(&c->record.json, rn_buf_view(&w->update.text))) {
        proceed(w, now_ns);
        return;
    }
    w->write_sent_ns = now_ns;
    w->granted = c->delivery;
    w->was_written = false;
    c->is_granted = true;
    w->waiting = c->next;
    c->is_over = true;
    pthread_cond_broadcast(&w->host->changed);
}

void rn_worker_end_grant(struct rn_worker *w, bool is_done)
{
    int64_t now_ns = rn_mono_ns(w->host->env);

    w->granted = NULL;
    if (is_done && w->was_written) {
        w->next = rn_update_written(&w->update, RUNNEL_OK, w->granted_etag);
        w->document = w->update.base;
        finish(w, now_ns);
        return;
    }
    rn_worker_forget_manual(w);
    w->must_reread = true;
    w->must_forget = is_done; /* what is not stored is to come again */
    start_call(w, RN_LEASE_STORE_READ);
}

int64_t rn_worker_write(struct rn_worker *w, int64_t now_ns)
{
    int64_t due;

    if (w->has_answer)
        take_answer(w, now_ns);
    if (w->is_calling || w->granted || w->is_updating)
        return RN_TASK_IDLE;
    switch (w->state) {
    case RN_WORKER_ACQUIRING:
        begin(w, RN_UPDATE_ACQUIRE, now_ns);
        break;
    case RN_WORKER_RELEASING:
        if (w->retry_write_ns > now_ns)
            return w->retry_write_ns - now_ns;
        begin(w, RN_UPDATE_RELEASE, now_ns);
        break;
    case RN_WORKER_SPLITTING:
        if (w->split.is_stored)
            return RN_TASK_IDLE;
        if (w->retry_write_ns > now_ns)
            return w->retry_write_ns - now_ns;
        begin(w, RN_UPDATE_STORE, now_ns);
        break;
    case RN_WORKER_OPENING:
    case RN_WORKER_ACTIVE:
    case RN_WORKER_DRAINING:
    case RN_WORKER_CLOSING:
        if (w->waiting && w->waiting->transaction) {
            grant(w, w->waiting, now_ns);
            return RN_TASK_NOW;
        }
        due = store_due(w);
        if (due > now_ns)
            return due - now_ns;
        begin(w, RN_UPDATE_STORE, now_ns);
        break;
    default:
        return RN_TASK_IDLE;
    }
    proceed(w, now_ns);
    return RN_TASK_NOW;
}

/* ---- checkpoints of handlers --------------------------------------------- */

static void end(struct rn_worker *w, struct rn_checkpoint_wait *c,
                runnel_code code, const char *why)
{
    c->code = code;
    if (code)
        rn_error_set(&c->error, code, "%s", why);
    c->is_over = true;
    pthread_cond_broadcast(&w->host->changed);
}

void rn_worker_end_checkpoints(struct rn_worker *w, runnel_code code)
{
    while (w->waiting) {
        struct rn_checkpoint_wait *c = w->waiting;
        w->waiting = c->next;
        end(w, c, code,
            code == RUNNEL_LEASE_LOST ? "another host has the lease"
                                      : "the lease store did not answer");
    }
}

void rn_worker_forget_manual(struct rn_worker *w)
{
    if (w->has_manual)
        w->manual.etag[0] = 0;
    w->has_manual = false;
}

/* Is there more of the page that is not done?  Then the position behind the
 * page is not that of the batch. */
static bool is_part(const struct rn_delivery *d)
{
    if (RN_BUG(PART_IS_PAGE))
        return false;
    for (size_t i = 0; i < d->count; i++)
        if (d->marks[i] != RN_MARK_NONE || (d->tainted && d->tainted[i]))
            return true;
    return d->slot->open > 1;
}

void rn_worker_checkpoint(struct rn_worker *w, struct rn_checkpoint_wait *c)
{
    const struct rn_slot *slot = c->delivery->slot;

    if (!w->host->config.o.manual_checkpoint) {
        end(w, c, RUNNEL_BAD_REQUEST,
            "runnel_batch_checkpoint needs manual_checkpoint");
    } else if (c->transaction && !w->host->config.has_table) {
        end(w, c, RUNNEL_BAD_REQUEST,
            "a transaction needs a lease_store of your own");
    } else if (!slot || atomic_load(&c->delivery->is_cancelled) ||
               w->state == RN_WORKER_LOST) {
        end(w, c, RUNNEL_LEASE_LOST, "another host has the lease");
    } else if (slot != w->window.first) {
        end(w, c, RUNNEL_BAD_REQUEST, "an earlier batch has no verdict yet");
    } else if (c->transaction && is_part(c->delivery)) {
        end(w, c, RUNNEL_BAD_REQUEST,
            "with changes that are marked the batch has no position for a "
            "transaction");
    } else {
        if (!is_part(c->delivery)) {
            w->manual = slot->token;
            w->has_manual = true;
            w->is_manual_open = true; /* what is done ends before it yet */
        }
        w->must_checkpoint = true;
        c->next = w->waiting;
        w->waiting = c;
    }
}
