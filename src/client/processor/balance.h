/* balance.h -- which leases a host should have: arithmetic over one listing.
 *
 * The target of a host is the number of leases over the number of hosts with
 * live leases, this one counted, rounded up, and clamped by the minimum and the
 * maximum; the minimum wins.  There are two ways to reach it:
 *
 *   official  that of the .NET libraries: free and expired leases first; if
 *             there are none, steal one lease a pass from the largest owner.
 *             Used while a host of another library has a live lease.
 *   native    marks: a host that needs leases writes its name into them, and
 *             their owners finish a batch and release them.  All moves take
 *             place in one pass, and no two hosts work on one lease.  Hosts
 *             without leases are seen by their marks only, so such a host
 *             marks one lease first, and the rest in its next pass, when all
 *             that start with it can be counted.
 *
 * A weighed fleet goes on from there: once each host has its number of leases,
 * the one with the least load marks a lease of the one with the most, if that
 * makes the heavier of the two lighter by an eighth.  The owner then lacks a
 * lease, and gets the lightest one of a host that has too many.
 *
 * A host that died counts until all its leases have expired, so that the target
 * of the others may be too small for all leases; and hosts of other libraries
 * judge expiry by their own clock.  So a lease that is left over is taken above
 * the target: one a pass by the official way, all by the native one.
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_PROCESSOR_BALANCE_H
#define RN_CLIENT_PROCESSOR_BALANCE_H

#include "base/mem.h"

#include <stdint.h>

/* One lease of the listing. */
struct rn_balance_lease {
    struct rn_view owner;  /* null: none */
    bool is_available;     /* no owner, or an expired one */
    int64_t free_age_ms;   /* ... for so long; or since its owner was seen */
    bool is_left;          /* ... and every host had the time to take it */
    bool is_native;        /* its owner uses this library */
    struct rn_view wanted; /* the host that marked it; null: none */
    int64_t wanted_age_ms;
    uint32_t weight; /* changes a minute */
};

struct rn_balance {
    const struct rn_balance_lease *leases;
    size_t count;
    struct rn_view host; /* this one */
    uint32_t min, max;   /* 0: no such limit */
    uint32_t acquire_ms, expire_ms;
    bool is_weighed; /* balance the weights, too: native way only */
    uint64_t seed;   /* random: where this pass begins to look for leases */
};

/* What to do.  The arrays hold indices into the leases, and live in the arena.
 */
struct rn_balance_plan {
    size_t hosts;  /* with live leases, this one counted */
    size_t target; /* leases that this host should have */
    size_t mine;   /* live ones that it has */
    size_t *take;  /* acquire these */
    size_t take_count;
    bool is_steal; /* those in `take` have a live owner */
    size_t *mark;  /* write our name into these */
    size_t mark_count;
    size_t *give; /* ours, wanted by a host that needs them: release them */
    size_t give_count;
};

/* Does a host of another library have a live lease? */
bool rn_balance_has_foreign(const struct rn_balance *b);

/* RN_NOMEM. */
enum rn_code rn_balance_official(const struct rn_balance *b,
                                 struct rn_arena *arena,
                                 struct rn_balance_plan *out) RN_CHECK;
enum rn_code rn_balance_native(const struct rn_balance *b,
                               struct rn_arena *arena,
                               struct rn_balance_plan *out) RN_CHECK;

#endif
