/* defrag.c -- see defrag.h. */
#include "store/lmdb/defrag.h"

#include "store/local/local.h"

enum {
    ROWS_MAX = 256,      /* rewritten in a slice */
    BYTES_MAX = 1 << 20, /* of these */
    LEAVES_LEAST = 4,    /* fewer leaves are not worth a transaction */
    ROWS_PER_DELETE = 8, /* scanned for each row deleted */
    LOOK_ROWS = 1024,    /* scanned in a slice */
    RETRY_NS = 1000000000,
};

void rn_defrag_init(struct rn_defrag *t)
{
    *t = (struct rn_defrag){
        .at = RN_BUF_INIT(RN_BOUND_MAX),
        .first = RN_BUF_INIT(RN_BOUND_MAX),
        .rows = RN_BUF_INIT(2 * (size_t)RN_VALUE_MAX),
    };
}

void rn_defrag_release(struct rn_defrag *t)
{
    rn_buf_release(&t->at);
    rn_buf_release(&t->first);
    rn_buf_release(&t->rows);
}

static uint64_t deleted(const struct rn_defrag *t)
{
    return __atomic_load_n(&t->deleted, __ATOMIC_RELAXED);
}

bool rn_defrag_due(struct rn_local *l)
{
    return deleted(&l->defrag) >=
               l->defrag.paid + LOOK_ROWS / ROWS_PER_DELETE &&
           rn_mono_ns(l->env) >= l->defrag.retry_ns;
}

/* ---- finding sparse leaves ----------------------------------------------- */

/* Adjacent leaves with as many rows as may be rewritten at once. */
struct window {
    struct rn_view first; /* key; borrowed from the transaction */
    uint64_t rows, leaves, room, used, large;
};

/* How many leaves the rows will need, if they are of similar size. */
static uint64_t leaves_after(const struct window *w)
{
    uint64_t room = w->room / w->leaves, row = w->used / w->rows + 1;
    uint64_t fit = row < room ? room / row : 1;

    return (w->rows + fit - 1) / fit;
}

/* Worth it if less than three bytes are written for two freed: without large
 * rows, leaves that are less than three fifths as full as they could be. */
static bool is_sparse(const struct window *w)
{
    uint64_t after, room;

    if (w->leaves < LEAVES_LEAST)
        return false;
    after = leaves_after(w);
    room = w->room / w->leaves;
    return after < w->leaves &&
           (after * room + w->large) * 2 < (w->leaves - after) * room * 3;
}

static bool fits(const struct window *w, const struct rn_map_leaf *leaf)
{
    return !w->leaves ||
           (w->rows + leaf->rows <= ROWS_MAX &&
            w->used + w->large + leaf->used + leaf->large <= BYTES_MAX);
}

/* Gathers `*leaf` and the leaves behind it as long as they fit, and leaves the
 * first that does not in `*leaf`.  RN_NOT_FOUND if there is no further leaf. */
static enum rn_code gather(struct rn_map *map, struct rn_map_cursor *c,
                           struct rn_map_leaf *leaf, struct window *out)
{
    enum rn_code rc = RN_OK;

    *out = (struct window){ .first = leaf->first };
    while (!rc && fits(out, leaf)) {
        out->rows += leaf->rows;
        out->leaves++;
        out->room += leaf->room;
        out->used += leaf->used;
        out->large += leaf->large;
        rc = map->ops->leaf(c, leaf);
    }
    return rc;
}

/* Advances the scan to the next sparse window, whose first key is then in
 * t->first and whose end is the scan's position, or by LOOK_ROWS without
 * finding one. */
static enum rn_code walk(struct rn_local *l, struct rn_map_cursor *c,
                         bool *found)
{
    struct rn_defrag *t = &l->defrag;
    struct rn_map_leaf leaf;
    struct window w = { 0 };
    uint64_t seen = 0;
    enum rn_code rc = l->map->ops->leaf(c, &leaf);

    while (!rc && !is_sparse(&w) && seen < LOOK_ROWS) {
        rc = gather(l->map, c, &leaf, &w);
        seen += w.rows;
    }
    t->paid += seen / ROWS_PER_DELETE + 1;
    *found = is_sparse(&w) && (!rc || rc == RN_NOT_FOUND);
    rn_buf_clear(&t->first);
    rn_buf_clear(&t->at);
    if (*found && rn_buf_add(&t->first, w.first))
        return RN_NOMEM;
    return rc ? rc : rn_buf_add(&t->at, leaf.first);
}

/* Rows deleted before a lap began need no other lap. */
static void end_lap(struct rn_defrag *t)
{
    if (t->paid < t->lap_deleted)
        t->paid = t->lap_deleted;
    t->lap_deleted = deleted(t);
    rn_buf_clear(&t->at);
}

/* An unreadable page ends the lap; a read that needs the page will report it.
 */
static bool find_window(struct rn_local *l)
{
    struct rn_key_interval range = { .from = rn_buf_view(&l->defrag.at) };
    struct rn_map_txn *txn = NULL;
    struct rn_map_cursor *c = NULL;
    struct rn_err err;
    bool found = false;
    enum rn_code rc = l->map->ops->begin(l->map, RN_TXN_READ, &txn, &err);

    if (rc)
        return false;
    rc = l->map->ops->scan(txn, &range, &c);
    if (!rc) {
        rc = walk(l, c, &found);
        l->map->ops->end(c);
    }
    l->map->ops->abort(txn);
    if (rc)
        end_lap(&l->defrag);
    return found;
}

/* ---- rewriting ----------------------------------------------------------- */

struct row {
    struct rn_view key, value;
};

static enum rn_code row_add(struct rn_buf *rows, struct row row)
{
    size_t lengths[2] = { row.key.len, row.value.len };
    enum rn_code rc =
        rn_buf_add(rows, rn_view_of((char *)lengths, sizeof(lengths)));

    if (!rc)
        rc = rn_buf_add(rows, row.key);
    return rc ? rc : rn_buf_add(rows, row.value);
}

static bool row_next(struct rn_view *rows, struct row *out)
{
    size_t lengths[2];

    if (!rows->len)
        return false;
    memcpy(lengths, rows->at, sizeof(lengths));
    out->key = rn_view_of(rows->at + sizeof(lengths), lengths[0]);
    out->value = rn_view_of(out->key.at + lengths[0], lengths[1]);
    rows->len -= sizeof(lengths) + lengths[0] + lengths[1];
    rows->at = out->value.at + lengths[1];
    return true;
}

/* Copies the rows of the key interval out, as they are now. */
static enum rn_code collect(struct rn_local *l, struct rn_map_txn *txn,
                            const struct rn_key_interval *interval)
{
    struct rn_defrag *t = &l->defrag;
    struct rn_map_cursor *c = NULL;
    struct row row;
    enum rn_code rc = l->map->ops->scan(txn, interval, &c);

    if (rc)
        return rc;
    rn_buf_clear(&t->rows);
    for (int i = 0; !rc && i < ROWS_MAX && t->rows.len < BYTES_MAX; i++) {
        rc = l->map->ops->next(c, &row.key, &row.value);
        if (!rc)
            rc = row_add(&t->rows, row);
    }
    l->map->ops->end(c);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

/* The map packs rows that are put in order. */
static enum rn_code put_again(struct rn_local *l, struct rn_map_txn *txn)
{
    struct rn_view rows = rn_buf_view(&l->defrag.rows);
    enum rn_code rc = RN_OK;
    struct row row;

    while (!rc && row_next(&rows, &row))
        rc = l->map->ops->del(txn, row.key);
    rows = rn_buf_view(&l->defrag.rows);
    while (!rc && row_next(&rows, &row))
        rc = l->map->ops->put(txn, row.key, row.value);
    if (rc == RN_CORRUPT || rc == RN_NOT_FOUND)
        rn_local_poison(l, "the map is damaged; see runnel verify");
    return rc;
}

/* The map survives RN_FULL and RN_NOMEM.  After any other failure its state is
 * not known. */
static enum rn_code commit(struct rn_local *l, struct rn_map_txn *txn)
{
    struct rn_err err = { 0 };
    enum rn_code rc = l->map->ops->commit(txn, &err);

    if (rc && rc != RN_FULL && rc != RN_NOMEM)
        rn_local_poison(l, err.text);
    return rc;
}

static enum rn_code rewrite(struct rn_local *l,
                            const struct rn_key_interval *interval)
{
    struct rn_map_txn *txn = NULL;
    struct rn_err err;
    enum rn_code rc = l->map->ops->reserve(l->map, RN_TXN_WRITE, 0);

    if (!rc)
        rc = l->map->ops->begin(l->map, RN_TXN_WRITE, &txn, &err);
    if (rc)
        return rc;
    rc = collect(l, txn, interval);
    if (!rc)
        rc = put_again(l, txn);
    if (rc) {
        l->map->ops->abort(txn);
        return rc;
    }
    return commit(l, txn);
}

enum rn_code rn_defrag_rewrite(struct rn_local *l,
                               const struct rn_key_interval *interval)
{
    struct rn_map_stat before, after;
    enum rn_code rc;

    l->map->ops->stat(l->map, &before);
    rc = rn_local_is_poisoned(l) ? RN_READ_ONLY : rewrite(l, interval);
    l->map->ops->stat(l->map, &after);
    if (rc || before.live_bytes < after.live_bytes)
        return rc;
    pthread_mutex_lock(&l->state);
    l->counts.thinned_pages +=
        (before.live_bytes - after.live_bytes) / before.page_bytes;
    pthread_mutex_unlock(&l->state);
    return RN_OK;
}

/* Defragmentation takes space before it frees some, so it does not use the
 * reserve. */
void rn_defrag_slice(struct rn_local *l)
{
    struct rn_defrag *t = &l->defrag;
    struct rn_key_interval interval;
    struct rn_err err;

    if (!find_window(l))
        return;
    interval = (struct rn_key_interval){ .from = rn_buf_view(&t->first),
                                         .before = rn_buf_view(&t->at) };
    if (rn_local_check_space(l, RN_TXN_WRITE, &err) ||
        rn_defrag_rewrite(l, &interval))
        t->retry_ns = rn_mono_ns(l->env) + RETRY_NS;
}
