/* checkpoint.h -- the checkpoint file: a durable state of the map and the WAL
 * position from which recovery starts.
 *
 * File `checkpoint`, little endian:
 *
 *      0  magic       u64  "RNLCKPT1"
 *      8  number      u64  of this checkpoint, rising
 *     16  generation  u64  the map is the file map-<generation>
 *     24  segment     u64  \
 *     32  offset      u64   | the WAL after the captured state
 *     40  seq         u64   | (struct rn_wal_place)
 *     48  chain       u64  /
 *     56  length      u64  of the image
 *     64  image            what the map needs to open at that state (image.h)
 *      -  checksum    u64  xxh3 of everything before it
 *
 * It is written beside commits, in steps, so that the proofs can interleave
 * each step with commits and with a crash:
 *
 *   IDLE -> FLUSH      capture, with the writer held out     [maintenance]
 *   FLUSH -> WRITE     the map's bytes are durable
 *   WRITE -> SYNC      checkpoint.tmp written
 *   SYNC -> RENAME     and durable
 *   RENAME -> SYNC_DIR in place of the old one
 *   SYNC_DIR -> DONE   its name is durable too
 *   DONE -> IDLE       old pin released, WAL segments free    [maintenance]
 *
 * Only after SYNC_DIR may anything that the previous checkpoint needs be
 * released.
 */
#ifndef RN_STORE_LOCAL_CHECKPOINT_H
#define RN_STORE_LOCAL_CHECKPOINT_H

#include "store/lmdb/map.h"
#include "store/wal/wal.h"

enum rn_checkpoint_step {
    RN_CHECKPOINT_IDLE,
    RN_CHECKPOINT_FLUSH,
    RN_CHECKPOINT_WRITE,
    RN_CHECKPOINT_SYNC,
    RN_CHECKPOINT_RENAME,
    RN_CHECKPOINT_SYNC_DIR,
    RN_CHECKPOINT_DONE,
};

struct rn_checkpoint {
    uint64_t number, generation;
    struct rn_wal_place place;
    struct rn_buf image;

    enum rn_checkpoint_step step;
    struct rn_file *file; /* checkpoint.tmp, while it is being written */
};

void rn_checkpoint_init(struct rn_checkpoint *c);
void rn_checkpoint_release(struct rn_checkpoint *c);

/* RN_NOT_FOUND if the file is missing, RN_CORRUPT if it is damaged. */
enum rn_code rn_checkpoint_read(struct rn_env *env, const char *dir,
                                struct rn_checkpoint *out,
                                struct rn_err *err) RN_CHECK;

/* Writes the whole file at once, durably; for a copy of a store. */
enum rn_code rn_checkpoint_write(const struct rn_checkpoint *c,
                                 struct rn_env *env, const char *dir,
                                 struct rn_err *err) RN_CHECK;

/* Does the current step, from FLUSH to SYNC_DIR, and moves to the next when it
 * is finished.  A failure leaves the step as it was. */
enum rn_code rn_checkpoint_advance(struct rn_checkpoint *c, struct rn_env *env,
                                   const char *dir, struct rn_map *map,
                                   struct rn_err *err) RN_CHECK;

#endif
