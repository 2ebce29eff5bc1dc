/* client_lease_split_test.c -- what becomes of leases when ranges split and
 * merge at a bad moment, in virtual time.
 *
 * Goal: the leases tile the container again, each with the position of what was
 * handled: nothing is missed, and without a crash nothing comes twice.
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
static const runnel_batch *pending[8];
static unsigned pending_count;

static int set_up(void **state)
{
    (void)state;
    pending_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

/* Runs by the millisecond until the lease is there. */
static void run_to_lease(const char *token)
{
    for (int ms = 0; ms < 20000 && !hosts_lease(&h, token); ms++)
        hosts_run(&h, 1);
    assert_non_null(hosts_lease(&h, token));
}

static bool has_no_position(const char *token)
{
    return strstr(hosts_lease(&h, token)->json, "\"ContinuationToken\":null");
}

static void a_split_before_the_first_read_keeps_the_position(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    o.feed = NULL; /* from now */
    hosts_start(&h, 0, &o);
    run_to_lease("0");
    assert_int_equal(h.hosts[0].opened, 0);
    assert_true(service_split(h.world.box, 0, 0));
    hosts_put(&h, 0, 40);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(hosts_leases(&h), 2);
    assert_false(has_no_position("1"));
    assert_false(has_no_position("2"));
    assert_int_equal(h.deliveries, 40);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_half_made_split_is_completed_by_another_host(void **state)
{
    /* It ends after the first child, or before the parent is deleted. */
    static const struct hosts_fault ends[] = {
        { .method = "POST", .part = "=..2", .status = 503, .times = 100000 },
        { .method = "DELETE", .part = "..0", .status = 503, .times = 100000 },
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    for (int i = 0; i < 2; i++) {
        hosts_open(&h, 1, 1);
        hosts_put(&h, 0, 20);
        hosts_start(&h, 0, &o);
        hosts_until(&h, hosts_all_seen, 10000);
        hosts_refuse(&h, &ends[i]);
        assert_true(service_split(h.world.box, 0, 0));
        hosts_put(&h, 0, 1);
        hosts_run(&h, 2000);
        assert_true(h.fault.done > 0);
        assert_non_null(hosts_lease(&h, "0"));
        assert_non_null(hosts_lease(&h, "1"));
        assert_true((hosts_lease(&h, "2") != NULL) == (i == 1));
        hosts_kill(&h, 0);
        h.fault.times = 0;
        hosts_put(&h, 20, 40);
        hosts_start(&h, 1, &o);
        hosts_until(&h, hosts_all_seen, 30000);
        hosts_run(&h, 15000);
        assert_null(hosts_lease(&h, "0"));
        assert_int_equal(hosts_leases(&h), 2);
        assert_int_equal(h.deliveries, 41);
        hosts_stop(&h, 1);
        hosts_check(&h);
        if (i == 0)
            hosts_close(&h);
    }
}

static bool is_post(const struct service_request *q, const char *part)
{
    return rn_view_eq(q->method, RN_LIT("POST")) &&
           memmem(q->body.at, q->body.len, part, strlen(part));
}

static unsigned second_children;

/* The parent is another host's when this host comes to the first child. */
static bool rob(void *context, const struct service_request *q,
                struct service_answer *a)
{
    (void)context;
    (void)a;
    if (is_post(q, "=..1\""))
        hosts_tamper(&h, "0", "\"Owner\":\"host-1\"", "\"Owner\":\"host-9\"");
    second_children += is_post(q, "=..2\"");
    return false;
}

static bool is_robbed(struct hosts *all)
{
    return strstr(hosts_lease(all, "0")->json, "\"Owner\":\"host-9\"");
}

static void a_child_of_another_host_makes_sure_of_the_parent(void **state)
{
    static const struct hosts_fault broken = {
        .method = "POST", .part = "=..2", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    hosts_refuse(&h, &broken);
    assert_true(service_split(h.world.box, 0, 0));
    run_to_lease("1");
    hosts_kill(&h, 0);
    second_children = 0;
    h.world.wire.before = rob;
    hosts_start(&h, 1, &o);
    hosts_until(&h, is_robbed, 30000);
    hosts_run(&h, 2000);
    assert_int_equal(second_children, 0);
    assert_null(hosts_lease(&h, "2"));
    h.world.wire.before = NULL;
    hosts_put(&h, 20, 40);
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

/* The first child is one that a .NET host made of the lease of "7", of whose
 * interval the merged range was larger. */
static void
a_child_at_the_position_of_another_parent_skips_nothing(void **state)
{
    static const struct hosts_fault broken = {
        .method = "POST", .part = "=..2", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    hosts_refuse(&h, &broken);
    assert_true(service_split(h.world.box, 0, 0));
    run_to_lease("1");
    hosts_kill(&h, 0);
    hosts_tamper(&h, "1", "\"runnel.made\":\"1\"", "\"runnel.made\":\"7\"");
    hosts_tamper(&h, "1", "\"runnel.range\":\"1 -", "\"runnel.range\":\"7 10-");
    hosts_tamper(&h, "1", "\"ContinuationToken\":\"\\\"20\\\"\"",
                 "\"ContinuationToken\":\"\\\"40\\\"\"");
    h.fault.times = 0;
    hosts_put(&h, 20, 40);
    hosts_start(&h, 1, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 5000);
    assert_int_equal(hosts_leases(&h), 3);
    assert_null(hosts_lease(&h, "0"));
    assert_int_equal(h.deliveries, 40);
    assert_true(service_split(h.world.box, 1, 0)); /* which others can tell */
    run_to_lease("3");
    assert_non_null(strstr(hosts_lease(&h, "1")->json, "\"7 10-"));
    assert_non_null(strstr(hosts_lease(&h, "3")->json, "\"7 10-"));
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static bool has_two_of_three(struct hosts *all)
{
    return hosts_leases(all) == 3 && hosts_owned(all, 0) == 2;
}

/* The parent is still owned, so that nothing else tells of the split. */
static void a_lease_without_its_interval_waits_for_a_new_map(void **state)
{
    runnel_processor_options o = hosts_options();
    char *text;

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    hosts_tamper(&h, "1", "\"Owner\":\"host-0\"", "\"Owner\":\"net\"");
    hosts_run(&h, 4000);
    assert_int_equal(hosts_owned(&h, 0), 1);
    assert_true(service_split(h.world.box, 1, 0));
    assert_true(asprintf(&text,
                         "{\"id\":\"%.*s2\",\"PartitionId\":\"2\","
                         "\"Owner\":null,\"ContinuationToken\":null,"
                         "\"properties\":{},\"timestamp\":null}",
                         (int)strlen(hosts_lease(&h, "1")->id) - 1,
                         hosts_lease(&h, "1")->id) > 0);
    assert_non_null(service_upsert(h.leases, text));
    free(text);
    hosts_until(&h, has_two_of_three, 5000);
    hosts_stop(&h, 0);
}

static void a_parent_stays_until_its_children_are_made(void **state)
{
    static const struct hosts_fault broken = {
        .method = "POST", .part = "=..2", .status = 500, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    hosts_refuse(&h, &broken);
    assert_true(service_split(h.world.box, 0, 0));
    hosts_put(&h, 20, 40);
    hosts_run(&h, 40000);
    assert_true(h.fault.done > 3);
    assert_non_null(hosts_lease(&h, "0"));
    assert_null(hosts_lease(&h, "2"));
    h.fault.times = 0;
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 5000);
    assert_null(hosts_lease(&h, "0"));
    assert_int_equal(hosts_leases(&h), 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_split_of_a_split_gives_three_leases(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        hosts_open(&h, 1, 1);
        hosts_put(&h, 0, 30);
        hosts_start(&h, 0, &o);
        hosts_until(&h, hosts_all_seen, 10000);
        if (is_stopped)
            hosts_stop(&h, 0);
        assert_true(service_split(h.world.box, 0, 0));
        if (!is_stopped)
            run_to_lease("1"); /* its parent and its sibling are in work */
        assert_true(service_split(h.world.box, 1, 0));
        hosts_put(&h, 30, 60);
        if (is_stopped)
            hosts_start(&h, 0, &o);
        hosts_until(&h, hosts_all_seen, 20000);
        hosts_run(&h, 5000);
        assert_int_equal(hosts_leases(&h), 3);
        assert_non_null(hosts_lease(&h, "2"));
        assert_non_null(hosts_lease(&h, "3"));
        assert_non_null(hosts_lease(&h, "4"));
        assert_int_equal(h.deliveries, 60);
        if (!is_stopped)
            assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_LEASE_GONE);
        hosts_stop(&h, 0);
        hosts_check(&h);
        if (!is_stopped)
            hosts_close(&h);
    }
}

/* Each half of the merged range goes on from its own position. */
static void a_merge_makes_interval_leases_that_a_split_cuts(void **state)
{
    runnel_processor_options o = hosts_options();
    unsigned intervals = 0;

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    assert_true(service_merge(h.world.box, 0, 1, 0));
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(hosts_leases(&h), 2);
    assert_int_equal(h.deliveries, 200);
    for (size_t i = 0; i < h.leases->entry_count; i++) {
        const struct service_entry *e = h.leases->entries[i];
        intervals += e->is_live && strstr(e->id, "..") &&
                     strstr(e->json, "\"version\":1");
    }
    assert_int_equal(intervals, 2);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_MERGED], 2);
    assert_true(service_split(h.world.box, 2, 0)); /* where they meet */
    assert_true(service_split(h.world.box, 3, 0)); /* within the first */
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    assert_int_equal(hosts_leases(&h), 3);
    assert_int_equal(h.deliveries, 300);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static unsigned empty_maps;

static bool answer_no_ranges(void *context, const struct service_request *q,
                             struct service_answer *a)
{
    (void)context;
    if (empty_maps == 0 || !memmem(q->path.at, q->path.len, "/pkranges", 9))
        return false;
    empty_maps--;
    a->status = 200;
    a->header_count = 0;
    rn_buf_clear(&a->body);
    assert_int_equal(rn_buf_printf(&a->body, "{\"_rid\":\"AAAAAYAAAAE=\","
                                             "\"PartitionKeyRanges\":[],"
                                             "\"_count\":0}"),
                     RN_OK);
    return true;
}

static void an_empty_routing_map_deletes_no_lease(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    empty_maps = 1000000;
    h.world.wire.before = answer_no_ranges;
    assert_true(service_split(h.world.box, 0, 0));
    hosts_put(&h, 20, 40);
    hosts_run(&h, 5000);
    assert_true(empty_maps < 1000000);
    assert_int_equal(hosts_leases(&h), 1);
    assert_non_null(hosts_lease(&h, "0"));
    empty_maps = 0;
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 5000);
    assert_int_equal(hosts_leases(&h), 2);
    assert_int_equal(h.deliveries, 40);
    hosts_stop(&h, 0);
    hosts_check(&h);
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

static void children_begin_at_the_lowest_batch_without_a_verdict(void **state)
{
    static const runnel_feed_options pages_of_5 = {
        RUNNEL_FEED_INIT, .start = RUNNEL_START_BEGINNING, .page_limit = 5
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold_back;
    o.feed = &pages_of_5;
    o.pending_limit = 3;
    hosts_put(&h, 0, 30);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    assert_int_equal(pending_count, 3);
    assert_true(service_split(h.world.box, 0, 0));
    runnel_batch_ack(pending[2], RUNNEL_DONE);
    hosts_run(&h, 2000);
    runnel_batch_ack(pending[1], RUNNEL_DONE);
    rn_host_drain(h.hosts[0].engine, 1000);
    hosts_run(&h, 5000); /* the first is given up */
    assert_true(runnel_batch_is_cancelled(pending[0]));
    runnel_batch_ack(pending[0], RUNNEL_DONE);
    for (unsigned i = 3; i < pending_count; i++)
        runnel_batch_ack(pending[i], RUNNEL_DONE);
    hosts_run(&h, 1000);
    rn_host_free(h.hosts[0].engine);
    h.hosts[0].engine = NULL;
    h.judge = NULL;
    memset(h.handled, 0, sizeof(h.handled));
    hosts_start(&h, 1, &o);
    hosts_run(&h, 20000);
    assert_int_equal(hosts_leases(&h), 2);
    for (int i = 0; i < 30; i++)
        assert_int_equal(h.handled[i], 1);
    hosts_stop(&h, 1);
}

static bool has_one_each(struct hosts *all)
{
    return hosts_leases(all) == 2 && hosts_owned(all, 0) == 1 &&
           hosts_owned(all, 1) == 1;
}

static void
of_two_children_a_host_with_one_lease_at_most_gives_one(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    o.max_leases = 1;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 5000);
    assert_true(service_split(h.world.box, 0, 0));
    hosts_put(&h, 0, 20);
    hosts_until(&h, has_one_each, 15000);
    hosts_until(&h, hosts_all_seen, 5000);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_split_before_the_first_read_keeps_the_position),
        CASE(a_half_made_split_is_completed_by_another_host),
        CASE(a_child_of_another_host_makes_sure_of_the_parent),
        CASE(a_child_at_the_position_of_another_parent_skips_nothing),
        CASE(a_lease_without_its_interval_waits_for_a_new_map),
        CASE(a_parent_stays_until_its_children_are_made),
        CASE(a_split_of_a_split_gives_three_leases),
        CASE(a_merge_makes_interval_leases_that_a_split_cuts),
        CASE(an_empty_routing_map_deletes_no_lease),
        CASE(children_begin_at_the_lowest_batch_without_a_verdict),
        CASE(of_two_children_a_host_with_one_lease_at_most_gives_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
