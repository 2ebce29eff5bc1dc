/* base_prng_test.c -- a seed means the same numbers everywhere, for ever.
 *
 * The first values were computed apart from this code.  Evenness is only
 * checked coarsely: the generator is a known one.
 */
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_seed_gives_known_numbers(void **state)
{
    static const struct {
        uint64_t seed, numbers[3];
    } cases[] = {
        { 0,
          { UINT64_C(0x99ec5f36cb75f2b4), UINT64_C(0xbf6e1f784956452a),
            UINT64_C(0x1a5f849d4933e6e0) } },
        { 42,
          { UINT64_C(0x15780b2e0c2ec716), UINT64_C(0x6104d9866d113a7e),
            UINT64_C(0xae17533239e499a1) } },
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rn_prng c;
        rn_prng_init(&c, cases[i].seed);
        for (int k = 0; k < 3; k++)
            assert_int_equal(rn_prng_next(&c), cases[i].numbers[k]);
    }
}

static void filling_uses_every_byte_in_order(void **state)
{
    struct rn_prng c;
    unsigned char out[11] = { 0 };

    (void)state;
    rn_prng_init(&c, 0);
    rn_prng_fill(&c, out, sizeof(out));
    assert_memory_equal(out, "\xb4\xf2\x75\xcb\x36\x5f\xec\x99\x2a\x45\x56",
                        11);
}

static void every_outcome_below_a_bound_is_equally_likely(void **state)
{
    int counts[7] = { 0 };
    struct rn_prng c;

    (void)state;
    rn_prng_init(&c, 1);
    for (int i = 0; i < 70000; i++)
        counts[rn_prng_below(&c, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(counts[i], 9600, 10400);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rn_prng_below(&c, 1), 0);
    /* a bound for which half of all numbers must be drawn again */
    for (int i = 0; i < 100; i++)
        assert_true(rn_prng_below(&c, (UINT64_C(1) << 63) + 1) <= UINT64_C(1)
                                                                      << 63);
}

static void never_and_always_are_exact(void **state)
{
    struct rn_prng c;
    int half = 0;

    (void)state;
    rn_prng_init(&c, 2);
    for (int i = 0; i < 10000; i++) {
        assert_false(rn_prng_percent(&c, 0));
        assert_true(rn_prng_percent(&c, 100));
        half += rn_prng_percent(&c, 50);
    }
    assert_in_range(half, 4700, 5300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_known_numbers),
        cmocka_unit_test(filling_uses_every_byte_in_order),
        cmocka_unit_test(every_outcome_below_a_bound_is_equally_likely),
        cmocka_unit_test(never_and_always_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
