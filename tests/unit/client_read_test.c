/* client_read_test.c -- reads of the feed that a processor must live with.
 *
 * Goal: what the service says instead of a page, and pages of unusual size,
 * cost neither a change nor the lease.  Method: one host in virtual time; the
 * wire answers in place of the service.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SMALL_PAGE = 7, BATCH = 300, DOCUMENT_BYTES = 170000, TRANSACTIONS = 3 };

static struct hosts h;
static unsigned refused;
static long last_limit;     /* that a read of the feed asked for; 0: none */
static size_t largest;      /* batch */
static uint64_t most_bytes; /* that were buffered */

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static bool is_feed(const struct service_request *q)
{
    return rn_view_eq(q->method, RN_LIT("GET")) &&
           service_header(q, "A-IM").at &&
           memmem(q->path.at, q->path.len, "/docs", 5);
}

static bool refuse_session(void *context, const struct service_request *q,
                           struct service_answer *a)
{
    (void)context;
    if (!is_feed(q))
        return false;
    refused++;
    service_refuse(a, 404, 1002, "The read session is not available.");
    return true;
}

static void a_session_that_is_not_available_keeps_the_lease(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    h.world.wire.before = refuse_session;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 60000);
    assert_true(refused > 3);
    rn_host_read_stats(h.hosts[0].engine, &stats);
    assert_int_equal(stats.state, RUNNEL_RUNNING);
    assert_int_equal(h.hosts[0].closed, 0);
    assert_int_equal(hosts_owned(&h, 0), 2);
    h.world.wire.before = NULL;
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* What is not what was asked for, with a status and an etag that tempt. */
static const char *const junk[] = {
    "",
    "null",
    "{",
    "[]",
    "{}",
    "7",
    "{\"Documents\":7}",
    "{\"Documents\":{}}",
    "{\"Documents\":[7]}",
    "{\"Documents\":[[]]}",
    "{\"Documents\":[{\"id\":7,\"_etag\":{}}]}",
    "{\"Documents\":[{\"id\":\"0\",\"pk\":\"0\",\"_lsn\":\"x\"},null]}",
    "{\"PartitionKeyRanges\":[{\"id\":\"0\"}]}",
    "{\"PartitionKeyRanges\":[{\"id\":0,\"minInclusive\":[],"
    "\"maxExclusive\":\"FF\"}]}",
    /* With an etag of a later day: the server has nothing newer for long. */
    "{\"PartitionKeyRanges\":[{\"id\":\"0\",\"minInclusive\":\"FF\","
    "\"maxExclusive\":\"\"}]}",
};

enum { JUNK = sizeof(junk) / sizeof(junk[0]) };

static size_t junk_at;
static unsigned junk_left;
static const char *junk_part; /* of the path or the body */

static bool answer_junk(void *context, const struct service_request *q,
                        struct service_answer *a)
{
    (void)context;
    if (junk_left == 0 ||
        (!memmem(q->path.at, q->path.len, junk_part, strlen(junk_part)) &&
         (q->body.len == 0 ||
          !memmem(q->body.at, q->body.len, junk_part, strlen(junk_part)))))
        return false;
    junk_left--;
    a->status = 200;
    a->header_count = 0;
    rn_buf_clear(&a->body);
    service_say(a, "etag", "\"1000000\"");
    assert_int_equal(rn_buf_add(&a->body, rn_view_text(junk[junk_at])), RN_OK);
    return true;
}

/* Of the feed, of a listing of the leases, and of the routing map. */
static void answers_that_are_junk_skip_nothing_and_keep_the_lease(void **state)
{
    static const char *const parts[] = { "/colls/source/docs", "STARTSWITH",
                                         "/pkranges" };
    runnel_processor_options o = hosts_options();
    unsigned ranges = 1;

    (void)state;
    hosts_open(&h, 1, 1);
    o.wait_ms = RUNNEL_OFF;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    h.world.wire.before = answer_junk;
    for (size_t part = 0; part < 3; part++) {
        for (junk_at = 0; junk_at < JUNK; junk_at++) {
            junk_part = parts[part];
            junk_left = 3;
            if (part == 2) /* so that the map is read */
                assert_true(service_split(h.world.box, 2 * (ranges++ - 1), 0));
            hosts_put(&h, 0, 50);
            hosts_until(&h, hosts_all_seen, 60000);
            hosts_run(&h, 8000);
            if (part < 2 || junk_at + 1 < JUNK) /* the last is believed */
                assert_int_equal(junk_left, 0);
            assert_int_equal(hosts_owned(&h, 0), ranges);
        }
    }
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 0);
    assert_int_equal(h.deliveries, 3 * JUNK * 50);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static bool refuse_large(void *context, const struct service_request *q,
                         struct service_answer *a)
{
    struct rn_view limit = service_header(q, "x-ms-max-item-count");

    (void)context;
    if (!is_feed(q) || (limit.at && strtol(limit.at, NULL, 10) <= SMALL_PAGE))
        return false;
    refused++;
    service_refuse(a, 400, 0, "Reduce page size and try again.");
    return true;
}

static bool note_limit(void *context, const struct service_request *q,
                       struct service_answer *a)
{
    struct rn_view limit = service_header(q, "x-ms-max-item-count");

    (void)context;
    (void)a;
    if (is_feed(q))
        last_limit = limit.at ? strtol(limit.at, NULL, 10) : 0;
    return false;
}

static void pages_become_smaller_when_the_service_says_so(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 500);
    h.world.wire.before = refuse_large;
    refused = 0;
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 60000);
    assert_true(refused >= 4);
    assert_int_equal(h.deliveries, 500);
    assert_int_equal(h.hosts[0].closed, 0);
    /* And larger again, when enough of them were good. */
    h.world.wire.before = note_limit;
    hosts_put(&h, 500, 600);
    hosts_until(&h, hosts_all_seen, 60000);
    assert_in_range(last_limit, 1, 12);
    hosts_put(&h, 600, 4000);
    hosts_until(&h, hosts_all_seen, 60000);
    assert_int_equal(last_limit, 0);
    assert_int_equal(h.deliveries, 4000);
    h.world.wire.before = NULL;
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static runnel_verdict note_size(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    (void)lease;
    rn_host_read_stats(host->engine, &stats);
    if (stats.buffered_bytes > most_bytes)
        most_bytes = stats.buffered_bytes;
    if (runnel_batch_count(batch) > largest)
        largest = runnel_batch_count(batch);
    return RUNNEL_DONE;
}

/* 300 documents of 170 KB with one LSN: a page of 51 MB. */
static void put_transaction(int first)
{
    static char *json[BATCH];
    static char padding[DOCUMENT_BYTES];

    memset(padding, 'x', sizeof(padding) - 1);
    for (int i = 0; i < BATCH; i++) {
        assert_true(
            asprintf(&json[i],
                     "{\"id\":\"%d\",\"pk\":\"1\",\"v\":%d,\"x\":\"%s\"}",
                     first + i, ++h.written[first + i], padding) > 0);
    }
    service_batch(h.world.box, (const char *const *)json, BATCH);
    for (int i = 0; i < BATCH; i++)
        free(json[i]);
}

static void a_transaction_beyond_all_limits_is_handled_in_parts(void **state)
{
    const runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                       .start = RUNNEL_START_BEGINNING,
                                       .page_limit = 10 };
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = note_size;
    o.feed = &feed;
    o.batch_limit = 50;
    o.buffer_bytes = 1 << 20; /* a page has 51 MB */
    most_bytes = 0;
    for (int i = 0; i < TRANSACTIONS; i++)
        put_transaction(i * BATCH);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 60000);
    assert_int_equal(largest, 50);
    assert_int_equal(h.deliveries, TRANSACTIONS * BATCH);
    /* One page in the handler and one beside it, at most. */
    assert_in_range(most_bytes, BATCH * DOCUMENT_BYTES,
                    2 * BATCH * DOCUMENT_BYTES + (4 << 20));
    hosts_run(&h, 1000);
    rn_host_read_stats(h.hosts[0].engine, &stats);
    assert_int_equal(stats.buffered_bytes, 0);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_session_that_is_not_available_keeps_the_lease),
        CASE(answers_that_are_junk_skip_nothing_and_keep_the_lease),
        CASE(pages_become_smaller_when_the_service_says_so),
        CASE(a_transaction_beyond_all_limits_is_handled_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
