/* lock.h -- the lock that hosts take while they create the leases, and that one
 * which died then has left.
 */
#ifndef RN_TOOLS_DOCTOR_LOCK_H
#define RN_TOOLS_DOCTOR_LOCK_H

#include "tools/common/lease_set.h"
#include "tools/doctor/findings.h"

/* Finds locks that are older than any host holds one.  `source_rid` is the
 * _rid of the source container. */
void rn_doctor_check_lock(const struct rn_leases *leases,
                          struct rn_view source_rid,
                          struct rn_findings *findings);

#endif
