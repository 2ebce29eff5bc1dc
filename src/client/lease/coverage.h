/* coverage.h -- do the leases cover all keys, and which of them are redundant?
 *
 * Leases may overlap for a while: a host that was paused in a split can create
 * a child that had been replaced already.  A lease is redundant if finer ones
 * cover its interval.  Finer is a smaller interval; of equal ones the lease of
 * an interval, which replaces that of a range after a merge; else the smaller
 * id.  Without this order two hosts could each delete the cover of the other,
 * or a late delete of the replaced lease could leave a hole.
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_LEASE_COVERAGE_H
#define RN_CLIENT_LEASE_COVERAGE_H

#include "client/lease/document.h"

/* A lease and the interval that it stands for. */
struct rn_cover {
    const struct rn_lease *lease;
    bool has_range; /* false: its interval is unknown */
    struct rn_epk_range range;
};

/* Finds the first interval at or behind `from` that no lease covers. */
bool rn_coverage_hole(const struct rn_cover *covers, size_t count,
                      const struct rn_epk *from, struct rn_epk_range *hole);

/* True if finer leases cover the interval of covers[i], and all of them and it
 * were made by hosts that use this library. */
bool rn_coverage_is_redundant(const struct rn_cover *covers, size_t count,
                              size_t i);

/* True if another lease has the same token and a lower position, or the same
 * position and a smaller partition key: covers[i] is then a second copy. */
bool rn_coverage_is_copy(const struct rn_cover *covers, size_t count, size_t i);

/* True if finer leases cover covers[i], whichever library made them: changes of
 * that interval are delivered twice. */
bool rn_coverage_is_double(const struct rn_cover *covers, size_t count,
                           size_t i);

#endif
