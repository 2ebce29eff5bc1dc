/* lsn_bump.h -- a range's LSN put forward without a write.
 *
 * For tests that must meet a certain LSN.  The LSNs passed over belong to
 * nobody, as after a restore: readers see a gap, which they must expect.
 */
#ifndef RN_ENGINE_RANGE_LSN_BUMP_H
#define RN_ENGINE_RANGE_LSN_BUMP_H

#include "engine/engine.h"
#include "engine/range/container.h"

/* The next write takes one more; exact in every client's numbers. */
#define RN_ADVANCE_LSN_MAX ((UINT64_C(1) << 53) - 2)

struct rn_lsn_bump {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    const struct rn_container *container;
    uint32_t range;
    uint64_t lsn; /* what its LSN is to be */

    struct rn_operation operation; /* its own */
};

/* RN_NOT_FOUND without such a range, RN_BAD_REQUEST if the LSN is past it
 * already; RN_THROTTLED at once, and then `done` is not called. */
enum rn_code rn_lsn_bump_start(struct rn_engine *e, struct rn_lsn_bump *a,
                               struct rn_err *err) RN_CHECK;

#endif
