/* sim_state.h -- struct rn_sim: the state of a simulation, for sim.c and
 * sim_calls.c. */
#ifndef RN_BASE_SIM_STATE_H
#define RN_BASE_SIM_STATE_H

#include "base/sim.h"
#include "base/sim_disk.h"

struct rn_sim_fault {
    uint64_t nth; /* calls until the fault; 0 is never */
    int error;
    enum rn_sim_times times;
};

struct rn_sim {
    struct rn_env env; /* first: rn_sim_of */
    struct rn_env_ops ops;
    struct rn_prng prng;
    struct rn_disk disk;
    int64_t now_ns, wall_ms_ahead;
    struct rn_sim_task *tasks, *stepping;
    struct rn_sim_fault faults[RN_SIM_CALLS];
    uint64_t calls[RN_SIM_CALLS];
    uint64_t cut_in; /* changes until the power cut; 0 is never */
    bool is_cut;
    rn_sim_trace_fn *trace;
    void *trace_context;
};

static inline struct rn_sim *rn_sim_of(struct rn_env *env)
{
    return (struct rn_sim *)env;
}

#endif
