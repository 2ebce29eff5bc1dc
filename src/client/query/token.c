/* token.c -- the continuation of a query; see token.h. */
#include "client/query/token.h"

#include "base/base64.h"
#include "base/hash.h"
#include "client/query/fetch.h"
#include "client/query/query.h"
#include "client/query/state.h"
#include "json/print.h"

#include <inttypes.h>
#include <stdio.h>

enum { TOKEN_MAX = 16 << 20 };

enum { HEAD_LEN = 5 + 16 + 1 };

/* A token that was cut or changed on its way would lose rows. */
static void print_head(struct rn_view json, char out[HEAD_LEN + 1])
{
    snprintf(out, HEAD_LEN + 1, "rnq2.%016" PRIx64 ".", rn_hash64(json, 0));
}

/* ---- out ----------------------------------------------------------------- */

/* The rows with the last one's rid that were taken from this page: a JOIN gives
 * several of one document. */
static int64_t count_taken(const struct rn_merge_source *s,
                           struct rn_merge_item rid)
{
    uint32_t list = rn_json_find(&s->j, 0, rn_kind_list(RN_KIND_DOCUMENT));
    struct rn_json_walk w = rn_json_walk_begin(&s->j, list);
    struct rn_view text = rn_json_text(rid.j, rid.at);
    int64_t count = 0;

    while (rn_json_walk_next(&w)) {
        struct rn_merge_item row = { &s->j, w.value };
        struct rn_merge_item own = rn_merge_item_member(row, RN_LIT("_rid"));
        count += rn_view_eq(rn_json_text(own.j, own.at), text);
        if (w.value == s->last)
            break;
    }
    return count;
}

static void print_taken(const struct rn_client_query *q,
                        const struct rn_merge_source *s, struct rn_json_out *o)
{
    struct rn_merge_item last = { &s->j, s->last };
    struct rn_merge_item items =
        rn_merge_item_member(last, RN_LIT("orderByItems"));
    struct rn_merge_item rid = rn_merge_item_member(last, RN_LIT("_rid"));

    if (s->resume_items.len) {
        rn_json_out_key(o, RN_LIT("items"));
        rn_json_out_raw(o, rn_buf_view(&s->resume_items));
        if (s->resume_rid.len) {
            rn_json_out_key(o, RN_LIT("rid"));
            rn_json_out_string(o, rn_buf_view(&s->resume_rid));
            rn_json_out_key(o, RN_LIT("rows"));
            rn_json_out_int(o, s->resume_count);
        }
    } else if (rn_merge_source_has_row(s) && rid.at != RN_JSON_NONE &&
               rn_view_eq(rn_json_text(items.j, items.at),
                          rn_buf_view(&q->last_items))) {
        rn_json_out_key(o, RN_LIT("items"));
        rn_json_out_value(o, items.j, items.at);
        rn_json_out_key(o, RN_LIT("rid"));
        rn_json_out_value(o, rid.j, rid.at);
        rn_json_out_key(o, RN_LIT("rows"));
        rn_json_out_int(o, count_taken(s, rid));
    } else if (rn_merge_source_has_row(s) && q->last_items.len) {
        rn_json_out_key(o, RN_LIT("items"));
        rn_json_out_raw(o, rn_buf_view(&q->last_items));
    }
}

static void print_source(const struct rn_client_query *q,
                         const struct rn_merge_source *s, struct rn_json_out *o)
{
    const char *from = rn_merge_source_has_row(s) ? s->before : s->after;
    char min[RN_EPK_TEXT_MAX], max[RN_EPK_TEXT_MAX];

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("min"));
    rn_json_out_string(o, rn_epk_print(&s->range.min, min));
    rn_json_out_key(o, RN_LIT("max"));
    rn_json_out_string(o, rn_epk_print(&s->range.max, max));
    if (from) {
        rn_json_out_key(o, RN_LIT("from"));
        rn_json_out_string(o, rn_view_text(from));
    }
    print_taken(q, s, o);
    rn_json_out_object_end(o);
}

static enum rn_code print_seen(const struct rn_client_query *q,
                               struct rn_json_out *o)
{
    struct rn_buf marks = RN_BUF_INIT(TOKEN_MAX), text = marks;
    enum rn_code rc;

    if (q->seen.count == 0)
        return RN_OK;
    rn_json_out_key(o, RN_LIT("seen"));
    if (q->seen.count > RN_SEEN_MAX) {
        rn_json_out_null(o);
        return RN_OK;
    }
    rc = rn_buf_reserve(
        &text, RN_BASE64_LEN(q->seen.count * sizeof(struct rn_row_mark)));
    for (size_t i = 0; !rc && i < q->seen.room; i++)
        rc = rn_buf_add(&marks, q->seen.slots[i].text);
    if (!rc) {
        rn_json_out_string(o, rn_base64_encode(rn_buf_view(&marks),
                                               RN_BASE64_URL | RN_BASE64_BARE,
                                               text.at));
    }
    rn_buf_release(&marks);
    rn_buf_release(&text);
    return rc;
}

static enum rn_code print_json(const struct rn_client_query *q,
                               struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    char mark[20];
    enum rn_code rc;

    snprintf(mark, sizeof(mark), "%016" PRIx64, q->fingerprint);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("query"));
    rn_json_out_string(&o, rn_view_text(mark));
    rn_json_out_key(&o, RN_LIT("skip"));
    rn_json_out_int(&o, q->to_skip);
    rn_json_out_key(&o, RN_LIT("take"));
    rn_json_out_int(&o, q->to_take);
    rn_json_out_key(&o, RN_LIT("last"));
    rn_json_out_string(&o, rn_buf_view(&q->last_row));
    rc = print_seen(q, &o);
    if (q->after.len) {
        rn_json_out_key(&o, RN_LIT("after"));
        rn_json_out_raw(&o, rn_buf_view(&q->after));
    }
    if (!rn_client_query_needs_all_rows(q)) {
        rn_json_out_key(&o, RN_LIT("at"));
        rn_json_out_array_begin(&o);
        for (size_t i = 0; i < q->count; i++) {
            if (!q->sources[i]->is_over)
                print_source(q, q->sources[i], &o);
        }
        rn_json_out_array_end(&o);
    }
    rn_json_out_object_end(&o);
    return rc ? rc : rn_json_out_finish(&o);
}

runnel_code rn_client_query_print_token(struct rn_client_query *q,
                                        struct rn_buf *out, runnel_error *error)
{
    struct rn_buf json = RN_BUF_INIT(TOKEN_MAX);
    enum rn_code rc = print_json(q, &json);
    char head[HEAD_LEN + 1];
    struct rn_view text;

    print_head(rn_buf_view(&json), head);
    if (!rc)
        rc = rn_buf_reserve(out, HEAD_LEN + RN_BASE64_LEN(json.len) + 1);
    if (!rc)
        rc = rn_buf_add(out, rn_view_text(head));
    if (!rc) {
        text =
            rn_base64_encode(rn_buf_view(&json), RN_BASE64_URL | RN_BASE64_BARE,
                             out->at + out->len);
        out->len += text.len;
        rc = rn_buf_add(out, rn_view_of("", 1));
    }
    rn_buf_release(&json);
    return rn_error_take(error, rc, NULL);
}

/* ---- in ------------------------------------------------------------------ */

static enum rn_code get_int(const struct rn_json *j, uint32_t object,
                            const char *name, int64_t min, int64_t *out)
{
    uint32_t value = rn_json_find(j, object, rn_view_text(name));

    return rn_json_kind(j, value) == RN_JSON_NUMBER &&
                   rn_json_int64(j, value, out) && *out >= min
               ? RN_OK
               : RN_BAD_REQUEST;
}

/* A string, appended to the buffer. */
static enum rn_code get_string(const struct rn_json *j, uint32_t value,
                               struct rn_buf *out)
{
    struct rn_arena arena = RN_ARENA_INIT(TOKEN_MAX);
    struct rn_view text;
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return RN_OK;
    rc = rn_json_string_get(j, value, &arena, &text);
    if (!rc)
        rc = rn_buf_add(out, text);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code get_place(const struct rn_json *j, uint32_t at,
                              struct rn_merge_source *out)
{
    struct rn_buf from = RN_BUF_INIT(TOKEN_MAX);
    struct rn_merge_item items = { j, rn_json_find(j, at, RN_LIT("items")) };
    uint32_t min = rn_json_find(j, at, RN_LIT("min"));
    uint32_t max = rn_json_find(j, at, RN_LIT("max"));
    enum rn_code rc = rn_epk_parse(rn_json_text(j, min), &out->range.min, NULL);

    if (!rc)
        rc = rn_epk_parse(rn_json_text(j, max), &out->range.max, NULL);
    if (!rc)
        rc = get_string(j, rn_json_find(j, at, RN_LIT("from")), &from);
    if (!rc && from.len > 0)
        rc = rn_buf_add(&from, rn_view_of("", 1));
    if (!rc && from.len > 0)
        out->after = rn_buf_take(&from);
    if (!rc && rn_json_kind(j, items.at) == RN_JSON_ARRAY) {
        rc = rn_merge_item_print(items, &out->resume_items);
        if (!rc)
            rc = get_string(j, rn_json_find(j, at, RN_LIT("rid")),
                            &out->resume_rid);
        if (!rc && out->resume_rid.len)
            rc = get_int(j, at, "rows", 1, &out->resume_count);
    }
    rn_buf_release(&from);
    return rc;
}

static runnel_code get_sources(struct rn_client_query *q,
                               const struct rn_json *j, runnel_error *error)
{
    uint32_t list = rn_json_find(j, 0, RN_LIT("at"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    runnel_code rc = RUNNEL_OK;

    rn_client_query_drop_sources(q);
    while (!rc && rn_json_walk_next(&w)) {
        struct rn_merge_source *place = rn_merge_source_new();
        enum rn_code code = place ? get_place(j, w.value, place) : RN_NOMEM;

        rc = rn_error_take(error, code, NULL);
        if (!rc)
            rc = rn_client_query_add_sources(q, q->count, &place->range,
                                             &place->range, place, error);
        rn_merge_source_free(place);
    }
    return rc;
}

/* Resumes the only source. */
static runnel_code get_alone(struct rn_client_query *q, const struct rn_json *j,
                             runnel_error *error)
{
    uint32_t list = rn_json_find(j, 0, RN_LIT("at"));
    uint32_t at = rn_json_at(j, list, 0);

    if (at == RN_JSON_NONE || q->count != 1)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the token is not one of this query");
    return rn_error_take(error, get_place(j, at, q->sources[0]), NULL);
}

static enum rn_code get_seen(struct rn_client_query *q, const struct rn_json *j)
{
    uint32_t value = rn_json_find(j, 0, RN_LIT("seen"));
    struct rn_view text = rn_json_text(j, value);
    struct rn_buf marks = RN_BUF_INIT(TOKEN_MAX);
    const size_t size = sizeof(struct rn_row_mark);
    size_t got = 0, place;
    bool is_new;
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return RN_OK;
    rc = rn_buf_reserve(&marks, text.len + 1);
    if (!rc)
        rc = rn_base64_decode(text, RN_BASE64_URL | RN_BASE64_BARE, marks.at,
                              text.len, &got);
    if (!rc && got % size)
        rc = RN_BAD_REQUEST;
    for (size_t at = 0; !rc && at < got; at += size)
        rc = rn_value_set_add_text(&q->seen, rn_view_of(marks.at + at, size),
                                   &q->memory, &place, &is_new);
    rn_buf_release(&marks);
    return rc;
}

static enum rn_code get_counts(struct rn_client_query *q,
                               const struct rn_json *j)
{
    struct rn_merge_item after = { j, rn_json_find(j, 0, RN_LIT("after")) };
    char mark[20];
    enum rn_code rc;

    snprintf(mark, sizeof(mark), "%016" PRIx64, q->fingerprint);
    if (!rn_json_string_is(j, rn_json_find(j, 0, RN_LIT("query")),
                           rn_view_text(mark)))
        return RN_BAD_REQUEST;
    rc = get_int(j, 0, "skip", 0, &q->to_skip);
    if (!rc)
        rc = get_int(j, 0, "take", -1, &q->to_take);
    if (!rc)
        rc = get_string(j, rn_json_find(j, 0, RN_LIT("last")), &q->last_row);
    if (!rc && rn_json_kind(j, after.at) == RN_JSON_ARRAY)
        rc = rn_merge_item_print(after, &q->after);
    return rc ? rc : get_seen(q, j);
}

static enum rn_code decode(struct rn_view token, struct rn_buf *json)
{
    char head[HEAD_LEN + 1];
    enum rn_code rc = rn_buf_reserve(json, token.len + 1);

    if (rc || token.len < HEAD_LEN)
        return rc ? rc : RN_BAD_REQUEST;
    rc = rn_base64_decode(rn_view_of(token.at + HEAD_LEN, token.len - HEAD_LEN),
                          RN_BASE64_URL | RN_BASE64_BARE, json->at, token.len,
                          &json->len);
    if (rc)
        return rc;
    print_head(rn_buf_view(json), head);
    return memcmp(token.at, head, HEAD_LEN) == 0 ? RN_OK : RN_BAD_REQUEST;
}

runnel_code rn_client_query_read_token(struct rn_client_query *q,
                                       const char *token, runnel_error *error)
{
    struct rn_buf json = RN_BUF_INIT(TOKEN_MAX);
    enum rn_code code = decode(rn_view_text(token), &json);
    runnel_code rc = RUNNEL_OK;
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (!code)
        code = rn_json_parse(&j, rn_buf_view(&json), NULL);
    if (!code)
        code = get_counts(q, &j);
    if (!code &&
        rn_json_kind(&j, rn_json_find(&j, 0, RN_LIT("seen"))) == RN_JSON_NULL) {
        rc = rn_error_set(error, RUNNEL_UNSUPPORTED,
                          "DISTINCT without ORDER BY cannot be resumed after "
                          "more than %d rows; add ORDER BY the selected value",
                          RN_SEEN_MAX);
    } else if (code == RN_BAD_REQUEST || code == RN_TOO_LARGE) {
        rc = rn_error_set(error, RUNNEL_BAD_REQUEST,
                          "the token is not one of this query");
    } else if (code) {
        rc = rn_error_take(error, code, NULL);
    } else if (rn_client_query_is_alone(q)) {
        rc = get_alone(q, &j, error);
    } else if (!rn_client_query_needs_all_rows(q)) {
        rc = get_sources(q, &j, error);
    }
    rn_json_release(&j);
    rn_buf_release(&json);
    return rc;
}
