/* balance.c -- the target of a host and the moves towards it. */
#include "client/processor/balance.h"

#include "base/hash.h"

#include <assert.h>

enum {
    MARK_MIN_MS = 1000,
    WEIGHT_MIN = 60, /* a host with less load needs no help */
};

/* An owner, and the number and the weight of its live leases. */
struct worker {
    struct rn_view name;
    size_t count;
    uint64_t weight;
};

struct work {
    const struct rn_balance *b;
    struct rn_balance_plan *plan;
    struct worker *workers; /* in the order of their first lease */
    size_t count;
    struct worker *me;
    size_t available;
};

/* Hosts know the store's clock by its whole seconds: one may take a mark of
 * this moment for half a second old, or more. */
static int64_t mark_ms(const struct rn_balance *b)
{
    return b->acquire_ms > MARK_MIN_MS ? b->acquire_ms : MARK_MIN_MS;
}

/* A mark of another host counts until it is stale; ours until we steal. */
static bool is_marked(const struct rn_balance *b,
                      const struct rn_balance_lease *l)
{
    if (!l->wanted.at)
        return false;
    return rn_view_eq(l->wanted, b->host) || l->wanted_age_ms < 2 * mark_ms(b);
}

/* A free lease is left to the host that marked it for one interval.  That host
 * waits for it until it would steal it. */
static bool is_kept(const struct rn_balance *b,
                    const struct rn_balance_lease *l)
{
    return l->wanted_age_ms < mark_ms(b) ||
           (!l->owner.at && l->free_age_ms < mark_ms(b) &&
            l->wanted_age_ms < (int64_t)b->expire_ms / 2 + mark_ms(b));
}

static bool is_reserved(const struct rn_balance *b,
                        const struct rn_balance_lease *l)
{
    return l->wanted.at && !rn_view_eq(l->wanted, b->host) && is_kept(b, l);
}

static struct worker *find_worker(struct work *w, struct rn_view name)
{
    for (size_t i = 0; i < w->count; i++)
        if (rn_view_eq(w->workers[i].name, name))
            return &w->workers[i];
    w->workers[w->count] = (struct worker){ .name = name };
    return &w->workers[w->count++];
}

/* The host that the lease counts for; null: none, it is available.  With marks
 * that is the host that wants it. */
static struct rn_view holder(const struct rn_balance *b,
                             const struct rn_balance_lease *l, bool with_marks)
{
    if (l->is_available)
        return with_marks && is_reserved(b, l) ? l->wanted
                                               : (struct rn_view){ 0 };
    return with_marks && is_marked(b, l) ? l->wanted : l->owner;
}

static void count_leases(struct work *w, bool with_marks)
{
    const struct rn_balance *b = w->b;

    for (size_t i = 0; i < b->count; i++) {
        const struct rn_balance_lease *l = &b->leases[i];
        struct rn_view host = holder(b, l, with_marks);
        struct worker *at;

        assert(l->is_available || l->owner.at);
        if (!host.at) {
            w->available++;
            continue;
        }
        if (!l->is_available) {
            find_worker(w, l->owner); /* an owner of marked leases only */
            w->plan->mine += rn_view_eq(l->owner, b->host);
        }
        at = find_worker(w, host);
        at->count++;
        at->weight += l->weight;
    }
    w->me = find_worker(w, b->host);
}

static void find_target(struct work *w)
{
    const struct rn_balance *b = w->b;
    size_t target = 1;

    if (b->count > w->count)
        target = (b->count + w->count - 1) / w->count;
    if (b->max > 0 && target > b->max)
        target = b->max;
    if (b->min > 0 && target < b->min)
        target = b->min;
    w->plan->target = target;
    w->plan->hosts = w->count;
}

static enum rn_code begin(struct work *w, const struct rn_balance *b,
                          struct rn_arena *arena, struct rn_balance_plan *out,
                          bool with_marks)
{
    size_t room = (b->count + 1) * sizeof(size_t);

    *out = (struct rn_balance_plan){
        .take = rn_arena_alloc(arena, room),
        .mark = rn_arena_alloc(arena, room),
        .give = rn_arena_alloc(arena, room),
    };
    *w = (struct work){
        .b = b,
        .plan = out,
        .workers =
            rn_arena_alloc(arena, (2 * b->count + 1) * sizeof(struct worker)),
    };
    if (!out->take || !out->mark || !out->give || !w->workers)
        return RN_NOMEM;
    count_leases(w, with_marks);
    find_target(w);
    return RN_OK;
}

bool rn_balance_has_foreign(const struct rn_balance *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!b->leases[i].is_available && !b->leases[i].is_native)
            return true;
    return false;
}

static void take(struct work *w, size_t i)
{
    w->plan->take[w->plan->take_count++] = i;
}

/* The owner with the most leases; the last of equals. */
static struct worker *largest(struct work *w)
{
    struct worker *found = &w->workers[0];

    for (size_t i = 1; i < w->count; i++)
        if (w->workers[i].count >= found->count)
            found = &w->workers[i];
    return found;
}

/* The same; of equals a random one, so that not all hosts mark the leases of
 * one owner. */
static struct worker *any_largest(struct work *w)
{
    struct worker *found = NULL;

    for (size_t k = 0; k < w->count; k++) {
        struct worker *at = &w->workers[(w->b->seed + k) % w->count];
        if (!found || at->count > found->count)
            found = at;
    }
    return found;
}

/* May one more lease of the largest owner move, if `need` are missing? */
static bool may_move(const struct work *w, const struct worker *from,
                     size_t need)
{
    return from != w->me && from->count > w->plan->target - (need > 1 ? 1 : 0);
}

/* Above the target: at most `limit` leases that no other host wants. */
static void take_left(struct work *w, size_t limit)
{
    const struct rn_balance *b = w->b;

    for (size_t i = 0; i < b->count && w->plan->take_count < limit; i++) {
        if (b->max && w->me->count + w->plan->take_count >= b->max)
            return;
        if (b->leases[i].is_available && b->leases[i].is_left)
            take(w, i);
    }
}

enum rn_code rn_balance_official(const struct rn_balance *b,
                                 struct rn_arena *arena,
                                 struct rn_balance_plan *out)
{
    struct worker *from;
    struct work w;
    size_t need;
    enum rn_code rc = begin(&w, b, arena, out, false);

    if (rc || b->count == 0)
        return rc;
    if (out->target <= w.me->count) {
        take_left(&w, 1);
        return RN_OK;
    }
    need = out->target - w.me->count;
    for (int expired = 0; expired < 2; expired++) {
        for (size_t i = 0; i < b->count && out->take_count < need; i++) {
            if (b->leases[i].is_available &&
                (b->leases[i].owner.at != NULL) == (expired == 1))
                take(&w, i);
        }
    }
    if (w.available > 0)
        return RN_OK;
    from = largest(&w);
    if (!may_move(&w, from, need))
        return RN_OK;
    for (size_t i = 0; i < b->count && out->take_count == 0; i++)
        if (rn_view_eq(b->leases[i].owner, from->name))
            take(&w, i);
    out->is_steal = true;
    return RN_OK;
}

/* ---- native -------------------------------------------------------------- */

/* Leases that are available now: those marked for this host, then any, starting
 * at a place that differs from host to host. */
static size_t take_available(struct work *w, size_t need)
{
    const struct rn_balance *b = w->b;
    size_t first = (size_t)(rn_hash64(b->host, 0) % b->count);

    for (int ours = 1; ours >= 0; ours--) {
        for (size_t k = 0; k < b->count && need > 0; k++) {
            size_t i = (first + k) % b->count;
            const struct rn_balance_lease *l = &b->leases[i];
            bool is_for_us = l->wanted.at && rn_view_eq(l->wanted, b->host);
            if (!l->is_available || is_for_us != (ours == 1) ||
                is_reserved(b, l))
                continue;
            take(w, i);
            need--;
        }
    }
    return need;
}

/* A live lease of `from` that is not marked yet? */
static bool may_mark(const struct work *w, size_t i, const struct worker *from)
{
    const struct rn_balance_lease *l = &w->b->leases[i];

    for (size_t k = 0; k < w->plan->mark_count; k++)
        if (w->plan->mark[k] == i)
            return false;
    return !l->is_available && !is_marked(w->b, l) &&
           rn_view_eq(l->owner, from->name);
}

/* Marks one of them; in a weighed fleet the lightest. */
static bool mark_one(struct work *w, struct worker *from)
{
    const struct rn_balance *b = w->b;
    size_t best = b->count;

    for (size_t n = 0; n < b->count; n++) {
        size_t i = (b->seed + n) % b->count;
        if (!may_mark(w, i, from))
            continue;
        if (best == b->count || b->leases[i].weight < b->leases[best].weight)
            best = i;
        if (!b->is_weighed)
            break;
    }
    if (best == b->count)
        return false;
    w->plan->mark[w->plan->mark_count++] = best;
    from->count--;
    return true;
}

static void mark_leases(struct work *w, size_t need)
{
    bool is_seen = w->me->count > 0;

    while (need > 0) {
        struct worker *from = any_largest(w);
        if (!may_move(w, from, need) || !mark_one(w, from) || !is_seen)
            return;
        need--;
    }
}

/* Releases own leases that others want, as long as about the target is kept.
 * For a heavy lease that it gives, a host gets a light one. */
static void give_leases(struct work *w)
{
    const struct rn_balance *b = w->b;
    size_t left = w->plan->mine + (b->is_weighed ? 1 : 0);

    for (size_t i = 0; i < b->count; i++) {
        const struct rn_balance_lease *l = &b->leases[i];
        if (l->is_available || !rn_view_eq(l->owner, b->host) ||
            !is_marked(b, l) || rn_view_eq(l->wanted, b->host))
            continue;
        if (left + 1 <= w->plan->target)
            return;
        w->plan->give[w->plan->give_count++] = i;
        left--;
    }
}

/* Steals leases that this host marked long ago and whose owner does not
 * react. */
static void steal_marked(struct work *w)
{
    const struct rn_balance *b = w->b;

    for (size_t i = 0; i < b->count; i++) {
        const struct rn_balance_lease *l = &b->leases[i];
        if (!l->is_available && l->wanted.at &&
            rn_view_eq(l->wanted, b->host) && !rn_view_eq(l->owner, b->host) &&
            l->wanted_age_ms >= (int64_t)b->expire_ms / 2) {
            take(w, i);
            w->plan->is_steal = true;
            return;
        }
    }
}

/* ---- weights ------------------------------------------------------------- */

/* Leases that their owners gave to this host are taken above the target. */
static void take_given(struct work *w)
{
    const struct rn_balance *b = w->b;

    for (size_t i = 0; i < b->count; i++) {
        const struct rn_balance_lease *l = &b->leases[i];
        if (b->max && w->me->count + w->plan->take_count >= b->max)
            return;
        if (l->is_available && l->wanted.at && is_kept(b, l) &&
            rn_view_eq(l->wanted, b->host))
            take(w, i);
    }
}

/* Is every lease where it is to stay, if it is only counted? */
static bool is_at_rest(const struct work *w)
{
    const struct rn_balance *b = w->b;
    const struct rn_balance_plan *plan = w->plan;

    for (size_t i = 0; i < b->count; i++)
        if (b->leases[i].is_available || is_marked(b, &b->leases[i]))
            return false;
    return plan->take_count + plan->mark_count + plan->give_count == 0;
}

static int compare_names(struct rn_view a, struct rn_view b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = memcmp(a.at, b.at, len);

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* One host marks at a time: of equals the first by name. */
static bool is_lightest(const struct work *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct worker *at = &w->workers[i];
        if (at->weight < w->me->weight ||
            (at->weight == w->me->weight &&
             compare_names(at->name, w->me->name) < 0))
            return false;
    }
    return true;
}

static const struct worker *heaviest(const struct work *w)
{
    const struct worker *found = w->me;

    for (size_t i = 0; i < w->count; i++)
        if (w->workers[i].weight > found->weight)
            found = &w->workers[i];
    return found;
}

static uint64_t lightest_lease(const struct work *w, const struct worker *of)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < w->b->count; i++)
        if (may_mark(w, i, of) && w->b->leases[i].weight < least)
            least = w->b->leases[i].weight;
    return least == UINT64_MAX ? 0 : least;
}

/* Marks the lease whose move makes the heavier of the two hosts lightest, if
 * that is worth a move.  A lease above the target means that a light one goes
 * back. */
static void mark_by_weight(struct work *w)
{
    const struct rn_balance *b = w->b;
    const struct worker *from = heaviest(w);
    uint64_t back = 0;
    uint64_t best = from->weight - from->weight / 8;
    size_t found = b->count;

    if (from->weight < WEIGHT_MIN || (b->max && w->me->count >= b->max))
        return;
    if (w->me->count >= w->plan->target)
        back = lightest_lease(w, w->me);
    for (size_t i = 0; i < b->count; i++) {
        uint64_t weight = b->leases[i].weight;
        uint64_t theirs = from->weight - weight + back;
        uint64_t ours = w->me->weight + weight - back;
        uint64_t after = ours > theirs ? ours : theirs;
        if (!may_mark(w, i, from) || after > best ||
            (after == best && found < b->count))
            continue;
        best = after;
        found = i;
    }
    if (found < b->count)
        w->plan->mark[w->plan->mark_count++] = found;
}

enum rn_code rn_balance_native(const struct rn_balance *b,
                               struct rn_arena *arena,
                               struct rn_balance_plan *out)
{
    struct work w;
    size_t need;
    enum rn_code rc = begin(&w, b, arena, out, true);

    if (rc || b->count == 0)
        return rc;
    give_leases(&w);
    if (out->target > w.me->count) {
        need = take_available(&w, out->target - w.me->count);
        if (out->take_count == 0)
            mark_leases(&w, need);
    } else {
        take_left(&w, b->count);
        if (b->is_weighed && out->take_count == 0)
            take_given(&w);
    }
    if (out->take_count == 0)
        steal_marked(&w);
    if (b->is_weighed && is_at_rest(&w) && is_lightest(&w))
        mark_by_weight(&w);
    return RN_OK;
}
