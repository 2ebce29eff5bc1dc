/* client_lease_document_test.c -- leases: read, written back, refused.
 *
 * Single documents, and tables of what a damaged store may hold.  Those that
 * were recorded from other libraries are in client_lease_samples_test.c.
 */
#include "client/lease/property.h"

#include "base/env.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct rn_lease_document *read(const char *json, runnel_code expected)
{
    struct rn_lease_document *d = NULL;
    runnel_error error = { 0 };

    assert_int_equal(rn_lease_document_new(rn_view_text(json), &d, &error),
                     expected);
    assert_int_equal(error.message[0] != 0, expected != RUNNEL_OK);
    return d;
}

static struct rn_buf print(const struct rn_lease *lease)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);

    assert_int_equal(rn_lease_print(lease, &text), RUNNEL_OK);
    return text;
}

static const char version3[] =
    "{\"id\":\"p..0\",\"version\":0,\"_etag\":\"\\\"e\\\"\","
    "\"LeaseToken\":\"0\","
    "\"FeedRange\":{\"Range\":{\"min\":\"\",\"max\":\"FF\"}},"
    "\"Owner\":\"h\",\"ContinuationToken\":\"\\\"42\\\"\","
    "\"properties\":{\"a\":\"b\"},"
    "\"timestamp\":\"2026-11-18T02:50:32.6980263Z\",\"_ts\":7,"
    "\"Mode\":\"Incremental Feed\",\"later\":{\"x\":1.50}}";

static void a_lease_is_printed_in_the_order_of_version_3(void **state)
{
    struct rn_lease_document *d = read(version3, RUNNEL_OK);
    struct rn_buf text = print(&d->lease);

    (void)state;
    assert_true(rn_view_eq(rn_buf_view(&text), rn_view_text(version3)));
    assert_true(rn_view_eq(d->lease.position, RN_LIT("\"42\"")));
    assert_true(d->lease.timestamp_ms == 1794970232698);
    rn_buf_release(&text);
    rn_lease_document_free(d);
}

static void
a_lease_of_version_2_gets_a_token_and_keeps_its_partition(void **state)
{
    struct rn_lease_document *d =
        read("{\"id\":\"p..1\",\"PartitionId\":\"1\",\"Owner\":null,"
             "\"ContinuationToken\":\"\\\"5\\\"\",\"properties\":{},"
             "\"timestamp\":null,\"state\":1,\"_ts\":9,\"_etag\":\"e\"}",
             RUNNEL_OK);
    struct rn_buf text;

    (void)state;
    assert_true(rn_view_eq(d->lease.token, RN_LIT("1")));
    assert_false(d->lease.has_range);
    text = print(&d->lease);
    assert_true(rn_view_eq(
        rn_buf_view(&text),
        RN_LIT("{\"id\":\"p..1\",\"version\":0,\"_etag\":\"e\","
               "\"LeaseToken\":\"1\",\"PartitionId\":\"1\",\"Owner\":null,"
               "\"ContinuationToken\":\"\\\"5\\\"\",\"properties\":{},"
               "\"timestamp\":null,\"_ts\":9,\"state\":1}")));
    rn_buf_release(&text);
    rn_lease_document_free(d);
}

/* A version 2 host drops FeedRange, and keeps the token and the properties. */
static void a_range_that_was_dropped_is_found_again(void **state)
{
    struct rn_lease_document *d =
        read("{\"id\":\"p..05C1-0F\",\"PartitionId\":\"05C1-0F\"}", RUNNEL_OK);

    (void)state;
    assert_true(d->lease.is_epk && d->lease.has_range);
    rn_lease_document_free(d);
    d = read("{\"id\":\"p..3\",\"PartitionId\":\"3\",\"properties\":"
             "{\"runnel.range\":\"3 05-0F\"}}",
             RUNNEL_OK);
    assert_true(d->lease.has_range && d->lease.range.min.bytes[0] == 5);
    rn_lease_document_free(d);
    d = read("{\"id\":\"p..4\",\"PartitionId\":\"4\",\"properties\":"
             "{\"runnel.range\":\"3 05-0F\"}}",
             RUNNEL_OK);
    assert_false(d->lease.has_range); /* inherited from a parent */
    rn_lease_document_free(d);
}

static void leases_of_the_java_library_are_refused(void **state)
{
    (void)state;
    read("{\"id\":\"p..-FF\",\"LeaseToken\":\"-FF\",\"version\":1,"
         "\"feedRange\":{\"Range\":{\"min\":\"\",\"max\":\"FF\"}}}",
         RUNNEL_UNSUPPORTED);
    read("{\"id\":\"p..-FF\",\"LeaseToken\":\"-FF\",\"version\":1,"
         "\"ContinuationToken\":\"eyJWIjoxLCJSaWQiOiJ4In0\"}",
         RUNNEL_UNSUPPORTED);
}

static void damaged_leases_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "[]",
        "{",
        "{\"LeaseToken\":\"0\"}",
        "{\"id\":\"p..0\"}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"\"}",
        "{\"id\":7,\"LeaseToken\":\"0\"}",
        "{\"id\":\"p..0\",\"LeaseToken\":0}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"version\":2}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"version\":\"0\"}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"Owner\":{}}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"ContinuationToken\":4}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"timestamp\":\"yesterday\"}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"timestamp\":"
        "\"2026-02-30T00:00:00Z\"}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"properties\":[]}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"properties\":{\"a\":1}}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"FeedRange\":7}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\","
        "\"FeedRange\":{\"Range\":{\"min\":\"05\",\"max\":\"04\"}}}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\","
        "\"FeedRange\":{\"Range\":{\"min\":\"xy\",\"max\":\"FF\"}}}",
        "{\"id\":\"p..x-y\",\"LeaseToken\":\"x-y\",\"version\":1}",
        "{\"id\":\"p..0\",\"LeaseToken\":\"0\",\"Owner\":\"a\","
        "\"Owner\":\"b\"}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        read(cases[i], RUNNEL_PROTOCOL);
}

static void times_are_read_in_all_forms_and_printed_without_zeros(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        { "2026-11-18T02:50:32.6980263Z", 1794970232698 },
        { "2026-11-18T02:50:32.6Z", 1794970232600 },
        { "2026-11-18T02:50:32Z", 1794970232000 },
        { "2026-11-18T02:50:32.5Z[UTC]", 1794970232500 },
        { "2026-11-18T02:50:32.698+00:00", 1794970232698 },
    };
    char out[RN_LEASE_TIME_MAX];
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(rn_lease_time_parse(rn_view_text(cases[i].text), &ms));
        assert_true(ms == cases[i].ms);
    }
    assert_true(rn_view_eq(rn_lease_time_print(1794970232600, out),
                           RN_LIT("2026-11-18T02:50:32.6Z")));
    assert_true(rn_view_eq(rn_lease_time_print(1794970232000, out),
                           RN_LIT("2026-11-18T02:50:32Z")));
}

static void values_bound_to_another_token_or_position_do_not_count(void **state)
{
    struct rn_lease_document *d = read(version3, RUNNEL_OK);
    struct rn_lease *lease = &d->lease;
    struct rn_view host;
    int64_t at_ms;

    (void)state;
    assert_true(rn_lease_set(lease, RN_LEASE_ATTEMPTS, RN_LIT("3 \"42\"")));
    assert_int_equal(rn_lease_attempts(lease), 3);
    assert_true(rn_lease_set(lease, RN_LEASE_ATTEMPTS, RN_LIT("3 \"41\"")));
    assert_int_equal(rn_lease_attempts(lease), 0);
    assert_true(rn_lease_set(lease, RN_LEASE_SPLIT, RN_LIT("0 08,10")));
    assert_true(
        rn_view_eq(rn_lease_bound(lease, RN_LEASE_SPLIT), RN_LIT("08,10")));
    assert_true(rn_lease_set(lease, RN_LEASE_SPLIT, RN_LIT("00 08,10")));
    assert_null(rn_lease_bound(lease, RN_LEASE_SPLIT).at);
    assert_true(rn_lease_set(lease, RN_LEASE_WANTED, RN_LIT("my host 77")));
    assert_true(rn_lease_wanted(lease, &host, &at_ms));
    assert_true(rn_view_eq(host, RN_LIT("my host")) && at_ms == 77);
    assert_false(rn_lease_is_native(lease));
    assert_true(rn_lease_set(lease, RN_LEASE_OWNER, RN_LIT("h")));
    assert_true(rn_lease_set(lease, RN_LEASE_SESSION, RN_LIT("12-ab")));
    assert_true(rn_lease_is_native(lease));
    assert_true(rn_lease_session_start(lease) == 12);
    lease->owner = RN_LIT("other"); /* as a .NET host acquires */
    assert_false(rn_lease_is_native(lease));
    rn_lease_document_free(d);
}

static void a_start_that_is_no_second_until_9999_is_no_time(void **state)
{
    static const struct {
        const char *text;
        int64_t second; /* -1: none */
    } rows[] = {
        { "time:0", 0 },
        { "time:1794970232", 1794970232 },
        { "time:253402300799", 253402300799 },
        { "time:253402300800", -1 },
        { "time:9223372036854775807", -1 },
        { "time:99999999999999999999", -1 },
        { "time:-1", -1 },
        { "time:", -1 },
        { "time:1x", -1 },
        { "now", -1 },
    };
    struct rn_lease_document *d = read(version3, RUNNEL_OK);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t second = -1;

        assert_true(rn_lease_set(&d->lease, RN_LEASE_START,
                                 rn_view_text(rows[i].text)));
        assert_int_equal(rn_lease_start_second(&d->lease, &second),
                         rows[i].second >= 0);
        assert_true(second == rows[i].second);
    }
    rn_lease_document_free(d);
}

static void intervals_that_are_not_three_numbers_are_unknown(void **state)
{
    static const struct {
        const char *text;
        uint32_t expire_ms;
    } rows[] = {
        { "13000 17000 60000", 60000 },
        { "1 2 4294967295", UINT32_MAX },
        { "1 2 4294967296", 0 },
        { "1 2", 0 },
        { "1 2 3 4", 0 },
        { "1  2 3", 0 },
        { "1 2 99999999999999999999", 0 },
        { "", 0 },
    };
    struct rn_lease_document *d = read(version3, RUNNEL_OK);

    (void)state;
    assert_int_equal(rn_lease_expire_ms(&d->lease), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(rn_lease_set(&d->lease, RN_LEASE_INTERVALS,
                                 rn_view_text(rows[i].text)));
        assert_int_equal(rn_lease_expire_ms(&d->lease), rows[i].expire_ms);
    }
    rn_lease_document_free(d);
}

/* By the start, then by the tag; a text that is no session is never later. */
static void sessions_have_an_order(void **state)
{
    static const struct {
        const char *session, *than;
        bool is_later;
    } cases[] = {
        { "10-00000000ab", "9-ffffffff00", true },
        { "9-ffffffff00", "10-00000000ab", false },
        { "9-0000000200", "9-00000001ff", true },
        { "9-0000000100", "9-00000001ff", false }, /* the same processor */
        { "9-0000000100", "9-", false },
        { "9-", "9-0000000100", false },
        { "10-", "9-", true },
        { "", "9-00000001", false },
        { "x-00000001", "9-00000001", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            rn_lease_session_is_later(rn_view_text(cases[i].session),
                                      rn_view_text(cases[i].than)),
            cases[i].is_later);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_is_printed_in_the_order_of_version_3),
        cmocka_unit_test(
            a_lease_of_version_2_gets_a_token_and_keeps_its_partition),
        cmocka_unit_test(a_range_that_was_dropped_is_found_again),
        cmocka_unit_test(leases_of_the_java_library_are_refused),
        cmocka_unit_test(damaged_leases_are_refused),
        cmocka_unit_test(times_are_read_in_all_forms_and_printed_without_zeros),
        cmocka_unit_test(
            values_bound_to_another_token_or_position_do_not_count),
        cmocka_unit_test(sessions_have_an_order),
        cmocka_unit_test(a_start_that_is_no_second_until_9999_is_no_time),
        cmocka_unit_test(intervals_that_are_not_three_numbers_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
