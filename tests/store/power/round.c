/* round.c -- see round.h.
 *
 * A state is tried like this: the directory is made to look as the cut left it,
 * the store opens it by its only way, and then must hold every group that was
 * promised, none that was never begun, and nothing else.  Half of the states go
 * on: recovery itself, and perhaps new groups and checkpoints after it, are
 * recorded as well, and the power is cut again in there.
 */
#include "round.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STATES = 160,         /* first cuts per round */
    CREATION_STATES = 60, /* in a round of little else */
    CREATION_EVERY = 6,
    KILLS_EVERY = 7,
    HANG_SECONDS = 60,
    CUTS_MAX = 256,
};

int64_t round_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static uint64_t states_so_far(const struct tally *t)
{
    uint64_t n = 0;

    for (int i = 0; i < ROUND_LEVELS; i++)
        n += atomic_load(&t->states[i]);
    return n;
}

bool round_is_over(const struct round *r)
{
    return atomic_load(&r->tally->stop) ||
           states_so_far(r->tally) >= r->opts->states_max ||
           round_now_ns() >= r->opts->deadline_ns;
}

void round_violation(const struct round *r, const char *what)
{
    uint64_t count = atomic_fetch_add(&r->tally->violations, 1) + 1;

    fprintf(stderr,
            "violation after %llu states: %s\n"
            "  replay: %s --seed %llu --replay %llu.%llu\n",
            (unsigned long long)states_so_far(r->tally), what, r->opts->command,
            (unsigned long long)r->opts->seed, (unsigned long long)r->number,
            (unsigned long long)r->state);
    if (count >= r->opts->violations_max)
        atomic_store(&r->tally->stop, true);
}

void round_at(struct round *r, uint64_t state)
{
    r->state = state;
    if (r->now)
        atomic_store(r->now, r->number << 16 | state);
    alarm(HANG_SECONDS);
}

void round_init(struct round *r, const struct round_opts *opts,
                struct tally *tally, const char *parent)
{
    *r = (struct round){ .opts = opts, .tally = tally };
    snprintf(r->parent, sizeof(r->parent), "%s", parent);
    snprintf(r->dir, sizeof(r->dir), "%s/data", parent);
    r->base = disk_new();
    for (int i = 0; i < ROUND_LEVELS; i++)
        r->level[i] = disk_new();
}

void round_release(struct round *r)
{
    disk_free(r->base);
    for (int i = 0; i < ROUND_LEVELS; i++)
        disk_free(r->level[i]);
}

/* ---- recording ----------------------------------------------------------- */

static void draw_plan(struct round *r)
{
    struct dice d = dice_of(r->opts->seed, r->number);
    uint64_t cruelty = dice_below(&d, 4);
    struct work_plan *p = &r->plan;

    *p = (struct work_plan){
        .seed = dice_next(&d),
        .keys = 60 + (uint32_t)dice_below(&d, 240),
        .groups = 140 + (uint32_t)dice_below(&d, 120),
        .segment_bytes = 128 << 10,
        .memtable_bytes = (1 + dice_below(&d, 24)) << 10,
        .checkpoint_bytes = (50 + dice_below(&d, 500)) << 10,
        .keep_percent = 20 + (unsigned)dice_below(&d, 70),
    };
    if (dice_percent(&d, 50))
        p->segment_bytes = 256 << 10;
    p->wal_bytes = p->segment_bytes * (3 + dice_below(&d, 3));
    if (cruelty == 1)
        p->style.garbage_percent = 25;
    if (cruelty == 2)
        p->style = (struct disk_style){ 80, 50 };
    p->thin_percent = 10 * (unsigned)dice_below(&d, 6);
    r->shallow = false;
    r->aim = r->opts->aim;
    if (r->aim == AIM_ALL && r->number % KILLS_EVERY == KILLS_EVERY - 1)
        r->aim = AIM_KILLS;
    if (r->aim == AIM_ALL && r->number % CREATION_EVERY == CREATION_EVERY - 1)
        r->aim = AIM_CREATION;
    if (r->aim == AIM_CREATION)
        p->groups = (uint32_t)dice_below(&d, 4);
}

static void count_reused(struct round *r, size_t events)
{
    for (size_t i = 0; i < events; i++) {
        const struct event *e = record_event(i);
        if (e->kind == EVENT_RENAME &&
            strncmp(record_name_text(e->to), "log-", 4) == 0)
            atomic_fetch_add(&r->tally->segments_reused, 1);
    }
}

/* Applying all events must give the files that are really there; otherwise
 * something wrote past the recorder and the round proves nothing. */
static void check_recorder(struct round *r, size_t events)
{
    const char *bad;

    disk_clear(r->base);
    for (size_t i = 0; i < events; i++)
        disk_apply(r->base, record_event(i));
    bad = disk_compare(r->base, r->dir);
    if (!bad)
        return;
    fprintf(stderr, "recorder: %s changed unseen (round %llu)\n", bad,
            (unsigned long long)r->number);
    _exit(3);
}

void round_begin(struct round *r)
{
    struct dice none = { 0 };

    record_watch(r->parent, r->dir);
    record_rewind(0);
    disk_clear(r->base);
    disk_lay(r->base, r->dir, &none);
    record_on(true);
}

size_t round_end(struct round *r)
{
    size_t events = record_mark();

    record_on(false);
    check_recorder(r, events);
    return events;
}

static size_t record(struct round *r)
{
    static uint16_t generation[DISK_GROUPS_MAX];
    struct work w = { .dice = dice_of(r->plan.seed, 1), .generation = 1 };
    size_t events;
    bool ok;

    for (int i = 0; i < DISK_GROUPS_MAX; i++)
        generation[i] = 1;
    round_begin(r);
    ok = work_open(&w, &r->plan, r->dir) && work_commits(&w, r->plan.groups);
    events = round_end(r);
    ok = ok && work_check(&w, generation);
    work_close(&w);
    if (!ok)
        round_violation(r, w.text);
    count_reused(r, events);
    atomic_fetch_add(&r->tally->rewritten, w.rewritten);
    return ok ? events : 0;
}

/* ---- states -------------------------------------------------------------- */

static bool is_naming(const struct event *e)
{
    return e->kind == EVENT_MAKE_DIR || e->kind == EVENT_CREATE ||
           e->kind == EVENT_RENAME || e->kind == EVENT_REMOVE;
}

bool round_is_border(const struct event *e)
{
    return is_naming(e) || e->kind == EVENT_SYNC || e->kind == EVENT_SYNC_DIR ||
           e->kind == EVENT_SYNC_PARENT || e->kind == EVENT_ACKED ||
           e->kind == EVENT_SERVED;
}

bool round_is_record(const struct event *e)
{
    return e->kind == EVENT_WRITE && e->len > RN_WAL_HEADER &&
           strncmp(record_name_text(record_name_of(e->file)), "log-", 4) == 0 &&
           memcmp(e->bytes + 8, "RNL1", 4) == 0;
}

/* The first event from `at` on that `is`, or `to` if there is none. */
static size_t find_event(size_t at, size_t to,
                         bool (*is)(const struct event *e))
{
    while (at < to && !is(record_event(at)))
        at++;
    return at;
}

/* Half of the cuts fall right before or after a sync, a change of names or a
 * promise. */
static size_t draw_cut(size_t from, size_t to, struct dice *dice)
{
    size_t at = from + dice_below(dice, to - from + 1), border;

    if (dice_percent(dice, 50))
        return at;
    border = find_event(at, to, round_is_border);
    return border == to ? at : border + dice_below(dice, 2);
}

static bool is_new_checkpoint(const struct event *e)
{
    return e->kind == EVENT_RENAME &&
           strcmp(record_name_text(e->to), "checkpoint") == 0;
}

/* Right after a change of names, or after a record was written. */
static size_t draw_kill(size_t from, size_t to, struct dice *dice)
{
    bool (*const is[])(const struct event *) = { round_is_record, is_naming,
                                                 is_new_checkpoint };
    size_t at = from + dice_below(dice, to - from + 1);
    size_t found = find_event(at, to, is[dice_below(dice, 3)]);

    return found == to ? at : found + 1;
}

static void try_state(struct round *r, int level, struct dice *dice);

static void announce(const struct round *r, const struct disk *from, size_t at,
                     const char *how, int level)
{
    static const char *const kinds[] = {
        [EVENT_MAKE_DIR] = "make dir", [EVENT_SYNC_PARENT] = "sync parent",
        [EVENT_CREATE] = "create",     [EVENT_RENAME] = "rename",
        [EVENT_REMOVE] = "remove",     [EVENT_SYNC_DIR] = "sync dir",
        [EVENT_WRITE] = "write",       [EVENT_TRUNCATE] = "truncate",
        [EVENT_GROW] = "grow",         [EVENT_SYNC] = "sync",
        [EVENT_BEGIN] = "begin",       [EVENT_ACKED] = "acked",
        [EVENT_REFUSED] = "refused",   [EVENT_SEEN] = "seen",
        [EVENT_SERVED] = "served",
    };

    if (!r->opts->verbose)
        return;
    printf("%*s%s after event %zu (%s), groups %llu to %llu\n", 2 * level + 2,
           "", how, at, at ? kinds[record_event(at - 1)->kind] : "none",
           (unsigned long long)from->low, (unsigned long long)from->high);
}

/* `from` is at event `at`. */
void round_lose_power(struct round *r, const struct disk *from, size_t at,
                      int level, struct dice *dice)
{
    if (dice_percent(dice, r->aim == AIM_KILLS && level == 0 ? 80 : 20)) {
        announce(r, from, at, "kill", level);
        disk_kill(from, r->level[level]);
        atomic_fetch_add(&r->tally->kills, 1);
    } else {
        announce(r, from, at, "power cut", level);
        disk_cut(from, &r->plan.style, dice, r->level[level]);
    }
    try_state(r, level, dice);
}

/* Cuts the power somewhere in the events since `mark`. */
static void descend(struct round *r, int level, size_t mark, struct dice *dice)
{
    struct disk *d = r->level[level];
    size_t cut = draw_cut(mark, record_mark(), dice);
    uint64_t children = 1 + dice_below(dice, 2);

    for (size_t i = mark; i < cut; i++)
        disk_apply(d, record_event(i));
    for (uint64_t i = 0; i < children; i++)
        round_lose_power(r, d, cut, level + 1, dice);
}

static bool check_number(struct work *w, const struct disk *d)
{
    if (w->number >= d->low && w->number <= d->high)
        return true;
    return work_fail(w, "recovered group %llu, not within %llu to %llu",
                     (unsigned long long)w->number, (unsigned long long)d->low,
                     (unsigned long long)d->high);
}

/* New groups after recovery, of another life so that old bytes would show. */
static bool live_on(struct work *w, const struct disk *d, uint32_t groups)
{
    uint16_t generation[DISK_GROUPS_MAX];
    uint64_t from = w->number;
    bool ok;

    memcpy(generation, d->generation, sizeof(generation));
    w->generation = (uint16_t)(d->generations + 1);
    ok = work_commits(w, groups);
    for (uint64_t n = from + 1; n <= w->number; n++)
        generation[n] = w->generation;
    return ok && work_check(w, generation);
}

static void try_state(struct round *r, int level, struct dice *dice)
{
    struct disk *d = r->level[level];
    struct work w = { .dice = *dice };
    bool deeper = level + 1 < ROUND_LEVELS && !r->shallow &&
                  dice_percent(dice, r->aim == AIM_KILLS ? 80 : 50);
    uint32_t groups = 0;
    size_t mark = record_mark();
    bool ok;

    if (dice_percent(dice, deeper ? 50 : 12))
        groups = (uint32_t)dice_below(dice, 50);
    atomic_fetch_add(&r->tally->states[level], 1);
    disk_lay(d, r->dir, dice);
    record_on(deeper);
    ok = work_open(&w, &r->plan, r->dir);
    record_on(false);
    ok = ok && check_number(&w, d) && work_check(&w, d->generation);
    if (ok && disk_is_settled(d))
        d->low = d->high = w.number; /* nothing can change it any more */
    record_on(deeper);
    if (ok && dice_percent(dice, 50))
        work_settle(&w);
    if (ok && groups)
        ok = live_on(&w, d, groups);
    record_on(false);
    work_close(&w);
    if (!ok)
        round_violation(r, w.text);
    else if (deeper)
        descend(r, level, mark, dice);
    record_rewind(mark);
}

static int by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void try_states(struct round *r, size_t events, uint64_t first,
                       bool alone)
{
    struct dice d = dice_of(r->plan.seed, 2);
    size_t cuts[CUTS_MAX], at = 0;
    uint64_t states = r->plan.groups < 4 ? CREATION_STATES : STATES;

    for (uint64_t i = 0; i < states; i++)
        cuts[i] = r->aim == AIM_KILLS ? draw_kill(0, events, &d)
                                      : draw_cut(0, events, &d);
    qsort(cuts, states, sizeof(cuts[0]), by_number);
    disk_clear(r->base);
    for (uint64_t i = 0; i < states && !round_is_over(r); i++) {
        struct dice own = dice_of(r->plan.seed, 1000 + i);
        for (; at < cuts[i]; at++)
            disk_apply(r->base, record_event(at));
        if (i < first)
            continue;
        round_at(r, i);
        round_lose_power(r, r->base, at, 0, &own);
        if (alone)
            break;
    }
}

void round_run(struct round *r, uint64_t number, uint64_t first, bool alone)
{
    static void (*const special[])(struct round *, uint64_t, bool) = {
        [ROUND_ROT] = round_rot,
        [ROUND_FAULTS] = round_faults,
        [ROUND_COMPACTION] = round_compaction,
        [ROUND_RESTORED] = round_restored,
    };
    size_t events;

    r->number = number;
    round_at(r, first);
    draw_plan(r);
    if (number < ROUND_RECORDED) {
        special[number](r, first, alone);
    } else {
        events = record(r);
        if (events)
            try_states(r, events, first, alone);
    }
    atomic_fetch_add(&r->tally->rounds, 1);
    alarm(0);
}
