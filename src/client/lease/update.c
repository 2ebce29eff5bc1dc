/* update.c -- the compare-and-swap loop of a lease. */
#include "client/lease/update.h"

#include "client/http/bug.h"
#include "client/lease/property.h"

#include <stdio.h>

bool rn_update_is_ours(const struct rn_update_host *host,
                       const struct rn_lease *lease)
{
    struct rn_view session = rn_lease_property(lease, RN_LEASE_SESSION);

    return lease->owner.at && session.at &&
           (RN_BUG(TAKEOVER_IGNORED) ||
            rn_view_eq(lease->owner, rn_view_text(host->host))) &&
           (RN_BUG(SESSION_NOT_COMPARED) ||
            rn_view_eq(session, rn_view_text(host->session)));
}

/* Are they the same, or is neither there? */
static bool same(struct rn_view a, struct rn_view b)
{
    return a.at && b.at ? rn_view_eq(a, b) : a.at == b.at;
}

static enum rn_update_next lose(struct rn_update *u,
                                const struct rn_lease *fresh)
{
    u->owner[0] = u->owner_session[0] = 0;
    if (fresh && fresh->owner.at)
        snprintf(u->owner, sizeof(u->owner), "%.*s", RN_FMT(fresh->owner));
    if (fresh && rn_lease_is_native(fresh))
        snprintf(u->owner_session, sizeof(u->owner_session), "%.*s",
                 RN_FMT(rn_lease_property(fresh, RN_LEASE_SESSION)));
    return RN_UPDATE_LOST;
}

static enum rn_update_next fail_hard(struct rn_update *u)
{
    u->has_failed_hard = true;
    return RN_UPDATE_FAILED;
}

/* The texts that an applied change refers to until it is printed. */
struct applied {
    struct rn_lease lease;
    char time[RN_LEASE_TIME_MAX];
    char epoch[24];
    char range[2 * RN_LEASE_TOKEN_MAX];
    char attempts[1100];
    char weight[16];
};

static bool apply_range(struct rn_update *u, struct applied *a)
{
    struct rn_lease *lease = &a->lease;
    char token[RN_LEASE_TOKEN_MAX];
    int n;

    if (!lease->has_range && u->has_range) {
        lease->range = u->range;
        lease->has_range = true;
    }
    if (!lease->has_range || lease->token.len >= RN_LEASE_TOKEN_MAX ||
        rn_lease_is_overgrown(lease))
        return true;
    rn_lease_token_print(&lease->range, token);
    n = snprintf(a->range, sizeof(a->range), "%.*s %s", RN_FMT(lease->token),
                 token);
    return rn_lease_set(lease, RN_LEASE_RANGE, rn_view_of(a->range, (size_t)n));
}

static bool apply_acquire(struct rn_update *u, struct applied *a)
{
    struct rn_lease *lease = &a->lease;
    struct rn_view none = { 0 };
    uint64_t epoch = rn_lease_number(lease, RN_LEASE_EPOCH);
    int n = snprintf(a->epoch, sizeof(a->epoch), "%llu",
                     (unsigned long long)epoch + 1);

    lease->owner = rn_view_text(u->host->host);
    return rn_lease_set(lease, RN_LEASE_SESSION,
                        rn_view_text(u->host->session)) &&
           rn_lease_set(lease, RN_LEASE_OWNER, lease->owner) &&
           rn_lease_set(lease, RN_LEASE_EPOCH,
                        rn_view_of(a->epoch, (size_t)n)) &&
           rn_lease_set(lease, RN_LEASE_INTERVALS,
                        rn_view_text(u->host->intervals)) &&
           rn_lease_set(lease, RN_LEASE_WANTED, none) && apply_range(u, a);
}

static bool apply_weight(struct rn_update *u, struct applied *a)
{
    if (!u->has_weight)
        return true;
    snprintf(a->weight, sizeof(a->weight), "%u", (unsigned)u->weight);
    return rn_lease_set(&a->lease, RN_LEASE_WEIGHT, rn_view_text(a->weight));
}

static bool apply_store(struct rn_update *u, struct applied *a)
{
    struct rn_lease *lease = &a->lease;
    struct rn_view text = { 0 };
    int n;

    if (u->position.at)
        lease->position = u->position;
    if (u->attempts > 0) {
        struct rn_view position =
            lease->position.at ? lease->position : RN_LIT("null");
        n = snprintf(a->attempts, sizeof(a->attempts), "%u %.*s", u->attempts,
                     RN_FMT(position));
        if ((size_t)n < sizeof(a->attempts))
            text = rn_view_of(a->attempts, (size_t)n);
    }
    if (!apply_weight(u, a) ||
        (u->split.at && !rn_lease_set(lease, RN_LEASE_SPLIT, u->split)))
        return false;
    if (u->kind == RN_UPDATE_RELEASE) {
        /* A mark stays: it reserves the free lease for the host that wrote
         * it. */
        lease->owner = (struct rn_view){ 0 };
        return u->attempts == 0 || rn_lease_set(lease, RN_LEASE_ATTEMPTS, text);
    }
    return rn_lease_set(lease, RN_LEASE_ATTEMPTS, text);
}

/* Prints the changed document into u->text. */
static enum rn_update_next apply(struct rn_update *u)
{
    struct applied a = { .lease = u->base->lease };
    bool fits;

    if (u->rounds++ == RN_UPDATE_ROUNDS_MAX)
        return lose(u, &u->base->lease);
    fits = u->kind == RN_UPDATE_ACQUIRE ? apply_acquire(u, &a)
                                        : apply_store(u, &a);
    if (!fits)
        return fail_hard(u);
    rn_lease_stamp(&a.lease, u->now_ms, a.time);
    rn_buf_clear(&u->text);
    u->text.ceiling = RN_LEASE_TEXT_MAX;
    return rn_lease_print(&a.lease, &u->text) ? fail_hard(u) : RN_UPDATE_WRITE;
}

enum rn_update_next rn_update_begin(struct rn_update *u)
{
    const struct rn_lease *lease = &u->base->lease;
    bool may = u->kind == RN_UPDATE_ACQUIRE ? same(lease->owner, u->owner_seen)
                                            : rn_update_is_ours(u->host, lease);

    return may ? apply(u) : lose(u, lease);
}

/* What was sent is what the store has: u->base becomes it. */
static enum rn_update_next note_written(struct rn_update *u,
                                        struct rn_view etag)
{
    struct rn_lease_document *sent = NULL;

    if (rn_lease_document_new(rn_buf_view(&u->text), &sent, NULL))
        return fail_hard(u);
    sent->lease.etag = rn_arena_copy(&sent->arena, etag);
    if (!sent->lease.etag.at) {
        rn_lease_document_free(sent);
        return fail_hard(u);
    }
    rn_lease_document_free(u->base);
    u->base = sent;
    return RN_UPDATE_DONE;
}

enum rn_update_next rn_update_written(struct rn_update *u, runnel_code code,
                                      const char *etag)
{
    switch (code) {
    case RUNNEL_OK:
        /* Without an etag the next write would have no condition. */
        return etag && etag[0] ? note_written(u, rn_view_text(etag))
                               : RN_UPDATE_READ;
    case RUNNEL_NOT_FOUND:
    case RUNNEL_CONFLICT:
        return lose(u, NULL);
    case RUNNEL_PRECONDITION:
    case RUNNEL_UNCERTAIN:
        if (RN_BUG(UNCERTAIN_IS_REFUSED) && u->kind == RN_UPDATE_ACQUIRE)
            return lose(u, NULL);
        u->is_doubtful = u->is_doubtful || code == RUNNEL_UNCERTAIN;
        return RN_UPDATE_READ;
    case RUNNEL_UNAUTHORIZED:
    case RUNNEL_FORBIDDEN:
    case RUNNEL_TOO_LARGE:
    case RUNNEL_BAD_REQUEST:
        return fail_hard(u);
    default:
        return RN_UPDATE_FAILED;
    }
}

/* Has the store all that was sent? */
static bool has_succeeded(struct rn_update *u, const struct rn_lease *fresh)
{
    struct rn_lease_document *sent = NULL;
    bool all = false;

    if (!rn_lease_document_new(rn_buf_view(&u->text), &sent, NULL)) {
        const struct rn_lease *s = &sent->lease;
        all = same(fresh->owner, s->owner) &&
              same(fresh->position, s->position) &&
              same(fresh->timestamp, s->timestamp) &&
              same(rn_lease_property(fresh, RN_LEASE_SESSION),
                   rn_lease_property(s, RN_LEASE_SESSION));
    }
    rn_lease_document_free(sent);
    return all;
}

/* The fresh document is ours: was its position changed by another? */
static void reconcile(struct rn_update *u, const struct rn_lease *fresh)
{
    const struct rn_lease *base = &u->base->lease;
    int order = 0;

    if (rn_lease_number(fresh, RN_LEASE_GENERATION) !=
        rn_lease_number(base, RN_LEASE_GENERATION)) {
        u->has_moved = true;
        u->position = (struct rn_view){ 0 };
        u->attempts = 0;
        return;
    }
    if (same(fresh->position, base->position) ||
        same(fresh->position, u->position) ||
        (u->doubtful.at && same(fresh->position, u->doubtful)))
        return;
    u->has_moved = true;
    u->attempts = 0;
    if (!fresh->position.at || !u->position.at ||
        !rn_lease_position_compare(fresh->position, u->position, &order) ||
        order <= 0)
        u->position = (struct rn_view){ 0 }; /* the store's stands */
}

static enum rn_update_next judge(struct rn_update *u,
                                 struct rn_lease_document *fresh)
{
    const struct rn_lease *lease = &fresh->lease;

    if (u->kind == RN_UPDATE_ACQUIRE) {
        if (u->was_expired || !same(lease->owner, u->owner_seen))
            return lose(u, lease);
    } else if (!rn_update_is_ours(u->host, lease)) {
        return lose(u, lease);
    } else {
        reconcile(u, lease);
    }
    return RN_UPDATE_WRITE;
}

enum rn_update_next rn_update_read(struct rn_update *u, runnel_code code,
                                   struct rn_lease_document *fresh)
{
    enum rn_update_next next;
    struct rn_view moved;

    if (code == RUNNEL_NOT_FOUND)
        return lose(u, NULL);
    if (code || !fresh)
        return RN_UPDATE_FAILED;
    if (has_succeeded(u, &fresh->lease)) {
        rn_lease_document_free(u->base);
        u->base = fresh;
        return RN_UPDATE_DONE;
    }
    next = judge(u, fresh);
    if (next != RN_UPDATE_WRITE) {
        rn_lease_document_free(fresh);
        return next;
    }
    /* The position to be written may lie in the old document. */
    moved = u->position;
    if (moved.at) {
        u->position = rn_arena_copy(&fresh->arena, moved);
        if (!u->position.at) {
            u->position = moved;
            rn_lease_document_free(fresh);
            return fail_hard(u);
        }
    }
    rn_lease_document_free(u->base);
    u->base = fresh;
    return apply(u);
}

void rn_update_release(struct rn_update *u)
{
    rn_buf_release(&u->text);
}
