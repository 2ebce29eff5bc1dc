/* lease_split.c -- replaces a lease whose range was split, merged or cut.
 *
 * The children exist before the parent is deleted, and they begin at the stored
 * position, not at the one that was read.  Every step may be repeated, and
 * nothing is undone: if the parent turns out to be another host's, the children
 * stay, because that host relies on them.
 */
#include "client/processor/lease_split.h"

#include "client/http/bug.h"
#include "client/lease/listing.h"
#include "client/lease/property.h"
#include "client/processor/background_write.h"
#include "client/processor/host.h"
#include "client/processor/map.h"
#include "client/processor/pause.h"
#include "client/processor/state.h"
#include "client/processor/table.h"
#include "client/processor/worker.h"

#include <stdio.h>

enum { SPLIT_RETRY_MS = 300, SPLIT_RETRY_MAX_MS = 10000 };

void rn_lease_split_release(struct rn_lease_split *r)
{
    for (size_t i = 0; i < r->count; i++)
        rn_lease_document_free(r->children[i].document);
    rn_lease_store_call_release(&r->call);
    rn_free(r->children);
    rn_free(r->bounds);
    *r = (struct rn_lease_split){ 0 };
}

static bool is_named(const struct rn_worker *w,
                     const struct rn_range_route *route)
{
    return strcmp(w->token, route->id) == 0;
}

enum rn_fate rn_lease_split_fate(struct rn_worker *w)
{
    struct rn_host *h = w->host;
    const struct rn_range_route *route;
    size_t first;
    size_t count;

    if (!h->map || h->map_version <= w->map_seen)
        return RN_FATE_UNKNOWN;
    count = rn_routing_overlap(h->map, &w->range, &first);
    route = &h->map->routes[first];
    if (count > 1)
        return RN_FATE_GONE;
    if (count == 1 && !w->document->lease.is_epk && !is_named(w, route) &&
        strcmp(w->reader.gone_id, route->id) != 0)
        return RN_FATE_GONE; /* merged: becomes a lease of its interval */
    if (count == 0) {
        w->map_seen = h->map_version;
        rn_host_want_map(h);
        return RN_FATE_UNKNOWN;
    }
    return strcmp(w->reader.gone_id, route->id) != 0 &&
                   rn_reader_route(&w->reader, h->map)
               ? RN_FATE_MOVED
               : RN_FATE_SAME;
}

/* ---- which children ------------------------------------------------------ */

static void set_child(struct rn_lease_child *c,
                      const struct rn_epk_range *range, const char *id)
{
    c->range = *range;
    c->is_epk = id == NULL;
    if (id)
        snprintf(c->token, sizeof(c->token), "%s", id);
    else
        rn_lease_token_print(range, c->token);
}

static bool make_children(struct rn_lease_split *r, size_t count)
{
    r->children = rn_new(count * sizeof(*r->children));
    r->count = r->children ? count : 0;
    return r->children != NULL;
}

static bool is_equal(const struct rn_epk_range *a, const struct rn_epk_range *b)
{
    return rn_epk_compare(&a->min, &b->min) == 0 &&
           rn_epk_compare(&a->max, &b->max) == 0;
}

/* By the routing map: a lease of each range that overlaps.  A range that has
 * keys of other leases too, after a merge, becomes a lease of the interval that
 * this lease has of it: the position is not good for the others. */
static bool plan_by_map(struct rn_worker *w)
{
    const struct rn_routing *map = w->host->map;
    struct rn_lease_split *r = &w->split;
    bool is_epk = w->document->lease.is_epk;
    size_t first;
    size_t count = rn_routing_overlap(map, &w->range, &first);

    if (count == 0 || !make_children(r, count))
        return false;
    r->is_merge = count == 1;
    for (size_t i = 0; i < count; i++) {
        const struct rn_range_route *route = &map->routes[first + i];
        struct rn_epk_range range = route->range;
        bool is_whole;

        (void)rn_epk_range_meet(&w->range, &route->range, &range);
        is_whole = is_equal(&range, &route->range);
        set_child(&r->children[i], &range,
                  is_epk || count == 1 || !is_whole ? NULL : route->id);
    }
    return true;
}

/* By the bounds that the lease itself names: "BOUND,BOUND". */
static bool plan_by_bounds(struct rn_worker *w, struct rn_view bounds)
{
    struct rn_lease_split *r = &w->split;
    struct rn_epk_range range = w->range;
    size_t count = 1;
    size_t at = 0;

    for (size_t i = 0; i < bounds.len; i++)
        count += bounds.at[i] == ',';
    if (!make_children(r, count + 1))
        return false;
    r->is_cut = true;
    for (size_t i = 0; i < count; i++) {
        size_t end = at;
        while (end < bounds.len && bounds.at[end] != ',')
            end++;
        if (rn_epk_parse(rn_view_of(bounds.at + at, end - at), &range.max,
                         NULL) ||
            rn_epk_compare(&range.min, &range.max) >= 0 ||
            rn_epk_compare(&range.max, &w->range.max) >= 0)
            return false;
        set_child(&r->children[i], &range, NULL);
        range.min = range.max;
        at = end + 1;
    }
    range.max = w->range.max;
    set_child(&r->children[count], &range, NULL);
    return true;
}

static bool plan(struct rn_worker *w)
{
    struct rn_view bounds = rn_lease_bound(&w->document->lease, RN_LEASE_SPLIT);
    bool is_good = bounds.at ? plan_by_bounds(w, bounds) : plan_by_map(w);

    for (size_t i = 0; is_good && i < w->split.count; i++)
        rn_host_draw_session(w->host, w->split.children[i].session);
    return is_good;
}

/* ---- requests ------------------------------------------------------------ */

static void call_done(struct rn_lease_store_call *call)
{
    struct rn_worker *w = call->context;

    w->split.has_answer = true;
}

static struct rn_lease_store_call *new_call(struct rn_worker *w,
                                            enum rn_lease_store_kind kind)
{
    struct rn_lease_store_call *call = &w->split.call;

    rn_lease_store_call_release(call);
    rn_lease_store_call_init(call, kind);
    call->done = call_done;
    call->context = w;
    return call;
}

static void start_call(struct rn_worker *w)
{
    struct rn_host *h = w->host;

    w->split.is_calling = true;
    w->split.has_answer = false;
    if (w->split.call.kind == RN_LEASE_STORE_READ)
        h->stats.lease_reads++;
    else
        h->stats.lease_writes++;
    h->store->ops->start(h->store, &w->split.call);
}

static void address_child(struct rn_worker *w, const struct rn_lease_child *c)
{
    struct rn_lease_store_call *call = &w->split.call;

    snprintf(call->id, sizeof(call->id), "%s..%s", w->host->base, c->token);
}

/* A parent that another library made, and that was split before its first read,
 * has no position: its children remember where this host was to begin. */
static bool set_start(const struct rn_worker *w, struct rn_lease *child,
                      char text[32])
{
    const struct rn_lease *parent = &w->document->lease;
    const struct rn_position *start = &w->host->config.start;

    if (child->position.at || rn_lease_property(parent, RN_LEASE_START).at ||
        rn_view_eq(rn_lease_property(parent, RN_LEASE_MADE), parent->token))
        return true;
    if (start->kind == RN_POSITION_ETAG) {
        child->position = rn_view_text(start->etag);
        return true;
    }
    snprintf(text, 32, "%s",
             start->kind == RN_POSITION_NOW ? "now" : "beginning");
    if (start->kind == RN_POSITION_TIME)
        snprintf(text, 32, "time:%lld", (long long)(start->time_ms / 1000));
    return rn_lease_set(child, RN_LEASE_START, rn_view_text(text));
}

/* A child of the parent as it was stored, owned by this host. */
static runnel_code print_child(struct rn_worker *w,
                               const struct rn_lease_child *c)
{
    struct rn_host *h = w->host;
    struct rn_lease_store_call *call = &w->split.call;
    struct rn_lease lease = w->document->lease;
    struct rn_view none = { 0 };
    char token[RN_LEASE_TOKEN_MAX];
    char range[2 * RN_LEASE_TOKEN_MAX];
    char time[RN_LEASE_TIME_MAX];
    char start[32];
    bool fits;

    lease.id = rn_view_text(call->id);
    lease.partition_key = h->store->has_key_member ? lease.id : none;
    lease.etag = lease.partition_id = lease.feed_range = lease.extras = none;
    lease.ts_s = 0;
    lease.token = rn_view_text(c->token);
    lease.is_epk = c->is_epk;
    lease.has_range = true;
    lease.range = c->range;
    lease.owner = rn_view_text(h->config.host);
    if (RN_BUG(CHILDREN_AT_READ_POSITION) &&
        w->reader.at.kind == RN_POSITION_ETAG)
        lease.position = rn_view_text(w->reader.at.etag);
    if (RN_BUG(CHILDREN_BEGIN_AGAIN) && h->config.mode != RUNNEL_FEED_ALL)
        lease.position = none;
    rn_lease_token_print(&c->range, token);
    snprintf(range, sizeof(range), "%s %s", c->token, token);
    fits =
        rn_lease_set(&lease, RN_LEASE_SESSION, rn_view_text(c->session)) &&
        rn_lease_set(&lease, RN_LEASE_OWNER, lease.owner) &&
        set_start(w, &lease, start) &&
        rn_lease_set(&lease, RN_LEASE_MADE, lease.token) &&
        (rn_lease_is_overgrown(&lease) ||
         rn_lease_set(&lease, RN_LEASE_RANGE, rn_view_text(range))) &&
        rn_lease_set(&lease, RN_LEASE_INTERVALS, rn_view_text(h->intervals)) &&
        rn_lease_set(&lease, RN_LEASE_ATTEMPTS, none) &&
        rn_lease_set(&lease, RN_LEASE_SPLIT, none) &&
        rn_lease_set(&lease, RN_LEASE_WANTED, none);
    rn_lease_stamp(&lease, rn_host_store_ms(h), time);
    return fits ? rn_lease_print(&lease, &call->json) : RUNNEL_TOO_LARGE;
}

static void retry(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_split *r = &w->split;
    int64_t pause = rn_pause(SPLIT_RETRY_MS, r->failures, SPLIT_RETRY_MAX_MS);

    r->failures++;
    r->due_ns = now_ns + pause * 1000000;
    rn_host_tell_failure(w->host, w->token, &r->call.error,
                         "the lease cannot be replaced yet");
}

/* The child is there.  Is it ours?  If not, another host replaces the parent,
 * too: it is proved again that the parent is ours, before the next step. */
static void take_child(struct rn_worker *w, struct rn_lease_document *d,
                       int64_t sent_ns)
{
    struct rn_lease_child *c = &w->split.children[w->split.at];
    struct rn_update_host host = { .host = w->host->config.host,
                                   .session = c->session };

    if (rn_update_is_ours(&host, &d->lease)) {
        c->document = d;
        c->sent_ns = sent_ns;
    } else {
        rn_lease_document_free(d);
        w->split.is_stored = false;
    }
    w->split.at++;
}

/* Is the lease that is there one of another parent, which a .NET host made too
 * large after a merge?  What this parent has still to deliver may lie below its
 * position. */
static bool is_of_another(const struct rn_worker *w,
                          const struct rn_lease *child)
{
    const struct rn_lease *parent = &w->document->lease;

    return !child->is_epk && rn_lease_is_overgrown(child) &&
           !rn_view_eq(rn_lease_property(child, RN_LEASE_RANGE),
                       rn_lease_property(parent, RN_LEASE_RANGE));
}

static void child_created(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_store_call *call = &w->split.call;
    struct rn_lease_document *d = NULL;
    struct rn_lease_child *c = &w->split.children[w->split.at];

    if (call->code == RUNNEL_CONFLICT || call->code == RUNNEL_UNCERTAIN) {
        c->sent_ns = call->sent_ns;
        new_call(w, RN_LEASE_STORE_READ);
        address_child(w, c);
        start_call(w);
    } else if (call->code ||
               rn_lease_document_new(rn_buf_view(&call->json), &d, NULL)) {
        retry(w, now_ns);
    } else {
        d->lease.etag = rn_arena_copy(&d->arena, rn_view_text(call->new_etag));
        take_child(w, d, call->sent_ns);
    }
}

static void child_read(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_store_call *call = &w->split.call;
    struct rn_lease_child *c = &w->split.children[w->split.at];
    struct rn_lease_document *d = NULL;
    runnel_error error;

    if (call->code == RUNNEL_NOT_FOUND)
        return; /* it is created again */
    if (call->code || call->count != 1) {
        retry(w, now_ns);
    } else if (rn_lease_store_record_lease(&call->records[0], &d, &error)) {
        w->split.at++; /* damaged, but it exists: an operator must look */
    } else if (is_of_another(w, &d->lease)) {
        rn_lease_document_free(d);
        set_child(c, &c->range, NULL); /* beside it, one of the interval */
    } else {
        take_child(w, d, c->sent_ns);
    }
}

/* The bounds between the children, for the next owner of the parent. */
static bool print_bounds(struct rn_worker *w)
{
    struct rn_lease_split *r = &w->split;
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    char bound[RN_EPK_TEXT_MAX];
    enum rn_code rc =
        rn_buf_printf(&text, "%s %s", w->token, r->count > 1 ? "" : "-");

    for (size_t i = 0; !rc && i + 1 < r->count; i++) {
        rc = rn_buf_printf(
            &text, "%s%.*s", i ? "," : "",
            RN_FMT(rn_epk_print(&r->children[i].range.max, bound)));
    }
    if (!rc)
        rc = rn_buf_add(&text, rn_view_of("", 1));
    if (!rc)
        r->bounds = rn_buf_take(&text);
    rn_buf_release(&text);
    return !rc;
}

static void start_children(struct rn_worker *w)
{
    struct rn_host *h = w->host;
    struct rn_lease_split *r = &w->split;
    runnel_event event = { .kind = r->is_merge ? RUNNEL_EVENT_MERGED
                                               : RUNNEL_EVENT_SPLIT,
                           .severity = RUNNEL_SEVERITY_INFO,
                           .lease = w->token,
                           .reason = RUNNEL_CLOSE_LEASE_GONE,
                           .count = r->count };

    rn_host_put(h, &event, "%zu lease%s took its place", r->count,
                r->count == 1 ? "" : "s");
    for (size_t i = 0; i < r->count; i++) {
        struct rn_lease_child *c = &r->children[i];
        struct rn_worker *made = NULL;
        if (!c->document || rn_host_find(h, c->document->lease.id) ||
            rn_worker_new(h, c->document, &made))
            continue; /* the next pass acquires it */
        c->document = NULL;
        if (rn_host_add(h, made)) {
            rn_worker_free(made);
            continue;
        }
        rn_worker_adopt(made, c->session, c->sent_ns);
    }
}

void rn_lease_split_forget(struct rn_host *h, const char *id)
{
    for (size_t i = 0; i < h->worker_count && !RN_BUG(CHILDREN_REMEMBERED);
         i++) {
        struct rn_lease_split *r = &h->workers[i]->split;

        for (size_t k = 0; k < r->count; k++) {
            struct rn_lease_child *c = &r->children[k];
            if (!c->document ||
                !rn_view_eq(c->document->lease.id, rn_view_text(id)))
                continue;
            rn_lease_document_free(c->document);
            c->document = NULL;
        }
    }
}

/* A seeded bug: another host may rely on the children. */
static void undo_children(struct rn_worker *w)
{
    for (size_t i = 0; i < w->split.count; i++) {
        const struct rn_lease_document *d = w->split.children[i].document;
        struct rn_background_write *c =
            d ? rn_background_write_new(RN_LEASE_STORE_REMOVE, &d->lease)
              : NULL;

        if (c)
            rn_background_write_start(w->host, c);
    }
}

static void parent_removed(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_split *r = &w->split;

    if (RN_BUG(CHILDREN_UNDONE) && (r->call.code == RUNNEL_PRECONDITION ||
                                    r->call.code == RUNNEL_NOT_FOUND))
        undo_children(w);
    switch (r->call.code) {
    case RUNNEL_FORBIDDEN:
        rn_host_tell(w->host, RUNNEL_EVENT_CONFIGURATION,
                     RUNNEL_SEVERITY_WARNING, w->token, &r->call.error,
                     "the lease of a split range cannot be deleted; grant "
                     "delete on the lease container");
        start_children(w);
        w->state = print_bounds(w) ? RN_WORKER_RELEASING : RN_WORKER_FREE;
        break;
    case RUNNEL_OK:
    case RUNNEL_NOT_FOUND:
    case RUNNEL_PRECONDITION: /* another host has it, and the children */
    case RUNNEL_UNCERTAIN:
        start_children(w);
        w->state = RN_WORKER_FREE;
        break;
    default:
        retry(w, now_ns);
    }
}

static void take_answer(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_split *r = &w->split;

    r->is_calling = r->has_answer = false;
    rn_host_learn(w->host, &r->call);
    if (r->call.kind == RN_LEASE_STORE_CREATE)
        child_created(w, now_ns);
    else if (r->call.kind == RN_LEASE_STORE_READ)
        child_read(w, now_ns);
    else
        parent_removed(w, now_ns);
}

static void create_next(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_child *c = &w->split.children[w->split.at];
    struct rn_lease_store_call *call = new_call(w, RN_LEASE_STORE_CREATE);

    address_child(w, c);
    call->until_ns = atomic_load(&w->valid_until_ns);
    call->code = print_child(w, c);
    if (call->code) {
        rn_error_set(&call->error, call->code, "the child lease is too large");
        retry(w, now_ns);
        return;
    }
    start_call(w);
}

static void remove_parent(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_store_call *call = new_call(w, RN_LEASE_STORE_REMOVE);

    call->code = rn_listing_address(call, &w->document->lease);
    if (call->code)
        retry(w, now_ns);
    else
        start_call(w);
}

int64_t rn_worker_split(struct rn_worker *w, int64_t now_ns)
{
    struct rn_lease_split *r = &w->split;

    if (r->has_answer)
        take_answer(w, now_ns);
    if (w->state != RN_WORKER_SPLITTING || r->is_calling)
        return RN_TASK_IDLE;
    if (r->due_ns > now_ns)
        return r->due_ns - now_ns;
    if (!rn_worker_is_valid(w, now_ns))
        r->is_stored = false; /* write.c proves again that it is ours */
    if (!r->is_stored)
        return RN_TASK_IDLE;
    if (!r->children && !plan(w)) {
        rn_error_set(&r->call.error, RUNNEL_PROTOCOL,
                     "its ranges are not known");
        rn_host_want_map(w->host);
        retry(w, now_ns);
        return RN_TASK_NOW;
    }
    if (r->count == 1 && strcmp(r->children[0].token, w->token) == 0) {
        /* Split and merged again meanwhile: there is nothing to replace.  Its
         * next owner continues. */
        rn_lease_split_release(r);
        w->state = RN_WORKER_RELEASING;
        return RN_TASK_NOW;
    }
    if (r->at < r->count && !RN_BUG(PARENT_DELETED_FIRST))
        create_next(w, now_ns);
    else
        remove_parent(w, now_ns);
    return RN_TASK_NOW;
}
