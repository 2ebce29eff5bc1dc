/* replay.c -- see replay.h.
 *
 * Nobody reads while the log is replayed, so only the end counts, not the way.
 * Records are gathered, up to BATCH_BYTES of them, and of all writes to a key
 * only the last is made, in the order of the keys: a page that many records
 * changed is copied once.  (Record by record a full log takes half as long
 * again.)
 *
 * A transaction of the map ends after TXN_WRITES: LMDB keeps what a transaction
 * has changed in a sorted array, and filling it takes time with the square of
 * its length.  S2 is broken from the first of them to the last; should the
 * process end in between, it is with T that the next one begins.
 */
#include "store/replay.h"

#include "base/bytes.h"
#include "store/local.h"
#include "store/redo.h"

#include <stdlib.h>

enum {
    BATCH_BYTES = 128 << 20, /* the whole log, as it is by default */
    TXN_WRITES = 2048,
    KEY_START = 16, /* bytes of a key that are compared as numbers */
    AHEAD = 8,      /* writes that are fetched before their turn */
};

/* A write, and what it takes to sort it. */
struct item {
    uint64_t start[2]; /* of the key, big endian, zeros behind its end */
    const char *at;    /* of the write in `bytes` */
    uint64_t order;
};

struct replay {
    struct rn_local *l;
    struct rn_buf bytes; /* payloads, one behind the other */
    struct rn_buf items;
    struct rn_map_txn *txn;
    uint64_t seq, records, writes;
    struct rn_err *err;
};

static enum rn_code broken(struct replay *r, enum rn_code rc)
{
    return rn_fail(r->err, rc, "%s: replaying the log up to record %llu: %s",
                   r->l->dir, (unsigned long long)r->seq, rn_code_name(rc));
}

/* ---- sorting ------------------------------------------------------------- */

static struct rn_redo write_at(const char *at)
{
    struct rn_view one = { at, SIZE_MAX };
    struct rn_redo write = { 0 };

    (void)!rn_redo_next(&one, &write); /* it was looked at before */
    return write;
}

static int by_key(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order;

    for (int i = 0; i < 2; i++) {
        if (a->start[i] != b->start[i])
            return a->start[i] < b->start[i] ? -1 : 1;
    }
    order = rn_view_compare(write_at(a->at).key, write_at(b->at).key);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static enum rn_code add_item(struct replay *r, const char *at,
                             struct rn_view key)
{
    unsigned char start[KEY_START] = { 0 };
    struct item item = { .at = at, .order = r->writes++ };

    memcpy(start, key.at, key.len < KEY_START ? key.len : KEY_START);
    for (int i = 0; i < KEY_START; i++)
        item.start[i / 8] = item.start[i / 8] << 8 | start[i];
    return rn_buf_add(&r->items, rn_view_of(&item, sizeof(item)));
}

static enum rn_code sort_batch(struct replay *r)
{
    struct rn_view rest = rn_buf_view(&r->bytes);
    struct rn_redo write;
    enum rn_code rc = RN_OK;

    rn_buf_clear(&r->items);
    while (!rc) {
        const char *at = rest.at;
        rc = rn_redo_next(&rest, &write);
        if (!rc)
            rc = add_item(r, at, write.key);
    }
    if (rc != RN_NOT_FOUND)
        return broken(r, rc);
    qsort(r->items.at, r->items.len / sizeof(struct item), sizeof(struct item),
          by_key);
    return RN_OK;
}

/* ---- writing ------------------------------------------------------------- */

static enum rn_code txn_end(struct replay *r)
{
    struct rn_map_txn *txn = r->txn;

    r->txn = NULL;
    return txn ? r->l->map->ops->commit(txn, r->err) : RN_OK;
}

static enum rn_code txn_begin(struct replay *r)
{
    struct rn_map *map = r->l->map;

    return r->txn ? RN_OK : map->ops->begin(map, RN_TXN_WRITE, &r->txn, r->err);
}

/* The last of the writes to one key.  What is deleted must have been there,
 * unless it was put in this batch. */
static enum rn_code make(struct replay *r, const struct rn_redo *last,
                         bool was_put)
{
    const struct rn_map_ops *map = r->l->map->ops;
    enum rn_code rc;

    if (last->kind == RN_REDO_PUT)
        return map->put(r->txn, last->key, last->value);
    rc = map->del(r->txn, last->key);
    return rc == RN_NOT_FOUND && was_put ? RN_OK : rc;
}

static enum rn_code make_batch(struct replay *r)
{
    const struct item *item = (const struct item *)r->items.at;
    const struct item *end = item + r->items.len / sizeof(*item);
    uint64_t made = 0;
    enum rn_code rc = RN_OK;

    while (!rc && item < end) {
        struct rn_redo first = write_at(item->at), last = first;

        if (item + AHEAD < end)
            __builtin_prefetch(item[AHEAD].at);
        for (item++; item < end; item++) {
            struct rn_redo next = write_at(item->at);
            if (!rn_view_eq(next.key, first.key))
                break;
            last = next;
        }
        rc = txn_begin(r);
        if (rc)
            return rc;
        rc = make(r, &last, first.kind == RN_REDO_PUT);
        if (rc)
            return broken(r, rc);
        if (++made % TXN_WRITES == 0)
            rc = txn_end(r);
    }
    rn_buf_clear(&r->bytes);
    return rc;
}

/* ---- the log ------------------------------------------------------------- */

static enum rn_code end_batch(struct replay *r)
{
    enum rn_code rc = sort_batch(r);

    return rc ? rc : make_batch(r);
}

static enum rn_code gather(void *context, uint64_t seq, struct rn_view payload)
{
    struct replay *r = context;
    enum rn_code rc = RN_OK;

    if (r->bytes.len && r->bytes.len + payload.len > BATCH_BYTES)
        rc = end_batch(r);
    if (rc)
        return rc;
    rc = rn_buf_add(&r->bytes, payload);
    if (rc)
        return broken(r, rc);
    r->seq = seq;
    r->records++;
    return RN_OK;
}

static enum rn_code finish(struct replay *r)
{
    enum rn_code rc = end_batch(r);

    if (!rc)
        rc = txn_begin(r);
    if (rc)
        return rc;
    rc = r->l->map->ops->set_seq(r->txn, r->seq);
    return rc ? broken(r, rc) : txn_end(r);
}

enum rn_code rn_replay(struct rn_local *l, struct rn_err *err)
{
    struct replay r = {
        .l = l,
        .bytes = RN_BUF_INIT(SIZE_MAX / 2), /* a batch, or one large record */
        .items = RN_BUF_INIT(SIZE_MAX / 2), /* of these */
        .err = err,
    };
    enum rn_code rc = rn_wal_replay(l->log, l->durable, gather, &r, err);

    if (!rc && r.records)
        rc = finish(&r);
    if (r.txn)
        l->map->ops->abort(r.txn);
    l->counts.recovered_records = r.records;
    rn_buf_release(&r.bytes);
    rn_buf_release(&r.items);
    return rc;
}
