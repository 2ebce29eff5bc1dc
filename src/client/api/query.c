/* query.c -- queries and read feed: the handle, its scope, and pages. */
#include "client/query/query.h"
#include "client/api/client.h"
#include "client/api/container.h"
#include "client/api/key.h"
#include "client/http/exchange.h"
#include "client/http/options.h"

struct runnel_query {
    struct rn_client_query *inner;
    char *session_token, *database; /* what the query borrows */
};

struct runnel_page {
    struct rn_rows rows;
};

/* ---- scope --------------------------------------------------------------- */

/* A whole key is sent as it is; a prefix of a hierarchical one is an interval.
 */
static runnel_code add_key(struct rn_client_container *c, const char *json,
                           struct rn_buf *text,
                           struct rn_client_query_options *out,
                           runnel_error *error)
{
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    struct rn_definition *d = NULL;
    struct rn_err err = { 0 };
    struct rn_pk pk;
    enum rn_code code;
    runnel_code rc = rn_key_print(c, json, text, error);

    if (!rc)
        rc = rn_client_container_define(c, NULL, &d, error);
    if (!rc) {
        code = rn_pk_parse(rn_buf_view(text), &arena, &pk, &err);
        if (!code && d->key.kind == RN_PKDEF_MULTIHASH &&
            pk.count < d->key.count) {
            code = rn_pkdef_fit_prefix(&d->key, &pk, &err);
            out->has_interval = true;
            if (!code)
                rn_epk_range_of(&d->key, &pk, &out->interval);
        } else {
            out->key = rn_buf_view(text);
        }
        rc = rn_error_take(error, code, &err);
    }
    rn_definition_unref(d);
    rn_arena_release(&arena);
    return rc;
}

/* "MIN-MAX" */
static runnel_code add_range(const char *range,
                             struct rn_client_query_options *out,
                             runnel_error *error)
{
    const char *dash = strchr(range, '-');

    out->has_interval = true;
    if (!dash ||
        rn_epk_parse(rn_view_of(range, (size_t)(dash - range)),
                     &out->interval.min, NULL) ||
        rn_epk_parse(rn_view_text(dash + 1), &out->interval.max, NULL) ||
        rn_epk_compare(&out->interval.min, &out->interval.max) >= 0)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the range is not \"MIN-MAX\" in hexadecimal");
    return RUNNEL_OK;
}

static runnel_code check(const runnel_query_options *o, runnel_error *error)
{
    struct rn_err err = { 0 };
    struct rn_json j;
    enum rn_code rc;

    if (o->text && !o->text[0])
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the text of the query is empty");
    if (o->parameters && !o->text)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "parameters are given without text");
    if (o->range && o->partition_key)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "range and partition_key are both given");
    if (!o->parameters)
        return RUNNEL_OK;
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, rn_view_text(o->parameters), &err);
    if (!rc && rn_json_kind(&j, 0) != RN_JSON_ARRAY)
        rc = rn_fail(&err, RN_BAD_REQUEST, "parameters is not a JSON array");
    rn_json_release(&j);
    return rn_error_take(error, rc, &err);
}

/* ---- opening ------------------------------------------------------------- */

static runnel_code make(struct rn_account *account,
                        struct rn_client_container *c,
                        const runnel_query_options *o,
                        struct rn_client_query_options *inner, runnel_query *q,
                        runnel_error *error)
{
    runnel_code rc;

    inner->text = o->text;
    inner->parameters = o->parameters;
    inner->token = o->token;
    inner->page_limit = o->page_limit;
    inner->parallel = o->parallel;
    inner->memory_limit = o->memory_limit;
    inner->headers = RN_HEADERS_INIT;
    if (o->session_token) {
        q->session_token = rn_new_text(o->session_token);
        if (!q->session_token)
            return rn_error_no_memory(error);
        inner->session_token = q->session_token;
    }
    rc = rn_headers_add_list(&inner->headers, o->headers, o->header_count,
                             error);
    if (!rc)
        rc = rn_client_query_new(account, c, inner, &q->inner, error);
    rn_headers_release(&inner->headers);
    return rc;
}

runnel_code runnel_query_open(runnel_container *container,
                              const runnel_query_options *options,
                              runnel_query **out, runnel_error *error)
{
    struct rn_client_container *c = container->inner;
    struct rn_client_query_options inner = { 0 };
    struct rn_buf key = RN_BUF_INIT(RN_KEY_TEXT_MAX);
    runnel_query_options o;
    runnel_query *q = NULL;
    runnel_code rc = rn_options_copy(&o, sizeof(o), options, error);

    if (!rc)
        rc = check(&o, error);
    if (!rc && o.partition_key)
        rc = add_key(c, o.partition_key, &key, &inner, error);
    if (!rc && o.range)
        rc = add_range(o.range, &inner, error);
    if (!rc) {
        q = rn_new(sizeof(*q));
        rc = q ? RUNNEL_OK : rn_error_no_memory(error);
    }
    inner.link = rn_client_container_list(c, RN_KIND_DOCUMENT);
    if (!rc)
        rc = make(rn_client_container_account(c), c, &o, &inner, q, error);
    rn_buf_release(&key);
    if (rc || !out)
        runnel_query_close(q);
    else
        *out = q;
    return rc;
}

runnel_code runnel_query_catalog(runnel_client *client, const char *database,
                                 const runnel_query_options *options,
                                 runnel_query **out, runnel_error *error)
{
    struct rn_client_query_options inner = { 0 };
    runnel_query_options o;
    runnel_query *q = NULL;
    runnel_code rc = rn_options_copy(&o, sizeof(o), options, error);

    if (!rc)
        rc = check(&o, error);
    if (!rc && (o.range || o.partition_key))
        rc = rn_error_set(error, RUNNEL_BAD_REQUEST,
                          "the catalog has no partition keys");
    if (!rc && database)
        rc = rn_name_check(RN_KIND_DATABASE, database, error);
    if (!rc) {
        q = rn_new(sizeof(*q));
        rc = q ? RUNNEL_OK : rn_error_no_memory(error);
    }
    inner.link = (struct rn_link){ .kind = RN_KIND_DATABASE, .is_list = true };
    if (!rc && database) {
        q->database = rn_new_text(database);
        inner.link.kind = RN_KIND_CONTAINER;
        inner.link.ids[inner.link.depth++] = rn_view_text(database);
        if (q->database)
            inner.link.ids[0].at = q->database;
        else
            rc = rn_error_no_memory(error);
    }
    if (!rc)
        rc = make(client->account, NULL, &o, &inner, q, error);
    if (rc || !out)
        runnel_query_close(q);
    else
        *out = q;
    return rc;
}

void runnel_query_close(runnel_query *query)
{
    if (!query)
        return;
    rn_client_query_free(query->inner);
    rn_free(query->session_token);
    rn_free(query->database);
    rn_free(query);
}

/* ---- pages --------------------------------------------------------------- */

runnel_code runnel_query_next(runnel_query *query, runnel_page **out,
                              runnel_error *error)
{
    runnel_page *page = rn_new(sizeof(*page));
    bool over = false;
    runnel_code rc;

    if (!page)
        return rn_error_no_memory(error);
    rc = rn_client_query_next(query->inner, &page->rows, &over, error);
    if (rc) {
        rn_free(page);
        return rc;
    }
    if (over || !out) {
        runnel_page_close(page);
        page = NULL;
    }
    if (out)
        *out = page;
    return RUNNEL_OK;
}

static const size_t *ends(const runnel_page *page)
{
    return (const size_t *)(const void *)page->rows.ends.at;
}

size_t runnel_page_count(const runnel_page *page)
{
    return page->rows.ends.len / sizeof(size_t);
}

runnel_bytes runnel_page_at(const runnel_page *page, size_t i)
{
    runnel_bytes row = { 0 };
    size_t from;

    if (i >= runnel_page_count(page))
        return row;
    from = i == 0 ? 0 : ends(page)[i - 1];
    row.at = page->rows.text.at + from;
    row.len = ends(page)[i] - from;
    return row;
}

const char *runnel_page_token(const runnel_page *page)
{
    return page->rows.token.len ? page->rows.token.at : NULL;
}

double runnel_page_charge(const runnel_page *page)
{
    return page->rows.charge;
}

void runnel_page_close(runnel_page *page)
{
    if (!page)
        return;
    rn_rows_release(&page->rows);
    rn_free(page);
}
