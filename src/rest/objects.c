/* objects.c -- create, read, replace, delete and list of catalog objects.
 *
 * One implementation for all kinds: databases, containers, users, permissions,
 * client keys and offers differ only in their rows of the route table and in
 * their owners.
 */
#include "rest/objects.h"

#include "rest/container_stats.h"
#include "rest/context.h"
#include "rest/definitions.h"
#include "rest/lists.h"
#include "rest/permissions.h"
#include "rest/reply.h"

#include "engine/catalog/catalog_change.h"
#include "engine/catalog/object.h"
#include "engine/catalog/offer.h"
#include "json/json.h"
#include "json/print.h"

enum { PAGE_BYTES = 4 << 20 }; /* as in lists.c; the last item may exceed it */

/* ---- what a path names --------------------------------------------------- */

static struct rn_object *find(struct rn_rest *r, const struct rn_link *l,
                              enum rn_kind kind, struct rn_rid owner, size_t at)
{
    struct rn_object *o = NULL;
    struct rn_rid rid;

    if (l->is_rid && rn_rid_parse(l->ids[at], &rid) && rid.kind == kind)
        o = rn_catalog_find_rid(r->engine, rid);
    return o ? o : rn_catalog_find(r->engine, kind, owner, l->ids[at]);
}

struct rn_object *rn_rest_find_container(struct rn_rest *r,
                                         const struct rn_link *l)
{
    struct rn_object *database, *container;

    if (l->depth < 2)
        return NULL;
    database = find(r, l, RN_KIND_DATABASE, (struct rn_rid){ 0 }, 0);
    if (!database)
        return NULL;
    container = find(r, l, RN_KIND_CONTAINER, database->rid, 1);
    rn_object_release(database);
    return container;
}

/* The error for an object that is missing: an owner on the path, or the last
 * one. */
static enum rn_code missing(struct rn_context *x, size_t at)
{
    bool is_owner = x->link.is_list || at + 1 < x->link.depth;

    if (is_owner)
        return rn_fail_reason(&x->err, RN_REASON_OWNER,
                              "Owner resource does not exist");
    return rn_fail_usual(&x->err, RN_NOT_FOUND);
}

enum rn_code rn_context_find_database(struct rn_context *x)
{
    x->database =
        find(x->rest, &x->link, RN_KIND_DATABASE, (struct rn_rid){ 0 }, 0);
    return x->database ? RN_OK : missing(x, 0);
}

/* Clients that cache a container send the rid that they mean. */
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
    x->container =
        find(x->rest, &x->link, RN_KIND_CONTAINER, x->database->rid, 1);
    return x->container ? check_intended(x) : missing(x, 1);
}

enum rn_code rn_context_refresh(struct rn_context *x)
{
    struct rn_object *now =
        rn_catalog_find_rid(x->rest->engine, x->container->rid);

    if (!now)
        return rn_fail_reason(&x->err, RN_REASON_OWNER,
                              "Owner resource does not exist");
    rn_object_release(x->container);
    x->container = now;
    return RN_OK;
}

/* Finds the object at position `at` of the path, in `owner`. */
static enum rn_code find_at(struct rn_context *x, enum rn_kind kind,
                            struct rn_rid owner, size_t at,
                            struct rn_object **out)
{
    *out = find(x->rest, &x->link, kind, owner, at);
    return *out ? RN_OK : missing(x, at);
}

static enum rn_code find_permission(struct rn_context *x)
{
    enum rn_code rc = rn_permission_read_seconds(x);

    if (!rc)
        rc = find_at(x, RN_KIND_USER, x->database->rid, 1, &x->user);
    if (rc || x->link.is_list)
        return rc;
    return find_at(x, RN_KIND_PERMISSION, x->user->rid, 2, &x->object);
}

/* An offer is named by its rid. */
static enum rn_code find_offer(struct rn_context *x)
{
    struct rn_rid rid;

    if (x->link.is_list)
        return RN_OK;
    if (rn_rid_parse(x->link.ids[0], &rid) && rid.kind == RN_KIND_OFFER)
        x->object = rn_catalog_find_rid(x->rest->engine, rid);
    return x->object ? RN_OK : missing(x, 0);
}

enum rn_code rn_context_find(struct rn_context *x)
{
    enum rn_kind kind = x->link.kind;
    enum rn_code rc;

    if (kind == RN_KIND_OFFER)
        return find_offer(x);
    if (kind == RN_KIND_DATABASE && x->link.is_list)
        return RN_OK;
    if (kind == RN_KIND_CONTAINER && !x->link.is_list)
        rc = rn_context_find_container(x);
    else
        rc = rn_context_find_database(x);
    if (rc)
        return rc;
    if (kind == RN_KIND_PERMISSION)
        return find_permission(x);
    if (x->link.is_list)
        return RN_OK;
    if (kind == RN_KIND_DATABASE || kind == RN_KIND_CONTAINER) {
        x->object = rn_object_share(kind == RN_KIND_DATABASE ? x->database
                                                             : x->container);
        return RN_OK;
    }
    return find_at(x, kind, x->database->rid, 1, &x->object);
}

/* The owner of the path's object or list. */
struct rn_rid rn_context_owner(const struct rn_context *x)
{
    if (x->link.kind == RN_KIND_PERMISSION)
        return x->user->rid;
    if (x->link.kind == RN_KIND_DATABASE || !x->database)
        return (struct rn_rid){ 0 };
    return x->database->rid;
}

bool rn_context_place(const struct rn_context *x, struct rn_view text,
                      struct rn_rid *out)
{
    return rn_rid_parse(text, out) && out->kind == x->link.kind &&
           rn_rid_eq(rn_rid_owner(*out), rn_context_owner(x));
}

/* ---- answers ------------------------------------------------------------- */

enum rn_code rn_object_show(struct rn_context *x, const struct rn_object *o,
                            struct rn_buf *out)
{
    if (o->kind == RN_KIND_PERMISSION)
        return rn_permission_print(x, o, out);
    return o->kind == RN_KIND_CONTAINER ? rn_definition_show(x, o, out)
                                        : rn_buf_add(out, o->body);
}

static enum rn_rest_step answer(struct rn_context *x, int status,
                                const struct rn_object *o)
{
    rn_reply_etag(x, o->etag);
    rn_reply_owner(x);
    rn_reply_schema(x);
    rn_reply_charge(x, x->call->req->method != RN_HTTP_GET
                           ? RN_CHARGE_METADATA_WRITE
                           : RN_CHARGE_METADATA);
    if (o->kind == RN_KIND_OFFER) {
        rn_reply_text(x, RN_HEADER_OFFER_PENDING, "false");
        rn_reply_number(x, RN_HEADER_MIN_THROUGHPUT, rn_offer_minimum(o));
    }
    rn_buf_clear(&x->call->body);
    if (rn_object_show(x, o, &x->call->body))
        return rn_reply_fail(x, RN_NOMEM);
    if (rn_container_stats_add_headers(x))
        return rn_reply_fail(x, RN_NOMEM);
    return rn_reply_json(x, status);
}

enum rn_rest_step rn_rest_container_tell(struct rn_context *x)
{
    rn_reply_text(x, RN_HEADER_INDEX_PROGRESS, "100");
    return answer(x, RN_STATUS_OK, x->object);
}

enum rn_rest_step rn_rest_object_read(struct rn_context *x)
{
    struct rn_view none = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    enum rn_code rc = rn_context_find(x);
    char etag[RN_ETAG_LEN];

    if (rc)
        return rn_reply_fail(x, rc);
    rn_etag_print(x->object->etag, etag);
    if (none.len && rn_etag_matches(none, rn_view_of(etag, RN_ETAG_LEN))) {
        rn_reply_etag(x, x->object->etag);
        rn_reply_owner(x);
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    }
    if (x->link.kind == RN_KIND_CONTAINER)
        return rn_rest_container_read(x);
    return answer(x, RN_STATUS_OK, x->object);
}

/* ---- lists --------------------------------------------------------------- */

static void print_item(struct rn_context *x, struct rn_json_out *o,
                       const struct rn_object *object)
{
    struct rn_buf text = RN_BUF_INIT(RN_CALL_BODY_MAX);

    if (rn_object_show(x, object, &text))
        o->rc = RN_NOMEM;
    else
        rn_json_out_raw(o, rn_buf_view(&text));
    rn_buf_release(&text);
}

/* Prints as many of them as fit a page; at least one, if there is any. */
static size_t print_list(struct rn_context *x, struct rn_rid owner,
                         struct rn_object **objects, size_t count)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    char rid[RN_RID_TEXT_MAX];
    size_t printed = 0;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, owner.kind == RN_KIND_ACCOUNT
                               ? RN_LIT("")
                               : rn_rid_print(owner, rid));
    rn_json_out_key(&o, rn_kind_list(x->link.kind));
    rn_json_out_array_begin(&o);
    while (printed < count && x->call->body.len <= PAGE_BYTES)
        print_item(x, &o, objects[printed++]);
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, printed);
    rn_json_out_object_end(&o);
    x->rc = rn_json_out_finish(&o);
    return printed;
}

enum rn_rest_step rn_rest_object_list(struct rn_context *x)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_CONTINUATION);
    struct rn_rid owner, after;
    struct rn_object **page;
    size_t size = 0, count, printed;
    enum rn_code rc = rn_context_find(x);

    if (!rc)
        rc = rn_context_count(x, &size);
    if (!rc && token.len && !rn_context_place(x, token, &after))
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    if (rc)
        return rn_reply_fail(x, rc);
    page = rn_arena_alloc(&x->call->arena,
                          (size + 1) * sizeof(struct rn_object *));
    if (!page)
        return rn_reply_fail(x, RN_NOMEM);
    owner = rn_context_owner(x);
    count = rn_catalog_list(x->rest->engine, x->link.kind, owner,
                            token.len ? &after : NULL, page, size + 1);
    printed = print_list(x, owner, page, count > size ? size : count);
    if (count > printed) {
        char rid[RN_RID_TEXT_MAX];
        rn_reply_header(x, RN_HEADER_CONTINUATION,
                        rn_rid_print(page[printed - 1]->rid, rid));
    }
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, printed);
    for (size_t i = 0; i < count; i++)
        rn_object_release(page[i]);
    if (x->rc)
        return rn_reply_fail(x, x->rc);
    rn_reply_owner(x);
    rn_reply_schema(x);
    rn_reply_charge(x, RN_CHARGE_METADATA);
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
        rn_reply_charge(x, RN_CHARGE_METADATA_WRITE);
        step = rn_reply_empty(x, RN_STATUS_NO_CONTENT);
    } else {
        if (c->created && c->kind == RN_KIND_CONTAINER && !c->offer)
            rn_reply_text(x, RN_HEADER_SHARED, "true");
        step =
            answer(x, c->created ? RN_STATUS_CREATED : RN_STATUS_OK, c->object);
    }
    rn_catalog_change_release(c);
    return step;
}

/* Thread: committer. */
static void change_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_context *x =
        RN_CONTAINER_OF(done, struct rn_context, change.done);

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

/* Does the path name the object by its rid? */
static bool is_by_rid(const struct rn_context *x)
{
    struct rn_rid rid;

    return x->link.is_rid &&
           rn_rid_parse(x->link.ids[x->link.depth - 1], &rid) &&
           rn_rid_eq(rid, x->object->rid);
}

static enum rn_rest_step start_change(struct rn_context *x,
                                      enum rn_catalog_verb verb)
{
    struct rn_catalog_change *c = &x->change;
    enum rn_code rc;

    c->done.call = change_done;
    c->verb = verb;
    c->kind = x->link.kind;
    c->owner = rn_context_owner(x);
    if (x->object) {
        c->id = x->object->id;
        if (is_by_rid(x))
            c->rid = x->object->rid;
    }
    c->if_match = rn_context_header(x, RN_HEADER_IF_MATCH);
    x->call->next = finish_change;
    rc = rn_catalog_change_start(x->rest->engine, c, &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}

static enum rn_code read_throughput(struct rn_context *x)
{
    struct rn_view manual = rn_context_header(x, RN_HEADER_THROUGHPUT);
    struct rn_view autoscale = rn_context_header(x, RN_HEADER_AUTOSCALE);
    struct rn_view type = rn_context_header(x, RN_HEADER_OFFER_TYPE);

    if (!!manual.len + !!autoscale.len + !!type.len > 1) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "x-ms-offer-throughput, x-ms-offer-type and "
                       "x-ms-cosmos-offer-autopilot-settings exclude each "
                       "other");
    }
    if (type.len)
        return rn_offer_terms_parse_type(type, &x->change.terms, &x->err);
    if (manual.len)
        return rn_offer_terms_parse_manual(manual, &x->change.terms, &x->err);
    return autoscale.len ? rn_offer_terms_parse_autoscale(
                               autoscale, &x->change.terms, &x->err)
                         : RN_OK;
}

static enum rn_code read_body(struct rn_context *x)
{
    x->change.body = x->call->req->body;
    return x->link.kind == RN_KIND_CONTAINER
               ? rn_definition_accept(x, &x->change.body)
               : RN_OK;
}

enum rn_rest_step rn_rest_object_create(struct rn_context *x)
{
    enum rn_code rc = rn_context_find(x);

    if (!rc)
        rc = read_body(x);
    if (!rc &&
        (x->link.kind == RN_KIND_DATABASE || x->link.kind == RN_KIND_CONTAINER))
        rc = read_throughput(x);
    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_CREATE);
}

enum rn_rest_step rn_rest_object_upsert(struct rn_context *x)
{
    enum rn_code rc = rn_context_find(x);

    if (!rc)
        rc = read_body(x);
    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_UPSERT);
}

/* Migrates between manual and autoscale throughput; only an offer can. */
static enum rn_code read_move(struct rn_context *x)
{
    bool to_autoscale = rn_context_flag(x, RN_HEADER_TO_AUTOSCALE);
    bool to_manual = rn_context_flag(x, RN_HEADER_TO_MANUAL);

    if (to_autoscale && to_manual) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       RN_HEADER_TO_AUTOSCALE " and " RN_HEADER_TO_MANUAL
                                              " exclude each other");
    }
    if (to_autoscale)
        x->change.move = RN_OFFER_TO_AUTOSCALE;
    else if (to_manual)
        x->change.move = RN_OFFER_TO_MANUAL;
    return RN_OK;
}

enum rn_rest_step rn_rest_object_replace(struct rn_context *x)
{
    enum rn_code rc = rn_context_find(x);

    if (!rc)
        rc = read_move(x);
    if (!rc)
        rc = read_body(x);
    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_REPLACE);
}

enum rn_rest_step rn_rest_object_delete(struct rn_context *x)
{
    enum rn_code rc = rn_context_find(x);

    return rc ? rn_reply_fail(x, rc) : start_change(x, RN_CATALOG_DELETE);
}
