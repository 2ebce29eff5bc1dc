/* one_case.c -- lets a cmocka test run a single case.
 *
 * RUNNEL_TEST_CASE is a pattern ("*" and "?" are wildcards).  Linked as an
 * object, so that its constructor runs before main.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_case(void)
{
    const char *pattern = getenv("RUNNEL_TEST_CASE");

    if (pattern)
        cmocka_set_test_filter(pattern);
}
