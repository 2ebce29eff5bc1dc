/* held.h -- keeps the checkpoint and the part of the WAL that a running backup
 * reads. */
#ifndef RN_STORE_LOCAL_HELD_H
#define RN_STORE_LOCAL_HELD_H

#include "store/local/local.h"

/* Called when a checkpoint is durable; `old` is the pin of the previous one.
 * Returns `old`, to be released, unless a backup reads that state. */
struct rn_map_pin *rn_held_keep(struct rn_local *l, struct rn_map_pin *old);
/* Releases what was kept for a backup once that is over.  The next checkpoint
 * would be too late: with a full WAL, or disk, there would never be one.
 * Returns when to check again. */
int64_t rn_held_let_go(struct rn_local *l);

#endif
