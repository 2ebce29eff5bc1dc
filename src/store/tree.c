/* tree.c -- see tree.h.
 *
 * Invariant, for both children of every node, with weight = count + 1:
 *
 *   weight(child) <= DELTA * weight(other child)
 *
 * A put or del changes one count by one, and a single or double rotation,
 * chosen by GAMMA, restores it; that (3, 2) suffices is proven in Hirai and
 * Yamamoto, "Balancing weight-balanced trees", 2011.
 *
 * Nodes are shared by trees.  A node whose path from the root has no other
 * holder belongs to this tree alone and is changed in place; all others are
 * copied first (own).  The tree takes the nodes for that from its spare list,
 * which is filled before the first change: so no step can fail half-way.
 *
 * Ownership: functions that change a subtree take over the reference to it and
 * return one to the result.
 */
#include "store/tree.h"

#include <assert.h>
#include <stdatomic.h>

enum { DELTA = 3, GAMMA = 2 };

/* Separate from the node, so that copying a path does not copy values. */
struct entry {
    struct rn_tree_entry face;
    atomic_uint refs;
    char bytes[];
};

struct rn_tree_node {
    struct rn_tree_node *child[2]; /* smaller keys, larger keys */
    struct entry *entry;
    uint64_t count, bytes;
    atomic_uint refs;
};

static struct entry *entry_new(struct rn_view key, struct rn_view value)
{
    struct entry *e = rn_new(sizeof(*e) + key.len + value.len);

    if (!e)
        return NULL;
    memcpy(e->bytes, key.at, key.len);
    if (value.len)
        memcpy(e->bytes + key.len, value.at, value.len);
    e->face.key = rn_view_of(e->bytes, key.len);
    e->face.value = rn_view_of(e->bytes + key.len, value.len);
    atomic_init(&e->refs, 1);
    return e;
}

static struct entry *entry_share(struct entry *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

static void entry_drop(struct entry *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
        rn_free(e);
}

static struct rn_tree_node *node_share(struct rn_tree_node *n)
{
    if (n)
        atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

static void node_drop(struct rn_tree_node *n)
{
    while (n &&
           atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) == 1) {
        struct rn_tree_node *larger = n->child[1];

        node_drop(n->child[0]); /* recursion: as deep as the tree */
        entry_drop(n->entry);
        rn_free(n);
        n = larger;
    }
}

static uint64_t weight(const struct rn_tree_node *n)
{
    return n ? n->count + 1 : 1;
}

static uint64_t bytes_of(const struct rn_tree_node *n)
{
    return n ? n->bytes : 0;
}

/* ---- spare nodes --------------------------------------------------------- */

static void keep_spare(struct rn_tree *t, struct rn_tree_node *n)
{
    n->child[0] = t->spare;
    t->spare = n;
    t->spares++;
}

static struct rn_tree_node *take_spare(struct rn_tree *t)
{
    struct rn_tree_node *n = t->spare;

    assert(n);
    t->spare = n->child[0];
    t->spares--;
    atomic_init(&n->refs, 1);
    return n;
}

static void free_spares(struct rn_tree *t)
{
    while (t->spares)
        rn_free(take_spare(t));
}

/* No path is longer (tree.h). */
static size_t longest_path(const struct rn_tree *t)
{
    size_t log2 = 0;

    while (weight(t->root) >> log2)
        log2++;
    return log2 * 241 / 100;
}

/* A change copies at most the nodes on one path, and two more for a rotation at
 * each of them; it adds one. */
static enum rn_code reserve(struct rn_tree *t)
{
    size_t most = 3 * longest_path(t) + 1;

    while (t->spares < most) {
        struct rn_tree_node *n = rn_new(sizeof(*n));
        if (!n)
            return RN_NOMEM;
        keep_spare(t, n);
    }
    return RN_OK;
}

/* ---- changing ------------------------------------------------------------ */

static struct rn_tree_node *leaf(struct rn_tree *t, struct entry *entry)
{
    struct rn_tree_node *n = take_spare(t);

    n->child[0] = n->child[1] = NULL;
    n->entry = entry_share(entry);
    n->count = 1;
    n->bytes = entry->face.key.len + entry->face.value.len;
    return n;
}

/* The node, or a copy of it, that belongs to this tree alone; its parent does
 * already. */
static struct rn_tree_node *own(struct rn_tree *t, struct rn_tree_node *n)
{
    struct rn_tree_node *copy;

    if (atomic_load_explicit(&n->refs, memory_order_acquire) == 1)
        return n;
    copy = take_spare(t);
    copy->child[0] = node_share(n->child[0]);
    copy->child[1] = node_share(n->child[1]);
    copy->entry = entry_share(n->entry);
    copy->count = n->count;
    copy->bytes = n->bytes;
    node_drop(n);
    return copy;
}

/* Counts anew what is below a node. */
static void count(struct rn_tree_node *n)
{
    const struct rn_tree_entry *e = &n->entry->face;

    n->count = weight(n->child[0]) + weight(n->child[1]) - 1;
    n->bytes = e->key.len + e->value.len + bytes_of(n->child[0]) +
               bytes_of(n->child[1]);
}

static void set_entry(struct rn_tree_node *n, struct entry *entry)
{
    entry_share(entry);
    entry_drop(n->entry);
    n->entry = entry;
}

/* Lifts the child on `side` above its parent. */
static struct rn_tree_node *lift(struct rn_tree *t, struct rn_tree_node *n,
                                 unsigned side)
{
    struct rn_tree_node *top = own(t, n->child[side]);

    n->child[side] = top->child[!side];
    top->child[!side] = n;
    count(n);
    count(top);
    return top;
}

/* Lifts the heavy child on `side`, or its inner child. */
static struct rn_tree_node *rotate(struct rn_tree *t, struct rn_tree_node *n,
                                   unsigned side)
{
    struct rn_tree_node *heavy = n->child[side];

    if (weight(heavy->child[!side]) >= GAMMA * weight(heavy->child[side])) {
        n->child[side] = own(t, heavy);
        n->child[side] = lift(t, n->child[side], !side);
    }
    return lift(t, n, side);
}

static struct rn_tree_node *balance(struct rn_tree *t, struct rn_tree_node *n)
{
    uint64_t smaller = weight(n->child[0]), larger = weight(n->child[1]);

    if (larger > DELTA * smaller)
        return rotate(t, n, 1);
    if (smaller > DELTA * larger)
        return rotate(t, n, 0);
    count(n);
    return n;
}

static struct rn_tree_node *put(struct rn_tree *t, struct rn_tree_node *n,
                                struct entry *entry)
{
    int order;

    if (!n)
        return leaf(t, entry);
    n = own(t, n);
    order = rn_view_compare(entry->face.key, n->entry->face.key);
    if (order == 0)
        set_entry(n, entry);
    else
        n->child[order > 0] = put(t, n->child[order > 0], entry);
    return balance(t, n);
}

/* Takes out a node that has one child at most; returns that. */
static struct rn_tree_node *take_out(struct rn_tree *t, struct rn_tree_node *n)
{
    struct rn_tree_node *child = n->child[0] ? n->child[0] : n->child[1];

    entry_drop(n->entry);
    keep_spare(t, n);
    return child;
}

/* The key must be there. */
static struct rn_tree_node *del(struct rn_tree *t, struct rn_tree_node *n,
                                struct rn_view key)
{
    const struct rn_tree_node *next;
    unsigned side = 1;
    int order;

    n = own(t, n);
    order = rn_view_compare(key, n->entry->face.key);
    if (order != 0) {
        side = order > 0;
    } else if (!n->child[0] || !n->child[1]) {
        return take_out(t, n);
    } else { /* the next entry comes here, and its node goes */
        for (next = n->child[1]; next->child[0];)
            next = next->child[0];
        set_entry(n, next->entry);
        key = n->entry->face.key;
    }
    n->child[side] = del(t, n->child[side], key);
    return balance(t, n);
}

static enum rn_code put_entry(struct rn_tree *t, struct rn_view key,
                              struct rn_view value, bool gone)
{
    enum rn_code rc = reserve(t);
    struct entry *entry = rc ? NULL : entry_new(key, value);

    assert(key.len > 0);
    if (!entry)
        return RN_NOMEM;
    entry->face.gone = gone;
    t->root = put(t, t->root, entry);
    entry_drop(entry);
    return RN_OK;
}

enum rn_code rn_tree_put(struct rn_tree *t, struct rn_view key,
                         struct rn_view value)
{
    return put_entry(t, key, value, false);
}

enum rn_code rn_tree_put_tombstone(struct rn_tree *t, struct rn_view key)
{
    return put_entry(t, key, (struct rn_view){ 0 }, true);
}

enum rn_code rn_tree_del(struct rn_tree *t, struct rn_view key)
{
    enum rn_code rc;

    if (!rn_tree_find(t, key))
        return RN_NOT_FOUND;
    rc = reserve(t);
    if (!rc)
        t->root = del(t, t->root, key);
    return rc;
}

struct rn_tree rn_tree_copy(const struct rn_tree *t)
{
    return (struct rn_tree){ .root = node_share(t->root) };
}

void rn_tree_take_spares(struct rn_tree *t, struct rn_tree *from)
{
    assert(!t->spares);
    t->spare = from->spare;
    t->spares = from->spares;
    from->spare = NULL;
    from->spares = 0;
}

void rn_tree_release(struct rn_tree *t)
{
    node_drop(t->root);
    t->root = NULL;
    free_spares(t);
}

uint64_t rn_tree_count(const struct rn_tree *t)
{
    return weight(t->root) - 1;
}

uint64_t rn_tree_bytes(const struct rn_tree *t)
{
    return bytes_of(t->root);
}

const struct rn_tree_entry *rn_tree_find(const struct rn_tree *t,
                                         struct rn_view key)
{
    const struct rn_tree_node *n = t->root;

    while (n) {
        int order = rn_view_compare(key, n->entry->face.key);
        if (order == 0)
            return &n->entry->face;
        n = n->child[order > 0];
    }
    return NULL;
}

/* ---- iteration: each step searches anew, so there is nothing to keep ----- */

/* The smallest key > `key`, or >= if `also_equal`. */
static const struct rn_tree_entry *above(const struct rn_tree *t,
                                         struct rn_view key, bool also_equal)
{
    const struct rn_tree_entry *best = NULL;
    const struct rn_tree_node *n = t->root;

    while (n) {
        int order = rn_view_compare(n->entry->face.key, key);
        if (order > 0 || (order == 0 && also_equal)) {
            best = &n->entry->face;
            n = n->child[0];
        } else {
            n = n->child[1];
        }
    }
    return best;
}

/* The largest key < `key`; of all keys if `key` is empty. */
static const struct rn_tree_entry *below(const struct rn_tree *t,
                                         struct rn_view key)
{
    const struct rn_tree_entry *best = NULL;
    const struct rn_tree_node *n = t->root;

    while (n) {
        if (key.len == 0 || rn_view_compare(n->entry->face.key, key) < 0) {
            best = &n->entry->face;
            n = n->child[1];
        } else {
            n = n->child[0];
        }
    }
    return best;
}

const struct rn_tree_entry *rn_tree_next(const struct rn_tree *t,
                                         const struct rn_key_interval *range,
                                         const struct rn_tree_entry *last)
{
    const struct rn_tree_entry *e;

    if (range->backward) {
        e = below(t, last ? last->key : range->before);
        return e && rn_view_compare(e->key, range->from) >= 0 ? e : NULL;
    }
    e = above(t, last ? last->key : range->from, !last);
    if (e && range->before.len && rn_view_compare(e->key, range->before) >= 0)
        return NULL;
    return e;
}
