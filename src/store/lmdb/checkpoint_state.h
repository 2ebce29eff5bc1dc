/* checkpoint_state.h -- the state of an LMDB map as of a checkpoint: opens the
 * map at it, captures one, and writes it to disk.
 *
 * Entries of rn_map_ops (map.h), whose contract is there.
 */
#ifndef RN_STORE_LMDB_CHECKPOINT_STATE_H
#define RN_STORE_LMDB_CHECKPOINT_STATE_H

#include "store/lmdb/map.h"

enum rn_code rn_lmdb_open(const struct rn_map_opts *opts, struct rn_map **out,
                          struct rn_map_pin **pin, struct rn_err *err);
void rn_lmdb_close(struct rn_map *base);
enum rn_code rn_lmdb_capture(struct rn_map *base, struct rn_buf *image,
                             struct rn_map_pin **pin, struct rn_err *err);
enum rn_code rn_lmdb_flush(struct rn_map *base, bool *done, struct rn_err *err);
void rn_lmdb_adopt(struct rn_map *base);
void rn_lmdb_release(struct rn_map *base, struct rn_map_pin *pin);
bool rn_lmdb_is_whole(struct rn_map *base);

#endif
