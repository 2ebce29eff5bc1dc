/* ttl.h -- time to live: removes expired documents and history in the
 * background.
 *
 * An expired document is invisible at once, because every read checks its
 * expiry (rn_document_is_expired).  Its rows are removed here: in slices
 * through the committer, each document by a delete with an LSN of its own.
 * They are found in two ways:
 *
 *   't' rows    documents with a ttl of their own, by their expiry
 *   'f' rows    documents with the container's default, from the old end of
 *               each range's feed, along which _ts rises; so a new default
 *               rewrites nothing
 *
 * History (history.h) that is older than the container's retention is removed
 * likewise: 'v' rows, from the old end of each range's.
 *
 * For each container in which something can expire a clock says when to look
 * next, at the earliest.  It may be early.  It is late only where a merge has
 * mixed two feeds, by the difference of their times.  The committer sleeps
 * until the first of them.
 *
 * Threads: the committer's, or before there is one.
 */
#ifndef RN_ENGINE_CLEANUP_TTL_H
#define RN_ENGINE_CLEANUP_TTL_H

#include "engine/background.h"
#include "engine/catalog/catalog.h"
#include "store/tree.h"

struct rn_ttl {
    struct rn_tree by_number;    /* container number to clock */
    struct rn_ttl_clock *clocks; /* all of them */
    bool is_begun;               /* its slice has run, and is not done */
};

void rn_ttl_release(struct rn_engine *e);

/* A container was created or changed. */
enum rn_code rn_ttl_learn(struct rn_engine *e,
                          const struct rn_object *o) RN_CHECK;
/* A document was written: its own ttl (0: none) and its _ts. */
void rn_ttl_written(struct rn_engine *e, uint32_t number, int32_t ttl,
                    int64_t ts);

/* A change was added to the history: its _ts. */
void rn_ttl_noted(struct rn_engine *e, uint32_t number, int64_t ts);
/* Rows of a container's feeds were moved to another range: the parts already
 * scanned must be scanned again. */
void rn_ttl_moved(struct rn_engine *e, uint32_t number);

/* Due with the first clock. */
extern const struct rn_background_ops rn_ttl_background;

#endif
