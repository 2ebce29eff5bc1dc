/* catalog_change.c -- changes of the catalog: prepared by the caller's thread,
 * decided in the committer.
 *
 * Names and numbers are decided on rows read in the transaction itself: the
 * name row says whether an id is taken, the counters row gives the next number.
 * Memory is updated when the change is durable.
 */
#include "engine/catalog/catalog_change.h"

#include "engine/catalog/catalog_remove.h"
#include "engine/catalog/catalog_rows.h"
#include "engine/catalog/definition.h"
#include "engine/catalog/definition_check.h"
#include "engine/catalog/object_json.h"
#include "engine/catalog/offer.h"
#include "engine/cleanup/drop_container.h"
#include "engine/engine_state.h"

#include "cosmos/link.h"
#include "cosmos/status.h"
#include "engine/catalog/object.h"
#include "engine/engine.h"
#include "engine/range/split_merge.h"
#include "waiters/waiters.h"
#include "json/print.h"

enum { BODY_MAX = 2 << 20 };

/* ---- deciding ------------------------------------------------------------ */

/* The sub-status of a database differs from that of other objects. */
static enum rn_code refuse_taken(enum rn_kind kind, struct rn_err *err)
{
    if (kind == RN_KIND_DATABASE) {
        return rn_fail_reason(
            err, RN_REASON_DATABASE_EXISTS, "%s",
            rn_status_of(RN_OK, RN_REASON_DATABASE_EXISTS)->text);
    }
    return rn_fail_usual(err, RN_CONFLICT);
}

static enum rn_code check_owner(struct rn_txn *txn,
                                const struct rn_catalog_change *c,
                                struct rn_err *err)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    if (c->owner.kind == RN_KIND_ACCOUNT)
        return RN_OK;
    rn_key_object(c->owner.kind, c->owner, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    if (rc == RN_NOT_FOUND)
        rc = rn_fail_reason(err, RN_REASON_OWNER,
                            "Owner resource does not exist");
    return rc;
}

/* Assigns the numbers of a new object. */
static void draw(struct rn_counters *n, const struct rn_catalog_change *c,
                 struct rn_object *o)
{
    o->etag.lsn = ++n->etag;
    if (c->kind == RN_KIND_DATABASE) {
        o->rid = rn_rid_database(++n->database);
    } else if (c->kind == RN_KIND_CONTAINER) {
        o->rid = rn_rid_container(c->owner.database, ++n->container);
        o->number = ++n->number;
        o->has_series = true;
    } else if (c->kind == RN_KIND_USER) {
        o->rid = rn_rid_user(c->owner.database, ++n->container);
    } else {
        o->rid = rn_rid_child(c->owner, c->kind, n->etag);
    }
}

static enum rn_code make_ranges(struct rn_txn *txn,
                                const struct rn_catalog_change *c,
                                const struct rn_object *o, struct rn_err *err)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    uint32_t count = 1;
    struct rn_pkdef def;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, o->body, err);
    if (!rc)
        rc = rn_pkdef_parse(&j, rn_json_find(&j, 0, RN_LIT("partitionKey")),
                            &arena, &def, err);
    if (!rc && def.is_system)
        rc = rn_offer_terms_check_keyless(&c->terms, err);
    if (!rc && !def.is_system)
        count = c->ranges ? c->ranges
                          : rn_offer_terms_new_ranges(c->engine, &c->terms);
    if (!rc) {
        rc = rn_container_make_ranges(
            txn, o->number, &def, count,
            c->engine->opts.is_strict && !c->lsn ? 1 : c->lsn);
    }
    rn_json_release(&j);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code check_free(struct rn_txn *txn,
                               const struct rn_catalog_change *c,
                               struct rn_err *err)
{
    struct rn_rid taken;
    enum rn_code rc = rn_name_get(txn, c->kind, c->owner, c->name, &taken);

    return rc == RN_NOT_FOUND ? RN_OK : rc ? rc : refuse_taken(c->kind, err);
}

/* Makes a container's ranges and in-memory state, besides its row. */
static enum rn_code make_container(struct rn_catalog_change *c,
                                   struct rn_txn *txn, struct rn_err *err)
{
    enum rn_code rc = make_ranges(txn, c, c->object, err);

    rn_bloom_begin(&c->engine->blooms, c->object->number);
    return rc ? rc
              : rn_container_new(txn, c->object, &c->object->container, err);
}

static enum rn_code run_create(struct rn_catalog_change *c, struct rn_txn *txn,
                               struct rn_err *err)
{
    struct rn_object like = { .kind = c->kind, .ts = rn_engine_now(c->engine) };
    struct rn_counters n;
    enum rn_code rc = check_owner(txn, c, err);

    if (!rc)
        rc = check_free(txn, c, err);
    if (!rc && c->kind == RN_KIND_CONTAINER)
        rc = rn_definition_check_keys(txn, c->owner, c->body, err);
    if (!rc)
        rc = rn_counters_take(c->engine, txn, &n);
    if (rc)
        return rc;
    c->created = true;
    like.created_ts = like.ts;
    draw(&n, c, &like);
    rc = rn_object_json_finish(&like, c->name, rn_buf_view(&c->text),
                               &c->object);
    if (!rc)
        rc = rn_object_put(txn, c->object, err);
    if (!rc && (c->kind == RN_KIND_DATABASE || c->kind == RN_KIND_CONTAINER))
        rc = rn_offer_create(c, txn, &n, err);
    if (!rc)
        rc = rn_counters_give(txn, &n);
    if (!rc && c->kind == RN_KIND_CONTAINER)
        rc = make_container(c, txn, err);
    return rc;
}

/* Finds the object to change, if the condition holds. */
static enum rn_code find_target(struct rn_catalog_change *c, struct rn_txn *txn,
                                struct rn_object **out, struct rn_err *err)
{
    struct rn_rid rid = c->rid;
    char etag[RN_ETAG_LEN];
    struct rn_view id = c->verb == RN_CATALOG_UPSERT ? c->name : c->id;
    enum rn_code rc = RN_OK;

    if (rid.kind == RN_KIND_ACCOUNT)
        rc = rn_name_get(txn, c->kind, c->owner, id, &rid);
    if (!rc)
        rc = rn_object_get(txn, rid, out, err);
    if (rc == RN_NOT_FOUND)
        return rn_fail_usual(err, rc);
    if (rc)
        return rc;
    rn_etag_print((*out)->etag, etag);
    if (c->if_match.len &&
        !rn_etag_matches(c->if_match, rn_view_of(etag, RN_ETAG_LEN))) {
        return rn_fail_usual(err, RN_PRECONDITION);
    }
    return RN_OK;
}

/* Prints the client's part of the object that replaces `old`; sets the numbers
 * of an offer as well. */
static enum rn_code print_replaced(struct rn_catalog_change *c,
                                   const struct rn_object *old,
                                   struct rn_object *like, struct rn_err *err)
{
    if (c->kind != RN_KIND_CONTAINER && c->kind != RN_KIND_OFFER)
        return RN_OK; /* prepared: does not depend on the old one */
    rn_buf_clear(&c->text);
    if (c->kind == RN_KIND_CONTAINER)
        return rn_definition_print(c->body, old, &c->text, err);
    c->name = c->id;
    return rn_offer_replace(c, old, like, &c->text, err);
}

/* Puts a new version in place of the old, which may have had another name. */
static enum rn_code put_replaced(struct rn_catalog_change *c,
                                 struct rn_txn *txn,
                                 const struct rn_object *old,
                                 struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    if (!rn_view_eq(c->name, old->id)) {
        rc = c->kind == RN_KIND_CLIENT_KEY
                 ? rn_fail(err, RN_BAD_REQUEST,
                           "The id of a client encryption key cannot be "
                           "replaced")
                 : check_free(txn, c, err);
    }
    if (!rc && c->kind != RN_KIND_CONTAINER)
        rc = rn_object_del(txn, old); /* for its old names */
    return rc ? rc : rn_object_put(txn, c->object, err);
}

/* The creation time of a client key, which only its JSON has. */
static int64_t read_created(const struct rn_object *o)
{
    int64_t ts = o->ts; /* for a key whose JSON lacks it */
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (o->kind == RN_KIND_CLIENT_KEY && !rn_json_parse(&j, o->body, NULL)) {
        uint32_t value = rn_json_find(&j, 0, RN_LIT("createTimestamp"));
        if (rn_json_kind(&j, value) == RN_JSON_NUMBER)
            (void)rn_json_int64(&j, value, &ts);
    }
    rn_json_release(&j);
    return ts;
}

static enum rn_code replace(struct rn_catalog_change *c, struct rn_txn *txn,
                            const struct rn_object *old, struct rn_err *err)
{
    struct rn_object like = { .kind = c->kind,
                              .rid = old->rid,
                              .number = old->number,
                              .has_series = old->has_series,
                              .created_ts = read_created(old),
                              .ts = rn_engine_now(c->engine) };
    struct rn_counters n;
    enum rn_code rc = rn_counters_take(c->engine, txn, &n);

    if (!rc) {
        like.etag.lsn = ++n.etag;
        rc = print_replaced(c, old, &like, err);
    }
    if (!rc)
        rc = rn_object_json_finish(&like, c->name, rn_buf_view(&c->text),
                                   &c->object);
    if (!rc)
        rc = put_replaced(c, txn, old, err);
    if (!rc)
        rc = rn_counters_give(txn, &n);
    if (!rc && c->kind == RN_KIND_CONTAINER)
        rc = rn_container_new(txn, c->object, &c->object->container, err);
    return rc;
}

static enum rn_code run_replace(struct rn_catalog_change *c, struct rn_txn *txn,
                                struct rn_err *err)
{
    struct rn_object *old = NULL;
    enum rn_code rc = find_target(c, txn, &old, err);

    if (rc == RN_NOT_FOUND && c->verb == RN_CATALOG_UPSERT)
        rc = run_create(c, txn, err);
    else if (!rc && old)
        rc = replace(c, txn, old, err);
    rn_object_release(old);
    return rc;
}

static enum rn_code run_delete(struct rn_catalog_change *c, struct rn_txn *txn,
                               struct rn_err *err)
{
    enum rn_code rc = find_target(c, txn, &c->object, err);

    if (rc)
        return rc;
    rn_engine_note_move(c->engine, RN_CONTAINER_ANY, RN_RANGE_ANY,
                        RN_EPK_PREFIXES_ALL);
    return rn_object_remove(txn, c->object, err);
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_catalog_change *c =
        RN_CONTAINER_OF(op, struct rn_catalog_change, operation);

    rn_object_release(c->object); /* of a run that was undone */
    rn_object_release(c->offer);
    c->object = c->offer = NULL;
    c->created = false;
    switch (c->verb) {
    case RN_CATALOG_CREATE:
        return run_create(c, txn, &op->err);
    case RN_CATALOG_UPSERT:
    case RN_CATALOG_REPLACE:
        return run_replace(c, txn, &op->err);
    case RN_CATALOG_DELETE:
        return run_delete(c, txn, &op->err);
    }
    return RN_BAD_REQUEST;
}

/* ---- after the commit ---------------------------------------------------- */

/* If the new throughput needs more ranges, splits the ranges, unless the
 * container has no partition key to split by.  Less throughput merges none, as
 * in the service.  True if the change is done only after the splits, so that
 * the client sees the new ranges with its answer. */
static bool follow_offer(struct rn_catalog_change *c)
{
    const struct rn_object *offer = c->object;
    struct rn_offer_terms terms = { .manual = offer->throughput,
                                    .autoscale = offer->autoscale };
    struct rn_object *o = NULL;
    struct rn_rid rid;
    bool grows;

    if (rn_rid_parse(offer->id, &rid) && rid.kind == RN_KIND_CONTAINER)
        o = rn_catalog_find_rid(c->engine, rid);
    grows =
        o && !o->container->pkdef.is_system &&
        rn_container_grow(c->engine, o,
                          rn_offer_terms_ranges(c->engine, &terms), &c->done);
    rn_object_release(o);
    return grows;
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_catalog_change *c =
        RN_CONTAINER_OF(op, struct rn_catalog_change, operation);

    if (!rc && c->verb == RN_CATALOG_DELETE) {
        if (c->kind == RN_KIND_DATABASE)
            rn_catalog_drop(c->engine, c->object->rid);
        else
            rn_catalog_forget(c->engine, c->object->rid);
        rn_background_set(c->engine, RN_BACKGROUND_DROP, 0);
    } else if (!rc) {
        rc = rn_catalog_put(c->engine, c->object);
        if (!rc && c->offer)
            rc = rn_catalog_put(c->engine, c->offer);
        if (!rc && c->kind == RN_KIND_OFFER && follow_offer(c))
            return;
        if (rc) /* no memory; it is durable, and visible after a restart */
            rc = RN_UNKNOWN;
    }
    c->done.call(&c->done, rc, err);
}

/* ---- preparing ----------------------------------------------------------- */

static enum rn_code read_name(struct rn_catalog_change *c, struct rn_err *err)
{
    struct rn_json j;
    uint32_t id;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, c->body, err);
    id = rn_json_find(&j, 0, RN_LIT("id"));
    if (!rc && rn_json_kind(&j, id) != RN_JSON_STRING) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The input content is invalid because the required "
                     "properties - 'id; ' - are missing");
    }
    if (!rc)
        rc = rn_json_string_copy(&j, id, &c->arena, &c->name);
    if (rc == RN_TOO_LARGE) /* far too long for an id, even if all is escaped */
        rc = rn_id_check(c->kind, rn_json_text(&j, id), err);
    else if (!rc)
        rc = rn_id_check(c->kind, c->name, err);
    rn_json_release(&j);
    return rc;
}

/* Prints the client's part, if it does not depend on the replaced object. */
static enum rn_code prepare_text(struct rn_catalog_change *c,
                                 struct rn_err *err)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&c->text);
    enum rn_code rc;

    if (c->kind == RN_KIND_CONTAINER) {
        return c->verb == RN_CATALOG_CREATE
                   ? rn_definition_print(c->body, NULL, &c->text, err)
                   : RN_OK;
    }
    if (c->kind != RN_KIND_DATABASE)
        return rn_object_json_print(c->kind, c->body, &c->text, err);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, c->name);
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    if (!rc)
        c->text.len--; /* the closing brace */
    return rc;
}

enum rn_code rn_catalog_change_start(struct rn_engine *e,
                                     struct rn_catalog_change *c,
                                     struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    c->engine = e;
    c->arena = RN_ARENA_INIT(1 << 20);
    c->text = RN_BUF_INIT(BODY_MAX);
    c->object = c->offer = NULL;
    c->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = RN_OPERATION_MULTI |
                 (c->verb == RN_CATALOG_DELETE ? RN_OPERATION_FREES : 0),
        .bytes = 2 * c->body.len + 1024,
    };
    if (c->verb != RN_CATALOG_DELETE && c->kind != RN_KIND_OFFER) {
        rc = read_name(c, err);
        if (!rc)
            rc = prepare_text(c, err);
    }
    if (!rc) {
        rc = rn_committer_queue(e->committer, &c->operation);
        if (rc)
            rn_fail(err, rc, "too many writes are under way");
    }
    if (rc)
        rn_catalog_change_release(c);
    return rc;
}

void rn_catalog_change_release(struct rn_catalog_change *c)
{
    rn_object_release(c->object);
    rn_object_release(c->offer);
    c->object = c->offer = NULL;
    rn_buf_release(&c->text);
    rn_arena_release(&c->arena);
}
