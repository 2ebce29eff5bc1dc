/* bootstrap_plan.c -- what a listing of the lease store says: whether it may be
 * shared, and which leases are missing.
 */
#include "client/processor/bootstrap_plan.h"

#include "base/hash.h"
#include "client/lease/property.h"
#include "client/processor/host.h"
#include "client/processor/state.h"

#include <stdio.h>

const char *rn_bootstrap_mode(const struct rn_host *h)
{
    return h->config.mode == RUNNEL_FEED_ALL ? RN_LEASE_MODE_ALL
                                             : RN_LEASE_MODE_LATEST;
}

static void refuse_foreign(struct rn_bootstrap *b, const struct rn_lease *lease)
{
    runnel_error error;

    rn_error_set(&error, RUNNEL_UNSUPPORTED,
                 "%.*s, a host of another library, has a lease; stop it, use "
                 "another processor name, or set fleet to RUNNEL_FLEET_AUTO",
                 RN_FMT(lease->owner));
    rn_bootstrap_refuse(b, error.code, error.message);
}

/* Leases of another mode, or of hosts that we must not share with. */
static bool is_refused(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;
    struct rn_view mode = rn_view_text(rn_bootstrap_mode(h));

    for (size_t i = 0; i < b->listing.count; i++) {
        const struct rn_lease *lease = &b->listing.leases[i]->lease;
        struct rn_view theirs =
            lease->mode.at ? lease->mode : RN_LIT(RN_LEASE_MODE_LATEST);
        if (!rn_view_eq(theirs, mode)) {
            rn_bootstrap_refuse(
                b, RUNNEL_BAD_REQUEST,
                h->config.mode == RUNNEL_FEED_ALL
                    ? "the leases of this processor name are of latest "
                      "versions; use another name for all versions"
                    : "the leases of this processor name are of all versions; "
                      "use another name for latest versions");
            return true;
        }
        if (h->config.o.fleet == RUNNEL_FLEET_NATIVE && lease->owner.at &&
            !rn_lease_is_native(lease) &&
            !rn_lease_expiry_is_over(&h->expiry, lease)) {
            refuse_foreign(b, lease);
            return true;
        }
    }
    return false;
}

/* Is the range, or a part of it, covered by a lease? */
static bool has_lease(const struct rn_listing *l,
                      const struct rn_epk_range *range)
{
    struct rn_epk_range common;

    for (size_t i = 0; i < l->count; i++) {
        if (l->covers[i].has_range &&
            rn_epk_range_meet(&l->covers[i].range, range, &common))
            return true;
    }
    return false;
}

/* Does anything cover every key of this interval? */
static bool is_covered(const struct rn_listing *l,
                       const struct rn_epk_range *range,
                       struct rn_epk_range *hole)
{
    return !rn_coverage_hole(l->covers, l->count, &range->min, hole) ||
           rn_epk_compare(&hole->min, &range->max) >= 0;
}

static bool add_child(struct rn_bootstrap *b, const struct rn_epk_range *range,
                      const char *id)
{
    struct rn_lease_child *more = rn_new((b->count + 1) * sizeof(*more));
    struct rn_lease_child *c;

    if (!more)
        return false;
    if (b->count)
        memcpy(more, b->children, b->count * sizeof(*more));
    rn_free(b->children);
    b->children = more;
    c = &more[b->count++];
    c->range = *range;
    c->is_epk = id == NULL;
    if (id)
        snprintf(c->token, sizeof(c->token), "%s", id);
    else
        rn_lease_token_print(range, c->token);
    return true;
}

/* Halves an interval, and the halves, until there are `pieces`; in order. */
static bool add_pieces(struct rn_bootstrap *b, const struct rn_epk_range *range,
                       uint32_t pieces)
{
    struct rn_epk_range half = *range;
    struct rn_epk middle;

    if (pieces <= 1 ||
        !rn_epk_middle(&b->host->definition->key, range, &middle))
        return add_child(b, range, NULL);
    half.max = middle;
    if (!add_pieces(b, &half, pieces - pieces / 2))
        return false;
    half = *range;
    half.min = middle;
    return add_pieces(b, &half, pieces / 2);
}

/* Version 2 of the .NET library cannot read the lease of an interval: it asks
 * for a range of that name, gets 410 and retries for ever. */
static uint32_t choose_pieces(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;
    uint32_t pieces = h->config.o.leases_per_range;

    for (size_t i = 0; pieces > 1 && i < b->listing.count; i++) {
        const struct rn_lease *lease = &b->listing.leases[i]->lease;
        runnel_event event = { .kind = RUNNEL_EVENT_CONFIGURATION,
                               .severity = RUNNEL_SEVERITY_WARNING };
        char host[RN_HOST_MAX + 1];
        if (!lease->owner.at || !rn_lease_is_version_2(lease) ||
            rn_lease_expiry_is_over(&h->expiry, lease))
            continue;
        pieces = 1;
        snprintf(host, sizeof(host), "%.*s", RN_FMT(lease->owner));
        event.host = host;
        rn_host_put(h, &event,
                    "leases_per_range is ignored: %s uses version 2 of the "
                    ".NET library",
                    host);
    }
    return pieces;
}

/* The leases of a range without any. */
static bool add_range(struct rn_bootstrap *b,
                      const struct rn_range_route *route, uint32_t pieces)
{
    return pieces > 1 ? add_pieces(b, &route->range, pieces)
                      : add_child(b, &route->range, route->id);
}

/* What is missing: ranges without a lease, and holes between leases. */
static bool find_missing(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;
    struct rn_listing *l = &b->listing;
    uint32_t pieces = choose_pieces(b);

    rn_bootstrap_forget(b);
    for (size_t i = 0; i < h->map->count; i++) {
        const struct rn_range_route *route = &h->map->routes[i];
        struct rn_epk_range hole = route->range;
        if (is_covered(l, &route->range, &hole))
            continue;
        if (!has_lease(l, &route->range)) {
            if (!add_range(b, route, pieces))
                return false;
            continue;
        }
        do { /* a part of the range: a lease of that part */
            rn_epk_range_meet(&hole, &route->range, &hole);
            if (!add_child(b, &hole, NULL))
                return false;
        } while (rn_coverage_hole(l->covers, l->count, &hole.max, &hole) &&
                 rn_epk_compare(&hole.min, &route->range.max) < 0);
    }
    return true;
}

static void tell_hole(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;
    bool is_all = h->config.mode == RUNNEL_FEED_ALL;

    rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_CRITICAL,
                 b->children[0].token, NULL,
                 is_all ? "%zu leases are missing; import or seek them"
                        : "%zu leases are missing and begin again",
                 b->count);
}

/* Our start is after that of every host whose name and leases we take over,
 * however coarse the store's clock is. */
static void find_start(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;
    struct rn_view host = rn_view_text(h->config.host);

    h->start_ms = rn_host_store_ms(h);
    for (size_t i = 0; i < b->listing.count; i++) {
        const struct rn_lease *lease = &b->listing.leases[i]->lease;
        int64_t start_ms = rn_lease_session_start(lease);
        if (rn_lease_is_native(lease) && rn_view_eq(lease->owner, host) &&
            start_ms >= h->start_ms)
            h->start_ms = start_ms + 1;
    }
    snprintf(h->session, sizeof(h->session), "%lld-", (long long)h->start_ms);
}

void rn_bootstrap_complete(struct rn_bootstrap *b)
{
    if (!b->is_repair)
        find_start(b);
    b->is_complete = true;
    b->step = b->has_lock ? RN_STEP_UNLOCK : RN_STEP_DONE;
}

/* A lease of version 2 of the .NET library has the id of its range alone.  One
 * that the map does not know may have come of a split since: what it covers is
 * told by a newer map, and if that does not know it either, nothing is. */
static bool has_strangers(struct rn_bootstrap *b)
{
    uint64_t strangers = 0;

    for (size_t i = 0; i < b->listing.count; i++) {
        struct rn_view id = b->listing.leases[i]->lease.id;

        if (!b->listing.covers[i].has_range)
            strangers ^= rn_hash64(id, 1);
    }
    if (strangers == b->strangers)
        return false;
    b->strangers = strangers;
    return strangers != 0;
}

static void decide(struct rn_bootstrap *b)
{
    struct rn_listing *l = &b->listing;

    if (b->is_repair && !l->has_marker) {
        b->host->is_writing_pointless = true;
        rn_host_fail(
            b->host, RUNNEL_CLOSE_LEASE_LOST, RUNNEL_NOT_FOUND, NULL,
            "the leases were deleted; import them, or restart to begin "
            "as a new processor");
        b->step = RN_STEP_DONE;
        return;
    }
    if (has_strangers(b)) {
        /* Not the map that is being read now: it may be as old. */
        b->map_seen = b->host->map_version + (b->host->map_call != NULL);
        b->step = RN_STEP_MAP;
        return;
    }
    if (!find_missing(b)) {
        rn_bootstrap_refuse(b, RUNNEL_NO_MEMORY, "no memory");
        return;
    }
    if (l->has_marker && b->count == 0) {
        rn_bootstrap_complete(b);
        return;
    }
    if (l->has_marker && l->count == 0 && !l->damaged) {
        rn_bootstrap_refuse(b, RUNNEL_UNSUPPORTED,
                            "the store is initialised but has no lease; set "
                            "discard_leases or import leases");
        return;
    }
    if (l->damaged && l->has_marker) {
        rn_bootstrap_complete(b); /* its range waits; the pass says so */
        return;
    }
    if (!b->has_lock) {
        b->step = RN_STEP_LOCK;
        return;
    }
    b->from_beginning = l->has_marker;
    if (b->from_beginning) {
        tell_hole(b);
        if (b->host->config.mode == RUNNEL_FEED_ALL) {
            rn_bootstrap_complete(b);
            return;
        }
    }
    b->step = b->count ? RN_STEP_START : RN_STEP_MARKER;
}

void rn_bootstrap_listed(struct rn_bootstrap *b, int64_t now_ns)
{
    struct rn_host *h = b->host;
    runnel_error error = { 0 };
    runnel_code rc;

    if (b->call.code) {
        rn_bootstrap_retry(b, b->call.code, &b->call.error, now_ns);
        return;
    }
    rn_listing_release(&b->listing);
    rc = rn_listing_read(&b->listing, h->base, &b->call, &error);
    if (rc) {
        rn_bootstrap_retry(b, rc, &error, now_ns);
        return;
    }
    rn_listing_route(&b->listing, h->map);
    h->expiry.now_ms = b->call.now_ms;
    h->expiry.mono_ns = now_ns;
    if (h->config.o.discard_leases && !b->has_discarded && !b->is_repair)
        b->step = RN_STEP_DISCARD;
    else if (!is_refused(b))
        decide(b);
}
