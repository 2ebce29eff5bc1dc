/* cosmos_prefer_test.c -- preferences, alone and in company: a table. */
#include "cosmos/prefer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_wait_is_found_in_any_company(void **state)
{
    static const struct {
        const char *header;
        uint32_t seconds;
    } cases[] = {
        { "", 0 },
        { "wait=10", 10 },
        { "Wait = 10", 10 },
        { "return=minimal, wait=10", 10 },
        { "return=minimal,wait=10;priority=5,respond-async", 10 },
        { "wait=\"7\"", 7 },
        { "wait=1, wait=2", 1 },
        { "wait=0", 0 },
        { "wait", 0 },
        { "wait=", 0 },
        { "wait=soon", 0 },
        { "wait=-1", 0 },
        { "wait=1.5", 0 },
        { "wait=007", 7 },
        { "wait=4294967295", UINT32_MAX },
        { "wait=4294967296", UINT32_MAX },
        { "wait=99999999999999999999999", UINT32_MAX },
        { "wait=99999999999999999999999s", 0 },
        { "await=10", 0 },
        { "waiting=10", 0 },
        { ",,;=,wait=3", 3 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(rn_prefer_wait(rn_view_text(cases[i].header)),
                         cases[i].seconds);
}

static void a_preference_has_its_value_or_none(void **state)
{
    struct rn_view value;

    (void)state;
    assert_true(rn_prefer_find(RN_LIT("RETURN=Minimal"), "return", &value));
    assert_true(rn_view_eq(value, RN_LIT("Minimal")));
    assert_true(
        rn_prefer_find(RN_LIT("a, respond-async"), "respond-async", &value));
    assert_int_equal(value.len, 0);
    assert_false(rn_prefer_find(RN_LIT("a, b"), "return", &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_is_found_in_any_company),
        cmocka_unit_test(a_preference_has_its_value_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
