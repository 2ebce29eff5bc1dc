/* own.h -- private interface of the access paths: what each kind implements.
 *
 *   pinned_keys.c     the keys that WHERE selects: SCAN, KEYS or POINTS
 *   index_scan.c      the cheapest index: INDEX, ORDER or EXTREMES
 *   natural.c         the path in the order of rids
 *   scan.c, keys.c, points.c, index_range.c, index_order.c, index_extremes.c
 *                     one kind each
 *
 * Thread: the snapshot's.
 */
#ifndef RN_ACCESS_OWN_H
#define RN_ACCESS_OWN_H

#include "access/access_path.h"

struct rn_access_ops {
    const char *name; /* the name that operators see */
    /* Called after the choice was made: the kind, and its index or its keys. */
    enum rn_code (*open)(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena);
    /* RN_NOT_FOUND after the last; `at` is the document's place. */
    enum rn_code (*next)(struct rn_access *a, struct rn_view *body);
    void (*close)(struct rn_access *a); /* unopened is fine */
};

extern const struct rn_access_ops rn_access_scan, rn_access_keys,
    rn_access_points, rn_access_index_range, rn_access_index_order,
    rn_access_index_extremes;

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

/* places.c */
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

struct rn_access_key {
    struct rn_pk pk;
    struct rn_view id;    /* for a point */
    struct rn_view start; /* the lower bound of its documents' places */
};

/* natural.c: resumes at a position: narrows the scope to the documents after
 * it.  RN_BAD_REQUEST if it is not a position. */
enum rn_code rn_access_begin_natural(struct rn_access *a,
                                     const struct rn_access_ask *ask) RN_CHECK;
/* Opens the path in the order of rids, if there are few enough documents; else
 * leaves its operations unset. */
enum rn_code rn_access_open_natural(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena) RN_CHECK;

/* pinned_keys.c: sets the kind, and its keys unless it is a scan. */
enum rn_code rn_access_pin(struct rn_access *a, const struct rn_query *q,
                           struct rn_arena *arena) RN_CHECK;

/* index_scan.c: sets the kind and its index, if an index is cheaper. */
enum rn_code rn_access_choose_index(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena) RN_CHECK;
/* The next row in the scope; RN_NOT_FOUND also if the scan gives up. */
enum rn_code rn_access_next_row(struct rn_access *a) RN_CHECK;
void rn_access_end_walk(struct rn_access *a);
/* Sets how many rows the scan may read. */
void rn_access_set_budget(struct rn_access *a, bool has_filter);
/* Is the scope the full container? */
bool rn_access_has_no_bounds(const struct rn_documents_scan *scope);

/* index_range.c: collects the documents between the bounds of WHERE, if an
 * index has few enough of them; if not, the access has no index.  `has_order`:
 * ORDER BY can follow an index instead. */
enum rn_code rn_access_gather(struct rn_access *a,
                              const struct rn_access_ask *ask, bool has_order,
                              struct rn_arena *arena) RN_CHECK;

/* index_order.c: the keys of ORDER BY as an index would have them, the first
 * one ascending; none if no index can serve it. */
enum rn_code rn_access_order_keys(const struct rn_query *q,
                                  struct rn_arena *arena,
                                  struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                                  uint32_t *count, bool *is_backward) RN_CHECK;

/* index_extremes.c: an index with the answer at its ends; the one with most
 * paths pinned to one value. */
enum rn_code rn_access_find_extreme(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena,
                                    const struct rn_index **out) RN_CHECK;

#endif
