/* engine_bloom_test.c -- a filter never lacks what was put in, and says no to
 * most that was not; without memory, or beyond its share, it says nothing. */
#include "engine/document/bloom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/oom.h"

enum { CONTAINER = 7, KEY = 32 };

static struct rn_blooms blooms;

static struct rn_view key_of(unsigned n, char out[KEY])
{
    return rn_view_of(out, (size_t)snprintf(out, KEY, "key %u", n));
}

static void add(uint32_t container, unsigned from, unsigned to)
{
    char key[KEY];

    for (unsigned i = from; i < to; i++)
        rn_bloom_add(&blooms, container, key_of(i, key));
}

/* Of `from` to `to`, how many it certainly has not. */
static unsigned lacking(uint32_t container, unsigned from, unsigned to)
{
    unsigned count = 0;
    char key[KEY];

    for (unsigned i = from; i < to; i++)
        count += rn_bloom_lacks(&blooms, container, key_of(i, key));
    return count;
}

static int begin(void **state)
{
    (void)state;
    oom_in = 0;
    rn_bloom_begin(&blooms, CONTAINER);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oom_in = 0;
    rn_blooms_release(&blooms);
    return blooms.bytes ? -1 : 0;
}

static void what_was_put_in_is_never_lacking(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 300000; n = n * 3 + 1) {
        add(CONTAINER, n, n * 3 + 1); /* through five layers */
        assert_int_equal(lacking(CONTAINER, 0, n * 3 + 1), 0);
    }
}

static void most_that_was_not_is(void **state)
{
    (void)state;
    assert_int_equal(lacking(CONTAINER, 0, 1000), 1000);
    for (unsigned n = 100; n <= 1000000; n *= 10) {
        add(CONTAINER, n / 10, n);
        assert_true(lacking(CONTAINER, 2000000, 2010000) > 9300);
    }
}

static void what_is_put_in_twice_takes_no_room(void **state)
{
    uint64_t bytes;

    (void)state;
    add(CONTAINER, 0, 1000);
    bytes = blooms.bytes;
    for (int i = 0; i < 100; i++)
        add(CONTAINER, 0, 1000);
    assert_true(blooms.bytes == bytes);
}

static void it_takes_ten_bits_a_key_or_nine_times_that(void **state)
{
    (void)state;
    add(CONTAINER, 0, 1000000);
    assert_true(blooms.bytes >= 1000000 * 10 / 8 * 9 / 10);
    assert_true(blooms.bytes <= 1000000 * 10 / 8 * 9);
}

static void of_a_container_that_is_not_known_it_says_nothing(void **state)
{
    (void)state;
    add(CONTAINER + 1, 0, 100);
    assert_int_equal(lacking(CONTAINER + 1, 0, 200), 0);
    rn_bloom_end(&blooms, CONTAINER + 1);
    rn_bloom_end(&blooms, CONTAINER);
    assert_int_equal(lacking(CONTAINER, 0, 200), 0);
}

static void containers_do_not_mix(void **state)
{
    (void)state;
    for (uint32_t c = 1000; c > 0; c -= 10)
        rn_bloom_begin(&blooms, c);
    for (uint32_t c = 10; c <= 1000; c += 10)
        add(c, c, c + 10);
    for (uint32_t c = 20; c <= 1000; c += 20)
        rn_bloom_end(&blooms, c);
    for (uint32_t c = 10; c <= 1000; c += 10) {
        assert_int_equal(lacking(c, c, c + 10), 0);
        assert_int_equal(lacking(c, c + 10, c + 20), c % 20 ? 10 : 0);
    }
}

/* A number that was drawn for a container that came to nothing. */
static void one_that_begins_again_is_empty(void **state)
{
    (void)state;
    add(CONTAINER, 0, 100);
    rn_bloom_begin(&blooms, CONTAINER);
    assert_int_equal(lacking(CONTAINER, 0, 100), 100);
}

static void until_it_is_complete_it_says_nothing(void **state)
{
    (void)state;
    assert_false(rn_bloom_begin_partial(&blooms, CONTAINER)); /* it has one */
    assert_true(rn_bloom_begin_partial(&blooms, CONTAINER + 1));
    assert_true(rn_bloom_is_partial(&blooms, CONTAINER + 1));
    add(CONTAINER + 1, 0, 100);
    assert_int_equal(lacking(CONTAINER + 1, 0, 200), 0);
    rn_bloom_complete(&blooms, CONTAINER + 1);
    assert_false(rn_bloom_is_partial(&blooms, CONTAINER + 1));
    assert_int_equal(lacking(CONTAINER + 1, 0, 100), 0);
    assert_true(lacking(CONTAINER + 1, 100, 1100) > 930);
}

static void one_that_was_dropped_does_not_begin_again(void **state)
{
    (void)state;
    rn_bloom_drop(&blooms, CONTAINER);
    assert_int_equal(lacking(CONTAINER, 0, 100), 0);
    assert_false(rn_bloom_begin_partial(&blooms, CONTAINER));
    rn_bloom_complete(&blooms, CONTAINER);
    assert_int_equal(lacking(CONTAINER, 0, 100), 0);
    assert_true(blooms.bytes == 0);
}

static void beyond_its_share_it_says_nothing(void **state)
{
    uint32_t c = CONTAINER;

    (void)state;
    while (blooms.bytes + (16 << 20) < RN_BLOOMS_BYTES_MAX) {
        rn_bloom_begin(&blooms, ++c);
        add(c, 0, 2500000);
    }
    rn_bloom_begin(&blooms, ++c);
    add(c, 0, 2500000);
    assert_true(blooms.bytes <= RN_BLOOMS_BYTES_MAX);
    assert_int_equal(lacking(c, 0, 5000000), 0);
    assert_true(lacking(CONTAINER + 1, 5000000, 5001000) > 900);
}

static void without_memory_it_says_nothing(void **state)
{
    (void)state;
    for (unsigned n = 1;; n++) {
        oom_in = n;
        rn_bloom_begin(&blooms, CONTAINER);
        add(CONTAINER, 0, 10000);
        assert_int_equal(lacking(CONTAINER, 0, 10000), 0);
        if (oom_in)
            break;
        assert_int_equal(lacking(CONTAINER, 10000, 20000), 0);
    }
    oom_in = 0;
    assert_true(lacking(CONTAINER, 10000, 20000) > 9000);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_put_in_is_never_lacking),
        CASE(most_that_was_not_is),
        CASE(what_is_put_in_twice_takes_no_room),
        CASE(it_takes_ten_bits_a_key_or_nine_times_that),
        CASE(of_a_container_that_is_not_known_it_says_nothing),
        CASE(containers_do_not_mix),
        CASE(one_that_begins_again_is_empty),
        CASE(until_it_is_complete_it_says_nothing),
        CASE(one_that_was_dropped_does_not_begin_again),
        CASE(beyond_its_share_it_says_nothing),
        CASE(without_memory_it_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
