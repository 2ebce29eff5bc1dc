/* lab.h -- a store to be hurt, and the memory of what it must still know.
 *
 * The proofs of damage, faults and full disks share this: a fixed set of keys
 * of all lengths, values drawn from (key, version), and a *mind*: the states
 * that the store may be in.  Every answer of the store rules out the states
 * that it contradicts; when none is left, the store has lied.  More than one
 * state is possible when a commit's outcome is unknown, or when a damage may
 * have taken the last record of the log.
 *
 * Nothing here knows cmocka: it also runs in forked children, which report
 * through a struct lab_report in shared memory.
 */
#ifndef RN_TESTS_STORE_LAB_H
#define RN_TESTS_STORE_LAB_H

#include "store/store.h"

#include <stdarg.h>

enum {
    LAB_KEYS = 400,
    LAB_KEYS_SHORT = 120, /* enough where each run is repeated often */
    LAB_STATES = 4,
    LAB_VALUE_MAX = 40 << 10,
    LAB_GROUP_MAX = 12,
};

/* ---- chance -------------------------------------------------------------- */

struct lab_dice {
    uint64_t state;
};

uint64_t lab_roll(struct lab_dice *d);
uint64_t lab_below(struct lab_dice *d, uint64_t n); /* 0 .. n - 1 */

/* ---- keys and values ----------------------------------------------------- */

struct rn_view lab_key(unsigned index);
/* Lent until the next call.  Version 0 is absent. */
struct rn_view lab_value(unsigned index, uint32_t version);
/* The index of the i-th key in order. */
unsigned lab_in_order(unsigned i);

/* ---- the mind ------------------------------------------------------------ */

struct lab_state {
    uint32_t version[LAB_KEYS];
};

struct lab_mind {
    struct lab_state states[LAB_STATES];
    unsigned count; /* of states that are possible */
    uint32_t last_version;
};

/* What a run came to.  The first lie is kept. */
struct lab_report {
    bool lied;
    char lie[400];
    unsigned refused, corrupt, right; /* opens; answers */
    uint64_t commits;
    char refusal[256];
    bool fired; /* the fault that was to happen */
    int phase;  /* for the reader of a crash */
};

void lab_lie(struct lab_report *r, const char *fmt, ...) RN_PRINTF(2, 3);

/* The changes of one group. */
struct lab_group {
    struct {
        unsigned index;
        uint32_t version; /* 0: delete */
    } change[LAB_GROUP_MAX];
    unsigned len;
};

/* Draws a group over the first `keys` keys; deletes only what is there in
 * every possible state. */
void lab_group_draw(struct lab_dice *d, struct lab_mind *m, unsigned keys,
                    struct lab_group *out);
/* Every state with the group in it. */
void lab_mind_apply(struct lab_mind *m, const struct lab_group *g);
/* Either with or without. */
void lab_mind_doubt(struct lab_mind *m, const struct lab_group *g);

/* Puts a group into the store.  The mind follows: RN_OK applies it, RN_UNKNOWN
 * leaves both possible, anything else nothing. */
enum rn_code lab_commit(struct rn_store *s, enum rn_txn_mode mode,
                        const struct lab_group *g, struct lab_mind *m,
                        struct lab_report *r, struct rn_err *err);

/* Every key by get, then all of them by scans in both directions, then some
 * ranges.  RN_CORRUPT, RN_IO and RN_NOMEM are no lies, and counted. */
void lab_read_all(struct rn_store *s, struct lab_mind *m, struct lab_dice *d,
                  struct lab_report *r);

/* ---- directories --------------------------------------------------------- */

enum { LAB_FILES = 24, LAB_NAME = 64 };

struct lab_file {
    char name[LAB_NAME];
    char *at;
    size_t len;
};

/* A directory in memory. */
struct lab_tree {
    struct lab_file files[LAB_FILES];
    unsigned count;
};

/* Without links: that of the table of readers leads nowhere. */
void lab_tree_load(struct lab_tree *t, const char *dir);
/* Makes the directory hold exactly this. */
void lab_tree_store(const struct lab_tree *t, const char *dir);
void lab_tree_release(struct lab_tree *t);
struct lab_file *lab_tree_find(struct lab_tree *t, const char *name);
uint64_t lab_tree_hash(const char *dir);

/* A new directory in memory if the machine has such, in `out`. */
void lab_dir_new(char *out, size_t room, const char *what);
void lab_dir_remove(const char *dir);

/* ---- running ------------------------------------------------------------- */

/* Calls `run` in a forked child that has `seconds` to live.  A signal, a hang
 * or an exit code is a lie too. */
void lab_fork(void (*run)(void *context), void *context, unsigned seconds,
              struct lab_report *shared);
struct lab_report *lab_report_new(void); /* in shared memory */

/* From the environment, or the default; a smaller one under a sanitizer. */
uint64_t lab_number(const char *variable, uint64_t otherwise,
                    uint64_t sanitized);
/* The same for how much is done: `prove` where RUNNEL_PROVE asks for it. */
uint64_t lab_amount(const char *variable, uint64_t otherwise,
                    uint64_t sanitized, uint64_t prove);
bool lab_is_sanitized(void);
double lab_seconds(void);

#endif
