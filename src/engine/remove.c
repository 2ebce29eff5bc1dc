/* remove.c -- an object goes, and with it all that lies in it.
 *
 * In the store what lies in an object is found by its rid, which begins with
 * that of its owner.  A container's documents go later, in slices: no key of it
 * can be met any more.
 */
#include "engine/own.h"

#include "cosmos/rid.h"

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

/* The object itself, and what is not an object. */
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
    return rc ? rc : rn_doomed_put(txn, o->number);
}

/* The first object from a key on, which then is just behind it. */
static enum rn_code next_of(struct rn_txn *txn, struct rn_key *from,
                            const struct rn_key *before, struct rn_object **out,
                            struct rn_err *err)
{
    struct rn_range range = { .from = rn_key_view(from),
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

/* All objects of a kind whose rid begins like that of `owner`.  Each is looked
 * for behind the last: from the start one would pass over all that are gone. */
static enum rn_code remove_kind(struct rn_txn *txn, enum rn_kind kind,
                                struct rn_rid owner, struct rn_err *err)
{
    struct rn_key from, before;

    rn_key_object(owner.kind, owner, &from);
    from.bytes[RN_KEY_HEAD] = (char)kind;
    before = from;
    memset(before.bytes + before.len, 0xff, RN_RID_BYTES_MAX);
    before.len += RN_RID_BYTES_MAX;
    for (;;) {
        struct rn_object *child = NULL;
        enum rn_code rc = next_of(txn, &from, &before, &child, err);

        if (!rc)
            rc = remove_one(txn, child, err);
        rn_object_release(child);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
    }
}

enum rn_code rn_object_remove(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_err *err)
{
    enum rn_code rc = remove_one(txn, o, err);

    if (o->kind == RN_KIND_DATABASE) {
        if (!rc)
            rc = remove_kind(txn, RN_KIND_CONTAINER, o->rid, err);
        if (!rc)
            rc = remove_kind(txn, RN_KIND_USER, o->rid, err);
        if (!rc)
            rc = remove_kind(txn, RN_KIND_CLIENT_KEY, o->rid, err);
    }
    if (!rc && (o->kind == RN_KIND_DATABASE || o->kind == RN_KIND_USER))
        rc = remove_kind(txn, RN_KIND_PERMISSION, o->rid, err);
    return rc;
}

/* ---- memory -------------------------------------------------------------- */

static void forget_one(struct rn_engine *e, struct rn_object *o)
{
    struct rn_object *offer = rn_catalog_find_offer(e, o->rid);

    if (offer)
        rn_catalog_remove(e, offer);
    rn_object_release(offer);
    rn_catalog_remove(e, o);
}

/* Depth first; an object lies at most two deep in another. */
static void forget_children(struct rn_engine *e, const struct rn_object *o)
{
    static const enum rn_kind kinds[] = { RN_KIND_PERMISSION, RN_KIND_USER,
                                          RN_KIND_CONTAINER,
                                          RN_KIND_CLIENT_KEY };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct rn_object *child;

        if (rn_kind_owner(kinds[i]) != o->kind)
            continue;
        while (rn_catalog_list(e, kinds[i], o->rid, NULL, &child, 1)) {
            struct rn_object *grandchild;
            while (child->kind == RN_KIND_USER &&
                   rn_catalog_list(e, RN_KIND_PERMISSION, child->rid, NULL,
                                   &grandchild, 1)) {
                forget_one(e, grandchild);
                rn_object_release(grandchild);
            }
            forget_one(e, child);
            rn_object_release(child);
        }
    }
}

void rn_catalog_forget(struct rn_engine *e, struct rn_rid rid)
{
    struct rn_object *o = rn_catalog_find_rid(e, rid);

    if (!o)
        return;
    forget_children(e, o);
    forget_one(e, o);
    rn_object_release(o);
}
