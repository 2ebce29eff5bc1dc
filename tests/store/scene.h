/* scene.h -- a store as it may be found when damage happens to it.
 *
 * Built with a WAL behind the checkpoint and recycled segments, and kept in
 * memory with earlier versions of its files, with what it must know, and with
 * the places in its files that it cannot do without.
 */
#ifndef RN_TESTS_STORE_SCENE_H
#define RN_TESTS_STORE_SCENE_H

#include "lab.h"

enum { SCENE_PAGE = 4096, SCENE_OLD_MAX = 6, SCENE_EXTENTS = 4096 };

struct scene {
    const char *name;
    const char *dir; /* where its files are while it is used */
    struct lab_tree now, old[SCENE_OLD_MAX];
    unsigned olds;
    struct lab_state final, before_last;
    uint32_t last_version;
    /* The last record of the WAL, if the checkpoint does not have it. */
    char last_file[LAB_NAME];
    uint64_t last_from, last_to;
    /* What recovery reads and would miss. */
    struct extent {
        const struct lab_file *file;
        uint64_t from, to;
    } used[SCENE_EXTENTS];
    unsigned uses;
};

/* What a scene is made of. */
struct scene_plan {
    const char *name;
    unsigned rounds, groups; /* groups, then a checkpoint; so many times */
    unsigned tail;           /* groups after the last checkpoint */
    bool closed;             /* and opened again to look */
};

/* What such a store is opened with. */
struct rn_store_opts scene_opts(const char *dir, bool manual);

/* In `dir`, which it empties first and which stays the caller's. */
void scene_build(struct scene *scene, const struct scene_plan *plan,
                 const char *dir, uint64_t seed);
void scene_release(struct scene *s);

#endif
