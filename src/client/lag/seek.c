/* seek.c -- see seek.h. */
#include "client/lag/seek.h"

#include "client/feed/reader.h"
#include "client/lease/property.h"

#include <stdio.h>

/* The move of one lease. */
struct move {
    struct rn_position to;
    int64_t now_ms;      /* the store's clock at the listing */
    uint64_t generation; /* that was written */
    bool is_refused;     /* a live host of another library has the lease */
    char generation_text[24];
    char start[48];
};

static bool is_held_by_foreign(const struct rn_lease *lease, int64_t now_ms)
{
    return lease->owner.at && !rn_lease_is_native(lease) &&
           rn_lease_set_is_held(lease, now_ms);
}

static runnel_code refuse(const struct rn_lease *lease, const char *what,
                          runnel_error *error)
{
    return rn_error_set(error, RUNNEL_CONFLICT,
                        "lease %.*s: %.*s, a host of another library, %s; stop "
                        "it first",
                        RN_FMT(lease->token), RN_FMT(lease->owner), what);
}

/* An owner that uses this library stays; a dead one of another does not, in
 * case it comes back. */
static bool apply(void *context, struct rn_lease *lease)
{
    struct move *m = context;
    struct rn_view none = { 0 };
    bool is_etag = m->to.kind == RN_POSITION_ETAG;

    m->is_refused = is_held_by_foreign(lease, m->now_ms);
    if (m->is_refused)
        return false;
    m->generation = rn_lease_number(lease, RN_LEASE_GENERATION) + 1;
    snprintf(m->generation_text, sizeof(m->generation_text), "%llu",
             (unsigned long long)m->generation);
    snprintf(m->start, sizeof(m->start), "beginning");
    if (m->to.kind == RN_POSITION_TIME)
        snprintf(m->start, sizeof(m->start), "time:%lld",
                 (long long)rn_position_second(&m->to));
    lease->position = is_etag ? rn_view_text(m->to.etag) : none;
    if (lease->owner.at && !rn_lease_is_native(lease))
        lease->owner = none;
    return rn_lease_set(lease, RN_LEASE_GENERATION,
                        rn_view_text(m->generation_text)) &&
           rn_lease_set(lease, RN_LEASE_ATTEMPTS, none) &&
           rn_lease_set(lease, RN_LEASE_START,
                        is_etag ? none : rn_view_text(m->start));
}

/* ---- where to ------------------------------------------------------------ */

/* "Now" of one interval is an etag that the server sends. */
static runnel_code read_now(struct rn_lease_set *s, const struct rn_cover *c,
                            const struct rn_routing *map, runnel_feed_mode mode,
                            struct rn_position *at, runnel_error *error)
{
    struct rn_reader_source source = { .container = s->source,
                                       .definition = s->definition,
                                       .mode = mode,
                                       .since_s = INT64_MIN };
    struct rn_transport *t = s->transport;
    enum rn_reader_event event;
    struct rn_reader r;
    int64_t next = 0;
    runnel_code rc = RUNNEL_OK;

    rn_reader_init(&r, &source, &c->range, at);
    if (!c->has_range || !rn_reader_route(&r, map))
        return rn_error_set(error, RUNNEL_GONE,
                            "the lease's range was split; let a host run");
    rn_reader_ask(&r, t, 0);
    while ((event = rn_reader_step(&r, &next)) == RN_READER_NONE)
        t->ops->wait(t, next);
    if (event == RN_READER_FAILED || event == RN_READER_GONE) {
        rc = event == RN_READER_GONE ? RUNNEL_GONE : r.code;
        if (error)
            *error = r.error;
    } else {
        *at = r.at;
    }
    rn_reader_release(&r);
    return rc;
}

/* An etag, or the LSN in it: both name the last change that is done. */
static runnel_code set_token(struct rn_position *p, const char *token,
                             runnel_error *error)
{
    size_t len = strlen(token);
    char etag[RN_POSITION_MAX + 1];

    if (len > 0 && len < sizeof(etag) - 2 &&
        strspn(token, "0123456789") == len) {
        snprintf(etag, sizeof(etag), "\"%s\"", token);
        return rn_position_set(p, rn_view_text(etag), error);
    }
    if (len < 3 || token[0] != '"' || token[len - 1] != '"') {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: a lease is moved to an LSN or to an etag "
                            "of the change feed, with its quotes");
    }
    return rn_position_set(p, rn_view_of(token, len), error);
}

static runnel_code find_position(struct rn_lease_set *s,
                                 const struct rn_cover *cover,
                                 const struct rn_routing *map,
                                 const runnel_feed_options *to,
                                 struct rn_position *out, runnel_error *error)
{
    runnel_code rc;

    if (to->token)
        return set_token(out, to->token, error);
    rc = rn_position_start(to, RUNNEL_START_BEGINNING, out, error);
    if (!rc && out->kind == RN_POSITION_NOW)
        rc = read_now(s, cover, map, to->mode, out, error);
    return rc;
}

/* ---- all leases ---------------------------------------------------------- */

static bool is_chosen(const struct rn_lease *lease, const char *token)
{
    return !token || rn_view_eq(lease->token, rn_view_text(token));
}

/* Before anything is written: may all of them be moved? */
static runnel_code check(const struct rn_listing *l, const char *token,
                         runnel_error *error)
{
    bool is_found = false;

    for (size_t i = 0; i < l->count; i++) {
        const struct rn_lease *lease = &l->leases[i]->lease;
        if (!is_chosen(lease, token))
            continue;
        is_found = true;
        if (is_held_by_foreign(lease, l->now_ms))
            return refuse(lease, "holds it", error);
    }
    if (!is_found)
        return rn_error_set(error, RUNNEL_NOT_FOUND, "there is no lease %s",
                            token ? token : "at all");
    return RUNNEL_OK;
}

static runnel_code move_one(struct rn_lease_set *s, struct rn_listing *l,
                            size_t i, struct move *m, runnel_error *error)
{
    runnel_code rc;

    m->now_ms = l->now_ms;
    rc = rn_lease_set_change(s, &l->leases[i], apply, m, error);
    l->covers[i].lease = &l->leases[i]->lease;
    if (!rc && m->is_refused)
        rc = refuse(&l->leases[i]->lease, "has just taken it", error);
    return rc;
}

/* A host of another library may have written without a condition.  A lease
 * that is not there any more was split, and its children have the position. */
static runnel_code read_back(struct rn_lease_set *s, const struct rn_listing *l,
                             const struct move *moves, runnel_error *error)
{
    struct rn_listing now = { 0 };
    runnel_code rc = rn_lease_set_list(s, &now, error);

    for (size_t i = 0; !rc && i < l->count; i++) {
        for (size_t k = 0; !rc && k < now.count; k++) {
            const struct rn_lease *lease = &now.leases[k]->lease;
            if (rn_view_eq(lease->id, l->leases[i]->lease.id) &&
                rn_lease_number(lease, RN_LEASE_GENERATION) <
                    moves[i].generation)
                rc = refuse(lease, "wrote over the new position", error);
        }
    }
    rn_listing_release(&now);
    return rc;
}

runnel_code rn_lease_set_seek(struct rn_lease_set *s, const char *token,
                              const runnel_feed_options *to,
                              runnel_error *error)
{
    struct rn_listing l = { 0 };
    struct rn_routing *map = NULL;
    struct move *moves = NULL;
    runnel_code rc = rn_lease_set_route(s, &l, &map, error);

    if (!rc)
        rc = check(&l, token, error);
    if (!rc) {
        moves = rn_new(l.count * sizeof(*moves));
        if (!moves)
            rc = rn_error_take(error, RN_NOMEM, NULL);
    }
    for (size_t i = 0; moves && !rc && i < l.count; i++)
        if (is_chosen(&l.leases[i]->lease, token))
            rc = find_position(s, &l.covers[i], map, to, &moves[i].to, error);
    for (size_t i = 0; moves && !rc && i < l.count; i++)
        if (is_chosen(&l.leases[i]->lease, token))
            rc = move_one(s, &l, i, &moves[i], error);
    if (!rc)
        rc = read_back(s, &l, moves, error);
    rn_free(moves);
    rn_listing_release(&l);
    rn_routing_unref(map);
    return rc;
}
