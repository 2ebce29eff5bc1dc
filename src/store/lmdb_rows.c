/* lmdb_rows.c -- the rows of the map over LMDB: look-ups, writes, cursors.
 *
 * Whatever touches the mapping does so under a guard: LMDB, and the value's own
 * sum, may meet a page for the first time here (watch.h).
 */
#include "store/lmdb_map.h"

#include "store/record.h"

enum { CACHE_LINE = 64 };

struct rn_map_cursor {
    struct rn_map_txn *txn;
    MDB_cursor *cursor;
    struct rn_range range;
    bool started;
    char from[RN_BOUND_MAX], before[RN_BOUND_MAX];
};

static MDB_val val_of(struct rn_view v)
{
    return (MDB_val){ v.len, (void *)v.at };
}

static struct rn_view view_of(MDB_val v)
{
    return (struct rn_view){ v.mv_data, v.mv_size };
}

/* ---- keys and values ----------------------------------------------------- */

enum rn_code rn_lmdb_get(struct rn_map_txn *t, struct rn_view key,
                         struct rn_view *out)
{
    MDB_val k = val_of(key), v;
    struct rn_guard guard;
    enum rn_code code;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_guard_caught(&guard);
    rn_guard_enter(&guard, &t->m->watch.remedy);
    rc = mdb_get(t->txn, t->m->kv, &k, &v);
    code = rc ? rn_lmdb_code(rc) : rn_record_open(key, view_of(v), out);
    rn_guard_leave(&guard);
    return code;
}

static enum rn_code put_flagged(struct rn_map_txn *t, struct rn_view key,
                                struct rn_view value, unsigned flags)
{
    MDB_val k = val_of(key), v = { value.len + RN_RECORD_HEADER, NULL };
    uint64_t sum = rn_record_sum(key, value);
    struct rn_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_lmdb_write_caught(t, &guard);
    rn_guard_enter(&guard, &t->m->watch.remedy);
    rc = mdb_put(t->txn, t->m->kv, &k, &v, MDB_RESERVE | flags);
    if (!rc) {
        rn_put_u64(v.mv_data, sum);
        if (value.len)
            memcpy((char *)v.mv_data + RN_RECORD_HEADER, value.at, value.len);
    }
    rn_guard_leave(&guard);
    return rn_lmdb_put_code(rc);
}

enum rn_code rn_lmdb_put(struct rn_map_txn *t, struct rn_view key,
                         struct rn_view value)
{
    return put_flagged(t, key, value, 0);
}

enum rn_code rn_lmdb_append(struct rn_map_txn *t, struct rn_view key,
                            struct rn_view value)
{
    return put_flagged(t, key, value, MDB_APPEND);
}

enum rn_code rn_lmdb_del(struct rn_map_txn *t, struct rn_view key)
{
    MDB_val k = val_of(key);
    struct rn_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_lmdb_write_caught(t, &guard);
    rn_guard_enter(&guard, &t->m->watch.remedy);
    rc = mdb_del(t->txn, t->m->kv, &k, NULL);
    rn_guard_leave(&guard);
    return rn_lmdb_code(rc);
}

/* ---- cursors ------------------------------------------------------------- */

enum rn_code rn_lmdb_scan(struct rn_map_txn *t, const struct rn_range *r,
                          struct rn_map_cursor **out)
{
    struct rn_map_cursor *c = rn_new(sizeof(*c));
    struct rn_guard guard;
    MDB_stat stat;
    int rc;

    if (!c)
        return RN_NOMEM;
    if (sigsetjmp(guard.back, 0)) {
        rn_free(c);
        return rn_guard_caught(&guard);
    }
    c->txn = t;
    c->range = *r;
    if (r->from.len)
        memcpy(c->from, r->from.at, r->from.len);
    if (r->before.len)
        memcpy(c->before, r->before.at, r->before.len);
    c->range.from.at = c->from;
    c->range.before.at = c->before;
    /* The first look at a table in a transaction reads its root: here, where
     * LMDB has nothing to lose, and not after it has made a cursor. */
    rn_guard_enter(&guard, &t->m->watch.remedy);
    rc = mdb_stat(t->txn, t->m->kv, &stat);
    rn_guard_leave(&guard);
    if (!rc)
        rc = mdb_cursor_open(t->txn, t->m->kv, &c->cursor);
    if (rc) {
        rn_free(c);
        return rn_lmdb_code(rc);
    }
    *out = c;
    return RN_OK;
}

/* The first entry: at `from`, or the last one before `before`. */
static int cursor_start(struct rn_map_cursor *c, MDB_val *k, MDB_val *v)
{
    struct rn_view bound = c->range.backward ? c->range.before : c->range.from;
    int rc;

    if (!bound.len)
        return mdb_cursor_get(c->cursor, k, v,
                              c->range.backward ? MDB_LAST : MDB_FIRST);
    *k = val_of(bound);
    rc = mdb_cursor_get(c->cursor, k, v, MDB_SET_RANGE);
    if (!c->range.backward)
        return rc;
    return mdb_cursor_get(c->cursor, k, v, rc ? MDB_LAST : MDB_PREV);
}

/* Not past the end; the start was seen to by cursor_start. */
static bool in_range(const struct rn_map_cursor *c, struct rn_view key)
{
    if (c->range.backward)
        return rn_view_compare(key, c->range.from) >= 0;
    return !c->range.before.len || rn_view_compare(key, c->range.before) < 0;
}

/* The next row lies right below this one, if rows were put in order, and is as
 * long, if they are alike.  It comes from memory while this one is summed: half
 * as fast again for rows of 1 KB. */
static void fetch_next(const struct lmdb *m, MDB_val k, MDB_val v)
{
    const char *at = k.mv_data;
    size_t left = (uintptr_t)at & (m->page_bytes - 1);

    if (left > v.mv_size)
        left = v.mv_size;
    for (; left > CACHE_LINE; left -= CACHE_LINE)
        __builtin_prefetch(at -= CACHE_LINE);
}

static enum rn_code cursor_step(struct rn_map_cursor *c, struct rn_view *key,
                                struct rn_view *value)
{
    MDB_val k = { 0 }, v = { 0 };
    int rc;

    if (c->started) {
        rc = mdb_cursor_get(c->cursor, &k, &v,
                            c->range.backward ? MDB_PREV : MDB_NEXT);
    } else {
        rc = cursor_start(c, &k, &v);
    }
    c->started = true;
    if (rc)
        return rn_lmdb_code(rc);
    *key = view_of(k);
    if (!in_range(c, *key))
        return RN_NOT_FOUND;
    if (!c->range.backward)
        fetch_next(c->txn->m, k, v);
    return rn_record_open(*key, view_of(v), value);
}

enum rn_code rn_lmdb_next(struct rn_map_cursor *c, struct rn_view *key,
                          struct rn_view *value)
{
    struct rn_guard guard;
    enum rn_code code;

    if (sigsetjmp(guard.back, 0))
        return rn_guard_caught(&guard);
    rn_guard_enter(&guard, &c->txn->m->watch.remedy);
    code = cursor_step(c, key, value);
    rn_guard_leave(&guard);
    return code;
}

void rn_lmdb_end(struct rn_map_cursor *c)
{
    if (!c->txn->wild)
        mdb_cursor_close(c->cursor);
    rn_free(c);
}
