/* container.h -- a container's parsed definition, and its partition key ranges.
 *
 * The definition is parsed once from the object's JSON and lives as long as the
 * object; so do the intervals of its ranges.  State that changes with every
 * write, above all a range's LSN, is a row of the store, read in the caller's
 * snapshot.
 */
#ifndef RN_ENGINE_RANGE_CONTAINER_H
#define RN_ENGINE_RANGE_CONTAINER_H

#include "cosmos/epk.h"
#include "cosmos/pkdef.h"
#include "cosmos/rid.h"
#include "engine/document/unique.h"
#include "engine/feed/history.h"
#include "engine/row.h"
#include "store/store.h"

struct rn_object;

enum { RN_TTL_OFF = 0, RN_TTL_NEVER = -1, RN_RANGES_MAX = 1024 };

/* A partition key range: an interval of EPKs with one sequence of LSNs. */
struct rn_range_span {
    uint32_t id;
    struct rn_epk_range epks;
    size_t ancestor_count;
    const uint32_t *ancestors; /* all ranges it comes from, oldest first */
};

/* The template of the system properties at the end of each document's JSON,
 * with slots for the values that differ; version.c makes and fills it. */
struct rn_frame {
    struct rn_view text;
    size_t rid_slot, self_slot, etag_slot, ts_slot; /* in it */
};

struct rn_container {
    uint32_t number; /* in keys; never used again */
    struct rn_rid rid;
    uint32_t series; /* in its documents' etags */
    struct rn_frame frame;
    struct rn_pkdef pkdef;
    struct rn_unique unique;
    struct rn_history_policy history;
    int32_t default_ttl; /* RN_TTL_OFF, RN_TTL_NEVER, or seconds */
    /* The path of the property that gives the start of a document's ttl;
     * without names: its _ts. */
    struct rn_json_path ttl_path;
    size_t range_count;
    struct rn_range_span *ranges; /* sorted by interval */
    uint32_t next_range;          /* the next unused range id */
    struct rn_arena arena;        /* owns all of this */
};

/* The range that holds an EPK.  There always is one. */
const struct rn_range_span *rn_container_range_of(const struct rn_container *c,
                                                  struct rn_view epk);
/* By its id; NULL if none exists. */
const struct rn_range_span *rn_container_range(const struct rn_container *c,
                                               uint32_t id);
/* The row of a range.  RN_NOT_FOUND if the container was deleted. */
enum rn_code rn_range_read(struct rn_txn *txn, const struct rn_container *c,
                           uint32_t range, struct rn_row_range *out) RN_CHECK;
/* The living range that holds an EPK, and its row.  After a split or a merge it
 * is not among the ranges of the caller's copy of the container. */
enum rn_code rn_range_find(struct rn_txn *txn, const struct rn_container *c,
                           struct rn_view epk, uint32_t *range,
                           struct rn_row_range *out) RN_CHECK;
/* Descends from a dead range to its living descendant that holds the EPK;
 * `range` and `row` are both the start and the result. */
enum rn_code rn_range_descend(struct rn_txn *txn, const struct rn_container *c,
                              struct rn_view epk, uint32_t *range,
                              struct rn_row_range *row) RN_CHECK;
enum rn_code rn_range_write(struct rn_txn *txn, const struct rn_container *c,
                            uint32_t range,
                            const struct rn_row_range *row) RN_CHECK;

/* Parses the object's body; reads the ranges from the store. */
enum rn_code rn_container_new(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_container **out,
                              struct rn_err *err) RN_CHECK;
void rn_container_free(struct rn_container *c); /* NULL is fine */
/* Puts the rows of a new container's `count` ranges, whose writes begin after
 * `lsn`. */
enum rn_code rn_container_make_ranges(struct rn_txn *txn, uint32_t number,
                                      const struct rn_pkdef *def,
                                      uint32_t count, uint64_t lsn) RN_CHECK;

#endif
