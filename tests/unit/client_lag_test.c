/* client_lag_test.c -- what an estimator says of each lease, in virtual time.
 *
 * Goal: owner, changes, seconds, age and charge of every lease, also if one
 * cannot be read.  Method: a host works and stops; then documents are written
 * and deleted, and the lag is compared with that.
 */
#include "client/api/container.h"
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { LEASES_MAX = 8 };

static struct hosts h;
static runnel_container source, leases;
static runnel_lease_set set;

static struct {
    runnel_lag total;
    runnel_lag each[LEASES_MAX];
    char host[LEASES_MAX][32]; /* "": none */
    char lease[LEASES_MAX][16];
    size_t count;
} told;

static int tear_down(void **state)
{
    (void)state;
    rn_client_container_unref(leases.inner);
    hosts_close(&h);
    return 0;
}

static bool note(void *context, const runnel_lag *lag)
{
    (void)context;
    if (!lag->lease) {
        told.total = *lag;
        return true;
    }
    assert_true(told.count < LEASES_MAX);
    told.each[told.count] = *lag;
    snprintf(told.host[told.count], sizeof(told.host[0]), "%s",
             lag->host ? lag->host : "");
    snprintf(told.lease[told.count], sizeof(told.lease[0]), "%s", lag->lease);
    told.count++;
    return true;
}

static void measure(void)
{
    runnel_error error = { 0 };

    memset(&told, 0, sizeof(told));
    assert_int_equal(runnel_lag_each(&set, note, NULL, &error), RUNNEL_OK);
    assert_int_equal(told.total.leases, told.count);
}

/* A host that has read everything up to now. */
static void open_world(unsigned ranges)
{
    runnel_processor_options o = hosts_options();

    hosts_open(&h, 1, ranges);
    source.inner = h.world.container;
    assert_int_equal(rn_client_container_open(h.world.account, "db", "leases",
                                              &leases.inner, NULL),
                     RUNNEL_OK);
    set = (runnel_lease_set){ RUNNEL_LEASE_SET_INIT, .source = &source,
                              .name = "p", .leases = &leases };
    hosts_put(&h, 0, 40);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 1000);
}

static void each_lease_is_reported_with_owner_age_and_charge(void **state)
{
    runnel_processor_options o = hosts_options();
    double charge = 0;

    (void)state;
    open_world(4);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 20000);
    measure();
    assert_int_equal(told.count, 4);
    for (size_t i = 0; i < 4; i++) {
        char token[] = { (char)('0' + i), 0 };
        char pattern[64];
        assert_string_equal(told.lease[i], token);
        snprintf(pattern, sizeof(pattern), "\"Owner\":\"%s\"", told.host[i]);
        assert_non_null(strstr(hosts_lease(&h, token)->json, pattern));
        assert_int_equal(told.each[i].state, RUNNEL_LAG_KNOWN);
        assert_true(told.each[i].behind == 0 && told.each[i].behind_ms == 0);
        assert_in_range(told.each[i].checkpoint_age_ms, 0, 4000);
        assert_true(told.each[i].charge > 0);
        charge += told.each[i].charge;
    }
    /* The listing has a charge of its own. */
    assert_true(told.total.charge >= charge);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    measure();
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(told.host[i], "");
}

/* A deletion takes an LSN, and is no change to be handled. */
static void deletions_count_as_changes_but_the_seconds_are_exact(void **state)
{
    char id[16];
    char pk[16];

    (void)state;
    open_world(1);
    hosts_stop(&h, 0);
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof(id), "%d", i);
        snprintf(pk, sizeof(pk), "[\"%d\"]", i);
        assert_non_null(service_delete(h.world.box, id, pk));
    }
    hosts_run(&h, 50000);
    measure();
    assert_true(told.total.behind == 0 && told.total.behind_ms == 0);
    hosts_put(&h, 30, 33);
    hosts_run(&h, 10000);
    measure();
    /* Behind the first of the three, whatever was deleted before. */
    assert_in_range(told.total.behind, 3, 23);
    assert_in_range(told.total.behind_ms, 9000, 12000);
}

static bool refuse_range_1(void *context, const struct service_request *q,
                           struct service_answer *a)
{
    struct rn_view range =
        service_header(q, "x-ms-documentdb-partitionkeyrangeid");

    (void)context;
    if (!service_header(q, "A-IM").at || !range.at ||
        !rn_view_eq(range, RN_LIT("1")))
        return false;
    a->header_count = 0;
    service_refuse(a, 403, 0, "No.");
    return true;
}

static void a_lease_that_cannot_be_read_does_not_hide_the_others(void **state)
{
    (void)state;
    open_world(3);
    hosts_stop(&h, 0);
    hosts_put(&h, 0, 40);
    measure();
    assert_true(told.total.behind == 40);
    h.world.wire.before = refuse_range_1;
    measure();
    assert_int_equal(told.count, 3);
    assert_int_equal(told.each[0].state, RUNNEL_LAG_KNOWN);
    assert_int_equal(told.each[1].state, RUNNEL_LAG_FAILED);
    assert_int_equal(told.each[2].state, RUNNEL_LAG_KNOWN);
    assert_true(told.each[1].behind == 1);
    assert_true(told.each[0].behind > 0 && told.each[2].behind > 0);
    assert_true(told.total.behind ==
                told.each[0].behind + 1 + told.each[2].behind);
}

static void a_lease_without_a_position_counts_one_and_says_so(void **state)
{
    (void)state;
    open_world(1);
    hosts_stop(&h, 0);
    hosts_tamper(&h, "0", "\"ContinuationToken\":\"\\\"40\\\"\"",
                 "\"ContinuationToken\":null");
    measure();
    assert_int_equal(told.each[0].state, RUNNEL_LAG_UNREAD);
    assert_true(told.total.behind == 1);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(each_lease_is_reported_with_owner_age_and_charge),
        CASE(deletions_count_as_changes_but_the_seconds_are_exact),
        CASE(a_lease_that_cannot_be_read_does_not_hide_the_others),
        CASE(a_lease_without_a_position_counts_one_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
