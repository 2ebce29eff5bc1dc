/* command.c -- power cuts in and after what commands do to a data directory.
 *
 * Compaction rewrites the map under a new name.  Wherever it is cut, the store
 * opens with the same contents as before.
 *
 * A restored directory was not made by the store that then serves from it. What
 * that acknowledges must last all the same.
 */
#include "round.h"

#include "store/admin/backup.h"
#include "store/admin/compact.h"

#include <stdio.h>

enum {
    COMPACTION_GROUPS = 30,
    COMPACTION_STATES = 3, /* per place; */
    RENAME_STATES = 24,    /* after a rename, where most can go wrong */
    RESTORED_GROUPS = 12,
    RESTORED_STATES = 60,
};

/* ---- compaction ---------------------------------------------------------- */

/* The number of events before it began; 0 if something went wrong. */
static size_t record_compaction(struct round *r)
{
    struct work w = { .dice = dice_of(r->plan.seed, 1), .generation = 1 };
    struct rn_compacted compacted;
    struct rn_err err = { 0 };
    size_t before;
    bool ok;

    round_begin(r);
    ok = work_open(&w, &r->plan, r->dir) && work_commits(&w, COMPACTION_GROUPS);
    work_close(&w);
    before = record_mark();
    if (ok && rn_compact(work_env(), r->dir, &compacted, &err))
        ok = work_fail(&w, "compacting: %s", err.text);
    round_end(r);
    if (!ok)
        round_violation(r, w.text);
    return ok ? before : 0;
}

/* Right after every event that changes what a cut leaves, a few times. */
void round_compaction(struct round *r, uint64_t first, bool alone)
{
    size_t before, events;
    uint64_t state = 0;

    /* As it will be opened there; its WAL should not seem too large here.  That
     * makes a state slow. */
    r->shallow = true;
    r->plan.segment_bytes = 32 << 20;
    r->plan.wal_bytes = 256 << 20;
    before = record_compaction(r);
    events = before ? record_mark() : 0;
    disk_clear(r->base);
    for (size_t at = 0; at < events && !round_is_over(r); at++) {
        const struct event *e = record_event(at);
        int tries = e->kind == EVENT_RENAME ? RENAME_STATES : COMPACTION_STATES;
        disk_apply(r->base, e);
        if (at < before || !round_is_border(e))
            continue;
        for (int i = 0; i < tries; i++, state++) {
            struct dice dice = dice_of(r->plan.seed, 1000 + state);
            if (state < first || (alone && state > first))
                continue;
            round_at(r, state);
            round_lose_power(r, r->base, at + 1, 0, &dice);
        }
    }
}

/* ---- restore ------------------------------------------------------------- */

/* A store elsewhere, which is not recorded. */
static bool make_source(struct round *r, struct work *w, const char *source)
{
    bool ok;

    record_on(false);
    ok = work_open(w, &r->plan, source) && work_commits(w, RESTORED_GROUPS);
    work_close(w);
    record_on(true);
    return ok;
}

/* The number of events before it was served; 0 if something went wrong. */
static size_t record_restore(struct round *r, const char *source)
{
    struct work w = { .dice = dice_of(r->plan.seed, 1), .generation = 1 };
    struct rn_err err = { 0 };
    size_t before;
    bool ok;

    disk_remove(source);
    round_begin(r);
    ok = make_source(r, &w, source);
    for (uint64_t n = 1; n <= RESTORED_GROUPS; n++)
        record_note(EVENT_BEGIN, n, 1);
    if (ok && rn_restore(work_env(), source, r->dir, NULL, &err))
        ok = work_fail(&w, "restoring: %s", err.text);
    ok = ok && work_open(&w, &r->plan, r->dir);
    before = record_mark();
    ok = ok && work_commits(&w, RESTORED_GROUPS);
    round_end(r);
    work_close(&w);
    disk_remove(source);
    if (!ok)
        round_violation(r, w.text);
    return ok ? before : 0;
}

void round_restored(struct round *r, uint64_t first, bool alone)
{
    char source[ROUND_PATH_MAX + 8];
    size_t before, events;

    snprintf(source, sizeof(source), "%s/source", r->parent);
    before = record_restore(r, source);
    events = record_mark();
    for (uint64_t i = first; before && i < RESTORED_STATES; i++) {
        struct dice dice = dice_of(r->plan.seed, 1000 + i);
        size_t cut = before + dice_below(&dice, events - before + 1);
        round_at(r, i);
        disk_clear(r->base);
        for (size_t j = 0; j < cut; j++)
            disk_apply(r->base, record_event(j));
        round_lose_power(r, r->base, cut, 0, &dice);
        if (alone || round_is_over(r))
            break;
    }
}
