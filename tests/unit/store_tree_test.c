/* store_tree_test.c -- a tree keeps its order, its balance and its past.
 *
 * Order and contents under random operations are compared with a model in
 * tests/store/conformance_model.c, through the store that the tree carries.
 * Here is what that cannot see: the shape, copies, and lack of memory.
 */
#include "lib/oom.h"
#include "store/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static struct rn_view number_key(char out[16], unsigned n)
{
    return rn_view_of(out, (size_t)snprintf(out, 16, "%08u", n));
}

static void put_number(struct rn_tree *t, unsigned n)
{
    char key[16];

    assert_int_equal(rn_tree_put(t, number_key(key, n), RN_LIT("v")), RN_OK);
}

static void del_number(struct rn_tree *t, unsigned n)
{
    char key[16];

    assert_int_equal(rn_tree_del(t, number_key(key, n)), RN_OK);
}

/* The nodes on the path that a change of `n` in a copy of the tree walks: for
 * each the copy allocates three, and three for the end, and the entry. */
static unsigned path_length(struct rn_tree *t, unsigned n)
{
    char key[16];

    for (unsigned fail = 1;; fail++) {
        struct rn_tree copy = rn_tree_copy(t);
        enum rn_code rc;

        oom_in = fail;
        rc = rn_tree_put(&copy, number_key(key, n), RN_LIT("v"));
        oom_in = 0;
        rn_tree_release(&copy);
        if (rc == RN_OK)
            return (fail - 2) / 3 - 1;
        assert_int_equal(rc, RN_NOMEM);
    }
}

/* The promise of tree.h, with the logarithm rounded up. */
static void assert_balanced(struct rn_tree *t, unsigned from, unsigned to,
                            unsigned step)
{
    unsigned log2 = 0;

    while ((rn_tree_count(t) + 1) >> log2 != 0)
        log2++;
    for (unsigned n = from; n < to; n += step)
        assert_in_range(path_length(t, n), 1, log2 * 241 / 100 + 1);
}

static void paths_stay_short_whatever_the_order(void **state)
{
    enum { N = 4096 };
    struct rn_tree up = { 0 }, down = { 0 }, zigzag = { 0 };

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        put_number(&up, i);
        put_number(&down, N - 1 - i);
        put_number(&zigzag, i % 2 ? i / 2 : N - 1 - i / 2);
    }
    assert_balanced(&up, 0, N, 61);
    assert_balanced(&down, 0, N, 61);
    assert_balanced(&zigzag, 0, N, 61);
    for (unsigned i = 0; i < N - 100; i++) {
        del_number(&up, i);
        del_number(&down, N - 1 - i);
        del_number(&zigzag, i % 2 ? 100 + i / 2 : N - 1 - i / 2);
    }
    assert_int_equal(rn_tree_count(&up), 100);
    assert_balanced(&up, N - 100, N, 1);
    assert_balanced(&down, 0, 100, 1);
    rn_tree_release(&up);
    rn_tree_release(&down);
    rn_tree_release(&zigzag);
}

static uint64_t sum_of(const struct rn_tree *t)
{
    const struct rn_key_interval all = { 0 };
    const struct rn_tree_entry *e = NULL;
    uint64_t sum = 0;

    while ((e = rn_tree_next(t, &all, e))) {
        for (size_t i = 0; i < e->key.len; i++)
            sum = sum * 10 + (uint64_t)(e->key.at[i] - '0');
    }
    return sum;
}

static void a_copy_stays_what_it_was(void **state)
{
    enum { COPIES = 40 };
    struct rn_tree t = { 0 }, copies[COPIES];
    uint64_t sums[COPIES];

    (void)state;
    for (unsigned i = 0; i < COPIES; i++) {
        for (unsigned j = 0; j < 50; j++)
            put_number(&t, i * 37 % 101 * 100 + j);
        if (i % 3 == 0)
            del_number(&t, i * 37 % 101 * 100 + 7);
        copies[i] = rn_tree_copy(&t);
        sums[i] = sum_of(&t);
    }
    rn_tree_release(&t);
    for (unsigned i = 0; i < COPIES; i++) {
        unsigned at = i * 7 % COPIES;
        assert_int_equal(sum_of(&copies[at]), sums[at]);
        rn_tree_release(&copies[at]);
    }
}

/* What makes a transaction of many writes cheap. */
static void a_tree_changes_in_place_what_it_does_not_share(void **state)
{
    enum { N = 4096, CHANGES = 1000, LIMIT = 1 << 20 };
    struct rn_tree t = { 0 }, before;
    uint64_t sum;
    char key[16];

    (void)state;
    for (unsigned i = 0; i < N; i++)
        put_number(&t, i);
    before = rn_tree_copy(&t);
    sum = sum_of(&before);
    for (unsigned i = 0; i < N; i++)
        put_number(&t, i); /* now it shares no node */
    oom_in = LIMIT;
    for (unsigned i = 0; i < CHANGES; i++)
        assert_int_equal(
            rn_tree_put(&t, number_key(key, i * 37 % N), RN_LIT("w")), RN_OK);
    assert_in_range(LIMIT - oom_in, CHANGES, CHANGES + 50); /* the entries */
    for (unsigned i = 0; i < CHANGES; i++) {
        del_number(&t, i);
        put_number(&t, N + i);
    }
    assert_in_range(LIMIT - oom_in, 2 * CHANGES, 2 * CHANGES + 50);
    oom_in = 0;
    assert_int_equal(sum_of(&before), sum);
    rn_tree_release(&before);
    rn_tree_release(&t);
}

static void counts_and_bytes_are_kept(void **state)
{
    struct rn_tree t = { 0 };

    (void)state;
    assert_int_equal(rn_tree_count(&t), 0);
    assert_int_equal(rn_tree_bytes(&t), 0);
    assert_int_equal(rn_tree_put(&t, RN_LIT("a"), RN_LIT("1234")), RN_OK);
    assert_int_equal(rn_tree_put(&t, RN_LIT("bb"), RN_LIT("")), RN_OK);
    assert_int_equal(rn_tree_put(&t, RN_LIT("a"), RN_LIT("12")), RN_OK);
    assert_int_equal(rn_tree_count(&t), 2);
    assert_int_equal(rn_tree_bytes(&t), 5);
    assert_int_equal(rn_tree_del(&t, RN_LIT("a")), RN_OK);
    assert_int_equal(rn_tree_del(&t, RN_LIT("a")), RN_NOT_FOUND);
    assert_int_equal(rn_tree_bytes(&t), 2);
    rn_tree_release(&t);
    assert_int_equal(rn_tree_count(&t), 0);
}

static void a_tombstone_is_an_entry_that_says_gone(void **state)
{
    struct rn_tree t = { 0 };

    (void)state;
    assert_int_equal(rn_tree_put(&t, RN_LIT("a"), RN_LIT("1")), RN_OK);
    assert_int_equal(rn_tree_put_tombstone(&t, RN_LIT("a")), RN_OK);
    assert_true(rn_tree_find(&t, RN_LIT("a"))->gone);
    assert_int_equal(rn_tree_put(&t, RN_LIT("a"), RN_LIT("")), RN_OK);
    assert_false(rn_tree_find(&t, RN_LIT("a"))->gone);
    assert_null(rn_tree_find(&t, RN_LIT("aa")));
    rn_tree_release(&t);
}

/* Rotations included: growing and shrinking at one end needs all kinds. */
static void without_memory_the_tree_is_as_before(void **state)
{
    struct rn_tree t = { 0 };
    unsigned failures = 0;

    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        unsigned n = i < 300 ? i * 7 % 300 : i - 300;
        enum rn_code rc = RN_NOMEM;
        char key[16];

        for (unsigned fail = 1; rc == RN_NOMEM; fail++) {
            uint64_t before = sum_of(&t), count = rn_tree_count(&t);
            struct rn_tree copy = rn_tree_copy(&t), old = t;

            oom_in = fail;
            rc = i < 300 ? rn_tree_put(&copy, number_key(key, n), RN_LIT("v"))
                         : rn_tree_del(&copy, number_key(key, n));
            oom_in = 0;
            if (rc == RN_NOMEM) {
                failures++;
                assert_int_equal(sum_of(&copy), before);
                assert_int_equal(rn_tree_count(&copy), count);
                rn_tree_release(&copy);
            } else {
                t = copy;
                rn_tree_release(&old);
            }
        }
        assert_int_equal(rc, RN_OK);
    }
    assert_int_equal(rn_tree_count(&t), 0);
    assert_true(failures > 6000);
    rn_tree_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_stay_short_whatever_the_order),
        cmocka_unit_test(a_copy_stays_what_it_was),
        cmocka_unit_test(a_tree_changes_in_place_what_it_does_not_share),
        cmocka_unit_test(counts_and_bytes_are_kept),
        cmocka_unit_test(a_tombstone_is_an_entry_that_says_gone),
        cmocka_unit_test(without_memory_the_tree_is_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
