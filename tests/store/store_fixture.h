/* store_fixture.h -- a store as it may be found when damage happens to it.
 *
 * Built with a WAL behind the checkpoint and recycled segments, and kept in
 * memory with earlier versions of its files, with what it must know, and with
 * the places in its files that it cannot do without.
 */
#ifndef RN_TESTS_STORE_STORE_FIXTURE_H
#define RN_TESTS_STORE_STORE_FIXTURE_H

#include "tracked_store.h"

enum { FIXTURE_PAGE = 4096, FIXTURE_OLD_MAX = 6, FIXTURE_EXTENTS = 4096 };

struct store_fixture {
    const char *name;
    const char *dir; /* where its files are while it is used */
    struct tracked_tree now, old[FIXTURE_OLD_MAX];
    unsigned olds;
    struct tracked_state final, before_last;
    uint32_t last_version;
    /* The last record of the WAL, if the checkpoint does not have it. */
    char last_file[TRACKED_NAME];
    uint64_t last_from, last_to;
    /* What recovery reads and would miss. */
    struct extent {
        const struct tracked_file *file;
        uint64_t from, to;
    } used[FIXTURE_EXTENTS];
    unsigned uses;
};

/* What a fixture is made of. */
struct fixture_plan {
    const char *name;
    unsigned rounds, groups; /* groups, then a checkpoint; so many times */
    unsigned tail;           /* groups after the last checkpoint */
    bool closed;             /* and opened again to look */
};

/* What such a store is opened with. */
struct rn_store_opts fixture_opts(const char *dir, bool manual);

/* In `dir`, which it empties first and which stays the caller's. */
void fixture_build(struct store_fixture *fixture,
                   const struct fixture_plan *plan, const char *dir,
                   uint64_t seed);
void fixture_release(struct store_fixture *s);

#endif
