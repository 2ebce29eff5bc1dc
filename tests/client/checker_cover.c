/* checker_cover.c -- the leases have all keys, and nothing is skipped; see
 * checker.h. */
#include "client/checker_own.h"

#include <stdlib.h>

static uint64_t creation_of(const struct service_entry *e)
{
    while (e->op != SERVICE_CREATE && e->previous)
        e = e->previous;
    return e->commit;
}

static size_t leases_list(const struct checker *c, struct checker_held *held)
{
    size_t count = 0;

    for (size_t i = 0; i < c->leases->entry_count; i++) {
        const struct service_entry *e = c->leases->entries[i];
        struct rn_lease_document *d;

        if (!e->is_live || !checker_is_lease(e))
            continue;
        d = checker_sound(e);
        if (!d)
            continue;
        if (count == CHECKER_LEASES_MAX)
            abort();
        held[count++] =
            (struct checker_held){ checker_keys(c, &d->lease),
                                   checker_lsn(&d->lease), creation_of(e) };
        rn_lease_document_free(d);
    }
    return count;
}

/* How far the leases made after `since` have all keys from `at` on. */
static struct rn_epk reach(const struct checker_held *held, size_t count,
                           struct rn_epk at, uint64_t since)
{
    bool has_grown = true;

    while (has_grown) {
        has_grown = false;
        for (size_t i = 0; i < count; i++) {
            if (held[i].commit >= since &&
                rn_epk_compare(&held[i].keys.min, &at) <= 0 &&
                rn_epk_compare(&held[i].keys.max, &at) > 0) {
                at = held[i].keys.max;
                has_grown = true;
            }
        }
    }
    return at;
}

/* The first keys that no lease has; false: there are none. */
static bool find_hole(const struct checker_held *held, size_t count,
                      struct rn_epk_range *out)
{
    out->min = reach(held, count, rn_epk_all.min, 0);
    out->max = rn_epk_all.max;
    for (size_t i = 0; i < count; i++) {
        if (rn_epk_compare(&held[i].keys.min, &out->min) > 0 &&
            rn_epk_compare(&held[i].keys.min, &out->max) < 0)
            out->max = held[i].keys.min;
    }
    return rn_epk_compare(&out->min, &rn_epk_all.max) < 0;
}

static void gone_add(struct checker *c, const struct rn_epk_range *keys,
                     int64_t lsn, uint64_t commit)
{
    if (c->gone_count == CHECKER_GONE_MAX)
        abort();
    c->gone[c->gone_count++] = (struct checker_gone){ *keys, lsn, commit };
}

/* What has leases again is judged again; the rest counts as if it had. */
static size_t gone_list(struct checker *c, struct checker_held *held,
                        size_t count)
{
    size_t total = count;

    for (size_t i = c->gone_count; i-- > 0;) {
        const struct checker_gone *g = &c->gone[i];
        struct rn_epk end = reach(held, count, g->keys.min, g->commit);

        if (rn_epk_compare(&end, &g->keys.max) >= 0)
            c->gone[i] = c->gone[--c->gone_count];
    }
    for (size_t i = 0; i < c->gone_count; i++)
        held[total++] = (struct checker_held){ c->gone[i].keys, c->gone[i].lsn,
                                               c->gone[i].commit };
    return total;
}

/* A lease that the operator deleted, and the holes that a .NET host left when
 * it made the marker. */
static void note_gone(struct checker *c, const struct service_entry *e,
                      int sender, struct checker_held *held, size_t count)
{
    struct rn_epk_range hole;

    if (e->op == SERVICE_DELETE && sender == CHECKER_OPERATOR &&
        checker_is_lease(e)) {
        struct rn_lease_document *d = checker_sound(e->previous);

        if (d) {
            hole = checker_keys(c, &d->lease);
            gone_add(c, &hole, checker_lsn(&d->lease), e->commit);
        }
        rn_lease_document_free(d);
    }
    if (!checker_is_marker(e) || e->op != SERVICE_CREATE ||
        sender <= CHECKER_OPERATOR)
        return;
    while (find_hole(held, count, &hole)) {
        gone_add(c, &hole, -1, e->commit);
        held[count++] = (struct checker_held){ hole, -1, e->commit };
    }
}

/* I2 */
static void check_hole(struct checker *c, const struct checker_held *held,
                       size_t count)
{
    struct rn_epk_range hole;
    char hex[RN_EPK_TEXT_MAX];

    if (find_hole(held, count, &hole))
        checker_violated(c, "I2: no lease has the keys from \"%.*s\"",
                         RN_FMT(rn_epk_print(&hole.min, hex)));
}

/* Nothing is skipped: some lease still has to deliver what is not
 * acknowledged. */
static void check_skipped(struct checker *c, int sender,
                          const struct checker_held *held, size_t count)
{
    for (size_t i = 0; i < c->source->entry_count; i++) {
        const struct service_entry *e = c->source->entries[i];
        bool is_ahead = c->acked[e->commit];

        for (size_t k = 0; k < count && !is_ahead; k++)
            is_ahead = (int64_t)e->lsn > held[k].lsn &&
                       rn_epk_range_has(&held[k].keys, rn_epk_view(&e->epk));
        if (is_ahead)
            continue;
        if (sender > CHECKER_OPERATOR &&
            checker_is_overgrown(c, rn_epk_view(&e->epk))) {
            c->acked[e->commit] = true;
            c->lost++;
            continue;
        }
        checker_violated(c,
                         "skipped: no lease will deliver commit %lu (LSN %lu)",
                         (unsigned long)e->commit, (unsigned long)e->lsn);
    }
}

void checker_cover(struct checker *c, const struct service_entry *e, int sender,
                   int64_t sent_ns)
{
    struct checker_held held[CHECKER_HELD_MAX];
    size_t count = leases_list(c, held);

    checker_work_stored(c, sender, sent_ns, held, count);
    if (!c->has_marker)
        return;
    note_gone(c, e, sender, held, count);
    count = gone_list(c, held, leases_list(c, held));
    check_hole(c, held, count);
    check_skipped(c, sender, held, count);
}

/* ---- leases that are too large ------------------------------------------- */

void checker_overgrow(struct checker *c, const struct rn_epk_range *keys)
{
    if (c->overgrown_count == CHECKER_GONE_MAX)
        abort();
    c->overgrown[c->overgrown_count++] = *keys;
}

bool checker_is_overgrown(const struct checker *c, struct rn_view epk)
{
    for (size_t i = 0; i < c->overgrown_count; i++) {
        if (rn_epk_range_has(&c->overgrown[i], epk))
            return true;
    }
    return false;
}
