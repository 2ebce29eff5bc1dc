/* store.c -- the contract of store.h, checked once for every store.
 *
 * A caller that breaks the contract is a bug and asserts, in release builds
 * too.  A store that breaks it asserts as well, except where damaged bytes on a
 * disk could be the cause: that is RN_CORRUPT.
 */
#include "store/store.h"

#include <assert.h>
#include <stdio.h>

enum { REDO_OVERHEAD = 16 }; /* of a put or del in the WAL: lengths, kind */

static const struct rn_store_ops *const stores[] = {
    &rn_store_mem,
    &rn_store_local,
};

enum { STORES = sizeof(stores) / sizeof(stores[0]) };

static bool is_fault(enum rn_code rc)
{
    return rc >= RN_BUSY;
}

/* ---- stores -------------------------------------------------------------- */

static enum rn_code no_such_store(const char *name, struct rn_err *err)
{
    char known[64] = "";

    for (size_t i = 0; i < STORES; i++) {
        size_t len = strlen(known);
        snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "",
                 stores[i]->name);
    }
    return rn_fail(err, RN_BAD_REQUEST, "no store is named '%s', only: %s",
                   name, known);
}

static uint64_t or_default(uint64_t given, uint64_t otherwise)
{
    return given ? given : otherwise;
}

/* The defaults that store.h promises beside each option. */
static struct rn_store_opts complete(const struct rn_store_opts *given)
{
    const uint64_t mib = 1 << 20;
    struct rn_store_opts o = *given;

    if (!o.env)
        o.env = rn_env_real();
    o.map_bytes = or_default(o.map_bytes, mib << 20);
    o.busy_ms = (uint32_t)or_default(o.busy_ms, 10000);
    o.readers_max = (uint32_t)or_default(o.readers_max, 1024);
    o.reader_ms_max = (uint32_t)or_default(o.reader_ms_max, 30000);
    o.segment_bytes = or_default(o.segment_bytes, 32 * mib);
    o.wal_bytes = or_default(o.wal_bytes, 128 * mib);
    o.memtable_bytes =
        or_default(o.memtable_bytes,
                   o.wal_bytes < 512 * mib ? o.wal_bytes / 2 : 256 * mib);
    o.checkpoint_bytes = or_default(o.checkpoint_bytes, 64 * mib);
    o.checkpoint_ms = (uint32_t)or_default(o.checkpoint_ms, 5000);
    o.throttle_bytes = or_default(o.throttle_bytes, 512 * mib);
    o.reserve_bytes = or_default(o.reserve_bytes, 64 * mib);
    o.ahead_bytes = or_default(o.ahead_bytes, 8 * mib);
    return o;
}

enum rn_code rn_store_open(const char *name, const struct rn_store_opts *opts,
                           struct rn_store **out, struct rn_err *err)
{
    struct rn_store_opts o = complete(opts);
    enum rn_code rc;

    *out = NULL;
    for (size_t i = 0; i < STORES; i++) {
        if (strcmp(stores[i]->name, name) != 0)
            continue;
        rc = stores[i]->open(&o, out, err);
        assert(!rc == !!*out);
        if (!rc)
            (*out)->ops = stores[i];
        return rc;
    }
    return no_such_store(name, err);
}

void rn_store_close(struct rn_store *s)
{
    if (s)
        s->ops->close(s);
}

void rn_store_status(struct rn_store *s, struct rn_store_status *out)
{
    *out = (struct rn_store_status){ 0 };
    s->ops->status(s, out);
}

/* ---- transactions -------------------------------------------------------- */

enum rn_code rn_txn_begin(struct rn_store *s, enum rn_txn_mode mode,
                          struct rn_lock lock, struct rn_txn **out,
                          struct rn_err *err)
{
    enum rn_code rc;

    *out = NULL;
    rc = s->ops->begin(s, mode, lock, out, err);
    assert(!rc || is_fault(rc));
    assert(!rc == !!*out);
    if (rc)
        return rc;
    (*out)->ops = s->ops;
    (*out)->store = s;
    (*out)->mode = mode;
    return RN_OK;
}

/* Asserts that an ending transaction has no open cursor or overlay. */
static void assert_free(const struct rn_txn *t)
{
    assert(t->cursors == 0);
    assert(!t->above);
}

enum rn_code rn_txn_commit(struct rn_txn *t, struct rn_err *err)
{
    enum rn_code rc = t->failed;

    assert(t->mode != RN_TXN_READ);
    assert_free(t);
    if (rc) {
        rn_fail(err, rc, "%s", rn_txn_why(t, rc));
        t->ops->abort(t);
        return rc;
    }
    rc = t->ops->commit(t, err);
    assert(!rc || is_fault(rc));
    return rc;
}

void rn_txn_abort(struct rn_txn *t)
{
    if (!t)
        return;
    assert_free(t);
    t->ops->abort(t);
}

enum rn_code rn_txn_fault(const struct rn_txn *t)
{
    return t->failed;
}

const char *rn_txn_why(const struct rn_txn *t, enum rn_code rc)
{
    if (rc && t->fault.code == rc && t->fault.text[0])
        return t->fault.text;
    return rn_code_name(rc);
}

static void assert_key(struct rn_view key)
{
    assert(key.len > 0);
    assert(key.len <= RN_KEY_MAX);
}

enum rn_code rn_txn_get(struct rn_txn *t, struct rn_view key,
                        struct rn_view *out)
{
    enum rn_code rc;

    assert_key(key);
    assert(!t->failed);
    *out = (struct rn_view){ 0 };
    rc = t->ops->get(t, key, out);
    assert(!rc || rc == RN_NOT_FOUND || is_fault(rc));
    assert(rc || out->len <= RN_VALUE_MAX);
    return rc;
}

static void assert_writable(const struct rn_txn *t)
{
    assert(t->mode != RN_TXN_READ);
    assert(!t->failed);
    assert_free(t);
}

/* Records the result `rc` of a write in the transaction. */
static enum rn_code written(struct rn_txn *t, uint64_t redo, enum rn_code rc)
{
    if (!rc)
        t->redo_bytes += redo;
    else if (is_fault(rc))
        t->failed = rc;
    return rc;
}

enum rn_code rn_txn_put(struct rn_txn *t, struct rn_view key,
                        struct rn_view value)
{
    uint64_t redo = key.len + value.len + REDO_OVERHEAD;
    enum rn_code rc;

    assert_key(key);
    assert_writable(t);
    if (value.len > RN_VALUE_MAX || t->redo_bytes + redo > RN_TXN_REDO_MAX)
        return RN_TOO_LARGE;
    rc = t->ops->put(t, key, value);
    assert(!rc || is_fault(rc));
    return written(t, redo, rc);
}

enum rn_code rn_txn_del(struct rn_txn *t, struct rn_view key)
{
    uint64_t redo = key.len + REDO_OVERHEAD;
    enum rn_code rc;

    assert_key(key);
    assert_writable(t);
    if (t->redo_bytes + redo > RN_TXN_REDO_MAX)
        return RN_TOO_LARGE;
    rc = t->ops->del(t, key);
    assert(!rc || rc == RN_NOT_FOUND || is_fault(rc));
    return written(t, redo, rc);
}

/* ---- cursors ------------------------------------------------------------- */

static void keep_range(struct rn_cursor *c, const struct rn_key_interval *range)
{
    char *at = c->bounds;

    c->range = *range;
    if (range->from.len)
        c->range.from.at = memcpy(at, range->from.at, range->from.len);
    at += RN_BOUND_MAX;
    if (range->before.len)
        c->range.before.at = memcpy(at, range->before.at, range->before.len);
}

enum rn_code rn_txn_scan(struct rn_txn *t, const struct rn_key_interval *range,
                         struct rn_cursor **out)
{
    enum rn_code rc;

    assert(range->from.len <= RN_BOUND_MAX);
    assert(range->before.len <= RN_BOUND_MAX);
    assert(!t->failed);
    *out = NULL;
    rc = t->ops->scan(t, range, out);
    assert(!rc || is_fault(rc));
    assert(!rc == !!*out);
    if (rc)
        return rc;
    (*out)->txn = t;
    keep_range(*out, range);
    t->cursors++;
    return RN_OK;
}

static bool is_in_place(const struct rn_cursor *c, struct rn_view key)
{
    const struct rn_key_interval *r = &c->range;
    int step;

    if (key.len == 0 || key.len > RN_KEY_MAX)
        return false;
    if (rn_view_compare(key, r->from) < 0)
        return false;
    if (r->before.len && rn_view_compare(key, r->before) >= 0)
        return false;
    step = c->last.len ? rn_view_compare(key, c->last) : 0;
    return !c->last.len || (r->backward ? step < 0 : step > 0);
}

enum rn_code rn_cursor_next(struct rn_cursor *c, struct rn_view *key,
                            struct rn_view *value)
{
    enum rn_code rc;

    assert(!c->txn->failed);
    *key = *value = (struct rn_view){ 0 };
    rc = c->txn->ops->next(c, key, value);
    assert(!rc || rc == RN_NOT_FOUND || is_fault(rc));
    if (rc)
        return rc;
    if (!is_in_place(c, *key) || value->len > RN_VALUE_MAX) {
        *key = *value = (struct rn_view){ 0 };
        return rn_fail(&c->txn->fault, RN_CORRUPT,
                       "the %s store gave a scan a key out of place",
                       c->txn->ops->name);
    }
    c->last = *key;
    return RN_OK;
}

void rn_cursor_end(struct rn_cursor *c)
{
    struct rn_txn *t;

    if (!c)
        return;
    t = c->txn;
    assert(t->cursors > 0);
    t->cursors--;
    t->ops->end(c);
}
