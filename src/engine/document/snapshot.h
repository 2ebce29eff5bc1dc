/* snapshot.h -- snapshot reads of documents, and look-ups that writes share. */
#ifndef RN_ENGINE_DOCUMENT_SNAPSHOT_H
#define RN_ENGINE_DOCUMENT_SNAPSHOT_H

#include "engine/range/container.h"
#include "engine/row.h"

bool rn_document_is_expired(const struct rn_container *c,
                            const struct rn_row_feed *row, int64_t now);
/* The body that a 'd' row points to. */
enum rn_code rn_document_follow(struct rn_txn *txn,
                                const struct rn_container *c,
                                const struct rn_row_document *d,
                                struct rn_row_feed *out) RN_CHECK;

/* Is `pk` the full partition key value of that document?  Different values may
 * have the same key; see key.h. */
enum rn_code rn_document_has_key(const struct rn_container *c,
                                 const struct rn_pk *pk, struct rn_view json,
                                 bool *yes) RN_CHECK;

/* The 'd' key of the document with a rid. */
enum rn_code rn_document_key_of(struct rn_txn *txn,
                                const struct rn_container *c, uint64_t rid,
                                struct rn_key *out) RN_CHECK;

#endif
