/* hash_set.c -- a hash set of byte strings that numbers them in insertion
 * order.  Open addressing; at most half full. */
#include "query/run/hash_set.h"

#include "base/hash.h"

struct rn_hash_set_entry {
    uint64_t hash;
    struct rn_view key;
    uint32_t place;
    bool is_used;
};

static struct rn_hash_set_entry *look_up(const struct rn_hash_set *k,
                                         uint64_t hash, struct rn_view key)
{
    uint32_t i = (uint32_t)hash & (k->room - 1);

    while (k->slots[i].is_used &&
           (k->slots[i].hash != hash || !rn_view_eq(k->slots[i].key, key)))
        i = (i + 1) & (k->room - 1);
    return &k->slots[i];
}

static enum rn_code grow(struct rn_hash_set *k)
{
    struct rn_hash_set old = *k;

    k->room = old.room ? old.room * 2 : 16;
    k->slots = rn_arena_alloc(k->arena, k->room * sizeof(*k->slots));
    if (!k->slots) {
        *k = old;
        return RN_TOO_LARGE;
    }
    memset(k->slots, 0, k->room * sizeof(*k->slots));
    for (uint32_t i = 0; i < old.room; i++) {
        if (old.slots[i].is_used)
            *look_up(k, old.slots[i].hash, old.slots[i].key) = old.slots[i];
    }
    return RN_OK;
}

enum rn_code rn_hash_set_add(struct rn_hash_set *k, struct rn_view key,
                             uint32_t *place, bool *is_new)
{
    uint64_t hash = rn_hash64(key, (uintptr_t)k->arena);
    struct rn_hash_set_entry *entry;
    struct rn_view kept;

    *is_new = false;
    if (k->count * 2 >= k->room && grow(k))
        return RN_TOO_LARGE;
    entry = look_up(k, hash, key);
    *place = entry->place;
    if (entry->is_used)
        return RN_OK;
    kept = rn_arena_copy(k->arena, key);
    if (!kept.at && key.len)
        return RN_TOO_LARGE;
    *entry = (struct rn_hash_set_entry){ hash, kept, k->count, true };
    *place = k->count++;
    *is_new = true;
    return RN_OK;
}
