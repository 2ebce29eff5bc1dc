/* checker_repeats.c -- what may be delivered twice; see checker.h. */
#include "client/checker_own.h"
#include "client/lease/property.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t ms_ns = 1000000;

static int64_t now_of(const struct checker *c)
{
    return rn_mono_ns(c->source->service->env);
}

struct checker_work *checker_find_work(struct checker *c, int host,
                                       struct rn_view lease)
{
    for (size_t i = 0; i < c->work_count; i++) {
        if (c->works[i].host == host &&
            rn_view_eq(rn_view_text(c->works[i].lease), lease))
            return &c->works[i];
    }
    return NULL;
}

void checker_work_begin(struct checker *c, int host, struct rn_view lease,
                        int64_t lsn)
{
    struct checker_work *w = checker_find_work(c, host, lease);

    if (!w) {
        if (c->work_count == CHECKER_OPEN_MAX)
            abort();
        w = &c->works[c->work_count++];
    }
    *w = (struct checker_work){ .host = host,
                                .acquisition = ++c->acquisitions,
                                .floor = lsn,
                                .stored = lsn,
                                .round = 1,
                                .written_ns = now_of(c) };
    snprintf(w->lease, sizeof(w->lease), "%.*s", RN_FMT(lease));
}

void checker_work_end(struct checker *c, int host)
{
    for (size_t i = c->work_count; i-- > 0;) {
        if (c->works[i].host == host)
            c->works[i] = c->works[--c->work_count];
    }
}

/* Another than the owner changed the position, and left it the lease: it begins
 * there once it has seen it, if that is lower. */
static void note_move(struct checker *c, const struct rn_lease *is, int sender)
{
    int at = checker_session(c, rn_lease_property(is, RN_LEASE_SESSION));
    int owner = at >= 0 && rn_lease_is_native(is) ? c->sessions[at].host : -1;

    for (size_t i = 0; i < c->work_count; i++) {
        struct checker_work *w = &c->works[i];

        if (w->host == sender || w->host != owner ||
            !rn_view_eq(rn_view_text(w->lease), is->token))
            continue;
        w->moves++;
        if (checker_lsn(is) < w->floor)
            w->floor = checker_lsn(is);
    }
}

void checker_work_written(struct checker *c, const struct rn_lease *was,
                          const struct rn_lease *is, int sender)
{
    struct rn_view session = rn_lease_property(is, RN_LEASE_SESSION);
    struct checker_work *w;

    if (was && !rn_view_eq(was->position, is->position))
        note_move(c, is, sender);
    if (sender < CHECKER_PEER && session.at &&
        (!was ||
         !rn_view_eq(rn_lease_property(was, RN_LEASE_SESSION), session))) {
        checker_work_begin(c, sender, is->token, checker_lsn(is));
        return;
    }
    w = checker_find_work(c, sender, is->token);
    if (!w)
        return;
    w->written_ns = now_of(c);
    if (checker_lsn(is) > w->stored)
        w->stored = checker_lsn(is);
}

/* A page of a .NET host is stored before it reads the next. */
static void check_page_stored(struct checker *c, const struct checker_work *w)
{
    for (size_t i = 0; i < c->source->entry_count; i++) {
        const struct service_entry *e = c->source->entries[i];

        if (w->done[e->commit] && (int64_t)e->lsn > w->stored)
            checker_violated(c,
                             "R5: peer %d reads on before commit %lu is stored",
                             w->host, (unsigned long)e->commit);
    }
}

void checker_work_delivered(struct checker *c, int host, const char *lease,
                            const uint64_t *commits, size_t count)
{
    struct checker_work *w = checker_find_work(c, host, rn_view_text(lease));

    if (!w)
        return;
    if (host > CHECKER_PEER)
        check_page_stored(c, w);
    else if (c->valid_ms && now_of(c) - w->written_ns > c->valid_ms * ms_ns)
        checker_violated(
            c, "R3: host %d handles lease %s %lld ms after its last write",
            host, lease, (long long)((now_of(c) - w->written_ns) / ms_ns));
    for (size_t i = 0; i < count; i++) {
        const struct service_entry *e;

        if (!commits[i])
            continue;
        e = c->source->entries[commits[i] - 1];
        c->repeats += c->acked[commits[i]];
        if ((int64_t)e->lsn <= w->floor)
            checker_violated(c,
                             "R1: host %d delivers commit %lu (LSN %lu) of "
                             "lease %s, which it began at %lld",
                             host, (unsigned long)commits[i],
                             (unsigned long)e->lsn, lease, (long long)w->floor);
        if (w->done[commits[i]] == w->round && w->moves > 0) {
            w->moves--;
            w->round++;
        } else if (w->done[commits[i]] == w->round && !c->is_ahead) {
            checker_violated(c, "R2: host %d is done with commit %lu already",
                             host, (unsigned long)commits[i]);
        }
        w->seen[commits[i]] = w->round;
    }
}

void checker_work_acked(struct checker *c, int host, const char *lease,
                        uint64_t commit)
{
    struct checker_work *w = checker_find_work(c, host, rn_view_text(lease));

    c->acked_ns[commit] = now_of(c);
    checker_note_acker(c, w ? w->acquisition : 0, commit);
    if (w && w->seen[commit] == w->round)
        w->done[commit] = w->round;
}

void checker_stored(struct checker *c, int host, int64_t ms)
{
    for (size_t i = 0; i < c->work_count; i++) {
        const struct checker_work *w = &c->works[i];

        if (w->host != host || !checker_is_open(c, host, w->lease))
            continue;
        for (size_t k = 0; k < c->source->entry_count; k++) {
            const struct service_entry *e = c->source->entries[k];

            if (w->done[e->commit] == w->round && (int64_t)e->lsn > w->stored &&
                now_of(c) - c->acked_ns[e->commit] > ms * ms_ns)
                checker_violated(
                    c, "R4: host %d has not stored commit %lu of lease %s",
                    host, (unsigned long)e->commit, w->lease);
        }
    }
}

/* ---- what is put back ---------------------------------------------------- */

/* Do all leases that have its key store it, if there is one? */
static bool is_stored(const struct service_entry *e,
                      const struct checker_held *held, size_t count,
                      bool *has_lease)
{
    bool is_stored = true;

    *has_lease = false;
    for (size_t i = 0; i < count; i++) {
        if (!rn_epk_range_has(&held[i].keys, rn_epk_view(&e->epk)))
            continue;
        *has_lease = true;
        is_stored &= (int64_t)e->lsn <= held[i].lsn;
    }
    return is_stored && *has_lease;
}

/* A host that is robbed of its lease, by a mark, by one that has its name or by
 * a .NET host, finds it out with its next write, within its validity. */
static int64_t known_ns(const struct checker *c)
{
    return now_of(c) + c->valid_ms * ms_ns;
}

void checker_work_stored(struct checker *c, int sender, int64_t sent_ns,
                         const struct checker_held *held, size_t count)
{
    for (size_t i = 0; i < c->source->entry_count; i++) {
        const struct service_entry *e = c->source->entries[i];
        int64_t was_ns = c->stored_ns[e->commit];
        bool has_lease;

        if (is_stored(e, held, count, &has_lease)) {
            c->stored_ns[e->commit] = was_ns ? was_ns : known_ns(c);
            continue;
        }
        c->stored_ns[e->commit] = 0;
        if (!was_ns || !has_lease)
            continue;
        c->put_back++;
        if (sender < CHECKER_PEER && sent_ns >= was_ns)
            checker_violated(c, "R6: host %d puts commit %lu (LSN %lu) back",
                             sender, (unsigned long)e->commit,
                             (unsigned long)e->lsn);
    }
}
