/* client_feed_test.c -- the pulled change feed: every start, scope and mode.
 *
 * A cursor reads from the fake service in virtual time; what it returns is
 * written as a text of ids and compared. */
#include "client/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- starts -------------------------------------------------------------- */

static void a_feed_begins_at_the_beginning_by_default(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .page_limit = 2 };
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    assert_string_equal(reading_whole(&w, &o), "");
    reading_put(&w, "a", "1");
    reading_put(&w, "b", "2");
    reading_put(&w, "c", "1");
    reading_put(&w, "a", "1");
    assert_string_equal(reading_whole(&w, &o), "b c|a");
    o.start = RUNNEL_START_BEGINNING;
    assert_string_equal(reading_whole(&w, &o), "b c|a");
    world_close(&w);
}

static void now_is_fixed_for_all_ranges_by_the_first_next(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .start = RUNNEL_START_NOW,
                              .parallel = 1 };
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    reading_put_many(&w, 0, 20);
    c = reading_open(&w, &o);
    assert_string_equal(reading_rest(c, 0), "");
    reading_put_many(&w, 20, 40);
    assert_int_equal(reading_count(reading_rest(c, 0), 0, 40), 20);
    rn_feed_cursor_close(c);
    world_close(&w);
}

/* Documents of the seconds before, of and after a start time: those of its own
 * second come, whatever its milliseconds are. */
static void a_start_time_loses_nothing_of_its_second(void **state)
{
    struct rn_env *env;
    int64_t second;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    env = rn_sim_env(w.sim);
    world_sleep(&w, 1000 - rn_wall_ms(env) % 1000);
    reading_put(&w, "before", "1");
    world_sleep(&w, 1000);
    second = rn_wall_ms(env);
    reading_put(&w, "a", "1");
    world_sleep(&w, 900);
    reading_put(&w, "b", "2");
    world_sleep(&w, 100);
    reading_put(&w, "after", "3");
    for (int ms = 0; ms < 1000; ms += 333) {
        runnel_feed_options o = { RUNNEL_FEED_INIT,
                                  .start_time_ms = second + ms };
        const char *text = reading_whole(&w, &o);

        assert_null(strstr(text, "before"));
        assert_non_null(strstr(text, "a"));
        assert_non_null(strstr(text, "b"));
        assert_non_null(strstr(text, "after"));
    }
    world_close(&w);
}

static void a_time_in_the_future_gives_what_is_written_then(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    o.start_time_ms = rn_wall_ms(rn_sim_env(w.sim)) + 10000;
    c = reading_open(&w, &o);
    reading_put(&w, "early", "1");
    assert_string_equal(reading_rest(c, 0), "");
    world_sleep(&w, 5000);
    reading_put(&w, "too early", "1");
    assert_string_equal(reading_rest(c, 0), "");
    world_sleep(&w, 6000);
    reading_put(&w, "late", "1");
    assert_string_equal(reading_rest(c, 0), "late");
    rn_feed_cursor_close(c);
    world_close(&w);
}

static void a_token_resumes_all_ranges_through_splits_and_merges(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .page_limit = 3 };
    char *token = NULL, *text;
    struct rn_feed_cursor *c;
    runnel_batch *batch;
    struct world w;
    size_t seen = 0;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    reading_put_many(&w, 0, 60);
    c = reading_open(&w, &o);
    assert_string_equal(rn_feed_cursor_token(c), "");
    for (int i = 0; i < 7; i++) {
        batch = reading_next(c, 0);
        seen += batch->count;
        rn_batch_unref(batch);
    }
    token = strdup(rn_feed_cursor_token(c));
    rn_feed_cursor_close(c);
    assert_true(service_split(w.box, 1, 0));
    assert_true(service_merge(w.box, 2, 3, 0));
    reading_put_many(&w, 60, 70);
    o.token = token;
    text = strdup(reading_whole(&w, &o));
    /* What was new in both parts comes once. */
    assert_int_equal(reading_count(text, 0, 70), 70 - (int)seen);
    assert_int_equal(reading_count(text, 60, 70), 10);
    free(text);
    free(token);
    world_close(&w);
}

static void an_etag_resumes_one_range(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .token = "\"2\"" };
    struct rn_feed_cursor *c;
    runnel_error error;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    reading_put(&w, "a", "1");
    reading_put(&w, "b", "2");
    reading_put(&w, "c", "3");
    assert_string_equal(reading_whole(&w, &o), "c");
    o.start_time_ms = 1; /* a continuation is before a time */
    assert_string_equal(reading_whole(&w, &o), "c");
    o.start_time_ms = 0;
    /* The etag of a range that was split is good in its children. */
    assert_true(service_split(w.box, 0, 0));
    o.range = "-FF";
    assert_string_equal(reading_whole(&w, &o), "c");
    o.range = NULL;
    c = reading_open(&w, &o);
    assert_int_equal(
        rn_feed_cursor_next(c, 0, &(runnel_batch *){ NULL }, &error),
        RUNNEL_BAD_REQUEST);
    rn_feed_cursor_close(c);
    world_close(&w);
}

/* ---- scopes -------------------------------------------------------------- */

static void a_range_is_read_by_its_id_and_by_its_interval(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    struct rn_feed_cursor *c;
    runnel_error error;
    struct world w;
    int sum = 0;

    (void)state;
    world_open(&w, 1, &reading_four_ranges);
    reading_put_many(&w, 0, 40);
    for (int i = 0; i < 4; i++) {
        char id[8];

        snprintf(id, sizeof(id), "%d", i);
        o.range = id;
        sum += reading_count(reading_whole(&w, &o), 0, 40);
    }
    assert_int_equal(sum, 40);
    /* Intervals that the ranges know nothing of. */
    o.range = "-18";
    sum = reading_count(reading_whole(&w, &o), 0, 40);
    o.range = "18-FF";
    assert_true(sum > 0 && sum < 40);
    assert_int_equal(sum + reading_count(reading_whole(&w, &o), 0, 40), 40);
    o.range = "9";
    c = reading_open(&w, &o);
    assert_int_equal(
        rn_feed_cursor_next(c, 0, &(runnel_batch *){ NULL }, &error),
        RUNNEL_GONE);
    rn_feed_cursor_close(c);
    o.range = "FF-";
    c = reading_open(&w, &o);
    assert_int_equal(
        rn_feed_cursor_next(c, 0, &(runnel_batch *){ NULL }, &error),
        RUNNEL_BAD_REQUEST);
    rn_feed_cursor_close(c);
    world_close(&w);
}

static void one_partition_key_is_read_alone_through_a_split(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT, .partition_key = "\"1\"",
                              .page_limit = 1 };
    struct rn_feed_cursor *c;
    runnel_batch *batch;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    reading_put(&w, "a", "1");
    reading_put(&w, "x", "2");
    reading_put(&w, "b", "1");
    c = reading_open(&w, &o);
    batch = reading_next(c, 0);
    assert_int_equal(batch->count, 1);
    assert_string_equal(batch->page->changes[0].partition_key.at, "\"1\"");
    rn_batch_unref(batch);
    assert_true(service_split(w.box, 0, 500));
    assert_string_equal(reading_rest(c, 0), "b");
    reading_put(&w, "y", "2");
    assert_string_equal(reading_rest(c, 0), "");
    o.token = rn_feed_cursor_token(c);
    reading_put(&w, "c", "1");
    assert_string_equal(reading_whole(&w, &o), "c");
    o.partition_key = NULL; /* the token knows it */
    assert_string_equal(reading_whole(&w, &o), "c");
    rn_feed_cursor_close(c);
    world_close(&w);
}

static void a_prefix_of_a_hierarchical_key_is_an_interval(void **state)
{
    const struct service_definition d = {
        .db = "d", .name = "c", .key = "/t,/u,/s", .ranges = 4
    };
    runnel_feed_options o = { RUNNEL_FEED_INIT,
                              .partition_key = "[\"t1\",\"u1\"]" };
    struct world w;

    (void)state;
    world_open(&w, 1, &d);
    for (int i = 0; i < 27; i++) {
        char json[128];

        snprintf(json, sizeof(json),
                 "{\"id\":\"%d%d%d\",\"t\":\"t%d\",\"u\":\"u%d\",\"s\":%d}",
                 i / 9, i / 3 % 3, i % 3, i / 9, i / 3 % 3, i % 3);
        service_upsert(w.box, json);
    }
    assert_string_equal(reading_whole(&w, &o), "110 111 112");
    o.partition_key = "[\"t2\"]";
    assert_int_equal(strlen(reading_whole(&w, &o)), 9 * 4 - 1);
    o.partition_key = "[\"t2\",\"u0\",1]";
    assert_string_equal(reading_whole(&w, &o), "201");
    world_close(&w);
}

/* ---- modes --------------------------------------------------------------- */

static void latest_versions_are_lent_as_they_are_served(void **state)
{
    runnel_feed_options o = { RUNNEL_FEED_INIT };
    const runnel_change *change;
    struct rn_feed_cursor *c;
    runnel_batch *batch;
    struct world w;

    (void)state;
    world_open(&w, 1, &reading_one_range);
    service_upsert(w.box, "{\"id\":\"q\\u0022\",\"pk\":\"a\\u0001\"}");
    c = reading_open(&w, &o);
    batch = reading_next(c, 0);
    change = &batch->page->changes[0];
    assert_int_equal(batch->count, 1);
    assert_int_equal(change->kind, RUNNEL_CHANGED);
    assert_memory_equal(change->id.at, "q\"", 2);
    assert_memory_equal(change->partition_key.at, "\"a\\u0001\"", 9);
    assert_int_equal(change->json.at[0], '{');
    assert_int_equal(change->json.at[change->json.len - 1], '}');
    assert_int_equal(change->lsn, 1);
    assert_int_equal(change->time_ms,
                     rn_wall_ms(rn_sim_env(w.sim)) / 1000 * 1000);
    assert_string_equal(batch->range.id, "0");
    assert_string_equal(batch->range.text, "-FF");
    assert_string_equal(batch->page->rid, w.box->rid_text);
    assert_int_equal(batch->page->reply->status, 200);
    rn_batch_unref(batch);
    batch = reading_next(c, 0);
    assert_int_equal(batch->count, 0);
    assert_int_equal(batch->page->reply->status, 304);
    rn_batch_unref(batch);
    rn_feed_cursor_close(c);
    world_close(&w);
}

static void all_versions_have_each_change_and_deletes(void **state)
{
    const struct service_definition d = { .db = "d",
                                          .name = "c",
                                          .key = "/pk",
                                          .default_ttl = -1,
                                          .retention_min = 10,
                                          .has_previous = true };
    static const struct {
        runnel_change_kind kind;
        uint64_t previous_lsn;
        bool has_json, has_previous;
    } want[] = {
        { RUNNEL_CREATED, 0, true, false }, { RUNNEL_REPLACED, 1, true, true },
        { RUNNEL_DELETED, 2, false, true }, { RUNNEL_CREATED, 0, true, false },
        { RUNNEL_EXPIRED, 4, false, true },
    };
    runnel_feed_options o = { RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL,
                              .start = RUNNEL_START_NOW };
    struct rn_feed_cursor *c;
    runnel_batch *batch;
    struct world w;

    (void)state;
    world_open(&w, 1, &d);
    c = reading_open(&w, &o);
    assert_string_equal(reading_rest(c, 0), "");
    service_upsert(w.box, "{\"id\":\"a\",\"pk\":5}");
    service_upsert(w.box, "{\"id\":\"a\",\"pk\":5,\"n\":1}");
    service_delete(w.box, "a", "[5]");
    service_upsert(w.box, "{\"id\":\"b\",\"pk\":5,\"ttl\":1}");
    world_sleep(&w, 2000);
    batch = reading_next(c, 0);
    assert_int_equal(batch->count, 5);
    for (size_t i = 0; i < 5; i++) {
        const runnel_change *change = &batch->page->changes[i];

        assert_int_equal(change->kind, want[i].kind);
        assert_int_equal(change->lsn, i + 1);
        assert_int_equal(change->previous_lsn, want[i].previous_lsn);
        assert_int_equal(change->json.len > 0, want[i].has_json);
        assert_int_equal(change->previous.len > 0, want[i].has_previous);
        assert_memory_equal(change->id.at, i < 3 ? "a" : "b", 1);
        assert_memory_equal(change->partition_key.at, "5", 1);
    }
    rn_batch_unref(batch);
    rn_feed_cursor_close(c);
    world_close(&w);
}

static void versions_that_were_purged_are_not_skipped_silently(void **state)
{
    const struct service_definition d = {
        .db = "d", .name = "c", .key = "/pk", .retention_min = 10
    };
    runnel_feed_options o = { RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL,
                              .start = RUNNEL_START_NOW };
    runnel_error error = { 0 };
    struct rn_feed_cursor *c;
    struct world w;

    (void)state;
    world_open(&w, 1, &d);
    c = reading_open(&w, &o);
    assert_string_equal(reading_rest(c, 0), "");
    reading_put(&w, "a", "1");
    world_sleep(&w, 11 * 60 * 1000);
    assert_int_equal(
        rn_feed_cursor_next(c, 0, &(runnel_batch *){ NULL }, &error),
        RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "retention"));
    rn_feed_cursor_close(c);
    o.start = RUNNEL_START_DEFAULT;
    assert_int_equal(rn_feed_cursor_open(w.container, &o, &c, &error),
                     RUNNEL_BAD_REQUEST);
    o.start_time_ms = 1;
    assert_int_equal(rn_feed_cursor_open(w.container, &o, &c, &error),
                     RUNNEL_BAD_REQUEST);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_feed_begins_at_the_beginning_by_default),
        cmocka_unit_test(now_is_fixed_for_all_ranges_by_the_first_next),
        cmocka_unit_test(a_start_time_loses_nothing_of_its_second),
        cmocka_unit_test(a_time_in_the_future_gives_what_is_written_then),
        cmocka_unit_test(a_token_resumes_all_ranges_through_splits_and_merges),
        cmocka_unit_test(an_etag_resumes_one_range),
        cmocka_unit_test(a_range_is_read_by_its_id_and_by_its_interval),
        cmocka_unit_test(one_partition_key_is_read_alone_through_a_split),
        cmocka_unit_test(a_prefix_of_a_hierarchical_key_is_an_interval),
        cmocka_unit_test(latest_versions_are_lent_as_they_are_served),
        cmocka_unit_test(all_versions_have_each_change_and_deletes),
        cmocka_unit_test(versions_that_were_purged_are_not_skipped_silently),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
