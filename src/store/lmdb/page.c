/* page.c -- see page.h. */
#include "store/lmdb/page.h"

enum {
    NODE_BIG = 1, /* the value is on overflow pages */
    NODE_TABLE = 2,
    META_BYTES = 136,
    TREE_BYTES = 48,
    META_LAST = 24 + 2 * TREE_BYTES, /* after the two tables */
};

static const uint32_t meta_magic = 0xBEEFC0DE;

static uint64_t load64(const char *at)
{
    uint64_t n;

    memcpy(&n, at, sizeof(n));
    return n;
}

/* ---- meta pages ---------------------------------------------------------- */

bool rn_page_tree_decode(struct rn_view record, struct rn_page_tree *out)
{
    if (record.len != TREE_BYTES)
        return false;
    *out = (struct rn_page_tree){
        .depth = rn_page_u16(record.at + 6),
        .branches = load64(record.at + 8),
        .leaves = load64(record.at + 16),
        .overflows = load64(record.at + 24),
        .entries = load64(record.at + 32),
        .root = load64(record.at + 40),
    };
    return out->depth <= RN_PAGE_DEPTH_MAX &&
           (out->root == RN_PAGE_NONE) == (out->depth == 0);
}

static bool meta_decode(const char *page, struct rn_page_meta *out)
{
    const char *meta = page + RN_PAGE_HEADER;

    if (rn_page_u32(meta) != meta_magic || rn_page_u32(meta + 4) != 1)
        return false;
    out->page_bytes = rn_page_u32(meta + 24);
    out->last = load64(meta + META_LAST);
    out->txnid = load64(meta + META_LAST + 8);
    return rn_page_tree_decode(rn_view_of(meta + 24, TREE_BYTES), &out->free) &&
           rn_page_tree_decode(rn_view_of(meta + 24 + TREE_BYTES, TREE_BYTES),
                               &out->main);
}

bool rn_page_meta_pick(struct rn_view metas, struct rn_page_meta *out)
{
    size_t page_bytes = metas.len / RN_PAGE_METAS;
    struct rn_page_meta first, second;

    if (page_bytes < RN_PAGE_HEADER + META_BYTES ||
        !meta_decode(metas.at, &first) ||
        !meta_decode(metas.at + page_bytes, &second))
        return false;
    *out = first.txnid > second.txnid ? first : second;
    return out->page_bytes == page_bytes && out->last >= RN_PAGE_METAS - 1 &&
           out->last < UINT64_C(1) << 48;
}

/* ---- pages --------------------------------------------------------------- */

/* How many overflow pages a value takes that does not fit a leaf. */
static uint64_t pages_for(size_t value_bytes, size_t page_bytes)
{
    return (RN_PAGE_HEADER - 1 + value_bytes) / page_bytes + 1;
}

static const char *node_at(const struct rn_page *page, unsigned i)
{
    return page->at + rn_page_u16(page->at + RN_PAGE_HEADER + 2 * (size_t)i);
}

/* The bytes of the page that node `at` takes, if its lengths are valid. */
static size_t node_bytes(const struct rn_page *page, const char *at)
{
    size_t bytes = RN_NODE_HEADER + rn_page_u16(at + 6);

    if (page->kind == RN_PAGE_LEAF)
        bytes += rn_page_u16(at + 4) & NODE_BIG ? 8 : rn_page_u32(at);
    return bytes + bytes % 2;
}

struct rn_page_node rn_page_node(const struct rn_page *page, unsigned i)
{
    const char *at = node_at(page, i);
    uint16_t flags = rn_page_u16(at + 4);
    struct rn_page_node node = { .key = rn_view_of(at + RN_NODE_HEADER,
                                                   rn_page_u16(at + 6)) };

    if (page->kind == RN_PAGE_BRANCH) {
        node.child = rn_page_u32(at) | (uint64_t)flags << 32;
        return node;
    }
    node.value = rn_view_of(node.key.at + node.key.len, rn_page_u32(at));
    node.is_table = flags & NODE_TABLE;
    if (flags & NODE_BIG) {
        node.overflow = load64(node.value.at);
        node.value.at = NULL;
    }
    return node;
}

static const char *check_node(const struct rn_page *page, unsigned i,
                              size_t upper, size_t *filled)
{
    size_t offset = rn_page_u16(page->at + RN_PAGE_HEADER + 2 * (size_t)i), key,
           bytes;
    const char *at = page->at + offset;

    if (offset < upper || offset % 2 || offset > page->bytes - RN_NODE_HEADER)
        return "an entry lies outside of the page";
    key = rn_page_u16(at + 6);
    if (key > RN_PAGE_KEY_MAX || (!key && (page->kind == RN_PAGE_LEAF || i)))
        return "a key has an impossible length";
    if (page->kind == RN_PAGE_LEAF &&
        rn_page_u16(at + 4) & ~(NODE_BIG | NODE_TABLE))
        return "an entry has unknown flags";
    bytes = node_bytes(page, at);
    if (bytes > page->bytes - offset)
        return "an entry ends outside of the page";
    *filled += bytes;
    return NULL;
}

static int compare_keys(enum rn_page_order order, struct rn_view a,
                        struct rn_view b)
{
    uint64_t x, y;

    if (order == RN_PAGE_BYTES)
        return rn_view_compare(a, b);
    x = load64(a.at);
    y = load64(b.at);
    return (x > y) - (x < y);
}

/* Lengths before contents: a number must have its eight bytes. */
static const char *check_keys(const struct rn_page *page,
                              enum rn_page_order order)
{
    unsigned first = page->kind == RN_PAGE_BRANCH ? 1 : 0;
    struct rn_view before = { 0 };

    for (unsigned i = first; i < page->nodes; i++) {
        struct rn_view key = rn_page_node(page, i).key;
        if (order == RN_PAGE_NUMBERS && key.len != sizeof(uint64_t))
            return "a key has an impossible length";
        if (i > first && compare_keys(order, before, key) >= 0)
            return "keys are out of order";
        before = key;
    }
    return NULL;
}

const char *rn_page_check(struct rn_view bytes, uint64_t number,
                          enum rn_page_order order, struct rn_page *out)
{
    size_t lower, upper, filled = 0;
    const char *wrong = NULL;
    uint16_t flags;

    flags = rn_page_u16(bytes.at + 10);
    lower = rn_page_u16(bytes.at + 12);
    upper = rn_page_u16(bytes.at + 14);
    if (load64(bytes.at) != number)
        return "another page is in its place";
    if (flags != RN_PAGE_BRANCH && flags != RN_PAGE_LEAF)
        return "it is neither branch nor leaf";
    if (lower <= RN_PAGE_HEADER || lower % 2 || upper < lower ||
        upper > bytes.len)
        return "its free space has impossible bounds";
    *out = (struct rn_page){ .at = bytes.at,
                             .bytes = bytes.len,
                             .kind = (enum rn_page_kind)flags,
                             .nodes = (unsigned)(lower - RN_PAGE_HEADER) / 2 };
    for (unsigned i = 0; !wrong && i < out->nodes; i++)
        wrong = check_node(out, i, upper, &filled);
    if (!wrong && filled != bytes.len - upper)
        wrong = "entries overlap";
    return wrong ? wrong : check_keys(out, order);
}

/* ---- walking ------------------------------------------------------------- */

/* The walk over one table. */
struct trip {
    const struct rn_page_walk *walk;
    enum rn_page_table table;
    enum rn_page_order order;
    struct rn_page_tree said, seen;
    unsigned above; /* pages being read on the way to its root */
    bool whole;     /* nothing was skipped */
};

/* Keys from <= key < before; NULL bytes: no bound. */
struct fence {
    struct rn_view from, before;
};

static void trip_bad(struct trip *t, uint64_t number, const char *what)
{
    t->whole = false;
    t->walk->bad(t->walk->context, number, what);
}

/* True if the pages from `number` on are to be read. */
static bool trip_reach(struct trip *t, uint64_t parent, uint64_t number,
                       uint64_t count)
{
    const struct rn_page_walk *w = t->walk;

    if (number < RN_PAGE_METAS || number > w->last ||
        count > w->last - number + 1) {
        trip_bad(t, parent, "it refers to a page that does not exist");
        return false;
    }
    if (w->reach(w->context, number, count))
        return true;
    t->whole = false;
    return false;
}

/* How many pages the value's run has.  It may be longer than the value needs:
 * within a transaction a shorter value takes the place of a longer one. 0 if
 * this is not the first page of such a run. */
static uint64_t run_length(const char *at, const struct rn_page_node *node,
                           size_t page_bytes)
{
    uint64_t run = rn_page_u32(at + 12);

    if (load64(at) != node->overflow ||
        rn_page_u16(at + 10) != RN_PAGE_OVERFLOW ||
        run < pages_for(node->value.len, page_bytes))
        return 0;
    return run;
}

/* The first page is checked before all are read: a damaged length could ask for
 * gigabytes. */
static struct rn_view big_value(struct trip *t, uint64_t page,
                                const struct rn_page_node *node)
{
    const struct rn_page_walk *w = t->walk;
    uint64_t run, first = node->overflow;
    const char *at;

    if (!trip_reach(t, page, first, 1))
        return (struct rn_view){ 0 };
    at = w->read(w->context, RN_PAGE_BUFFERS - 1, first, 1);
    run = at ? run_length(at, node, w->page_bytes) : 0;
    if (at && !run) {
        trip_bad(t, first, "it does not hold the value it should");
        return (struct rn_view){ 0 };
    }
    t->seen.overflows += run;
    if (run > 1 && !trip_reach(t, first, first + 1, run - 1))
        return (struct rn_view){ 0 };
    if (run > 1)
        at = w->read(w->context, RN_PAGE_BUFFERS - 1, first, run);
    if (!at) {
        trip_bad(t, first, "it cannot be read");
        return (struct rn_view){ 0 };
    }
    return rn_view_of(at + RN_PAGE_HEADER, node->value.len);
}

static void walk_table(const struct rn_page_walk *w, enum rn_page_table table,
                       uint64_t parent, unsigned above,
                       struct rn_page_tree said);

static void walk_record(struct trip *t, uint64_t page,
                        const struct rn_page_node *node)
{
    const struct rn_page_walk *w = t->walk;
    struct rn_view value = node->value;
    struct rn_page_tree tree;

    t->seen.entries++;
    if (!value.at)
        value = big_value(t, page, node);
    if (!node->is_table) {
        if (w->record)
            w->record(w->context, t->table, page, node->key, value);
        return;
    }
    if (t->table != RN_TABLE_MAIN || !value.at ||
        !rn_page_tree_decode(value, &tree))
        trip_bad(t, page, "the root of a table is damaged");
    else
        walk_table(w, RN_TABLE_KV, page, t->said.depth, tree);
}

static bool is_fenced(const struct trip *t, const struct rn_page *page,
                      struct fence fence)
{
    unsigned first = page->kind == RN_PAGE_BRANCH ? 1 : 0;

    if (first >= page->nodes)
        return true;
    if (fence.from.at &&
        compare_keys(t->order, rn_page_node(page, first).key, fence.from) < 0)
        return false;
    return !fence.before.at ||
           compare_keys(t->order, rn_page_node(page, page->nodes - 1).key,
                        fence.before) < 0;
}

static const char *check_place(const struct trip *t, const struct rn_page *page,
                               unsigned depth, struct fence fence)
{
    bool bottom = depth + 1 == t->said.depth;

    if (bottom != (page->kind == RN_PAGE_LEAF))
        return "it is on the wrong level of the tree";
    return is_fenced(t, page, fence) ? NULL : "it holds keys of another page";
}

static void walk_page(struct trip *t, uint64_t parent, uint64_t number,
                      unsigned depth, struct fence fence)
{
    const struct rn_page_walk *w = t->walk;
    const char *at, *wrong;
    struct rn_page page;

    if (!trip_reach(t, parent, number, 1))
        return;
    at = w->read(w->context, t->above + depth, number, 1);
    wrong = at ? rn_page_check(rn_view_of(at, w->page_bytes), number, t->order,
                               &page)
               : "it cannot be read";
    if (!wrong)
        wrong = check_place(t, &page, depth, fence);
    if (wrong) {
        trip_bad(t, number, wrong);
        return;
    }
    if (page.kind == RN_PAGE_BRANCH)
        t->seen.branches++;
    else
        t->seen.leaves++;
    for (unsigned i = 0; i < page.nodes; i++) {
        struct rn_page_node node = rn_page_node(&page, i);
        struct fence below = fence;
        if (page.kind == RN_PAGE_LEAF) {
            walk_record(t, number, &node);
            continue;
        }
        if (i > 0)
            below.from = node.key;
        if (i + 1 < page.nodes)
            below.before = rn_page_node(&page, i + 1).key;
        walk_page(t, number, node.child, depth + 1, below);
    }
}

static void walk_table(const struct rn_page_walk *w, enum rn_page_table table,
                       uint64_t parent, unsigned above,
                       struct rn_page_tree said)
{
    struct trip t = {
        .walk = w, .table = table, .above = above, .said = said, .whole = true
    };

    t.order = table == RN_TABLE_FREE ? RN_PAGE_NUMBERS : RN_PAGE_BYTES;
    if (said.root != RN_PAGE_NONE)
        walk_page(&t, parent, said.root, 0, (struct fence){ 0 });
    if (t.whole &&
        (t.seen.branches != said.branches || t.seen.leaves != said.leaves ||
         t.seen.overflows != said.overflows || t.seen.entries != said.entries))
        w->bad(w->context, parent, "the count of pages or entries is wrong");
}

void rn_page_walk(const struct rn_page_walk *walk,
                  const struct rn_page_meta *meta)
{
    uint64_t page = meta->txnid % RN_PAGE_METAS;

    walk_table(walk, RN_TABLE_FREE, page, 0, meta->free);
    walk_table(walk, RN_TABLE_MAIN, page, 0, meta->main);
}
