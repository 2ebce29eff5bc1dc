/* ttl.h -- what has expired is removed, without anybody asking.
 *
 * An expired document is invisible at once, because every read looks at its
 * time (rn_document_is_expired).  Its rows go here: in slices through the
 * committer, each document by a delete with an LSN of its own.  Two ways lead
 * to them:
 *
 *   't' rows    documents with a ttl of their own, by the time they end
 *   'f' rows    documents on the container's default, from the old end of each
 *               range's feed, along which _ts rises; so a new default rewrites
 *               nothing
 *
 * So goes the history of a container (history.h) that is older than it is to be
 * kept: 'v' rows, from the old end of each range's.
 *
 * For each container of which something can expire a clock says when to look
 * next, at the earliest; it may be early; late only where a merge
 * has mixed two feeds, by what their times differ.  The committer sleeps
 * until the first of them.
 *
 * Threads: the committer's, or before there is one.
 */
#ifndef RN_ENGINE_CLEANUP_TTL_H
#define RN_ENGINE_CLEANUP_TTL_H

#include "engine/catalog/catalog.h"
#include "engine/operation.h"
#include "store/tree.h"

struct rn_expiry {
    struct rn_tree by_number;       /* of containers: pointers to clocks */
    struct rn_expiry_clock *clocks; /* all of them */
    struct rn_chore chore;          /* due with the first clock */
    bool is_begun;                  /* its slice has run, and not ended */
};

void rn_expiry_init(struct rn_engine *e);
void rn_expiry_release(struct rn_engine *e);

/* A container is new, or not what it was. */
enum rn_code rn_expiry_learn(struct rn_engine *e,
                             const struct rn_object *o) RN_CHECK;
/* A document has been written: its own ttl (0: none) and its _ts. */
void rn_expiry_written(struct rn_engine *e, uint32_t number, int32_t ttl,
                       int64_t ts);

/* A change has been noted in the history: its _ts. */
void rn_expiry_noted(struct rn_engine *e, uint32_t number, int64_t ts);
/* Rows of a container's feeds have been moved to another range: what was looked
 * through is to be looked through again. */
void rn_expiry_moved(struct rn_engine *e, uint32_t number);

/* For the committer: a slice, if one is due, or NULL and how long to wait. */
struct rn_operation *rn_expiry_take_due(struct rn_engine *e, int64_t *wait_ns);

#endif
