/* base_secret_test.c -- equal means equal, wiped means gone, kept means here.
 *
 * That the comparison takes the same time everywhere is shown by its steps: a
 * clock would lie on a busy machine.
 */
#include "base/secret.h"
#include "lib/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

static void any_difference_is_noticed(void **state)
{
    char a[64], b[64];

    (void)state;
    memset(a, 0x5a, sizeof(a));
    memcpy(b, a, sizeof(b));
    for (size_t len = 0; len <= sizeof(b); len++) {
        assert_true(rn_equal_secret(rn_view_of(a, len), rn_view_of(b, len)));
        for (size_t i = 0; i < sizeof(b) * 8; i++) {
            b[i / 8] = (char)(b[i / 8] ^ 1 << i % 8);
            assert_int_equal(
                rn_equal_secret(rn_view_of(a, len), rn_view_of(b, len)),
                i / 8 >= len);
            b[i / 8] = a[i / 8];
        }
    }
    assert_false(rn_equal_secret(rn_view_of(a, 64), rn_view_of(b, 63)));
    assert_true(rn_equal_secret(rn_view_of(a, 0), rn_view_of(NULL, 0)));
}

struct pair {
    char a[64], b[64];
    bool is_equal; /* found out */
};

static void compare(void *context)
{
    struct pair *p = context;

    p->is_equal = rn_equal_secret(rn_view_of(p->a, 61), rn_view_of(p->b, 61));
}

/* As it must not be. */
static void compare_in_haste(void *context)
{
    struct pair *p = context;
    size_t i = 0;

    while (i < 61 && p->a[i] == p->b[i])
        i++;
    p->is_equal = i == 61;
}

static void the_place_of_a_difference_costs_no_step(void **state)
{
    struct pair p = { 0 };
    long equal = steps_of(compare, &p), hasty = steps_of(compare_in_haste, &p);

    (void)state;
    if (equal < 0)
        skip(); /* nobody may be traced here */
    for (size_t i = 0; i < 61; i += 6) {
        p.b[i] = (char)(1 << i % 8);
        assert_int_equal(steps_of(compare, &p), equal);
        assert_true(steps_of(compare_in_haste, &p) < hasty);
        p.b[i] = 0;
    }
}

static void wiping_leaves_zeros_and_touches_nothing_else(void **state)
{
    char key[] = "..secret..";

    (void)state;
    rn_wipe_secret(key + 2, 6);
    assert_memory_equal(key, "..\0\0\0\0\0\0..", 10);
    rn_wipe_secret(NULL, 0);
}

/* The kernel's word on the memory at `at`: "rd wr mr ...". */
static void read_flags(const void *at, char out[256])
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    bool inside = false;

    assert_non_null(file);
    out[0] = '\0';
    while (!out[0] && fgets(line, sizeof(line), file)) {
        unsigned long from, to;

        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from <= (uintptr_t)at && (uintptr_t)at < to;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(out, 256, "%.255s", line + 8);
    }
    fclose(file);
}

/* Not if the limit is low, nor where a sanitizer takes the call for itself. */
static bool can_lock(void)
{
    static _Alignas(4096) char page[4096];
    char flags[256];
    bool can;

    (void)mlock(page, sizeof(page));
    read_flags(page, flags);
    can = strstr(flags, " lo");
    (void)munlock(page, sizeof(page));
    return can;
}

static void what_is_kept_is_in_no_core_and_not_swapped_out(void **state)
{
    char *secret = rn_secret_new(100), flags[256];

    (void)state;
    assert_non_null(secret);
    for (int i = 0; i < 100; i++)
        assert_int_equal(secret[i], 0);
    memset(secret, 1, 100);
    read_flags(secret, flags);
    assert_non_null(strstr(flags, " dd"));
    assert_int_equal(strstr(flags, " lo") != NULL, can_lock());
    rn_secret_free(secret, 100);
    rn_secret_free(NULL, 100);
}

static void a_limit_on_locked_memory_is_no_failure(void **state)
{
    struct rlimit before, none;
    char *secret;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
    secret = rn_secret_new(10000);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    assert_non_null(secret);
    memset(secret, 1, 10000);
    rn_secret_free(secret, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_in_no_core_and_not_swapped_out),
        cmocka_unit_test(a_limit_on_locked_memory_is_no_failure),
        cmocka_unit_test(any_difference_is_noticed),
        cmocka_unit_test(the_place_of_a_difference_costs_no_step),
        cmocka_unit_test(wiping_leaves_zeros_and_touches_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
