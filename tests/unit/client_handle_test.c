/* client_handle_test.c -- what becomes of batches, in virtual time.
 *
 * Handlers that fail, hang, yield, answer later or mark single changes;
 * requests that fail.  Nothing may be missed, and the order of each key must
 * hold.
 */
#include "client/hosts.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct hosts h;
static unsigned failures;
static unsigned last_attempt;
static size_t largest; /* changes in one call */
static const runnel_batch *pending[8];
static unsigned pending_count;

static int set_up(void **state)
{
    (void)state;
    failures = last_attempt = pending_count = 0;
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

/* ---- retries ------------------------------------------------------------- */

static runnel_verdict fail_thrice(struct hosts_host *host, const char *lease,
                                  const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    last_attempt = runnel_batch_attempt(batch);
    runnel_batch_explain(batch, "not yet");
    return failures++ < 3 ? RUNNEL_AGAIN : RUNNEL_DONE;
}

static void a_failed_batch_comes_again_with_its_attempt(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = fail_thrice;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(last_attempt, 4);
    assert_int_equal(h.deliveries, 40);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RETRIED], 3);
    assert_int_equal(h.hosts[0].closed, 0); /* the lease was kept */
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static runnel_verdict always_fail(struct hosts_host *host, const char *lease,
                                  const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    last_attempt = runnel_batch_attempt(batch);
    return RUNNEL_AGAIN;
}

static void attempts_survive_a_crash(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = always_fail;
    o.retry_attempts = 10;
    o.retry_delay_ms = 1500;
    hosts_put(&h, 0, 3);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 12000);
    assert_true(last_attempt >= 3);
    hosts_kill(&h, 0);
    last_attempt = 0;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1500);
    assert_true(last_attempt >= 3);
    h.judge = NULL;
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_check(&h);
}

static runnel_verdict fail_on_7(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (id_at(batch, i) == 7) {
            runnel_batch_explain(batch, "seven");
            return RUNNEL_AGAIN;
        }
    return RUNNEL_DONE;
}

static bool all_but_7(struct hosts *all)
{
    for (int i = 0; i < 100; i++)
        if (i != 7 && all->seen[i] < all->written[i])
            return false;
    return true;
}

static void a_poison_change_is_found_and_skipped(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = fail_on_7;
    o.exhausted = RUNNEL_SKIP;
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_until(&h, all_but_7, 60000);
    hosts_run(&h, 1000);
    stats_of(0, &stats);
    assert_int_equal(stats.skips, 1);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_SKIPPED], 1);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_BISECTED] >= 3);
    hosts_put(&h, 8, 20);
    hosts_until(&h, all_but_7, 60000);
    hosts_stop(&h, 0);
    assert_int_equal(h.seen[7], -1);
    assert_int_equal(h.disorder, 0);
}

static void a_blocked_lease_goes_on_trying(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = fail_on_7;
    o.retry_delay_max_ms = 1000;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 60000);
    assert_int_equal(h.seen[7], -1);
    assert_int_equal(h.seen[12], -1); /* behind it in the batch */
    assert_true(h.hosts[0].events[RUNNEL_EVENT_BLOCKED] >= 1);
    assert_int_equal(hosts_owned(&h, 0), 1);
    h.judge = NULL; /* it was mended */
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* ---- single changes ------------------------------------------------------ */

static void dead_letters_are_stored_before_the_feed_goes_on(void **state)
{
    const struct service_definition graveyard = { .db = "db",
                                                  .name = "dead",
                                                  .key = "/id" };
    runnel_processor_options o = hosts_options();
    struct rn_client_container *dead = NULL;
    struct service_box *box;

    (void)state;
    hosts_open(&h, 1, 1);
    box = service_add(&h.world.service, &graveyard);
    assert_int_equal(
        rn_client_container_open(h.world.account, "db", "dead", &dead, NULL),
        RUNNEL_OK);
    h.dead_letters = dead;
    h.judge = fail_on_7;
    o.exhausted = RUNNEL_DEAD_LETTER;
    o.retry_delay_max_ms = 1000;
    box->is_deleted = true; /* it cannot be stored at first */
    hosts_put(&h, 0, 30);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 40000);
    assert_int_equal(h.seen[8], -1);
    box->is_deleted = false;
    hosts_until(&h, all_but_7, 200000);
    assert_int_equal(box->entry_count, 1);
    assert_non_null(strstr(box->entries[0]->json, "\"why\":\"seven\""));
    assert_non_null(strstr(box->entries[0]->json, "\"change\":{\"id\":\"7\""));
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_DEAD_LETTERED], 1);
    hosts_stop(&h, 0);
    rn_client_container_unref(dead);
}

static runnel_verdict mark_7_once(struct hosts_host *host, const char *lease,
                                  const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (id_at(batch, i) == 7 && failures++ < 2)
            runnel_batch_mark(batch, i, RUNNEL_AGAIN);
    return RUNNEL_DONE;
}

static void a_marked_change_comes_again_with_later_ones_of_its_key(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = mark_7_once;
    hosts_put(&h, 0, 110); /* 104 has the key of 7 */
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    assert_int_equal(h.delivered[7], 3);
    assert_int_equal(h.delivered[104], 3);
    assert_int_equal(h.delivered[8], 1);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static runnel_verdict mark_7(struct hosts_host *host, const char *lease,
                             const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        if (id_at(batch, i) != 7)
            continue;
        failures++;
        last_attempt = runnel_batch_attempt(batch);
        runnel_batch_mark(batch, i, RUNNEL_AGAIN);
    }
    return RUNNEL_DONE;
}

static void a_change_that_is_always_marked_is_given_up(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = mark_7;
    o.exhausted = RUNNEL_SKIP;
    o.retry_attempts = 4;
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_SKIPPED], 1);
    assert_int_equal(failures, 4);
    assert_int_equal(last_attempt, 4);
    assert_int_equal(h.delivered[8], 1);
    assert_non_null(strstr(hosts_lease(&h, "0")->json,
                           "\"ContinuationToken\":\"\\\"100\\\"\""));
    hosts_stop(&h, 0);
}

/* ---- lanes and later answers --------------------------------------------- */

static runnel_verdict fail_some(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    (void)batch;
    return ++failures % 3 == 0 ? RUNNEL_AGAIN : RUNNEL_DONE;
}

static void lanes_keep_the_order_of_each_key(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    h.judge = fail_some;
    o.parallel = 4;
    o.batch_limit = 7;
    for (int round = 0; round < 5; round++) {
        hosts_put(&h, 0, 200);
        if (round == 0)
            hosts_start(&h, 0, &o);
        hosts_run(&h, 500);
    }
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static runnel_verdict expect_one_key(struct hosts_host *host, const char *lease,
                                     const runnel_batch *batch)
{
    runnel_bytes first = runnel_batch_at(batch, 0)->partition_key;

    for (size_t i = 1; i < runnel_batch_count(batch); i++) {
        runnel_bytes key = runnel_batch_at(batch, i)->partition_key;
        assert_int_equal(key.len, first.len);
        assert_memory_equal(key.at, first.at, key.len);
    }
    if (runnel_batch_count(batch) > largest)
        largest = runnel_batch_count(batch);
    return fail_some(host, lease, batch);
}

static void a_call_has_changes_of_one_key_only(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    for (o.parallel = 1; o.parallel <= 4; o.parallel += 3) {
        largest = 0;
        hosts_open(&h, 1, 2);
        h.judge = expect_one_key;
        o.single_key = true;
        o.batch_limit = 3;
        for (int round = 0; round < 3; round++) {
            hosts_put(&h, 0, 500); /* 97 keys: five or six changes of each */
            if (round == 0)
                hosts_start(&h, 0, &o);
            hosts_run(&h, 500);
        }
        hosts_until(&h, hosts_all_seen, 600000);
        hosts_stop(&h, 0);
        hosts_check(&h);
        assert_int_equal(largest, 3);
        if (o.parallel == 1)
            hosts_close(&h);
    }
}

static runnel_verdict hold_back(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    pending[pending_count++] = batch;
    return RUNNEL_PENDING;
}

static void pending_batches_are_checkpointed_by_the_lowest(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 5 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.pending_limit = 3;
    o.feed = &small;
    hosts_put(&h, 0, 40);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_int_equal(pending_count, 3);
    runnel_batch_ack(pending[2], RUNNEL_DONE);
    runnel_batch_ack(pending[1], RUNNEL_DONE);
    hosts_run(&h, 500);
    assert_non_null(
        strstr(hosts_lease(&h, "0")->json, "\"ContinuationToken\":null"));
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    hosts_run(&h, 500);
    assert_non_null(strstr(hosts_lease(&h, "0")->json,
                           "\"ContinuationToken\":\"\\\"15\\\"\""));
    h.judge = NULL;
    for (unsigned i = 3; i < pending_count; i++)
        runnel_batch_ack(pending[i], RUNNEL_DONE);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
}

static void only_the_first_ack_of_a_batch_counts(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    hosts_put(&h, 0, 5);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    runnel_batch_ack(pending[0], RUNNEL_AGAIN);
    hosts_run(&h, 2000);
    assert_int_equal(h.deliveries, 5);
    hosts_stop(&h, 0);
}

/* Bytes of the heap in use; a sanitizer's allocator counts for itself. */
extern size_t __sanitizer_get_current_allocated_bytes(void)
    __attribute__((weak));

static size_t heap_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes
               ? __sanitizer_get_current_allocated_bytes()
               : mallinfo2().uordblks;
}

/* The fake service keeps every version. */
static size_t service_bytes(const struct service *service)
{
    size_t sum = 0;

    for (size_t i = 0; i < service->box_count; i++) {
        const struct service_box *box = service->boxes[i];

        sum += box->entry_room * sizeof(struct service_entry *);
        for (size_t k = 0; k < box->entry_count; k++)
            sum += sizeof(struct service_entry) + strlen(box->entries[k]->id) +
                   strlen(box->entries[k]->pk) + strlen(box->entries[k]->json) +
                   3;
    }
    return sum;
}

/* R3: one change a second, for hours: the lease is kept, the position follows,
 * no more than the buffer is read ahead, and the heap does not grow. */
static void a_slow_handler_keeps_its_lease_and_little_memory(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 10 };
    enum { BUFFER = 64 << 10, PAGE = 16 << 10 };
    const int count = HOSTS_DOCUMENTS_MAX;
    size_t early = 0;
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;
    char position[64];

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.feed = &small;
    o.batch_limit = 1;
    o.buffer_bytes = BUFFER;
    hosts_put(&h, 0, count);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    for (int i = 0; i < count; i++) {
        assert_int_equal(pending_count, 1);
        pending_count = 0;
        runnel_batch_ack(pending[0], RUNNEL_DONE);
        hosts_run(&h, 1000);
        stats_of(0, &stats);
        assert_in_range(stats.buffered_bytes, 0, BUFFER + PAGE);
        if (i == count / 10)
            early = heap_bytes() - service_bytes(h.leases->service);
        if (i % 10 == 9) {
            snprintf(position, sizeof(position), "\\\"%d\\\"", i + 1);
            assert_non_null(strstr(hosts_lease(&h, "0")->json, position));
        }
    }
    assert_in_range(heap_bytes() - service_bytes(h.leases->service), 0,
                    early + (256 << 10));
    assert_int_equal(h.hosts[0].closed, 0);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_ACQUIRED], 1);
    assert_int_equal(h.deliveries, count); /* none came twice */
    h.judge = NULL;
    hosts_stop(&h, 0);
}

static void a_later_batch_of_the_same_key_comes_again_too(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 1 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.pending_limit = 2;
    o.feed = &small;
    h.written[0] = h.written[97] = -1;
    hosts_put(&h, 0, 1);
    hosts_put(&h, 97, 98); /* the key of 0 */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_int_equal(pending_count, 2);
    h.judge = NULL;
    runnel_batch_ack(pending[1], RUNNEL_DONE);
    hosts_run(&h, 200);
    runnel_batch_ack(pending[0], RUNNEL_AGAIN);
    hosts_run(&h, 5000);
    assert_int_equal(h.delivered[0], 2);
    assert_int_equal(h.delivered[97], 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_later_batch_comes_again_after_one_that_is_blocked(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 1 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.pending_limit = 2;
    o.exhausted = RUNNEL_BLOCK;
    o.feed = &small;
    h.written[0] = h.written[97] = -1;
    hosts_put(&h, 0, 1);
    hosts_put(&h, 97, 98); /* the key of 0 */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_int_equal(pending_count, 2);
    h.judge = NULL;
    runnel_batch_ack(pending[1], RUNNEL_DONE);
    hosts_run(&h, 200);
    runnel_batch_ack(pending[0], RUNNEL_REJECT);
    hosts_run(&h, 120000);
    assert_int_equal(h.delivered[0], 2);
    assert_int_equal(h.delivered[97], 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_later_batch_comes_again_once_for_all_failures(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 1 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.pending_limit = 2;
    o.feed = &small;
    hosts_put(&h, 0, 1);
    hosts_put(&h, 97, 98); /* the key of 0 */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    h.judge = fail_thrice;
    runnel_batch_ack(pending[1], RUNNEL_DONE);
    hosts_run(&h, 200);
    runnel_batch_ack(pending[0], RUNNEL_AGAIN);
    hosts_run(&h, 20000);
    assert_int_equal(h.delivered[0], 5);
    assert_int_equal(h.delivered[97], 2);
    hosts_stop(&h, 0);
}

/* ---- handlers that do not end -------------------------------------------- */

static runnel_verdict yield_once(struct hosts_host *host, const char *lease,
                                 const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    (void)batch;
    return failures++ == 0 ? RUNNEL_YIELD : RUNNEL_DONE;
}

static void a_yielded_lease_is_released_and_taken_again(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = yield_once;
    hosts_put(&h, 0, 5);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.hosts[0].closed, 1);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_OBSERVER_ERROR);
    assert_int_equal(h.hosts[0].opened, 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_stuck_handler_loses_its_lease(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.stuck_ms = 5000;
    o.give_up_ms = 20000;
    hosts_put(&h, 0, 5);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 10000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_STUCK], 1);
    assert_int_equal(hosts_owned(&h, 0), 1); /* renewed meanwhile */
    hosts_start(&h, 1, &o);
    h.judge = NULL;
    hosts_run(&h, 30000);
    assert_int_equal(hosts_owned(&h, 1), 1);
    assert_int_equal(h.hosts[1].batches, 1);
    assert_true(runnel_batch_is_cancelled(pending[0]));
    assert_int_equal(h.hosts[0].closed, 0); /* not before it returns */
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    hosts_run(&h, 1000);
    assert_int_equal(h.hosts[0].closed, 1);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static void a_stop_gives_up_batches_after_its_deadline(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;

    (void)state;
    hosts_open(&h, 1, 2);
    h.judge = hold_back;
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1000);
    assert_int_equal(pending_count, 2);
    rn_host_drain(h.hosts[0].engine, 3000);
    hosts_run(&h, 2000);
    assert_int_equal(hosts_owned(&h, 0), 2);
    hosts_run(&h, 2000);
    assert_int_equal(hosts_owned(&h, 0), 0);
    stats_of(0, &stats);
    assert_int_equal(stats.state, RUNNEL_STOPPED);
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    runnel_batch_ack(pending[1], RUNNEL_DONE);
    hosts_run(&h, 1000);
    rn_host_free(h.hosts[0].engine);
    h.hosts[0].engine = NULL;
    assert_int_equal(h.hosts[0].closed, 2);
}

/* ---- requests that fail -------------------------------------------------- */

static void faults_of_the_network_lose_nothing(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 5, 3);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    h.world.wire.faults = (struct scripted_faults){ .lose_request = 20,
                                                    .lose_answer = 20,
                                                    .truncate = 20,
                                                    .refuse = 50,
                                                    .delay = 50,
                                                    .delay_ms = 500 };
    for (int round = 0; round < 40; round++) {
        hosts_put(&h, round, round + 60);
        hosts_run(&h, 1000);
    }
    h.world.wire.faults = (struct scripted_faults){ 0 };
    hosts_until(&h, hosts_all_seen, 90000);
    hosts_check(&h);
    hosts_stop(&h, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_failed_batch_comes_again_with_its_attempt),
        CASE(attempts_survive_a_crash),
        CASE(a_poison_change_is_found_and_skipped),
        CASE(a_blocked_lease_goes_on_trying),
        CASE(dead_letters_are_stored_before_the_feed_goes_on),
        CASE(a_marked_change_comes_again_with_later_ones_of_its_key),
        CASE(a_change_that_is_always_marked_is_given_up),
        CASE(lanes_keep_the_order_of_each_key),
        CASE(a_call_has_changes_of_one_key_only),
        CASE(pending_batches_are_checkpointed_by_the_lowest),
        CASE(only_the_first_ack_of_a_batch_counts),
        CASE(a_slow_handler_keeps_its_lease_and_little_memory),
        CASE(a_later_batch_of_the_same_key_comes_again_too),
        CASE(a_later_batch_comes_again_after_one_that_is_blocked),
        CASE(a_later_batch_comes_again_once_for_all_failures),
        CASE(a_yielded_lease_is_released_and_taken_again),
        CASE(a_stuck_handler_loses_its_lease),
        CASE(a_stop_gives_up_batches_after_its_deadline),
        CASE(faults_of_the_network_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
