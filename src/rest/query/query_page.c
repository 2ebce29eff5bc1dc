/* query_page.c -- writes rows of a query into the body, and the rows behind the
 * page into the result cache. */
#include "rest/query/query_page.h"

#include "base/hash.h"

enum { PAGE_BYTES = 4 << 20 };

static const struct rn_object *owner_of(const struct rn_query_page *p)
{
    const struct rn_context *x = p->x;

    if (x->container)
        return x->container;
    return x->user ? x->user : x->database;
}

void rn_query_page_begin(struct rn_query_page *p)
{
    struct rn_context *x = p->x;
    const struct rn_object *owner = owner_of(p);
    char rid[RN_RID_TEXT_MAX];

    p->out = RN_JSON_OUT_INIT(&x->call->body);
    rn_json_out_object_begin(&p->out);
    rn_json_out_key(&p->out, RN_LIT("_rid"));
    rn_json_out_string(&p->out,
                       owner ? rn_rid_print(owner->rid, rid) : RN_LIT(""));
    rn_json_out_key(&p->out, rn_kind_list(x->link.kind));
    rn_json_out_array_begin(&p->out);
    p->count = 0;
    p->row_bytes = p->last_bytes = 0;
}

/* The metrics count the rows that were sent, not those in the cache. */
enum rn_code rn_query_page_end(struct rn_query_page *p)
{
    p->stats.rows = p->count;
    p->stats.row_bytes = p->row_bytes;
    rn_json_out_array_end(&p->out);
    rn_json_out_key(&p->out, RN_LIT("_count"));
    rn_json_out_uint(&p->out, p->count);
    rn_json_out_object_end(&p->out);
    return rn_json_out_finish(&p->out);
}

/* A row cannot be taken back: the next row is assumed to be as long as the one
 * before it. */
static bool is_page_full(const struct rn_query_page *p)
{
    return p->count >= p->max ||
           p->x->call->body.len + p->last_bytes > (size_t)PAGE_BYTES;
}

static void put_row(struct rn_query_page *p, struct rn_view json,
                    const struct rn_query_place *place)
{
    rn_json_out_raw(&p->out, json);
    p->count++;
    p->row_bytes += json.len;
    p->last_bytes = json.len;
    p->end = *place;
    if (place->after.len)
        memcpy(p->after, place->after.at, place->after.len);
    p->end.after = rn_view_of(p->after, place->after.len);
}

/* A whole query keeps its rows behind the page. */
static enum rn_code keep_row(struct rn_query_page *p, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full)
{
    enum rn_code rc;

    if (!p->answer) {
        rn_random(p->x->rest->opts.env, &p->held, sizeof(p->held));
        p->answer = rn_cached_result_new(p->held, 0);
        if (!p->answer)
            return RN_NOMEM;
        p->answer->sent = p->end.rows;
    }
    rc = rn_cached_result_add(p->answer, json, place);
    *is_full = p->answer->rows.len > (size_t)RN_CACHED_RESULT_BYTES_MAX;
    return rc;
}

enum rn_code rn_query_page_take(void *page, struct rn_view json,
                                const struct rn_query_place *place,
                                bool *is_full, struct rn_err *err)
{
    struct rn_query_page *p = page;

    (void)err;
    if (is_page_full(p))
        return keep_row(p, json, place, is_full);
    put_row(p, json, place);
    *is_full =
        (!rn_query_page_is_whole(p) || p->access.kind == RN_ACCESS_ORDER) &&
        is_page_full(p);
    return RN_OK;
}

/* ---- answers that wait --------------------------------------------------- */

/* A hash of the query and its scope, which a cache entry must match. */
static uint64_t check_of(const struct rn_query_page *p)
{
    static const char *const names[] = { RN_HEADER_RANGE_ID,
                                         RN_HEADER_START_EPK, RN_HEADER_END_EPK,
                                         RN_HEADER_PARTITION_KEY };
    const struct rn_object *owner = owner_of(p);
    uint64_t check =
        rn_hash64(p->x->call->req->body, owner ? owner->rid.database : 0);

    check = rn_hash64(rn_view_of(owner ? &owner->rid.parent : NULL,
                                 owner ? sizeof(owner->rid.parent) : 0),
                      check + p->x->link.kind);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        check = rn_hash64(rn_context_header(p->x, names[i]), check);
    return check;
}

bool rn_query_page_find_answer(struct rn_query_page *p)
{
    struct rn_rest *rest = p->x->rest;

    if (p->held) {
        p->answer = rn_result_cache_take(rest->result_cache, p->held,
                                         check_of(p), p->limits.from.rows,
                                         rn_wall_ms(rest->opts.env));
    }
    return p->answer != NULL;
}

/* Makes a page from a result cache entry. */
enum rn_code rn_query_page_of_answer(struct rn_query_page *p)
{
    struct rn_query_place place;
    struct rn_view json;

    rn_query_page_begin(p);
    while (!is_page_full(p) && rn_cached_result_next(p->answer, &json, &place))
        put_row(p, json, &place);
    p->stats.is_done =
        p->answer->is_all && rn_cached_result_is_empty(p->answer);
    return rn_query_page_end(p);
}

void rn_query_page_keep(struct rn_query_page *p)
{
    struct rn_rest *rest = p->x->rest;

    if (!p->answer)
        return;
    if (rn_cached_result_is_empty(p->answer)) {
        rn_cached_result_free(p->answer);
        p->held = 0;
    } else {
        p->answer->check = check_of(p);
        rn_result_cache_put(rest->result_cache, p->answer,
                            rn_wall_ms(rest->opts.env));
    }
    p->answer = NULL;
}
