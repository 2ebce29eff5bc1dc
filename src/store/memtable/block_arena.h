/* block_arena.h -- the memory of a table of recent writes.
 *
 * It is taken bit by bit, close together, and given up as a whole, or kept for
 * the next table.  From some size on it comes in blocks as large as a large
 * page.
 *
 * Threads: one writer takes; another thread may stock it meanwhile, and any may
 * ask how much was taken.
 */
#ifndef RN_STORE_MEMTABLE_BLOCK_ARENA_H
#define RN_STORE_MEMTABLE_BLOCK_ARENA_H

#include "base/mem.h"

struct rn_block;

struct rn_block_arena {
    struct rn_block *used;
    struct rn_block *spare; /* large ones, from before */
    struct rn_block *ahead; /* large ones, of another thread's making; atomic */
    size_t block_bytes;
    uint64_t bytes; /* taken; atomic */
    bool is_short;  /* of large blocks; atomic */
};

/* In a block, free yet.  What is taken from one lies side by side.  Zeroed: it
 * has nothing yet. */
struct rn_room {
    char *at;
    size_t left;
};

/* For about `limit` bytes, which may be exceeded. */
void rn_block_arena_init(struct rn_block_arena *b, uint64_t limit);
void rn_block_arena_release(struct rn_block_arena *b);
/* Empties it, and keeps the large blocks that were in use for the next time.
 * What it had no use for this time goes, so that memory follows need. */
void rn_block_arena_empty(struct rn_block_arena *b);

/* The writer's.  NULL: out of memory.  It is not zeroed. */
void *rn_block_arena_take(struct rn_block_arena *b, struct rn_room *room,
                          size_t bytes) RN_CHECK;
/* The writer's: gives up what it has at hand and has not used yet. */
void rn_block_arena_trim(struct rn_block_arena *b);

/* Fresh memory can take milliseconds to be had, at the first touch, and the
 * writer would wait for it.  So when it is short, some other thread, one at a
 * time, stocks it. */
bool rn_block_arena_is_short(const struct rn_block_arena *b); /* any thread */
void rn_block_arena_stock(struct rn_block_arena *b);

uint64_t
rn_block_arena_bytes(const struct rn_block_arena *b); /* taken; any thread */

#endif
