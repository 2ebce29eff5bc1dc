/* queries.c -- running a query: documents, or the catalog's lists.
 *
 * Runs in a worker: a loop must not spend its time on it.
 *
 * The continuation is, in base64, how many rows were sent and passed (u64 each,
 * big endian), how many of the last document's rows (u32), and the place of
 * that document.  Documents are read in key order, which updates do not change.
 * A query that must see everything first (ORDER BY, GROUP BY, DISTINCT,
 * aggregates) begins again and skips what was sent.
 */
#include "rest/asked.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "json/print.h"

#include <stdio.h>

enum {
    PAGE_BYTES = 4 << 20,
    TOKEN_HEAD = 20,
    TOKEN_MAX = TOKEN_HEAD + RN_PLACE_MAX,
    OBJECTS_AT_ONCE = 64,
};

/* ---- requests ------------------------------------------------------------ */

static enum rn_code read_policy(struct rn_asked *a, struct rn_context *x)
{
    enum rn_code rc =
        rn_json_parse(&a->definition, x->container->body, &x->err);

    return rc ? rc
              : rn_policy_read(&a->definition, &x->call->arena, &a->policy);
}

enum rn_code rn_asked_read(struct rn_asked *a, struct rn_context *x)
{
    struct rn_query_input in = { .json = &a->json };
    uint32_t text;
    enum rn_code rc;

    *a = (struct rn_asked){ .query = NULL };
    rn_json_init(&a->json, NULL);
    rn_json_init(&a->definition, NULL);
    rc = rn_json_parse(&a->json, x->call->req->body, &x->err);
    if (!rc && x->link.kind == RN_KIND_DOCUMENT) {
        rc = read_policy(a, x);
        in.policy = &a->policy;
    }
    if (rc)
        return rc;
    text = rn_json_find(&a->json, 0, RN_LIT("query"));
    if (rn_json_kind(&a->json, text) != RN_JSON_STRING) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "The input content is invalid because the required "
                       "properties - 'query; ' - are missing");
    }
    rc = rn_json_string_get(&a->json, text, &x->call->arena, &in.text);
    if (rc)
        return rc;
    in.parameters = rn_json_find(&a->json, 0, RN_LIT("parameters"));
    if (rn_json_kind(&a->json, in.parameters) != RN_JSON_ARRAY)
        in.json = NULL;
    return rn_query_parse(&in, &x->call->arena, &a->query, &a->faults, &x->err);
}

void rn_asked_release(struct rn_asked *a)
{
    rn_json_release(&a->json);
    rn_json_release(&a->definition);
}

enum rn_rest_step rn_asked_refuse(struct rn_asked *a, struct rn_context *x,
                                  enum rn_code rc)
{
    const struct rn_status *status = rn_status_of(rc, RN_REASON_NONE);
    struct rn_buf faults = RN_BUF_INIT(64 << 10);
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);

    if (a->faults.count == 0 || rn_buf_add(&faults, RN_LIT("Message: ")) ||
        rn_faults_print(&a->faults, &faults)) {
        rn_buf_release(&faults);
        rn_asked_release(a);
        return rn_reply_fail(x, rc);
    }
    rn_buf_clear(&x->call->body);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("code"));
    rn_json_out_string(&o, rn_view_text(status->word));
    rn_json_out_key(&o, RN_LIT("message"));
    rn_json_out_string(&o, rn_buf_view(&faults));
    rn_json_out_object_end(&o);
    (void)!rn_json_out_finish(&o);
    rn_buf_release(&faults);
    rn_asked_release(a);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, status->http);
}

/* ---- sources ------------------------------------------------------------- */

struct run {
    struct rn_context *x;
    struct rn_asked asked;
    struct rn_query_limits limits;

    /* Documents. */
    struct rn_reading reading;
    struct rn_documents documents;
    struct rn_documents_scan scan;
    char place[RN_PLACE_MAX]; /* of the document given last; of objects, the
                                 rid of the one before */
    size_t place_len;

    /* The catalog's objects. */
    struct rn_object *objects[OBJECTS_AT_ONCE];
    struct rn_buf text; /* of a permission, with its token */
    size_t object_count, object_at;
    struct rn_rid last;
    bool any, ended;

    /* The page. */
    struct rn_json_out out;
    size_t max, count;
};

static enum rn_code next_document(void *context, struct rn_view *document,
                                  struct rn_err *err)
{
    struct run *r = context;
    enum rn_code rc = rn_documents_next(&r->documents, document);

    if (rc && rc != RN_NOT_FOUND)
        return rn_fail(err, rc, "%s", rn_txn_why(r->reading.txn, rc));
    if (rc)
        return rc;
    r->place_len = r->documents.at.len;
    memcpy(r->place, r->documents.at.at, r->place_len);
    return RN_OK;
}

static void release_objects(struct run *r)
{
    while (r->object_count > 0)
        rn_object_release(r->objects[--r->object_count]);
    r->object_at = 0;
}

static enum rn_code next_object(void *context, struct rn_view *document,
                                struct rn_err *err)
{
    struct run *r = context;
    struct rn_object *o;

    if (r->x->container) /* conflicts and scripts: there are none */
        return RN_NOT_FOUND;
    if (r->object_at == r->object_count) {
        release_objects(r);
        r->object_count = rn_catalog_list(
            r->x->rest->engine, r->x->link.kind, rn_context_owner(r->x),
            r->any ? &r->last : NULL, r->objects, OBJECTS_AT_ONCE);
        if (r->object_count == 0)
            return RN_NOT_FOUND;
    }
    o = r->objects[r->object_at++];
    r->place_len = r->any ? rn_rid_print(r->last, r->place).len : 0;
    r->last = o->rid;
    r->any = true;
    *document = o->body;
    if (o->kind != RN_KIND_PERMISSION)
        return RN_OK;
    rn_buf_clear(&r->text);
    if (rn_permission_print(r->x, o, &r->text))
        return rn_fail(err, RN_NOMEM, "out of memory");
    *document = rn_buf_view(&r->text);
    return RN_OK;
}

/* ---- scope ------------------------------------------------------------- */

/* Clients that do not say where, and do not mean everywhere, have forgotten
 * something; in the service they find out. */
static enum rn_code check_cross(struct rn_context *x, const struct rn_query *q)
{
    const struct rn_pkdef *def;
    bool one = x->link.kind == RN_KIND_DOCUMENT;

    if ((!one && x->link.kind != RN_KIND_CONFLICT) || x->has_pk ||
        rn_context_flag(x, RN_HEADER_CROSS_PARTITION) ||
        rn_context_header(x, RN_HEADER_RANGE_ID).at ||
        rn_context_header(x, RN_HEADER_START_EPK).at ||
        rn_context_header(x, RN_HEADER_END_EPK).at ||
        !rn_query_reads_documents(q))
        return RN_OK;
    def = &x->container->container->pkdef;
    for (size_t i = 0; one && i < def->count; i++) {
        struct rn_query_pins pins;
        enum rn_code rc =
            rn_query_pin(q, &def->paths[i], &x->call->arena, &pins);
        if (rc)
            return rc;
        one = pins.is_pinned && pins.count <= 1;
    }
    if (one)
        return RN_OK;
    return rn_fail(
        &x->err, RN_BAD_REQUEST,
        "Cross partition query is required but disabled. Please set "
        "x-ms-documentdb-query-enablecrosspartition to true, specify "
        "x-ms-documentdb-partitionkey, or revise your query to "
        "avoid this exception.");
}

/* ---- pages --------------------------------------------------------------- */

static enum rn_code take_row(void *context, struct rn_view json, bool *is_full,
                             struct rn_err *err)
{
    struct run *r = context;

    (void)err;
    rn_json_out_raw(&r->out, json);
    r->count++;
    *is_full = r->count >= r->max || r->x->call->body.len > (size_t)PAGE_BYTES;
    return RN_OK;
}

static enum rn_code read_token(struct run *r)
{
    struct rn_view text = rn_context_header(r->x, RN_HEADER_CONTINUATION);
    size_t len = 0;
    char *bytes;

    if (!text.len)
        return RN_OK;
    bytes = rn_arena_alloc(&r->x->call->arena, TOKEN_MAX);
    if (!bytes)
        return RN_NOMEM;
    if (rn_base64_decode(text, RN_BASE64_STANDARD, bytes, TOKEN_MAX, &len) ||
        len < TOKEN_HEAD)
        return rn_fail(&r->x->err, RN_BAD_REQUEST,
                       "Invalid Continuation Token");
    r->limits.from.rows = rn_get_u64_be(bytes);
    r->limits.from.passed = rn_get_u64_be(bytes + 8);
    r->limits.from.document_rows = rn_get_u32_be(bytes + 16);
    if (rn_query_is_streaming(r->asked.query) &&
        r->x->link.kind != RN_KIND_DOCUMENT)
        r->any = rn_rid_parse(rn_view_of(bytes + TOKEN_HEAD, len - TOKEN_HEAD),
                              &r->last);
    else if (rn_query_is_streaming(r->asked.query)) {
        r->scan.after = rn_view_of(bytes + TOKEN_HEAD, len - TOKEN_HEAD);
        r->scan.from_there = true;
    }
    return RN_OK;
}

static void add_token(struct run *r, const struct rn_query_place *place)
{
    char bytes[TOKEN_MAX], text[RN_BASE64_LEN(TOKEN_MAX)];

    rn_put_u64_be(bytes, place->rows);
    rn_put_u64_be(bytes + 8, place->passed);
    rn_put_u32_be(bytes + 16, place->document_rows);
    memcpy(bytes + TOKEN_HEAD, r->place, r->place_len);
    rn_reply_header(
        r->x, RN_HEADER_CONTINUATION,
        rn_base64_encode(rn_view_of(bytes, TOKEN_HEAD + r->place_len),
                         RN_BASE64_STANDARD, text));
}

static void add_metrics(struct run *r, const struct rn_query_stats *s)
{
    char text[512];
    double ms =
        (double)(rn_mono_ns(r->x->rest->opts.env) - r->x->call->begun_ns) / 1e6;

    if (!rn_context_flag(r->x, RN_HEADER_WANT_QUERY_METRICS))
        return;
    snprintf(text, sizeof(text),
             "totalExecutionTimeInMs=%.2f;queryCompileTimeInMs=0.00;"
             "queryLogicalPlanBuildTimeInMs=0.00;"
             "queryPhysicalPlanBuildTimeInMs=0.00;"
             "queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs=%.2f;"
             "indexLookupTimeInMs=0.00;instructionCount=%llu;"
             "documentLoadTimeInMs=0.00;systemFunctionExecuteTimeInMs=0.00;"
             "userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount=%llu;"
             "retrievedDocumentSize=%llu;outputDocumentCount=%llu;"
             "outputDocumentSize=%llu;writeOutputTimeInMs=0.00;"
             "indexUtilizationRatio=0.00",
             ms, ms, (unsigned long long)s->steps,
             (unsigned long long)s->documents,
             (unsigned long long)s->document_bytes, (unsigned long long)s->rows,
             (unsigned long long)s->row_bytes);
    rn_reply_text(r->x, RN_HEADER_QUERY_METRICS, text);
}

static enum rn_code open_source(struct run *r, struct rn_source *source)
{
    struct rn_context *x = r->x;
    enum rn_code rc = RN_OK;

    source->context = r;
    source->next = next_object;
    if (x->link.kind != RN_KIND_DOCUMENT)
        return RN_OK;
    source->next = next_document;
    rc = rn_context_scope(x, &r->scan);
    if (!rc)
        rc = rn_reading_begin(&r->reading, x->rest->engine,
                              x->container->container, &x->err);
    if (!rc)
        rc = rn_session_check(x, &r->reading, &r->scan.epks);
    return rc ? rc : rn_documents_open(&r->documents, &r->reading, &r->scan);
}

/* The body: what clients want around the rows. */
static enum rn_code run_page(struct run *r, const struct rn_source *source,
                             struct rn_query_stats *stats)
{
    struct rn_sink sink = { r, take_row };
    struct rn_context *x = r->x;
    const struct rn_object *owner = x->container ? x->container
                                    : x->user    ? x->user
                                                 : x->database;
    char rid[RN_RID_TEXT_MAX];
    enum rn_code rc;

    r->out = RN_JSON_OUT_INIT(&x->call->body);
    rn_json_out_object_begin(&r->out);
    rn_json_out_key(&r->out, RN_LIT("_rid"));
    rn_json_out_string(&r->out,
                       owner ? rn_rid_print(owner->rid, rid) : RN_LIT(""));
    rn_json_out_key(&r->out, rn_kind_list(x->link.kind));
    rn_json_out_array_begin(&r->out);
    rc =
        rn_query_run(r->asked.query, source, &sink, &r->limits, stats, &x->err);
    rn_json_out_array_end(&r->out);
    rn_json_out_key(&r->out, RN_LIT("_count"));
    rn_json_out_uint(&r->out, r->count);
    rn_json_out_object_end(&r->out);
    return rc ? rc : rn_json_out_finish(&r->out);
}

static enum rn_rest_step run(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct run *r = rn_arena_alloc(&call->arena, sizeof(*r));
    struct rn_query_stats stats = { 0 };
    struct rn_source source;
    enum rn_code rc;

    if (!r)
        return rn_reply_fail(x, RN_NOMEM);
    memset(r, 0, sizeof(*r));
    r->x = x;
    r->text = RN_BUF_INIT(RN_CALL_BODY_MAX);
    r->limits.now_us = rn_wall_ms(x->rest->opts.env) * 1000;
    rn_random(x->rest->opts.env, &r->limits.seed, sizeof(r->limits.seed));
    rc = rn_asked_read(&r->asked, x);
    if (!rc)
        rc = check_cross(x, r->asked.query);
    if (!rc)
        rc = rn_context_count(x, &r->max);
    if (!rc)
        rc = read_token(r);
    if (!rc)
        rc = open_source(r, &source);
    if (!rc)
        rc = run_page(r, &source, &stats);
    rn_documents_close(&r->documents);
    rn_reading_end(&r->reading);
    release_objects(r);
    rn_buf_release(&r->text);
    if (rc)
        return rn_asked_refuse(&r->asked, x, rc);
    if (!stats.is_done)
        add_token(r, &stats.place);
    add_metrics(r, &stats);
    rn_asked_release(&r->asked);
    rn_reply_owner(x);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, r->count);
    rn_reply_charge(x, rn_charge_query(stats.document_bytes));
    return rn_reply_json(x, RN_STATUS_OK);
}

enum rn_rest_step rn_rest_query(struct rn_context *x)
{
    enum rn_code rc = rn_kind_owner(x->link.kind) == RN_KIND_CONTAINER
                          ? rn_context_find_container(x)
                          : rn_context_find(x);

    if (rc)
        return rn_reply_fail(x, rc);
    x->call->next = run;
    return RN_REST_WORK;
}
