/* checker_order.c -- the order of a key while several calls of a lease are
 * under way, and what checkpoints by hand acknowledge; see checker.h. */
#include "client/checker_own.h"

static struct checker_work *work_of(struct checker *c, int host,
                                    const char *lease)
{
    return checker_find_work(c, host, rn_view_text(lease));
}

static bool is_same_key(const struct checker *c, uint64_t a, uint64_t b)
{
    return strcmp(c->source->entries[a - 1]->pk,
                  c->source->entries[b - 1]->pk) == 0;
}

static bool is_stored(const struct checker *c, const struct checker_work *w,
                      uint64_t commit)
{
    return c->stored_ns[commit] ||
           (int64_t)c->source->entries[commit - 1]->lsn <= w->stored;
}

/* It counts for nothing that this acquisition acknowledged a change, unless
 * that is stored. */
static void unack(struct checker *c, const struct checker_work *w,
                  uint64_t commit)
{
    if (c->acked[commit] && c->acked_by[commit] == w->acquisition &&
        !is_stored(c, w, commit)) {
        c->acked[commit] = false;
        checker_note(c, "commit %lu is not acknowledged any more",
                     (unsigned long)commit);
    }
}

void checker_note_acker(struct checker *c, unsigned acquisition,
                        uint64_t commit)
{
    bool is_another = c->acked[commit] && c->acked_by[commit] != acquisition;

    c->acked_by[commit] = is_another ? 0 : acquisition;
}

/* O1 */
static void check_older(struct checker *c, const struct checker_work *w,
                        const uint64_t *commits, size_t n)
{
    for (uint64_t k = 1; k < commits[n]; k++) {
        bool is_before = c->acked[k] || w->done[k] == w->round ||
                         (c->is_ahead && w->seen[k] == w->round);

        if (!is_same_key(c, k, commits[n]))
            continue;
        for (size_t i = 0; i < n && !is_before; i++)
            is_before = commits[i] == k;
        if (!is_before)
            checker_violated(
                c, "O1: commit %lu is delivered before %lu of its key",
                (unsigned long)commits[n], (unsigned long)k);
    }
}

/* O2 */
static void take_along(struct checker *c, struct checker_work *w,
                       uint64_t commit)
{
    for (uint64_t k = commit + 1; k <= c->source->entry_count; k++) {
        if (w->seen[k] != w->round || !is_same_key(c, k, commit) ||
            (w->is_given_up[commit] && w->passed[k] >= commit))
            continue;
        if (c->is_ahead && w->call[k] > w->failed[commit])
            continue; /* the failure was known, or the two are called at once */
        w->must_come[k] = true;
        w->done[k] = 0;
        unack(c, w, k);
        if (c->taken_ns[k] < c->taken_ns[commit])
            c->taken_ns[k] = c->taken_ns[commit];
    }
}

void checker_several_delivered(struct checker *c, int host, const char *lease,
                               const uint64_t *commits, size_t count)
{
    struct checker_work *w = work_of(c, host, lease);

    if (w)
        w->calls++;
    for (size_t i = 0; w && i < count; i++) {
        if (!c->is_ahead)
            check_older(c, w, commits, i);
        take_along(c, w, commits[i]);
        w->must_come[commits[i]] = false;
        w->call[commits[i]] = w->calls;
    }
}

void checker_handled(struct checker *c, int host, const char *lease,
                     uint64_t commit)
{
    struct checker_work *w = work_of(c, host, lease);

    if (c->several && w && w->must_come[commit])
        return;
    if (!c->is_manual)
        checker_acked(c, host, lease, commit);
    else if (w && w->seen[commit] == w->round)
        w->done[commit] = w->round;
}

void checker_failed(struct checker *c, int host, const char *lease,
                    uint64_t commit)
{
    struct checker_work *w = work_of(c, host, lease);

    if (w)
        w->failed[commit] = ++w->calls;
}

void checker_given_up(struct checker *c, int host, const char *lease,
                      uint64_t commit)
{
    struct checker_work *w = work_of(c, host, lease);

    if (w)
        w->is_given_up[commit] = true;
    for (uint64_t k = commit + 1; w && k <= c->source->entry_count; k++) {
        if (w->call[k] == w->call[commit] && is_same_key(c, k, commit))
            w->passed[k] = (uint16_t)commit;
    }
}

/* ---- checkpoints by hand ------------------------------------------------- */

static void keep(struct checker *c, const struct checker_work *w,
                 uint64_t commit)
{
    c->acks++;
    checker_note_acker(c, w->acquisition, commit);
    c->acked[commit] = true;
    checker_note(c, "commit %lu is kept", (unsigned long)commit);
}

void checker_kept(struct checker *c, int host, const char *lease,
                  const uint64_t *commits, size_t count)
{
    struct checker_work *w = work_of(c, host, lease);

    for (uint64_t k = 1; w && k <= c->source->entry_count; k++) {
        if (w->done[k] == w->round && !c->acked[k])
            keep(c, w, k);
    }
    for (size_t i = 0; w && i < count; i++) {
        if (!w->must_come[commits[i]])
            keep(c, w, commits[i]);
    }
}

void checker_taken_back(struct checker *c, int host, const char *lease,
                        uint64_t commit)
{
    const struct checker_work *w = work_of(c, host, lease);

    if (w)
        unack(c, w, commit);
    if (!c->acked[commit])
        c->taken_ns[commit] = rn_mono_ns(c->source->service->env);
}

void checker_is_kept(struct checker *c, int host, const char *lease,
                     const uint64_t *commits, size_t count)
{
    const struct checker_work *w = work_of(c, host, lease);

    for (size_t i = 0; w && i < count; i++) {
        if (!is_stored(c, w, commits[i]))
            checker_violated(
                c, "M1: host %d made a checkpoint of commit %lu: not stored",
                host, (unsigned long)commits[i]);
    }
}
