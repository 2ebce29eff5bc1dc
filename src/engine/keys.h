/* keys.h -- copies the keys of a key interval, because a cursor may not stay
 * open while they are deleted. */
#ifndef RN_ENGINE_KEYS_H
#define RN_ENGINE_KEYS_H

#include "engine/key.h"
#include "store/store.h"

/* Copies the first keys of [from, before), at most `most`. */
enum rn_code rn_keys_take(struct rn_txn *txn, const struct rn_key *from,
                          const struct rn_key *before, struct rn_key *out,
                          size_t most, size_t *count) RN_CHECK;

#endif
