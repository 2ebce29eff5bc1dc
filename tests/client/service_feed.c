/* service_feed.c -- ranges, change feed and read feed; see service.h. */
#include "client/service.h"

#include "base/clock.h"
#include "cosmos/etag.h"
#include "cosmos/header.h"
#include "cosmos/prefer.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- scope --------------------------------------------------------------- */

/* Narrows `keys` to what the headers ask for; false if they make no sense or
 * leave nothing. */
static bool narrowed(const struct service_box *box,
                     const struct service_request *q, struct rn_epk_range *keys)
{
    struct rn_view pk = service_header(q, RN_HEADER_PARTITION_KEY);
    struct rn_view start = service_header(q, RN_HEADER_START_EPK);
    struct rn_view end = service_header(q, RN_HEADER_END_EPK);
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);
    struct rn_epk_range want;
    struct rn_pk key;
    bool ok = true;

    if (pk.at) {
        ok = !rn_pk_parse(pk, &arena, &key, NULL) &&
             !rn_pkdef_fit_prefix(&box->key, &key, NULL);
        if (ok) {
            rn_epk_range_of(&box->key, &key, &want);
            ok = rn_epk_range_meet(keys, &want, keys);
        }
    }
    if (ok && (start.at || end.at)) {
        want = rn_epk_all;
        ok = !rn_epk_parse(start, &want.min, NULL) &&
             !rn_epk_parse(end, &want.max, NULL) &&
             rn_epk_range_meet(keys, &want, keys);
    }
    rn_arena_release(&arena);
    return ok;
}

/* The range that a header names: "RID,ID" or "ID". */
static struct service_range *named(struct service_box *box, struct rn_view text)
{
    const char *comma = memchr(text.at, ',', text.len);
    size_t skip = comma ? (size_t)(comma - text.at) + 1 : 0;
    uint64_t id = UINT64_MAX;

    text = rn_view_of(text.at + skip, text.len - skip);
    if (rn_etag_parse_lsn(text, &id, NULL) || id >= box->range_count)
        return NULL;
    return &box->ranges[id];
}

static struct service_range *gone(struct service_box *box,
                                  const struct service_range *range,
                                  struct service_answer *a)
{
    bool is_closing =
        range && rn_wall_ms(box->service->env) < range->closing_ms;

    service_refuse(a, 410, is_closing ? 1007 : 1002, "The range is gone.");
    return NULL;
}

struct service_range *service_route(struct service_box *box,
                                    const struct service_request *q,
                                    struct rn_epk_range *keys,
                                    struct service_answer *a)
{
    struct rn_view id = service_header(q, RN_HEADER_RANGE_ID);
    struct service_range *range = NULL;

    *keys = rn_epk_all;
    if (id.at) {
        range = named(box, id);
        if (!range || range->gone)
            return gone(box, range, a);
        *keys = range->keys;
    }
    if (!narrowed(box, q, keys))
        return gone(box, NULL, a);
    if (!range) {
        range = service_range_of(box, rn_epk_view(&keys->min));
        if (rn_epk_compare(&keys->max, &range->keys.max) > 0)
            return gone(box, NULL, a);
    }
    return range;
}

/* ---- ranges -------------------------------------------------------------- */

static void range_print(const struct service_range *range,
                        struct rn_json_out *o)
{
    char text[RN_EPK_TEXT_MAX];
    char id[16];

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("id"));
    snprintf(id, sizeof(id), "%u", range->id);
    rn_json_out_string(o, rn_view_text(id));
    rn_json_out_key(o, RN_LIT("minInclusive"));
    rn_json_out_string(o, rn_epk_print(&range->keys.min, text));
    rn_json_out_key(o, RN_LIT("maxExclusive"));
    rn_json_out_string(o, rn_epk_print(&range->keys.max, text));
    rn_json_out_key(o, RN_LIT("status"));
    rn_json_out_string(o, RN_LIT("online"));
    rn_json_out_key(o, RN_LIT("parents"));
    rn_json_out_array_begin(o);
    for (size_t i = 0; i < range->parent_count; i++) {
        snprintf(id, sizeof(id), "%u", range->parents[i]);
        rn_json_out_string(o, rn_view_text(id));
    }
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("lsn"));
    rn_json_out_uint(o, range->lsn);
    rn_json_out_object_end(o);
}

void service_pkranges(struct service_box *box, const struct service_request *q,
                      struct service_answer *a)
{
    struct rn_view known = service_header(q, RN_HEADER_IF_NONE_MATCH);
    struct rn_json_out o = RN_JSON_OUT_INIT(&a->body);
    uint64_t since = 0;
    unsigned count = 0;

    if (service_header(q, RN_HEADER_A_IM).at && known.at &&
        rn_etag_parse_lsn(known, &since, NULL))
        since = 0;
    service_say(a, RN_HEADER_ETAG, "\"%lu\"", (unsigned long)box->topology);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_view_text(box->rid_text));
    rn_json_out_key(&o, RN_LIT("PartitionKeyRanges"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < box->range_count; i++) {
        const struct service_range *range = &box->ranges[i];

        if (!range->gone && range->born > since) {
            range_print(range, &o);
            count++;
        }
    }
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, count);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
    service_say(a, RN_HEADER_ITEM_COUNT, "%u", count);
    a->status = since >= box->topology ? 304 : 200;
    if (a->status == 304)
        rn_buf_clear(&a->body);
}

/* ---- change feed --------------------------------------------------------- */

struct page {
    const struct service_box *box;
    struct service_range *range;
    struct rn_epk_range keys;
    uint64_t from;   /* LSNs above it */
    bool is_now;     /* If-None-Match: * */
    bool is_resumed; /* If-None-Match: N */
    bool is_full;    /* all versions */
    bool has_envelope;
    int64_t since; /* _ts; INT64_MIN: any */
    int64_t limit; /* -1: any number */
    const struct service_entry **found;
    size_t count;
    bool has_more;
};

static int by_lsn(const void *a, const void *b)
{
    const struct service_entry *x = *(const struct service_entry *const *)a;
    const struct service_entry *y = *(const struct service_entry *const *)b;

    if (x->lsn != y->lsn)
        return x->lsn < y->lsn ? -1 : 1;
    return x->commit < y->commit ? -1 : 1;
}

static bool is_wanted(const struct page *p, const struct service_entry *e)
{
    if (!p->is_full && !e->is_live)
        return false;
    /* Alone the time is exclusive; beside a position it is inclusive. */
    if (p->is_resumed ? e->ts < p->since : e->ts <= p->since)
        return false;
    return e->lsn > p->from && rn_epk_range_has(&p->keys, rn_epk_view(&e->epk));
}

/* Entries in the order of their LSNs, cut at the limit but never inside one. */
static void page_collect(struct page *p)
{
    const struct service_box *box = p->box;
    size_t cut;

    p->found = rn_new((box->entry_count + 1) * sizeof(*p->found));
    if (!p->found)
        abort();
    for (size_t i = 0; i < box->entry_count; i++) {
        if (is_wanted(p, box->entries[i]))
            p->found[p->count++] = box->entries[i];
    }
    if (p->count)
        qsort(p->found, p->count, sizeof(*p->found), by_lsn);
    if (p->limit < 0 || p->count <= (size_t)p->limit)
        return;
    cut = (size_t)p->limit;
    while (cut < p->count && p->found[cut]->lsn == p->found[cut - 1]->lsn)
        cut++;
    p->has_more = cut < p->count;
    p->count = cut;
}

/* Was anything purged that this reader has not seen? */
static bool is_purged(const struct page *p)
{
    const struct service_box *box = p->box;
    int64_t horizon =
        rn_wall_ms(box->service->env) / 1000 - 60 * box->retention_min;

    for (size_t i = 0; i < box->entry_count; i++) {
        const struct service_entry *e = box->entries[i];

        if (e->ts < horizon && e->lsn > p->from &&
            rn_epk_range_has(&p->range->keys, rn_epk_view(&e->epk)))
            return true;
    }
    return false;
}

/* Reads the headers.  False: the answer is the refusal. */
static bool page_parse(struct page *p, const struct service_request *q,
                       struct service_answer *a)
{
    struct rn_view mode = service_header(q, RN_HEADER_A_IM);
    struct rn_view known = service_header(q, RN_HEADER_IF_NONE_MATCH);
    struct rn_view since = service_header(q, RN_HEADER_IF_MODIFIED_SINCE);
    struct rn_view limit = service_header(q, RN_HEADER_MAX_ITEM_COUNT);
    const char *wrong = NULL;
    uint64_t number = 0;

    p->is_full = mode.len && (mode.at[0] == 'F' || mode.at[0] == 'f');
    p->has_envelope =
        p->is_full || service_header(q, RN_HEADER_WIRE_FORMAT).at != NULL;
    p->is_now = rn_view_eq(known, RN_LIT("*"));
    p->is_resumed = known.at && !p->is_now;
    p->since = INT64_MIN;
    p->limit = -1;
    if (p->is_resumed && rn_etag_parse_lsn(known, &p->from, NULL))
        wrong = "If-None-Match is no etag of a feed.";
    if (p->from > p->range->lsn)
        wrong = "If-None-Match is of another container.";
    if (since.at && rn_date_parse(since, &p->since, NULL))
        wrong = "If-Modified-Since is no date.";
    if (limit.at && !rn_view_eq(limit, RN_LIT("-1"))) {
        if (rn_etag_parse_lsn(limit, &number, NULL) || number == 0)
            wrong = "x-ms-max-item-count is no count.";
        p->limit = (int64_t)number;
    }
    if (p->is_full && p->box->retention_min == 0)
        wrong = "Change Feed 'All Versions and Deletes' mode must be enabled.";
    else if (p->is_full && !known.at)
        wrong = "All versions are read from now or from a continuation.";
    else if (p->is_full && p->is_resumed && is_purged(p))
        wrong = "The continuation is older than the retention period.";
    if (wrong)
        service_refuse(a, 400, 0, wrong);
    return !wrong;
}

static void key_print(const struct service_box *box,
                      const struct service_entry *e, struct rn_json_out *o)
{
    struct rn_json j;
    struct rn_json_walk w;
    size_t i = 0;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, rn_view_text(e->pk), NULL))
        abort();
    w = rn_json_walk_begin(&j, 0);
    rn_json_out_object_begin(o);
    while (rn_json_walk_next(&w) && i < box->key.count) {
        struct rn_view path = box->key.texts[i++];

        rn_json_out_key(o, rn_view_of(path.at + 1, path.len - 1));
        rn_json_out_value(o, &j, w.value);
    }
    rn_json_out_object_end(o);
    rn_json_release(&j);
}

static void metadata_print(const struct page *p, const struct service_entry *e,
                           struct rn_json_out *o)
{
    static const char *const names[] = { "create", "replace", "delete",
                                         "delete" };

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("lsn"));
    rn_json_out_uint(o, e->lsn);
    rn_json_out_key(o, RN_LIT("crts"));
    rn_json_out_int(o, e->ts);
    if (p->is_full) {
        rn_json_out_key(o, RN_LIT("operationType"));
        rn_json_out_string(o, rn_view_text(names[e->op]));
    }
    if (p->is_full && e->previous) {
        rn_json_out_key(o, RN_LIT("previousImageLSN"));
        rn_json_out_uint(o, e->previous->lsn);
    }
    if (p->is_full && e->op == SERVICE_EXPIRE) {
        rn_json_out_key(o, RN_LIT("timeToLiveExpired"));
        rn_json_out_bool(o, true);
    }
    if (e->op >= SERVICE_DELETE) {
        rn_json_out_key(o, RN_LIT("id"));
        rn_json_out_string(o, rn_view_text(e->id));
        rn_json_out_key(o, RN_LIT("partitionKey"));
        key_print(p->box, e, o);
    }
    rn_json_out_object_end(o);
}

static void envelope_print(const struct page *p, const struct service_entry *e,
                           struct rn_json_out *o)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("current"));
    rn_json_out_raw(o, e->op >= SERVICE_DELETE ? RN_LIT("{}")
                                               : rn_view_text(e->json));
    if (p->is_full && p->box->has_previous && e->previous) {
        rn_json_out_key(o, RN_LIT("previous"));
        rn_json_out_raw(o, rn_view_text(e->previous->json));
    }
    rn_json_out_key(o, RN_LIT("metadata"));
    metadata_print(p, e, o);
    rn_json_out_object_end(o);
}

static void page_print(const struct page *p, struct service_answer *a)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&a->body);
    struct rn_buf one = RN_BUF_INIT(SERVICE_BODY_MAX);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_view_text(p->box->rid_text));
    rn_json_out_key(&o, RN_LIT("Documents"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < p->count; i++) {
        const struct service_entry *e = p->found[i];

        if (p->has_envelope) {
            envelope_print(p, e, &o);
            continue;
        }
        rn_buf_clear(&one);
        if (rn_buf_printf(&one, "%.*s,\"_lsn\":%lu}", (int)strlen(e->json) - 1,
                          e->json, (unsigned long)e->lsn))
            abort();
        rn_json_out_raw(&o, rn_buf_view(&one));
    }
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, p->count);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
    rn_buf_release(&one);
}

void service_feed(struct service_box *box, const struct service_request *q,
                  bool may_hold, struct service_answer *a)
{
    uint32_t wait = rn_prefer_wait(service_header(q, RN_HEADER_PREFER));
    struct page p = { .box = box };
    uint64_t etag;

    box->service->feed_reads++;
    if (box->service->cannot_wait)
        wait = 0;
    p.range = service_route(box, q, &p.keys, a);
    if (!p.range || !page_parse(&p, q, a))
        return;
    if (!p.is_now)
        page_collect(&p);
    etag = p.has_more ? p.found[p.count - 1]->lsn : p.range->lsn;
    if (p.count == 0 && wait && may_hold && !p.is_now) {
        a->held_ms = (int64_t)wait * 1000;
    } else {
        a->status = p.count ? 200 : 304;
        service_say(a, RN_HEADER_ETAG, "\"%lu\"", (unsigned long)etag);
        service_say(a, RN_HEADER_CONTENT_PATH, "%s", box->rid_text);
        service_say(a, RN_HEADER_ITEM_COUNT, "%zu", p.count);
        service_say(a, RN_HEADER_SESSION_TOKEN, "%u:-1#%lu", p.range->id,
                    (unsigned long)p.range->lsn);
        if (wait)
            service_say(a, RN_HEADER_PREFERENCE_APPLIED, "wait=%u", wait);
        if (p.count)
            page_print(&p, a);
    }
    rn_free(p.found);
}

/* ---- read feed and queries ----------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct service_entry *x = *(const struct service_entry *const *)a;
    const struct service_entry *y = *(const struct service_entry *const *)b;
    int order = strcmp(x->id, y->id);

    return order ? order : strcmp(x->pk, y->pk);
}

/* The continuation is how many documents were sent. */
void service_list(struct service_box *box, const struct service_request *q,
                  struct rn_view id_prefix, struct service_answer *a)
{
    struct page p = { .box = box, .limit = 100, .keys = rn_epk_all };
    struct rn_view limit = service_header(q, RN_HEADER_MAX_ITEM_COUNT);
    struct rn_view token = service_header(q, RN_HEADER_CONTINUATION);
    struct rn_view id = service_header(q, RN_HEADER_RANGE_ID);
    const struct service_entry **all;
    uint64_t number = 0, skip = 0;

    if (id.at && !service_route(box, q, &p.keys, a))
        return;
    if (!id.at && !narrowed(box, q, &p.keys)) {
        service_refuse(a, 400, 0, "The partition key is none.");
        return;
    }
    if (limit.at && !rn_etag_parse_lsn(limit, &number, NULL) && number)
        p.limit = (int64_t)number;
    if (token.at && rn_etag_parse_lsn(token, &skip, NULL))
        skip = 0;
    all = p.found = rn_new((box->entry_count + 1) * sizeof(*p.found));
    if (!all)
        abort();
    for (size_t i = 0; i < box->entry_count; i++) {
        const struct service_entry *e = box->entries[i];

        if (e->is_live && rn_epk_range_has(&p.keys, rn_epk_view(&e->epk)) &&
            rn_view_starts(rn_view_text(e->id), id_prefix))
            all[p.count++] = e;
    }
    if (p.count)
        qsort(all, p.count, sizeof(*all), by_id);
    skip = skip < p.count ? skip : p.count;
    p.found += skip;
    p.count -= skip;
    if (p.count > (size_t)p.limit) {
        p.count = (size_t)p.limit;
        service_say(a, RN_HEADER_CONTINUATION, "%lu",
                    (unsigned long)(skip + p.count));
    }
    page_print(&p, a);
    service_say(a, RN_HEADER_ITEM_COUNT, "%zu", p.count);
    a->status = 200;
    rn_free(all);
}
