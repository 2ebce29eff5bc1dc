/* tracked_store.h -- a store to be hurt, and the memory of what it must still
 * know.
 *
 * The proofs of damage, faults and full disks share this: a fixed set of keys
 * of all lengths, values drawn from (key, version), and a *mind*: the states
 * that the store may be in.  Every answer of the store rules out the states
 * that it contradicts; when none is left, the store has lied.  More than one
 * state is possible when a commit's outcome is unknown, or when a damage may
 * have taken the last record of the log.
 *
 * Nothing here knows cmocka: it also runs in forked children, which report
 * through a struct tracked_report in shared memory.
 */
#ifndef RN_TESTS_STORE_TRACKED_STORE_H
#define RN_TESTS_STORE_TRACKED_STORE_H

#include "store/store.h"

#include <stdarg.h>

enum {
    TRACKED_KEYS = 400,
    TRACKED_KEYS_SHORT = 120, /* enough where each run is repeated often */
    TRACKED_STATES = 4,
    TRACKED_VALUE_MAX = 40 << 10,
    TRACKED_GROUP_MAX = 12,
};

/* ---- random numbers ------------------------------------------------------ */

struct tracked_dice {
    uint64_t state;
};

uint64_t tracked_roll(struct tracked_dice *d);
uint64_t tracked_below(struct tracked_dice *d, uint64_t n); /* 0 .. n - 1 */

/* ---- keys and values ----------------------------------------------------- */

struct rn_view tracked_key(unsigned index);
/* Lent until the next call.  Version 0 is absent. */
struct rn_view tracked_value(unsigned index, uint32_t version);
/* The index of the i-th key in order. */
unsigned tracked_in_order(unsigned i);

/* ---- the mind ------------------------------------------------------------ */

struct tracked_state {
    uint32_t version[TRACKED_KEYS];
};

struct tracked_mind {
    struct tracked_state states[TRACKED_STATES];
    unsigned count; /* of states that are possible */
    uint32_t last_version;
};

/* What a run came to.  The first lie is kept. */
struct tracked_report {
    bool lied;
    char lie[400];
    unsigned refused, corrupt, right; /* opens; answers */
    uint64_t commits;
    char refusal[256];
    bool fired; /* the fault that was to happen */
    int phase;  /* for the reader of a crash */
};

void tracked_lie(struct tracked_report *r, const char *fmt, ...)
    RN_PRINTF(2, 3);

/* The changes of one group. */
struct tracked_group {
    struct {
        unsigned index;
        uint32_t version; /* 0: delete */
    } change[TRACKED_GROUP_MAX];
    unsigned len;
};

/* Draws a group over the first `keys` keys; deletes only what is there in
 * every possible state. */
void tracked_group_draw(struct tracked_dice *d, struct tracked_mind *m,
                        unsigned keys, struct tracked_group *out);
/* Every state with the group in it. */
void tracked_mind_apply(struct tracked_mind *m, const struct tracked_group *g);
/* Either with or without. */
void tracked_mind_doubt(struct tracked_mind *m, const struct tracked_group *g);

/* Puts a group into the store.  The mind follows: RN_OK applies it, RN_UNKNOWN
 * leaves both possible, anything else nothing. */
enum rn_code tracked_commit(struct rn_store *s, enum rn_txn_mode mode,
                            const struct tracked_group *g,
                            struct tracked_mind *m, struct tracked_report *r,
                            struct rn_err *err);

/* Every key by get, then all of them by scans in both directions, then some
 * ranges.  RN_CORRUPT, RN_IO and RN_NOMEM are no lies, and counted. */
void tracked_read_all(struct rn_store *s, struct tracked_mind *m,
                      struct tracked_dice *d, struct tracked_report *r);

/* ---- directories --------------------------------------------------------- */

enum { TRACKED_FILES = 24, TRACKED_NAME = 64 };

struct tracked_file {
    char name[TRACKED_NAME];
    char *at;
    size_t len;
};

/* A directory in memory. */
struct tracked_tree {
    struct tracked_file files[TRACKED_FILES];
    unsigned count;
};

/* Without links: that of the table of readers leads nowhere. */
void tracked_tree_load(struct tracked_tree *t, const char *dir);
/* Makes the directory hold exactly this. */
void tracked_tree_store(const struct tracked_tree *t, const char *dir);
void tracked_tree_release(struct tracked_tree *t);
struct tracked_file *tracked_tree_find(struct tracked_tree *t,
                                       const char *name);
uint64_t tracked_tree_hash(const char *dir);

/* A new directory in memory if the machine has such, in `out`. */
void tracked_dir_new(char *out, size_t room, const char *what);
void tracked_dir_remove(const char *dir);

/* ---- running ------------------------------------------------------------- */

/* Calls `run` in a forked child that has `seconds` to live.  A signal, a hang
 * or an exit code is a lie too. */
void tracked_fork(void (*run)(void *context), void *context, unsigned seconds,
                  struct tracked_report *shared);
struct tracked_report *tracked_report_new(void); /* in shared memory */

/* From the environment, or the default; a smaller one under a sanitizer. */
uint64_t tracked_number(const char *variable, uint64_t otherwise,
                        uint64_t sanitized);
/* The same for how much is done: `prove` where RUNNEL_PROVE asks for it. */
uint64_t tracked_amount(const char *variable, uint64_t otherwise,
                        uint64_t sanitized, uint64_t prove);
bool tracked_is_sanitized(void);
double tracked_seconds(void);

#endif
