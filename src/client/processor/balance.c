/* balance.c -- the target of a host and the moves towards it. */
#include "client/processor/balance.h"

#include "base/hash.h"

#include <assert.h>

enum { MARK_MIN_MS = 1000 };

/* An owner and how many live leases it has. */
struct worker {
    struct rn_view name;
    size_t count;
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
static bool is_reserved(const struct rn_balance *b,
                        const struct rn_balance_lease *l)
{
    if (!l->wanted.at || rn_view_eq(l->wanted, b->host))
        return false;
    return l->wanted_age_ms < mark_ms(b) ||
           (!l->owner.at && l->free_age_ms < mark_ms(b) &&
            l->wanted_age_ms < (int64_t)b->expire_ms / 2 + mark_ms(b));
}

static struct worker *find_worker(struct work *w, struct rn_view name)
{
    for (size_t i = 0; i < w->count; i++)
        if (rn_view_eq(w->workers[i].name, name))
            return &w->workers[i];
    w->workers[w->count] = (struct worker){ .name = name };
    return &w->workers[w->count++];
}

/* With marks a lease counts for the host that wants it. */
static void count_leases(struct work *w, bool with_marks)
{
    const struct rn_balance *b = w->b;

    for (size_t i = 0; i < b->count; i++) {
        const struct rn_balance_lease *l = &b->leases[i];
        bool is_ours = l->owner.at && rn_view_eq(l->owner, b->host);

        assert(l->is_available || l->owner.at);
        if (with_marks && l->is_available && is_reserved(b, l)) {
            find_worker(w, l->wanted)->count++;
        } else if (l->is_available) {
            w->available++;
        } else {
            find_worker(w, l->owner); /* an owner of marked leases only */
            find_worker(w, with_marks && is_marked(b, l) ? l->wanted : l->owner)
                ->count++;
            w->plan->mine += is_ours;
        }
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

/* Marks a live lease of `from` that is not marked yet. */
static bool mark_one(struct work *w, const struct worker *from)
{
    const struct rn_balance *b = w->b;
    struct rn_balance_plan *plan = w->plan;

    for (size_t n = 0; n < b->count; n++) {
        size_t i = (b->seed + n) % b->count;
        const struct rn_balance_lease *l = &b->leases[i];
        bool is_new = true;
        if (l->is_available || is_marked(b, l) ||
            !rn_view_eq(l->owner, from->name))
            continue;
        for (size_t k = 0; k < plan->mark_count; k++)
            is_new = is_new && plan->mark[k] != i;
        if (is_new) {
            plan->mark[plan->mark_count++] = i;
            return true;
        }
    }
    return false;
}

static void mark_leases(struct work *w, size_t need)
{
    bool is_seen = w->me->count > 0;

    while (need > 0) {
        struct worker *from = any_largest(w);
        if (!may_move(w, from, need) || !mark_one(w, from) || !is_seen)
            return;
        from->count--;
        need--;
    }
}

/* Releases own leases that others want, as long as about the target is kept. */
static void give_leases(struct work *w)
{
    const struct rn_balance *b = w->b;
    size_t left = w->plan->mine;

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
    }
    if (out->take_count == 0)
        steal_marked(&w);
    return RN_OK;
}
