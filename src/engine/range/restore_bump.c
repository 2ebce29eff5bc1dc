/* restore_bump.c -- raises LSNs, ids and etags after a restore above all that
 * the store ever gave out.
 *
 * After a backup the store went on: it gave out LSNs, range ids, rids and etags
 * that the copy does not have, and clients hold them.  If they were given out
 * again, clients would be misled: a reader at LSN 50 would skip a new change
 * 50.  So, once for each restore in the store's past,
 *
 *   LSNs        of every living range are raised by 2^32.  Old continuations
 *               stay valid, and all new changes are above them
 *   range ids   1,024 are skipped.  A reader of the full container may name a
 *               range that was made after the backup.  Its interval is unknown,
 *               so each skipped id gets a row that holds everything: the reader
 *               goes on everywhere from the earliest of these positions
 *   rids, etags of documents and of the catalog are raised as well
 *
 * The row 0 | 'e' counts the restores for which this was done.  It is written
 * after all containers, each of which is a transaction; after a crash in
 * between some are raised twice, which leaves a wider gap and has no other
 * effect.
 */
#include "engine/range/restore_bump.h"

#include "engine/catalog/catalog_rows.h"
#include "engine/engine_state.h"

#include "base/bytes.h"
#include "engine/catalog/object.h"

enum {
    ROW_BYTES = 8,
    IDS_PASSED = RN_RANGES_MAX,
    LIST_MAX = 64,
    CATALOG_STEP = 1 << 12,
};

static const uint64_t lsn_step = UINT64_C(1) << 32;
static const uint64_t rid_step = UINT64_C(1) << 24;

static void restored_key(struct rn_key *out)
{
    struct rn_key end;

    rn_key_span_tag(RN_CATALOG_NUMBER, RN_TAG_RESTORED, out, &end);
}

static enum rn_code read_seen(struct rn_txn *txn, uint64_t *out)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    *out = 0;
    restored_key(&key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    if (rc)
        return rc == RN_NOT_FOUND ? RN_OK : rc;
    if (bytes.len != ROW_BYTES)
        return RN_CORRUPT;
    *out = rn_get_u64_be(bytes.at);
    return RN_OK;
}

/* ---- a container --------------------------------------------------------- */

static enum rn_code raise_range(struct rn_txn *txn,
                                const struct rn_container *c, uint32_t id,
                                uint64_t times, uint64_t *highest)
{
    struct rn_row_range row;
    enum rn_code rc = rn_range_read(txn, c, id, &row);

    if (rc)
        return rc;
    row.lsn += times * lsn_step;
    row.next_rid += times * rid_step;
    if (c->history.seconds == RN_HISTORY_OFF)
        row.lost = row.lsn;
    if (*highest < row.lsn)
        *highest = row.lsn;
    return rn_range_write(txn, c, id, &row);
}

static enum rn_code raise_container(struct rn_txn *txn,
                                    const struct rn_container *c,
                                    uint64_t times)
{
    struct rn_row_range passed = { .state = RN_RANGE_BARE, .epks = rn_epk_all };
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < c->range_count; i++)
        rc = raise_range(txn, c, c->ranges[i].id, times, &passed.lsn);
    passed.lost = passed.lsn;
    for (uint32_t i = 0; !rc && i < IDS_PASSED; i++)
        rc = rn_range_write(txn, c, c->next_range + i, &passed);
    return rc;
}

/* ---- the store ----------------------------------------------------------- */

static enum rn_code end_write(struct rn_txn *txn, enum rn_code rc,
                              struct rn_err *err)
{
    if (!rc)
        return rn_txn_commit(txn, err);
    rc = rn_fail(err, rc, "raising a restored store: %s", rn_txn_why(txn, rc));
    rn_txn_abort(txn);
    return rc;
}

static enum rn_code write_container(struct rn_engine *e,
                                    const struct rn_container *c,
                                    uint64_t times, struct rn_err *err)
{
    struct rn_lock lock = { .container = c->number };
    struct rn_txn *txn = NULL;
    enum rn_code rc = rn_txn_begin(e->store, RN_TXN_WRITE, lock, &txn, err);

    return rc ? rc : end_write(txn, raise_container(txn, c, times), err);
}

static enum rn_code write_catalog(struct rn_engine *e, uint64_t restored,
                                  struct rn_err *err)
{
    char bytes[ROW_BYTES];
    struct rn_counters counters;
    struct rn_txn *txn = NULL;
    struct rn_key key;
    enum rn_code rc =
        rn_txn_begin(e->store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, err);

    if (rc)
        return rc;
    rc = rn_counters_take(e, txn, &counters);
    if (!rc) {
        counters.database += CATALOG_STEP;
        counters.container += CATALOG_STEP;
        counters.offer += CATALOG_STEP;
        counters.etag += lsn_step;
        rc = rn_counters_give(txn, &counters);
    }
    restored_key(&key);
    rn_put_u64_be(bytes, restored);
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(&key),
                        rn_view_of(bytes, sizeof(bytes)));
    return end_write(txn, rc, err);
}

/* Called for each object of a kind. */
typedef enum rn_code each_fn(struct rn_engine *e, const struct rn_object *o,
                             uint64_t times, struct rn_err *err);

static enum rn_code for_each(struct rn_engine *e, enum rn_kind kind,
                             struct rn_rid owner, uint64_t times, each_fn *each,
                             struct rn_err *err)
{
    struct rn_object *list[LIST_MAX];
    struct rn_rid last;
    enum rn_code rc = RN_OK;
    size_t count = rn_catalog_list(e, kind, owner, NULL, list, LIST_MAX);

    while (count) {
        last = list[count - 1]->rid;
        for (size_t i = 0; i < count; i++) {
            if (!rc)
                rc = each(e, list[i], times, err);
            rn_object_release(list[i]);
        }
        if (rc)
            break;
        count = rn_catalog_list(e, kind, owner, &last, list, LIST_MAX);
    }
    return rc;
}

static enum rn_code each_container(struct rn_engine *e,
                                   const struct rn_object *o, uint64_t times,
                                   struct rn_err *err)
{
    return write_container(e, o->container, times, err);
}

static enum rn_code each_database(struct rn_engine *e,
                                  const struct rn_object *o, uint64_t times,
                                  struct rn_err *err)
{
    return for_each(e, RN_KIND_CONTAINER, o->rid, times, each_container, err);
}

static enum rn_code count_new(struct rn_engine *e, uint64_t restored,
                              uint64_t *out, struct rn_err *err)
{
    struct rn_txn *txn = NULL;
    uint64_t seen = 0;
    enum rn_code rc =
        rn_txn_begin(e->store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, err);

    if (rc)
        return rc;
    rc = read_seen(txn, &seen);
    if (rc)
        rc = rn_fail(err, rc, "the row of restores: %s", rn_txn_why(txn, rc));
    rn_txn_abort(txn);
    *out = restored > seen ? restored - seen : 0;
    return rc;
}

enum rn_code rn_restore_bump_raise(struct rn_engine *e, struct rn_err *err)
{
    struct rn_store_status status;
    uint64_t times = 0;
    enum rn_code rc;

    rn_store_status(e->store, &status);
    if (!status.restored)
        return RN_OK;
    rc = count_new(e, status.restored, &times, err);
    if (rc || !times)
        return rc;
    rc = for_each(e, RN_KIND_DATABASE, (struct rn_rid){ 0 }, times,
                  each_database, err);
    if (!rc)
        rc = write_catalog(e, status.restored, err);
    if (rc)
        return rc;
    rn_catalog_unload(e); /* to reload it: its containers cache their ranges */
    return rn_catalog_load(e, err);
}
