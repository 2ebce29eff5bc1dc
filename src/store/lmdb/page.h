/* page.h -- a validating reader of LMDB's page format: pages, nodes, trees.
 *
 * LMDB 0.9 does not say which pages a state consists of, and trusts whatever it
 * finds in them.  The page checksums and verify need the first
 * (page_checksums.h, verify.h) and must not do the second, so this is a second,
 * distrustful reader of the same format:
 *
 *   page    header, 16 bytes: number u64, pad u16, flags u16, then for branch
 *           and leaf `lower` u16 and `upper` u16, for overflow the count u32.
 *           The offsets of the nodes follow, u16 each, up to `lower`; the nodes
 *           themselves fill the page from `upper` to its end without gaps.
 *   node    size or child u32, flags u16 (of a child: its high bits), length
 *           of the key u16, the key, and in a leaf the value: in place, or the
 *           number of the first of a run of overflow pages.
 *   branch  the key of node i is at most any key below it; that of node 0 is
 *           not used.
 *   meta    pages 0 and 1: the roots of two tables, the last page in use, the
 *           number of the transaction.  The free table lists free pages by the
 *           transaction that freed them; the main table holds the seq row and
 *           the root of the table "kv".
 *
 * Numbers are in the machine's own byte order, as LMDB writes them.  Nothing
 * here reads outside of the bytes it is given.  Values only; any thread.
 */
#ifndef RN_STORE_LMDB_PAGE_H
#define RN_STORE_LMDB_PAGE_H

#include "base/mem.h"

#include <stdint.h>

enum {
    RN_PAGE_METAS = 2,
    RN_PAGE_DEPTH_MAX = 32, /* LMDB's own limit */
    RN_PAGE_KEY_MAX = 511,
    /* Buffers of a walk: two nested tables and a value. */
    RN_PAGE_BUFFERS = 2 * RN_PAGE_DEPTH_MAX + 1,
};

/* Offsets within a page or a node. */
enum {
    RN_PAGE_FLAGS = 10,
    RN_PAGE_LOWER = 12,
    RN_PAGE_UPPER = 14,
    RN_PAGE_HEADER = 16,
    RN_NODE_FLAGS = 4,
    RN_NODE_KEY_LEN = 6,
    RN_NODE_HEADER = 8,
};

/* LMDB aligns to two bytes only, so numbers are copied out. */
static inline uint16_t rn_page_u16(const char *at)
{
    uint16_t n;

    memcpy(&n, at, sizeof(n));
    return n;
}

static inline uint32_t rn_page_u32(const char *at)
{
    uint32_t n;

    memcpy(&n, at, sizeof(n));
    return n;
}

#define RN_PAGE_NONE UINT64_MAX /* the root of an empty table */

/* A tree, as a meta page or the record of a table describes it. */
struct rn_page_tree {
    uint16_t depth;
    uint64_t branches, leaves, overflows, entries, root;
};

struct rn_page_meta {
    uint32_t page_bytes;
    uint64_t last, txnid;
    struct rn_page_tree free, main;
};

/* The newer of the two meta pages in `metas`.  False if it is not valid. */
bool rn_page_meta_pick(struct rn_view metas, struct rn_page_meta *out);

enum rn_page_kind {
    RN_PAGE_BRANCH = 1,
    RN_PAGE_LEAF = 2,
    RN_PAGE_OVERFLOW = 4
};

enum rn_page_order {
    RN_PAGE_BYTES,   /* keys compare as bytes */
    RN_PAGE_NUMBERS, /* keys are u64: the free table */
};

/* A page that passed the check. */
struct rn_page {
    const char *at;
    size_t bytes;
    enum rn_page_kind kind;
    unsigned nodes; /* of a branch or leaf */
};

struct rn_page_node {
    struct rn_view key;
    uint64_t child; /* in a branch */
    /* In a leaf: the value, or NULL bytes and the page where it begins. */
    struct rn_view value;
    uint64_t overflow;
    bool is_table; /* the value is the record of a table */
};

/* Checks a branch or leaf completely: that it is page `number`, that lower,
 * upper, offsets and sizes fit, that nodes do not overlap, and that keys
 * ascend.  NULL if all is well, else what is wrong. */
const char *rn_page_check(struct rn_view bytes, uint64_t number,
                          enum rn_page_order order, struct rn_page *out);

/* Node `i` of a page that passed the check. */
struct rn_page_node rn_page_node(const struct rn_page *page, unsigned i);

bool rn_page_tree_decode(struct rn_view record, struct rn_page_tree *out);

/* ---- walking ------------------------------------------------------------- */

enum rn_page_table { RN_TABLE_FREE, RN_TABLE_MAIN, RN_TABLE_KV };

/* Walks every page that a state reaches, parents first, in key order.  Damage
 * is reported to `bad` and not followed further. */
struct rn_page_walk {
    void *context;
    size_t page_bytes;
    uint64_t last; /* the last page; none may lie behind it */
    /* Returns the bytes of `count` pages, or NULL; they must last until the
     * next call with the same `buffer`, which is less than RN_PAGE_BUFFERS. */
    const char *(*read)(void *context, unsigned buffer, uint64_t number,
                        uint64_t count);
    /* Called for each run of pages that is reached; false: do not look inside.
     */
    bool (*reach)(void *context, uint64_t number, uint64_t count);
    /* May be NULL.  The value's bytes are NULL if they could not be read. */
    void (*record)(void *context, enum rn_page_table table, uint64_t page,
                   struct rn_view key, struct rn_view value);
    void (*bad)(void *context, uint64_t number, const char *what);
};

void rn_page_walk(const struct rn_page_walk *walk,
                  const struct rn_page_meta *meta);

#endif
