/* sim_calls.h -- the disk calls of the simulation, with injected failures. */
#ifndef RN_BASE_SIM_CALLS_H
#define RN_BASE_SIM_CALLS_H

#include "base/env.h"

/* Fills in the slots of the disk. */
void rn_sim_fill_disk_ops(struct rn_env_ops *ops);

#endif
