/* seeds.h -- many seeds of a simulation, over all processors.
 *
 *   [--seeds N] [--seconds S] [--first X] [--workers N] [--bug NAME]
 *   [--seed X [--trace]]
 *
 * Bounded by count and by seconds, whichever comes first; RUNNEL_SIM_SEED,
 * RUNNEL_SIM_SEEDS and RUNNEL_SIM_SECONDS say the same, RUNNEL_PROVE asks for
 * the long run.  Unless told where to begin it runs first the seeds that were
 * kept because they failed once.  Each worker is a process; a seed in which one
 * dies has failed.
 */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seeds_plan {
    uint64_t seeds, seeds_prove;
    const uint64_t *kept; /* run before the others, and counted with them */
    size_t kept_count;
    size_t shared_bytes; /* zeroed, seen by all workers */
    /* Reports a failure on stderr, "seed N: ...", and returns false. */
    bool (*run)(uint64_t seed, void *shared, bool trace);
    /* Prints what all of them have done; false if that is not enough. */
    bool (*report)(const void *shared);
};

/* The exit status: 0, 1 if a seed failed, 2 for wrong options. */
int seeds_run(int argc, char **argv, const struct seeds_plan *plan);

#endif
