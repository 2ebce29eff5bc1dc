/* read.c -- the feed of a lease: one request at a time, a page ahead at most.
 *
 * Reads that fail are tried again in place; the lease is kept.  Only after
 * give_up_ms is it released: another host may have a better network.
 */
#include "client/processor/read.h"

#include "client/feed/page.h"
#include "client/http/bug.h"
#include "client/http/exchange.h"
#include "client/processor/deliver.h"
#include "client/processor/host.h"
#include "client/processor/map.h"
#include "client/processor/pause.h"
#include "client/processor/source.h"
#include "client/processor/state.h"
#include "client/processor/table.h"
#include "client/processor/worker.h"

#include <assert.h>

enum {
    READ_RETRY_MS = 200,
    READ_RETRY_MAX_MS = 15000,
    WAITS_MAX = 64,      /* reads that the server holds, in all */
    HELD_MS = 1000,      /* then the server holds a read */
    MEMORY_POLL_MS = 50, /* while buffer_bytes are in use */
    STALE_MAX = 5,       /* 410 in a row, until the map is not believed */
    SPARE_SLOTS = 8, /* pages beyond a lane that waits, with several lanes */
};

static const int64_t ms_ns = 1000000;

/* ---- memory -------------------------------------------------------------- */

/* Bytes of pages that are not in a handler, and of those about to arrive.  A
 * handler that runs, or is stuck, must not keep other leases from reading; a
 * read that the server holds returns nothing soon. */
static size_t buffered_bytes(const struct rn_host *h, int64_t now_ns)
{
    size_t bytes = atomic_load(&h->meter->bytes);
    size_t handled = 0;

    for (size_t i = 0; i < h->worker_count; i++) {
        const struct rn_worker *w = h->workers[i];
        if (w->window.delivered > 0 && w->window.first->page)
            handled += w->window.first->page->bytes;
        for (struct rn_delivery *d = w->window.cut.first; d; d = d->after)
            handled += d->batch->page->bytes;
        if (w->has_reader && w->reader.is_asking &&
            now_ns - w->asked_ns < HELD_MS * ms_ns)
            bytes += w->last_bytes;
    }
    return bytes > handled ? bytes - handled : 0;
}

/* Drops the pages of the lease whose retry is the last.  False if no lease is
 * backing off. */
static bool shed_pages(struct rn_host *h, int64_t now_ns)
{
    struct rn_worker *last = NULL;
    int64_t last_due_ns = 0;

    for (size_t i = 0; i < h->worker_count; i++) {
        struct rn_worker *w = h->workers[i];
        int64_t due_ns;
        if (w->state != RN_WORKER_ACTIVE || w->dead_letter_delivery ||
            !rn_window_is_backing_off(&w->window, now_ns, &due_ns))
            continue;
        if (!last || due_ns > last_due_ns) {
            last = w;
            last_due_ns = due_ns;
        }
    }
    if (last)
        rn_worker_shed_pages(last, last_due_ns);
    return last != NULL;
}

/* Has the lease enough work? */
static bool has_slot(const struct rn_worker *w)
{
    const runnel_processor_options *o = &w->host->config.o;
    size_t slots = o->pending_limit + 1 + (o->parallel > 1 ? SPARE_SLOTS : 0);

    return w->window.slots < slots && !rn_window_has_queued(&w->window);
}

/* Is there memory for another page?  Its size is taken to be that of the
 * last one.  A page always fits if it is alone. */
static bool has_memory(const struct rn_worker *w, int64_t now_ns)
{
    struct rn_host *h = w->host;
    size_t bytes;

    do {
        bytes = buffered_bytes(h, now_ns);
        if (bytes == 0 || bytes + w->last_bytes <= h->config.o.buffer_bytes)
            return true;
        /* Others make room for a lease that has nothing, not for one that
         * reads ahead. */
    } while (w->window.slots == 0 && shed_pages(h, now_ns));
    return false;
}

/* ---- answers ------------------------------------------------------------- */

static void schedule(struct rn_worker *w, int64_t now_ns, int64_t pause_ns)
{
    w->read_due_ns = now_ns + pause_ns;
}

static void take_page(struct rn_worker *w, int64_t now_ns)
{
    struct rn_reader *r = &w->reader;
    struct rn_change_page *page = r->page;

    assert(page);
    r->page = NULL;
    rn_change_page_meter_add(w->host->meter, page);
    w->last_bytes = page->bytes;
    if (RN_BUG(FIRST_PAGE_SKIPPED) && !w->window.first &&
        !w->window.has_moved) {
        rn_change_page_unref(page);
        page = NULL;
    }
    if (rn_window_add(&w->window, page, &r->at, r->range_id, &w->range)) {
        rn_worker_forget_batches(w);
        rn_worker_begin_reading(w);
        schedule(w, now_ns, READ_RETRY_MS * ms_ns);
    }
}

/* An answer without changes: its position counts once all before it is done. */
static void take_nothing(struct rn_worker *w)
{
    struct rn_reader *r = &w->reader;
    bool is_first = !w->document->lease.position.at;

    w->host->stats.feed_empty++;
    w->last_bytes = 0;
    if (r->at.kind != RN_POSITION_ETAG)
        return;
    if (rn_window_add(&w->window, NULL, &r->at, r->range_id, &w->range))
        return; /* it is only a cheaper position to continue from */
    if (is_first && w->window.has_moved)
        w->must_checkpoint = true;
}

/* The service has never given such a position, or only to another container. */
static void tell_bad_position(struct rn_worker *w)
{
    rn_host_tell(w->host, RUNNEL_EVENT_TROUBLE, RUNNEL_SEVERITY_CRITICAL,
                 w->token, &w->reader.error,
                 "the service refuses the lease's position; move the lease "
                 "with runnel_leases_seek: %s",
                 w->reader.error.message);
}

static void tell_failure(struct rn_worker *w)
{
    struct rn_reader *r = &w->reader;

    if (r->code == RUNNEL_THROTTLED)
        w->host->stats.throttled++;
    if (r->code == RUNNEL_BAD_REQUEST && r->at.kind == RN_POSITION_ETAG) {
        tell_bad_position(w);
        return;
    }
    rn_host_tell_failure(w->host, w->token, &r->error,
                         "the feed cannot be read");
}

static void take_failure(struct rn_worker *w, int64_t now_ns)
{
    struct rn_host *h = w->host;
    struct rn_reader *r = &w->reader;
    int64_t pause =
        rn_pause(READ_RETRY_MS, w->read_failures, READ_RETRY_MAX_MS);

    if (pause < r->error.retry_after_ms)
        pause = r->error.retry_after_ms;
    w->read_failures++;
    if (!w->failing_ns)
        w->failing_ns = now_ns;
    tell_failure(w);
    /* A container that was created anew refuses a position that is beyond its
     * LSNs, and a session of the old one. */
    if (r->code == RUNNEL_NOT_FOUND || r->code == RUNNEL_BAD_REQUEST ||
        rn_error_is_session(&r->error))
        rn_host_check_source(h);
    if (r->code == RUNNEL_UNAUTHORIZED || r->code == RUNNEL_FORBIDDEN) {
        rn_host_fail(h, RUNNEL_CLOSE_SERVICE_ERROR, r->code, &r->error,
                     "the source refuses this host; check its key or token");
    } else if (r->code == RUNNEL_BAD_REQUEST && h->config.mode) {
        w->is_retention_over = true;
        rn_host_tell(h, RUNNEL_EVENT_RETENTION, RUNNEL_SEVERITY_CRITICAL,
                     w->token, &r->error,
                     "changes were purged unread; move the lease with "
                     "runnel_leases_seek");
    } else if (now_ns - w->failing_ns >
               (int64_t)h->config.o.give_up_ms * ms_ns) {
        rn_host_avoid(h, w->id);
        rn_worker_drain(w, RUNNEL_CLOSE_SERVICE_ERROR);
    }
    schedule(w, now_ns, rn_host_jitter(h, (uint32_t)pause, 80, 120));
}

/* Did another container than that of the leases answer?  Its LSNs start over:
 * positions mean nothing there, and changes would be skipped. */
static bool is_replaced(const struct rn_worker *w)
{
    const struct rn_change_page *page = w->reader.page;
    const char *ours = w->host->definition->rid;
    struct rn_view theirs;

    if (!page)
        return false;
    theirs = rn_headers_find(&page->reply->headers, RN_HEADER_CONTENT_PATH);
    if (!theirs.at) {
        if (!page->rid)
            return false;
        theirs = rn_view_text(page->rid);
    }
    return theirs.len > 0 && !rn_view_eq(theirs, rn_view_text(ours));
}

static void take_event(struct rn_worker *w, enum rn_reader_event event,
                       int64_t now_ns)
{
    struct rn_host *h = w->host;
    const runnel_processor_options *o = &h->config.o;

    if (event != RN_READER_FAILED) {
        w->read_ns = now_ns;
        w->failing_ns = 0;
        w->read_failures = 0;
    }
    if (event != RN_READER_FAILED && event != RN_READER_GONE)
        w->stale_answers = 0;
    h->stats.feed_reads++;
    if (w->reader.page)
        h->stats.charge += runnel_reply_charge(w->reader.page->reply);
    if (is_replaced(w)) {
        rn_host_replaced(h);
        return;
    }
    switch (event) {
    case RN_READER_PAGE:
        take_page(w, now_ns);
        break;
    case RN_READER_NOTHING:
        take_nothing(w);
        w->cannot_wait = !w->reader.was_applied;
        if (w->cannot_wait || w->reader.wait_s == 0)
            schedule(w, now_ns, (int64_t)o->poll_ms * ms_ns);
        break;
    case RN_READER_MORE:
        take_nothing(w);
        break;
    case RN_READER_GONE:
        w->must_route = true;
        w->map_seen = h->map_version;
        rn_host_want_map(h);
        break;
    case RN_READER_FAILED:
        take_failure(w, now_ns);
        break;
    default:
        break;
    }
}

/* The range answered 410: what does the routing map say by now? */
static int64_t route_again(struct rn_worker *w, int64_t now_ns)
{
    switch (rn_lease_split_fate(w)) {
    case RN_FATE_UNKNOWN:
        return RN_TASK_IDLE;
    case RN_FATE_SAME: /* a stale answer */
        w->must_route = false;
        if (++w->stale_answers % STALE_MAX == 0)
            rn_host_distrust_map(w->host);
        schedule(w, now_ns, READ_RETRY_MS * ms_ns);
        return RN_TASK_NOW;
    case RN_FATE_MOVED: {
        runnel_event event = { .kind = RUNNEL_EVENT_MERGED,
                               .severity = RUNNEL_SEVERITY_INFO,
                               .lease = w->token };
        if (w->reader.gone_id[0])
            rn_host_put(w->host, &event, "goes on in range %s",
                        w->reader.range_id);
        w->must_route = false;
        return RN_TASK_NOW;
    }
    default:
        rn_worker_drain(w, RUNNEL_CLOSE_LEASE_GONE);
        return RN_TASK_NOW;
    }
}

/* Reports a read that takes too long, and later gives it up. */
static int64_t watch(struct rn_worker *w, int64_t now_ns)
{
    const runnel_processor_options *o = &w->host->config.o;
    int64_t stuck_ns =
        ((int64_t)o->stuck_ms + (int64_t)w->reader.wait_s * 1000) * ms_ns;
    int64_t age = now_ns - w->asked_ns;

    if (o->stuck_ms == RUNNEL_OFF)
        return RN_TASK_IDLE;
    if (age < stuck_ns)
        return stuck_ns - age;
    if (!w->is_slow_told) {
        rn_host_tell(w->host, RUNNEL_EVENT_STUCK, RUNNEL_SEVERITY_ERROR,
                     w->token, NULL, "a read has no answer for %lld s",
                     (long long)(age / 1000000000));
    }
    w->is_slow_told = true;
    return RN_TASK_IDLE;
}

static void ask(struct rn_worker *w, int64_t now_ns)
{
    struct rn_host *h = w->host;
    uint32_t wait_ms = h->config.o.wait_ms;

    if (wait_ms == RUNNEL_OFF || w->cannot_wait || h->waits >= WAITS_MAX)
        wait_ms = 0;
    w->asked_ns = now_ns;
    w->is_slow_told = false;
    rn_reader_ask(&w->reader, h->transport, wait_ms);
    w->is_waiting = w->reader.is_asking && w->reader.wait_s > 0;
    h->waits += w->is_waiting;
}

int64_t rn_worker_read(struct rn_worker *w, int64_t now_ns)
{
    int64_t next = RN_TASK_IDLE;
    enum rn_reader_event event;

    if (w->must_route)
        return route_again(w, now_ns);
    if (w->reader.is_asking) {
        event = rn_reader_step(&w->reader, &next);
        if (event == RN_READER_NONE) {
            int64_t at = watch(w, now_ns);
            return at < next ? at : next;
        }
        rn_worker_end_ask(w);
        take_event(w, event, now_ns);
        return RN_TASK_NOW;
    }
    if (w->is_retention_over || !has_slot(w))
        return RN_TASK_IDLE;
    if (w->read_due_ns > now_ns)
        return w->read_due_ns - now_ns;
    if (w->reader.range_id[0] == 0 &&
        !rn_reader_route(&w->reader, w->host->map)) {
        /* Several ranges: as after 410.  Or the lease is of a range that is
         * newer than the map. */
        w->must_route = true;
        w->map_seen = w->host->map_version;
        rn_host_want_map(w->host);
        return RN_TASK_NOW;
    }
    if (!has_memory(w, now_ns))
        return MEMORY_POLL_MS * ms_ns; /* the program may free a batch */
    ask(w, now_ns);
    return RN_TASK_NOW;
}
