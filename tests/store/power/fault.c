/* fault.c -- what a disk may do besides losing power.
 *
 * Rot: a bit flips in a record of the log.  In the last one this looks like
 * a cut in mid-write; in any other the store must refuse to open, for
 * stopping there would silently drop what was acknowledged after it.
 *
 * Faults: the n-th change of any file fails, for n from one up until a whole
 * run passes without reaching it; once or from then on, with EIO or ENOSPC.
 * Then: an answer of RN_OK is kept and visible at once; RN_UNKNOWN is the last
 * word until the store is reopened; any other failure left nothing behind.
 * (Once the map has failed, reads may fail too: LMDB refuses them when it could
 * not write its meta page.)
 */
#include "round.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdio.h>

enum {
    ROT_GROUPS = 14,
    ROT_FLIPS = 12,
    FAULT_GROUPS = 10,
    MODE_SHIFT = 12, /* in a state's number: the mode, then n */
};

/* ---- rot ----------------------------------------------------------------- */

/* The first flips hit each field of the header, the others anything. */
static void flip(struct disk *d, const struct event *e, uint64_t which,
                 struct dice *dice)
{
    static const unsigned fields[] = { 0, 8, 12, 16, 24, RN_WAL_HEADER };
    uint64_t len = RN_WAL_HEADER + rn_get_u32(e->bytes + 12);
    uint64_t at = which < 6 ? fields[which] : dice_below(dice, len);

    d->file[e->file].bytes[e->at + at] ^= (char)(1 << dice_below(dice, 8));
}

static void try_rot(struct round *r, bool last, struct dice *dice)
{
    uint64_t want = ROT_GROUPS - 1;
    struct work w = { 0 };
    bool opened;

    atomic_fetch_add(&r->tally->states[0], 1);
    disk_lay(r->level[0], r->dir, dice);
    opened = work_open(&w, &r->plan, r->dir);
    work_close(&w);
    if (last ? !opened || w.number != want : opened || w.code != RN_CORRUPT) {
        char what[WORK_TEXT_MAX + 128];
        snprintf(what, sizeof(what),
                 "%s record of the WAL is rotten: %s, group %llu: %s",
                 last ? "the last" : "a middle", opened ? "opens" : "refused",
                 (unsigned long long)w.number, w.text);
        round_violation(r, what);
    }
}

void round_rot(struct round *r, uint64_t first, bool alone)
{
    struct work w = { .generation = 1 };
    size_t events, record = 0;
    bool ok;

    r->plan.keep_percent = 0; /* no checkpoint: all records are needed */
    r->plan.segment_bytes = 1 << 20;
    r->plan.wal_bytes = 3 << 20;
    round_begin(r);
    ok = work_open(&w, &r->plan, r->dir);
    while (ok && w.number < ROT_GROUPS)
        ok = work_commit(&w);
    events = round_end(r);
    work_close(&w);
    if (!ok)
        round_violation(r, w.text);
    for (size_t i = 0; ok && i < events; i++) {
        const struct event *e = record_event(i);
        record += round_is_record(e);
        for (uint64_t j = 0; round_is_record(e) && j < ROT_FLIPS; j++) {
            uint64_t state = record << 6 | j;
            struct dice dice = dice_of(r->plan.seed, state);
            if (state < first || (alone && state > first))
                continue;
            round_at(r, state);
            disk_kill(r->base, r->level[0]);
            disk_settle(r->level[0]);
            flip(r->level[0], e, j, &dice);
            try_rot(r, record == ROT_GROUPS, &dice);
        }
    }
}

/* ---- faults -------------------------------------------------------------- */

static bool is_expected(enum rn_code rc)
{
    return rc == RN_UNKNOWN || rc == RN_FULL || rc == RN_IO ||
           rc == RN_READ_ONLY || rc == RN_BUSY;
}

/* One group beside a disk that may fail; `*ended` once the store has said that
 * it writes no more. */
static bool try_group(struct work *w, bool *ended,
                      uint16_t generation[DISK_GROUPS_MAX])
{
    struct rn_err err = { 0 };
    enum rn_code rc = work_try(w, &err);
    uint64_t visible = 0;

    if (!rc)
        generation[w->number] = w->generation;
    else
        w->generation++; /* so that the next attempt differs from it */
    if (!rc && *ended)
        return work_fail(w, "a group is taken after the last word");
    if (rc && !is_expected(rc))
        return work_fail(w, "%s: %s", rn_code_name(rc), err.text);
    if (rc == RN_UNKNOWN && *ended)
        return work_fail(w, "unknown a second time: %s", err.text);
    *ended = *ended || rc == RN_UNKNOWN || rc == RN_READ_ONLY;
    if (*ended && !work_can_read(w))
        return true;
    if (!work_visible(w, &visible))
        return false;
    if (visible != w->number)
        return work_fail(w, "group %llu is visible, %llu was the last taken",
                         (unsigned long long)visible,
                         (unsigned long long)w->number);
    return true;
}

static void live_with_faults(struct round *r, struct work *w)
{
    uint16_t generation[DISK_GROUPS_MAX] = { 0 };
    bool ended = false, ok = true;

    for (int i = 0; ok && i < FAULT_GROUPS; i++) {
        ok = try_group(w, &ended, generation);
        work_keep(w);
        ended = ended || rn_local_is_poisoned((struct rn_local *)w->store);
    }
    if (ok && (!ended || work_can_read(w)))
        ok = work_check(w, generation);
    if (!ok)
        round_violation(r, w->text);
}

/* True if the fault was met. */
static bool try_fault(struct round *r, unsigned mode, uint64_t nth)
{
    static const int errors[] = { EIO, ENOSPC };
    struct dice dice = dice_of(r->plan.seed, nth << 2 | mode);
    struct work w = { .dice = dice, .generation = 1 };
    size_t events;
    bool met;

    round_begin(r);
    record_fail(nth, "", errors[mode & 1], mode & 2);
    if (work_open(&w, &r->plan, r->dir))
        live_with_faults(r, &w);
    met = record_has_failed();
    record_fail(0, "", 0, false);
    events = round_end(r);
    work_close(&w);
    round_lose_power(r, r->base, events, 0, &dice);
    return met;
}

void round_faults(struct round *r, uint64_t first, bool alone)
{
    r->plan.keep_percent = 60;
    r->plan.checkpoint_bytes = 20 << 10;
    r->plan.memtable_bytes = 8 << 10;
    for (unsigned mode = 0; mode < 4; mode++) {
        bool met = mode >= first >> MODE_SHIFT;
        for (uint64_t n = 1; met && !round_is_over(r); n++) {
            uint64_t state = mode << MODE_SHIFT | n;
            if (state < first)
                continue;
            round_at(r, state);
            met = try_fault(r, mode, n);
            if (alone)
                return;
        }
    }
}
