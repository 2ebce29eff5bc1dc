/* machine.h -- the memory that this process may use, cgroup limits included. */
#ifndef RN_BASE_MACHINE_H
#define RN_BASE_MACHINE_H

#include "base/env.h"

/* Bytes of memory: the machine's, or less if a control group of this process,
 * or one around that, has a lower limit. */
uint64_t rn_machine_memory(struct rn_env *env);

/* The lower of `memory` and the limits of control groups: `groups` are those of
 * a process, as /proc/self/cgroup lists them; `root` is where their files are,
 * /sys/fs/cgroup on a machine. */
uint64_t rn_machine_limit(struct rn_env *env, struct rn_view groups,
                          const char *root, uint64_t memory);

#endif
