/* documents.c -- create, read, upsert, replace and delete of single
 * documents. */
#include "rest/documents.h"

#include "rest/context.h"
#include "rest/objects.h"
#include "rest/reply.h"
#include "rest/sessions.h"

#include "cosmos/prefer.h"
#include "engine/document/snapshot.h"
#include "json/json.h"
#include "json/raw.h"

#include <strings.h>

/* ---- keys ---------------------------------------------------------------- */

bool rn_context_means_none(struct rn_context *x)
{
    if (x->has_pk || !x->container->container->pkdef.is_system)
        return false;
    x->pk.count = 0; /* as [] */
    x->has_pk = true;
    return true;
}

enum rn_code rn_context_whole_key(struct rn_context *x)
{
    if (x->has_pk || rn_context_means_none(x))
        return rn_pkdef_fit(&x->container->container->pkdef, &x->pk, &x->err);
    return rn_fail(&x->err, RN_BAD_REQUEST,
                   "PartitionKey value must be supplied for this operation.");
}

enum rn_code rn_context_missing_key(struct rn_context *x, struct rn_err *err)
{
    struct rn_pk none = { 0 };

    return x->rest->opts.strict
               ? rn_pkdef_fit(&x->container->container->pkdef, &none, err)
               : RN_OK;
}

/* Is the last id of a path by rids a document's rid?  If it is not a rid of
 * this container, all three are names that look like rids. */
static bool is_by_rid(const struct rn_context *x, struct rn_rid *rid)
{
    return x->link.is_rid && rn_rid_parse(x->link.ids[2], rid) &&
           rid->kind == RN_KIND_DOCUMENT &&
           rn_rid_eq(rn_rid_owner(*rid), x->container->rid);
}

static enum rn_code copy_id(struct rn_context *x, struct rn_view body,
                            struct rn_view *out)
{
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, body, &x->err);
    if (!rc)
        rc = rn_json_string_copy(&j, rn_json_find(&j, 0, RN_LIT("id")),
                                 &x->call->arena, out);
    rn_json_release(&j);
    return rc;
}

static enum rn_code find_id(struct rn_context *x, struct rn_snapshot *r,
                            struct rn_rid rid, struct rn_view *out)
{
    struct rn_document_place place = { 0 };
    struct rn_view body;
    enum rn_code rc = rn_document_read_rid(r, rid.number, &body, &place);

    if (!rc)
        rc = copy_id(x, body, out);
    return rc == RN_NOT_FOUND ? rn_fail_usual(&x->err, rc) : rc;
}

enum rn_code rn_context_name_document(struct rn_context *x, struct rn_view *id,
                                      uint64_t *number)
{
    struct rn_snapshot reading = { 0 };
    struct rn_rid rid;
    enum rn_code rc;

    *number = 0;
    if (x->link.is_list)
        return RN_OK;
    *id = x->link.ids[2];
    if (!is_by_rid(x, &rid))
        return RN_OK;
    *number = rid.number;
    rc = rn_snapshot_begin(&reading, x->rest->engine, x->container->container,
                           &x->err);
    if (!rc)
        rc = find_id(x, &reading, rid, id);
    rn_snapshot_end(&reading);
    return rc;
}

/* ---- reading ------------------------------------------------------------- */

static enum rn_rest_step answer_read(struct rn_context *x,
                                     const struct rn_document_place *p,
                                     struct rn_view body)
{
    struct rn_view none = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    char etag[RN_ETAG_LEN];

    rn_etag_print(p->etag, etag);
    rn_reply_header(x, RN_HEADER_ETAG, rn_view_of(etag, RN_ETAG_LEN));
    if (none.len && rn_etag_matches(none, rn_view_of(etag, RN_ETAG_LEN)))
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    rn_reply_charge(x, rn_charge_read(body.len));
    x->keeps_links = !p->is_linkless;
    if (rn_buf_add(&x->call->body, body))
        return rn_reply_fail(x, RN_NOMEM);
    return rn_reply_json(x, RN_STATUS_OK);
}

static bool is_that(struct rn_view body, struct rn_view rid)
{
    struct rn_json j;
    bool same;

    rn_json_init(&j, NULL);
    same = !rn_json_parse(&j, body, NULL) &&
           rn_json_string_is(&j, rn_json_find(&j, 0, RN_LIT("_rid")), rid);
    rn_json_release(&j);
    return same;
}

/* A rid alone identifies its document.  If the request has a key, the document
 * must have that key: a token may be valid for that key only. */
static enum rn_code find_document(struct rn_context *x, struct rn_snapshot *r,
                                  struct rn_view *body,
                                  struct rn_document_place *place)
{
    struct rn_view id = x->link.ids[2];
    struct rn_rid rid;
    bool by_rid = is_by_rid(x, &rid);
    enum rn_code rc;

    if (by_rid && !x->has_pk)
        return rn_document_read_rid(r, rid.number, body, place);
    rc = rn_context_whole_key(x);
    if (!rc && by_rid)
        rc = find_id(x, r, rid, &id);
    if (rc && rc != RN_NOT_FOUND)
        return rc;
    rc = rn_document_read(r, &x->pk, id, body, place);
    return !rc && by_rid && !is_that(*body, x->link.ids[2]) ? RN_NOT_FOUND : rc;
}

enum rn_rest_step rn_rest_document_read(struct rn_context *x)
{
    struct rn_document_place place = { 0 };
    struct rn_snapshot reading = { 0 };
    struct rn_view body;
    enum rn_rest_step step;
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = rn_snapshot_begin(&reading, x->rest->engine,
                               x->container->container, &x->err);
    if (!rc)
        rc = find_document(x, &reading, &body, &place);
    rn_reply_blame(x, &reading, rc);
    x->rc = rc;
    rn_reply_owner(x);
    if (rc == RN_NOT_FOUND && reading.txn && !x->has_pk) {
        rn_fail_usual(&x->err, rc); /* its former position is unknown */
    } else if (!rc || (rc == RN_NOT_FOUND && reading.txn)) {
        enum rn_code session = rn_session_check_range(x, &reading, place.range);
        rn_reply_place(x, &place);
        if (session)
            rc = session;
        else if (rc)
            rn_fail_usual(&x->err, rc);
    }
    step = rc ? rn_reply_fail(x, rc) : answer_read(x, &place, body);
    rn_snapshot_end(&reading); /* the body has been copied */
    return step;
}

/* Documents have no attachments: today the service does not accept any
 * either. */
enum rn_rest_step rn_rest_attachment_list(struct rn_context *x)
{
    struct rn_document_place place = { 0 };
    struct rn_snapshot reading = { 0 };
    struct rn_view body, rid;
    struct rn_json j;
    enum rn_code rc = rn_context_find_container(x);

    rn_json_init(&j, NULL);
    if (!rc)
        rc = rn_snapshot_begin(&reading, x->rest->engine,
                               x->container->container, &x->err);
    if (!rc)
        rc = find_document(x, &reading, &body, &place);
    if (rc == RN_NOT_FOUND && reading.txn)
        rn_fail_usual(&x->err, rc);
    if (!rc)
        rc = rn_json_parse(&j, body, &x->err);
    if (!rc) {
        rid = rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("_rid")));
        rc = rn_buf_printf(&x->call->body,
                           "{\"_rid\":\"%.*s\",\"Attachments\":[],"
                           "\"_count\":0}",
                           RN_FMT(rid));
    }
    rn_json_release(&j);
    rn_snapshot_end(&reading);
    rn_reply_owner(x);
    if (rc)
        return rn_reply_fail(x, rc);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, 0);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}

/* ---- writing ------------------------------------------------------------- */

enum rn_code rn_context_decode(struct rn_context *x, struct rn_view *body,
                               size_t max)
{
    struct rn_buf text = RN_BUF_INIT(max ? max : 1);
    enum rn_code rc = rn_binary_decode(*body, &text, &x->err);

    if (!rc && text.len > max)
        rc = RN_TOO_LARGE;
    if (rc == RN_TOO_LARGE)
        rc = rn_fail_usual(&x->err, rc);
    if (!rc) {
        *body = rn_arena_copy(&x->call->arena, rn_buf_view(&text));
        rc = body->at ? RN_OK : RN_NOMEM;
    }
    rn_buf_release(&text);
    return rc;
}

enum rn_code rn_context_mend_body(struct rn_context *x)
{
    const struct rn_http_request *req = x->call->req;
    struct rn_http_request *mended;
    struct rn_view body;
    enum rn_code rc;

    if (!req->body.len || req->body.at[0] & 0x80) /* binary */
        return RN_OK;
    rc = rn_json_escape_raw(req->body, &x->call->arena, &body);
    if (rc || body.at == req->body.at)
        return rc;
    mended = rn_arena_alloc(&x->call->arena, sizeof(*mended));
    if (!mended)
        return RN_NOMEM;
    *mended = *req;
    mended->body = body;
    x->call->req = mended;
    return RN_OK;
}

bool rn_context_wants_minimal(const struct rn_context *x)
{
    struct rn_view value;

    return rn_prefer_find(rn_context_header(x, RN_HEADER_PREFER), "return",
                          &value) &&
           value.len == 7 && strncasecmp(value.at, "minimal", 7) == 0;
}

static int success(const struct rn_document_write *w)
{
    if (w->verb == RN_DOCUMENT_DELETE)
        return RN_STATUS_NO_CONTENT;
    return w->created ? RN_STATUS_CREATED : RN_STATUS_OK;
}

static void print_write(struct rn_context *x)
{
    struct rn_document_write *w = &x->write;

    x->has_written = true;
    rn_reply_owner(x);
    if (w->place.lsn)
        rn_reply_place(x, &w->place);
    if (x->rc) {
        (void)rn_reply_fail(x, x->rc);
        return;
    }
    rn_reply_charge(x, rn_charge_write(w->stored.len));
    if (w->stored.len)
        rn_reply_etag(x, w->place.etag);
    if (!w->stored.len || rn_context_wants_minimal(x)) {
        (void)rn_reply_empty(x, success(w));
        return;
    }
    (void)rn_reply_json(x, success(w));
    x->call->res.body = w->stored;
}

/* Thread: committer.  The answer is printed here, where its parts are
 * available, while the loop is still busy sending earlier answers. */
static void write_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_context *x = RN_CONTAINER_OF(done, struct rn_context, write.done);

    x->rc = rc;
    if (rc)
        x->err = *err;
    if (rc != RN_NOT_FOUND || !x->write.rid)
        print_write(x);
    x->call->wake(x->call);
}

/* Does the document on the path exist?  RN_NOT_FOUND. */
static enum rn_code look_up(struct rn_context *x)
{
    struct rn_document_place place = { 0 };
    struct rn_snapshot reading = { 0 };
    struct rn_view body;
    enum rn_code rc = rn_snapshot_begin(&reading, x->rest->engine,
                                        x->container->container, &x->err);

    if (!rc)
        rc = find_document(x, &reading, &body, &place);
    rn_snapshot_end(&reading);
    return rc;
}

bool rn_context_is_renamed(struct rn_context *x)
{
    return look_up(x) == RN_OK;
}

static enum rn_rest_step queue_write(struct rn_context *x);

static enum rn_rest_step give_answer(struct rn_call *call)
{
    struct rn_context *x = call->state;

    if (x->has_written)
        return RN_REST_DONE;
    if (rn_context_is_renamed(x)) {
        rn_document_write_release(&x->write);
        return queue_write(x);
    }
    print_write(x);
    return RN_REST_DONE;
}

/* Ignoring a trigger would break what its owner relies on. */
enum rn_code rn_context_refuse_triggers(struct rn_context *x)
{
    struct rn_view name = rn_context_header(x, RN_HEADER_PRE_TRIGGERS);

    if (!name.len)
        name = rn_context_header(x, RN_HEADER_POST_TRIGGERS);
    if (!name.len)
        return RN_OK;
    return rn_fail(&x->err, RN_BAD_REQUEST,
                   "The trigger '%.*s' does not exist in the container.",
                   name.len > 80 ? 80 : (int)name.len, name.at);
}

/* A missing document to be replaced is reported before errors in its
 * replacement. */
static enum rn_rest_step refuse_write(struct rn_context *x, enum rn_code rc)
{
    struct rn_err why = x->err;

    if (x->write.verb == RN_DOCUMENT_REPLACE &&
        (rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE)) {
        if (look_up(x) == RN_NOT_FOUND) {
            rn_reply_owner(x);
            return rn_reply_fail(x, rn_fail_usual(&x->err, RN_NOT_FOUND));
        }
        x->err = why;
    }
    return rn_reply_fail(x, rc);
}

static enum rn_rest_step queue_write(struct rn_context *x)
{
    struct rn_document_write *w = &x->write;
    enum rn_code rc = rn_context_name_document(x, &w->id, &w->rid);

    if (!rc && (x->has_pk || w->verb == RN_DOCUMENT_REPLACE ||
                w->verb == RN_DOCUMENT_DELETE))
        rc = rn_context_whole_key(x);
    else if (!rc)
        rc = rn_context_missing_key(x, &x->err);
    if (rc)
        return rn_reply_fail(x, rc);
    w->body = x->call->req->body;
    if (w->verb != RN_DOCUMENT_DELETE)
        rc = rn_context_text(x, &w->body, RN_DOCUMENT_MAX);
    if (rc)
        return refuse_write(x, rc);
    w->done.call = write_done;
    /* A permission for one document does not allow renaming it. */
    w->keeps_id =
        x->is_granted && x->permission.resource.kind == RN_KIND_DOCUMENT;
    w->container = x->container->container;
    w->pk = x->has_pk ? &x->pk : NULL;
    w->room = &x->call->body;
    w->is_linkless = rn_context_flag(x, RN_HEADER_EXCLUDE_SYSTEM);
    w->conditions.if_match = rn_context_header(x, RN_HEADER_IF_MATCH);
    w->conditions.if_none_match = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    x->call->next = give_answer;
    rc = rn_document_write_start(x->rest->engine, w, &x->err);
    return rc ? refuse_write(x, rc) : RN_REST_PENDING;
}

static enum rn_rest_step start_write(struct rn_context *x,
                                     enum rn_document_verb verb)
{
    enum rn_code rc = rn_context_find_container(x);

    x->write.verb = verb;
    if (!rc)
        rc = rn_context_refuse_triggers(x);
    return rc ? rn_reply_fail(x, rc) : queue_write(x);
}

enum rn_rest_step rn_rest_document_create(struct rn_context *x)
{
    return start_write(x, RN_DOCUMENT_CREATE);
}

enum rn_rest_step rn_rest_document_upsert(struct rn_context *x)
{
    return start_write(x, RN_DOCUMENT_UPSERT);
}

enum rn_rest_step rn_rest_document_replace(struct rn_context *x)
{
    return start_write(x, RN_DOCUMENT_REPLACE);
}

enum rn_rest_step rn_rest_document_delete(struct rn_context *x)
{
    return start_write(x, RN_DOCUMENT_DELETE);
}
