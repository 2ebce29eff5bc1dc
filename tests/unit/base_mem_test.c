/* base_mem_test.c -- memory has a ceiling, one owner, and may run out.
 *
 * The allocator is wrapped (ld --wrap), so that the n-th allocation can be made
 * to fail; a failed call must leave its object as it was.  That nothing leaks
 * or is used after its end is for the address sanitizer to say.
 */
#include "base/mem.h"

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- the failing allocator ----------------------------------------------- */

static int fail_at; /* 1 is the next; 0 is never */

static bool fails(void)
{
    return fail_at > 0 && --fail_at == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *at, size_t size)
{
    return fails() ? NULL : __real_realloc(at, size);
}

/* ---- views --------------------------------------------------------------- */

static void views_order_as_unsigned_bytes_shorter_first(void **state)
{
    static const struct rn_view rising[] = {
        { NULL, 0 },   { "\0", 1 },   { "a", 1 },
        { "a\0", 2 },  { "ab", 2 },   { "b", 1 },
        { "\x7f", 1 }, { "\x80", 1 }, { "\xff\xff", 2 },
    };
    const int n = (int)(sizeof(rising) / sizeof(rising[0]));

    (void)state;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            int order = rn_view_compare(rising[i], rising[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
            assert_int_equal(rn_view_eq(rising[i], rising[k]), i == k);
        }
    }
}

static void a_view_starts_with_its_prefixes_only(void **state)
{
    (void)state;
    assert_true(rn_view_starts(RN_LIT("abc"), RN_LIT("")));
    assert_true(rn_view_starts(RN_LIT("abc"), RN_LIT("ab")));
    assert_true(rn_view_starts(RN_LIT("abc"), rn_view_text("abc")));
    assert_false(rn_view_starts(RN_LIT("abc"), RN_LIT("abcd")));
    assert_false(rn_view_starts(RN_LIT("abc"), RN_LIT("b")));
    assert_true(rn_view_starts(rn_view_of(NULL, 0), rn_view_of(NULL, 0)));
}

/* ---- buffers ------------------------------------------------------------- */

static void a_buffer_grows_to_its_ceiling_and_no_further(void **state)
{
    struct rn_buf b = RN_BUF_INIT(1000);

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(rn_buf_add(&b, RN_LIT("x")), RN_OK);
    assert_int_equal(rn_buf_add(&b, RN_LIT("x")), RN_TOO_LARGE);
    assert_int_equal(rn_buf_reserve(&b, SIZE_MAX), RN_TOO_LARGE);
    assert_int_equal(b.len, 1000);
    assert_int_equal(rn_buf_add(&b, RN_LIT("")), RN_OK);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(b.at[i], 'x');
    rn_buf_release(&b);
}

static void a_buffer_survives_the_lack_of_memory(void **state)
{
    struct rn_buf b = RN_BUF_INIT(4096);
    char big[300] = { 0 };

    (void)state;
    fail_at = 1;
    assert_int_equal(rn_buf_add(&b, RN_LIT("first")), RN_NOMEM);
    assert_null(b.at);
    assert_int_equal(rn_buf_add(&b, RN_LIT("first")), RN_OK);
    fail_at = 1;
    assert_int_equal(rn_buf_add(&b, rn_view_of(big, sizeof(big))), RN_NOMEM);
    assert_true(rn_view_eq(rn_buf_view(&b), RN_LIT("first")));
    fail_at = 1;
    assert_int_equal(rn_buf_printf(&b, "%300d", 1), RN_NOMEM);
    assert_true(rn_view_eq(rn_buf_view(&b), RN_LIT("first")));
    fail_at = 0;
    rn_buf_release(&b);
}

static void printing_appends_without_the_nul(void **state)
{
    struct rn_buf b = RN_BUF_INIT(16);

    (void)state;
    assert_int_equal(rn_buf_printf(&b, "%s-%d", "ab", 12), RN_OK);
    assert_int_equal(rn_buf_printf(&b, "%s", ""), RN_OK);
    assert_int_equal(rn_buf_printf(&b, "!"), RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&b), RN_LIT("ab-12!")));
    assert_int_equal(rn_buf_printf(&b, "%20d", 1), RN_TOO_LARGE);
    assert_true(rn_view_eq(rn_buf_view(&b), RN_LIT("ab-12!")));
    rn_buf_release(&b);
}

static void a_counted_text_has_its_length_before_it(void **state)
{
    static char big[UINT16_MAX + 1];
    struct rn_buf b = RN_BUF_INIT(300);

    (void)state;
    assert_int_equal(rn_buf_add_counted(&b, RN_LIT("ab")), RN_OK);
    assert_int_equal(rn_buf_add_counted(&b, RN_LIT("")), RN_OK);
    assert_int_equal(rn_buf_add_counted(&b, rn_view_of(big, 258)), RN_OK);
    assert_int_equal(b.len, 4 + 2 + 260);
    assert_memory_equal(b.at, "\0\2ab\0\0\1\2", 8);
    /* Whole or not at all. */
    assert_int_equal(rn_buf_add_counted(&b, rn_view_of(big, 33)), RN_TOO_LARGE);
    assert_int_equal(b.len, 266);
    b.ceiling = SIZE_MAX / 2;
    assert_int_equal(rn_buf_add_counted(&b, rn_view_of(big, sizeof(big))),
                     RN_TOO_LARGE);
    rn_buf_release(&b);
}

static void taking_moves_the_bytes_out(void **state)
{
    struct rn_buf b = RN_BUF_INIT(64);
    char *taken;

    (void)state;
    assert_int_equal(rn_buf_add(&b, RN_LIT("mine\0now")), RN_OK);
    taken = rn_buf_take(&b);
    assert_memory_equal(taken, "mine\0now", 8);
    assert_null(b.at);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.ceiling, 64);
    assert_int_equal(rn_buf_add(&b, RN_LIT("again")), RN_OK);
    assert_memory_equal(taken, "mine", 4);
    rn_free(taken);
    rn_buf_release(&b);
}

static void swapping_moves_memory_and_not_ceilings(void **state)
{
    struct rn_buf a = RN_BUF_INIT(1000), b = RN_BUF_INIT(2000);
    char *at;

    (void)state;
    assert_int_equal(rn_buf_add(&a, RN_LIT("text")), RN_OK);
    at = a.at;
    rn_buf_swap(&a, &b);
    assert_null(a.at);
    assert_int_equal(a.room, 0);
    assert_int_equal(a.ceiling, 1000);
    assert_ptr_equal(b.at, at);
    assert_int_equal(b.len, 0);
    assert_true(b.room >= 4);
    assert_int_equal(b.ceiling, 2000);
    rn_buf_release(&b);
}

static void clearing_keeps_the_memory_releasing_does_not(void **state)
{
    struct rn_buf b = RN_BUF_INIT(64);
    char *at;

    (void)state;
    assert_int_equal(rn_buf_add(&b, RN_LIT("x")), RN_OK);
    at = b.at;
    rn_buf_clear(&b);
    assert_int_equal(b.len, 0);
    assert_int_equal(rn_buf_add(&b, RN_LIT("y")), RN_OK);
    assert_ptr_equal(b.at, at);
    rn_buf_release(&b);
    assert_null(b.at);
    assert_int_equal(b.ceiling, 64);
    rn_buf_release(&b);
}

/* ---- objects and arenas -------------------------------------------------- */

static void a_new_object_is_zero_or_absent(void **state)
{
    uint64_t *object = rn_new(sizeof(*object));

    (void)state;
    assert_non_null(object);
    assert_int_equal(*object, 0);
    rn_free(object);
    rn_free(NULL);
    fail_at = 1;
    assert_null(rn_new(8));
    fail_at = 0;
}

static void an_arena_gives_aligned_pieces_that_do_not_overlap(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(1 << 20);
    char *pieces[200];

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = rn_arena_alloc(&a, i * 7);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)i, i * 7);
    }
    for (size_t i = 0; i < 200; i++) {
        for (size_t k = 0; k < i * 7; k++)
            assert_int_equal((unsigned char)pieces[i][k], i);
    }
    rn_arena_release(&a);
}

static void an_arena_stops_at_its_ceiling(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(10000);

    (void)state;
    assert_null(rn_arena_alloc(&a, 10001));
    assert_null(rn_arena_alloc(&a, SIZE_MAX));
    assert_non_null(rn_arena_alloc(&a, 9000));
    assert_null(rn_arena_alloc(&a, 1001));
    assert_non_null(rn_arena_alloc(&a, 1000));
    assert_null(rn_arena_copy(&a, RN_LIT("x")).at);
    rn_arena_release(&a);
    assert_int_equal(a.used, 0);
    assert_non_null(rn_arena_alloc(&a, 10000));
    rn_arena_release(&a);
}

static void an_arena_survives_the_lack_of_memory(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(1 << 20);
    struct rn_view kept;

    (void)state;
    fail_at = 1;
    assert_null(rn_arena_alloc(&a, 100));
    kept = rn_arena_copy(&a, RN_LIT("kept"));
    assert_true(rn_view_eq(kept, RN_LIT("kept")));
    fail_at = 1;
    assert_null(rn_arena_alloc(&a, 100000));
    fail_at = 0;
    assert_true(rn_view_eq(kept, RN_LIT("kept")));
    assert_non_null(rn_arena_alloc(&a, 100000));
    rn_arena_release(&a);
}

static void clearing_an_arena_keeps_its_first_slab(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(1 << 20);
    void *first = rn_arena_alloc(&a, 10);

    (void)state;
    for (int i = 0; i < 50; i++)
        assert_non_null(rn_arena_alloc(&a, 4000));
    rn_arena_clear(&a);
    assert_int_equal(a.used, 0);
    fail_at = 1; /* it needs no memory for this */
    assert_ptr_equal(rn_arena_alloc(&a, 10), first);
    fail_at = 0;
    rn_arena_release(&a);
    rn_arena_clear(&a);
    rn_arena_release(&a);
}

static void an_empty_copy_is_not_a_failure(void **state)
{
    struct rn_arena a = RN_ARENA_INIT(100);
    struct rn_view v = rn_arena_copy(&a, rn_view_of(NULL, 0));

    (void)state;
    assert_non_null(v.at);
    assert_int_equal(v.len, 0);
    rn_arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_order_as_unsigned_bytes_shorter_first),
        cmocka_unit_test(a_view_starts_with_its_prefixes_only),
        cmocka_unit_test(a_buffer_grows_to_its_ceiling_and_no_further),
        cmocka_unit_test(a_buffer_survives_the_lack_of_memory),
        cmocka_unit_test(printing_appends_without_the_nul),
        cmocka_unit_test(a_counted_text_has_its_length_before_it),
        cmocka_unit_test(taking_moves_the_bytes_out),
        cmocka_unit_test(swapping_moves_memory_and_not_ceilings),
        cmocka_unit_test(clearing_keeps_the_memory_releasing_does_not),
        cmocka_unit_test(a_new_object_is_zero_or_absent),
        cmocka_unit_test(an_arena_gives_aligned_pieces_that_do_not_overlap),
        cmocka_unit_test(an_arena_stops_at_its_ceiling),
        cmocka_unit_test(an_arena_survives_the_lack_of_memory),
        cmocka_unit_test(clearing_an_arena_keeps_its_first_slab),
        cmocka_unit_test(an_empty_copy_is_not_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
