/* batches.c -- transactional batch and bulk, in JSON and in HybridRow.
 *
 * Both formats are parsed into the same operations (cosmos/hybrid.h) and
 * answered in the format of the request.  Headers say whether the batch is
 * atomic or each operation stands alone.
 */
#include "rest/batches.h"

#include "rest/budget.h"
#include "rest/documents.h"
#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/patches.h"
#include "rest/reply.h"
#include "rest/sessions.h"

#include "engine/document/snapshot.h"
#include "json/print.h"

#include <inttypes.h>
#include <stdio.h>

/* Deeper than a document may be, so that a document that is too deep fails as
 * one operation. */
enum { DEPTH = 256 };

/* ---- reading ------------------------------------------------------------- */

static const struct {
    const char *name;
    enum rn_batch_type type;
    enum rn_document_verb verb;
} verbs[] = {
    { "Create", RN_BATCH_CREATE, RN_DOCUMENT_CREATE },
    { "Upsert", RN_BATCH_UPSERT, RN_DOCUMENT_UPSERT },
    { "Read", RN_BATCH_READ, RN_DOCUMENT_READ },
    { "Replace", RN_BATCH_REPLACE, RN_DOCUMENT_REPLACE },
    { "Patch", RN_BATCH_PATCH, RN_DOCUMENT_PATCH },
    { "Delete", RN_BATCH_DELETE, RN_DOCUMENT_DELETE },
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static int32_t type_of(const struct rn_json *j, uint32_t value)
{
    for (size_t i = 0; i < VERBS; i++) {
        if (rn_json_kind(j, value) == RN_JSON_STRING &&
            rn_json_string_is(j, value, rn_view_text(verbs[i].name)))
            return (int32_t)verbs[i].type;
    }
    return -1;
}

/* A member that is a string or absent. */
static enum rn_code get_text(struct rn_context *x, const struct rn_json *j,
                             uint32_t object, const char *name,
                             struct rn_view *out)
{
    uint32_t value = rn_json_find(j, object, rn_view_text(name));

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED ||
        rn_json_kind(j, value) == RN_JSON_NULL)
        return RN_OK;
    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "The '%s' of a batch operation must be a string", name);
    return rn_json_string_get(j, value, &x->call->arena, out);
}

/* The key is JSON text in a string; plain JSON is accepted as well. */
static enum rn_code get_key(struct rn_context *x, const struct rn_json *j,
                            uint32_t object, struct rn_view *out)
{
    uint32_t key = rn_json_find(j, object, RN_LIT("partitionKey"));

    if (rn_json_kind(j, key) != RN_JSON_ARRAY)
        return get_text(x, j, object, "partitionKey", out);
    *out = rn_json_text(j, key);
    return RN_OK;
}

static enum rn_code get_ttl(struct rn_context *x, const struct rn_json *j,
                            uint32_t object, struct rn_batch_ask *out)
{
    uint32_t value = rn_json_find(j, object, RN_LIT("timeToLiveInSeconds"));
    int64_t seconds = 0;

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED ||
        rn_json_kind(j, value) == RN_JSON_NULL)
        return RN_OK;
    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, &seconds) || seconds != (int32_t)seconds) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "The 'timeToLiveInSeconds' of a batch operation must be "
                       "a 32-bit integer");
    }
    out->has_ttl = true;
    out->ttl = (int32_t)seconds;
    return RN_OK;
}

static enum rn_code read_ask(struct rn_context *x, const struct rn_json *j,
                             uint32_t object, struct rn_batch_ask *out)
{
    uint32_t body = rn_json_find(j, object, RN_LIT("resourceBody"));
    uint32_t minimal =
        rn_json_find(j, object, RN_LIT("minimalReturnPreference"));
    enum rn_code rc;

    if (rn_json_kind(j, object) != RN_JSON_OBJECT)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "A batch operation must be a JSON object");
    *out = (struct rn_batch_ask){
        .type = type_of(j, rn_json_find(j, object, RN_LIT("operationType"))),
        .is_minimal = rn_json_kind(j, minimal) == RN_JSON_TRUE,
    };
    if (rn_json_kind(j, body) == RN_JSON_OBJECT ||
        rn_json_kind(j, body) == RN_JSON_ARRAY)
        out->body = rn_json_text(j, body);
    rc = get_key(x, j, object, &out->pk);
    if (!rc)
        rc = get_ttl(x, j, object, out);
    if (!rc)
        rc = get_text(x, j, object, "id", &out->id);
    if (!rc)
        rc = get_text(x, j, object, "ifMatch", &out->if_match);
    return rc ? rc : get_text(x, j, object, "ifNoneMatch", &out->if_none_match);
}

static enum rn_code refuse_many(struct rn_context *x)
{
    return rn_fail(&x->err, RN_BAD_REQUEST,
                   "Batch request has more operations than what is "
                   "supported.");
}

static enum rn_code read_json(struct rn_context *x, size_t *count)
{
    struct rn_json_limits limits = { .depth = DEPTH,
                                     .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_json j;
    struct rn_json_walk w;
    enum rn_code rc;

    rn_json_init(&j, &limits);
    rc = rn_json_parse(&j, x->call->req->body, &x->err);
    if (!rc && rn_json_kind(&j, 0) != RN_JSON_ARRAY)
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "A batch request must be an array of operations");
    if (!rc && rn_json_count(&j, 0) > RN_BATCH_MAX)
        rc = refuse_many(x);
    w = rn_json_walk_begin(&j, 0);
    while (!rc && rn_json_walk_next(&w))
        rc = read_ask(x, &j, w.value, &x->asks[(*count)++]);
    rn_json_release(&j);
    return rc;
}

/* The client that sends HybridRow may send documents in CosmosBinary.  Decoded,
 * all of them together may be no larger than a request. */
static enum rn_code read_body(struct rn_context *x, struct rn_batch_ask *ask,
                              size_t *left)
{
    bool was_binary = rn_binary_is(ask->body);
    enum rn_code rc = rn_context_text(x, &ask->body, *left);

    if (!rc && was_binary)
        *left -= ask->body.len;
    return rc;
}

static enum rn_code read_hybrid(struct rn_context *x, size_t *count)
{
    struct rn_view stream = x->call->req->body;
    size_t left = RN_DOCUMENT_MAX;
    struct rn_batch_ask more;
    enum rn_code rc = rn_hybrid_begin(&stream, &x->err);

    while (!rc && *count < RN_BATCH_MAX) {
        rc = rn_hybrid_next(&stream, &x->asks[*count], &x->err);
        if (!rc)
            rc = read_body(x, &x->asks[*count], &left);
        *count += !rc;
    }
    if (!rc) {
        rc = rn_hybrid_next(&stream, &more, &x->err) == RN_NOT_FOUND
                 ? RN_NOT_FOUND
                 : refuse_many(x);
    }
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code read_asks(struct rn_context *x, size_t *count)
{
    struct rn_view body = x->call->req->body;
    enum rn_code rc;

    *count = 0;
    if (body.len > RN_DOCUMENT_MAX) {
        return rn_fail(&x->err, RN_TOO_LARGE,
                       "Message: {\"Errors\":[\"Request size is too "
                       "large\"]}");
    }
    x->asks = rn_arena_alloc(&x->call->arena, RN_BATCH_MAX * sizeof(*x->asks));
    if (!x->asks)
        return RN_NOMEM;
    rc = rn_hybrid_is(body) ? read_hybrid(x, count) : read_json(x, count);
    if (!rc && !*count)
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "Batch request has no operations.");
    return rc;
}

/* ---- the request --------------------------------------------------------- */

/* An operation's own key.  If the request has a key too, both must be equal:
 * authorization checked that key. */
static enum rn_code set_key(struct rn_context *x,
                            const struct rn_batch_ask *ask,
                            struct rn_batch_operation *op)
{
    struct rn_pk *pk;
    enum rn_code rc;

    op->pk = x->has_pk ? &x->pk : NULL;
    if (!ask->pk.at)
        return RN_OK;
    pk = rn_arena_alloc(&x->call->arena, sizeof(*pk));
    if (!pk)
        return RN_NOMEM;
    op->unfit = rn_pk_parse(ask->pk, &x->call->arena, pk, &op->why);
    if (!op->unfit)
        op->unfit = rn_pkdef_fit(&x->container->container->pkdef, pk, &op->why);
    op->pk = pk;
    rc = RN_OK;
    if (x->has_pk && (op->unfit || !rn_pk_eq(pk, &x->pk))) {
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "One or more operations within the batch request have a "
                     "different partition key value than the request.");
    }
    return rc;
}

static enum rn_code unfit(struct rn_batch_operation *op, const char *why)
{
    return rn_fail(&op->why, RN_BAD_REQUEST, "%s", why);
}

/* Checks for missing and invalid members. */
static void check_ask(const struct rn_batch_ask *ask, bool is_known,
                      struct rn_batch_operation *op)
{
    bool makes =
        op->verb == RN_DOCUMENT_CREATE || op->verb == RN_DOCUMENT_UPSERT;

    if (op->unfit)
        return;
    if (!is_known) {
        op->unfit = unfit(op, "The operationType of a batch operation must be "
                              "Create, Upsert, Read, Replace, Patch or Delete");
    } else if (!makes && !ask->id.len) {
        op->unfit = unfit(op, "A batch operation upon an item needs its id");
    } else if (op->verb != RN_DOCUMENT_READ && op->verb != RN_DOCUMENT_DELETE &&
               !ask->body.at) {
        op->unfit = unfit(op, "A batch operation that writes needs a "
                              "resourceBody");
    } else if (!makes && !op->pk) {
        op->unfit = unfit(op, "PartitionKey value must be supplied for this "
                              "operation.");
    } else if (op->verb == RN_DOCUMENT_PATCH && ask->has_ttl) {
        op->unfit = unfit(op, "A Patch takes no timeToLiveInSeconds: it can "
                              "set /ttl");
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The time to live of an operation becomes the member ttl of its document,
 * where all other code finds it.  It is appended behind the members of the
 * body: of a duplicate name the last one counts.  A body that is not an object
 * is left unchanged, to be refused later. */
static enum rn_code set_ttl(struct rn_context *x,
                            const struct rn_batch_ask *ask,
                            struct rn_batch_operation *op)
{
    char member[32];
    struct rn_view body = ask->body;
    size_t end = body.len, last;
    char *text;
    int len;

    while (end > 0 && is_blank(body.at[end - 1]))
        end--;
    if (end == 0 || body.at[end - 1] != '}')
        return RN_OK;
    for (last = end - 1; last > 0 && is_blank(body.at[last - 1]); last--)
        ;
    len = snprintf(member, sizeof(member), "%s\"ttl\":%" PRId32 "}",
                   last > 0 && body.at[last - 1] == '{' ? "" : ",", ask->ttl);
    text = rn_arena_alloc(&x->call->arena, end + (size_t)len);
    if (!text)
        return RN_NOMEM;
    memcpy(text, body.at, end - 1);
    memcpy(text + end - 1, member, (size_t)len);
    op->body = rn_view_of(text, end - 1 + (size_t)len);
    return RN_OK;
}

static enum rn_code set_operation(struct rn_context *x,
                                  const struct rn_batch_ask *ask,
                                  struct rn_batch_operation *op)
{
    bool is_known = false;
    enum rn_code rc;

    *op = (struct rn_batch_operation){
        .id = ask->id,
        .body = ask->body,
        .conditions = { ask->if_match, ask->if_none_match },
    };
    for (size_t i = 0; i < VERBS; i++) {
        if ((int32_t)verbs[i].type == ask->type) {
            op->verb = verbs[i].verb;
            is_known = true;
        }
    }
    rc = set_key(x, ask, op);
    if (!rc)
        check_ask(ask, is_known, op);
    if (!rc && !op->unfit && !op->pk)
        op->unfit = rn_context_missing_key(x, &op->why);
    if (!rc && ask->has_ttl && ask->body.at && !op->unfit)
        rc = set_ttl(x, ask, op);
    return rc;
}

/* A request with one key and without the header means a transaction. */
static enum rn_batch_mode mode_of(const struct rn_context *x)
{
    bool has_range = rn_context_header(x, RN_HEADER_RANGE_ID).len > 0;

    if (rn_context_flag(x, RN_HEADER_BATCH_ATOMIC) ||
        (!rn_context_header(x, RN_HEADER_BATCH_ATOMIC).at && !has_range))
        return RN_BATCH_ATOMIC;
    if (rn_context_flag(x, RN_HEADER_BATCH_CONTINUE) ||
        !rn_context_header(x, RN_HEADER_BATCH_CONTINUE).at)
        return RN_BATCH_EACH;
    return RN_BATCH_UNTIL_FAILURE;
}

static enum rn_code make_batch(struct rn_context *x, size_t count)
{
    const struct rn_range_span *range;
    struct rn_batch *b = rn_arena_alloc(&x->call->arena, sizeof(*b));
    struct rn_batch_operation *ops =
        rn_arena_alloc(&x->call->arena, count * sizeof(*ops));
    enum rn_code rc = RN_OK;

    if (!b || !ops)
        return RN_NOMEM;
    *b = (struct rn_batch){ .mode = mode_of(x),
                            .container = x->container->container,
                            .pk = &x->pk,
                            .operations = ops,
                            .count = count };
    x->batch = b;
    if (b->mode == RN_BATCH_ATOMIC || x->has_pk)
        rc = rn_context_whole_key(x);
    else
        b->has_range = rn_context_header(x, RN_HEADER_RANGE_ID).len > 0;
    if (!rc && b->has_range) {
        rc = rn_context_range(x, &range);
        b->range = rc ? 0 : range->id;
    }
    for (size_t i = 0; !rc && i < count; i++)
        rc = set_operation(x, &x->asks[i], &ops[i]);
    return rc;
}

/* ---- sessions ------------------------------------------------------------ */

static enum rn_code check_key(struct rn_context *x, struct rn_snapshot *r,
                              const struct rn_pk *pk)
{
    struct rn_row_range row;
    struct rn_epk epk;
    uint32_t range;
    enum rn_code rc;

    rn_epk_of(&r->container->pkdef, pk, &epk);
    rc = rn_range_find(r->txn, r->container, rn_epk_view(&epk), &range, &row);
    if (rc == RN_NOT_FOUND)
        return rn_fail_reason(&x->err, RN_REASON_OWNER,
                              "Owner resource does not exist");
    return rc ? rc : rn_session_check_range(x, r, range);
}

/* The reads of a batch must see all that its session has seen; its writes need
 * not, as for any write. */
static enum rn_code check_session(struct rn_context *x)
{
    const struct rn_batch *b = x->batch;
    struct rn_snapshot reading = { 0 };
    enum rn_code rc = RN_OK;

    if (!rn_context_header(x, RN_HEADER_SESSION_TOKEN).len)
        return RN_OK;
    for (size_t i = 0; !rc && i < b->count; i++) {
        const struct rn_batch_operation *op = &b->operations[i];
        if (op->verb != RN_DOCUMENT_READ || op->unfit || !op->pk)
            continue;
        if (!reading.txn)
            rc = rn_snapshot_begin(&reading, x->rest->engine, b->container,
                                   &x->err);
        if (!rc)
            rc = check_key(x, &reading, op->pk);
    }
    rn_snapshot_end(&reading);
    return rc;
}

/* ---- answering ----------------------------------------------------------- */

static int status_of(const struct rn_batch_operation *op)
{
    if (op->verb == RN_DOCUMENT_DELETE)
        return RN_STATUS_NO_CONTENT;
    return op->created && op->verb != RN_DOCUMENT_READ ? RN_STATUS_CREATED
                                                       : RN_STATUS_OK;
}

static double charge_of(const struct rn_batch_operation *op)
{
    if (op->code == RN_THROTTLED)
        return RN_CHARGE_THROTTLED;
    if (op->code)
        return op->err.reason == RN_REASON_DEPENDENCY ? 0 : 1;
    return op->verb == RN_DOCUMENT_READ ? rn_charge_read(op->stored.len)
                                        : rn_charge_write(op->stored.len);
}

static void fill_result(struct rn_context *x, size_t i, char etag[RN_ETAG_LEN],
                        struct rn_batch_result *out)
{
    const struct rn_batch_operation *op = &x->batch->operations[i];
    const struct rn_status *failure =
        rn_status_of(op->code, (enum rn_reason)(op->code ? op->err.reason : 0));
    bool is_minimal = x->asks[i].is_minimal || rn_context_wants_minimal(x);

    *out = (struct rn_batch_result){
        .status = op->code ? failure->http : status_of(op),
        .sub = failure->sub,
        .charge = charge_of(op),
    };
    if (op->code == RN_THROTTLED)
        out->retry_after_ms = x->retry_ms ? x->retry_ms : RN_RETRY_AFTER_MS;
    if (op->place.etag.lsn && (!op->code || op->code == RN_NOT_MODIFIED)) {
        rn_etag_print(op->place.etag, etag);
        out->etag = rn_view_of(etag, RN_ETAG_LEN);
    }
    if (op->stored.len && (op->verb == RN_DOCUMENT_READ || !is_minimal))
        out->body = op->stored;
    if (rn_batch_is_refusal(op->code))
        out->message = rn_view_text(op->err.text);
}

static void print_result(struct rn_json_out *o, const struct rn_batch_result *r)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("statusCode"));
    rn_json_out_int(o, r->status);
    if (rn_status_read(r->status, r->sub)->code) {
        rn_json_out_key(o, RN_LIT("subStatusCode"));
        rn_json_out_int(o, r->sub);
    }
    if (r->retry_after_ms) {
        rn_json_out_key(o, RN_LIT("retryAfterMilliseconds"));
        rn_json_out_uint(o, r->retry_after_ms);
    }
    if (r->message.at) {
        rn_json_out_key(o, RN_LIT("message"));
        rn_json_out_string(o, r->message);
    }
    rn_json_out_key(o, RN_LIT("requestCharge"));
    rn_json_out_double(o, r->charge);
    if (r->etag.at) {
        rn_json_out_key(o, RN_LIT("eTag"));
        rn_json_out_string(o, r->etag);
    }
    if (r->body.at) {
        rn_json_out_key(o, RN_LIT("resourceBody"));
        rn_json_out_raw(o, r->body);
    }
    rn_json_out_object_end(o);
}

static enum rn_code print_json(struct rn_context *x)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    struct rn_batch_result result;
    char etag[RN_ETAG_LEN];

    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < x->batch->count; i++) {
        fill_result(x, i, etag, &result);
        print_result(&o, &result);
    }
    rn_json_out_array_end(&o);
    return rn_json_out_finish(&o);
}

/* That client looks for the error message in the body. */
static enum rn_code print_hybrid(struct rn_context *x)
{
    struct rn_batch_result result;
    char etag[RN_ETAG_LEN];
    enum rn_code rc = rn_hybrid_put_head(&x->call->body);

    for (size_t i = 0; !rc && i < x->batch->count; i++) {
        fill_result(x, i, etag, &result);
        if (result.message.at)
            result.body = result.message;
        rc = rn_hybrid_put_result(&x->call->body, &result);
    }
    return rc;
}

/* A full queue or exhausted throughput becomes a 429 of each operation of a
 * bulk, as in the service: clients retry the operations or return them. */
static void throttle_each(struct rn_context *x)
{
    for (size_t i = 0; i < x->batch->count; i++) {
        struct rn_batch_operation *op = &x->batch->operations[i];

        if (i >= x->batch->first) {
            op->code = RN_THROTTLED;
            op->err = x->err;
        }
    }
    x->rc = RN_OK;
}

static enum rn_rest_step answer(struct rn_context *x)
{
    const struct rn_batch *b = x->batch;
    double charge = 0;
    int status = RN_STATUS_OK;

    if (x->rc == RN_THROTTLED && b->mode != RN_BATCH_ATOMIC)
        throttle_each(x);
    if (!x->rc)
        x->rc =
            rn_hybrid_is(x->call->req->body) ? print_hybrid(x) : print_json(x);
    if (x->rc)
        return rn_reply_fail(x, x->rc);
    for (size_t i = 0; i < b->count; i++) {
        charge += charge_of(&b->operations[i]);
        if (b->operations[i].code) /* 304 too */
            status = RN_STATUS_MULTI;
    }
    rn_reply_charge(x, charge);
    return rn_reply_json(x, status);
}

enum rn_rest_step rn_rest_batch(struct rn_context *x)
{
    size_t count;
    enum rn_code budget = rn_budget_check(x);
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = read_asks(x, &count);
    if (!rc)
        rc = make_batch(x, count);
    if (!rc && budget) {
        x->rc = budget;
        return answer(x);
    }
    if (!rc)
        rc = check_session(x);
    if (rc)
        return rn_reply_fail(x, rc);
    return rn_context_run_batch(x, answer);
}
