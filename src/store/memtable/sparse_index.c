/* sparse_index.c -- see sparse_index.h.
 *
 * A tree of two levels.  Posts move to the right, one by one, for a new one to
 * take its place, and a reader may come by meanwhile: it finds one of them
 * twice, or a leaf half of which is in another already, and is led to an entry
 * further ahead of its key.
 */
#include "store/memtable/sparse_index.h"

#include "base/bytes.h"

enum {
    LEAF_POSTS = 64, /* 1 KB: more would take long to move, for each new one */
    LEAVES_LEAST = 64,
    CACHE_LINE = 64,
};

struct post {
    uint64_t start; /* of the first key there, or lower; atomic */
    void *to;       /* an entry, or a leaf; atomic */
};

struct rn_sparse_index_node {
    unsigned count; /* atomic */
    unsigned room;
    struct post posts[];
};

/* ---- looking ------------------------------------------------------------- */

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

static uint64_t start_of(const struct post *p)
{
    return __atomic_load_n(&p->start, __ATOMIC_ACQUIRE);
}

static void *follow(const struct post *p)
{
    return __atomic_load_n(&p->to, __ATOMIC_ACQUIRE);
}

static bool is_before(const struct post *p, const struct rn_sought *key,
                      bool in_leaf)
{
    uint64_t start = start_of(p);
    const void *to;

    if (start != key->start[0])
        return start < key->start[0];
    to = follow(p);
    if (!in_leaf)
        to = follow(&((const struct rn_sparse_index_node *)to)->posts[0]);
    return rn_sought_is_after(key, to);
}

/* How many posts of a node come before the key.  First by their numbers, where
 * a jump of the processor would be a guess, and a wrong one each second time;
 * then, among those that begin as the key does, by looking at entries. */
static unsigned search(const struct rn_sparse_index_node *n,
                       const struct rn_sought *key, bool in_leaf)
{
    const struct post *posts = n->posts;
    unsigned at = 0, count = count_of(n), half;

    for (unsigned left = count; left > 0; left -= half) {
        half = (left + 1) / 2;
        at += start_of(&posts[at + half - 1]) < key->start[0] ? half : 0;
    }
    if (at == count || start_of(&posts[at]) > key->start[0])
        return at;
    for (unsigned left = count - at; left > 0;) {
        half = (left + 1) / 2;
        if (is_before(&posts[at + half - 1], key, in_leaf)) {
            at += half;
            left -= half;
        } else {
            left = half - 1;
        }
    }
    return at;
}

/* A search would wait for one line of a leaf after the other. */
static void fetch(const struct rn_sparse_index_node *leaf)
{
    for (size_t i = 0; i < LEAF_POSTS; i += CACHE_LINE / sizeof(struct post))
        __builtin_prefetch(&leaf->posts[i]);
}

/* The leaf with a key's place; NULL: there is none yet. */
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
    if (*leaf_at > 0) /* else before all: in the first leaf, too */
        (*leaf_at)--;
    return follow(&leaves->posts[*leaf_at]);
}

void rn_sparse_index_expect(const struct rn_sparse_index *g,
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
    return spot->at ? follow(&spot->leaf->posts[spot->at - 1]) : NULL;
}

static void *follow_last(const struct rn_sparse_index_node *n)
{
    return follow(&n->posts[count_of(n) - 1]);
}

struct rn_memtable_entry *
rn_sparse_index_find_last(const struct rn_sparse_index *g)
{
    const struct rn_sparse_index_node *leaves =
        __atomic_load_n(&g->leaves, __ATOMIC_ACQUIRE);

    return leaves ? follow_last(follow_last(leaves)) : NULL;
}

/* ---- adding -------------------------------------------------------------- */

/* The number last: who reads it finds what it belongs to, or an earlier one. */
static void set(struct post *p, struct post to)
{
    __atomic_store_n(&p->to, to.to, __ATOMIC_RELEASE);
    __atomic_store_n(&p->start, to.start, __ATOMIC_RELEASE);
}

static void insert(struct rn_sparse_index_node *n, unsigned at, struct post p)
{
    for (unsigned i = n->count; i > at; i--)
        set(&n->posts[i], n->posts[i - 1]);
    set(&n->posts[at], p);
    __atomic_store_n(&n->count, n->count + 1, __ATOMIC_RELEASE);
}

static struct rn_sparse_index_node *make(struct rn_sparse_index_memory memory,
                                         unsigned room,
                                         const struct post *posts,
                                         unsigned count)
{
    struct rn_sparse_index_node *n = rn_block_arena_take(
        memory.blocks, memory.room, sizeof(*n) + room * sizeof(struct post));

    if (!n)
        return NULL;
    n->room = room;
    n->count = count;
    if (count)
        memcpy(n->posts, posts, count * sizeof(struct post));
    return n;
}

/* In the first leaf there will be earlier ones, and the directory does not hear
 * of it; so it begins with the lowest number. */
static void begin(struct rn_sparse_index *g, struct post first,
                  struct rn_sparse_index_memory memory)
{
    struct rn_sparse_index_node *leaf = make(memory, LEAF_POSTS, &first, 1);
    struct post p = { 0, leaf };

    if (leaf)
        __atomic_store_n(&g->leaves, make(memory, LEAVES_LEAST, &p, 1),
                         __ATOMIC_RELEASE);
}

/* Makes a leaf of these posts, to stand at a place in the directory.  Readers
 * may be in a directory that has become too small: it stays. */
static struct rn_sparse_index_node *
add_leaf(struct rn_sparse_index *g, unsigned at, const struct post *posts,
         unsigned count, struct rn_sparse_index_memory memory)
{
    struct rn_sparse_index_node *leaves = g->leaves;
    struct rn_sparse_index_node *leaf = make(memory, LEAF_POSTS, posts, count);

    if (leaf && leaves->count == leaves->room)
        leaves = make(memory, 2 * leaves->room, leaves->posts, leaves->count);
    if (!leaf || !leaves)
        return NULL;
    __atomic_store_n(&g->leaves, leaves, __ATOMIC_RELEASE);
    insert(leaves, at, (struct post){ posts[0].start, leaf });
    return leaf;
}

/* Puts a post into a leaf that is full.  What comes behind all others begins a
 * leaf, so that keys which rise leave full ones behind. */
static void split(struct rn_sparse_index *g,
                  const struct rn_sparse_index_spot *spot, struct post p,
                  struct rn_sparse_index_memory memory)
{
    struct rn_sparse_index_node *leaf = spot->leaf, *other;
    unsigned half = LEAF_POSTS / 2;

    if (spot->at == LEAF_POSTS) {
        (void)add_leaf(g, spot->leaf_at + 1, &p, 1, memory);
        return;
    }
    other = add_leaf(g, spot->leaf_at + 1, leaf->posts + half,
                     LEAF_POSTS - half, memory);
    if (!other)
        return;
    __atomic_store_n(&leaf->count, half, __ATOMIC_RELEASE);
    if (spot->at > half)
        insert(other, spot->at - half, p);
    else
        insert(leaf, spot->at, p);
}

/* Has the key of an entry a post, at this spot or first in the next leaf? */
static bool has_post(const struct rn_sparse_index *g,
                     const struct rn_sparse_index_spot *spot,
                     const struct rn_memtable_entry *e)
{
    const struct rn_sparse_index_node *leaves = g->leaves, *leaf = spot->leaf;
    const struct post *p = &leaf->posts[spot->at];
    const struct rn_memtable_entry *other;

    if (spot->at == leaf->count) {
        if (spot->leaf_at + 1 == leaves->count)
            return false;
        leaf = leaves->posts[spot->leaf_at + 1].to;
        p = &leaf->posts[0];
    }
    other = p->to;
    return p->start == e->start[0] && rn_view_eq(other->key, e->key);
}

void rn_sparse_index_add(struct rn_sparse_index *g,
                         const struct rn_sparse_index_spot *spot,
                         struct rn_memtable_entry *e,
                         struct rn_sparse_index_memory memory)
{
    struct post p = { e->start[0], e };

    if (!spot->leaf)
        begin(g, p, memory);
    else if (has_post(g, spot, e))
        return;
    else if (spot->leaf->count == LEAF_POSTS)
        split(g, spot, p, memory);
    else
        insert(spot->leaf, spot->at, p);
}
