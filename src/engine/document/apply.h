/* apply.h -- a request's turn in the committer: where documents are written.
 *
 * Every write of a document, by whatever way it came, is made here, so that
 * what belongs to a version is written with it, in one place:
 *
 *   r   the range's row: the next LSN and _ts, and the next rid for a new one
 *   d   which version is the latest
 *   f   the old version's row goes, the new one's comes
 *   i   by rid, for a new one
 *   u   its unique values
 *   t   when it ends, if it has a ttl of its own
 *   x   its place in each index (index.h)
 *   v   what happened, if the container keeps that
 *
 * A turn is of one range.  All it writes has one LSN and is told apart by n,
 * unless rn_apply_next is called in between.
 */
#ifndef RN_ENGINE_DOCUMENT_APPLY_H
#define RN_ENGINE_DOCUMENT_APPLY_H

#include "engine/document/version.h"
#include "engine/engine.h"
#include "waiters/waiters.h"

struct rn_apply {
    struct rn_engine *engine;
    struct rn_txn *txn;
    struct rn_err *err; /* words for a refusal */
    const struct rn_container *container;
    int64_t now;
    struct rn_stretch stretch; /* of its EPK */
    uint32_t range;            /* its id */
    struct rn_row_range row;   /* as it will be written at the end */
    uint64_t lsn;              /* taken; 0: not yet */
    uint32_t n;                /* of the next write under that LSN */
    bool wrote;
};

/* The version of a document that is there now. */
struct rn_found {
    bool exists;     /* for the client */
    bool expired;    /* its rows are there, but its time is over */
    bool is_other;   /* neither: what is there is of another key value */
    uint32_t series; /* of the container */
    struct rn_row_document row;
};

/* Finds the range that holds `epk` now: after a split or a merge it is not the
 * one that the container, as the caller knows it, names.  RN_NOT_FOUND with
 * reason OWNER if the container is gone. */
enum rn_code rn_apply_begin(struct rn_apply *t, struct rn_engine *e,
                            struct rn_txn *txn, const struct rn_container *c,
                            struct rn_view epk, struct rn_err *err) RN_CHECK;
/* What is written from here on takes an LSN of its own. */
void rn_apply_next(struct rn_apply *t);
/* Writes the range's row, if anything was written. */
enum rn_code rn_apply_end(struct rn_apply *t) RN_CHECK;

/* Looks under a 'd' key; RN_OK whether or not there is one. */
enum rn_code rn_apply_find(struct rn_apply *t, const struct rn_key *key,
                           struct rn_found *out) RN_CHECK;
/* The same for a key value that others may share their place with; `pk` as in
 * struct rn_version. */
enum rn_code rn_apply_find_of(struct rn_apply *t, const struct rn_key *key,
                              const struct rn_pk *pk,
                              struct rn_found *out) RN_CHECK;
struct rn_etag rn_found_etag(const struct rn_found *f);

/* RN_CONFLICT: nothing can be put where another key's document is. */
enum rn_code rn_found_refuse_other(struct rn_err *err) RN_CHECK;

/* All are for what rn_apply_find has just found under that key.  Putting fills
 * the version's slots and tells its etag; before it writes anything it makes
 * sure that no other document has the version's unique values: RN_CONFLICT.
 * Moving is for what was found under the version's `from`: it becomes the
 * version at its own key and is the same document, of the same rid; RN_CONFLICT
 * also if there is another at that key. */
enum rn_code rn_apply_put(struct rn_apply *t, struct rn_version *v,
                          const struct rn_found *old,
                          struct rn_etag *etag) RN_CHECK;
enum rn_code rn_apply_move(struct rn_apply *t, struct rn_version *v,
                           const struct rn_found *old,
                           struct rn_etag *etag) RN_CHECK;
enum rn_code rn_apply_delete(struct rn_apply *t, const struct rn_key *key,
                             const struct rn_found *old) RN_CHECK;

#endif
