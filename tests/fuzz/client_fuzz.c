/* client_fuzz.c -- any bytes as what a server says to the client library: a
 * plan, partition key ranges, rows to be compared and added up, a page of the
 * change feed, a lease; and as what a user gives it: a connection string, an
 * endpoint.
 *
 * The first byte chooses.  Nothing may crash; a map that is complete finds a
 * range for every key, the order of values is one, and a lease that is accepted
 * is printed as what it is.
 */
#include "fuzz/fuzz.h"

#include "client/account/endpoint.h"
#include "client/account/routing.h"
#include "client/feed/page.h"
#include "client/lease/document.h"
#include "client/query/aggregate.h"

static void try_plan(struct rn_view text, struct rn_arena *arena)
{
    struct rn_merge_plan plan;

    (void)arena;
    if (rn_merge_plan_parse(&plan, text, NULL) == RUNNEL_OK) {
        must(plan.range_count > 0);
        rn_merge_plan_release(&plan);
    }
}

static void try_ranges(struct rn_view text, struct rn_arena *arena)
{
    struct rn_epk epk = { .len = 2, .bytes = { 0x1f, 0x42 } };
    struct rn_routing *once = NULL, *twice = NULL;

    (void)arena;
    if (rn_routing_apply(NULL, text, RN_LIT("1"), &once, NULL) != RUNNEL_OK)
        return;
    if (rn_routing_is_complete(once))
        must(rn_epk_range_has(&rn_routing_find(once, &epk)->range,
                              rn_epk_view(&epk)));
    /* The same answer once more changes nothing. */
    must(rn_routing_apply(once, text, RN_LIT("1"), &twice, NULL) == RUNNEL_OK);
    must(rn_routing_is_complete(twice) == rn_routing_is_complete(once));
    rn_routing_unref(once);
    rn_routing_unref(twice);
}

/* [a, b]: compared both ways, and both added up in every way. */
static void try_rows(struct rn_view text, struct rn_arena *arena)
{
    struct rn_merge_item a, b;
    struct rn_json j;
    int order = 0, back = 0;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, text, NULL) == RN_OK) {
        a = (struct rn_merge_item){ &j, rn_json_at(&j, 0, 0) };
        b = (struct rn_merge_item){ &j, rn_json_at(&j, 0, 1) };
        must(!rn_merge_item_compare(a, b, &order) &&
             !rn_merge_item_compare(b, a, &back));
        must((order > 0) == (back < 0) && (order < 0) == (back > 0));
        for (int kind = RN_AGGREGATE_NONE; kind <= RN_AGGREGATE_SUM; kind++) {
            struct rn_buf out = RN_BUF_INIT(1 << 20);
            struct rn_total total;
            bool defined;
            enum rn_code rc;

            rn_total_init(&total, (enum rn_merge_aggregate)kind);
            if (!rn_total_add(&total, a, arena) &&
                !rn_total_add(&total, b, arena)) {
                rc = rn_total_print(&total, &out, &defined);
                must(!rc || rc == RN_BAD_REQUEST);
            }
            rn_total_release(&total);
            rn_buf_release(&out);
        }
    }
    rn_json_release(&j);
}

static void try_names(struct rn_view text, struct rn_arena *arena)
{
    struct rn_view copy =
        rn_arena_copy(arena, rn_view_of(text.at, strnlen(text.at, text.len)));
    char *end = rn_arena_alloc(arena, copy.len + 1);
    struct rn_connection connection;
    char url[RN_REGION_URL_MAX];
    bool is_loopback;

    must(end != NULL);
    memcpy(end, copy.at, copy.len);
    end[copy.len] = '\0';
    if (rn_connection_parse(end, &connection, NULL) == RUNNEL_OK)
        must(connection.key.len > 0);
    if (rn_endpoint_parse(copy, url, &is_loopback, NULL) == RUNNEL_OK)
        must(strlen(url) > 7);
}

static bool is_same(const struct rn_lease *a, const struct rn_lease *b)
{
    return rn_view_eq(a->id, b->id) && rn_view_eq(a->token, b->token) &&
           rn_view_eq(a->owner, b->owner) &&
           rn_view_eq(a->position, b->position) && a->is_epk == b->is_epk &&
           a->has_range == b->has_range && a->ts_s == b->ts_s &&
           a->timestamp_ms == b->timestamp_ms &&
           a->property_count == b->property_count;
}

static void try_lease(struct rn_view text, struct rn_arena *arena)
{
    struct rn_lease_document *read = NULL, *back = NULL;
    struct rn_buf once = RN_BUF_INIT(1 << 20), twice = RN_BUF_INIT(1 << 20);

    (void)arena;
    if (rn_lease_document_new(text, &read, NULL) != RUNNEL_OK)
        return;
    must(rn_lease_print(&read->lease, &once) == RUNNEL_OK);
    must(rn_lease_document_new(rn_buf_view(&once), &back, NULL) == RUNNEL_OK);
    must(is_same(&read->lease, &back->lease));
    must(rn_lease_print(&back->lease, &twice) == RUNNEL_OK);
    must(rn_view_eq(rn_buf_view(&once), rn_buf_view(&twice)));
    rn_lease_document_free(read);
    rn_lease_document_free(back);
    rn_buf_release(&once);
    rn_buf_release(&twice);
}

static volatile unsigned sum;

/* Reads all of it; a sanitizer looks on. */
static void look_at(runnel_bytes bytes)
{
    must(bytes.len == 0 || bytes.at);
    for (size_t i = 0; i < bytes.len; i++)
        sum += (unsigned char)bytes.at[i];
}

static void take_page(struct rn_view text, runnel_feed_mode mode,
                      struct rn_arena *arena)
{
    struct rn_pkdef key;
    struct rn_change_page_options options = { .key = &key,
                                              .mode = mode,
                                              .since_s = INT64_MIN };
    struct rn_change_page *page = NULL;
    struct rn_exchange x;
    struct rn_json j;

    rn_json_init(&j, NULL);
    must(!rn_json_parse(&j,
                        RN_LIT("{\"paths\":[\"/pk\",\"/a/b\"],\"kind\":"
                               "\"MultiHash\",\"version\":2}"),
                        NULL));
    must(!rn_pkdef_parse(&j, 0, arena, &key, NULL));
    rn_exchange_init(&x, 1 << 20);
    x.status = 200;
    must(!rn_buf_add(&x.answer, text));
    if (rn_change_page_take(&x, &options, &page, NULL) == RUNNEL_OK) {
        for (size_t i = 0; i < page->count; i++) {
            look_at(page->changes[i].json);
            look_at(page->changes[i].previous);
            look_at(page->changes[i].id);
            look_at(page->changes[i].partition_key);
        }
        rn_change_page_unref(page);
    }
    rn_exchange_release(&x);
    rn_json_release(&j);
}

static void try_page(struct rn_view text, struct rn_arena *arena)
{
    take_page(text, RUNNEL_FEED_LATEST, arena);
    take_page(text, RUNNEL_FEED_ALL, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_try_fn *const tries[] = { try_plan,  try_ranges, try_rows,
                                          try_names, try_lease,  try_page };

    return fuzz_choose(data, size, tries, 6);
}
