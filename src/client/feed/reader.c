/* reader.c -- reads the change feed of one interval; see reader.h. */
#include "client/feed/reader.h"

#include "cosmos/status.h"

#include <assert.h>
#include <stdio.h>

enum {
    LIMIT_FIRST = 100, /* halved from, if the server decided so far */
    GOOD_PAGES = 16,   /* after which a smaller limit is doubled */
};

void rn_reader_init(struct rn_reader *r, const struct rn_reader_source *source,
                    const struct rn_epk_range *keys,
                    const struct rn_position *at)
{
    *r = (struct rn_reader){
        .source = source,
        .keys = *keys,
        .at = *at,
        .limit = source->page_limit,
    };
}

static void call_end(struct rn_reader *r)
{
    if (r->is_asking)
        rn_client_call_release(&r->call);
    r->is_asking = false;
}

static void page_drop(struct rn_reader *r)
{
    rn_change_page_unref(r->page);
    r->page = NULL;
}

void rn_reader_release(struct rn_reader *r)
{
    call_end(r);
    page_drop(r);
}

void rn_reader_seek(struct rn_reader *r, const struct rn_position *to)
{
    rn_reader_release(r);
    r->at = *to;
}

bool rn_reader_route(struct rn_reader *r, const struct rn_routing *map)
{
    size_t first = 0;
    size_t count = rn_routing_overlap(map, &r->keys, &first);
    const struct rn_range_route *route = &map->routes[first];

    assert(count > 0 && !r->is_asking);
    if (count > 1)
        return false;
    snprintf(r->range_id, sizeof(r->range_id), "%s", route->id);
    r->is_part = rn_epk_compare(&route->range.min, &r->keys.min) < 0 ||
                 rn_epk_compare(&r->keys.max, &route->range.max) < 0;
    return true;
}

/* ---- asking -------------------------------------------------------------- */

static runnel_code add_number(struct rn_headers *h, const char *name,
                              const char *before, uint32_t number,
                              runnel_error *error)
{
    char text[32];

    snprintf(text, sizeof(text), "%s%u", before, number);
    return rn_headers_add(h, name, rn_view_text(text), error);
}

/* The interval or the key. */
static runnel_code add_scope(const struct rn_reader *r, struct rn_headers *h,
                             runnel_error *error)
{
    const char *key = r->source->key;
    char text[RN_EPK_TEXT_MAX];
    runnel_code code;

    if (key)
        return rn_headers_add(h, RN_HEADER_PARTITION_KEY, rn_view_text(key),
                              error);
    code =
        rn_headers_add(h, RN_HEADER_RANGE_ID, rn_view_text(r->range_id), error);
    if (code || !r->is_part)
        return code;
    code = rn_headers_add(h, RN_HEADER_READ_KEY_TYPE,
                          RN_LIT("EffectivePartitionKeyRange"), error);
    if (!code)
        code = rn_headers_add(h, RN_HEADER_START_EPK,
                              rn_epk_print(&r->keys.min, text), error);
    if (!code)
        code = rn_headers_add(h, RN_HEADER_END_EPK,
                              rn_epk_print(&r->keys.max, text), error);
    return code;
}

static runnel_code add_mode(const struct rn_reader *r, struct rn_headers *h,
                            runnel_error *error)
{
    runnel_code code;

    if (r->source->mode == RUNNEL_FEED_LATEST)
        return rn_headers_add(h, RN_HEADER_A_IM, RN_LIT("Incremental Feed"),
                              error);
    code =
        rn_headers_add(h, RN_HEADER_A_IM, RN_LIT("Full-Fidelity Feed"), error);
    if (!code)
        code = rn_headers_add(h, RN_HEADER_WIRE_FORMAT, RN_LIT("2021-09-15"),
                              error);
    return code;
}

static runnel_code fill(struct rn_reader *r)
{
    struct rn_headers *h = &r->call.request.headers;
    runnel_error *error = &r->error;
    runnel_code code = add_mode(r, h, error);

    if (!code)
        code = add_scope(r, h, error);
    if (!code)
        code = rn_position_add(&r->at, h, error);
    if (!code && r->limit)
        code = add_number(h, RN_HEADER_MAX_ITEM_COUNT, "", r->limit, error);
    if (!code && r->wait_s)
        code = add_number(h, RN_HEADER_PREFER, "wait=", r->wait_s, error);
    return code;
}

void rn_reader_ask(struct rn_reader *r, struct rn_transport *t,
                   uint32_t wait_ms)
{
    const struct rn_reader_source *s = r->source;
    struct rn_link link =
        rn_client_container_list(s->container, RN_KIND_DOCUMENT);

    assert(!r->is_asking);
    page_drop(r);
    rn_client_call_init(&r->call, rn_client_container_account(s->container),
                        "GET", RN_EFFECT_READ, &link);
    r->is_asking = true;
    r->wait_s = wait_ms / 1000;
    r->call.request.wait_ms = r->wait_s * 1000;
    r->call.request.container = s->container;
    r->call.request.range = s->key ? NULL : r->range_id;
    r->call.request.session_token = s->session_token;
    r->code = fill(r);
    if (!r->code)
        rn_client_call_begin(&r->call, t);
}

/* ---- answers ------------------------------------------------------------- */

static void limit_reduce(struct rn_reader *r)
{
    if (!r->reduced_from)
        r->reduced_from = r->limit ? r->limit : LIMIT_FIRST;
    r->limit = (r->limit ? r->limit : LIMIT_FIRST) / 2;
    r->good_pages = 0;
}

static void limit_restore(struct rn_reader *r)
{
    if (!r->reduced_from || ++r->good_pages < GOOD_PAGES)
        return;
    r->good_pages = 0;
    r->limit *= 2;
    if (r->limit < r->reduced_from)
        return;
    r->limit = r->source->page_limit;
    r->reduced_from = 0;
}

/* An answer that was too large may fit with fewer changes. */
static bool can_reduce(const struct rn_reader *r)
{
    static const char asked[] = "Reduce page size";

    if (r->limit == 1)
        return false;
    return r->code == RUNNEL_TOO_LARGE ||
           (r->code == RUNNEL_BAD_REQUEST && strstr(r->error.message, asked));
}

static enum rn_reader_event judge_failure(struct rn_reader *r)
{
    if (r->code == RUNNEL_GONE && !r->source->key) {
        memcpy(r->gone_id, r->range_id, sizeof(r->gone_id));
        r->range_id[0] = '\0';
        return RN_READER_GONE;
    }
    if (can_reduce(r)) {
        limit_reduce(r);
        return RN_READER_MORE;
    }
    return RN_READER_FAILED;
}

static runnel_code move(struct rn_reader *r)
{
    struct rn_exchange *x = &r->call.exchange;

    return rn_position_set(
        &r->at, rn_headers_find(&x->answer_headers, RN_HEADER_ETAG), &r->error);
}

/* A position moves only together with its page, so that a page that cannot be
 * kept is read again. */
static enum rn_reader_event judge_page(struct rn_reader *r)
{
    const struct rn_change_page_options options = {
        .key = &r->source->definition->key,
        .mode = r->source->mode,
        .since_s = r->source->since_s,
    };
    struct rn_position before = r->at;
    struct rn_change_page *page = NULL;

    r->code = move(r);
    if (!r->code)
        r->code =
            rn_change_page_take(&r->call.exchange, &options, &page, &r->error);
    if (r->code) {
        r->at = before;
        return RN_READER_FAILED;
    }
    limit_restore(r);
    r->page = page;
    if (page->count)
        return RN_READER_PAGE;
    return strcmp(r->at.etag, before.etag) == 0 ? RN_READER_NOTHING
                                                : RN_READER_MORE;
}

static enum rn_reader_event judge_nothing(struct rn_reader *r)
{
    bool is_first = r->at.kind == RN_POSITION_TIME;

    r->code = move(r);
    if (!r->code)
        r->code =
            rn_change_page_take_empty(&r->call.exchange, &r->page, &r->error);
    if (r->code)
        return RN_READER_FAILED;
    /* An old service answers a time with the position alone. */
    return is_first ? RN_READER_MORE : RN_READER_NOTHING;
}

enum rn_reader_event rn_reader_step(struct rn_reader *r, int64_t *next_ns)
{
    enum rn_reader_event event;

    assert(r->is_asking);
    *next_ns = 0;
    if (!r->code) {
        int64_t due = rn_client_call_step(&r->call);

        if (!r->call.is_over) {
            *next_ns = due;
            return RN_READER_NONE;
        }
        r->code = r->call.code;
        r->error = r->call.error;
        r->was_applied = rn_headers_find(&r->call.exchange.answer_headers,
                                         RN_HEADER_PREFERENCE_APPLIED)
                             .at != NULL;
    }
    if (!r->code)
        r->gone_id[0] = '\0';
    if (r->code)
        event = judge_failure(r);
    else if (rn_client_call_status(&r->call) == RN_STATUS_OK)
        event = judge_page(r);
    else
        event = judge_nothing(r);
    call_end(r);
    return event;
}
