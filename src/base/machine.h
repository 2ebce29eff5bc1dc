/* machine.h -- how much of the machine is ours. */
#ifndef RN_BASE_MACHINE_H
#define RN_BASE_MACHINE_H

#include "base/env.h"

/* Bytes of memory: the machine's, or less where a control group this process
 * is in, or one around that, is held to less. */
uint64_t rn_machine_memory(struct rn_env *env);

/* What control groups leave of so much: `groups` are those of a process, as
 * /proc/self/cgroup lists them; `root` is where their files are, for which a
 * machine has /sys/fs/cgroup. */
uint64_t rn_machine_limit(struct rn_env *env, struct rn_view groups,
                          const char *root, uint64_t memory);

#endif
