/* keys.h -- the keys of a span, copied: a cursor may not stay open while they
 * are deleted. */
#ifndef RN_ENGINE_KEYS_H
#define RN_ENGINE_KEYS_H

#include "engine/key.h"
#include "store/store.h"

/* The first keys from `from` on and before `before`, at most `most` of them. */
enum rn_code rn_keys_take(struct rn_txn *txn, const struct rn_key *from,
                          const struct rn_key *before, struct rn_key *out,
                          size_t most, size_t *count) RN_CHECK;

#endif
