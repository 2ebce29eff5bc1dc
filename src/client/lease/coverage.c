/* coverage.c -- intervals of leases against the whole. */
#include "client/lease/coverage.h"

#include "client/http/bug.h"
#include "client/lease/property.h"

static bool is_made(const struct rn_lease *lease)
{
    struct rn_view made = rn_lease_property(lease, RN_LEASE_MADE);

    return made.at && rn_view_eq(made, lease->token);
}

static bool is_within(const struct rn_epk_range *inner,
                      const struct rn_epk_range *outer)
{
    return rn_epk_compare(&outer->min, &inner->min) <= 0 &&
           rn_epk_compare(&inner->max, &outer->max) <= 0;
}

static bool is_finer(const struct rn_cover *a, const struct rn_cover *b)
{
    if (RN_BUG(REDUNDANT_WITHOUT_ORDER))
        return a->has_range && a != b;
    if (!a->has_range || !is_within(&a->range, &b->range))
        return false;
    if (!is_within(&b->range, &a->range))
        return true;
    if (a->lease->is_epk != b->lease->is_epk)
        return a->lease->is_epk;
    return rn_view_compare(a->lease->id, b->lease->id) < 0;
}

/* How far the leases reach from `at` on without a gap; only those finer than
 * `than`, if it is not NULL, and made by us, if `ours`. */
static struct rn_epk reach(const struct rn_cover *covers, size_t count,
                           struct rn_epk at, const struct rn_cover *than,
                           bool ours)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const struct rn_cover *c = &covers[i];
            if (!c->has_range || (than && !is_finer(c, than)) ||
                (ours && !is_made(c->lease)))
                continue;
            if (rn_epk_compare(&c->range.min, &at) <= 0 &&
                rn_epk_compare(&at, &c->range.max) < 0) {
                at = c->range.max;
                moved = true;
            }
        }
    }
    return at;
}

bool rn_coverage_hole(const struct rn_cover *covers, size_t count,
                      const struct rn_epk *from, struct rn_epk_range *hole)
{
    struct rn_epk at = reach(covers, count, *from, NULL, false);

    if (rn_epk_compare(&at, &rn_epk_all.max) >= 0)
        return false;
    hole->min = at;
    hole->max = rn_epk_all.max;
    for (size_t i = 0; i < count; i++) {
        const struct rn_cover *c = &covers[i];
        if (c->has_range && rn_epk_compare(&c->range.min, &at) > 0 &&
            rn_epk_compare(&c->range.min, &hole->max) < 0)
            hole->max = c->range.min;
    }
    return true;
}

static bool is_covered(const struct rn_cover *covers, size_t count, size_t i,
                       bool ours)
{
    const struct rn_cover *c = &covers[i];
    struct rn_epk end;

    if (!c->has_range)
        return false;
    end = reach(covers, count, c->range.min, c, ours);
    return rn_epk_compare(&end, &c->range.max) >= 0;
}

bool rn_coverage_is_redundant(const struct rn_cover *covers, size_t count,
                              size_t i)
{
    return is_made(covers[i].lease) && is_covered(covers, count, i, true);
}

bool rn_coverage_is_double(const struct rn_cover *covers, size_t count,
                           size_t i)
{
    return is_covered(covers, count, i, false);
}

/* No position is the lowest of all: everything is to come. */
static int compare_positions(struct rn_view a, struct rn_view b)
{
    int order = 0;

    if (!a.at || !b.at)
        return (a.at != NULL) - (b.at != NULL);
    if (rn_lease_position_compare(a, b, &order))
        return order;
    return rn_view_compare(a, b);
}

bool rn_coverage_is_copy(const struct rn_cover *covers, size_t count, size_t i)
{
    const struct rn_lease *lease = covers[i].lease;

    for (size_t k = 0; k < count; k++) {
        const struct rn_lease *other = covers[k].lease;
        int order;
        if (k == i || !rn_view_eq(other->token, lease->token))
            continue;
        order = compare_positions(other->position, lease->position);
        if (order == 0)
            order = rn_view_compare(other->partition_key, lease->partition_key);
        if (order < 0)
            return true;
    }
    return false;
}
