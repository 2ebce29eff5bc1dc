/* page_checksums.h -- a checksum for every page of the map's durable
 * checkpoint.
 *
 * LMDB's pages have none.  Without them, a flipped bit in a branch can lead a
 * lookup to an older copy of the right leaf, of which copy-on-write leaves
 * many, and nothing in that leaf would be wrong.  So each checkpoint saves the
 * checksum of each page that its state reaches, and 0 for every other page, in
 * the file map-N-sums.  Pages written since need none: the WAL has their rows.
 *
 * The file is a row of blocks, each for 510 pages, each with two alternating
 * slots.  A checkpoint writes the changed blocks to the slots that the
 * last one does not use, and its image says which slot is current; so the
 * checksums of the last durable state stay whole until the next one is durable.
 * Block, little endian:
 *
 *      0  checksum   u64   xxh3 of the rest, seeded with the block's number
 *      8  txnid      u64   of the state for which it was written
 *     16  checksums  u64 each: xxh3 of the page seeded with its number, never
 *                    0; 0: no page of this state
 *
 * A copy of a running store must take this file first, and start over if the
 * file `checkpoint` has changed meanwhile.
 *
 * Threads: get from any, also in a signal handler; the rest from one at a time.
 */
#ifndef RN_STORE_INTEGRITY_PAGE_CHECKSUMS_H
#define RN_STORE_INTEGRITY_PAGE_CHECKSUMS_H

#include "base/env.h"

enum {
    RN_CHECKSUMS_BLOCK = 4096,
    RN_CHECKSUMS_PER_BLOCK = (RN_CHECKSUMS_BLOCK - 16) / 8,
};

struct rn_page_checksums;

/* A page and its checksum in the next state; 0: no longer part of the state. */
struct rn_page_checksums_change {
    uint64_t page, checksum;
};

struct rn_page_checksums_opts {
    struct rn_env *env;
    const char *path;
    uint64_t pages_max; /* page numbers are below this */
    /* The result of save; empty: a new, empty file. */
    struct rn_view slots;
    bool read_only;
};

/* RN_CORRUPT if the file is missing or cut short. */
enum rn_code rn_page_checksums_open(const struct rn_page_checksums_opts *opts,
                                    struct rn_page_checksums **out,
                                    struct rn_err *err) RN_CHECK;
void rn_page_checksums_close(struct rn_page_checksums *s); /* NULL is fine */

/* False if its file was removed, replaced or cut short. */
bool rn_page_checksums_is_whole(struct rn_page_checksums *s);

uint64_t rn_page_checksums_of(struct rn_view page, uint64_t number);

/* The checksum of page `number` in the current state, 0 if the page is not part
 * of it.  False if the block with the checksum is damaged.  Touches mapped
 * memory: a guard must be set. */
bool rn_page_checksums_get(struct rn_page_checksums *s, uint64_t number,
                           uint64_t *out);

/* Increases whenever another state becomes current.  A result of get counts
 * only if this is the same before get and after the use of the result. */
uint64_t rn_page_checksums_version(struct rn_page_checksums *s);

/* Writes the checksums of the state `txnid`, which is the current one with
 * `changes` applied, and appends to `slots` what open needs.  Sorts `changes`.
 * The current state does not change. */
enum rn_code rn_page_checksums_save(struct rn_page_checksums *s, uint64_t txnid,
                                    struct rn_page_checksums_change *changes,
                                    size_t len, struct rn_buf *slots,
                                    struct rn_err *err) RN_CHECK;
enum rn_code rn_page_checksums_sync(struct rn_page_checksums *s,
                                    struct rn_err *err) RN_CHECK;

/* The saved checksums and their state are durable: makes that state current. */
void rn_page_checksums_adopt(struct rn_page_checksums *s);

/* Where the block for page `number` lies in the file. */
uint64_t rn_page_checksums_place(struct rn_page_checksums *s, uint64_t number);

#endif
