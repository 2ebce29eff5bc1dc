/* sim_names.h -- the names of the simulated disk, and which survive a crash. */
#ifndef RN_BASE_SIM_NAMES_H
#define RN_BASE_SIM_NAMES_H

#include "base/sim_disk.h"

int rn_disk_find(struct rn_disk *disk, const char *path, struct rn_node **out);
int rn_disk_create(struct rn_disk *disk, const char *path, bool is_dir,
                   struct rn_node **out);
int rn_disk_rename(struct rn_disk *disk, const char *from, const char *to);
int rn_disk_remove(struct rn_disk *disk, const char *path);
int rn_disk_sync_dir(struct rn_disk *disk, const char *path);
int rn_disk_list(struct rn_disk *disk, const char *path, rn_env_list_fn *each,
                 void *context);
void rn_names_crash(struct rn_disk *disk);
void rn_names_release(struct rn_disk *disk);

#endif
