/* client_processor_test.c -- a host and its leases, in virtual time.
 *
 * One host or a few against a service in memory: start, checkpoints, renewals,
 * hand-over, crash, split, merge.  A ledger holds what handlers got against
 * what was written.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static void one_host_handles_everything_and_releases_its_leases(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    hosts_put(&h, 0, 200);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_put(&h, 100, 300);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_int_equal(hosts_leases(&h), 4);
    assert_int_equal(hosts_owned(&h, 0), 4);
    assert_int_equal(h.deliveries, 400);
    hosts_stop(&h, 0);
    assert_int_equal(hosts_owned(&h, 0), 0);
    assert_int_equal(h.hosts[0].opened, 4);
    assert_int_equal(h.hosts[0].closed, 4);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_SHUTDOWN);
    hosts_check(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            one_host_handles_everything_and_releases_its_leases, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
