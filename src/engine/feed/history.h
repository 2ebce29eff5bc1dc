/* history.h -- all versions and deletes: what became of a container's
 * documents, as long as its change feed policy says.
 *
 * As JSON, in a container's "changeFeedPolicy":
 *
 *   {"retentionDuration":10}                         minutes; 0: nothing is
 * kept
 *   {"retentionDuration":-1,"previousImages":true}   ours: for ever, and with
 *                                                    what a change replaced
 *
 * Each write of a document then leaves a row 'v', in the transaction that makes
 * it and under its place in the feed (apply.c):
 *
 *   version 1 | operation 1 | flags 1 | epk length 1 | _ts 8 |
 *   previous LSN 8 | length of current 4 | epk | current | previous
 *
 * Of a deletion the previous image is always kept: it tells id and partition
 * key.  A range's row says up to which LSN something that was written in it is
 * not kept any more, or never was (`lost`), so that no reader is moved past a
 * change in silence.
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
    int64_t seconds; /* how long; or one of the above */
    bool tells_previous;
};

/* `policy` may be undefined or null.  RN_BAD_REQUEST if it is no policy. */
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
    bool is_expired; /* deleted because its time was over */
    bool tells_previous;
    int64_t ts;
    uint64_t previous_lsn; /* 0: there was none */
    struct rn_view epk, current, previous;
};

/* Appends the row. */
enum rn_code rn_row_history_encode(const struct rn_row_history *h,
                                   struct rn_buf *out) RN_CHECK;
enum rn_code rn_row_history_decode(struct rn_view bytes,
                                   struct rn_row_history *out) RN_CHECK;

/* Up to which LSN the history of a part of a range has gaps, its ancestors'
 * included: those that had some of that part. */
enum rn_code rn_history_lost(struct rn_snapshot *r, uint32_t range,
                             const struct rn_epk_range *epks,
                             uint64_t *lost) RN_CHECK;

/* Appends the envelope in which clients get it; `def` tells the names of the
 * partition key. */
enum rn_code rn_history_print(const struct rn_row_history *h, uint64_t lsn,
                              const struct rn_pkdef *def,
                              struct rn_buf *out) RN_CHECK;

#endif
