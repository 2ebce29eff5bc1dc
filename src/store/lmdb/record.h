/* record.h -- a value as stored in the map: its checksum, then its bytes.
 *
 *      0  checksum  u64   xxh3 of the value, seeded with xxh3 of the key
 *      8  value
 *
 * So every read finds a damaged key, value or pairing.
 */
#ifndef RN_STORE_LMDB_RECORD_H
#define RN_STORE_LMDB_RECORD_H

#include "base/bytes.h"
#include "base/hash.h"
#include "store/store.h"

enum { RN_RECORD_HEADER = 8 };

static inline uint64_t rn_record_checksum(struct rn_view key,
                                          struct rn_view value)
{
    return rn_hash64(value, rn_hash64(key, 0));
}

/* Verifies the checksum and removes it; RN_CORRUPT if it is wrong. */
static inline enum rn_code
rn_record_open(struct rn_view key, struct rn_view stored, struct rn_view *out)
{
    struct rn_view value;

    if (stored.len < RN_RECORD_HEADER ||
        stored.len - RN_RECORD_HEADER > RN_VALUE_MAX)
        return RN_CORRUPT;
    value =
        rn_view_of(stored.at + RN_RECORD_HEADER, stored.len - RN_RECORD_HEADER);
    if (rn_get_u64(stored.at) != rn_record_checksum(key, value))
        return RN_CORRUPT;
    *out = value;
    return RN_OK;
}

#endif
