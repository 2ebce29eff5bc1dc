/* history.h -- all versions and deletes: the history of a container's
 * documents, with the retention of its change feed policy.
 *
 * As JSON, in a container's "changeFeedPolicy":
 *
 *   {"retentionDuration":10}                         minutes; 0: no history
 *   {"retentionDuration":-1,"previousImages":true}   for ever, and with the
 *                                                    replaced version: an
 *                                                    extension of Runnel
 *
 * Each write of a document then leaves a row 'v', in the transaction that makes
 * it and under its place in the feed (apply.c):
 *
 *   version 1 | operation 1 | flags 1 | epk length 1 | _ts 8 |
 *   previous LSN 8 | length of current 4 | epk | current | previous
 *
 * The previous image of a deletion is always kept: it has the id and the
 * partition key.  A range's row has the LSN up to which some of its writes are
 * no longer kept, or never were (`lost`), so that no reader skips a change
 * silently.
 */
#ifndef RN_ENGINE_FEED_HISTORY_H
#define RN_ENGINE_FEED_HISTORY_H

#include "engine/row.h"
#include "store/store.h"
#include "json/json.h"

struct rn_container;
struct rn_snapshot;

enum { RN_HISTORY_OFF = 0, RN_HISTORY_FOR_EVER = -1 };

struct rn_history_policy {
    int64_t seconds; /* retention; or one of the above */
    bool tells_previous;
};

/* `policy` may be undefined or null.  RN_BAD_REQUEST if it is not a policy. */
enum rn_code rn_history_parse(const struct rn_json *j, uint32_t policy,
                              struct rn_history_policy *out,
                              struct rn_err *err) RN_CHECK;

enum rn_history_operation {
    RN_HISTORY_CREATE,
    RN_HISTORY_REPLACE,
    RN_HISTORY_DELETE,
};

struct rn_row_history {
    enum rn_history_operation operation;
    bool is_expired; /* deleted because its ttl had passed */
    bool tells_previous;
    int64_t ts;
    uint64_t previous_lsn; /* 0: none */
    struct rn_view epk, current, previous;
};

/* Appends the row. */
enum rn_code rn_row_history_encode(const struct rn_row_history *h,
                                   struct rn_buf *out) RN_CHECK;
enum rn_code rn_row_history_decode(struct rn_view bytes,
                                   struct rn_row_history *out) RN_CHECK;

/* The LSN up to which the history of a part of a range has gaps.  That includes
 * its ancestors that overlap the part. */
enum rn_code rn_history_lost(struct rn_snapshot *r, uint32_t range,
                             const struct rn_epk_range *epks,
                             uint64_t *lost) RN_CHECK;

/* Appends the envelope in which clients get it; `def` has the names of the
 * partition key. */
enum rn_code rn_history_print(const struct rn_row_history *h, uint64_t lsn,
                              const struct rn_pkdef *def,
                              struct rn_buf *out) RN_CHECK;

#endif
