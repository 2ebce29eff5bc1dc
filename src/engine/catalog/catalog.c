/* catalog.c -- the catalog in memory; see catalog.h. */
#include "engine/catalog/catalog.h"
#include "engine/catalog/object.h"
#include "engine/cleanup/drop_container.h"

#include "engine/engine_state.h"
#include "engine/index/index_set.h"

/* Keys of the two trees: kind, owner, then the id or the rid. */
static void tree_key(enum rn_kind kind, struct rn_rid owner, struct rn_key *out)
{
    out->bytes[0] = (char)kind;
    out->len = 1;
    if (owner.kind != RN_KIND_ACCOUNT) {
        unsigned char bytes[RN_RID_BYTES_MAX];
        size_t len = rn_rid_encode(owner, bytes);
        memcpy(out->bytes + 1, bytes, len);
        out->len += len;
    }
}

static void rid_key(struct rn_rid rid, struct rn_key *out)
{
    unsigned char bytes[RN_RID_BYTES_MAX];
    size_t len = rn_rid_encode(rid, bytes);

    tree_key(rid.kind, rn_rid_owner(rid), out);
    memcpy(out->bytes + out->len, bytes, len);
    out->len += len;
}

/* Ids have up to 255 characters, which may be more bytes than a tree's key can
 * have; here, too, the name key holds their hash. */
static void name_key(enum rn_kind kind, struct rn_rid owner, struct rn_view id,
                     struct rn_key *out)
{
    rn_key_name(kind, owner, id, out);
}

static struct rn_object *object_at(const struct rn_tree_entry *entry)
{
    struct rn_object *o;

    memcpy(&o, entry->value.at, sizeof(struct rn_object *));
    return o;
}

/* The objects of a deleted database are removed in slices (drop_container.c).
 * Until then they are in memory, without their database, and invisible. */
static bool is_seen(const struct rn_engine *e, const struct rn_object *o)
{
    struct rn_rid rid = o->rid;
    struct rn_key key;

    if (!e->dropped || o->kind == RN_KIND_DATABASE)
        return true;
    if (o->kind == RN_KIND_OFFER && !rn_rid_parse(o->id, &rid))
        return true;
    rid_key(rn_rid_database(rid.database), &key);
    return rn_tree_find(&e->by_rid, rn_key_view(&key)) != NULL;
}

/* `all`: includes objects of deleted databases. */
static struct rn_object *find(struct rn_engine *e, const struct rn_tree *tree,
                              const struct rn_key *key, bool all)
{
    const struct rn_tree_entry *entry;
    struct rn_object *o = NULL;

    pthread_mutex_lock(&e->lock);
    entry = rn_tree_find(tree, rn_key_view(key));
    if (entry && (all || is_seen(e, object_at(entry))))
        o = rn_object_share(object_at(entry));
    pthread_mutex_unlock(&e->lock);
    return o;
}

struct rn_object *rn_catalog_find(struct rn_engine *e, enum rn_kind kind,
                                  struct rn_rid owner, struct rn_view id)
{
    struct rn_key key;

    name_key(kind, owner, id, &key);
    return find(e, &e->by_name, &key, false);
}

struct rn_object *rn_catalog_find_rid(struct rn_engine *e, struct rn_rid rid)
{
    struct rn_key key;

    rid_key(rid, &key);
    return find(e, &e->by_rid, &key, false);
}

struct rn_object *rn_catalog_find_offer(struct rn_engine *e, struct rn_rid of)
{
    char name[RN_RID_TEXT_MAX];

    return rn_catalog_find(e, RN_KIND_OFFER, (struct rn_rid){ 0 },
                           rn_rid_print(of, name));
}

/* Objects of one kind below an owner, in the order of their rids. */
struct listing {
    enum rn_kind kind;
    struct rn_rid owner;
    const struct rn_rid *after; /* NULL: from the first */
    bool has_hidden;            /* also objects that clients do not see */
};

static size_t list(struct rn_engine *e, const struct listing *l,
                   struct rn_object **out, size_t max)
{
    const struct rn_tree_entry *entry = NULL;
    struct rn_key from, before;
    struct rn_key_interval range;
    size_t count = 0;

    tree_key(l->kind, l->owner, &from);
    before = from;
    memset(before.bytes + before.len, 0xff, RN_RID_BYTES_MAX + 1);
    before.len += RN_RID_BYTES_MAX + 1;
    if (l->after) {
        rid_key(*l->after, &from);
        from.bytes[from.len++] = 0; /* the key just after it */
    }
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    pthread_mutex_lock(&e->lock);
    while (count < max) {
        entry = rn_tree_next(&e->by_rid, &range, entry);
        if (!entry)
            break;
        if (l->has_hidden || is_seen(e, object_at(entry)))
            out[count++] = rn_object_share(object_at(entry));
    }
    pthread_mutex_unlock(&e->lock);
    return count;
}

size_t rn_catalog_list(struct rn_engine *e, enum rn_kind kind,
                       struct rn_rid owner, const struct rn_rid *after,
                       struct rn_object **out, size_t max)
{
    return list(
        e, &(struct listing){ .kind = kind, .owner = owner, .after = after },
        out, max);
}

/* ---- changes ------------------------------------------------------------- */

static struct rn_view pointer_view(struct rn_object *const *o)
{
    return rn_view_of((const void *)o, sizeof(struct rn_object *));
}

/* A copy of both trees, for rollback: they must change together. */
struct kept {
    struct rn_tree by_name, by_rid;
};

static struct kept keep(const struct rn_engine *e)
{
    return (struct kept){ rn_tree_copy(&e->by_name), rn_tree_copy(&e->by_rid) };
}

/* Ends a change: keeps it, or rolls it back if it failed with `rc`. */
static void end_change(struct rn_engine *e, struct kept *k, enum rn_code rc)
{
    struct kept now = { e->by_name, e->by_rid };

    if (rc) {
        e->by_name = k->by_name;
        e->by_rid = k->by_rid;
        *k = now;
    }
    rn_tree_release(&k->by_name);
    rn_tree_release(&k->by_rid);
}

enum rn_code rn_catalog_put(struct rn_engine *e, struct rn_object *o)
{
    const struct rn_tree_entry *entry;
    struct rn_object *old = NULL;
    struct rn_key name, rid;
    struct kept kept;
    enum rn_code rc;

    name_key(o->kind, rn_rid_owner(o->rid), o->id, &name);
    rid_key(o->rid, &rid);
    pthread_mutex_lock(&e->lock);
    kept = keep(e);
    entry = rn_tree_find(&e->by_rid, rn_key_view(&rid));
    if (entry)
        old = object_at(entry);
    rc = rn_tree_put(&e->by_name, rn_key_view(&name), pointer_view(&o));
    if (!rc)
        rc = rn_tree_put(&e->by_rid, rn_key_view(&rid), pointer_view(&o));
    if (!rc && old && !rn_view_eq(old->id, o->id)) {
        name_key(old->kind, rn_rid_owner(old->rid), old->id, &name);
        rc = rn_tree_del(&e->by_name, rn_key_view(&name));
    }
    if (!rc)
        (void)rn_object_share(o);
    end_change(e, &kept, rc);
    pthread_mutex_unlock(&e->lock);
    if (!rc)
        rn_object_release(old);
    if (!rc && o->kind == RN_KIND_CONTAINER)
        rc = rn_ttl_learn(e, o);
    if (!rc && o->kind == RN_KIND_CONTAINER)
        rn_indexer_learn(e, o);
    return rc;
}

/* Removes an object from the trees, and drops the catalog's reference. */
static void take_out(struct rn_engine *e, struct rn_object *o)
{
    struct rn_key name, rid;
    struct kept kept;
    enum rn_code rc;

    if (!o)
        return;

    name_key(o->kind, rn_rid_owner(o->rid), o->id, &name);
    rid_key(o->rid, &rid);
    pthread_mutex_lock(&e->lock);
    kept = keep(e);
    rc = rn_tree_del(&e->by_name, rn_key_view(&name));
    if (!rc)
        rc = rn_tree_del(&e->by_rid, rn_key_view(&rid));
    end_change(e, &kept, rc);
    pthread_mutex_unlock(&e->lock);
    if (o->kind == RN_KIND_CONTAINER)
        rn_indexer_forget(e, o->number);
    if (!rc)
        rn_object_release(o);
    rn_object_release(o);
}

static void forget_offer(struct rn_engine *e, struct rn_rid of)
{
    char text[RN_RID_TEXT_MAX];
    struct rn_key key;

    name_key(RN_KIND_OFFER, (struct rn_rid){ 0 }, rn_rid_print(of, text), &key);
    take_out(e, find(e, &e->by_name, &key, true));
}

void rn_catalog_forget(struct rn_engine *e, struct rn_rid rid)
{
    struct listing permissions = { .kind = RN_KIND_PERMISSION,
                                   .owner = rid,
                                   .has_hidden = true };
    struct rn_object *child;
    struct rn_rid last;
    struct rn_key key;

    while (rid.kind == RN_KIND_USER && list(e, &permissions, &child, 1)) {
        last = child->rid;
        permissions.after = &last;
        take_out(e, child);
    }
    forget_offer(e, rid);
    rid_key(rid, &key);
    take_out(e, find(e, &e->by_rid, &key, true));
}

void rn_catalog_drop(struct rn_engine *e, struct rn_rid database)
{
    pthread_mutex_lock(&e->lock);
    e->dropped++;
    pthread_mutex_unlock(&e->lock);
    rn_catalog_forget(e, database);
}

void rn_catalog_end_drop(struct rn_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->dropped--;
    pthread_mutex_unlock(&e->lock);
}

static enum rn_code load_object(struct rn_engine *e, struct rn_txn *txn,
                                struct rn_view key, struct rn_view value,
                                struct rn_err *err)
{
    struct rn_object *o = NULL;
    struct rn_rid rid;
    enum rn_code rc;

    if (key.len < RN_KEY_HEAD + 2 ||
        !rn_rid_decode(
            rn_view_of(key.at + RN_KEY_HEAD + 1, key.len - RN_KEY_HEAD - 1),
            &rid))
        return rn_fail(err, RN_CORRUPT, "a catalog key is damaged");
    rid.kind = (enum rn_kind)key.at[RN_KEY_HEAD];
    rc = rn_object_decode(txn, rid.kind, rid, value, &o, err);
    if (!rc)
        rc = rn_catalog_put(e, o);
    rn_object_release(o);
    return rc;
}

enum rn_code rn_catalog_load(struct rn_engine *e, struct rn_err *err)
{
    struct rn_key from, before;
    struct rn_key_interval range;
    struct rn_cursor *c = NULL;
    struct rn_txn *txn = NULL;
    struct rn_view key, value;
    enum rn_code rc =
        rn_txn_begin(e->store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, err);

    if (rc)
        return rc;
    rn_key_span_tag(RN_CATALOG_NUMBER, RN_TAG_OBJECT, &from, &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    rc = rn_txn_scan(txn, &range, &c);
    while (!rc) {
        rc = rn_cursor_next(c, &key, &value);
        if (!rc)
            rc = load_object(e, txn, key, value, err);
    }
    rn_cursor_end(c);
    if (rc == RN_NOT_FOUND)
        rc = rn_drop_count_databases(txn, &e->dropped);
    rn_txn_abort(txn);
    return rc;
}

void rn_catalog_unload(struct rn_engine *e)
{
    const struct rn_tree_entry *entry = NULL;
    struct rn_key_interval all = { 0 };

    while ((entry = rn_tree_next(&e->by_rid, &all, entry)))
        rn_object_release(object_at(entry));
    rn_tree_release(&e->by_name);
    rn_tree_release(&e->by_rid);
}
