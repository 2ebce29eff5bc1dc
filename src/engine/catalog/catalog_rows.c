/* catalog_rows.c -- the catalog's rows in the store, within a transaction.
 *
 *   an object   under its kind and rid
 *   its name    kind, owner and id -> rid.  An offer's name is the rid of the
 *               resource it belongs to.  A permission has a second name, the
 *               link that it is for: a user has one permission for a link.
 *               Ids have no '/' and links do, so the two never collide
 *   counters    the last numbers used
 */
#include "engine/catalog/catalog_rows.h"

#include "engine/catalog/object.h"
#include "engine/engine_state.h"

#include "base/bytes.h"
#include "cosmos/permission.h"

enum { ROW_MAX = 5 << 20, COUNTERS_OLD = 20, COUNTERS_BYTES = 24 };

/* ---- counters ------------------------------------------------------------ */

/* A store's numbers start at random, so that a rid that a client has cached
 * from one store does not match in another. */
static void draw(struct rn_engine *e, struct rn_counters *out)
{
    rn_random(e->env, out, sizeof(*out));
    out->database = (out->database & 0x3fffffff) | 0x10000000;
    out->container = out->container & 0x3fffffff;
    out->number = 0;
    out->etag = 0;
    out->offer = 0;
}

enum rn_code rn_counters_take(struct rn_engine *e, struct rn_txn *txn,
                              struct rn_counters *out)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_counters(&key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    if (rc == RN_NOT_FOUND) {
        draw(e, out);
        return RN_OK;
    }
    if (rc)
        return rc;
    if (bytes.len != COUNTERS_BYTES && bytes.len != COUNTERS_OLD)
        return RN_CORRUPT;
    out->database = rn_get_u32_be(bytes.at);
    out->container = rn_get_u32_be(bytes.at + 4);
    out->number = rn_get_u32_be(bytes.at + 8);
    out->etag = rn_get_u64_be(bytes.at + 12);
    /* Rows from before there were offers end here. */
    out->offer =
        bytes.len == COUNTERS_OLD ? 0 : rn_get_u32_be(bytes.at + COUNTERS_OLD);
    return RN_OK;
}

enum rn_code rn_counters_give(struct rn_txn *txn, const struct rn_counters *c)
{
    char bytes[COUNTERS_BYTES];
    struct rn_key key;

    rn_key_counters(&key);
    rn_put_u32_be(bytes, c->database);
    rn_put_u32_be(bytes + 4, c->container);
    rn_put_u32_be(bytes + 8, c->number);
    rn_put_u64_be(bytes + 12, c->etag);
    rn_put_u32_be(bytes + 20, c->offer);
    return rn_txn_put(txn, rn_key_view(&key), rn_view_of(bytes, sizeof(bytes)));
}

/* ---- names --------------------------------------------------------------- */

enum rn_code rn_name_get(struct rn_txn *txn, enum rn_kind kind,
                         struct rn_rid owner, struct rn_view id,
                         struct rn_rid *out)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_name(kind, owner, id, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    if (rc)
        return rc;
    return rn_rid_decode(bytes, out) ? RN_OK : RN_CORRUPT;
}

static enum rn_code name_put(struct rn_txn *txn, const struct rn_object *o,
                             struct rn_view name)
{
    unsigned char bytes[RN_RID_BYTES_MAX];
    struct rn_key key;

    rn_key_name(o->kind, rn_rid_owner(o->rid), name, &key);
    return rn_txn_put(txn, rn_key_view(&key),
                      rn_view_of(bytes, rn_rid_encode(o->rid, bytes)));
}

static enum rn_code name_del(struct rn_txn *txn, const struct rn_object *o,
                             struct rn_view name)
{
    struct rn_key key;

    rn_key_name(o->kind, rn_rid_owner(o->rid), name, &key);
    return rn_txn_del(txn, rn_key_view(&key));
}

/* A permission's second name. */
static enum rn_code print_claim(const struct rn_object *o, struct rn_buf *out)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_permission p;
    enum rn_code rc = rn_permission_parse(o->body, &arena, &p, NULL);

    if (!rc)
        rc = rn_permission_print_claim(&p, out);
    rn_arena_release(&arena);
    return rc;
}

/* Fails if the user has another permission for the resource, named in the same
 * form.  A permission by names and one by rids may coexist, as in the service.
 */
static enum rn_code put_claim(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_err *err)
{
    struct rn_buf claim = RN_BUF_INIT(RN_PERMISSION_CLAIM_MAX);
    struct rn_rid taken;
    enum rn_code rc = print_claim(o, &claim);

    if (rc)
        goto out;
    rc = rn_name_get(txn, o->kind, rn_rid_owner(o->rid), rn_buf_view(&claim),
                     &taken);
    if (!rc && !rn_rid_eq(taken, o->rid)) {
        rc = rn_fail(err, RN_CONFLICT,
                     "The user already has a permission for this resource.");
    } else if (!rc || rc == RN_NOT_FOUND) {
        rc = name_put(txn, o, rn_buf_view(&claim));
    }
out:
    rn_buf_release(&claim);
    return rc;
}

static enum rn_code del_claim(struct rn_txn *txn, const struct rn_object *o)
{
    struct rn_buf claim = RN_BUF_INIT(RN_PERMISSION_CLAIM_MAX);
    enum rn_code rc = print_claim(o, &claim);

    if (!rc)
        rc = name_del(txn, o, rn_buf_view(&claim));
    rn_buf_release(&claim);
    return rc;
}

/* ---- objects ------------------------------------------------------------- */

enum rn_code rn_object_get(struct rn_txn *txn, struct rn_rid rid,
                           struct rn_object **out, struct rn_err *err)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_object(rid.kind, rid, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    return rc ? rc : rn_object_decode(txn, rid.kind, rid, bytes, out, err);
}

enum rn_code rn_object_put(struct rn_txn *txn, const struct rn_object *o,
                           struct rn_err *err)
{
    struct rn_buf row = RN_BUF_INIT(ROW_MAX);
    struct rn_key key;
    enum rn_code rc = rn_object_encode(o, &row);

    rn_key_object(o->kind, o->rid, &key);
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(&key), rn_buf_view(&row));
    if (!rc)
        rc = name_put(txn, o, o->id);
    if (!rc && o->kind == RN_KIND_PERMISSION)
        rc = put_claim(txn, o, err);
    rn_buf_release(&row);
    return rc;
}

enum rn_code rn_object_del(struct rn_txn *txn, const struct rn_object *o)
{
    struct rn_key key;
    enum rn_code rc;

    rn_key_object(o->kind, o->rid, &key);
    rc = rn_txn_del(txn, rn_key_view(&key));
    if (!rc)
        rc = name_del(txn, o, o->id);
    if (!rc && o->kind == RN_KIND_PERMISSION)
        rc = del_claim(txn, o);
    return rc;
}
