/* split_merge.c -- see split_merge.h. */
#include "engine/range/split_merge.h"
#include "engine/catalog/catalog_rows.h"
#include "engine/range/rehome.h"

#include "base/bytes.h"
#include "engine/bug.h"
#include "engine/catalog/object.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "waiters/waiters.h"

enum {
    RANGE_IDS_MAX = 1 << 20, /* a rid has 20 bits for its birth range */
    GROW_SPLITS = 32,        /* in a slice; every write waits for it */
};

/* Where hashes of version 2 end, as the first bytes of an EPK. */
#define HASHES_END (UINT64_C(0x40) << 56)

/* ---- one split or merge -------------------------------------------------- */

static enum rn_code read_alive(struct rn_split_merge *r, struct rn_txn *txn,
                               uint32_t id, struct rn_row_range *row,
                               struct rn_err *err)
{
    enum rn_code rc = rn_range_read(txn, r->container, id, row);

    if (rc == RN_NOT_FOUND || (!rc && row->state != RN_RANGE_ALIVE))
        return rn_fail(err, RN_GONE, "there is no partition key range '%u'",
                       id);
    return rc;
}

/* The lowest id above all that were ever used. */
static enum rn_code next_id(struct rn_split_merge *r, struct rn_txn *txn,
                            uint32_t count, uint32_t *out, struct rn_err *err)
{
    struct rn_key from, before;
    struct rn_key_interval range = { .backward = true };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    rn_key_span_tag(r->container->number, RN_TAG_RANGE, &from, &before);
    range.from = rn_key_view(&from);
    range.before = rn_key_view(&before);
    rc = rn_txn_scan(txn, &range, &c);
    if (!rc)
        rc = rn_cursor_next(c, &key, &value);
    if (!rc && key.len != RN_KEY_HEAD + 4)
        rc = RN_CORRUPT;
    if (!rc)
        *out = rn_get_u32_be(key.at + RN_KEY_HEAD) + 1;
    rn_cursor_end(c);
    if (!rc && *out + count > RANGE_IDS_MAX)
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "the container has had as many ranges as it can");
    return rc;
}

static void inherit(struct rn_row_range *child, const struct rn_row_range *from,
                    uint32_t parent)
{
    *child = (struct rn_row_range){ .lsn = from->lsn,
                                    .last_ts = from->last_ts,
                                    .next_rid = 1,
                                    .parent_count = 1,
                                    .parents = { parent },
                                    .epks = from->epks,
                                    .mixed = from->mixed };
}

static enum rn_code check_bound(const struct rn_row_range *row,
                                const struct rn_epk *at, struct rn_err *err)
{
    if (rn_epk_compare(&row->epks.min, at) < 0 &&
        rn_epk_compare(at, &row->epks.max) < 0)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "the bound of a split lies inside the range");
}

/* The result of a split: two ranges with consecutive ids. */
struct halves {
    uint32_t id;
    struct rn_epk_range left, right;
};

static enum rn_code split(struct rn_split_merge *r, struct rn_txn *txn,
                          uint32_t id, const struct rn_epk *at,
                          struct halves *out, struct rn_err *err)
{
    struct rn_row_range row, left, right;
    struct rn_epk middle;
    uint32_t new_id = 0;
    enum rn_code rc = read_alive(r, txn, id, &row, err);

    if (!rc && !at) {
        at = &middle;
        if (!rn_epk_middle(&r->container->pkdef, &row.epks, &middle)) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "the range '%u' is too narrow to be split, or its "
                         "middle is not known: give the bound",
                         id);
        }
    }
    if (!rc)
        rc = check_bound(&row, at, err);
    if (!rc)
        rc = next_id(r, txn, 2, &new_id, err);
    if (rc)
        return rc;
    inherit(&left, &row, id);
    inherit(&right, &row, id);
    left.epks.max = right.epks.min = *at;
    row.state = RN_RANGE_DEAD;
    row.child_count = 2;
    row.children[0] = new_id;
    row.children[1] = new_id + 1;
    *out = (struct halves){ new_id, left.epks, right.epks };
    rc = rn_range_write(txn, r->container, id, &row);
    if (!rc)
        rc = rn_range_write(txn, r->container, new_id, &left);
    return rc ? rc : rn_range_write(txn, r->container, new_id + 1, &right);
}

static enum rn_code kill_parent(struct rn_split_merge *r, struct rn_txn *txn,
                                uint32_t id, struct rn_row_range *row,
                                uint32_t child)
{
    row->state = RN_RANGE_DEAD;
    row->child_count = 1;
    row->children[0] = child;
    return rn_range_write(txn, r->container, id, row);
}

static enum rn_code merge(struct rn_split_merge *r, struct rn_txn *txn,
                          struct rn_err *err)
{
    uint32_t low = r->range, high = r->with, new_id = 0;
    struct rn_row_range a, b, child;
    enum rn_code rc = read_alive(r, txn, low, &a, err);

    if (!rc)
        rc = read_alive(r, txn, high, &b, err);
    if (!rc && rn_epk_compare(&b.epks.min, &a.epks.min) < 0) {
        struct rn_row_range swap = a;
        a = b;
        b = swap;
        low = r->with;
        high = r->range;
    }
    if (!rc && rn_epk_compare(&a.epks.max, &b.epks.min) != 0) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "the ranges '%u' and '%u' are no neighbours", r->range,
                     r->with);
    }
    if (!rc)
        rc = next_id(r, txn, 1, &new_id, err);
    if (rc)
        return rc;
    inherit(&child, &a, low);
    child.epks.max = b.epks.max;
    child.lsn = (a.lsn > b.lsn ? a.lsn : b.lsn) + 1;
    if (RN_BUG(MERGE_REUSES_LSNS))
        child.lsn = a.lsn;
    child.last_ts = a.last_ts > b.last_ts ? a.last_ts : b.last_ts;
    child.mixed = child.lsn;
    child.parent_count = 2;
    child.parents[1] = high;
    rc = kill_parent(r, txn, low, &a, new_id);
    if (!rc)
        rc = kill_parent(r, txn, high, &b, new_id);
    return rc ? rc : rn_range_write(txn, r->container, new_id, &child);
}

/* ---- growing ------------------------------------------------------------- */

/* Living ranges, sorted by interval. */
struct spans {
    const struct rn_pkdef *def;
    struct rn_range_span *list;
    size_t count;
};

/* The index of the widest range that can be split; `count` if none exists. */
static size_t widest(const struct spans *s)
{
    size_t best = s->count;
    uint64_t width = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct rn_epk_range *epks = &s->list[i].epks;
        struct rn_epk middle;
        struct rn_epk_prefixes ends = rn_epk_prefixes_of(
            rn_epk_view(&epks->min), rn_epk_view(&epks->max));
        uint64_t w;

        if (s->def->kind != RN_PKDEF_RANGE && ends.high > HASHES_END &&
            rn_pkdef_version(s->def) == 2)
            ends.high = HASHES_END;
        w = ends.high - ends.low;
        if ((best == s->count || w > width) &&
            rn_epk_middle(s->def, epks, &middle)) {
            best = i;
            width = w;
        }
    }
    return best;
}

static void put_halves(struct spans *s, size_t at, const struct halves *h)
{
    memmove(s->list + at + 1, s->list + at, (s->count - at) * sizeof(*s->list));
    s->count++;
    s->list[at] = (struct rn_range_span){ .id = h->id, .epks = h->left };
    s->list[at + 1] =
        (struct rn_range_span){ .id = h->id + 1, .epks = h->right };
}

/* Reloads the container from its current rows. */
static enum rn_code reload(struct rn_split_merge *r, struct rn_txn *txn,
                           struct rn_err *err)
{
    enum rn_code rc;

    rn_object_release(r->object);
    r->object = NULL;
    rc = rn_object_get(txn, r->container->rid, &r->object, err);
    if (rc == RN_NOT_FOUND)
        rc = rn_fail(err, RN_NOT_FOUND, "the container has been deleted");
    return rc;
}

/* Does some of the splits.  The container is read only before the first and
 * after the last of them: reading takes time in proportion to its ranges. */
static enum rn_code grow(struct rn_split_merge *r, struct rn_txn *txn,
                         struct rn_err *err)
{
    const struct rn_container *c;
    struct spans s = { 0 };
    bool has_split;
    enum rn_code rc = reload(r, txn, err);

    if (rc)
        return rc;
    c = r->object->container;
    s.def = &r->container->pkdef;
    s.list = rn_new((c->range_count + GROW_SPLITS) * sizeof(*s.list));
    if (!s.list)
        return RN_NOMEM;
    memcpy(s.list, c->ranges, c->range_count * sizeof(*s.list));
    s.count = c->range_count;
    for (int i = 0; !rc && i < GROW_SPLITS && s.count < r->want; i++) {
        size_t at = widest(&s);
        struct halves halves;

        if (at == s.count)
            break; /* keys without a hash cannot be partitioned */
        rc = split(r, txn, s.list[at].id, NULL, &halves, err);
        if (!rc)
            put_halves(&s, at, &halves);
    }
    has_split = s.count > c->range_count;
    r->is_grown = !has_split || s.count >= r->want;
    rn_free(s.list);
    return rc || !has_split ? rc : reload(r, txn, err);
}

static enum rn_code check_room(struct rn_split_merge *r, struct rn_err *err)
{
    if (r->object->container->range_count <= RN_RANGES_MAX)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST, "a container has at most %d ranges",
                   RN_RANGES_MAX);
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_split_merge *r =
        RN_CONTAINER_OF(op, struct rn_split_merge, operation);
    struct halves halves;
    uint32_t first_new = 0;
    enum rn_code rc = next_id(r, txn, 0, &first_new, &op->err);

    if (!r->has_begun)
        r->first_new = first_new;
    if (rc == RN_NOT_FOUND)
        return rn_fail(&op->err, rc, "the container has been deleted");
    if (!rc && r->verb == RN_SPLIT_MERGE_SPLIT) {
        rc = split(r, txn, r->range, r->has_at ? &r->at : NULL, &halves,
                   &op->err);
    } else if (!rc && r->verb == RN_SPLIT_MERGE_MERGE) {
        rc = merge(r, txn, &op->err);
    } else if (!rc) {
        rc = grow(r, txn, &op->err);
    }
    if (!rc && r->verb != RN_SPLIT_MERGE_GROW)
        rc = reload(r, txn, &op->err);
    if (!rc)
        rc = check_room(r, &op->err);
    if (!rc && r->object->container->next_range > first_new)
        rc = rn_rehome_mark(txn, r->container->number);
    if (!rc)
        rn_engine_note_move(r->engine, r->container->number, RN_RANGE_ANY,
                            RN_EPK_PREFIXES_ALL);
    return rc;
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_split_merge *r =
        RN_CONTAINER_OF(op, struct rn_split_merge, operation);

    if (!rc) {
        if (rn_catalog_put(r->engine, r->object))
            rc = RN_UNKNOWN; /* no memory; but it is durable */
        rn_background_set(r->engine, RN_BACKGROUND_REHOME, 0);
    }
    r->has_begun = true;
    if (!rc && r->verb == RN_SPLIT_MERGE_GROW && !r->is_grown &&
        !rn_committer_queue(r->engine->committer, op))
        return; /* continued by the next slice */
    r->done.call(&r->done, rc, err);
}

enum rn_code rn_split_merge_start(struct rn_engine *e, struct rn_split_merge *r,
                                  struct rn_err *err)
{
    enum rn_code rc;

    r->engine = e;
    r->object = NULL;
    r->has_begun = r->is_grown = false;
    r->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = RN_OPERATION_MULTI |
                 (r->verb == RN_SPLIT_MERGE_GROW ? RN_OPERATION_BACKGROUND : 0),
        .bytes = 4096,
    };
    rc = rn_committer_queue(e->committer, &r->operation);
    return rc ? rn_fail(err, rc, "too many writes are under way") : RN_OK;
}

void rn_split_merge_release(struct rn_split_merge *r)
{
    rn_object_release(r->object);
    r->object = NULL;
}

/* ---- growth after an offer change ---------------------------------------- */

struct growth {
    struct rn_split_merge split_merge;
    struct rn_object *container;
    struct rn_done *then;
};

static void grown(struct rn_done *finished, enum rn_code rc,
                  const struct rn_err *err)
{
    struct growth *g = (struct growth *)(void *)finished;
    struct rn_done *then = g->then;
    struct rn_err none = { 0 };

    (void)rc; /* the throughput is granted with fewer ranges, too */
    (void)err;
    rn_split_merge_release(&g->split_merge);
    rn_object_release(g->container);
    rn_free(g);
    then->call(then, RN_OK, &none);
}

bool rn_container_grow(struct rn_engine *e, struct rn_object *container,
                       uint32_t want, struct rn_done *then)
{
    struct growth *g;

    if (container->container->range_count >= want)
        return false;
    g = rn_new(sizeof(*g));
    if (!g)
        return false;
    g->container = rn_object_share(container);
    g->then = then;
    g->split_merge = (struct rn_split_merge){
        .done.call = grown,
        .verb = RN_SPLIT_MERGE_GROW,
        .container = container->container,
        .want = want,
    };
    if (rn_split_merge_start(e, &g->split_merge, NULL)) {
        rn_object_release(g->container);
        rn_free(g);
        return false;
    }
    return true;
}
