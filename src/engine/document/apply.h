/* apply.h -- applies a document write in the committer: the only place where
 * documents are written.
 *
 * Every write of a document, whatever request it came from, is made here, so
 * that all rows of a version are written together, in one place:
 *
 *   r   the range's row: the next LSN and _ts; the next rid for a new one
 *   d   which version is the latest
 *   f   the old version's row is deleted, the new one's is put
 *   i   by rid, for a new document
 *   u   its unique values
 *   t   when it expires, if it has a ttl of its own
 *   x   its row in each index (index.h)
 *   v   the change, if the container keeps history
 *
 * A struct rn_apply covers one range.  All its writes share one LSN and differ
 * in n, unless rn_apply_next is called in between.
 */
#ifndef RN_ENGINE_DOCUMENT_APPLY_H
#define RN_ENGINE_DOCUMENT_APPLY_H

#include "engine/document/version.h"
#include "engine/engine.h"
#include "waiters/waiters.h"

struct rn_apply {
    struct rn_engine *engine;
    struct rn_txn *txn;
    struct rn_err *err; /* the message of a refusal */
    const struct rn_container *container;
    int64_t now;
    struct rn_epk_prefixes prefixes; /* of its EPK */
    uint32_t range;                  /* its id */
    struct rn_row_range row;         /* written back by rn_apply_end */
    uint64_t lsn;                    /* assigned; 0: not yet */
    uint32_t n;                      /* of the next write under that LSN */
    bool wrote;
};

/* The current version of a document. */
struct rn_found {
    bool exists;     /* visible to clients */
    bool expired;    /* its rows exist, but its ttl has passed */
    bool is_other;   /* neither: a document of another key value */
    uint32_t series; /* of the container */
    struct rn_row_document row;
};

/* Finds the range that holds `epk` now: after a split or a merge it is not the
 * one that the caller's copy of the container names.  RN_NOT_FOUND with reason
 * OWNER if the container was deleted. */
enum rn_code rn_apply_begin(struct rn_apply *t, struct rn_engine *e,
                            struct rn_txn *txn, const struct rn_container *c,
                            struct rn_view epk, struct rn_err *err) RN_CHECK;
/* The next write takes an LSN of its own. */
void rn_apply_next(struct rn_apply *t);
/* Writes the range's row, if there was any write. */
enum rn_code rn_apply_end(struct rn_apply *t) RN_CHECK;

/* Looks up a 'd' key; RN_OK whether or not there is a row. */
enum rn_code rn_apply_find(struct rn_apply *t, const struct rn_key *key,
                           struct rn_found *out) RN_CHECK;
/* The same for a key value that may collide with others (rn_key_may_be_shared);
 * `pk` as in struct rn_version. */
enum rn_code rn_apply_find_of(struct rn_apply *t, const struct rn_key *key,
                              const struct rn_pk *pk,
                              struct rn_found *out) RN_CHECK;
struct rn_etag rn_found_etag(const struct rn_found *f);

/* RN_CONFLICT: a document of another key value occupies the key. */
enum rn_code rn_found_refuse_other(struct rn_err *err) RN_CHECK;

/* All three apply to what rn_apply_find has just found under that key.  _put
 * fills the version's slots and returns its etag; before it writes anything it
 * makes sure that no other document has the version's unique values:
 * RN_CONFLICT.  _move is for the document found under the version's `from`: it
 * becomes the version at its own key and stays the same document, with the same
 * rid; RN_CONFLICT also if there is another document at that key. */
enum rn_code rn_apply_put(struct rn_apply *t, struct rn_version *v,
                          const struct rn_found *old,
                          struct rn_etag *etag) RN_CHECK;
enum rn_code rn_apply_move(struct rn_apply *t, struct rn_version *v,
                           const struct rn_found *old,
                           struct rn_etag *etag) RN_CHECK;
enum rn_code rn_apply_delete(struct rn_apply *t, const struct rn_key *key,
                             const struct rn_found *old) RN_CHECK;

#endif
