/* change.c -- changes of the catalog: prepared here, decided in the committer.
 *
 * Names and numbers are decided on rows read in the transaction itself: the
 * name row says whether an id is taken, the counters row gives the next number.
 * Memory follows when the change is durable.
 */
#include "engine/own.h"

#include "base/bytes.h"
#include "cosmos/link.h"
#include "cosmos/status.h"
#include "json/print.h"

#include <assert.h>

enum {
    BODY_MAX = 2 << 20,
    RU_PER_RANGE = 10000, /* as in the service */
    COUNTERS_BYTES = 20,
};

/* Numbers that are never given twice: u32 database | u32 container rid | u32
 * container number in keys | u64 etag. */
struct counters {
    uint32_t database, container, number;
    uint64_t etag;
};

/* ---- rows ---------------------------------------------------------------- */

/* A store's numbers start at random, so that a client's cached rid of one store
 * does not fit another. */
static enum rn_code counters_take(struct rn_engine *e, struct rn_txn *txn,
                                  struct counters *out)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_counters(&key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    if (rc == RN_NOT_FOUND) {
        rn_random(e->env, out, sizeof(*out));
        out->database = (out->database & 0x3fffffff) | 0x10000000;
        out->container = out->container & 0x3fffffff;
        out->number = 0;
        out->etag = 0;
        return RN_OK;
    }
    if (rc)
        return rc;
    if (bytes.len != COUNTERS_BYTES)
        return RN_CORRUPT;
    out->database = rn_get_u32_be(bytes.at);
    out->container = rn_get_u32_be(bytes.at + 4);
    out->number = rn_get_u32_be(bytes.at + 8);
    out->etag = rn_get_u64_be(bytes.at + 12);
    return RN_OK;
}

static enum rn_code counters_give(struct rn_txn *txn, const struct counters *c)
{
    char bytes[COUNTERS_BYTES];
    struct rn_key key;

    rn_key_counters(&key);
    rn_put_u32_be(bytes, c->database);
    rn_put_u32_be(bytes + 4, c->container);
    rn_put_u32_be(bytes + 8, c->number);
    rn_put_u64_be(bytes + 12, c->etag);
    return rn_txn_put(txn, rn_key_view(&key), rn_view_of(bytes, sizeof(bytes)));
}

/* The rid under a name. */
static enum rn_code name_get(struct rn_txn *txn, enum rn_kind kind,
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

static enum rn_code object_get(struct rn_txn *txn, struct rn_rid rid,
                               struct rn_object **out, struct rn_err *err)
{
    struct rn_key key;
    struct rn_view bytes;
    enum rn_code rc;

    rn_key_object(rid.kind, rid, &key);
    rc = rn_txn_get(txn, rn_key_view(&key), &bytes);
    return rc ? rc : rn_object_decode(txn, rid.kind, rid, bytes, out, err);
}

static enum rn_code object_put(struct rn_txn *txn, const struct rn_object *o)
{
    struct rn_buf row = RN_BUF_INIT(2 * (size_t)BODY_MAX);
    unsigned char bytes[RN_RID_BYTES_MAX];
    struct rn_key name, key;
    enum rn_code rc = rn_object_encode(o, &row);

    rn_key_name(o->kind, rn_rid_owner(o->rid), o->id, &name);
    rn_key_object(o->kind, o->rid, &key);
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(&key), rn_buf_view(&row));
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(&name),
                        rn_view_of(bytes, rn_rid_encode(o->rid, bytes)));
    rn_buf_release(&row);
    return rc;
}

static enum rn_code object_del(struct rn_txn *txn, const struct rn_object *o)
{
    struct rn_key name, key;
    enum rn_code rc;

    rn_key_name(o->kind, rn_rid_owner(o->rid), o->id, &name);
    rn_key_object(o->kind, o->rid, &key);
    rc = rn_txn_del(txn, rn_key_view(&key));
    return rc ? rc : rn_txn_del(txn, rn_key_view(&name));
}

/* ---- bodies -------------------------------------------------------------- */

static enum rn_code print_system(struct rn_buf *out, const struct rn_object *o)
{
    char rid[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX], etag[RN_ETAG_LEN];
    struct rn_view r = rn_rid_print(o->rid, rid);
    struct rn_view s = rn_rid_print_self(o->rid, self);
    enum rn_code rc;

    rn_etag_print(o->etag, etag);
    rc = rn_buf_printf(
        out,
        ",\"_rid\":\"%.*s\",\"_ts\":%lld,\"_self\":\"%.*s\",\"_etag\":"
        "\"\\\"%.*s\\\"\"",
        RN_FMT(r), (long long)o->ts, RN_FMT(s), RN_ETAG_LEN - 2, etag + 1);
    if (rc)
        return rc;
    return rn_buf_add(
        out, o->kind == RN_KIND_DATABASE
                 ? RN_LIT(",\"_colls\":\"colls/\",\"_users\":\"users/\"}")
                 : RN_LIT(",\"_docs\":\"docs/\",\"_sprocs\":\"sprocs/\","
                          "\"_triggers\":\"triggers/\",\"_udfs\":\"udfs/\","
                          "\"_conflicts\":\"conflicts/\"}"));
}

/* The object with the client's part and ours. */
static enum rn_code make_object(const struct rn_catalog_change *c,
                                const struct rn_object *like,
                                struct rn_object **out)
{
    struct rn_buf body = RN_BUF_INIT(2 * (size_t)BODY_MAX);
    enum rn_code rc = rn_buf_add(&body, rn_buf_view(&c->text));

    if (!rc)
        rc = print_system(&body, like);
    if (!rc)
        rc =
            rn_object_new(c->kind, like->rid, c->name, rn_buf_view(&body), out);
    rn_buf_release(&body);
    if (rc)
        return rc;
    (*out)->etag = like->etag;
    (*out)->ts = like->ts;
    (*out)->throughput = like->throughput;
    (*out)->autoscale = like->autoscale;
    (*out)->number = like->number;
    return RN_OK;
}

/* ---- deciding ------------------------------------------------------------ */

static enum rn_code refuse_taken(struct rn_err *err)
{
    return rn_fail(err, RN_CONFLICT,
                   "Entity with the specified id already exists in the "
                   "system.");
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

static uint32_t range_count(const struct rn_catalog_change *c)
{
    uint32_t units =
        c->autoscale > c->throughput ? c->autoscale : c->throughput;
    uint32_t count = (units + RU_PER_RANGE - 1) / RU_PER_RANGE;

    if (c->engine->opts.ranges_default)
        count = c->engine->opts.ranges_default;
    if (count > RN_RANGES_MAX)
        count = RN_RANGES_MAX;
    return count ? count : 1;
}

/* Draws the numbers of a new object. */
static void draw(struct counters *n, const struct rn_catalog_change *c,
                 struct rn_object *o)
{
    o->etag.lsn = ++n->etag;
    if (c->kind == RN_KIND_DATABASE) {
        o->rid = rn_rid_database(++n->database);
    } else {
        o->rid = rn_rid_container(c->owner.database, ++n->container);
        o->number = ++n->number;
    }
}

static enum rn_code make_ranges(struct rn_txn *txn,
                                const struct rn_catalog_change *c,
                                const struct rn_object *o, struct rn_err *err)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_pkdef def;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, o->body, err);
    if (!rc)
        rc = rn_pkdef_parse(&j, rn_json_find(&j, 0, RN_LIT("partitionKey")),
                            &arena, &def, err);
    if (!rc)
        rc = rn_container_make_ranges(txn, o->number, &def, range_count(c));
    rn_json_release(&j);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code run_create(struct rn_catalog_change *c, struct rn_txn *txn,
                               struct rn_err *err)
{
    struct rn_object like = { .kind = c->kind,
                              .ts = rn_engine_now(c->engine),
                              .throughput = c->throughput,
                              .autoscale = c->autoscale };
    struct counters n;
    struct rn_rid taken;
    enum rn_code rc = check_owner(txn, c, err);

    if (!rc) {
        rc = name_get(txn, c->kind, c->owner, c->name, &taken);
        rc = rc == RN_NOT_FOUND ? RN_OK : rc ? rc : refuse_taken(err);
    }
    if (!rc)
        rc = counters_take(c->engine, txn, &n);
    if (rc)
        return rc;
    draw(&n, c, &like);
    rc = make_object(c, &like, &c->object);
    if (!rc)
        rc = counters_give(txn, &n);
    if (!rc)
        rc = object_put(txn, c->object);
    if (!rc && c->kind == RN_KIND_CONTAINER)
        rc = make_ranges(txn, c, c->object, err);
    if (!rc && c->kind == RN_KIND_CONTAINER)
        rc = rn_container_new(txn, c->object, &c->object->container, err);
    return rc;
}

/* The object a change is about, if the condition allows. */
static enum rn_code find_target(struct rn_catalog_change *c, struct rn_txn *txn,
                                struct rn_object **out, struct rn_err *err)
{
    struct rn_rid rid;
    char etag[RN_ETAG_LEN];
    enum rn_code rc = name_get(txn, c->kind, c->owner, c->id, &rid);

    if (!rc)
        rc = object_get(txn, rid, out, err);
    if (rc == RN_NOT_FOUND)
        return rn_fail(err, rc,
                       "Entity with the specified id does not exist "
                       "in the system.");
    if (rc)
        return rc;
    rn_etag_print((*out)->etag, etag);
    if (c->if_match.at &&
        !rn_etag_matches(c->if_match, rn_view_of(etag, RN_ETAG_LEN)))
        return rn_fail(err, RN_PRECONDITION,
                       "Operation cannot be performed because one of the "
                       "specified precondition is not met.");
    return RN_OK;
}

static enum rn_code run_replace(struct rn_catalog_change *c, struct rn_txn *txn,
                                struct rn_err *err)
{
    struct rn_object *old = NULL;
    struct rn_object like;
    struct counters n;
    enum rn_code rc = find_target(c, txn, &old, err);

    rn_buf_clear(&c->text);
    if (!rc)
        rc = rn_definition_print(c->body, old, &c->text, err);
    if (!rc)
        rc = counters_take(c->engine, txn, &n);
    if (!rc) {
        like = *old;
        like.etag.lsn = ++n.etag;
        like.ts = rn_engine_now(c->engine);
        rc = make_object(c, &like, &c->object);
    }
    if (!rc)
        rc = counters_give(txn, &n);
    if (!rc)
        rc = object_put(txn, c->object);
    if (!rc)
        rc = rn_container_new(txn, c->object, &c->object->container, err);
    rn_object_release(old);
    return rc;
}

/* The rows that make a container one.  Its documents go later, in slices: no
 * key of it can be met any more. */
static enum rn_code delete_container(struct rn_txn *txn,
                                     const struct rn_object *o)
{
    enum rn_code rc = object_del(txn, o);

    for (size_t i = 0; !rc && i < o->container->range_count; i++) {
        struct rn_key key;
        rn_key_range(o->number, o->container->ranges[i].id, &key);
        rc = rn_txn_del(txn, rn_key_view(&key));
    }
    if (!rc)
        rc = rn_doomed_put(txn, o->number);
    return rc;
}

/* Containers of a database, found by their keys. */
static enum rn_code delete_children(struct rn_txn *txn, struct rn_rid database,
                                    struct rn_err *err)
{
    struct rn_key from, before;
    enum rn_code rc = RN_OK;

    rn_key_object(RN_KIND_CONTAINER, rn_rid_container(database.database, 0),
                  &from);
    from.len = RN_KEY_HEAD + 1 + 4; /* kind and database */
    before = from;
    memset(before.bytes + before.len, 0xff, 5);
    before.len += 5;
    for (;;) {
        struct rn_range range = { .from = rn_key_view(&from),
                                  .before = rn_key_view(&before) };
        struct rn_object *child = NULL;
        struct rn_cursor *c = NULL;
        struct rn_view key, value;
        struct rn_rid rid;

        rc = rn_txn_scan(txn, &range, &c);
        if (!rc)
            rc = rn_cursor_next(c, &key, &value);
        if (!rc && !rn_rid_decode(rn_view_of(key.at + RN_KEY_HEAD + 1,
                                             key.len - RN_KEY_HEAD - 1),
                                  &rid))
            rc = RN_CORRUPT;
        if (!rc)
            rc = rn_object_decode(txn, RN_KIND_CONTAINER, rid, value, &child,
                                  err);
        rn_cursor_end(c);
        if (!rc)
            rc = delete_container(txn, child);
        rn_object_release(child);
        if (rc)
            return rc == RN_NOT_FOUND ? RN_OK : rc;
    }
}

static enum rn_code run_delete(struct rn_catalog_change *c, struct rn_txn *txn,
                               struct rn_err *err)
{
    enum rn_code rc = find_target(c, txn, &c->object, err);

    if (rc)
        return rc;
    if (c->kind == RN_KIND_CONTAINER)
        return delete_container(txn, c->object);
    rc = object_del(txn, c->object);
    return rc ? rc : delete_children(txn, c->object->rid, err);
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_catalog_change *c =
        RN_QUEUED(op, struct rn_catalog_change, operation);

    rn_object_release(c->object); /* of a run that was undone */
    c->object = NULL;
    switch (c->verb) {
    case RN_CATALOG_CREATE:
        return run_create(c, txn, &op->err);
    case RN_CATALOG_REPLACE:
        return run_replace(c, txn, &op->err);
    case RN_CATALOG_DELETE:
        return run_delete(c, txn, &op->err);
    }
    return RN_BAD_REQUEST;
}

/* ---- after the commit ---------------------------------------------------- */

static void forget_children(struct rn_engine *e, struct rn_rid database)
{
    struct rn_object *child;

    while (rn_catalog_list(e, RN_KIND_CONTAINER, database, NULL, &child, 1)) {
        rn_catalog_remove(e, child);
        rn_object_release(child);
    }
}

static void forget(struct rn_engine *e, struct rn_rid rid)
{
    struct rn_object *o = rn_catalog_find_rid(e, rid);

    if (!o)
        return;
    if (o->kind == RN_KIND_DATABASE)
        forget_children(e, o->rid);
    rn_catalog_remove(e, o);
    rn_object_release(o);
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_catalog_change *c =
        RN_QUEUED(op, struct rn_catalog_change, operation);

    if (!rc && c->verb == RN_CATALOG_DELETE) {
        forget(c->engine, c->object->rid);
        rn_sweeper_wake(c->engine);
    } else if (!rc) {
        rc = rn_catalog_put(c->engine, c->object);
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
    if (!rc && rn_json_kind(&j, id) != RN_JSON_STRING)
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The input content is invalid because the required "
                     "properties - 'id; ' - are missing");
    if (!rc)
        rc = rn_json_string_copy(&j, id, &c->arena, &c->name);
    if (!rc)
        rc = rn_id_check(c->kind, c->name, err);
    rn_json_release(&j);
    return rc;
}

static enum rn_code prepare_text(struct rn_catalog_change *c,
                                 struct rn_err *err)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&c->text);
    enum rn_code rc;

    if (c->kind == RN_KIND_CONTAINER)
        return rn_definition_print(c->body, NULL, &c->text, err);
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
    c->object = NULL;
    c->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = RN_OPERATION_MULTI |
                 (c->verb == RN_CATALOG_DELETE ? RN_OPERATION_FREES : 0),
        .bytes = 2 * c->body.len + 1024,
    };
    if (c->verb != RN_CATALOG_DELETE)
        rc = read_name(c, err);
    if (!rc && c->verb == RN_CATALOG_CREATE)
        rc = prepare_text(c, err);
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
    c->object = NULL;
    rn_buf_release(&c->text);
    rn_arena_release(&c->arena);
}
