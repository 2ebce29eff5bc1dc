/* rest_counters_test.c -- counters and the wall clock's jumps.
 *
 * Goal: what is counted is shown, whatever thread counted it, and a jump of the
 * clock is seen once.  Method: plain calls, with times made up.
 */
#include "rest/metrics/counters.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 12, EACH = 1000 };

static void *count_some(void *context)
{
    struct rn_rest_counters_request r = { .method = RN_HTTP_GET,
                                          .kind = RN_KIND_DOCUMENT,
                                          .ns = 700000,
                                          .bytes_in = 1,
                                          .bytes_out = 2,
                                          .units = 1.29,
                                          .container = 7 };

    for (int i = 0; i < EACH; i++) {
        r.status = 200 + i % 4;
        rn_rest_counters_request(context, &r);
    }
    return NULL;
}

static void assert_has(struct rn_buf *text, const char *line)
{
    if (!strstr(text->at, line))
        fail_msg("no '%s' in:\n%s", line, text->at);
}

static void what_many_threads_count_is_all_shown(void **state)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_rest_counters *t = rn_rest_counters_new();
    pthread_t threads[THREADS];

    (void)state;
    assert_non_null(t);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_some, t), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rn_rest_counters_reject(t, RN_REJECT_TIMEOUT);
    assert_int_equal(rn_rest_counters_status(t, 201), THREADS * EACH / 4);
    assert_int_equal(rn_rest_counters_status(t, 500), 0);
    assert_int_equal(rn_rest_counters_print(t, &text), RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    assert_has(&text, "runnel_http_requests_total{op=\"GET\",resource=\"docs\","
                      "code=\"203\"} 3000\n");
    assert_has(&text, "_bucket{op=\"GET\",le=\"0.0005\"} 0\n");
    assert_has(&text, "_bucket{op=\"GET\",le=\"0.001\"} 12000\n");
    assert_has(&text, "_bucket{op=\"GET\",le=\"+Inf\"} 12000\n");
    assert_has(&text, "_sum{op=\"GET\"} 8.400000000\n");
    assert_has(&text, "runnel_http_request_bytes_total 12000\n");
    assert_has(&text, "runnel_http_response_bytes_total 24000\n");
    assert_true(rn_rest_counters_units(t, rn_rest_counters_place(t, 7)) ==
                15480);
    assert_has(&text, "rejected_total{reason=\"timeout\"} 1\n");
    rn_buf_release(&text);
    rn_rest_counters_free(t);
}

static double units_of(struct rn_rest_counters *t, uint64_t container)
{
    return rn_rest_counters_units(t, rn_rest_counters_place(t, container));
}

static void so_many_containers_have_a_place_and_others_share_one(void **state)
{
    struct rn_rest_counters *t = rn_rest_counters_new();
    struct rn_rest_counters_request r = { .status = 200, .units = 2 };

    (void)state;
    assert_non_null(t);
    for (r.container = 0; r.container <= RN_COUNTED_CONTAINERS + 5;
         r.container++)
        rn_rest_counters_request(t, &r);
    for (uint64_t i = 1; i <= RN_COUNTED_CONTAINERS; i++)
        assert_true(units_of(t, i) == 2);
    assert_true(rn_rest_counters_units(t, RN_COUNTED_CONTAINERS) == 6 * 2);
    assert_int_equal(rn_rest_counters_place(t, 1000), RN_COUNTED_CONTAINERS);
    rn_rest_counters_forget(t, rn_rest_counters_place(t, 3));
    assert_true(rn_rest_counters_units(t, RN_COUNTED_CONTAINERS) == 7 * 2);
    assert_true(units_of(t, 1000) == 0);
    r.container = 1000;
    rn_rest_counters_request(t, &r);
    assert_true(units_of(t, 1000) == 2);
    assert_int_equal(
        rn_rest_counters_container(t, rn_rest_counters_place(t, 1000)), 1000);
    assert_int_equal(rn_rest_counters_place(t, 3), RN_COUNTED_CONTAINERS);
    rn_rest_counters_free(t);
}

static void feeds_queries_and_tokens_are_shown(void **state)
{
    static const char *const want[] = {
        "runnel_feed_reads_total{result=\"page\"} 2\n",
        "runnel_feed_reads_total{result=\"gone\"} 1\n",
        "runnel_feed_items_total 12\n",
        "runnel_feed_wait_seconds_bucket{le=\"2.5\"} 1\n",
        "runnel_feed_wait_seconds_count 1\n",
        "runnel_query_duration_seconds_count 2\n",
        "runnel_query_docs_examined_total 40\n",
        "runnel_query_docs_returned_total 6\n",
        "runnel_query_index_used_total{kind=\"scan\"} 1\n",
        "runnel_query_aborted_total{reason=\"steps\"} 0\n",
        "runnel_query_aborted_total{reason=\"memory\"} 1\n",
        "runnel_resource_tokens_issued_total 1\n",
    };
    struct rn_query_note scan = { .examined = 40,
                                  .returned = 6,
                                  .has_way = true };
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_rest_counters *t = rn_rest_counters_new();

    (void)state;
    assert_non_null(t);
    rn_rest_counters_feed(t, RN_FEED_PAGE, 5, 0);
    rn_rest_counters_feed(t, RN_FEED_PAGE, 7, INT64_C(2000000000));
    rn_rest_counters_feed(t, RN_FEED_GONE, 0, 0);
    rn_rest_counters_query(t, 1000, &scan);
    rn_rest_counters_query(t, 1000, &(struct rn_query_note){ 0 });
    rn_rest_counters_abort(t, RN_ABORT_MEMORY);
    rn_rest_counters_token(t);
    assert_int_equal(rn_rest_counters_print(t, &text), RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_has(&text, want[i]);
    rn_buf_release(&text);
    rn_rest_counters_free(t);
}

static void statuses_beyond_the_table_are_counted_together(void **state)
{
    struct rn_rest_counters_request r = { .kind = RN_KINDS };
    struct rn_rest_counters *t = rn_rest_counters_new();

    (void)state;
    for (r.status = 200; r.status < 300; r.status++)
        rn_rest_counters_request(t, &r);
    assert_int_equal(rn_rest_counters_status(t, 230), 1);
    assert_int_equal(rn_rest_counters_status(t, 299), 100 - 31);
    rn_rest_counters_free(t);
}

static void a_jump_of_the_wall_clock_is_seen_once(void **state)
{
    static const struct {
        int64_t wall_ms, mono_ms, by;
    } looks[] = {
        { 5000000, 1000, 0 },        /* the first */
        { 5000900, 1900, 0 },        /* runs on */
        { 5001405, 2400, 0 },        /* a little fast */
        { 5002900, 3000, 0 },        /* slewed by less than a second */
        { 5003000, 3100, 0 },        /* which is then as it should be */
        { 9003000, 3100, 4000000 },  /* forward */
        { 9003001, 3101, 0 },        /* and on */
        { 1003001, 3101, -8000000 }, /* back */
        { 1103001, 103101, 0 },      /* a long silence is no jump */
    };
    struct rn_clock_jumps j = { 0 };
    unsigned jumps = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        assert_int_equal(rn_clock_jumps_note(&j, looks[i].wall_ms,
                                             looks[i].mono_ms * 1000000),
                         looks[i].by);
        jumps += looks[i].by != 0;
        assert_int_equal(atomic_load(&j.count), jumps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_many_threads_count_is_all_shown),
        cmocka_unit_test(so_many_containers_have_a_place_and_others_share_one),
        cmocka_unit_test(feeds_queries_and_tokens_are_shown),
        cmocka_unit_test(statuses_beyond_the_table_are_counted_together),
        cmocka_unit_test(a_jump_of_the_wall_clock_is_seen_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
