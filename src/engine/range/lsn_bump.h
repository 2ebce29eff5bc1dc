/* lsn_bump.h -- raises a range's LSN without a write.
 *
 * For tests that need a certain LSN.  The skipped LSNs have no changes, as
 * after a restore: readers see a gap, which they must expect.
 */
#ifndef RN_ENGINE_RANGE_LSN_BUMP_H
#define RN_ENGINE_RANGE_LSN_BUMP_H

#include "engine/engine.h"
#include "engine/range/container.h"

/* The next write takes one more, which every client can represent exactly. */
#define RN_ADVANCE_LSN_MAX ((UINT64_C(1) << 53) - 2)

struct rn_lsn_bump {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    const struct rn_container *container;
    uint32_t range;
    uint64_t lsn; /* the new LSN */

    struct rn_operation operation; /* private */
};

/* RN_NOT_FOUND without such a range, RN_BAD_REQUEST if its LSN is higher
 * already; RN_THROTTLED at once, and then `done` is not called. */
enum rn_code rn_lsn_bump_start(struct rn_engine *e, struct rn_lsn_bump *a,
                               struct rn_err *err) RN_CHECK;

#endif
