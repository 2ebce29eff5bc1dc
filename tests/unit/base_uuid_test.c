/* base_uuid_test.c -- UUIDs are well formed, and others are seen through. */
#include "base/uuid.h"

#include "base/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_random_one_is_of_version_4_and_comes_back(void **state)
{
    struct rn_sim *sim = rn_sim_new(1);
    uint8_t varied[16] = { 0 };
    struct rn_uuid first = rn_uuid_random(rn_sim_env(sim));

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct rn_uuid u = rn_uuid_random(rn_sim_env(sim)), back = { 0 };
        char text[RN_UUID_TEXT_MAX];
        struct rn_view v = rn_uuid_print(u, text);
        assert_int_equal(v.len, 36);
        assert_int_equal(text[36], '\0');
        assert_int_equal(text[14], '4');
        assert_non_null(strchr("89ab", text[19]));
        assert_true(rn_uuid_parse(v, &back));
        assert_memory_equal(back.bytes, u.bytes, 16);
        for (int k = 0; k < 16; k++)
            varied[k] = (uint8_t)(varied[k] | (u.bytes[k] ^ first.bytes[k]));
    }
    for (int k = 0; k < 16; k++)
        assert_int_equal(varied[k], k == 6 ? 0x0f : k == 8 ? 0x3f : 0xff);
    rn_sim_free(sim);
}

static void either_case_is_read_lower_is_written(void **state)
{
    struct rn_uuid u;
    char text[RN_UUID_TEXT_MAX];

    (void)state;
    assert_true(
        rn_uuid_parse(RN_LIT("5A7D2F0E-0d0e-1D0a-9d3e-2F6d4b1c0A11"), &u));
    rn_uuid_print(u, text);
    assert_string_equal(text, "5a7d2f0e-0d0e-1d0a-9d3e-2f6d4b1c0a11");
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a1",
        "5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a111",
        "5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a1g",
        "5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a1 ",
        "5a7d2f0e_0d0e-4d0a-9d3e-2f6d4b1c0a11",
        "5a7d2f0-e0d0e-4d0a-9d3e-2f6d4b1c0a11",
        "5a7d2f0e0d0e4d0a9d3e2f6d4b1c0a111111",
        "{5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a}",
        "5a7d2f0e-0d0e-4d0a-9d3e-2f6d4b1c0a\xc3\xa9",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_uuid u = { { 7 } };
        if (rn_uuid_parse(rn_view_text(bad[i]), &u))
            fail_msg("accepted: '%s'", bad[i]);
        assert_int_equal(u.bytes[0], 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_random_one_is_of_version_4_and_comes_back),
        cmocka_unit_test(either_case_is_read_lower_is_written),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
