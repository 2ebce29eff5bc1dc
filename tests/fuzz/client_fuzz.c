/* client_fuzz.c -- any bytes as what a server says to the client library: a
 * plan, partition key ranges, rows to be compared and added up; and as what a
 * user gives it: a connection string, an endpoint.
 *
 * The first byte chooses.  Nothing may crash; a map that is complete finds a
 * range for every key, and the order of values is one.
 */
#include "fuzz/fuzz.h"

#include "client/account/endpoint.h"
#include "client/account/routing.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_try_fn *const tries[] = { try_plan, try_ranges, try_rows,
                                          try_names };

    return fuzz_choose(data, size, tries, 4);
}
