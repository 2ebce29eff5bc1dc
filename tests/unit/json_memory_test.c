/* json_memory_test.c -- no allocation may fail unnoticed, and none may leak.
 *
 * Each piece of work is run again and again with its first, second, third...
 * allocation failing, until a run meets no failure.  Every run but the last
 * must return RN_NOMEM, and every run must leave as many allocations as it
 * found.
 */
#include "lib/fault.h"
#include "json/path.h"
#include "json/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { NAMES = 200 };

/* Enough names for the table, escapes among them, and a growing tape. */
static char *big_text;

static int make_big_text(void **state)
{
    struct rn_buf b = RN_BUF_INIT(1 << 20);
    enum rn_code rc =
        rn_buf_printf(&b, "{\"nested\":{\"\\u0061\":1,\"b\":[[[],{}]]}");

    (void)state;
    for (int i = 0; !rc && i < NAMES; i++)
        rc = rn_buf_printf(&b, ", \"\\u006eame%d\":[%d]", i, i);
    if (!rc)
        rc = rn_buf_printf(&b, "}");
    big_text = rn_buf_take(&b);
    return rc == RN_OK ? 0 : -1;
}

static int free_big_text(void **state)
{
    (void)state;
    rn_free(big_text);
    return 0;
}

static enum rn_code parse_big(void)
{
    struct rn_err err = { 0 };
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, rn_view_text(big_text), &err);
    if (rc)
        assert_int_equal(err.code, rc);
    assert_int_equal(rn_json_count(&j, 0), rc ? 0 : NAMES + 1);
    rn_json_release(&j);
    return rc;
}

static enum rn_code copy_strings(void)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_view text = rn_view_text("[\"abc\",\"\\n\"]"), out;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, text, NULL);
    if (!rc)
        rc = rn_json_string_get(&j, 1, &arena, &out); /* needs none */
    if (!rc)
        rc = rn_json_string_get(&j, 2, &arena, &out);
    rn_arena_clear(&arena);
    rn_arena_release(&arena);
    if (!rc)
        rc = rn_json_string_copy(&j, 1, &arena, &out);
    rn_arena_release(&arena);
    rn_json_release(&j);
    return rc;
}

static enum rn_code parse_path(void)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_json_path path;
    char text[2048];
    enum rn_code rc;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 2 ? 'a' : '/';
    rc =
        rn_json_path_parse(rn_view_of(text, sizeof(text)), &arena, &path, NULL);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code print_big(void)
{
    struct rn_buf buf = RN_BUF_INIT(1 << 20);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, rn_view_text(big_text), NULL);
    if (!rc) {
        rn_json_out_array_begin(&o);
        rn_json_out_value(&o, &j, 0);
        rn_json_out_double(&o, 0.1);
        rn_json_out_string(&o, RN_LIT("\n"));
        rn_json_out_array_end(&o);
        rc = rn_json_out_finish(&o);
    }
    rn_json_release(&j);
    rn_buf_release(&buf);
    return rc;
}

static void fail_each_allocation(enum rn_code (*work)(void), const char *name)
{
    long live = rn_fault_live(), nth = 1;
    enum rn_code rc;

    for (;; nth++) {
        rn_fault_arm(nth);
        rc = work();
        assert_int_equal(rn_fault_live(), live);
        if (!rn_fault_struck())
            break;
        assert_int_equal(rc, RN_NOMEM);
    }
    rn_fault_arm(0);
    assert_int_equal(rc, RN_OK);
    assert_true(nth > 1);
    print_message("%s: %ld allocations\n", name, nth - 1);
}

static void parsing_survives_every_failed_allocation(void **state)
{
    (void)state;
    fail_each_allocation(parse_big, "parse");
}

static void copying_survives_every_failed_allocation(void **state)
{
    (void)state;
    fail_each_allocation(copy_strings, "copy");
}

static void a_path_survives_every_failed_allocation(void **state)
{
    (void)state;
    fail_each_allocation(parse_path, "path");
}

static void printing_survives_every_failed_allocation(void **state)
{
    (void)state;
    fail_each_allocation(print_big, "print");
}

/* After a failure the same struct parses the same text. */
static void memory_that_comes_back_is_used(void **state)
{
    struct rn_view text = rn_view_text(big_text);
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (long nth = 1;; nth++) {
        rn_fault_arm(nth);
        if (rn_json_parse(&j, text, NULL) == RN_OK)
            break;
        rn_fault_arm(0);
        assert_int_equal(rn_json_parse(&j, text, NULL), RN_OK);
        rn_json_release(&j);
    }
    rn_fault_arm(0);
    rn_json_release(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_survives_every_failed_allocation),
        cmocka_unit_test(copying_survives_every_failed_allocation),
        cmocka_unit_test(a_path_survives_every_failed_allocation),
        cmocka_unit_test(printing_survives_every_failed_allocation),
        cmocka_unit_test(memory_that_comes_back_is_used),
    };
    return cmocka_run_group_tests(tests, make_big_text, free_big_text);
}
