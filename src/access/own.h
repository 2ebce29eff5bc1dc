/* own.h -- access paths from within: what each kind implements.
 *
 *   pinned_keys.c     the keys that WHERE leaves: SCAN, KEYS or POINTS
 *   index_scan.c      the index that is less work: INDEX, ORDER or EXTREMES
 *   natural.c         the path in the order of rids
 *   scan.c, keys.c, points.c, index_range.c, index_order.c, index_extremes.c
 *                     one kind each
 *
 * Thread: the one of the reading.
 */
#ifndef RN_ACCESS_OWN_H
#define RN_ACCESS_OWN_H

#include "access/access_path.h"

struct rn_access_ops {
    const char *name; /* as operators are told */
    /* The choice has been made: the kind, and its index or its keys. */
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
    struct rn_view id;    /* of a point */
    struct rn_view start; /* the place where its documents begin */
};

/* natural.c: goes on from a position: narrows the scope to what is behind it.
 * RN_BAD_REQUEST if it is none. */
enum rn_code rn_access_begin_natural(struct rn_access *a,
                                     const struct rn_access_ask *ask) RN_CHECK;
/* Takes the path in the order of rids, if there are few enough documents; else
 * its operations are not set. */
enum rn_code rn_access_open_natural(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena) RN_CHECK;

/* pinned_keys.c: the kind, and its keys unless it is a scan. */
enum rn_code rn_access_pin(struct rn_access *a, const struct rn_query *q,
                           struct rn_arena *arena) RN_CHECK;

/* index_scan.c: the kind, and its index, if one is worth it. */
enum rn_code rn_access_choose_index(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena) RN_CHECK;
/* The next row in the scope, RN_NOT_FOUND also if the walk gives up. */
enum rn_code rn_access_next_row(struct rn_access *a) RN_CHECK;
void rn_access_end_walk(struct rn_access *a);
/* How many rows the walk may look at. */
void rn_access_set_budget(struct rn_access *a, bool has_filter);
/* Is the scope the whole container? */
bool rn_access_has_no_bounds(const struct rn_documents_scan *scope);

/* index_range.c: documents between the bounds of WHERE, if an index has few
 * enough of them; if not, the access has no index then.  `has_order`: another
 * way is open along one. */
enum rn_code rn_access_gather(struct rn_access *a,
                              const struct rn_access_ask *ask, bool has_order,
                              struct rn_arena *arena) RN_CHECK;

/* index_order.c: the keys of ORDER BY as an index would have them, whose first
 * ascends; none if no index can. */
enum rn_code rn_access_order_keys(const struct rn_query *q,
                                  struct rn_arena *arena,
                                  struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                                  uint32_t *count, bool *is_backward) RN_CHECK;

/* index_extremes.c: an index at whose ends the answer is, the one of which most
 * is pinned. */
enum rn_code rn_access_find_extreme(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena,
                                    const struct rn_index **out) RN_CHECK;

#endif
