/* work.h -- groups of writes that their numbers determine.
 *
 * A group is a pure function of the plan, its number and its generation (which
 * life of the store wrote it), so what the store must hold after group n is
 * known without having kept anything.
 */
#ifndef POWER_WORK_H
#define POWER_WORK_H

#include "disk.h"

#include "store/local/local.h"

enum {
    WORK_KEYS_MAX = 512,
    WORK_WRITES_MAX = 24,
    WORK_TEXT_MAX = 256,
};

/* One recording: how large, how fast, how cruel. */
struct work_plan {
    uint64_t seed;
    uint32_t keys, groups;
    uint64_t segment_bytes, wal_bytes, memtable_bytes, checkpoint_bytes;
    unsigned keep_percent; /* maintenance thread's steps after a commit */
    unsigned thin_percent; /* key intervals rewritten beside them */
    struct disk_style style;
};

struct work {
    const struct work_plan *plan;
    struct dice dice; /* for what is not part of a group */
    struct rn_store *store;
    uint64_t number; /* of the last group that must be there */
    uint16_t generation;
    uint64_t rewritten;       /* intervals of rows */
    enum rn_code code;        /* of an open that failed */
    char text[WORK_TEXT_MAX]; /* what is wrong, once something is */
};

/* An env whose clock stands still and whose random bytes repeat. */
struct rn_env *work_env(void);

/* Opens `dir`; the number of the last group is read from its contents. */
bool work_open(struct work *w, const struct work_plan *plan, const char *dir);
void work_close(struct work *w);

/* Commits the next group and notes its fate with the recorder. */
enum rn_code work_try(struct work *w, struct rn_err *err);
bool work_commit(struct work *w);
/* The maintenance thread's steps as the plan has them; perhaps none. */
void work_keep(struct work *w);
bool work_commits(struct work *w, uint32_t groups);

bool work_can_read(struct work *w);
/* The number of the group that a reader sees now. */
bool work_visible(struct work *w, uint64_t *number);

/* Whether the store holds exactly what groups 1 to w->number leave. */
/* Puts what is in memory into the map, as a maintenance thread would do soon.
 */
void work_settle(struct work *w);
bool work_check(struct work *w, const uint16_t generation[DISK_GROUPS_MAX]);

/* Notes what went wrong and returns false. */
bool work_fail(struct work *w, const char *format, ...) RN_PRINTF(2, 3);

#endif
