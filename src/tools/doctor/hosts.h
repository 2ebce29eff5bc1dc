/* hosts.h -- the hosts of a processor, as its leases show them.
 *
 * librunnel's hosts write their session and their intervals into the leases
 * that they hold (runnel.session, runnel.intervals); those of other libraries
 * write their name and the time only.  A host is dead if its last write is
 * older than its leases live.
 */
#ifndef RN_TOOLS_DOCTOR_HOSTS_H
#define RN_TOOLS_DOCTOR_HOSTS_H

#include "base/mem.h"
#include "tools/doctor/findings.h"

#include <runnel/runnel.h>

struct rn_intervals {
    unsigned acquire_ms, renew_ms, expire_ms; /* all 0: unknown */
};

struct rn_doctor_host {
    struct rn_doctor_host *next;
    struct rn_view name, start; /* when the process began; empty: unknown */
    struct rn_intervals intervals;
    uint32_t leases;
    int64_t written_ms; /* the last of its writes */
};

struct rn_hosts {
    struct rn_doctor_host *first;
    struct rn_arena arena;
    int64_t now_ms;        /* the server's clock */
    uint32_t owned, alive; /* leases with an owner; with one that lives */
    uint32_t foreign;      /* of the latter, those of other libraries */
};

void rn_hosts_init(struct rn_hosts *hosts, int64_t now_ms);
void rn_hosts_release(struct rn_hosts *hosts);

/* Notes the owner of a lease. */
enum rn_code rn_hosts_add(struct rn_hosts *hosts,
                          const runnel_lease *lease) RN_CHECK;
/* Counts the leases, once all are added. */
void rn_hosts_count(struct rn_hosts *hosts);

/* Intervals that contradict each other, in themselves or between hosts.
 * `wanted`: those of a host that shall be started; NULL: none. */
void rn_hosts_check_intervals(const struct rn_hosts *hosts,
                              const struct rn_intervals *wanted,
                              struct rn_findings *findings);
/* Dead hosts, and live ones that share a name. */
void rn_hosts_check_names(const struct rn_hosts *hosts,
                          struct rn_findings *findings);

#endif
