/* fleet.h -- a fleet of processors in one thread and in virtual time, by seed.
 *
 * Up to FLEET_HOSTS hosts of one processor name share a source, over a network
 * that loses, delays, repeats, truncates and refuses.  Hosts join, are killed,
 * paused, drained and cut off; a second host may start with the name of one
 * that is paused; clocks are off by up to a year, drift and jump; ranges split
 * and merge; handlers fail, reject, yield, answer late or not at all.
 *
 * Every FLEET_MIXED-th seed is a mixed fleet: up to FLEET_PEERS hosts of the
 * .NET library (dotnet_peer.h) share the leases, start, are killed, paused,
 * stopped and cut off, and their clocks may be off by an hour until the world
 * heals.  In every FLEET_VERSION_2-th seed they are of version 2, which can be
 * no part of a fleet that has leases of intervals: there no ranges are merged,
 * no range has two leases, and no host is of version 3, which makes an interval
 * of a range when the network says 410.
 *
 * In every FLEET_TAMPERED-th an operator deletes leases, damages them, doubles
 * them, writes another owner or an older position, erases the position (and
 * later seeks to it, in all versions mode), or drops the properties.
 *
 * In every FLEET_OPTIONS-th, if it is neither mixed nor tampered with, hosts
 * have the options parallel, pending_limit, single_key, batch_limit,
 * whole_batch and manual_checkpoint. Several calls of a lease are then under
 * way; handlers mark changes, make checkpoints always, at times or only after
 * the world has healed, and take back what they made one of.
 *
 * In every FLEET_WEIGHED-th the leases are weighed.
 *
 * Then the world heals: with one live host every lease must have a live owner
 * in time, and every change must have been acknowledged.
 *
 * checker.h says what holds meanwhile.
 */
#ifndef RN_TESTS_CLIENT_FLEET_H
#define RN_TESTS_CLIENT_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FLEET_HOSTS = 4,
    FLEET_PEERS = 2,
    FLEET_MIXED = 3,
    FLEET_VERSION_2 = 2 * FLEET_MIXED,
    FLEET_TAMPERED = 5,
    FLEET_WEIGHED = 4,
    FLEET_OPTIONS = 7,
    FLEET_OPTIONS_AT = 6, /* seeds of this remainder */
};

/* What a run has done, added up. */
struct fleet_figures {
    uint64_t starts, kills, pauses, drains, cuts, splits, merges;
    uint64_t changes, deliveries, lease_writes, positions;
    uint64_t again, yields, marks, rejects, pending, dead_letters;
    uint64_t simulated_s;
    uint64_t peer_starts, peer_kills, peer_stops, peer_pauses, peer_deliveries;
    uint64_t peer_writes, peer_failures;
    uint64_t tampers, repeats;
    uint64_t v2_starts, v2_deliveries, put_back;
    uint64_t option_seeds, late_calls, checkpoints, checkpoint_failures;
    uint64_t taken_back;
};

/* False with the first violation in `why`.  `trace`: tells everything. */
bool fleet_run(uint64_t seed, bool trace, struct fleet_figures *figures,
               char *why, size_t room);

#endif
