/* base_secret_test.c -- equal means equal, and wiped means gone.
 *
 * That the comparison takes the same time everywhere is not tested: on a busy
 * machine such a test would lie.  The code has one loop without an exit.
 */
#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void any_difference_is_noticed(void **state)
{
    char a[64], b[64];

    (void)state;
    memset(a, 0x5a, sizeof(a));
    memcpy(b, a, sizeof(b));
    assert_true(rn_equal_secret(rn_view_of(a, 64), rn_view_of(b, 64)));
    for (size_t i = 0; i < sizeof(b) * 8; i++) {
        b[i / 8] = (char)(b[i / 8] ^ 1 << i % 8);
        assert_false(rn_equal_secret(rn_view_of(a, 64), rn_view_of(b, 64)));
        b[i / 8] = a[i / 8];
    }
    assert_false(rn_equal_secret(rn_view_of(a, 64), rn_view_of(b, 63)));
    assert_true(rn_equal_secret(rn_view_of(a, 0), rn_view_of(NULL, 0)));
}

static void wiping_leaves_zeros_and_touches_nothing_else(void **state)
{
    char key[] = "..secret..";

    (void)state;
    rn_wipe_secret(key + 2, 6);
    assert_memory_equal(key, "..\0\0\0\0\0\0..", 10);
    rn_wipe_secret(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_difference_is_noticed),
        cmocka_unit_test(wiping_leaves_zeros_and_touches_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
