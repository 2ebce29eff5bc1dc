/* delete_partition.h -- the deletion of all documents of one partition key
 * value.
 *
 * What is there when it is decided goes; what is written later stays.  A row of
 * the catalog keeps the order, so that it is carried out though the server may
 * stop; slices through the committer carry it out, each document by a delete
 * with an LSN of its own.
 *
 * It is answered when the last document has gone, so that whoever asked then
 * sees none of them; of a key with very many (RN_PURGE_SLICES) it is answered
 * before that, as the service does.
 */
#ifndef RN_ENGINE_CLEANUP_DELETE_PARTITION_H
#define RN_ENGINE_CLEANUP_DELETE_PARTITION_H

#include "engine/document/document.h"

enum { RN_PURGE_SLICES = 256 }; /* some 13,000 documents */

struct rn_purge {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    const struct rn_container *container;
    const struct rn_pk *pk; /* whole */

    /* Out. */
    struct rn_document_place place;

    /* Its own. */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_epk epk;
    struct rn_key order; /* under which it is kept */
    uint32_t slices;     /* that it has waited for */
    struct rn_purge *next;
};

/* RN_THROTTLED at once, and then `done` is not called; RN_NOT_FOUND, reason
 * OWNER, if the container is gone. */
enum rn_code rn_purge_start(struct rn_engine *e, struct rn_purge *p,
                            struct rn_err *err) RN_CHECK;

/* What the engine keeps of it.  Thread: the committer's, or before there is
 * one. */
struct rn_purger {
    struct rn_purge *waiting; /* decided, and not answered */
    struct rn_chore chore;    /* due when there are orders to look for */
    bool is_ended;            /* the order that the slice was about, */
    bool is_bad;              /* or it cannot be carried out now */
    struct rn_key order;      /* that one */
    struct rn_key after; /* the last that could not; they are tried again when
                            those behind it are done */
};

void rn_purger_release(struct rn_engine *e); /* answers who still waits */
struct rn_operation *rn_purger_take_due(struct rn_engine *e, int64_t *wait_ns);

#endif
