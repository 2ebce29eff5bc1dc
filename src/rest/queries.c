/* queries.c -- running a query: documents, or the catalog's lists.
 *
 * Runs in a worker: a loop must not spend its time on it.
 *
 * A page ends when it has its rows or bytes, or its time is over.  The
 * continuation is, in base64 and big endian,
 *
 *   1 byte    what ends it: a place among documents, or one among sorted rows
 *   u64 u64   rows sent, and rows that have passed OFFSET and LIMIT
 *   u32       rows of the last document that were sent
 *   u64       the answer that waits in answers.c; 0: none
 *   bytes     the place: of the last document, or behind the last sorted row
 *
 * and all that in {"token":"..."}: clients want JSON of a gateway.  So it has
 * at most 852 characters.  Documents are read in key order, which updates do
 * not change.  A query that must see everything first (ORDER BY, GROUP BY,
 * DISTINCT, aggregates) is answered from what waits; if that is gone it begins
 * again, behind the last row if it is sorted, else counting rows.  So is a
 * ranking (ranked.h).
 */
#include "rest/answers.h"
#include "rest/asked.h"
#include "rest/costs.h"
#include "rest/ranked.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "json/print.h"

#include <assert.h>
#include <stdio.h>

enum {
    PAGE_BYTES = 4 << 20,
    PAGE_MS = 1000, /* after that a page that can end does */
    STEPS_MAX = 400 * 1000 * 1000,
    MEMORY_MAX = 64 << 20,
    TOKEN_HEAD = 29,
    TOKEN_MAX = TOKEN_HEAD + (int)RN_QUERY_AFTER_MAX,
    OBJECTS_AT_ONCE = 64,
    OBJECT_PLACE = 16, /* bytes of an object's place */
};

static_assert((int)RN_PLACE_MAX <= (int)RN_QUERY_AFTER_MAX,
              "either place fits into a token");
static_assert(RN_BASE64_LEN(TOKEN_MAX) + 12 <= 1024,
              "clients allow a kilobyte");

enum token_kind { TOKEN_DOCUMENT = 1, TOKEN_ROW = 2 };

struct run {
    struct rn_context *x;
    struct rn_asked asked;
    struct rn_query_limits limits;
    struct rn_query_stats stats;
    uint64_t held; /* the answer that the token names */

    /* Documents. */
    struct rn_reading reading;
    struct rn_documents_scan scan;
    struct rn_access access;
    char place[RN_PLACE_MAX]; /* of the document given last */
    size_t place_len;
    struct rn_view first; /* the page's first document, looked at before */
    enum rn_code first_rc;
    bool has_first;

    /* The catalog's objects. */
    struct rn_object *objects[OBJECTS_AT_ONCE];
    size_t object_count, object_at;
    struct rn_rid last;
    bool any;
    struct rn_buf text; /* of a permission, with its token */

    /* The page, and what comes behind it. */
    struct rn_json_out out;
    size_t max, count;
    struct rn_query_place end; /* behind the last row */
    char after[RN_QUERY_AFTER_MAX];
    struct rn_answer *answer;
};

static bool is_whole(const struct run *r)
{
    return !rn_query_is_streaming(r->asked.query);
}

/* ---- sources ------------------------------------------------------------- */

static enum rn_code next_document(void *context, struct rn_view *document,
                                  struct rn_err *err)
{
    struct run *r = context;
    enum rn_code rc;

    if (r->has_first) {
        *document = r->first;
        rc = r->first_rc;
        r->has_first = false;
    } else {
        rc = rn_access_next(&r->access, document);
    }
    if (rc && rc != RN_NOT_FOUND)
        return rn_fail(err, rc, "%s", rn_txn_why(r->reading.txn, rc));
    if (rc)
        return rc;
    r->place_len = r->access.at.len;
    memcpy(r->place, r->access.at.at, r->place_len);
    return RN_OK;
}

static void release_objects(struct run *r)
{
    while (r->object_count > 0)
        rn_object_release(r->objects[--r->object_count]);
    r->object_at = 0;
}

static enum rn_code list_objects(struct run *r)
{
    if (r->x->container) /* conflicts and scripts: there are none */
        return RN_NOT_FOUND;
    release_objects(r);
    r->object_count = rn_catalog_list(
        r->x->rest->engine, r->x->link.kind, rn_context_owner(r->x),
        r->any ? &r->last : NULL, r->objects, OBJECTS_AT_ONCE);
    return r->object_count ? RN_OK : RN_NOT_FOUND;
}

/* A permission is shown with a token of its own. */
static enum rn_code show_object(struct run *r, struct rn_object *o,
                                struct rn_view *document, struct rn_err *err)
{
    *document = o->body;
    if (o->kind != RN_KIND_PERMISSION)
        return RN_OK;
    rn_buf_clear(&r->text);
    if (rn_permission_print(r->x, o, &r->text))
        return rn_fail(err, RN_NOMEM, "out of memory");
    *document = rn_buf_view(&r->text);
    return RN_OK;
}

/* The place of an object is its rid, in bytes that sort as rids do. */
static enum rn_code next_object(void *context, struct rn_view *document,
                                struct rn_err *err)
{
    struct run *r = context;
    struct rn_object *o;
    enum rn_code rc = RN_OK;

    if (r->has_first) {
        *document = r->first;
        r->has_first = false;
        return r->first_rc;
    }
    do {
        if (r->object_at == r->object_count)
            rc = list_objects(r);
        if (rc)
            return rc;
        o = r->objects[r->object_at++];
        r->last = o->rid;
        r->any = true;
        rn_put_u32_be(r->place, r->last.database);
        rn_put_u32_be(r->place + 4, r->last.parent);
        rn_put_u64_be(r->place + 8, r->last.number);
        r->place_len = OBJECT_PLACE;
    } while (
        rn_view_compare(rn_view_of(r->place, r->place_len), r->scan.after) < 0);
    return show_object(r, o, document, err);
}

/* Rows of the document that the last page ended with were sent; if it is gone,
 * or is not wanted any more, the next one is a new one. */
static void look_at_first(struct run *r)
{
    bool is_document = r->x->link.kind == RN_KIND_DOCUMENT;
    struct rn_view at;

    if (!r->limits.from.document_rows)
        return;
    r->first_rc = is_document ? rn_access_next(&r->access, &r->first)
                              : next_object(r, &r->first, &r->x->err);
    r->has_first = true;
    at = is_document ? r->access.at : rn_view_of(r->place, r->place_len);
    if (!r->first_rc && !rn_view_eq(at, r->scan.after))
        r->limits.from.document_rows = 0;
}

static enum rn_code open_source(struct run *r, struct rn_source *source,
                                bool no_order)
{
    struct rn_context *x = r->x;
    struct rn_access_ask ask = { .query = r->asked.query,
                                 .after = r->limits.from.after,
                                 .no_order = no_order,
                                 .matched = &r->stats.matched };
    enum rn_code rc = RN_OK;

    source->context = r;
    source->next = next_object;
    if (x->link.kind != RN_KIND_DOCUMENT) {
        look_at_first(r);
        return RN_OK;
    }
    source->next = next_document;
    ask.scope = r->scan;
    if (!r->reading.txn)
        rc = rn_reading_begin(&r->reading, x->rest->engine,
                              x->container->container, &x->err);
    if (!rc)
        rc = rn_session_check(x, &r->reading, &r->scan.epks);
    if (!rc)
        rc = rn_access_open(&r->access, &r->reading, &ask, &x->call->arena);
    if (!rc)
        look_at_first(r);
    return rc;
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

/* ---- tokens -------------------------------------------------------------- */

static const struct rn_view token_head = { "{\"token\":\"", 10 };
static const struct rn_view token_tail = { "\"}", 2 };

static enum rn_code bad_token(struct run *r)
{
    return rn_fail(&r->x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
}

static enum rn_code read_token(struct run *r)
{
    struct rn_view text = rn_context_header(r->x, RN_HEADER_CONTINUATION);
    struct rn_view tail;
    enum token_kind kind;
    size_t len = 0;
    char *bytes;

    if (!text.len)
        return RN_OK;
    bytes = rn_arena_alloc(&r->x->call->arena, TOKEN_MAX);
    if (!bytes)
        return RN_NOMEM;
    if (!rn_view_starts(text, token_head) ||
        text.len < token_head.len + token_tail.len)
        return bad_token(r);
    text = rn_view_of(text.at + token_head.len,
                      text.len - token_head.len - token_tail.len);
    if (!rn_view_eq(rn_view_of(text.at + text.len, token_tail.len),
                    token_tail) ||
        rn_base64_decode(text, RN_BASE64_STANDARD, bytes, TOKEN_MAX, &len) ||
        len < TOKEN_HEAD)
        return bad_token(r);
    kind = (enum token_kind)bytes[0];
    tail = rn_view_of(bytes + TOKEN_HEAD, len - TOKEN_HEAD);
    if (kind != (is_whole(r) ? TOKEN_ROW : TOKEN_DOCUMENT))
        return bad_token(r);
    r->limits.from.rows = rn_get_u64_be(bytes + 1);
    r->limits.from.passed = rn_get_u64_be(bytes + 9);
    r->limits.from.document_rows = rn_get_u32_be(bytes + 17);
    r->held = rn_get_u64_be(bytes + 21);
    if (kind == TOKEN_ROW) {
        r->limits.from.after = tail;
        return tail.len && !rn_query_is_ordered(r->asked.query) ? bad_token(r)
                                                                : RN_OK;
    }
    r->scan.after = tail;
    r->scan.from_there = true;
    if (r->x->link.kind != RN_KIND_DOCUMENT && tail.len != OBJECT_PLACE)
        return bad_token(r);
    return tail.len ? RN_OK : bad_token(r);
}

static void add_token(struct run *r)
{
    char bytes[TOKEN_MAX], text[RN_BASE64_LEN(TOKEN_MAX)], json[1024];
    struct rn_view tail =
        is_whole(r) ? r->end.after : rn_view_of(r->place, r->place_len);
    struct rn_view letters;

    bytes[0] = is_whole(r) ? TOKEN_ROW : TOKEN_DOCUMENT;
    rn_put_u64_be(bytes + 1, r->end.rows);
    rn_put_u64_be(bytes + 9, r->end.passed);
    rn_put_u32_be(bytes + 17, is_whole(r) ? 0 : r->end.document_rows);
    rn_put_u64_be(bytes + 21, r->held);
    if (tail.len)
        memcpy(bytes + TOKEN_HEAD, tail.at, tail.len);
    letters = rn_base64_encode(rn_view_of(bytes, TOKEN_HEAD + tail.len),
                               RN_BASE64_STANDARD, text);
    snprintf(json, sizeof(json), "%.*s%.*s%.*s", RN_FMT(token_head),
             RN_FMT(letters), RN_FMT(token_tail));
    rn_reply_text(r->x, RN_HEADER_CONTINUATION, json);
}

/* ---- pages --------------------------------------------------------------- */

static bool is_page_full(const struct run *r)
{
    return r->count >= r->max || r->x->call->body.len > (size_t)PAGE_BYTES;
}

static void put_row(struct run *r, struct rn_view json,
                    const struct rn_query_place *place)
{
    rn_json_out_raw(&r->out, json);
    r->count++;
    r->end = *place;
    if (place->after.len)
        memcpy(r->after, place->after.at, place->after.len);
    r->end.after = rn_view_of(r->after, place->after.len);
}

/* What must be seen in whole goes on behind the page. */
static enum rn_code keep_row(struct run *r, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full)
{
    enum rn_code rc;

    if (!r->answer) {
        rn_random(r->x->rest->opts.env, &r->held, sizeof(r->held));
        r->answer = rn_answer_new(r->held, 0);
        if (!r->answer)
            return RN_NOMEM;
        r->answer->sent = r->end.rows;
    }
    rc = rn_answer_add(r->answer, json, place);
    *is_full = r->answer->rows.len > (size_t)RN_ANSWER_BYTES_MAX;
    return rc;
}

static enum rn_code take_row(void *context, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full,
                             struct rn_err *err)
{
    struct run *r = context;

    (void)err;
    if (is_page_full(r))
        return keep_row(r, json, place, is_full);
    put_row(r, json, place);
    *is_full =
        (!is_whole(r) || r->access.kind == RN_ACCESS_ORDER) && is_page_full(r);
    return RN_OK;
}

static bool is_late(void *clock)
{
    const struct run *r = clock;

    return rn_mono_ns(r->x->rest->opts.env) - r->x->call->begun_ns >
           PAGE_MS * 1000000LL;
}

static const struct rn_object *owner_of(const struct run *r)
{
    const struct rn_context *x = r->x;

    if (x->container)
        return x->container;
    return x->user ? x->user : x->database;
}

static void begin_page(struct run *r)
{
    struct rn_context *x = r->x;
    const struct rn_object *owner = owner_of(r);
    char rid[RN_RID_TEXT_MAX];

    r->out = RN_JSON_OUT_INIT(&x->call->body);
    rn_json_out_object_begin(&r->out);
    rn_json_out_key(&r->out, RN_LIT("_rid"));
    rn_json_out_string(&r->out,
                       owner ? rn_rid_print(owner->rid, rid) : RN_LIT(""));
    rn_json_out_key(&r->out, rn_kind_list(x->link.kind));
    rn_json_out_array_begin(&r->out);
}

static enum rn_code end_page(struct run *r)
{
    rn_json_out_array_end(&r->out);
    rn_json_out_key(&r->out, RN_LIT("_count"));
    rn_json_out_uint(&r->out, r->count);
    rn_json_out_object_end(&r->out);
    return rn_json_out_finish(&r->out);
}

/* What was asked, and of what. */
static uint64_t check_of(const struct run *r)
{
    static const char *const names[] = { RN_HEADER_RANGE_ID,
                                         RN_HEADER_START_EPK, RN_HEADER_END_EPK,
                                         RN_HEADER_PARTITION_KEY };
    const struct rn_object *owner = owner_of(r);
    uint64_t check =
        rn_hash64(r->x->call->req->body, owner ? owner->rid.database : 0);

    check = rn_hash64(rn_view_of(owner ? &owner->rid.parent : NULL,
                                 owner ? sizeof(owner->rid.parent) : 0),
                      check + r->x->link.kind);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        check = rn_hash64(rn_context_header(r->x, names[i]), check);
    return check;
}

/* A page of what waits. */
static enum rn_code page_of_answer(struct run *r)
{
    struct rn_query_place place;
    struct rn_view json;

    begin_page(r);
    while (!is_page_full(r) && rn_answer_next(r->answer, &json, &place)) {
        put_row(r, json, &place);
        r->stats.rows++;
        r->stats.row_bytes += json.len;
    }
    r->stats.is_done = r->answer->is_all && rn_answer_is_empty(r->answer);
    return end_page(r);
}

/* Once; again if an index turned out to be the longer way. */
static enum rn_code run_once(struct run *r, bool no_order)
{
    struct rn_sink sink = { r, take_row };
    struct rn_context *x = r->x;
    struct rn_source source;
    enum rn_code rc = open_source(r, &source, no_order);

    if (rc)
        return rc;
    r->limits.group =
        r->access.kind == RN_ACCESS_ORDER ? &r->access.group : NULL;
    rn_buf_clear(&x->call->body);
    begin_page(r);
    r->end = r->limits.from;
    r->count = 0;
    return rn_query_run(r->asked.query, &source, &sink, &r->limits, &r->stats,
                        &x->err);
}

/* What the rows of one partition key come to when they are ranked. */
static enum rn_code rank(struct run *r)
{
    struct rn_context *x = r->x;
    struct rn_sink sink = { r, take_row };
    struct rn_ranking k = { .asked = &r->asked,
                            .x = x,
                            .reading = &r->reading,
                            .scope = &r->scan,
                            .limits = r->limits,
                            .skip = r->limits.from.rows };
    enum rn_code rc = rn_reading_begin(&r->reading, x->rest->engine,
                                       x->container->container, &x->err);

    if (!rc)
        rc = rn_session_check(x, &r->reading, &r->scan.epks);
    if (rc)
        return rc;
    k.limits.from = (struct rn_query_place){ 0 };
    begin_page(r);
    r->end = r->limits.from;
    return rn_ranking_run(&k, &sink, &r->stats);
}

static enum rn_code compute_page(struct run *r)
{
    struct rn_context *x = r->x;
    bool is_ranked = rn_query_is_ranked(r->asked.query);
    enum rn_code rc;

    r->held = 0;
    r->limits.now_us = rn_wall_ms(x->rest->opts.env) * 1000;
    r->limits.steps = STEPS_MAX;
    r->limits.memory_bytes = MEMORY_MAX;
    r->limits.ahead_bytes = RN_ANSWER_BYTES_MAX;
    r->limits.is_late = is_late;
    r->limits.clock = r;
    rn_random(x->rest->opts.env, &r->limits.seed, sizeof(r->limits.seed));
    rc = is_ranked ? rank(r) : run_once(r, false);
    if (!rc && r->access.has_given_up) {
        rn_access_close(&r->access);
        rn_answer_free(r->answer);
        r->answer = NULL;
        rc = run_once(r, true);
    }
    if (!is_whole(r)) /* it may have gone on behind its last row */
        r->end = r->stats.place;
    if (!rc && r->answer)
        r->answer->is_all = r->stats.is_done;
    r->stats.is_done = r->stats.is_done && !r->answer;
    return rc ? rc : end_page(r);
}

/* Keeps what comes behind the page, if anything does. */
static void put_answer(struct run *r)
{
    struct rn_rest *rest = r->x->rest;

    if (!r->answer)
        return;
    if (rn_answer_is_empty(r->answer)) {
        rn_answer_free(r->answer);
        r->held = 0;
    } else {
        r->answer->check = check_of(r);
        rn_answers_put(rest->answers, r->answer, rn_wall_ms(rest->opts.env));
    }
    r->answer = NULL;
}

static enum rn_code read_request(struct run *r)
{
    struct rn_context *x = r->x;
    enum rn_code rc = rn_asked_read(&r->asked, x);

    if (!rc)
        rc = check_cross(x, r->asked.query);
    if (!rc)
        rc = rn_context_count(x, &r->max);
    if (!rc && x->link.kind == RN_KIND_DOCUMENT)
        rc = rn_context_scope(x, &r->scan);
    return rc ? rc : read_token(r);
}

/* True for what the service leaves to its clients. */
static bool is_for_client(const struct run *r)
{
    if (rn_query_is_ranked(r->asked.query))
        return r->x->link.kind == RN_KIND_DOCUMENT && !r->x->has_pk;
    return r->x->link.kind == RN_KIND_DOCUMENT && !r->x->has_pk &&
           !rn_context_header(r->x, RN_HEADER_RANGE_ID).len &&
           !rn_context_header(r->x, RN_HEADER_START_EPK).len &&
           rn_query_is_by_vector(r->asked.query);
}

/* Clients that resume an order by themselves skip equal keys by their rids,
 * which run backward if the first key does. */
static void tell_direction(struct run *r)
{
    bool is_backward = rn_query_is_ordered(r->asked.query) &&
                       rn_query_is_descending(r->asked.query);

    rn_reply_text(
        r->x, RN_HEADER_QUERY_EXECUTION,
        is_backward ? "{\"reverseRidEnabled\":false,\"reverseIndexScan\":true}"
                    : "{\"reverseRidEnabled\":false,"
                      "\"reverseIndexScan\":false}");
}

static enum rn_rest_step answer(struct run *r, const struct rn_query_cost *cost)
{
    struct rn_context *x = r->x;

    put_answer(r);
    if (!r->stats.is_done)
        add_token(r);
    if (x->link.kind == RN_KIND_DOCUMENT)
        tell_direction(r);
    rn_costs_add(x, cost);
    rn_asked_release(&r->asked);
    rn_reply_owner(x);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, r->count);
    rn_reply_charge(x, rn_charge_query(r->stats.document_bytes));
    return rn_reply_json(x, RN_STATUS_OK);
}

static void note_indexes(struct run *r)
{
    struct rn_missed m = { .access = &r->access,
                           .query = r->asked.query,
                           .policy = &r->asked.policy,
                           .stats = &r->stats };

    rn_missed_note(&m, r->x->container, &r->x->call->arena);
}

static enum rn_rest_step run(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct rn_env *env = x->rest->opts.env;
    struct run *r = rn_arena_alloc(&call->arena, sizeof(*r));
    struct rn_query_cost cost = { .begun_ns = rn_mono_ns(env) };
    enum rn_code rc;

    if (!r)
        return rn_reply_fail(x, RN_NOMEM);
    memset(r, 0, sizeof(*r));
    r->x = x;
    r->text = RN_BUF_INIT(RN_CALL_BODY_MAX);
    rc = read_request(r);
    cost.parsed_ns = rn_mono_ns(env);
    if (!rc && is_for_client(r))
        return rn_asked_give_plan(&r->asked, x);
    if (!rc && r->held)
        r->answer = rn_answers_take(x->rest->answers, r->held, check_of(r),
                                    r->limits.from.rows, rn_wall_ms(env));
    if (!rc)
        rc = r->answer ? page_of_answer(r) : compute_page(r);
    cost.ran_ns = rn_mono_ns(env);
    cost.query = r->asked.query;
    cost.stats = &r->stats;
    cost.access = r->access.reading ? &r->access : NULL;
    if (!rc && r->access.reading)
        note_indexes(r);
    rn_access_close(&r->access);
    rn_reading_end(&r->reading);
    release_objects(r);
    rn_buf_release(&r->text);
    if (!rc)
        return answer(r, &cost);
    rn_answer_free(r->answer);
    if (r->stats.is_infinite) {
        x->err.reason = RN_REASON_NOT_JSON;
        (void)rn_faults_add(&r->asked.faults, "4001", 0, 0, "%s", x->err.text);
    }
    return rn_asked_refuse(&r->asked, x, rc);
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
