/* hash_set.h -- a hash set of byte strings, numbered in insertion order;
 * internal to the module. */
#ifndef RN_QUERY_RUN_HASH_SET_H
#define RN_QUERY_RUN_HASH_SET_H

#include "base/mem.h"

struct rn_hash_set {
    struct rn_arena *arena;
    struct rn_hash_set_entry *slots;
    uint32_t count, room;
};

/* The index of the key in insertion order; `*is_new` if it was inserted. */
enum rn_code rn_hash_set_add(struct rn_hash_set *k, struct rn_view key,
                             uint32_t *place, bool *is_new) RN_CHECK;

#endif
