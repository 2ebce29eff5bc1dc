/* catalog_remove.c -- cascading deletion: an object and everything it contains.
 *
 * In the store the contents of an object are found by rid, which begins with
 * that of its owner.  A container's documents are removed later, in slices: no
 * request can reach its keys any more.  So are the objects in a database, of
 * which there may be tens of thousands: a marker row says that they must be
 * removed (drop_container.c), and until then the catalog hides objects whose
 * database does not exist.
 */
#include "engine/catalog/catalog_remove.h"

#include "engine/catalog/catalog_rows.h"
#include "engine/catalog/object.h"
#include "engine/cleanup/drop_container.h"

#include "cosmos/rid.h"
#include "engine/index/index.h"
#include "engine/range/container.h"

static enum rn_code remove_offer(struct rn_txn *txn, struct rn_rid of,
                                 struct rn_err *err)
{
    char name[RN_RID_TEXT_MAX];
    struct rn_object *offer = NULL;
    struct rn_rid rid;
    enum rn_code rc = rn_name_get(txn, RN_KIND_OFFER, (struct rn_rid){ 0 },
                                  rn_rid_print(of, name), &rid);

    if (rc == RN_NOT_FOUND)
        return RN_OK;
    if (!rc)
        rc = rn_object_get(txn, rid, &offer, err);
    if (!rc)
        rc = rn_object_del(txn, offer);
    rn_object_release(offer);
    return rc;
}

/* Removes the object itself, its offer, and its ranges and indexes. */
static enum rn_code remove_one(struct rn_txn *txn, const struct rn_object *o,
                               struct rn_err *err)
{
    enum rn_code rc = rn_object_del(txn, o);

    if (rc || (o->kind != RN_KIND_CONTAINER && o->kind != RN_KIND_DATABASE))
        return rc;
    rc = remove_offer(txn, o->rid, err);
    if (rc || o->kind != RN_KIND_CONTAINER)
        return rc;
    for (size_t i = 0; !rc && i < o->container->range_count; i++) {
        struct rn_key key;
        rn_key_range(o->number, o->container->ranges[i].id, &key);
        rc = rn_txn_del(txn, rn_key_view(&key));
    }
    if (!rc)
        rc = rn_indexes_remove(txn, o->number);
    return rc ? rc : rn_drop_mark_container(txn, o->number);
}

/* The first object at or after `from`, which is moved just past it. */
static enum rn_code next_of(struct rn_txn *txn, struct rn_key *from,
                            const struct rn_key *before, struct rn_object **out,
                            struct rn_err *err)
{
    struct rn_key_interval range = { .from = rn_key_view(from),
                                     .before = rn_key_view(before) };
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    struct rn_rid rid;
    enum rn_code rc = rn_txn_scan(txn, &range, &c);

    if (!rc)
        rc = rn_cursor_next(c, &key, &value);
    if (!rc && !rn_rid_decode(rn_view_of(key.at + RN_KEY_HEAD + 1,
                                         key.len - RN_KEY_HEAD - 1),
                              &rid))
        rc = RN_CORRUPT;
    if (!rc)
        rc = rn_object_decode(txn, (enum rn_kind)key.at[RN_KEY_HEAD], rid,
                              value, out, err);
    if (!rc) {
        memcpy(from->bytes, key.at, key.len);
        from->bytes[key.len] = 0;
        from->len = key.len + 1;
    }
    rn_cursor_end(c);
    return rc;
}

/* The key interval of the objects of a kind whose rids begin with that of
 * `owner`. */
static void span_of(enum rn_kind kind, struct rn_rid owner, struct rn_key *from,
                    struct rn_key *before)
{
    rn_key_object(owner.kind, owner, from);
    from->bytes[RN_KEY_HEAD] = (char)kind;
    *before = *from;
    memset(before->bytes + before->len, 0xff, RN_RID_BYTES_MAX);
    before->len += RN_RID_BYTES_MAX;
}

/* Each search starts after the last hit: from the start it would have to skip
 * all tombstones. */
static enum rn_code remove_permissions(struct rn_txn *txn, struct rn_rid user,
                                       struct rn_err *err)
{
    struct rn_key from, before;
    enum rn_code rc = RN_OK;

    span_of(RN_KIND_PERMISSION, user, &from, &before);
    while (!rc) {
        struct rn_object *child = NULL;

        rc = next_of(txn, &from, &before, &child, err);
        if (!rc)
            rc = remove_one(txn, child, err);
        rn_object_release(child);
    }
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

enum rn_code rn_object_remove(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_err *err)
{
    enum rn_code rc = remove_one(txn, o, err);

    if (!rc && o->kind == RN_KIND_DATABASE)
        rc = rn_drop_mark_database(txn, o->rid.database);
    if (!rc && o->kind == RN_KIND_USER)
        rc = remove_permissions(txn, o->rid, err);
    return rc;
}

/* ---- objects of a deleted database --------------------------------------- */

/* Rows that a slice removes; each range of a container counts as one. */
enum { SLICE_ROWS = 64, OBJECT_ROWS = 4 };

static size_t rows_of(const struct rn_object *o)
{
    return OBJECT_ROWS + (o->container ? o->container->range_count : 0);
}

/* Users before permissions: without a user no permission can be added. */
static const enum rn_kind kinds[] = { RN_KIND_CONTAINER, RN_KIND_USER,
                                      RN_KIND_CLIENT_KEY, RN_KIND_PERMISSION };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Removes objects of one kind; RN_NOT_FOUND when none is left. */
static enum rn_code remove_some(struct rn_txn *txn, size_t *rows,
                                struct rn_removed *out)
{
    struct rn_removal *r = &out->next;
    struct rn_key from, before;
    enum rn_code rc = RN_OK;

    span_of(kinds[r->kind], rn_rid_database(r->database), &from, &before);
    if (!r->at.len)
        r->at = from;
    while (!rc && out->count < RN_REMOVED_MAX && *rows < SLICE_ROWS) {
        struct rn_object *o = NULL;

        rc = next_of(txn, &r->at, &before, &o, NULL);
        if (!rc)
            rc = remove_one(txn, o, NULL);
        if (!rc) {
            out->rids[out->count++] = o->rid;
            *rows += rows_of(o);
        }
        rn_object_release(o);
    }
    return rc;
}

enum rn_code rn_objects_remove(struct rn_txn *txn,
                               const struct rn_removal *from,
                               struct rn_removed *out)
{
    enum rn_code rc = RN_OK;
    size_t rows = 0;

    *out = (struct rn_removed){ .next = *from };
    while (out->next.kind < KINDS) {
        rc = remove_some(txn, &rows, out);
        if (rc != RN_NOT_FOUND)
            return rc;
        out->next.kind++;
        out->next.at.len = 0;
    }
    out->is_last = true;
    return RN_OK;
}
