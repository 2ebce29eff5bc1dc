/* objects.c -- databases and containers: create, read, replace, delete, list.
 *
 * One body for both: they differ in their rows of the route table and in what
 * lies above them.
 */
#include "rest/own.h"

#include "json/json.h"
#include "json/print.h"

enum { RU_MAX = 100000000 };

/* ---- what a path names --------------------------------------------------- */

static struct rn_object *find(struct rn_context *x, enum rn_kind kind,
                              struct rn_rid owner, struct rn_view id)
{
    struct rn_object *o = NULL;
    struct rn_rid rid;

    if (x->link.is_rid && rn_rid_parse(id, &rid) && rid.kind == kind)
        o = rn_catalog_find_rid(x->rest->engine, rid);
    return o ? o : rn_catalog_find(x->rest->engine, kind, owner, id);
}

/* Missing above what is asked for, or the thing itself. */
static enum rn_code missing(struct rn_context *x, size_t at)
{
    bool is_owner = x->link.is_list || at + 1 < x->link.depth;

    if (is_owner)
        return rn_fail_reason(&x->err, RN_REASON_OWNER,
                              "Owner resource does not exist");
    return rn_fail(&x->err, RN_NOT_FOUND,
                   "Entity with the specified id does not exist in the "
                   "system.");
}

enum rn_code rn_context_find_database(struct rn_context *x)
{
    x->database =
        find(x, RN_KIND_DATABASE, (struct rn_rid){ 0 }, x->link.ids[0]);
    return x->database ? RN_OK : missing(x, 0);
}

/* Clients that remember a container tell which one they mean. */
static enum rn_code check_intended(struct rn_context *x)
{
    struct rn_view sent = rn_context_header(x, RN_HEADER_CONTAINER_RID);
    char rid[RN_RID_TEXT_MAX];

    if (!sent.len || rn_view_eq(sent, rn_rid_print(x->container->rid, rid)))
        return RN_OK;
    return rn_fail_reason(&x->err, RN_REASON_CONTAINER_RID,
                          "The container was deleted and created again");
}

enum rn_code rn_context_find_container(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_database(x);

    if (rc)
        return rc;
    x->container = find(x, RN_KIND_CONTAINER, x->database->rid, x->link.ids[1]);
    return x->container ? check_intended(x) : missing(x, 1);
}

/* The owner of a list, and for anything else the resource as well. */
static enum rn_code find_all(struct rn_context *x)
{
    if (x->link.kind == RN_KIND_DATABASE)
        return x->link.is_list ? RN_OK : rn_context_find_database(x);
    return x->link.is_list ? rn_context_find_database(x)
                           : rn_context_find_container(x);
}

static struct rn_object *target(const struct rn_context *x)
{
    return x->link.kind == RN_KIND_DATABASE ? x->database : x->container;
}

/* ---- answers ------------------------------------------------------------- */

static enum rn_rest_step answer(struct rn_context *x, int status,
                                const struct rn_object *o)
{
    rn_reply_etag(x, o->etag);
    rn_reply_owner(x);
    rn_reply_charge(x, status == RN_STATUS_OK ? 1 : 5);
    rn_buf_clear(&x->call->body);
    if (rn_buf_add(&x->call->body, o->body))
        return rn_reply_fail(x, RN_NOMEM);
    return rn_reply_json(x, status);
}

/* Java wants the same keys in the same order in both. */
static void add_quota(struct rn_context *x)
{
    if (!rn_context_flag(x, RN_HEADER_WANT_QUOTA))
        return;
    rn_reply_text(x, RN_HEADER_QUOTA,
                  "functions=25;storedProcedures=100;triggers=25;"
                  "documentSize=10240;documentsSize=10485760;"
                  "documentsCount=-1;collectionSize=10485760;");
    rn_reply_text(x, RN_HEADER_USAGE,
                  "functions=0;storedProcedures=0;triggers=0;documentSize=0;"
                  "documentsSize=0;documentsCount=0;collectionSize=0;");
}

enum rn_rest_step rn_rest_object_read(struct rn_context *x)
{
    struct rn_view none = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    enum rn_code rc = find_all(x);
    char etag[RN_ETAG_LEN];

    if (rc)
        return rn_reply_fail(x, rc);
    rn_etag_print(target(x)->etag, etag);
    if (none.len && rn_etag_matches(none, rn_view_of(etag, RN_ETAG_LEN))) {
        rn_reply_etag(x, target(x)->etag);
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    }
    if (x->link.kind == RN_KIND_CONTAINER) {
        add_quota(x);
        rn_reply_text(x, RN_HEADER_INDEX_PROGRESS, "100");
    }
    return answer(x, RN_STATUS_OK, target(x));
}

/* ---- lists --------------------------------------------------------------- */

static void print_list(struct rn_context *x, struct rn_rid owner,
                       struct rn_object **objects, size_t count)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    char rid[RN_RID_TEXT_MAX];

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, owner.kind == RN_KIND_ACCOUNT
                               ? RN_LIT("")
                               : rn_rid_print(owner, rid));
    rn_json_out_key(&o, rn_kind_list(x->link.kind));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < count; i++)
        rn_json_out_raw(&o, objects[i]->body);
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, count);
    rn_json_out_object_end(&o);
    x->rc = rn_json_out_finish(&o);
}

enum rn_rest_step rn_rest_object_list(struct rn_context *x)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_CONTINUATION);
    struct rn_rid owner = { 0 }, after;
    struct rn_object **page;
    size_t size = 0, count;
    enum rn_code rc = find_all(x);

    if (!rc)
        rc = rn_context_count(x, &size);
    if (!rc && token.len && !rn_rid_parse(token, &after))
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    if (rc)
        return rn_reply_fail(x, rc);
    page = rn_arena_alloc(&x->call->arena, (size + 1) * sizeof(*page));
    if (!page)
        return rn_reply_fail(x, RN_NOMEM);
    if (x->database)
        owner = x->database->rid;
    count = rn_catalog_list(x->rest->engine, x->link.kind, owner,
                            token.len ? &after : NULL, page, size + 1);
    if (count > size) {
        char rid[RN_RID_TEXT_MAX];
        rn_reply_header(x, RN_HEADER_CONTINUATION,
                        rn_rid_print(page[size - 1]->rid, rid));
    }
    print_list(x, owner, page, count > size ? size : count);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, count > size ? size : count);
    for (size_t i = 0; i < count; i++)
        rn_object_release(page[i]);
    if (x->rc)
        return rn_reply_fail(x, x->rc);
    rn_reply_charge(x, 1);
    return rn_reply_json(x, RN_STATUS_OK);
}

/* ---- changes ------------------------------------------------------------- */

static enum rn_rest_step finish_change(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct rn_catalog_change *c = &x->change;
    enum rn_rest_step step;

    if (x->rc) {
        step = rn_reply_fail(x, x->rc);
    } else if (c->verb == RN_CATALOG_DELETE) {
        rn_reply_owner(x);
        rn_reply_charge(x, 5);
        step = rn_reply_empty(x, RN_STATUS_NO_CONTENT);
    } else {
        step = answer(
            x, c->verb == RN_CATALOG_CREATE ? RN_STATUS_CREATED : RN_STATUS_OK,
            c->object);
    }
    rn_catalog_change_release(c);
    return step;
}

/* Thread: committer. */
static void change_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_context *x =
        (struct rn_context *)(void *)((char *)done -
                                      offsetof(struct rn_context, change.done));

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

static enum rn_rest_step start_change(struct rn_context *x,
                                      enum rn_catalog_verb verb)
{
    struct rn_catalog_change *c = &x->change;
    enum rn_code rc;

    c->done.call = change_done;
    c->verb = verb;
    c->kind = x->link.kind;
    if (x->link.kind == RN_KIND_CONTAINER)
        c->owner = x->database->rid;
    if (verb != RN_CATALOG_CREATE)
        c->id = target(x)->id;
    c->body = x->call->req->body;
    c->if_match = rn_context_header(x, RN_HEADER_IF_MATCH);
    x->call->next = finish_change;
    rc = rn_catalog_change_start(x->rest->engine, c, &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}

static enum rn_code read_units(struct rn_context *x, struct rn_view text,
                               uint32_t *out)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || n > RU_MAX)
            return rn_fail(&x->err, RN_BAD_REQUEST,
                           "'%.*s' is not a throughput", RN_FMT(text));
        n = n * 10 + (uint64_t)(text.at[i] - '0');
    }
    if (n < 400 || n > RU_MAX)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "Requested throughput %llu is less than required "
                       "minimum throughput 400, or absurd",
                       (unsigned long long)n);
    *out = (uint32_t)n;
    return RN_OK;
}

static enum rn_code read_autoscale(struct rn_context *x, struct rn_view text)
{
    struct rn_json j;
    int64_t n = 0;
    uint32_t max;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, text, &x->err);
    max = rn_json_find(&j, 0, RN_LIT("maxThroughput"));
    if (!rc && (rn_json_kind(&j, max) != RN_JSON_NUMBER ||
                !rn_json_int64(&j, max, &n) || n < 1000 || n > RU_MAX))
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "Requested throughput %lld is less than required minimum "
                     "throughput 1000",
                     (long long)n);
    rn_json_release(&j);
    x->change.autoscale = (uint32_t)n;
    return rc;
}

static enum rn_code read_throughput(struct rn_context *x)
{
    struct rn_view manual = rn_context_header(x, RN_HEADER_THROUGHPUT);
    struct rn_view autoscale = rn_context_header(x, RN_HEADER_AUTOSCALE);

    if (manual.len && autoscale.len)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "x-ms-offer-throughput and "
                       "x-ms-cosmos-offer-autopilot-settings exclude each "
                       "other");
    if (manual.len)
        return read_units(x, manual, &x->change.throughput);
    return autoscale.len ? read_autoscale(x, autoscale) : RN_OK;
}

enum rn_rest_step rn_rest_object_create(struct rn_context *x)
{
    enum rn_code rc = find_all(x);

    if (!rc)
        rc = read_throughput(x);
    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_CREATE);
}

enum rn_rest_step rn_rest_object_replace(struct rn_context *x)
{
    enum rn_code rc = find_all(x);

    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_REPLACE);
}

enum rn_rest_step rn_rest_object_delete(struct rn_context *x)
{
    enum rn_code rc = find_all(x);

    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_DELETE);
}
