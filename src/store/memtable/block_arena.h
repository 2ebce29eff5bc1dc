/* block_arena.h -- the arena of a memtable: a bump allocator over large blocks.
 *
 * Memory is taken in small pieces, close together, and freed as a whole or kept
 * for the next memtable.  Once the arena has grown past some size, its blocks
 * are as large as a huge page.
 *
 * Threads: one writer allocates.  Another thread may stock the arena meanwhile,
 * and any thread may read how much was allocated.
 */
#ifndef RN_STORE_MEMTABLE_BLOCK_ARENA_H
#define RN_STORE_MEMTABLE_BLOCK_ARENA_H

#include "base/mem.h"

struct rn_block;

struct rn_block_arena {
    struct rn_block *used;
    struct rn_block *spare; /* huge blocks, kept from before */
    struct rn_block *ahead; /* huge blocks, made by another thread; atomic */
    size_t block_bytes;
    uint64_t bytes; /* allocated; atomic */
    bool is_short;  /* of huge blocks; atomic */
};

/* The free part of a block.  Allocations from one room are adjacent.  A zeroed
 * room has no block yet. */
struct rn_room {
    char *at;
    size_t left;
};

/* `limit` is the expected number of bytes; it may be exceeded. */
void rn_block_arena_init(struct rn_block_arena *b, uint64_t limit);
void rn_block_arena_release(struct rn_block_arena *b);
/* Frees all allocations and keeps the huge blocks that were in use for the next
 * memtable.  Huge blocks that were not used this time are freed, so that memory
 * follows the need. */
void rn_block_arena_empty(struct rn_block_arena *b);

/* Called by the writer.  The memory is not zeroed.  NULL: out of memory. */
void *rn_block_arena_take(struct rn_block_arena *b, struct rn_room *room,
                          size_t bytes) RN_CHECK;
/* Called by the writer: frees the spare blocks that it has not used yet. */
void rn_block_arena_trim(struct rn_block_arena *b);

/* The first touch of fresh memory can take milliseconds, and the writer would
 * wait for it.  So when the arena is short of memory, another thread, one at a
 * time, stocks it. */
bool rn_block_arena_is_short(const struct rn_block_arena *b); /* any thread */
void rn_block_arena_stock(struct rn_block_arena *b);

uint64_t
rn_block_arena_bytes(const struct rn_block_arena *b); /* used; any thread */

#endif
