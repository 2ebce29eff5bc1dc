/* lmdb_prefetch.c -- interleaved B+tree descents with software prefetch, for
 * many keys at once.
 *
 * In a map larger than the processor's caches a lookup is mostly cache misses:
 * a page's header, one of its nodes, the next page's header, some ten times in
 * a row.  The misses of one key depend on each other; those of different keys
 * do not.  So the descents of all keys are interleaved, one step each: a step
 * prefetches the bytes that the next one reads, and meanwhile the other keys
 * take their steps.
 *
 * The only effect is that the bytes are in the cache when LMDB reads them.  The
 * descent reads the newest state, which is not older than the transaction's
 * snapshot and pinned with it.  It trusts nothing it reads, so at worst it
 * prefetches other bytes.
 */
#include "store/lmdb/lmdb_map.h"

#include "base/bytes.h"
#include "store/lmdb/page.h"
#include "store/memtable/sparse_index.h"

enum {
    SEARCHES = 32, /* more than the processor has misses in flight */
    LINE = 64,
};

/* The pages of one state. */
struct state {
    const char *base;
    size_t page_bytes;
    uint64_t last;
};

/* The descent to one key. */
struct search {
    struct rn_sought key;
    const char *page;
    const char *node;   /* to read next; NULL: the page's header */
    unsigned low, high; /* the position is among these */
    unsigned depth;
    bool is_leaf;
};

static bool enter(const struct state *s, struct search *q, uint64_t number)
{
    if (number > s->last || q->depth++ == RN_PAGE_DEPTH_MAX)
        return false;
    q->page = s->base + number * s->page_bytes;
    q->node = NULL;
    for (size_t i = 0; i < 3; i++) /* with the offsets of most nodes */
        __builtin_prefetch(q->page + i * LINE);
    return true;
}

/* Node `i`, or NULL if its offset is out of bounds. */
static const char *node_at(const struct state *s, const struct search *q,
                           unsigned i)
{
    size_t offset = rn_page_u16(q->page + RN_PAGE_HEADER + 2 * (size_t)i);

    return offset + RN_NODE_HEADER <= s->page_bytes ? q->page + offset : NULL;
}

/* Prefetches the node in the middle. */
static bool aim(const struct state *s, struct search *q)
{
    q->node = node_at(s, q, (q->low + q->high) / 2);
    if (!q->node)
        return false;
    __builtin_prefetch(q->node);
    __builtin_prefetch(q->node + (size_t)2 * RN_NODE_HEADER);
    return true;
}

static bool look_at_head(const struct state *s, struct search *q)
{
    size_t lower = rn_page_u16(q->page + RN_PAGE_LOWER);
    size_t nodes = (lower - RN_PAGE_HEADER) / 2;

    if (lower < RN_PAGE_HEADER + 2 || lower > s->page_bytes)
        return false;
    q->is_leaf = rn_page_u16(q->page + RN_PAGE_FLAGS) & RN_PAGE_LEAF;
    q->low = q->is_leaf ? 0 : 1; /* the first of a branch has no key */
    q->high = (unsigned)nodes - 1;
    return q->low <= q->high && aim(s, q);
}

static bool follow(const struct state *s, struct search *q)
{
    const char *node = q->is_leaf ? NULL : node_at(s, q, q->low - 1);

    return node && enter(s, q,
                         rn_page_u32(node) |
                             (uint64_t)rn_page_u16(node + RN_NODE_FLAGS) << 32);
}

/* True if the sought key is not below `key`.  The first bytes mostly decide. */
static bool is_reached(const struct rn_sought *sought, struct rn_view key)
{
    for (size_t i = 0; i < 2 && key.len >= 8 * (i + 1); i++) {
        uint64_t start = rn_get_u64_be(key.at + 8 * i);
        if (start != sought->start[i])
            return start < sought->start[i];
    }
    return rn_view_compare(sought->key, key) >= 0;
}

static bool look_at_node(const struct state *s, struct search *q)
{
    unsigned i = (q->low + q->high) / 2;
    size_t len = rn_page_u16(q->node + RN_NODE_KEY_LEN);
    size_t offset = (size_t)(q->node - q->page);

    if (offset + RN_NODE_HEADER + len > s->page_bytes)
        return false;
    if (is_reached(&q->key, rn_view_of(q->node + RN_NODE_HEADER, len)))
        q->low = i + 1;
    else if (i == 0)
        return false;
    else
        q->high = i - 1;
    return q->low <= q->high ? aim(s, q) : follow(s, q);
}

/* False: the descent is over. */
static bool step(const struct state *s, struct search *q)
{
    return q->node ? look_at_node(s, q) : look_at_head(s, q);
}

/* The root of the table "kv", which is a record of the main table. */
static bool find_root(struct lmdb *m, struct state *s, uint64_t *root)
{
    struct rn_page_meta meta;
    struct rn_page_tree tree;
    struct rn_page page;

    s->base = m->watch.base;
    s->page_bytes = m->page_bytes;
    if (!rn_page_meta_pick(rn_view_of(s->base, RN_PAGE_METAS * m->page_bytes),
                           &meta) ||
        meta.main.root > meta.last)
        return false;
    s->last = meta.last;
    if (rn_page_check(
            rn_view_of(s->base + meta.main.root * m->page_bytes, m->page_bytes),
            meta.main.root, RN_PAGE_BYTES, &page) ||
        page.kind != RN_PAGE_LEAF)
        return false;
    for (unsigned i = 0; i < page.nodes; i++) {
        struct rn_page_node node = rn_page_node(&page, i);
        if (node.is_table && rn_page_tree_decode(node.value, &tree)) {
            *root = tree.root;
            return true;
        }
    }
    return false;
}

static void search_some(const struct state *s, uint64_t root,
                        const struct rn_view *keys, size_t len)
{
    struct search searches[SEARCHES];
    size_t left = 0;

    for (size_t i = 0; i < len; i++) {
        searches[left] = (struct search){ .key = rn_sought_of(keys[i]) };
        left += enter(s, &searches[left], root);
    }
    while (left) {
        for (size_t i = 0; i < left;) {
            if (step(s, &searches[i]))
                i++;
            else
                searches[i] = searches[--left];
        }
    }
}

void rn_lmdb_expect(struct rn_map_txn *t, const struct rn_view *keys,
                    size_t len)
{
    struct rn_fault_guard guard;
    struct state state;
    uint64_t root;

    if (sigsetjmp(guard.back, 0)) {
        rn_fault_guard_caught(
            &guard); /* the lookup meets the fault again itself */
        return;
    }
    rn_fault_guard_enter(&guard, &t->m->watch.remedy);
    if (find_root(t->m, &state, &root)) {
        for (size_t i = 0; i < len; i += SEARCHES)
            search_some(&state, root, keys + i,
                        len - i < SEARCHES ? len - i : SEARCHES);
    }
    rn_fault_guard_leave(&guard);
}
