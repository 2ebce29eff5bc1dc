/* delete_partition.c -- see delete_partition.h.
 *
 * The key of an order is 0 | 'p' | container number | the common prefix of the
 * documents' keys, from the epk on.  Its row:
 *
 *   lsn 8 | container rid 8 | epk length 1 | epk | where to go on
 *
 * If other values may have these keys, the length has its highest bit set, and
 * the value precedes where to go on: its length 4, and its bytes by
 * rn_pk_encode; and the order's key ends with 128 bits of another hash of it.
 *
 * The order covers documents up to that LSN.  LSNs of a range only rise, splits
 * and merges included, so it means the same in the range that now holds the
 * key.
 */
#include "engine/cleanup/delete_partition.h"

#include "base/bytes.h"
#include "engine/catalog/object.h"
#include "engine/document/apply.h"
#include "engine/engine.h"
#include "engine/engine_state.h"

#include <assert.h>

enum {
    SLICE_KEYS = 256,
    DOCUMENT_KEYS = 4,
    SLICE_BYTES = 1 << 20,
    RETRY_S = 60,
    RID_BYTES = 8, /* of a container */
    ROW_HEAD = 8 + RID_BYTES + 1,
    PK_HEAD = 4,
    ROW_MAX = ROW_HEAD + RN_EPK_MAX + PK_HEAD + RN_PK_BYTES_MAX + RN_KEY_MAX,
    HAS_PK = 0x80,
    HASH_BYTES = 16,
};

/* A decoded order. */
struct order {
    struct rn_key key;
    uint64_t lsn;
    struct rn_rid rid;
    struct rn_epk epk;
    size_t pk_len; /* 0: not needed */
    char pk_bytes[RN_PK_BYTES_MAX];
    struct rn_pk pk;     /* decoded from these bytes */
    struct rn_key after; /* a 'd' key; at first the lower bound */
};

/* ---- rows ---------------------------------------------------------------- */

static enum rn_code write_order(struct rn_txn *txn, const struct order *o)
{
    char row[ROW_MAX];
    size_t len = ROW_HEAD + o->epk.len;
    unsigned char rid[RN_RID_BYTES_MAX];

    (void)rn_rid_encode(o->rid, rid);
    rn_put_u64_be(row, o->lsn);
    memcpy(row + 8, rid, RID_BYTES);
    row[8 + RID_BYTES] = (char)(o->epk.len | (o->pk_len ? HAS_PK : 0));
    memcpy(row + ROW_HEAD, o->epk.bytes, o->epk.len);
    if (o->pk_len) {
        rn_put_u32_be(row + len, (uint32_t)o->pk_len);
        memcpy(row + len + PK_HEAD, o->pk_bytes, o->pk_len);
        len += PK_HEAD + o->pk_len;
    }
    memcpy(row + len, o->after.bytes, o->after.len);
    return rn_txn_put(txn, rn_key_view(&o->key),
                      rn_view_of(row, len + o->after.len));
}

/* Takes the value off the front of `rest`. */
static bool take_pk(struct rn_view *rest, struct order *out)
{
    if (rest->len < PK_HEAD)
        return false;
    out->pk_len = rn_get_u32_be(rest->at);
    *rest = rn_view_of(rest->at + PK_HEAD, rest->len - PK_HEAD);
    if (!out->pk_len || out->pk_len > RN_PK_BYTES_MAX ||
        rest->len < out->pk_len)
        return false;
    memcpy(out->pk_bytes, rest->at, out->pk_len);
    *rest = rn_view_of(rest->at + out->pk_len, rest->len - out->pk_len);
    return rn_pk_decode(rn_view_of(out->pk_bytes, out->pk_len), &out->pk);
}

static enum rn_code decode_order(struct rn_view key, struct rn_view row,
                                 struct order *out)
{
    struct rn_view rest;
    size_t epk;

    if (row.len < ROW_HEAD || key.len > RN_KEY_MAX)
        return RN_CORRUPT;
    epk = (unsigned char)row.at[ROW_HEAD - 1] & (HAS_PK - 1);
    if (epk > RN_EPK_MAX || row.len < ROW_HEAD + epk ||
        !rn_rid_decode(rn_view_of(row.at + 8, RID_BYTES), &out->rid))
        return RN_CORRUPT;
    rest = rn_view_of(row.at + ROW_HEAD + epk, row.len - ROW_HEAD - epk);
    out->pk_len = 0;
    if ((unsigned char)row.at[ROW_HEAD - 1] & HAS_PK &&
        (key.len < RN_KEY_HEAD + 4 + HASH_BYTES || !take_pk(&rest, out)))
        return RN_CORRUPT;
    if (rest.len > RN_KEY_MAX)
        return RN_CORRUPT;
    memcpy(out->key.bytes, key.at, key.len);
    out->key.len = key.len;
    out->lsn = rn_get_u64_be(row.at);
    memcpy(out->epk.bytes, row.at + ROW_HEAD, epk);
    out->epk.len = epk;
    memcpy(out->after.bytes, rest.at, rest.len);
    out->after.len = rest.len;
    return RN_OK;
}

/* The first order after `after`, or of all if that is empty.  Its key is
 * returned even if the row is damaged.  RN_NOT_FOUND if none exists. */
static enum rn_code find_order(struct rn_txn *txn, const struct rn_key *after,
                               struct rn_key *at, struct order *out)
{
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    rn_key_span_tag(RN_CATALOG_NUMBER, RN_TAG_DELETE_PARTITION, &from, &before);
    if (after->len) {
        from = *after;
        from.bytes[from.len++] = 0;
    }
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &c);
    if (!rc)
        rc = rn_cursor_next(c, &key, &value);
    if (!rc) {
        memcpy(at->bytes, key.at, key.len);
        at->len = key.len;
        rc = decode_order(key, value, out);
    }
    rn_cursor_end(c);
    return rc;
}

/* ---- executing an order -------------------------------------------------- */

/* The next 'd' key of the order's partition key value, if any. */
static enum rn_code next_key(struct rn_txn *txn, const struct order *o,
                             uint32_t number, struct rn_key *out)
{
    struct rn_key from = o->after, before;
    struct rn_key_interval range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    enum rn_code rc;

    rn_key_span_tag(number, RN_TAG_DOCUMENT, out, &before);
    from.bytes[from.len++] = 0; /* no key is just the prefix */
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &c);
    if (!rc)
        rc = rn_cursor_next(c, &key, &value);
    if (!rc) {
        struct rn_view tail =
            rn_view_of(o->key.bytes + RN_KEY_HEAD + 4,
                       o->key.len - RN_KEY_HEAD - 4 - /* after the number */
                           (o->pk_len ? HASH_BYTES : 0));
        if (rn_view_starts(
                rn_view_of(key.at + RN_KEY_HEAD, key.len - RN_KEY_HEAD),
                tail)) {
            memcpy(out->bytes, key.at, key.len);
            out->len = key.len;
        } else {
            rc = RN_NOT_FOUND;
        }
    }
    rn_cursor_end(c);
    return rc;
}

/* Deletes up to a slice.  RN_NOT_FOUND when none is left. */
static enum rn_code delete_some(struct rn_apply *t, struct order *o)
{
    uint64_t bytes = t->txn->redo_bytes + SLICE_BYTES;
    int keys = SLICE_KEYS;
    enum rn_code rc = RN_OK;

    while (!rc && keys > 0 && t->txn->redo_bytes < bytes) {
        struct rn_found found;
        struct rn_key key;

        rc = next_key(t->txn, o, t->container->number, &key);
        if (rc)
            return rc;
        rc = rn_apply_find_of(t, &key, o->pk_len ? &o->pk : NULL, &found);
        if (!rc && !found.is_other && found.row.lsn <= o->lsn) {
            rc = rn_apply_delete(t, &key, &found);
            rn_apply_next(t);
            keys -= DOCUMENT_KEYS;
        }
        o->after = key;
        keys--;
    }
    return rc == RN_NOT_FOUND ? RN_CORRUPT
                              : rc; /* one of its rows is missing */
}

/* Executes a slice of an order.  RN_NOT_FOUND when the order is done. */
static enum rn_code carry_out(struct rn_engine *e, struct rn_txn *txn,
                              struct order *o)
{
    struct rn_object *object = rn_catalog_find_rid(e, o->rid);
    struct rn_err err = { 0 };
    struct rn_apply apply;
    enum rn_code rc, ended;

    if (!object)
        return RN_NOT_FOUND;
    rc = rn_apply_begin(&apply, e, txn, object->container, rn_epk_view(&o->epk),
                        &err);
    if (!rc) {
        rc = delete_some(&apply, o);
        ended = rc == RN_NOT_FOUND || !rc ? rn_apply_end(&apply) : RN_OK;
        if (ended)
            rc = ended;
    }
    rn_object_release(object);
    return rc;
}

static enum rn_code run_slice(struct rn_engine *e, struct rn_txn *txn)
{
    struct rn_delete_partition_state *x = &e->delete_partition;
    struct order o;
    enum rn_code rc;

    x->order.len = 0;
    x->is_bad = x->is_ended = false;
    rc = find_order(txn, &x->after, &x->order, &o);
    if (rc == RN_NOT_FOUND)
        return rc;
    if (!rc)
        rc = carry_out(e, txn, &o);
    x->is_ended = rc == RN_NOT_FOUND;
    x->is_bad = rc && !x->is_ended && x->order.len && !rn_txn_fault(txn);
    if (x->is_ended)
        return rn_txn_del(txn, rn_key_view(&o.key));
    return rc ? rc : write_order(txn, &o);
}

/* ---- answering ----------------------------------------------------------- */

/* Answers the requests that wait for `order` (NULL: all of them) if it has
 * ended or they have waited long enough. */
static void answer(struct rn_delete_partition_state *x,
                   const struct rn_key *order, enum rn_code rc,
                   const struct rn_err *err)
{
    struct rn_delete_partition **at = &x->waiting;

    while (*at) {
        struct rn_delete_partition *p = *at;
        bool is_meant =
            !order || rn_view_eq(rn_key_view(order), rn_key_view(&p->order));

        if (!is_meant || (order && !rc && !x->is_ended &&
                          ++p->slices < RN_DELETE_PARTITION_SLICES)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        p->done.call(&p->done, rc, err);
    }
}

static void set_due(struct rn_engine *e, int64_t due)
{
    rn_background_set(e, RN_BACKGROUND_PURGE, due);
}

static void slice_done(struct rn_engine *e, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_delete_partition_state *x = &e->delete_partition;

    set_due(e, 0);
    if (!rc) {
        answer(x, &x->order, rc, err);
    } else if (rc == RN_NOT_FOUND) { /* no more orders */
        set_due(e, x->after.len ? rn_engine_now(e) + RETRY_S : RN_NEVER);
        x->after.len = 0;
    } else if (x->is_bad) { /* other orders need not wait for it */
        atomic_fetch_add(&e->removals_failed, 1);
        x->after = x->order;
        answer(x, &x->order, rc, err);
    } else {
        set_due(e, rn_engine_now(e) + RETRY_S);
        answer(x, NULL, rc, err);
    }
}

const struct rn_background_ops rn_delete_partition_background = {
    .priority = 4, /* a client waits for it */
    .flags = RN_OPERATION_FREES,
    .run = run_slice,
    .done = slice_done,
};

void rn_delete_partition_release(struct rn_engine *e)
{
    struct rn_err none = { 0 };

    answer(&e->delete_partition, NULL, RN_OK,
           &none); /* the order is kept in the store */
}

/* ---- queueing an order --------------------------------------------------- */

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_delete_partition *p =
        RN_CONTAINER_OF(op, struct rn_delete_partition, operation);
    struct order o = { .key = p->order,
                       .rid = p->container->rid,
                       .epk = p->epk };
    struct rn_apply apply;
    enum rn_code rc = rn_apply_begin(&apply, p->engine, txn, p->container,
                                     rn_epk_view(&p->epk), &op->err);

    if (rc)
        return rc;
    p->place.range = apply.range;
    p->place.lsn = o.lsn = apply.row.lsn;
    if (rn_key_may_be_shared(p->pk))
        o.pk_len = rn_pk_encode(p->pk, o.pk_bytes);
    rn_key_document(p->container->number, &p->epk, p->pk, RN_LIT(""), &o.after);
    return write_order(txn, &o);
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_delete_partition *p =
        RN_CONTAINER_OF(op, struct rn_delete_partition, operation);
    struct rn_delete_partition_state *x = &p->engine->delete_partition;

    if (rc) {
        p->done.call(&p->done, rc, err);
        return;
    }
    p->next = x->waiting;
    x->waiting = p;
    x->after.len = 0; /* the new order may sort before it */
    set_due(p->engine, 0);
}

/* Distinguishes the order from that of another value with the same keys. */
static void add_hash(struct rn_key *order, const struct rn_pk *pk)
{
    char encoded[RN_PK_BYTES_MAX];
    struct rn_hash128 hash =
        rn_hash128(rn_view_of(encoded, rn_pk_encode(pk, encoded)), 0);

    rn_put_u64_be(order->bytes + order->len, hash.high);
    rn_put_u64_be(order->bytes + order->len + 8, hash.low);
    order->len += HASH_BYTES;
}

enum rn_code rn_delete_partition_start(struct rn_engine *e,
                                       struct rn_delete_partition *p,
                                       struct rn_err *err)
{
    struct rn_key first;
    enum rn_code rc;

    p->engine = e;
    p->slices = 0;
    rn_epk_of(&p->container->pkdef, p->pk, &p->epk);
    rn_key_document(p->container->number, &p->epk, p->pk, RN_LIT(""), &first);
    rn_key_catalog(RN_TAG_DELETE_PARTITION, p->container->number, &p->order);
    memcpy(p->order.bytes + p->order.len, first.bytes + RN_KEY_HEAD,
           first.len - RN_KEY_HEAD);
    p->order.len += first.len - RN_KEY_HEAD;
    if (rn_key_may_be_shared(p->pk))
        add_hash(&p->order, p->pk);
    p->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = RN_OPERATION_FREES,
        .bytes = ROW_MAX,
    };
    rc = rn_committer_queue(e->committer, &p->operation);
    if (rc)
        rn_fail(err, rc, "too many writes are under way");
    return rc;
}
