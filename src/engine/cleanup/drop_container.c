/* drop_container.c -- removes the keys of deleted containers and the objects of
 * deleted databases, in background slices.
 *
 * The row 0 | 'x' | number marks a deleted container.  It is written in the
 * transaction that deletes the container and removed with its last key, so
 * after a crash in between the work goes on at the next start.  The row 0 | 'y'
 * | database marks a deleted database and its objects.  These come first: each
 * container among them gets a marker of its own.
 */
#include "engine/cleanup/drop_container.h"

#include "engine/catalog/catalog_remove.h"
#include "engine/engine_state.h"

#include "base/bytes.h"
#include "engine/key.h"

#include <assert.h>

enum {
    SLICE_KEYS = 256,
    SLICE_BYTES = 64 << 10, /* about what their removal takes in the WAL */
};

/* ---- markers ------------------------------------------------------------- */

static enum rn_code marker_put(struct rn_txn *txn, char tag, uint32_t number)
{
    struct rn_key key;

    rn_key_catalog(tag, number, &key);
    return rn_txn_put(txn, rn_key_view(&key), RN_LIT(""));
}

static enum rn_code marker_del(struct rn_txn *txn, char tag, uint32_t number)
{
    struct rn_key key;

    rn_key_catalog(tag, number, &key);
    return rn_txn_del(txn, rn_key_view(&key));
}

/* The first marker of a kind.  RN_NOT_FOUND if none exists. */
static enum rn_code marker_find(struct rn_txn *txn, char tag, uint32_t *number)
{
    struct rn_key from, before, found;
    size_t count;
    enum rn_code rc;

    rn_key_span_tag(RN_CATALOG_NUMBER, tag, &from, &before);
    rc = rn_key_collect(txn, &from, &before, &found, 1, &count);
    if (rc || !count)
        return rc ? rc : RN_NOT_FOUND;
    if (found.len != RN_KEY_HEAD + 4)
        return RN_CORRUPT;
    *number = rn_get_u32_be(found.bytes + RN_KEY_HEAD);
    return RN_OK;
}

enum rn_code rn_drop_mark_container(struct rn_txn *txn, uint32_t number)
{
    return marker_put(txn, RN_TAG_DROP_CONTAINER, number);
}

enum rn_code rn_drop_mark_database(struct rn_txn *txn, uint32_t database)
{
    return marker_put(txn, RN_TAG_DROP_DATABASE, database);
}

enum rn_code rn_drop_find_database(struct rn_txn *txn, uint32_t database)
{
    struct rn_key key;
    struct rn_view value;

    rn_key_catalog(RN_TAG_DROP_DATABASE, database, &key);
    return rn_txn_get(txn, rn_key_view(&key), &value);
}

enum rn_code rn_drop_count_databases(struct rn_txn *txn, uint32_t *out)
{
    struct rn_key from, before, found;
    size_t count = 1;
    enum rn_code rc = RN_OK;

    *out = 0;
    rn_key_span_tag(RN_CATALOG_NUMBER, RN_TAG_DROP_DATABASE, &from, &before);
    while (!rc && count) {
        rc = rn_key_collect(txn, &from, &before, &found, 1, &count);
        if (rc || !count)
            break;
        *out += 1;
        from = found;
        from.bytes[from.len++] = 0; /* the key just after it */
    }
    return rc;
}

/* ---- slices -------------------------------------------------------------- */

static enum rn_code sweep_database(struct rn_engine *e, struct rn_txn *txn)
{
    struct rn_removal from = e->removal;
    uint32_t number = 0;
    enum rn_code rc = marker_find(txn, RN_TAG_DROP_DATABASE, &number);

    if (from.database != number)
        from = (struct rn_removal){ .database = number };
    if (!rc)
        rc = rn_objects_remove(txn, &from, &e->removed);
    return rc || !e->removed.is_last
               ? rc
               : marker_del(txn, RN_TAG_DROP_DATABASE, number);
}

static enum rn_code sweep_container(struct rn_engine *e, struct rn_txn *txn)
{
    struct rn_key *keys, from, before;
    uint32_t number = 0;
    size_t count = 0;
    enum rn_code rc = marker_find(txn, RN_TAG_DROP_CONTAINER, &number);

    if (rc)
        return rc;
    keys = rn_new(SLICE_KEYS * sizeof(*keys));
    if (!keys)
        return RN_NOMEM;
    rn_key_span_container(number, &from, &before);
    rc = rn_key_collect(txn, &from, &before, keys, SLICE_KEYS, &count);
    for (size_t i = 0; !rc && i < count; i++)
        rc = rn_txn_del(txn, rn_key_view(&keys[i]));
    if (!rc && count < SLICE_KEYS)
        rc = marker_del(txn, RN_TAG_DROP_CONTAINER, number);
    rn_free(keys);
    rn_bloom_end(&e->blooms, number);
    return rc;
}

static enum rn_code run(struct rn_engine *e, struct rn_txn *txn)
{
    enum rn_code rc;

    e->removed = (struct rn_removed){ 0 };
    rc = sweep_database(e, txn);
    return rc == RN_NOT_FOUND ? sweep_container(e, txn) : rc;
}

/* Goes on until no marker remains; if the store is full or has failed, it stops
 * until the next deletion or start. */
static void done(struct rn_engine *e, enum rn_code rc, const struct rn_err *err)
{
    (void)err;
    if (rc) {
        rn_background_set(e, RN_BACKGROUND_DROP, RN_NEVER);
        return;
    }
    e->removal = e->removed.next;
    for (size_t i = 0; i < e->removed.count; i++)
        rn_catalog_forget(e, e->removed.rids[i]);
    if (e->removed.is_last)
        rn_catalog_end_drop(e);
}

const struct rn_background_ops rn_drop_background = {
    .priority = 2,
    .flags = RN_OPERATION_FREES,
    .bytes = SLICE_BYTES,
    .run = run,
    .done = done,
};
