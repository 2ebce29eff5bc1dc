/* delete_partition.h -- deletes all documents of one partition key value.
 *
 * Documents that exist when the delete is decided are removed; later writes
 * stay.  The delete is kept as a row of the catalog, an *order*, so that it
 * survives a restart.  Background slices execute it through the committer, each
 * document by a delete with an LSN of its own.
 *
 * The request is answered when the last document is deleted, so that its client
 * then sees none of them; for a key with very many (RN_DELETE_PARTITION_SLICES)
 * it is answered before that, as by the service.
 */
#ifndef RN_ENGINE_CLEANUP_DELETE_PARTITION_H
#define RN_ENGINE_CLEANUP_DELETE_PARTITION_H

#include "engine/background.h"
#include "engine/document/snapshot.h"

enum { RN_DELETE_PARTITION_SLICES = 256 }; /* some 13,000 documents */

struct rn_delete_partition {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    const struct rn_container *container;
    const struct rn_pk *pk; /* all components of the key */

    /* Out. */
    struct rn_document_place place;

    /* Private. */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_epk epk;
    struct rn_key order; /* the key of its row */
    uint32_t slices;     /* slices it has waited for */
    struct rn_delete_partition *next;
};

/* RN_THROTTLED at once, and then `done` is not called; RN_NOT_FOUND, reason
 * OWNER, if the container was deleted. */
enum rn_code rn_delete_partition_start(struct rn_engine *e,
                                       struct rn_delete_partition *p,
                                       struct rn_err *err) RN_CHECK;

/* The engine's state.  Thread: the committer's, or before there is one. */
struct rn_delete_partition_state {
    struct rn_delete_partition *waiting; /* decided, and not answered yet */
    bool is_ended;       /* the slice completed the current order, */
    bool is_bad;         /* or it failed and must be retried later */
    struct rn_key order; /* the current order */
    struct rn_key after; /* the last order that failed; failed orders are
                            retried after all later orders are done */
};

void rn_delete_partition_release(
    struct rn_engine *e); /* answers all waiting requests */

/* Due while there are orders. */
extern const struct rn_background_ops rn_delete_partition_background;

#endif
