/* lease_set.h -- the leases of one processor, from the options --leases and
 * --lease-prefix.
 */
#ifndef RN_TOOLS_COMMON_LEASE_SET_H
#define RN_TOOLS_COMMON_LEASE_SET_H

#include "tools/common/target.h"

extern const struct rn_option rn_lease_set_options[];

/* The container of the account options is the source.  A zeroed one may be
 * closed. */
struct rn_leases {
    struct rn_target target;
    runnel_container *container; /* the lease container */
    runnel_lease_set set;
    const char *place; /* --leases as given, for messages */
};

/* Opens both containers without going to the network.  Returns an enum
 * rn_exit. */
int rn_leases_open(const struct rn_args *args, struct rn_leases *out) RN_CHECK;
void rn_leases_close(struct rn_leases *leases);

/* Reports a failed request: which of the two containers, or which lease, does
 * not exist. */
int rn_leases_report(const runnel_error *error, struct rn_leases *leases);

#endif
