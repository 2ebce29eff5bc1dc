/* client_checkpoint_test.c -- which position is stored, and when, in virtual
 * time: by itself, by a handler's checkpoint, in a transaction of the program.
 *
 * A position never passes a change that is not done, and never moves back.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct hosts h;
static unsigned failures;
static unsigned count;
static const runnel_batch *both[2];

static int set_up(void **state)
{
    (void)state;
    failures = count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static long id_at(const runnel_batch *batch, size_t i)
{
    return strtol(runnel_batch_at(batch, i)->id.at, NULL, 10);
}

static void stats_of(int number, runnel_processor_stats *out)
{
    *out = (runnel_processor_stats){ RUNNEL_STATS_INIT };
    rn_host_read_stats(h.hosts[number].engine, out);
}

/* ---- by itself --------------------------------------------------------- */

static void a_checkpoint_is_one_request_and_renews(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats before;
    runnel_processor_stats after;

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    stats_of(0, &before);
    for (int i = 0; i < 40; i++) {
        hosts_put(&h, i, i + 1);
        hosts_run(&h, 500);
    }
    stats_of(0, &after);
    assert_int_equal(after.checkpoints - before.checkpoints, 40);
    assert_int_equal(after.lease_writes - before.lease_writes, 40);
    assert_int_equal(after.lease_conflicts, 0);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void an_idle_lease_is_renewed(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats before;
    runnel_processor_stats after;

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    stats_of(0, &before);
    hosts_run(&h, 60000);
    stats_of(0, &after);
    assert_in_range(after.lease_writes - before.lease_writes, 20, 26);
    hosts_stop(&h, 0);
}

static void checkpoints_by_count_and_by_time(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;
    uint64_t before;

    (void)state;
    hosts_open(&h, 1, 1);
    o.checkpoint_changes = 10;
    o.lease_renew_ms = 9000;
    o.lease_expire_ms = 100000;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1000);
    stats_of(0, &stats);
    before = stats.checkpoints;
    for (int i = 0; i < 25; i++) {
        hosts_put(&h, i, i + 1);
        hosts_run(&h, 100);
    }
    stats_of(0, &stats);
    assert_int_equal(stats.checkpoints - before, 2);
    hosts_stop(&h, 0);
    o.checkpoint_changes = 0;
    o.checkpoint_ms = 2000;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1000);
    for (int i = 0; i < 60; i++) {
        hosts_put(&h, i, i + 1);
        hosts_run(&h, 100);
    }
    stats_of(0, &stats);
    assert_in_range(stats.checkpoints, 2, 4);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* ---- by a handler ---------------------------------------------------------
 */

static runnel_verdict checkpoint_by_hand(struct hosts_host *host,
                                         const char *lease,
                                         const runnel_batch *batch)
{
    runnel_error error = { 0 };

    (void)host;
    (void)lease;
    if (failures++ % 2 == 1 && runnel_batch_checkpoint(batch, NULL, &error))
        fail_msg("%s", error.message);
    return RUNNEL_DONE;
}

static void a_manual_checkpoint_is_stored_and_nothing_else(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 5 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = checkpoint_by_hand;
    o.manual_checkpoint = true;
    o.feed = &small;
    hosts_put(&h, 0, 15); /* three pages: the second is checkpointed */
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 50000); /* renewals and 304s */
    assert_non_null(strstr(hosts_lease(&h, "0")->json,
                           "\"ContinuationToken\":\"\\\"10\\\"\""));
    hosts_stop(&h, 0);
    assert_non_null(strstr(hosts_lease(&h, "0")->json,
                           "\"ContinuationToken\":\"\\\"10\\\"\""));
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    assert_int_equal(h.deliveries, 20);
    hosts_stop(&h, 0);
}

/* Stores what it is done with; fails on 7. */
static runnel_verdict checkpoint_all_but_7(struct hosts_host *host,
                                           const char *lease,
                                           const runnel_batch *batch)
{
    runnel_error error = { 0 };

    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (id_at(batch, i) == 7)
            return RUNNEL_AGAIN;
    if (runnel_batch_checkpoint(batch, NULL, &error))
        fail_msg("%s", error.message);
    return RUNNEL_DONE;
}

static void a_checkpoint_of_a_part_does_not_skip_the_rest(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = checkpoint_all_but_7;
    o.manual_checkpoint = true;
    o.retry_delay_ms = o.retry_delay_max_ms = 100;
    hosts_put(&h, 0, 10); /* a page, which is bisected */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_BLOCKED], 1);
    assert_int_equal(h.seen[6], 0);
    hosts_kill(&h, 0);
    h.judge = NULL;
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static runnel_verdict mark_7_and_checkpoint(struct hosts_host *host,
                                            const char *lease,
                                            const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (id_at(batch, i) == 7)
            runnel_batch_mark(batch, i, RUNNEL_AGAIN);
    if (runnel_batch_checkpoint(batch, NULL, NULL))
        fail_msg("no checkpoint");
    return RUNNEL_DONE;
}

static void a_checkpoint_does_not_skip_what_is_marked(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = mark_7_and_checkpoint;
    o.manual_checkpoint = true;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    assert_true(h.delivered[7] > 1);
    hosts_kill(&h, 0);
    h.judge = NULL;
    h.handled[7] = 0;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_true(h.handled[7] > 0);
    hosts_stop(&h, 0);
}

/* Keeps in memory what it gets, so nothing of it may be stored. */
static runnel_verdict reject_7_only(struct hosts_host *host, const char *lease,
                                    const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (id_at(batch, i) == 7)
            runnel_batch_mark(batch, i, RUNNEL_REJECT);
    return RUNNEL_DONE;
}

static void a_skipped_change_is_no_checkpoint_of_its_page(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = reject_7_only;
    o.manual_checkpoint = true;
    o.exhausted = RUNNEL_SKIP;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000); /* renewals */
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_SKIPPED], 1);
    assert_non_null(
        strstr(hosts_lease(&h, "0")->json, "\"ContinuationToken\":null"));
    hosts_stop(&h, 0);
}

static runnel_verdict take_back_without_checkpoint(struct hosts_host *host,
                                                   const char *lease,
                                                   const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    failures += runnel_batch_checkpoint(batch, NULL, NULL) != RUNNEL_OK;
    return RUNNEL_AGAIN; /* in any case */
}

static bool has_failed(struct hosts *all)
{
    (void)all;
    return failures > 0;
}

static void a_checkpoint_that_failed_is_not_stored_later(void **state)
{
    static const struct hosts_fault refusal = { .method = "PUT",
                                                .part =
                                                    "ContinuationToken\":\"",
                                                .status = 413,
                                                .times = 1 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = take_back_without_checkpoint;
    o.manual_checkpoint = true;
    o.retry_delay_ms = o.retry_delay_max_ms = 60000;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_refuse(&h, &refusal);
    hosts_put(&h, 0, 10);
    hosts_until(&h, has_failed, 20000);
    hosts_run(&h, 20000); /* renewals */
    assert_int_equal(failures, 1);
    hosts_kill(&h, 0);
    h.judge = NULL;
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* Has stored what it takes back. */
static runnel_verdict checkpoint_and_take_back(struct hosts_host *host,
                                               const char *lease,
                                               const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    if (runnel_batch_checkpoint(batch, NULL, NULL))
        fail_msg("no checkpoint");
    return runnel_batch_at(batch, 0)->lsn == 1 ? RUNNEL_DONE : RUNNEL_AGAIN;
}

static void a_position_does_not_fall_after_a_checkpoint(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 5 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = checkpoint_and_take_back;
    o.manual_checkpoint = true;
    o.retry_delay_ms = o.retry_delay_max_ms = 60000;
    o.feed = &small;
    hosts_put(&h, 0, 10); /* two pages */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000); /* renewals */
    assert_non_null(strstr(hosts_lease(&h, "0")->json,
                           "\"ContinuationToken\":\"\\\"10\\\"\""));
    hosts_kill(&h, 0);
}

static runnel_verdict checkpoint(struct hosts_host *host, const char *lease,
                                 const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    if (runnel_batch_checkpoint(batch, NULL, NULL))
        fail_msg("no checkpoint");
    return RUNNEL_DONE;
}

static bool is_stored_at(const char *position)
{
    char part[64];

    snprintf(part, sizeof(part), "\"ContinuationToken\":\"\\\"%s\\\"\"",
             position);
    return strstr(hosts_lease(&h, "0")->json, part) != NULL;
}

static runnel_verdict hold_both(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    both[count++ % 2] = batch;
    return RUNNEL_PENDING;
}

static void a_checkpoint_does_not_skip_what_is_taken_along(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 3 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    both[0] = both[1] = NULL;
    h.judge = hold_both;
    o.manual_checkpoint = true;
    o.pending_limit = 2;
    o.feed = &small;
    hosts_put(&h, 0, 3);
    hosts_put(&h, 97, 98); /* the key of 0 */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_non_null(both[1]);
    h.judge = checkpoint;
    runnel_batch_mark(both[0], 0, RUNNEL_AGAIN);
    runnel_batch_mark(both[0], 1, RUNNEL_AGAIN);
    runnel_batch_ack(both[0], RUNNEL_DONE);
    hosts_run(&h, 5000);
    assert_int_equal(h.delivered[0], 2);
    assert_true(is_stored_at("3"));
    assert_int_equal(runnel_batch_checkpoint(both[1], NULL, NULL), 0);
    assert_true(is_stored_at("3")); /* 97 is to come again after 0 */
    runnel_batch_ack(both[1], RUNNEL_DONE);
    hosts_run(&h, 5000);
    assert_int_equal(h.delivered[97], 2);
    assert_true(is_stored_at("4"));
    hosts_stop(&h, 0);
}

/* ---- in a transaction ---------------------------------------------------- */

/* A sink whose transaction commits, or does not. */
struct sink {
    runnel_lease_store *inner;
    unsigned transactions;
    bool is_broken;
    bool is_undone; /* transactions are rolled back after their writes */
};

static runnel_code sink_list(void *context, const char *prefix,
                             runnel_lease_record_fn each, void *each_context,
                             int64_t *now_ms, runnel_error *error)
{
    struct sink *s = context;

    return s->inner->list(s->inner->context, prefix, each, each_context, now_ms,
                          error);
}

static runnel_code sink_create(void *context, const runnel_lease_record *record,
                               char etag[64], runnel_error *error)
{
    struct sink *s = context;

    return s->inner->create(s->inner->context, record, etag, error);
}

static runnel_code sink_replace(void *context, void *transaction,
                                const runnel_lease_record *record,
                                char etag[64], runnel_error *error)
{
    struct sink *s = context;

    if (transaction && s->is_broken)
        return RUNNEL_BUSY;
    s->transactions += transaction != NULL;
    if (transaction && s->is_undone) {
        snprintf(etag, 64, "undone");
        return RUNNEL_OK;
    }
    return s->inner->replace(s->inner->context, NULL, record, etag, error);
}

static runnel_code sink_remove(void *context, const char *id, const char *etag,
                               runnel_error *error)
{
    struct sink *s = context;

    return s->inner->remove(s->inner->context, id, etag, error);
}

static struct sink sink;

static runnel_verdict transact(struct hosts_host *host, const char *lease,
                               const runnel_batch *batch)
{
    runnel_error error;

    (void)host;
    (void)lease;
    return runnel_batch_checkpoint(batch, &sink, &error) ? RUNNEL_AGAIN
                                                         : RUNNEL_DONE;
}

static void a_checkpoint_joins_the_programs_transaction(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_lease_store table = {
        RUNNEL_LEASE_STORE_INIT, .context = &sink,        .list = sink_list,
        .create = sink_create,   .replace = sink_replace, .remove = sink_remove
    };

    (void)state;
    hosts_open(&h, 1, 1);
    sink = (struct sink){ .inner = hosts_memory_open(&h) };
    h.judge = transact;
    o.lease_store = &table;
    o.manual_checkpoint = true;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(sink.transactions, 1);
    assert_int_equal(h.deliveries, 10);
    sink.is_broken = true; /* the batch is not committed: it comes again */
    hosts_put(&h, 0, 10);
    hosts_run(&h, 5000);
    assert_true(h.deliveries >= 30);
    assert_false(hosts_all_seen(&h));
    sink.is_broken = false;
    hosts_until(&h, hosts_all_seen, 120000); /* it is blocked by now */
    assert_int_equal(sink.transactions, 2);
    hosts_stop(&h, 0);
    /* A new host begins behind the second transaction. */
    h.deliveries = 0;
    hosts_start(&h, 1, &o);
    hosts_run(&h, 5000);
    assert_int_equal(h.deliveries, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
    hosts_memory_close(sink.inner);
}

static uint32_t last_attempt;

static runnel_verdict roll_back(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    last_attempt = runnel_batch_attempt(batch);
    if (runnel_batch_checkpoint(batch, &sink, NULL))
        fail_msg("no checkpoint");
    return RUNNEL_AGAIN;
}

static void a_transaction_that_is_rolled_back_waits_for_its_retry(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_lease_store table = {
        RUNNEL_LEASE_STORE_INIT, .context = &sink,        .list = sink_list,
        .create = sink_create,   .replace = sink_replace, .remove = sink_remove
    };

    (void)state;
    hosts_open(&h, 1, 1);
    sink = (struct sink){ .inner = hosts_memory_open(&h), .is_undone = true };
    h.judge = roll_back;
    o.lease_store = &table;
    o.manual_checkpoint = o.whole_batch = true;
    o.retry_attempts = 100;
    o.retry_delay_ms = o.retry_delay_max_ms = 1000;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 10500);
    assert_in_range(last_attempt, 8, 14);
    assert_in_range(h.deliveries, 80, 140);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_SEEK], 0);
    sink.is_undone = false;
    h.judge = transact;
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_stop(&h, 0);
    hosts_check(&h);
    hosts_memory_close(sink.inner);
}

static runnel_verdict keep_both(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    if (!both[0]) {
        both[0] = batch;
        if (runnel_batch_checkpoint(batch, &sink, NULL))
            fail_msg("no checkpoint");
    } else {
        both[1] = batch;
    }
    return RUNNEL_PENDING;
}

static void a_transaction_ends_with_the_verdict_of_its_own_batch(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 5 };
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };
    runnel_lease_store table = {
        RUNNEL_LEASE_STORE_INIT, .context = &sink,        .list = sink_list,
        .create = sink_create,   .replace = sink_replace, .remove = sink_remove
    };

    (void)state;
    hosts_open(&h, 1, 1);
    sink = (struct sink){ .inner = hosts_memory_open(&h), .is_undone = true };
    both[0] = both[1] = NULL;
    h.judge = keep_both;
    o.lease_store = &table;
    o.manual_checkpoint = true;
    o.pending_limit = 2;
    o.feed = &small;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_non_null(both[1]);
    runnel_batch_ack(both[1], RUNNEL_DONE); /* that of the first is open */
    hosts_run(&h, 4000);                    /* a renewal would be due */
    rn_host_read_stats(h.hosts[0].engine, &stats);
    assert_int_equal(stats.lease_conflicts, 0);
    h.judge = transact;
    sink.is_undone = false;
    runnel_batch_ack(both[0], RUNNEL_AGAIN);
    hosts_until(&h, hosts_all_seen, 60000);
    rn_host_read_stats(h.hosts[0].engine, &stats);
    assert_int_equal(stats.lease_conflicts, 0);
    hosts_stop(&h, 0);
    hosts_memory_close(sink.inner);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_checkpoint_is_one_request_and_renews),
        CASE(an_idle_lease_is_renewed),
        CASE(checkpoints_by_count_and_by_time),
        CASE(a_manual_checkpoint_is_stored_and_nothing_else),
        CASE(a_checkpoint_of_a_part_does_not_skip_the_rest),
        CASE(a_checkpoint_does_not_skip_what_is_marked),
        CASE(a_skipped_change_is_no_checkpoint_of_its_page),
        CASE(a_checkpoint_that_failed_is_not_stored_later),
        CASE(a_position_does_not_fall_after_a_checkpoint),
        CASE(a_checkpoint_does_not_skip_what_is_taken_along),
        CASE(a_checkpoint_joins_the_programs_transaction),
        CASE(a_transaction_that_is_rolled_back_waits_for_its_retry),
        CASE(a_transaction_ends_with_the_verdict_of_its_own_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
