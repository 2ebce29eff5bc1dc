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
 * Ownership: functions that build (node_new, rotate, balance) take over the
 * references they are given, also when they fail.  `struct edit` records a
 * failure once.  From then on every built tree is empty, up to the root: so no
 * step has to undo another.
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

struct edit {
    bool failed;
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

/* `near` becomes the child on `side`, `far` the other. */
static struct rn_tree_node *node_new(struct edit *edit, struct entry *entry,
                                     struct rn_tree_node *near,
                                     struct rn_tree_node *far, unsigned side)
{
    struct rn_tree_node *n = edit->failed ? NULL : rn_new(sizeof(*n));

    if (!n) {
        edit->failed = true;
        entry_drop(entry);
        node_drop(near);
        node_drop(far);
        return NULL;
    }
    n->entry = entry;
    n->child[side] = near;
    n->child[!side] = far;
    n->count = weight(near) + weight(far) - 1;
    n->bytes = entry->face.key.len + entry->face.value.len + bytes_of(near) +
               bytes_of(far);
    atomic_init(&n->refs, 1);
    return n;
}

/* Lifts the heavy `far`, or its inner child, above `entry`. */
static struct rn_tree_node *rotate(struct edit *edit, struct entry *entry,
                                   struct rn_tree_node *near,
                                   struct rn_tree_node *far, unsigned side)
{
    struct rn_tree_node *inner = far->child[side], *outer = far->child[!side];
    struct rn_tree_node *a, *b, *top;

    if (weight(inner) < GAMMA * weight(outer)) {
        a = node_new(edit, entry, near, node_share(inner), side);
        top =
            node_new(edit, entry_share(far->entry), a, node_share(outer), side);
    } else {
        a = node_new(edit, entry, near, node_share(inner->child[side]), side);
        b = node_new(edit, entry_share(far->entry),
                     node_share(inner->child[!side]), node_share(outer), side);
        top = node_new(edit, entry_share(inner->entry), a, b, side);
    }
    node_drop(far);
    return top;
}

static struct rn_tree_node *balance(struct edit *edit, struct entry *entry,
                                    struct rn_tree_node *near,
                                    struct rn_tree_node *far, unsigned side)
{
    if (weight(far) > DELTA * weight(near))
        return rotate(edit, entry, near, far, side);
    if (weight(near) > DELTA * weight(far))
        return rotate(edit, entry, far, near, !side);
    return node_new(edit, entry, near, far, side);
}

static struct rn_tree_node *put(struct edit *edit, struct rn_tree_node *n,
                                struct entry *entry)
{
    struct rn_tree_node *near;
    unsigned side;
    int order;

    if (!n)
        return node_new(edit, entry_share(entry), NULL, NULL, 0);
    order = rn_view_compare(entry->face.key, n->entry->face.key);
    if (order == 0)
        return node_new(edit, entry_share(entry), node_share(n->child[0]),
                        node_share(n->child[1]), 0);
    side = order > 0;
    near = put(edit, n->child[side], entry);
    return balance(edit, entry_share(n->entry), near,
                   node_share(n->child[!side]), side);
}

static struct rn_tree_node *del(struct edit *edit, struct rn_tree_node *n,
                                struct rn_view key)
{
    int order = rn_view_compare(key, n->entry->face.key);
    struct rn_tree_node *next, *near;
    unsigned side = order > 0;

    if (order != 0) {
        near = del(edit, n->child[side], key);
        return balance(edit, entry_share(n->entry), near,
                       node_share(n->child[!side]), side);
    }
    if (!n->child[0] || !n->child[1])
        return node_share(n->child[0] ? n->child[0] : n->child[1]);
    for (next = n->child[1]; next->child[0];)
        next = next->child[0];
    near = del(edit, n->child[1], next->entry->face.key);
    return balance(edit, entry_share(next->entry), near,
                   node_share(n->child[0]), 1);
}

/* Replaces the old root by the new one, unless memory ran out on the way. */
static enum rn_code finish(struct rn_tree *t, const struct edit *edit,
                           struct rn_tree_node *root)
{
    if (edit->failed) {
        assert(!root); /* nothing is made after the first failure */
        return RN_NOMEM;
    }
    node_drop(t->root);
    t->root = root;
    return RN_OK;
}

static enum rn_code put_entry(struct rn_tree *t, struct rn_view key,
                              struct rn_view value, bool gone)
{
    struct edit edit = { 0 };
    struct entry *entry;
    enum rn_code rc;

    assert(key.len > 0);
    entry = entry_new(key, value);
    if (!entry)
        return RN_NOMEM;
    entry->face.gone = gone;
    rc = finish(t, &edit, put(&edit, t->root, entry));
    entry_drop(entry);
    return rc;
}

enum rn_code rn_tree_put(struct rn_tree *t, struct rn_view key,
                         struct rn_view value)
{
    return put_entry(t, key, value, false);
}

enum rn_code rn_tree_mark(struct rn_tree *t, struct rn_view key)
{
    return put_entry(t, key, (struct rn_view){ 0 }, true);
}

enum rn_code rn_tree_del(struct rn_tree *t, struct rn_view key)
{
    struct edit edit = { 0 };

    if (!rn_tree_find(t, key))
        return RN_NOT_FOUND;
    return finish(t, &edit, del(&edit, t->root, key));
}

struct rn_tree rn_tree_copy(const struct rn_tree *t)
{
    return (struct rn_tree){ node_share(t->root) };
}

void rn_tree_release(struct rn_tree *t)
{
    node_drop(t->root);
    t->root = NULL;
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
