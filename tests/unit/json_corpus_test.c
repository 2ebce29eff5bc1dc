/* json_corpus_test.c -- the verdict on each text of tests/json/cases.txt.
 *
 * The names of the cases say what is tested.  A text that is taken must also
 * survive printing: printed without white space and parsed again it gives the
 * same tape, and printing that changes nothing more.  Texts are copied to
 * memory of exactly their size, so that the sanitizers see a step too far.
 */
#include "json/print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LINE_MAX_BYTES = 4096, CASES_MIN = 700 };

static int hex(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Replaces %HH by the byte and returns an exact copy the caller frees. */
static char *decode(const char *from, size_t *len)
{
    char *out = malloc(strlen(from) + 1), *exact;
    size_t n = 0;

    assert_non_null(out);
    for (; *from && *from != '\n'; from++) {
        if (*from == '%') {
            out[n++] = (char)(hex(from[1]) * 16 + hex(from[2]));
            from += 2;
        } else {
            out[n++] = *from;
        }
    }
    exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, out, n);
    free(out);
    *len = n;
    return exact;
}

static void print(const struct rn_json *j, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_value(&o, j, 0);
    assert_int_equal(rn_json_out_finish(&o), RN_OK);
}

static void assert_same_tape(const struct rn_json *a, const struct rn_json *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->nodes[i].kind, b->nodes[i].kind);
        assert_int_equal(a->nodes[i].span, b->nodes[i].span);
        assert_int_equal(a->nodes[i].count, b->nodes[i].count);
        assert_int_equal(a->nodes[i].escaped, b->nodes[i].escaped);
        if (a->nodes[i].kind < RN_JSON_ARRAY)
            assert_true(rn_view_eq(rn_json_text(a, i), rn_json_text(b, i)));
    }
}

static void survives_printing(const struct rn_json *j)
{
    struct rn_buf once = RN_BUF_INIT(1 << 20), twice = RN_BUF_INIT(1 << 20);
    struct rn_json again;

    rn_json_init(&again, NULL);
    print(j, &once);
    assert_int_equal(rn_json_parse(&again, rn_buf_view(&once), NULL), RN_OK);
    assert_true(again.is_compact);
    assert_same_tape(j, &again);
    print(&again, &twice);
    assert_true(rn_view_eq(rn_buf_view(&once), rn_buf_view(&twice)));
    rn_buf_release(&once);
    rn_buf_release(&twice);
    rn_json_release(&again);
}

/* Returns false and says so if the verdict is not the expected one. */
static bool judge(const char *verdict, const char *name, struct rn_view text)
{
    enum rn_code expected = *verdict == 'a' ? RN_OK : RN_BAD_REQUEST;
    struct rn_err err = { 0 };
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, text, &err);
    if (rc != expected)
        print_error("%s: expected %s, got %s\n", name, verdict, err.text);
    if (rc == RN_OK)
        survives_printing(&j);
    else
        assert_ptr_equal(strstr(err.text, "JSON at offset "), err.text);
    rn_json_release(&j);
    return rc == expected;
}

static void every_verdict_is_as_written(void **state)
{
    FILE *f = fopen(RN_TEST_JSON_CASES, "r");
    char line[LINE_MAX_BYTES];
    int cases = 0, wrong = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        char *name = strchr(line, '\t'), *text;
        size_t len;
        if (*line == '#')
            continue;
        assert_non_null(name);
        *name++ = '\0';
        text = strchr(name, '\t');
        assert_non_null(text);
        *text++ = '\0';
        text = decode(text, &len);
        wrong += !judge(line, name, rn_view_of(text, len));
        free(text);
        cases++;
    }
    fclose(f);
    print_message("%d cases, %d wrong\n", cases, wrong);
    assert_int_equal(wrong, 0);
    assert_true(cases >= CASES_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verdict_is_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
