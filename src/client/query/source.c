/* source.c -- see source.h. */
#include "client/query/source.h"

#include <inttypes.h>
#include <stdio.h>

enum { RESUME_MAX = 16 << 20 }; /* as long as a token may be */

const struct rn_json_limits rn_page_limits = { .bytes = RN_ANSWER_MAX,
                                               .nodes = 64 << 20,
                                               .names = 32 << 20,
                                               .depth = 256,
                                               .twice =
                                                   RN_JSON_TWICE_LAST_WINS };

struct rn_merge_source *rn_merge_source_new(void)
{
    struct rn_merge_source *s = rn_new(sizeof(*s));

    if (!s)
        return NULL;
    s->body = RN_BUF_INIT(RN_ANSWER_MAX);
    s->resume_items = RN_BUF_INIT(RESUME_MAX);
    s->resume_rid = RN_BUF_INIT(RESUME_MAX);
    s->row = s->last = RN_JSON_NONE;
    rn_json_init(&s->j, &rn_page_limits);
    return s;
}

void rn_merge_source_free(struct rn_merge_source *s)
{
    if (!s)
        return;
    if (s->has_call)
        rn_client_call_release(&s->call);
    rn_json_release(&s->j);
    rn_buf_release(&s->body);
    rn_buf_release(&s->resume_items);
    rn_buf_release(&s->resume_rid);
    rn_free(s->before);
    rn_free(s->after);
    rn_free(s);
}

/* ---- asking -------------------------------------------------------------- */

static runnel_code add_range(const struct rn_merge_source *s,
                             struct rn_headers *h, runnel_error *error)
{
    char min[RN_EPK_TEXT_MAX], max[RN_EPK_TEXT_MAX];
    runnel_code rc;

    if (!s->is_clamped)
        return RUNNEL_OK;
    rc = rn_headers_add(h, RN_HEADER_READ_KEY_TYPE,
                        RN_LIT("EffectivePartitionKeyRange"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_START_EPK,
                            rn_epk_print(&s->range.min, min), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_END_EPK,
                            rn_epk_print(&s->range.max, max), error);
    return rc;
}

static runnel_code add_query(const struct rn_question *q, struct rn_headers *h,
                             runnel_error *error)
{
    runnel_code rc;

    if (q->body.len == 0)
        return RUNNEL_OK;
    rc = rn_headers_add(h, RN_HEADER_IS_QUERY, RN_LIT("true"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_CONTENT_TYPE,
                            RN_LIT("application/query+json"), error);
    if (!rc && q->container)
        rc =
            rn_headers_add(h, RN_HEADER_CROSS_PARTITION, RN_LIT("true"), error);
    return rc;
}

static runnel_code add_headers(const struct rn_merge_source *s,
                               const struct rn_question *q,
                               struct rn_headers *h, runnel_error *error)
{
    char limit[24];
    runnel_code rc = rn_error_take(
        error, rn_buf_add(&h->lines, rn_buf_view(&q->headers.lines)), NULL);

    snprintf(limit, sizeof(limit), "%" PRId64, q->page_limit);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_MAX_ITEM_COUNT, rn_view_text(limit),
                            error);
    if (!rc && q->key.len)
        rc = rn_headers_add(h, RN_HEADER_PARTITION_KEY, rn_buf_view(&q->key),
                            error);
    if (!rc && s->after)
        rc = rn_headers_add(h, RN_HEADER_CONTINUATION, rn_view_text(s->after),
                            error);
    if (!rc)
        rc = add_query(q, h, error);
    return rc ? rc : add_range(s, h, error);
}

void rn_merge_source_ask(struct rn_merge_source *s, const struct rn_question *q,
                         struct rn_transport *t)
{
    runnel_code rc;

    if (s->has_call)
        rn_client_call_release(&s->call);
    s->has_call = true;
    rn_client_call_init(&s->call, q->account, q->body.len ? "POST" : "GET",
                        RN_EFFECT_READ, &q->link);
    s->call.request.container = q->container;
    s->call.request.range = s->id[0] ? s->id : NULL;
    s->call.request.session_token = q->session_token;
    s->call.request.body = rn_buf_view(&q->body);
    rc = add_headers(s, q, &s->call.request.headers, &s->call.error);
    if (rc) {
        s->call.code = rc;
        s->call.is_over = true;
        return;
    }
    rn_client_call_begin(&s->call, t);
}

/* ---- taking -------------------------------------------------------------- */

static runnel_code unreadable(runnel_error *error)
{
    return rn_error_set(error, RUNNEL_PROTOCOL,
                        "the server's page of rows cannot be read");
}

static runnel_code move_on(struct rn_merge_source *s, runnel_error *error)
{
    struct rn_view next = rn_headers_find(&s->call.exchange.answer_headers,
                                          RN_HEADER_CONTINUATION);
    char *copy = NULL;

    if (next.len > 0) {
        copy = rn_new_text(next.at);
        if (!copy)
            return rn_error_no_memory(error);
        if (s->after && strcmp(copy, s->after) == 0) {
            rn_free(copy);
            return rn_error_set(error, RUNNEL_PROTOCOL,
                                "the server's continuation leads nowhere");
        }
    }
    rn_free(s->before);
    s->before = s->after;
    s->after = copy;
    return RUNNEL_OK;
}

runnel_code rn_merge_source_take(struct rn_merge_source *s,
                                 const struct rn_question *q, double *charge,
                                 runnel_error *error)
{
    uint32_t list;
    enum rn_code code;
    runnel_code rc = move_on(s, error);

    if (rc)
        return rc;
    *charge += rn_headers_charge(&s->call.exchange.answer_headers);
    rn_buf_release(&s->body);
    s->body = s->call.exchange.answer;
    s->call.exchange.answer = RN_BUF_INIT(RN_ANSWER_MAX);
    code = rn_json_parse(&s->j, rn_buf_view(&s->body), NULL);
    if (code == RN_NOMEM || code == RN_TOO_LARGE)
        return rn_error_take(error, code, NULL);
    list = rn_json_find(&s->j, 0, rn_kind_list(q->link.kind));
    if (code || rn_json_kind(&s->j, list) != RN_JSON_ARRAY)
        return unreadable(error);
    s->has_page = true;
    s->wants_page = false;
    s->rows = rn_json_walk_begin(&s->j, list);
    s->row = RN_JSON_NONE;
    rn_merge_source_next(s);
    s->last = RN_JSON_NONE;
    return RUNNEL_OK;
}

void rn_merge_source_next(struct rn_merge_source *s)
{
    s->last = s->row;
    s->row = rn_json_walk_next(&s->rows) ? s->rows.value : RN_JSON_NONE;
    if (s->row == RN_JSON_NONE && !s->after)
        s->is_over = true;
}
