/* sparse_index.c -- see sparse_index.h.
 *
 * An insertion moves slots to the right, one by one, and a reader may look
 * meanwhile.  It may see a slot twice, or a leaf half of which has been copied
 * to another leaf already.  In each case it is led to an entry further before
 * its key.
 */
#include "store/memtable/sparse_index.h"

#include "base/bytes.h"

enum {
    LEAF_SLOTS = 64, /* 1 KB: each insertion moves up to that */
    LEAVES_LEAST = 64,
    CACHE_LINE = 64,
};

struct slot {
    uint64_t start; /* of the first key there, or lower; atomic */
    void *to;       /* an entry, or a leaf; atomic */
};

struct rn_sparse_index_node {
    unsigned count; /* atomic */
    unsigned room;
    struct slot slots[];
};

/* ---- lookup -------------------------------------------------------------- */

struct rn_sought rn_sought_of(struct rn_view key)
{
    char bytes[16] = { 0 };
    const char *at = key.at;
    struct rn_sought s = { .key = key };

    if (key.len < sizeof(bytes)) {
        if (key.len)
            memcpy(bytes, key.at, key.len);
        at = bytes;
    }
    s.start[0] = rn_get_u64_be(at);
    s.start[1] = rn_get_u64_be(at + 8);
    return s;
}

static unsigned count_of(const struct rn_sparse_index_node *n)
{
    return __atomic_load_n(&n->count, __ATOMIC_ACQUIRE);
}

static uint64_t start_of(const struct slot *p)
{
    return __atomic_load_n(&p->start, __ATOMIC_ACQUIRE);
}

static void *follow(const struct slot *p)
{
    return __atomic_load_n(&p->to, __ATOMIC_ACQUIRE);
}

static bool is_before(const struct slot *p, const struct rn_sought *key,
                      bool in_leaf)
{
    uint64_t start = start_of(p);
    const void *to;

    if (start != key->start[0])
        return start < key->start[0];
    to = follow(p);
    if (!in_leaf)
        to = follow(&((const struct rn_sparse_index_node *)to)->slots[0]);
    return rn_sought_is_after(key, to);
}

/* The number of slots of a node that come before the key.  The first loop
 * compares numbers and is branch-free, because a branch would mispredict half
 * the time.  The second one reads entries, among those whose first bytes are
 * the key's. */
static unsigned search(const struct rn_sparse_index_node *n,
                       const struct rn_sought *key, bool in_leaf)
{
    const struct slot *slots = n->slots;
    unsigned at = 0, count = count_of(n), half;

    for (unsigned left = count; left > 0; left -= half) {
        half = (left + 1) / 2;
        at += start_of(&slots[at + half - 1]) < key->start[0] ? half : 0;
    }
    if (at == count || start_of(&slots[at]) > key->start[0])
        return at;
    for (unsigned left = count - at; left > 0;) {
        half = (left + 1) / 2;
        if (is_before(&slots[at + half - 1], key, in_leaf)) {
            at += half;
            left -= half;
        } else {
            left = half - 1;
        }
    }
    return at;
}

/* Prefetches a leaf, or a search would wait for one cache line after another.
 */
static void fetch(const struct rn_sparse_index_node *leaf)
{
    for (size_t i = 0; i < LEAF_SLOTS; i += CACHE_LINE / sizeof(struct slot))
        __builtin_prefetch(&leaf->slots[i]);
}

/* The leaf with the key's position; NULL: there is no leaf yet. */
static struct rn_sparse_index_node *find_leaf(const struct rn_sparse_index *g,
                                              const struct rn_sought *key,
                                              unsigned *leaf_at)
{
    const struct rn_sparse_index_node *leaves =
        __atomic_load_n(&g->leaves, __ATOMIC_ACQUIRE);

    *leaf_at = 0;
    if (!leaves)
        return NULL;
    *leaf_at = search(leaves, key, false);
    if (*leaf_at > 0) /* a key before all belongs to the first leaf, too */
        (*leaf_at)--;
    return follow(&leaves->slots[*leaf_at]);
}

void rn_sparse_index_prefetch(const struct rn_sparse_index *g,
                              const struct rn_sought *key)
{
    unsigned leaf_at;
    const struct rn_sparse_index_node *leaf = find_leaf(g, key, &leaf_at);

    if (leaf)
        fetch(leaf);
}

struct rn_memtable_entry *
rn_sparse_index_find(const struct rn_sparse_index *g,
                     const struct rn_sought *key,
                     struct rn_sparse_index_spot *spot)
{
    *spot = (struct rn_sparse_index_spot){ 0 };
    spot->leaf = find_leaf(g, key, &spot->leaf_at);
    if (!spot->leaf)
        return NULL;
    fetch(spot->leaf);
    spot->at = search(spot->leaf, key, true);
    return spot->at ? follow(&spot->leaf->slots[spot->at - 1]) : NULL;
}

static void *follow_last(const struct rn_sparse_index_node *n)
{
    return follow(&n->slots[count_of(n) - 1]);
}

struct rn_memtable_entry *
rn_sparse_index_find_last(const struct rn_sparse_index *g)
{
    const struct rn_sparse_index_node *leaves =
        __atomic_load_n(&g->leaves, __ATOMIC_ACQUIRE);

    return leaves ? follow_last(follow_last(leaves)) : NULL;
}

/* ---- insertion ----------------------------------------------------------- */

/* Stores the number last: a reader that sees it also sees its pointer, or the
 * pointer of an earlier entry. */
static void set(struct slot *p, struct slot to)
{
    __atomic_store_n(&p->to, to.to, __ATOMIC_RELEASE);
    __atomic_store_n(&p->start, to.start, __ATOMIC_RELEASE);
}

static void insert(struct rn_sparse_index_node *n, unsigned at, struct slot p)
{
    for (unsigned i = n->count; i > at; i--)
        set(&n->slots[i], n->slots[i - 1]);
    set(&n->slots[at], p);
    __atomic_store_n(&n->count, n->count + 1, __ATOMIC_RELEASE);
}

static struct rn_sparse_index_node *make(struct rn_sparse_index_memory memory,
                                         unsigned room,
                                         const struct slot *slots,
                                         unsigned count)
{
    struct rn_sparse_index_node *n = rn_block_arena_take(
        memory.blocks, memory.room, sizeof(*n) + room * sizeof(struct slot));

    if (!n)
        return NULL;
    n->room = room;
    n->count = count;
    if (count)
        memcpy(n->slots, slots, count * sizeof(struct slot));
    return n;
}

/* The first leaf will get earlier slots without a change of the directory, so
 * its number in the directory is the lowest. */
static void begin(struct rn_sparse_index *g, struct slot first,
                  struct rn_sparse_index_memory memory)
{
    struct rn_sparse_index_node *leaf = make(memory, LEAF_SLOTS, &first, 1);
    struct slot p = { 0, leaf };

    if (leaf)
        __atomic_store_n(&g->leaves, make(memory, LEAVES_LEAST, &p, 1),
                         __ATOMIC_RELEASE);
}

/* Makes a leaf of these slots at a position of the directory.  A directory that
 * is too small is replaced, but not freed: readers may be in it. */
static struct rn_sparse_index_node *
add_leaf(struct rn_sparse_index *g, unsigned at, const struct slot *slots,
         unsigned count, struct rn_sparse_index_memory memory)
{
    struct rn_sparse_index_node *leaves = g->leaves;
    struct rn_sparse_index_node *leaf = make(memory, LEAF_SLOTS, slots, count);

    if (leaf && leaves->count == leaves->room)
        leaves = make(memory, 2 * leaves->room, leaves->slots, leaves->count);
    if (!leaf || !leaves)
        return NULL;
    __atomic_store_n(&g->leaves, leaves, __ATOMIC_RELEASE);
    insert(leaves, at, (struct slot){ slots[0].start, leaf });
    return leaf;
}

/* Inserts a slot into a full leaf.  A slot behind all others begins a new leaf,
 * so that ascending keys leave full leaves behind. */
static void split(struct rn_sparse_index *g,
                  const struct rn_sparse_index_spot *spot, struct slot p,
                  struct rn_sparse_index_memory memory)
{
    struct rn_sparse_index_node *leaf = spot->leaf, *other;
    unsigned half = LEAF_SLOTS / 2;

    if (spot->at == LEAF_SLOTS) {
        (void)add_leaf(g, spot->leaf_at + 1, &p, 1, memory);
        return;
    }
    other = add_leaf(g, spot->leaf_at + 1, leaf->slots + half,
                     LEAF_SLOTS - half, memory);
    if (!other)
        return;
    __atomic_store_n(&leaf->count, half, __ATOMIC_RELEASE);
    if (spot->at > half)
        insert(other, spot->at - half, p);
    else
        insert(leaf, spot->at, p);
}

/* True if the key of an entry has a slot, at this spot or first in the next
 * leaf. */
static bool has_slot(const struct rn_sparse_index *g,
                     const struct rn_sparse_index_spot *spot,
                     const struct rn_memtable_entry *e)
{
    const struct rn_sparse_index_node *leaves = g->leaves, *leaf = spot->leaf;
    const struct slot *p = &leaf->slots[spot->at];
    const struct rn_memtable_entry *other;

    if (spot->at == leaf->count) {
        if (spot->leaf_at + 1 == leaves->count)
            return false;
        leaf = leaves->slots[spot->leaf_at + 1].to;
        p = &leaf->slots[0];
    }
    other = p->to;
    return p->start == e->start[0] && rn_view_eq(other->key, e->key);
}

void rn_sparse_index_add(struct rn_sparse_index *g,
                         const struct rn_sparse_index_spot *spot,
                         struct rn_memtable_entry *e,
                         struct rn_sparse_index_memory memory)
{
    struct slot p = { e->start[0], e };

    if (!spot->leaf)
        begin(g, p, memory);
    else if (has_slot(g, spot, e))
        return;
    else if (spot->leaf->count == LEAF_SLOTS)
        split(g, spot, p, memory);
    else
        insert(spot->leaf, spot->at, p);
}
