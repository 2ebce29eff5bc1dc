/* places.h -- a list of the positions of documents, collected to be
 * sorted. */
#ifndef RN_ACCESS_PLACES_H
#define RN_ACCESS_PLACES_H

#include "base/mem.h"

/* The positions of documents, in the order in which they are read. */
struct rn_access_places {
    struct rn_buf list;   /* of struct rn_access_place */
    struct rn_arena held; /* their bytes */
    size_t next;
};

/* One of struct rn_access_places. */
struct rn_access_place {
    struct rn_view place;
    uint64_t rid;
    uint32_t segment; /* natural.c */
    uint32_t key;     /* of a point, in struct rn_access_keys */
};

enum { RN_ACCESS_HELD_MAX = 64 << 20 };
#define RN_ACCESS_PLACES_INIT                                                  \
    ((struct rn_access_places){ .list = RN_BUF_INIT(RN_ACCESS_HELD_MAX),       \
                                .held = RN_ARENA_INIT(RN_ACCESS_HELD_MAX) })

enum rn_code rn_access_places_add(struct rn_access_places *p,
                                  const struct rn_access_place *place) RN_CHECK;
void rn_access_places_release(struct rn_access_places *p);

static inline struct rn_access_place *
rn_access_places_list(const struct rn_access_places *p)
{
    return (struct rn_access_place *)(void *)p->list.at;
}

static inline size_t rn_access_places_count(const struct rn_access_places *p)
{
    return p->list.len / sizeof(struct rn_access_place);
}

#endif
