/* compact.h -- offline compaction: rewrites a store's map in key order, every
 * page full.
 *
 * The store must not be open.  The new map is written beside the old one and
 * the checkpoint then names it, so a crash at any moment leaves one of the two,
 * whole.
 */
#ifndef RN_STORE_ADMIN_COMPACT_H
#define RN_STORE_ADMIN_COMPACT_H

#include "base/env.h"

struct rn_compacted {
    uint64_t records, bytes_before, bytes_after;
};

enum rn_code rn_compact(struct rn_env *env, const char *dir,
                        struct rn_compacted *out, struct rn_err *err) RN_CHECK;

#endif
