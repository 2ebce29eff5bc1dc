/* query.c -- a query over several ranges; see query.h. */
#include "client/query/query.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "client/query/fetch.h"
#include "client/query/materialize.h"
#include "client/query/merge.h"
#include "client/query/state.h"
#include "client/query/token.h"

enum {
    TEXT_MAX = 2 << 20,
    BODY_MAX = 4 << 20,
    ROWS_MAX = 256 << 20,
    PARALLEL = 4,
    MEMORY_LIMIT = 64 << 20,
    RESULT_ROWS = 1000, /* of a page of results that are all there */
};

/* ---- opening ------------------------------------------------------------- */

static uint64_t fingerprint(const struct rn_client_query *q)
{
    uint64_t h = rn_hash64(rn_buf_view(&q->text), 0);

    h = rn_hash64(rn_buf_view(&q->parameters), h);
    h = rn_hash64(rn_buf_view(&q->ask.key), h);
    if (q->container)
        h = rn_hash64(rn_client_container_path(q->container), h);
    if (q->has_interval) {
        h = rn_hash64(rn_epk_view(&q->interval.min), h);
        h = rn_hash64(rn_epk_view(&q->interval.max), h);
    }
    return h;
}

static enum rn_code copy_options(struct rn_client_query *q,
                                 const struct rn_client_query_options *o)
{
    enum rn_code rc = RN_OK;

    q->text = RN_BUF_INIT(TEXT_MAX);
    q->parameters = RN_BUF_INIT(TEXT_MAX);
    q->last_row = RN_BUF_INIT(ROWS_MAX);
    q->last_items = RN_BUF_INIT(ROWS_MAX);
    q->scratch = RN_BUF_INIT(ROWS_MAX);
    q->results = RN_BUF_INIT(ROWS_MAX);
    q->groups = RN_BUF_INIT(ROWS_MAX);
    q->after = RN_BUF_INIT(ROWS_MAX);
    q->keys_text =
        RN_BUF_INIT(o->memory_limit ? o->memory_limit : MEMORY_LIMIT);
    q->ranking.rows = RN_BUF_INIT(ROWS_MAX);
    q->ranking.numbers = RN_BUF_INIT(ROWS_MAX);
    q->ranking.filled = RN_BUF_INIT(TEXT_MAX);
    rn_json_init(&q->result_keys, &rn_page_limits);
    q->memory = RN_ARENA_INIT(o->memory_limit ? o->memory_limit : MEMORY_LIMIT);
    q->ask.body = RN_BUF_INIT(BODY_MAX);
    q->ask.key = RN_BUF_INIT(TEXT_MAX);
    q->ask.headers = RN_HEADERS_INIT;
    q->ask.link = o->link;
    q->ask.session_token = o->session_token;
    q->ask.page_limit = o->page_limit ? (int64_t)o->page_limit : -1;
    q->page_limit = o->page_limit;
    q->parallel = o->parallel ? o->parallel : PARALLEL;
    q->has_interval = o->has_interval;
    q->interval = o->interval;
    if (o->text)
        rc = rn_buf_add(&q->text, rn_view_text(o->text));
    if (!rc && o->parameters)
        rc = rn_buf_add(&q->parameters, rn_view_text(o->parameters));
    if (!rc)
        rc = rn_buf_add(&q->ask.key, o->key);
    if (!rc)
        rc = rn_buf_add(&q->ask.headers.lines, rn_buf_view(&o->headers.lines));
    return rc;
}

/* A token names the sources; without one they are looked for at the first
 * page. */
static runnel_code begin(struct rn_client_query *q, const char *token,
                         runnel_error *error)
{
    double charge = 0;
    runnel_code rc = RUNNEL_OK;

    if (!token)
        return RUNNEL_OK;
    rc = rn_client_query_open_sources(q, &charge, error);
    return rc ? rc : rn_client_query_read_token(q, token, error);
}

runnel_code rn_client_query_new(struct rn_account *account,
                                struct rn_client_container *container,
                                const struct rn_client_query_options *options,
                                struct rn_client_query **out,
                                runnel_error *error)
{
    struct rn_client_query *q = rn_new(sizeof(*q));
    runnel_code rc;

    if (!q)
        return rn_error_no_memory(error);
    q->ask.account = rn_account_ref(account);
    q->container = container ? rn_client_container_ref(container) : NULL;
    q->ask.container = container;
    rc = rn_error_take(error, copy_options(q, options), NULL);
    q->fingerprint = fingerprint(q);
    if (!rc)
        rc = begin(q, options->token, error);
    if (rc)
        rn_client_query_free(q);
    else
        *out = q;
    return rc;
}

void rn_client_query_drop_sources(struct rn_client_query *q)
{
    for (size_t i = 0; i < q->count; i++)
        rn_merge_source_free(q->sources[i]);
    q->count = 0;
}

static void release_groups(struct rn_client_query *q)
{
    struct rn_merge_group *groups =
        (struct rn_merge_group *)(void *)q->groups.at;
    size_t count = q->groups.len / sizeof(*groups);
    size_t totals =
        q->plan.alias_count && !q->plan.has_value ? q->plan.alias_count : 1;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < totals; k++)
            rn_total_release(&groups[i].totals[k]);
    }
    rn_buf_release(&q->groups);
}

void rn_client_query_free(struct rn_client_query *q)
{
    if (!q)
        return;
    rn_client_query_drop_sources(q);
    rn_free(q->sources);
    release_groups(q);
    if (q->has_plan)
        rn_merge_plan_release(&q->plan);
    rn_value_set_release(&q->seen);
    rn_value_set_release(&q->keys);
    rn_arena_release(&q->memory);
    rn_buf_release(&q->text);
    rn_buf_release(&q->parameters);
    rn_buf_release(&q->last_row);
    rn_buf_release(&q->last_items);
    rn_buf_release(&q->scratch);
    rn_buf_release(&q->results);
    rn_buf_release(&q->keys_text);
    rn_buf_release(&q->after);
    rn_buf_release(&q->ranking.rows);
    rn_buf_release(&q->ranking.numbers);
    rn_buf_release(&q->ranking.filled);
    rn_json_release(&q->result_keys);
    rn_buf_release(&q->ask.body);
    rn_buf_release(&q->ask.key);
    rn_headers_release(&q->ask.headers);
    rn_client_container_unref(q->container);
    rn_account_unref(q->ask.account);
    rn_free(q);
}

void rn_rows_release(struct rn_rows *rows)
{
    rn_buf_release(&rows->text);
    rn_buf_release(&rows->ends);
    rn_buf_release(&rows->token);
}

/* ---- rows out ------------------------------------------------------------ */

/* Adds to the seen set. */
static enum rn_code see(struct rn_client_query *q, struct rn_view text,
                        bool *is_new)
{
    struct rn_hash128 h = rn_hash128(text, q->fingerprint);
    struct rn_row_mark mark;
    size_t place;

    rn_put_u64(mark.bytes, h.high);
    rn_put_u64(mark.bytes + 8, h.low);
    return rn_value_set_add_text(&q->seen,
                                 rn_view_of(mark.bytes, sizeof(mark.bytes)),
                                 &q->memory, &place, is_new);
}

static enum rn_code is_distinct(struct rn_client_query *q,
                                struct rn_merge_item row, bool *out)
{
    enum rn_code rc;

    *out = true;
    if (!q->has_plan || q->plan.distinct == RN_DISTINCT_NONE)
        return RN_OK;
    rn_buf_clear(&q->scratch);
    rc = rn_merge_item_canon(row, &q->scratch);
    if (rc)
        return rc;
    if (q->plan.distinct == RN_DISTINCT_ALL)
        return see(q, rn_buf_view(&q->scratch), out);
    *out = !rn_view_eq(rn_buf_view(&q->scratch), rn_buf_view(&q->last_row));
    if (!*out)
        return RN_OK;
    rn_buf_clear(&q->last_row);
    return rn_buf_add(&q->last_row, rn_buf_view(&q->scratch));
}

static enum rn_code print_row(struct rn_merge_item row, struct rn_rows *out)
{
    enum rn_code rc = rn_merge_item_print(row, &out->text);

    if (rc)
        return rc;
    return rn_buf_add(&out->ends,
                      rn_view_of(&out->text.len, sizeof(out->text.len)));
}

/* DISTINCT, then OFFSET, then the row, then TOP and LIMIT. */
static enum rn_code pass(struct rn_client_query *q, struct rn_merge_item row,
                         struct rn_rows *out)
{
    bool is_new = true;
    enum rn_code rc = is_distinct(q, row, &is_new);

    if (rc || !is_new)
        return rc;
    if (q->to_skip > 0) {
        q->to_skip--;
        return RN_OK;
    }
    rc = print_row(row, out);
    if (!rc && q->to_take > 0 && --q->to_take == 0)
        q->is_over = true;
    return rc;
}

runnel_code rn_client_query_emit(struct rn_client_query *q,
                                 struct rn_merge_item row, struct rn_rows *out,
                                 runnel_error *error)
{
    enum rn_code rc = RN_OK;

    if (q->to_take == 0)
        q->is_over = true;
    if (!q->is_over && row.at != RN_JSON_NONE)
        rc = pass(q, row, out);
    q->is_broken = q->is_broken || rc;
    if (rc == RN_TOO_LARGE) {
        return rn_error_set(error, RUNNEL_TOO_LARGE,
                            "the query needs more memory than memory_limit");
    }
    return rn_error_take(error, rc, NULL);
}

/* Notes where the query is, and whether the result is to be left out: it was
 * returned with an earlier token. */
static enum rn_code note(struct rn_client_query *q,
                         const struct rn_result_row *row, bool *is_new)
{
    struct rn_merge_item keys = { &q->result_keys, row->keys };

    *is_new = true;
    if (q->plan.is_ranked)
        return see(q, rn_json_text(keys.j, keys.at), is_new);
    rn_buf_clear(&q->after);
    return rn_merge_item_print(keys, &q->after);
}

static runnel_code hand_out_one(struct rn_client_query *q,
                                const struct rn_result_row *row,
                                struct rn_rows *out, runnel_error *error)
{
    bool is_new = false;
    struct rn_json j;
    enum rn_code code;
    runnel_code rc;

    rn_json_init(&j, &rn_page_limits);
    code = rn_json_parse(&j, row->text, NULL);
    if (!code)
        code = note(q, row, &is_new);
    rc = rn_client_query_explain(code, error);
    q->is_broken = q->is_broken || code;
    if (!rc && is_new)
        rc = rn_client_query_emit(q, (struct rn_merge_item){ &j, 0 }, out,
                                  error);
    rn_json_release(&j);
    return rc;
}

/* Hands out results that are all there. */
static runnel_code hand_out(struct rn_client_query *q, struct rn_rows *out,
                            runnel_error *error)
{
    size_t limit =
        (q->page_limit ? q->page_limit : RESULT_ROWS) * sizeof(size_t);
    const struct rn_result_row *rows =
        (const struct rn_result_row *)(const void *)q->results.at;
    size_t count = q->results.len / sizeof(*rows);
    runnel_code rc = RUNNEL_OK;

    while (!rc && !q->is_over && out->ends.len < limit &&
           q->next_result < count)
        rc = hand_out_one(q, &rows[q->next_result++], out, error);
    if (q->next_result == count)
        q->is_over = true;
    return rc;
}

/* The rows of one page of the first range that is not over.  Those behind it
 * are asked at the same time. */
static runnel_code read_in_turn(struct rn_client_query *q, struct rn_rows *out,
                                runnel_error *error)
{
    struct rn_merge_source *s;
    uint32_t asked = 0;
    size_t at = 0;
    runnel_code rc = RUNNEL_OK;

    while (at < q->count && q->sources[at]->is_over)
        at++;
    if (at == q->count) {
        q->is_over = true;
        return RUNNEL_OK;
    }
    if (!rn_merge_source_has_row(q->sources[at])) {
        for (size_t i = at; i < q->count && asked < q->parallel; i++) {
            s = q->sources[i];
            s->wants_page = i == at || !s->has_page;
            asked += s->wants_page;
        }
        rc = rn_client_query_fetch(q, &out->charge, error);
    }
    s = q->sources[at];
    while (!rc && !q->is_over && rn_merge_source_has_row(s)) {
        rc = rn_client_query_emit(q, rn_merge_source_row(s), out, error);
        rn_merge_source_next(s);
    }
    if (at + 1 == q->count && s->is_over)
        q->is_over = true;
    return rc;
}

static runnel_code fill_page(struct rn_client_query *q, struct rn_rows *out,
                             runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    if (!q->is_open)
        rc = rn_client_query_open_sources(q, &out->charge, error);
    if (rc)
        return rc;
    if (rn_client_query_needs_all_rows(q)) {
        if (!q->is_computed)
            rc = rn_client_query_materialize(q, &out->charge, error);
        return rc ? rc : hand_out(q, out, error);
    }
    if (q->has_plan && q->plan.order_count > 0)
        return rn_client_query_merge(q, out, error);
    return read_in_turn(q, out, error);
}

runnel_code rn_client_query_next(struct rn_client_query *q,
                                 struct rn_rows *rows, bool *over,
                                 runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    *rows = (struct rn_rows){ .text = RN_BUF_INIT(ROWS_MAX),
                              .ends = RN_BUF_INIT(ROWS_MAX),
                              .token = RN_BUF_INIT(ROWS_MAX) };
    *over = q->is_over;
    if (q->is_broken) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the query has failed; open it again with the "
                            "token of its last page");
    }
    while (!rc && !q->is_over && rows->ends.len == 0)
        rc = fill_page(q, rows, error);
    if (rc && !q->is_broken && rows->ends.len > 0)
        rc = RUNNEL_OK;
    if (!rc && !*over && rows->ends.len == 0)
        *over = q->is_over;
    if (!rc && !q->is_over) {
        rc = rn_client_query_print_token(q, &rows->token, error);
        q->is_broken = rc != RUNNEL_OK; /* its rows were taken */
    }
    if (rc)
        rn_rows_release(rows);
    return rc;
}
