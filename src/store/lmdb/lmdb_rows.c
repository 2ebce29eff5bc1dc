/* lmdb_rows.c -- the rows of the map over LMDB: lookups, writes, cursors.
 *
 * Every access to the mapping is under a guard: LMDB, or the check of a value's
 * checksum, may touch a page for the first time here (verify_on_touch.h).
 */
#include "store/lmdb/lmdb_rows.h"

#include "store/lmdb/lmdb_map.h"
#include "store/lmdb/page.h"
#include "store/lmdb/record.h"

#include <assert.h>

enum {
    CACHE_LINE = 64,
    NODE_BYTES = 10, /* of a row in a page, beside key and value, */
    RUN_BYTES = 12,  /* at the end of a key; keys of a run differ only there */
};

struct rn_map_cursor {
    struct rn_map_txn *txn;
    MDB_cursor *cursor;
    struct rn_key_interval range;
    bool started, ended;
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
    struct rn_fault_guard guard;
    enum rn_code code;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_fault_guard_caught(&guard);
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = mdb_get(t->txn, t->m->kv, &k, &v);
    code = rc ? rn_lmdb_code(rc) : rn_record_open(key, view_of(v), out);
    rn_fault_guard_leave(&guard);
    return code;
}

static int put_row(struct rn_map_txn *t, struct rn_view key,
                   struct rn_view value, unsigned flags)
{
    MDB_val k = val_of(key), v = { value.len + RN_RECORD_HEADER, NULL };
    int rc = mdb_put(t->txn, t->m->kv, &k, &v, MDB_RESERVE | flags);

    if (rc)
        return rc;
    rn_put_u64(v.mv_data, rn_record_checksum(key, value));
    if (value.len)
        memcpy((char *)v.mv_data + RN_RECORD_HEADER, value.at, value.len);
    return 0;
}

/* The bytes that a row takes in a leaf; a large one has pages of its own. */
static uint64_t row_bytes(const struct lmdb *m, struct rn_view key,
                          struct rn_view value)
{
    uint64_t bytes =
        (NODE_BYTES + key.len + RN_RECORD_HEADER + value.len + 1) & ~1u;

    return bytes <= m->page_bytes / 2 ? bytes : NODE_BYTES + key.len + 8;
}

static uint64_t leaves_of(struct rn_map_txn *t)
{
    MDB_stat stat = { 0 };

    (void)mdb_stat(t->txn, t->m->kv, &stat);
    return stat.ms_leaf_pages;
}

static struct rn_lmdb_run *run_of(struct lmdb *m, struct rn_view key)
{
    struct rn_view start = key;

    start.len = key.len > RUN_BYTES ? key.len - RUN_BYTES : 0;
    return &m->runs[rn_hash64(start, 0) % RN_LMDB_RUNS];
}

static void run_note(struct rn_lmdb_run *run, struct rn_view key, uint64_t left)
{
    memcpy(run->last, key.at, key.len);
    run->last_len = key.len;
    run->left = left;
}

static bool continues(const struct rn_lmdb_run *run, struct rn_view key)
{
    struct rn_view last = { run->last, run->last_len };

    return last.len == key.len && key.len > RUN_BYTES &&
           memcmp(last.at, key.at, key.len - RUN_BYTES) == 0 &&
           rn_view_compare(last, key) < 0;
}

/* Puts a placeholder row behind the run's last.  Its key, the last key with a
 * zero byte, is free: the next key of the run has the same length. */
static int put_tail(struct rn_map_txn *t, struct rn_lmdb_run *run,
                    MDB_val *tail)
{
    MDB_val nothing = { 0 };
    int rc;

    *tail = (MDB_val){ run->last_len + 1, run->last };
    run->last[run->last_len] = '\0';
    rc = mdb_put(t->txn, t->m->kv, tail, &nothing, MDB_NOOVERWRITE);
    if (rc)
        tail->mv_size = 0;
    return rc == MDB_KEYEXIST ? 0 : rc; /* the key is in use: do without */
}

/* When a put at the end of a page overflows it, LMDB splits before the last
 * row, not behind it.  So with three rows a page every third place stays empty,
 * with two every second.  Where large rows are put in ascending order, as in a
 * feed, the last row is therefore a placeholder during the split. */
static int put_packed(struct rn_map_txn *t, struct rn_view key,
                      struct rn_view value)
{
    uint64_t bytes = row_bytes(t->m, key, value), leaves, left = 0;
    struct rn_lmdb_run *run = run_of(t->m, key);
    MDB_val tail = { 0 };
    int rc = 0;

    if (continues(run, key)) {
        left = run->left;
        if (left < bytes)
            rc = put_tail(t, run, &tail);
    }
    leaves = leaves_of(t);
    if (!rc)
        rc = put_row(t, key, value, 0);
    if (leaves_of(t) > leaves)
        left = t->m->page_bytes - RN_PAGE_HEADER;
    if (!rc && tail.mv_size)
        rc = mdb_del(t->txn, t->m->kv, &tail, NULL);
    run_note(run, key, left < bytes ? 0 : left - bytes);
    return rc;
}

enum rn_code rn_lmdb_put(struct rn_map_txn *t, struct rn_view key,
                         struct rn_view value)
{
    bool small = value.len < t->m->page_bytes / 16;
    struct rn_fault_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_lmdb_write_caught(t, &guard);
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = small ? put_row(t, key, value, 0) : put_packed(t, key, value);
    rn_fault_guard_leave(&guard);
    return rn_lmdb_put_code(rc);
}

enum rn_code rn_lmdb_append(struct rn_map_txn *t, struct rn_view key,
                            struct rn_view value)
{
    struct rn_fault_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_lmdb_write_caught(t, &guard);
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = put_row(t, key, value, MDB_APPEND);
    rn_fault_guard_leave(&guard);
    return rn_lmdb_put_code(rc);
}

enum rn_code rn_lmdb_del(struct rn_map_txn *t, struct rn_view key)
{
    MDB_val k = val_of(key);
    struct rn_fault_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_lmdb_write_caught(t, &guard);
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = mdb_del(t->txn, t->m->kv, &k, NULL);
    rn_fault_guard_leave(&guard);
    return rn_lmdb_code(rc);
}

/* ---- cursors ------------------------------------------------------------- */

enum rn_code rn_lmdb_scan(struct rn_map_txn *t, const struct rn_key_interval *r,
                          struct rn_map_cursor **out)
{
    struct rn_map_cursor *c = rn_new(sizeof(*c));
    struct rn_fault_guard guard;
    MDB_stat stat;
    int rc;

    if (!c)
        return RN_NOMEM;
    if (sigsetjmp(guard.back, 0)) {
        rn_free(c);
        return rn_fault_guard_caught(&guard);
    }
    c->txn = t;
    c->range = *r;
    if (r->from.len)
        memcpy(c->from, r->from.at, r->from.len);
    if (r->before.len)
        memcpy(c->before, r->before.at, r->before.len);
    c->range.from.at = c->from;
    c->range.before.at = c->before;
    /* The first access to a table in a transaction reads its root.  It happens
     * here, where a fault costs LMDB nothing, and not after a cursor was made.
     */
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = mdb_stat(t->txn, t->m->kv, &stat);
    rn_fault_guard_leave(&guard);
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

/* Checks the end only; cursor_start has checked the start. */
static bool in_range(const struct rn_map_cursor *c, struct rn_view key)
{
    if (c->range.backward)
        return rn_view_compare(key, c->range.from) >= 0;
    return !c->range.before.len || rn_view_compare(key, c->range.before) < 0;
}

/* The next row lies right below this one if rows were put in order, and is as
 * long if they are alike.  Below the last row is nothing, and the next page is
 * often the adjacent one.  Prefetches it while this one's checksum is computed:
 * half as fast again for rows of 1 KB.  A writer's pages are elsewhere. */
static void fetch_next(const struct rn_map_cursor *c, MDB_val k, MDB_val v)
{
    size_t page_bytes = c->txn->m->page_bytes;
    const char *at = k.mv_data;
    size_t left = (uintptr_t)at & (page_bytes - 1);
    uint16_t lowest;

    if (c->range.backward || c->txn->mode != RN_TXN_READ)
        return;
    memcpy(&lowest, at - left + RN_PAGE_UPPER, sizeof(lowest));
    if (left <= (size_t)lowest + RN_NODE_HEADER) {
        at += 2 * page_bytes - left;
        __builtin_prefetch(at - page_bytes);
        left = page_bytes;
    }
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
    fetch_next(c, k, v);
    return rn_record_open(*key, view_of(v), value);
}

enum rn_code rn_lmdb_next(struct rn_map_cursor *c, struct rn_view *key,
                          struct rn_view *value)
{
    struct rn_fault_guard guard;
    enum rn_code code;

    if (sigsetjmp(guard.back, 0))
        return rn_fault_guard_caught(&guard);
    rn_fault_guard_enter(&guard, &c->txn->m->verify.remedy);
    code = cursor_step(c, key, value);
    rn_fault_guard_leave(&guard);
    return code;
}

/* How full the page is that contains `at`, a key in the mapped file.  A page
 * that does not look like a leaf counts as full: nothing to gain. */
static void leaf_fill(const struct lmdb *m, const char *at,
                      struct rn_map_leaf *out)
{
    const char *page = (const char *)((uintptr_t)at & ~(m->page_bytes - 1));
    uint16_t flags, lower, upper;

    memcpy(&flags, page + RN_PAGE_FLAGS, 2);
    memcpy(&lower, page + RN_PAGE_LOWER, 2);
    memcpy(&upper, page + RN_PAGE_UPPER, 2);
    out->room = m->page_bytes - RN_PAGE_HEADER;
    out->used = out->room;
    if ((flags & RN_PAGE_LEAF) && lower >= RN_PAGE_HEADER && lower <= upper &&
        upper <= m->page_bytes)
        out->used -= (uint64_t)(upper - lower);
}

static bool same_page(const struct lmdb *m, const void *a, const void *b)
{
    return (((uintptr_t)a ^ (uintptr_t)b) & ~(m->page_bytes - 1)) == 0;
}

static enum rn_code leaf_step(struct rn_map_cursor *c, struct rn_map_leaf *out)
{
    const struct lmdb *m = c->txn->m;
    MDB_val k = { 0 }, v = { 0 };
    int rc;

    if (c->ended)
        return RN_NOT_FOUND;
    rc = c->started ? mdb_cursor_get(c->cursor, &k, &v, MDB_GET_CURRENT)
                    : cursor_start(c, &k, &v);
    c->started = true;
    if (rc)
        return rn_lmdb_code(rc);
    *out = (struct rn_map_leaf){ .first = view_of(k) };
    leaf_fill(m, k.mv_data, out);
    while (!rc && same_page(m, k.mv_data, out->first.at)) {
        out->rows++;
        if (!same_page(m, v.mv_data, k.mv_data))
            out->large += v.mv_size;
        rc = mdb_cursor_get(c->cursor, &k, &v, MDB_NEXT);
    }
    c->ended = rc == MDB_NOTFOUND;
    return c->ended ? RN_OK : rn_lmdb_code(rc);
}

enum rn_code rn_lmdb_leaf(struct rn_map_cursor *c, struct rn_map_leaf *out)
{
    struct rn_fault_guard guard;
    enum rn_code code;

    assert(c->txn->mode == RN_TXN_READ); /* a writer's pages are elsewhere */
    if (sigsetjmp(guard.back, 0))
        return rn_fault_guard_caught(&guard);
    rn_fault_guard_enter(&guard, &c->txn->m->verify.remedy);
    code = leaf_step(c, out);
    rn_fault_guard_leave(&guard);
    return code;
}

void rn_lmdb_end(struct rn_map_cursor *c)
{
    if (!c->txn->wild)
        mdb_cursor_close(c->cursor);
    rn_free(c);
}
