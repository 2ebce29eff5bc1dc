/* fleet_test.c -- fleets of processors, many seeds; see fleet.h and
 * ../sim/seeds.h for the options. */
#include "client/fleet.h"
#include "sim/seeds.h"

#include <stdatomic.h>
#include <stdio.h>

/* Under sanitizers it is not the count that matters. */
#ifdef __SANITIZE_ADDRESS__
enum { SEEDS = 75 };
#else
enum { SEEDS = 900 };
#endif

/* Seeds that found something in long runs, and what. */
static const uint64_t kept[] = {
    22443, /* a .NET host skips what the neighbour of a merged half had */
    30823, /* a host is paused with the lock, and makes leases of an old list */
    1000729, /* a paused host sends a child's creation again, too late */
    1003660, /* a write of unknown outcome looks like one of another's */
    1005201, /* as 1000729, 50 seconds too late */
    1017795, /* a .NET host's lease, too large after a merge, is split */
    1103139, /* a child is made after another host has replaced all children */
    1104086, /* the same, and the host was robbed of the parent */
    1200551, /* a child is made as a host of the same name takes the parent */
    1206864, /* version 2 makes the lease of a range newer than the map */
    1007757, /* a lease of a range that is newer than the map is split */
    33612,   /* a split between map and list, by version 2, looks like a hole */
};

enum { FIGURES = sizeof(struct fleet_figures) / sizeof(uint64_t) };

/* Seen by all processes. */
struct shared {
    atomic_ullong figures[FIGURES];
};

static bool run(uint64_t seed, void *shared, bool trace)
{
    union {
        struct fleet_figures named;
        uint64_t each[FIGURES];
    } done = { 0 };
    struct shared *sum = shared;
    char why[300];
    bool ok = fleet_run(seed, trace, &done.named, why, sizeof(why));

    for (size_t i = 0; i < FIGURES; i++)
        atomic_fetch_add(&sum->figures[i], done.each[i]);
    if (!ok)
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, why);
    return ok;
}

/* Whatever the fleet can do must have been done. */
static bool report(const void *shared)
{
    static const char *const names[FIGURES] = {
        "starts",       "kills",        "pauses",
        "drains",       "cuts",         "splits",
        "merges",       "changes",      "deliveries",
        "lease writes", "positions",    "again",
        "yields",       "marks",        "rejects",
        "pending",      "dead letters", "simulated seconds",
        "peer starts",  "peer kills",   "peer stops",
        "peer pauses",  "peer calls",   "peer writes",
        "peer errors",  "tampers",      "repeats",
        "v2 starts",    "v2 calls",     "put back",
        "option seeds", "late calls",   "checkpoints by hand",
        "failed ones",  "taken back",
    };
    const struct shared *sum = shared;
    bool ok = true;

    for (size_t i = 0; i < FIGURES; i++) {
        unsigned long long n = atomic_load(&sum->figures[i]);

        printf("%s%s %llu", i ? ", " : "", names[i], n);
        ok &= n > 0;
    }
    printf("\n");
    return ok;
}

int main(int argc, char **argv)
{
    const struct seeds_plan plan = { .seeds = SEEDS,
                                     .seeds_prove = 500000,
                                     .kept = kept,
                                     .kept_count =
                                         sizeof(kept) / sizeof(kept[0]),
                                     .shared_bytes = sizeof(struct shared),
                                     .run = run,
                                     .report = report };

    return seeds_run(argc, argv, &plan);
}
