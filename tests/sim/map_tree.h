/* map_tree.h -- the local store's map for simulations: a tree in memory.
 *
 * LMDB's writes go past the env, so in a simulation the store stands on this
 * instead: the tree of store/tree.h, and a file of the env that holds copies of
 * it.  It keeps the promises of map.h in the plainest way:
 *
 *   capture   encodes the tree; an extent of the file that no pin needs is
 *             chosen for the copy
 *   flush     writes the copy there, a slice a call, and syncs
 *   open      reads the copy that the image names, and checks its checksum
 *
 * The first block of the file is written by every commit and never read: so a
 * commit can fail here as LMDB's can.
 */
#ifndef SIM_MAP_TREE_H
#define SIM_MAP_TREE_H

#include "store/lmdb/map.h"

extern const struct rn_map_ops rn_map_tree;

#endif
