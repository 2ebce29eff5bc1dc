/* overlay.c -- nested transactions; see overlay.h.
 *
 * Writes lie in a tree of their own, deletes as tombstones; reads look there
 * first.  The tree is small (a batch, a script) and lives in memory, so its
 * only failure is RN_NOMEM, which leaves `below` unharmed.
 *
 * The redo bytes of `below` are counted in from the start, as if every write
 * were applied already: so commit finds room.  If it fails all the same,
 * `below` holds half of the writes and is marked as failed: it can only be
 * aborted.
 */
#include "store/overlay.h"

#include "store/tree.h"

#include <assert.h>

struct overlay {
    struct rn_txn base;
    struct rn_txn *below;
    struct rn_tree writes;
};

/* Merges two ordered streams.  Each holds its first entry until that has been
 * returned or hidden; then the stream is due to advance. */
struct overlay_cursor {
    struct rn_cursor base;
    const struct rn_tree_entry *write; /* NULL at the end */
    struct rn_cursor *below;           /* NULL at the end */
    struct rn_view key, value;         /* of below */
    bool write_due, below_due;
};

static struct overlay *overlay_of(struct rn_txn *t)
{
    return (struct overlay *)t;
}

/* Copies the error text of `below` for the caller. */
static enum rn_code copy_error(struct overlay *o, enum rn_code rc)
{
    if (rc >= RN_BUSY)
        o->base.fault = o->below->fault;
    return rc;
}

/* ---- commit and abort ---------------------------------------------------- */

static void overlay_abort(struct rn_txn *t)
{
    struct overlay *o = overlay_of(t);

    o->below->above = NULL;
    rn_tree_release(&o->writes);
    rn_free(o);
}

static enum rn_code pour(struct rn_txn *below, const struct rn_tree *writes)
{
    const struct rn_key_interval all = { 0 };
    const struct rn_tree_entry *e = NULL;
    enum rn_code rc = RN_OK;

    while (!rc && (e = rn_tree_next(writes, &all, e))) {
        if (!e->gone)
            rc = rn_txn_put(below, e->key, e->value);
        else if ((rc = rn_txn_del(below, e->key)) == RN_NOT_FOUND)
            rc = RN_OK; /* put and deleted again in the overlay */
    }
    return rc;
}

static enum rn_code overlay_commit(struct rn_txn *t, struct rn_err *err)
{
    struct overlay *o = overlay_of(t);
    struct rn_txn *below = o->below;
    enum rn_code rc;

    below->above = NULL;
    rc = pour(below, &o->writes);
    assert(rc != RN_TOO_LARGE);
    if (rc)
        rn_fail(err, rc, "%s", rn_txn_why(below, rc));
    overlay_abort(t);
    return rc;
}

/* ---- reading and writing ------------------------------------------------- */

static enum rn_code overlay_get(struct rn_txn *t, struct rn_view key,
                                struct rn_view *out)
{
    struct overlay *o = overlay_of(t);
    const struct rn_tree_entry *e = rn_tree_find(&o->writes, key);

    if (!e)
        return copy_error(o, rn_txn_get(o->below, key, out));
    if (e->gone)
        return RN_NOT_FOUND;
    *out = e->value;
    return RN_OK;
}

static enum rn_code overlay_put(struct rn_txn *t, struct rn_view key,
                                struct rn_view value)
{
    return rn_tree_put(&overlay_of(t)->writes, key, value);
}

static enum rn_code overlay_del(struct rn_txn *t, struct rn_view key)
{
    struct rn_view value;
    enum rn_code rc = overlay_get(t, key, &value);

    return rc ? rc : rn_tree_put_tombstone(&overlay_of(t)->writes, key);
}

/* ---- scanning ------------------------------------------------------------ */

/* An error leaves the stream due, so that the next call tries again. */
static enum rn_code move_on(struct overlay_cursor *c)
{
    struct overlay *o = overlay_of(c->base.txn);
    enum rn_code rc = RN_OK;

    if (c->write_due)
        c->write = rn_tree_next(&o->writes, &c->base.range, c->write);
    c->write_due = false;
    if (c->below_due && c->below)
        rc = copy_error(o, rn_cursor_next(c->below, &c->key, &c->value));
    if (rc == RN_NOT_FOUND) {
        rn_cursor_end(c->below);
        c->below = NULL;
        rc = RN_OK;
    }
    c->below_due = rc != RN_OK;
    return rc;
}

static enum rn_code overlay_scan(struct rn_txn *t,
                                 const struct rn_key_interval *range,
                                 struct rn_cursor **out)
{
    struct overlay *o = overlay_of(t);
    struct overlay_cursor *c = rn_new(sizeof(*c));
    enum rn_code rc;

    if (!c)
        return RN_NOMEM;
    rc = copy_error(o, rn_txn_scan(o->below, range, &c->below));
    if (rc) {
        rn_free(c);
        return rc;
    }
    c->write_due = c->below_due = true;
    *out = &c->base;
    return RN_OK;
}

/* Below zero if the write comes first, above if the entry of `below` does, zero
 * if the write hides that entry. */
static int which_first(const struct overlay_cursor *c)
{
    int order;

    if (!c->write || !c->below)
        return c->write ? -1 : 1;
    order = rn_view_compare(c->write->key, c->key);
    return c->base.range.backward ? -order : order;
}

static enum rn_code overlay_next(struct rn_cursor *base, struct rn_view *key,
                                 struct rn_view *value)
{
    struct overlay_cursor *c = (struct overlay_cursor *)base;
    enum rn_code rc;
    int first;

    do {
        rc = move_on(c);
        if (rc)
            return rc;
        if (!c->write && !c->below)
            return RN_NOT_FOUND;
        first = which_first(c);
        c->write_due = first <= 0;
        c->below_due = first >= 0;
    } while (first <= 0 && c->write->gone);
    *key = first <= 0 ? c->write->key : c->key;
    *value = first <= 0 ? c->write->value : c->value;
    return RN_OK;
}

static void overlay_end(struct rn_cursor *base)
{
    rn_cursor_end(((struct overlay_cursor *)base)->below);
    rn_free(base);
}

/* ---- begin --------------------------------------------------------------- */

/* An overlay is a transaction, not a store: this is never called. */
static enum rn_code never_open(const struct rn_store_opts *opts,
                               struct rn_store **out, struct rn_err *err)
{
    (void)opts, (void)out, (void)err;
    assert(false);
    return RN_BAD_REQUEST;
}

static void never_close(struct rn_store *s)
{
    (void)s;
    assert(false);
}

static void never_status(struct rn_store *s, struct rn_store_status *out)
{
    (void)s, (void)out;
    assert(false);
}

static enum rn_code never_begin(struct rn_store *s, enum rn_txn_mode mode,
                                struct rn_lock lock, struct rn_txn **out,
                                struct rn_err *err)
{
    (void)s, (void)mode, (void)lock, (void)out, (void)err;
    assert(false);
    return RN_BAD_REQUEST;
}

static const struct rn_store_ops overlay_ops = {
    .name = "overlay",
    .open = never_open,
    .close = never_close,
    .status = never_status,
    .begin = never_begin,
    .commit = overlay_commit,
    .abort = overlay_abort,
    .get = overlay_get,
    .put = overlay_put,
    .del = overlay_del,
    .scan = overlay_scan,
    .next = overlay_next,
    .end = overlay_end,
};

enum rn_code rn_overlay_begin(struct rn_txn *below, struct rn_txn **out)
{
    struct overlay *o;

    assert(below->mode != RN_TXN_READ);
    assert(!below->failed);
    assert(!below->above);
    *out = NULL;
    o = rn_new(sizeof(*o));
    if (!o)
        return RN_NOMEM;
    o->below = below;
    o->base.ops = &overlay_ops;
    o->base.store = below->store;
    o->base.mode = below->mode;
    o->base.redo_bytes = below->redo_bytes;
    below->above = &o->base;
    *out = &o->base;
    return RN_OK;
}
