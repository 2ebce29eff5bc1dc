/* client_worker_test.c -- one lease at work: reads, handler calls and lease
 * writes that go wrong, in virtual time.
 *
 * Goal: none of it costs a change, a second delivery beyond what is allowed, or
 * the lease while its host lives.  Method: the wire refuses, or answers in
 * place of the service; handlers fail, are slow, or are overtaken.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CALLS_MAX = 64 };

static struct hosts h;
static int64_t calls_ms[CALLS_MAX]; /* when something was called */
static unsigned calls;
static const runnel_batch *pending[8];
static unsigned pending_count;

static int set_up(void **state)
{
    (void)state;
    calls = pending_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static void note_call(void)
{
    assert_true(calls < CALLS_MAX);
    calls_ms[calls++] = world_now_ms(&h.world);
}

static bool is_feed(const struct service_request *q)
{
    return rn_view_eq(q->method, RN_LIT("GET")) &&
           service_header(q, "A-IM").at &&
           memmem(q->path.at, q->path.len, "/docs", 5);
}

static bool has_position(const char *token, const char *etag)
{
    char pattern[64];

    snprintf(pattern, sizeof(pattern), "\"ContinuationToken\":\"\\\"%s\\\"\"",
             etag);
    return strstr(hosts_lease(&h, token)->json, pattern) != NULL;
}

static void stats_of(int number, runnel_processor_stats *out)
{
    *out = (runnel_processor_stats){ RUNNEL_STATS_INIT };
    rn_host_read_stats(h.hosts[number].engine, out);
}

static const runnel_feed_options pages_of_5 = { RUNNEL_FEED_INIT,
                                                .start = RUNNEL_START_BEGINNING,
                                                .page_limit = 5 };

/* ---- reading ------------------------------------------------------------- */

static char last_etag[64];

/* Each read begins where the last one ended, to the byte. */
static bool expect_etag(void *context, const struct service_request *q,
                        struct service_answer *a)
{
    struct rn_view sent = service_header(q, "If-None-Match");

    (void)context;
    (void)a;
    if (!is_feed(q))
        return false;
    note_call();
    assert_true(last_etag[0] ? rn_view_eq(sent, rn_view_text(last_etag))
                             : sent.at == NULL);
    return false;
}

static void note_etag(void *context, const struct service_request *q,
                      const struct service_answer *a)
{
    (void)context;
    for (size_t i = 0; is_feed(q) && i < a->header_count; i++)
        if (strcasecmp(a->headers[i].name, "etag") == 0)
            snprintf(last_etag, sizeof(last_etag), "%s", a->headers[i].value);
}

static void pages_follow_each_other_without_a_pause(void **state)
{
    runnel_processor_options o = hosts_options();
    int64_t begin;

    (void)state;
    last_etag[0] = 0;
    hosts_open(&h, 1, 1);
    h.world.service.cannot_wait = true;
    h.world.wire.before = expect_etag;
    h.world.wire.after = note_etag;
    o.feed = &pages_of_5;
    o.poll_ms = 5000;
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 2000);
    hosts_run(&h, 1000);
    assert_int_equal(calls, 21); /* 20 pages, then nothing */
    assert_true(calls_ms[20] - calls_ms[0] < 1000);
    assert_true(has_position("0", "100"));
    begin = world_now_ms(&h.world);
    hosts_run(&h, 10000);
    assert_in_range(calls, 22, 23);
    assert_in_range(calls_ms[21], begin + 3000, begin + 5000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static const char *odd_etag;
static int odd_status;

static bool answer_oddly(void *context, const struct service_request *q,
                         struct service_answer *a)
{
    (void)context;
    if (!is_feed(q))
        return false;
    a->status = odd_status;
    a->header_count = 0;
    rn_buf_clear(&a->body);
    service_say(a, "etag", "%s", odd_etag);
    assert_int_equal(odd_status == 304
                         ? RN_OK
                         : rn_buf_printf(&a->body,
                                         "{\"_rid\":\"AAAAAYAAAAE=\","
                                         "\"Documents\":[],\"_count\":0}"),
                     RN_OK);
    return true;
}

static void a_page_without_changes_moves_the_position(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats before;
    runnel_processor_stats after;

    (void)state;
    hosts_open(&h, 1, 1);
    h.world.wire.before = answer_oddly;
    odd_status = 200;
    odd_etag = "\"3\"";
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_true(has_position("0", "3"));
    assert_int_equal(h.hosts[0].batches, 0);
    odd_status = 304;
    odd_etag = "\"6\"";
    hosts_run(&h, 4000);
    assert_true(has_position("0", "6"));
    stats_of(0, &before);
    hosts_run(&h, 30000);
    stats_of(0, &after);
    assert_true(after.feed_empty - before.feed_empty > 100);
    /* Renewals alone: the same 304 is not stored again. */
    assert_true(after.lease_writes - before.lease_writes <= 13);
    assert_int_equal(after.checkpoints, before.checkpoints);
    hosts_stop(&h, 0);
}

static bool throttle_thrice(void *context, const struct service_request *q,
                            struct service_answer *a)
{
    (void)context;
    if (!is_feed(q) || calls == 4)
        return false;
    note_call();
    if (calls == 4)
        return false;
    a->header_count = 0;
    service_refuse(a, 429, 3200, "Too many.");
    service_say(a, "x-ms-retry-after-ms", "2000");
    return true;
}

static void a_throttled_read_waits_as_long_as_its_answer_says(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.world.wire.before = throttle_thrice;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(calls, 4);
    for (unsigned i = 1; i < calls; i++)
        assert_true(calls_ms[i] - calls_ms[i - 1] >= 2000);
    assert_int_equal(h.deliveries, 20);
    assert_int_equal(h.hosts[0].closed, 0);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void bursts_of_refused_reads_keep_the_lease(void **state)
{
    static const struct {
        int status, sub;
    } kinds[] = { { 500, 0 }, { 503, 0 },    { 408, 0 },
                  { 449, 0 }, { 429, 3200 }, { 410, 1008 } };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    o.wait_ms = RUNNEL_OFF;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct hosts_fault fault = { .method = "GET",
                                     .part = "/colls/source/docs",
                                     .status = kinds[i].status,
                                     .sub = kinds[i].sub,
                                     .times = 20 };
        hosts_refuse(&h, &fault);
        hosts_put(&h, 0, 20);
        hosts_until(&h, hosts_all_seen, 200000);
        assert_int_equal(h.fault.done, 20);
        assert_int_equal(h.deliveries, 20 * (i + 1));
    }
    assert_int_equal(h.hosts[0].closed, 0);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static bool hang(void *context, const struct service_request *q,
                 struct service_answer *a)
{
    (void)context;
    if (!is_feed(q))
        return false;
    a->status = 0;
    a->held_ms = 3600000;
    return true;
}

static void a_read_that_hangs_is_reported_and_asked_again(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats before;
    runnel_processor_stats after;

    (void)state;
    hosts_open(&h, 1, 1);
    o.wait_ms = RUNNEL_OFF;
    o.stuck_ms = 20000;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    stats_of(0, &before);
    h.world.wire.before = hang;
    hosts_start(&h, 1, &o); /* would take a lease that is not renewed */
    hosts_run(&h, 200000);
    stats_of(0, &after);
    assert_true(after.feed_reads > before.feed_reads); /* given up */
    assert_in_range(h.hosts[0].events[RUNNEL_EVENT_STUCK], 1, 4);
    assert_int_equal(h.hosts[0].closed, 0);
    assert_int_equal(h.hosts[1].opened, 0);
    h.world.wire.before = NULL;
    hosts_put(&h, 0, 20);
    hosts_until(&h, hosts_all_seen, 100000);
    assert_int_equal(h.hosts[0].closed, 0);
    hosts_stop(&h, 1);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void versions_purged_unread_are_reported_and_not_skipped(void **state)
{
    static const runnel_feed_options all = { RUNNEL_FEED_INIT,
                                             .mode = RUNNEL_FEED_ALL };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    o.feed = &all;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_put(&h, 0, 10);
    hosts_until(&h, hosts_all_seen, 40000);
    hosts_stop(&h, 0);
    hosts_put(&h, 10, 20);
    hosts_run(&h, 7200000); /* they are kept for an hour */
    hosts_put(&h, 20, 30);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 60000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RETENTION], 1);
    assert_non_null(strstr(h.hosts[0].last_message, "runnel_leases_seek"));
    assert_int_equal(h.hosts[0].batches, 0);
    assert_true(has_position("0", "10"));
    hosts_stop(&h, 0);
}

/* ---- handlers ------------------------------------------------------------ */

static long id_at(const runnel_batch *batch, size_t i)
{
    return strtol(runnel_batch_at(batch, i)->id.at, NULL, 10);
}

static runnel_verdict fail_on_7(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        if (id_at(batch, i) != 7)
            continue;
        note_call();
        runnel_batch_explain(batch, "seven");
        return RUNNEL_AGAIN;
    }
    return RUNNEL_DONE;
}

static struct service_box *open_dead_letters(struct rn_client_container **out)
{
    const struct service_definition dead = { .db = "db",
                                             .name = "dead",
                                             .key = "/id" };
    struct service_box *box = service_add(&h.world.service, &dead);

    assert_int_equal(
        rn_client_container_open(h.world.account, "db", "dead", out, NULL),
        RUNNEL_OK);
    h.dead_letters = *out;
    return box;
}

static void a_failing_change_backs_off_and_is_dead_lettered(void **state)
{
    runnel_processor_options o = hosts_options();
    struct rn_client_container *dead = NULL;
    struct service_box *box;
    const char *letter;

    (void)state;
    hosts_open(&h, 1, 1);
    box = open_dead_letters(&dead);
    h.judge = fail_on_7;
    o.exhausted = RUNNEL_DEAD_LETTER;
    o.retry_attempts = 5;
    o.retry_delay_ms = 200;
    hosts_put(&h, 7, 8);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_int_equal(calls, 5);
    for (unsigned i = 2; i < calls; i++) /* doubled, give or take an eighth */
        assert_true(calls_ms[i] - calls_ms[i - 1] >
                    (calls_ms[i - 1] - calls_ms[i - 2]) * 3 / 2);
    assert_int_equal(box->entry_count, 1);
    letter = box->entries[0]->json;
    assert_non_null(strstr(letter, "\"attempts\":5"));
    assert_non_null(strstr(letter, "\"why\":\"seven\""));
    assert_non_null(strstr(letter, "\"lsn\":1,"));
    assert_non_null(strstr(letter, "\"continuation\":\"\\\"1\\\"\""));
    assert_non_null(strstr(letter, "\"change\":{\"id\":\"7\""));
    hosts_put(&h, 8, 12);
    hosts_run(&h, 5000);
    assert_int_equal(h.handled[11], 1);
    assert_true(has_position("0", "5"));
    assert_int_equal(h.hosts[0].closed, 0);
    hosts_stop(&h, 0);
    rn_client_container_unref(dead);
}

static void
of_a_hundred_changes_the_bad_one_alone_is_a_dead_letter(void **state)
{
    runnel_processor_options o = hosts_options();
    struct rn_client_container *dead = NULL;
    struct service_box *box;

    (void)state;
    hosts_open(&h, 1, 1);
    box = open_dead_letters(&dead);
    h.judge = fail_on_7;
    o.exhausted = RUNNEL_DEAD_LETTER;
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 60000);
    assert_int_equal(box->entry_count, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(h.handled[i], i != 7);
    assert_true(has_position("0", "100"));
    hosts_stop(&h, 0);
    rn_client_container_unref(dead);
}

static runnel_verdict hold_back(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    assert_true(pending_count < 8);
    pending[pending_count++] = batch;
    return RUNNEL_PENDING;
}

/* The intervals are the default ones: the lease expires after 60 s. */
static void a_handler_slower_than_the_expiry_keeps_its_lease(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.lease_acquire_ms = o.lease_renew_ms = o.lease_expire_ms = 0;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_int_equal(pending_count, 1);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 90000);
    assert_int_equal(pending_count, 1);
    assert_int_equal(hosts_owned(&h, 0), 1);
    assert_int_equal(h.hosts[1].opened, 0);
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    hosts_run(&h, 1000);
    assert_int_equal(h.deliveries, 10);
    assert_true(has_position("0", "10"));
    hosts_stop(&h, 1);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static runnel_code stolen_code;

/* Another library's host takes the lease while the handler works. */
static runnel_verdict lose_and_checkpoint(struct hosts_host *host,
                                          const char *lease,
                                          const runnel_batch *batch)
{
    runnel_error error;

    (void)host;
    if (calls++ > 0)
        return RUNNEL_DONE;
    hosts_tamper(&h, lease, "\"Owner\":\"host-0\"", "\"Owner\":\"thief\"");
    stolen_code = runnel_batch_checkpoint(batch, NULL, &error);
    assert_true(runnel_batch_is_cancelled(batch));
    return RUNNEL_DONE;
}

static void a_checkpoint_after_a_theft_is_refused(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = lose_and_checkpoint;
    o.manual_checkpoint = true;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    assert_int_equal(stolen_code, RUNNEL_LEASE_LOST);
    assert_int_equal(h.hosts[0].closed, 1);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_LEASE_LOST);
    assert_non_null(strstr(hosts_lease(&h, "0")->json, "\"Owner\":\"thief\""));
    assert_non_null(
        strstr(hosts_lease(&h, "0")->json, "\"ContinuationToken\":null"));
    hosts_run(&h, 40000); /* the thief's lease expires */
    assert_int_equal(h.deliveries, 20);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void batches_without_a_verdict_come_again_after_a_crash(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.pending_limit = 3;
    o.feed = &pages_of_5;
    hosts_put(&h, 0, 15);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_int_equal(pending_count, 3);
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    runnel_batch_ack(pending[2], RUNNEL_DONE);
    hosts_run(&h, 1000);
    assert_true(has_position("0", "5"));
    hosts_kill(&h, 0);
    h.judge = NULL;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    for (int i = 0; i < 15; i++)
        assert_int_equal(h.delivered[i], i < 5 ? 1 : 2);
    hosts_stop(&h, 0);
}

static unsigned opens, good_opens, closes, created, destroyed;
static runnel_code open_code;

static runnel_verdict count_changes(void *context, const char *lease,
                                    const runnel_batch *batch)
{
    (void)context;
    (void)lease;
    h.deliveries += (unsigned)runnel_batch_count(batch);
    return RUNNEL_DONE;
}

static runnel_code open_at_third(void *context, const char *lease)
{
    (void)context;
    (void)lease;
    if (++opens < 3)
        return open_code;
    good_opens++;
    return RUNNEL_OK;
}

static void count_close(void *context, const char *lease,
                        runnel_close_reason reason)
{
    (void)context;
    (void)lease;
    closes++;
    assert_int_equal(reason, RUNNEL_CLOSE_SHUTDOWN);
}

static runnel_code create(void *context, const char *lease,
                          runnel_observer *out)
{
    (void)context;
    (void)lease;
    *out = (runnel_observer){ RUNNEL_OBSERVER_INIT, .changes = count_changes,
                              .open = open_at_third, .close = count_close };
    created++;
    return RUNNEL_OK;
}

static void destroy(void *context, runnel_observer *observer)
{
    (void)context;
    (void)observer;
    destroyed++;
}

/* Codes that the service gives, too, are the program's when it gives them. */
static void an_open_that_fails_is_tried_again_and_not_closed(void **state)
{
    static const runnel_code codes[] = { RUNNEL_GONE, RUNNEL_NOT_FOUND,
                                         RUNNEL_UNAUTHORIZED };
    const runnel_observer_factory factory = { RUNNEL_FACTORY_INIT,
                                              .create = create,
                                              .destroy = destroy };
    runnel_processor_options o = hosts_options();

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        opens = good_opens = closes = created = destroyed = 0;
        open_code = codes[i];
        hosts_open(&h, 1, 1);
        o.factory = &factory;
        hosts_put(&h, 0, 10);
        hosts_start(&h, 0, &o);
        hosts_run(&h, 15000);
        assert_int_equal(opens, 3);
        assert_int_equal(good_opens, 1);
        assert_int_equal(closes, 0);
        assert_int_equal(h.deliveries, 10);
        assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RETRIED], 2);
        assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 0);
        hosts_stop(&h, 0);
        assert_int_equal(closes, 1);
        assert_int_equal(created, 3);
        assert_int_equal(destroyed, 3);
        if (i + 1 < sizeof(codes) / sizeof(codes[0]))
            hosts_close(&h);
    }
}

/* ---- lease writes -------------------------------------------------------- */

static void a_checkpoint_that_fails_is_tried_again(void **state)
{
    static const struct hosts_fault busy = {
        .method = "PUT", .part = "\\\"10\\\"", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_refuse(&h, &busy);
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 6000);
    assert_true(h.fault.done > 3);
    assert_int_equal(h.deliveries, 10);
    assert_false(has_position("0", "10"));
    h.fault.times = 0;
    hosts_run(&h, 3000);
    assert_true(has_position("0", "10"));
    assert_int_equal(h.deliveries, 10);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RETRIED], 0);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_TROUBLE] > 0);
    assert_int_equal(h.hosts[0].closed, 0);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* Five seconds without a renewal are survived, 25 are not. */
static void a_lease_outlives_a_short_failure_of_its_renewals(void **state)
{
    static const struct hosts_fault busy = {
        .method = "PUT", .part = "host-0", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 3000);
    hosts_refuse(&h, &busy);
    hosts_run(&h, 5000);
    assert_true(h.fault.done > 0);
    h.fault.times = 0;
    hosts_run(&h, 10000);
    assert_int_equal(h.hosts[0].closed, 0);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 0);
    hosts_refuse(&h, &busy);
    hosts_run(&h, 25000);
    assert_int_equal(hosts_owned(&h, 1), 1);
    hosts_put(&h, 0, 20);
    hosts_until(&h, hosts_all_seen, 5000);
    assert_int_equal(h.deliveries, 20);
    h.fault.times = 0;
    hosts_run(&h, 15000);
    assert_int_equal(h.hosts[0].closed, 1);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_LEASE_LOST);
    hosts_stop(&h, 1);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* 404/1002: the answer is older than the session, the document may be there. */
static void a_session_that_is_behind_takes_no_lease(void **state)
{
    static const struct hosts_fault behind[] = {
        { .method = "GET",
          .part = "..0",
          .status = 404,
          .sub = 1002,
          .times = 20 },
        { .method = "PUT",
          .part = "..0",
          .status = 404,
          .sub = 1002,
          .times = 20 },
    };
    static const char *const texts[] = { "\"properties\":{\"x\":\"\",",
                                         "\"properties\":{\"y\":\"\"," };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    for (int i = 0; i < 2; i++) {
        hosts_refuse(&h, &behind[i]);
        /* The next write meets a conflict, and the lease is read. */
        hosts_tamper(&h, "0", "\"properties\":{", texts[i]);
        hosts_put(&h, 0, 10);
        hosts_run(&h, 20000);
        assert_int_equal(h.fault.done, 20);
        hosts_until(&h, hosts_all_seen, 5000);
    }
    assert_int_equal(h.hosts[0].closed, 0);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 0);
    assert_int_equal(h.deliveries, 20);
    assert_true(has_position("0", "20"));
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static long position_of(const char *token)
{
    const char *at = strstr(hosts_lease(&h, token)->json, "Token\":\"\\\"");

    return at ? strtol(at + strlen("Token\":\"\\\""), NULL, 10) : 0;
}

/* They are one write, so they cannot conflict. */
static void renewals_and_checkpoints_do_not_disturb_each_other(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;
    long most = 0;

    (void)state;
    hosts_open(&h, 1, 1);
    o.lease_renew_ms = 15;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1000);
    for (int i = 0; i < 1000; i++) {
        hosts_put(&h, i, i + 1);
        hosts_run(&h, 20);
        assert_true(position_of("0") >= most);
        most = position_of("0");
    }
    hosts_until(&h, hosts_all_seen, 1000);
    stats_of(0, &stats);
    assert_true(stats.checkpoints > 500);
    assert_true(stats.lease_writes > stats.checkpoints);
    assert_int_equal(stats.lease_conflicts, 0);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 0);
    hosts_stop(&h, 0);
    assert_int_equal(position_of("0"), 1000);
    hosts_check(&h);
}

/* ---- calls without a batch ----------------------------------------------- */

static bool was_released;

/* Returns once its lease is released, at the latest after 20 seconds. */
static void stay(struct hosts_host *host)
{
    struct rn_env *env = rn_sim_env(host->all->world.sim);

    was_released = false;
    for (int i = 0; i < 200 && !was_released; i++) {
        rn_host_step(host->engine);
        env->ops->sleep(env, 100000000);
        was_released = hosts_owned(host->all, host->number) == 0;
    }
}

static void an_open_that_hangs_is_reported_and_loses_its_lease(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.opening = stay;
    o.stuck_ms = 1000;
    o.give_up_ms = 5000;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1000);
    assert_int_equal(h.hosts[0].opened, 1);
    assert_true(was_released);
    h.opening = NULL;
    hosts_put(&h, 0, 5);
    hosts_until(&h, hosts_all_seen, 60000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_STUCK], 2);
    assert_int_equal(h.hosts[0].closed, 1); /* it was open in the end */
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_close_that_hangs_does_not_keep_the_lease(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.closing = stay;
    o.stuck_ms = 20000; /* the deadline of the stop is earlier */
    hosts_start(&h, 0, &o);
    hosts_put(&h, 0, 5);
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_run(&h, 1000);
    rn_host_drain(h.hosts[0].engine, 2000);
    hosts_run(&h, 1000);
    assert_int_equal(h.hosts[0].closed, 1);
    assert_true(was_released);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(pages_follow_each_other_without_a_pause),
        CASE(a_page_without_changes_moves_the_position),
        CASE(a_throttled_read_waits_as_long_as_its_answer_says),
        CASE(bursts_of_refused_reads_keep_the_lease),
        CASE(a_read_that_hangs_is_reported_and_asked_again),
        CASE(versions_purged_unread_are_reported_and_not_skipped),
        CASE(a_failing_change_backs_off_and_is_dead_lettered),
        CASE(of_a_hundred_changes_the_bad_one_alone_is_a_dead_letter),
        CASE(a_handler_slower_than_the_expiry_keeps_its_lease),
        CASE(a_checkpoint_after_a_theft_is_refused),
        CASE(batches_without_a_verdict_come_again_after_a_crash),
        CASE(an_open_that_fails_is_tried_again_and_not_closed),
        CASE(an_open_that_hangs_is_reported_and_loses_its_lease),
        CASE(a_close_that_hangs_does_not_keep_the_lease),
        CASE(a_checkpoint_that_fails_is_tried_again),
        CASE(a_lease_outlives_a_short_failure_of_its_renewals),
        CASE(a_session_that_is_behind_takes_no_lease),
        CASE(renewals_and_checkpoints_do_not_disturb_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
