/* page_sums.h -- a checksum for every page of the map's durable state.
 *
 * LMDB's pages have none.  Without, a flipped bit in a branch can lead a lookup
 * to an older copy of the right leaf, of which copy-on-write leaves many about,
 * and nothing in that leaf would be amiss.  So each checkpoint notes the sum of
 * each page that its state reaches, and 0 for every other page, in the file
 * map-N-sums.  What was written since needs none: the log has it.
 *
 * The file is a row of blocks, each for 510 pages, each with two homes.  A
 * checkpoint writes the blocks that change to whichever home the last one does
 * not use, and says in its image which home is whose; so the sums of the last
 * durable state stay whole until the next one is durable.  Block, little
 * endian:
 *
 *      0  sum    u64   xxh3 of the rest, seeded with the number of the block
 *      8  txnid  u64   of the state for which it was written
 *     16  sums   u64 each: xxh3 of the page seeded with its number, never 0;
 *                0: no page of this state
 *
 * A copy of a running store must take this file first, and begin again if the
 * file `checkpoint` has changed meanwhile.
 *
 * Threads: get from any, also in a signal handler; the rest from one at a time.
 */
#ifndef RN_STORE_INTEGRITY_PAGE_SUMS_H
#define RN_STORE_INTEGRITY_PAGE_SUMS_H

#include "base/env.h"

enum {
    RN_SUMS_BLOCK = 4096,
    RN_SUMS_PER_BLOCK = (RN_SUMS_BLOCK - 16) / 8,
};

struct rn_page_sums;

/* A page and its sum in the state to come; 0: it is no longer part of it. */
struct rn_page_sums_change {
    uint64_t page, sum;
};

struct rn_page_sums_opts {
    struct rn_env *env;
    const char *path;
    uint64_t pages_max; /* no page can have this number */
    /* What save gave; empty: a new, empty file. */
    struct rn_view homes;
    bool read_only;
};

/* RN_CORRUPT if the file is missing or cut short. */
enum rn_code rn_page_sums_open(const struct rn_page_sums_opts *opts,
                               struct rn_page_sums **out,
                               struct rn_err *err) RN_CHECK;
void rn_page_sums_close(struct rn_page_sums *s); /* NULL is fine */

/* False if its file was removed, replaced or cut short. */
bool rn_page_sums_is_whole(struct rn_page_sums *s);

uint64_t rn_page_sums_of(struct rn_view page, uint64_t number);

/* The sum of page `number` in the current state, 0 if it is no part of it.
 * False if the block that should know it is damaged.  Touches mapped memory:
 * a guard must be set. */
bool rn_page_sums_get(struct rn_page_sums *s, uint64_t number, uint64_t *out);

/* Rises whenever another state becomes the current one.  An answer counts only
 * if this is the same before and after all that was concluded from it. */
uint64_t rn_page_sums_version(struct rn_page_sums *s);

/* Writes the sums of the state `txnid`, which is the current one with `changes`
 * made to it, and adds to `homes` what open will want back.  Sorts `changes`.
 * The current state stays the current one. */
enum rn_code rn_page_sums_save(struct rn_page_sums *s, uint64_t txnid,
                               struct rn_page_sums_change *changes, size_t len,
                               struct rn_buf *homes,
                               struct rn_err *err) RN_CHECK;
enum rn_code rn_page_sums_sync(struct rn_page_sums *s,
                               struct rn_err *err) RN_CHECK;

/* What was saved is durable, and so is what it describes: it becomes the
 * current state. */
void rn_page_sums_adopt(struct rn_page_sums *s);

/* Where the block for page `number` lies in the file. */
uint64_t rn_page_sums_place(struct rn_page_sums *s, uint64_t number);

#endif
