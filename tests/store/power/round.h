/* round.h -- one recording, and the states that power cuts leave of it. */
#ifndef POWER_ROUND_H
#define POWER_ROUND_H

#include "work.h"

#include <stdatomic.h>
#include <time.h>

enum {
    ROUND_LEVELS = 3, /* cuts in a row */
    ROUND_PATH_MAX = 256,
};

enum round_aim {
    AIM_ALL,      /* the whole life of a store; the others every few rounds */
    AIM_CREATION, /* its first moments only */
    AIM_KILLS,    /* kills before something was synced, then power cuts */
};

/* What all workers share, in memory that survives them. */
struct tally {
    atomic_ullong next_round, rounds, states[ROUND_LEVELS], kills, violations;
    atomic_ullong segments_reused, rewritten;
    atomic_bool stop;
};

struct round_opts {
    uint64_t seed, states_max, violations_max;
    enum round_aim aim;
    int64_t deadline_ns;
    bool verbose;
    const char *command; /* for "replay with" */
};

struct round {
    const struct round_opts *opts;
    struct tally *tally;
    char parent[ROUND_PATH_MAX], dir[ROUND_PATH_MAX];
    uint64_t number, state; /* what is being tried */
    atomic_ullong *now;     /* the same, for the parent if this process dies */

    struct work_plan plan;
    enum round_aim aim;
    bool shallow; /* one cut only */
    struct disk *base, *level[ROUND_LEVELS];
};

void round_init(struct round *r, const struct round_opts *opts,
                struct tally *tally, const char *parent);
void round_release(struct round *r);

/* Rounds of their own kind come first; the others are recordings. */
enum {
    ROUND_ROT,
    ROUND_FAULTS,
    ROUND_COMPACTION,
    ROUND_RESTORED,
    ROUND_RECORDED,
};

/* Does round `number`: its states from `first` on, only that one if `alone`. */
void round_run(struct round *r, uint64_t number, uint64_t first, bool alone);

/* True once counts or clock say that it is enough. */
bool round_is_over(const struct round *r);

/* Prints a violation at the current state and counts it. */
void round_violation(const struct round *r, const char *what);

/* True of a write that appends a record to the log. */
bool round_is_record(const struct event *e);
/* True of a sync, a change of names or a promise. */
bool round_is_border(const struct event *e);

/* fault.c, command.c */
void round_rot(struct round *r, uint64_t first, bool alone);
void round_faults(struct round *r, uint64_t first, bool alone);
void round_compaction(struct round *r, uint64_t first, bool alone);
void round_restored(struct round *r, uint64_t first, bool alone);

/* For them: notes the state to be tried; starts a recording in an empty
 * directory; ends it, with all its events applied to r->base; draws a place for
 * a cut; cuts the power or kills the program at event `at`, where `from` is,
 * and tries what is left. */
void round_at(struct round *r, uint64_t state);
void round_begin(struct round *r);
size_t round_end(struct round *r);
void round_lose_power(struct round *r, const struct disk *from, size_t at,
                      int level, struct dice *dice);

int64_t round_now_ns(void);

#endif
