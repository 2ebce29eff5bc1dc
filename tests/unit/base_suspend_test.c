/* base_suspend_test.c -- the steady clock on a machine that was suspended.
 *
 * Goal: time that passes while the machine is suspended counts, so that a lease
 * is known to have expired when it wakes; waits for conditions do not become
 * longer by it.  Method: the system's clocks are read through this file, which
 * lets an hour of suspension lie between the two.
 */
#include "base/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { HOUR_S = 3600 };

static bool was_suspended;

int __real_clock_gettime(clockid_t which, struct timespec *out);
int __wrap_clock_gettime(clockid_t which, struct timespec *out);

int __wrap_clock_gettime(clockid_t which, struct timespec *out)
{
    int rc = __real_clock_gettime(which, out);

    if (was_suspended && which == CLOCK_BOOTTIME)
        out->tv_sec += HOUR_S;
    return rc;
}

static void suspended_time_counts(void **state)
{
    int64_t before = rn_mono_ns(rn_env_real());

    (void)state;
    was_suspended = true;
    assert_true(rn_mono_ns(rn_env_real()) - before >=
                HOUR_S * INT64_C(1000000000));
    was_suspended = false;
}

static void a_condition_waits_no_longer_for_it(void **state)
{
    struct timespec now;
    struct timespec until;

    (void)state;
    was_suspended = true;
    until = rn_cond_deadline(INT64_C(2000000000));
    was_suspended = false;
    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(until.tv_sec - now.tv_sec <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suspended_time_counts),
        cmocka_unit_test(a_condition_waits_no_longer_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
