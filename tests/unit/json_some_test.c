/* json_some_test.c -- reading only some members of an object.
 *
 * Goal: what is wanted is on the tape as if all had been read.  Method: objects
 * made at random, full of brackets, quotes and backslashes inside strings, read
 * in whole and in part, and each wanted member compared by kind and text. Texts
 * lie at the end of memory of their own, so that a sanitizer sees a byte too
 * many; cut texts must do no harm.
 */
#include "base/prng.h"
#include "json/json.h"
#include "json/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 14, NAMES = 12, TREES = 20000 };

static const char *const names[NAMES] = {
    "id", "a", "b", "c", "n", "_ts", "", "{}", "[,", "k:1", "é", "long"
};

/* ---- making ----------------------------------------------------------------
 */

static void put(struct rn_buf *out, const char *text)
{
    assert_int_equal(rn_buf_add(out, rn_view_text(text)), RN_OK);
}

static void put_string(struct rn_buf *out, struct rn_prng *c)
{
    static const char *const parts[] = {
        "a",    "[",   "]",          "{",
        "}",    ",",   ":",          "\\\"",
        "\\\\", "\\n", "\\u0041",    "é",
        "\\/",  " ",   "\"quoted\"", "0123456789abcdef0123456789abcdef",
    };
    uint64_t n = rn_prng_below(c, 12);

    put(out, "\"");
    for (uint64_t i = 0; i < n; i++) {
        const char *part = parts[rn_prng_below(c, 16)];
        if (part[0] == '"') {
            put(out, "\\\"quoted\\\"");
            continue;
        }
        put(out, part);
    }
    put(out, "\"");
}

static void put_value(struct rn_buf *out, struct rn_prng *c, int depth)
{
    static const char *const words[] = { "1",    "-2.5e3", "true", "false",
                                         "null", "0",      "[]",   "{}" };
    uint64_t n = rn_prng_below(c, 5), kind = rn_prng_below(c, 4);

    if (depth == 0 || kind == 0) {
        put(out, words[rn_prng_below(c, 8)]);
    } else if (kind == 1) {
        put_string(out, c);
    } else {
        put(out, kind == 2 ? "[" : "{");
        for (uint64_t i = 0; i < n; i++) {
            char name[16];
            snprintf(name, sizeof(name), "%s\"m%d\":", i ? "," : "", (int)i);
            put(out, kind == 3 ? name : i ? "," : "");
            put_value(out, c, depth - 1);
        }
        put(out, kind == 2 ? "]" : "}");
    }
}

/* Some of the names, in any order, each once. */
static void put_object(struct rn_buf *out, struct rn_prng *c)
{
    uint64_t from = rn_prng_below(c, NAMES), step = 5;
    uint64_t n = rn_prng_below(c, NAMES + 1);

    put(out, "{");
    for (uint64_t i = 0; i < n; i++) {
        put(out, i ? ",\"" : "\"");
        put(out, names[(from + i * step) % NAMES]);
        put(out, "\":");
        put_value(out, c, 4);
    }
    put(out, "}");
}

/* ---- comparing -------------------------------------------------------------
 */

static void same_member(const struct rn_json *whole, const struct rn_json *some,
                        struct rn_view name)
{
    uint32_t a = rn_json_find(whole, 0, name), b = rn_json_find(some, 0, name);

    assert_int_equal(rn_json_kind(whole, a), rn_json_kind(some, b));
    assert_int_equal(rn_json_count(whole, a), rn_json_count(some, b));
    assert_true(rn_view_eq(rn_json_text(whole, a), rn_json_text(some, b)));
    if (a != RN_JSON_NONE)
        assert_int_equal(whole->nodes[a].span, some->nodes[b].span);
}

static void same_members(struct rn_view text, const struct rn_json_wanted *w)
{
    struct rn_json whole, some;

    rn_json_init(&whole, NULL);
    rn_json_init(&some, NULL);
    assert_int_equal(rn_json_parse(&whole, text, NULL), RN_OK);
    assert_int_equal(rn_json_parse_some(&some, text, w, NULL), RN_OK);
    assert_int_equal(rn_json_kind(&some, 0), RN_JSON_OBJECT);
    for (uint32_t i = 0; i < w->count; i++)
        same_member(&whole, &some, w->names[i]);
    rn_json_release(&whole);
    rn_json_release(&some);
}

static void what_is_wanted_is_read_as_in_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        struct rn_buf made = RN_BUF_INIT(TEXT_MAX);
        struct rn_json_wanted w = { .count = 0 };
        struct rn_view list[NAMES];
        struct rn_prng c;
        char *text;

        rn_prng_init(&c, seed);
        put_object(&made, &c);
        for (int i = 0; i < NAMES; i++) {
            if (rn_prng_percent(&c, 20))
                list[w.count++] = rn_view_text(names[i]);
        }
        w.names = list;
        text = malloc(made.len);
        assert_non_null(text);
        memcpy(text, made.at, made.len);
        same_members(rn_view_of(text, made.len), &w);
        free(text);
        rn_buf_release(&made);
    }
}

static void texts_of_any_form_are_read(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"a\":1}",
        "{\"b\":[{\"x\":\"]}\\\"\"}],\"a\":{\"a\":2}}",
        "{ \"a\" : 1 }",
        "{\"b\": 2, \"a\":1}",
        "{\"\\u0061\":1,\"b\":2}",
        "{\"b\":\"\\\\\",\"a\":\"\\\\\\\"\"}",
        "{\"b\":{\"a\":1},\"a\":[[[]]]}",
        "{\"b\":[1,2,3 ],\"a\":null}",
    };
    static const struct rn_view name = { "a", 1 };
    const struct rn_json_wanted w = { &name, 1 };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        same_members(rn_view_text(texts[i]), &w);
}

static void what_is_no_object_is_reported(void **state)
{
    static const char *const texts[] = {
        "",       "{",        "{\"a\"",     "{\"b\":[1,2}", "{\"b\":\"x", "{,}",
        "{\"b\"", "{\"b\":1", "{\"b\":1,}", "nope",         "[1",
    };
    static const struct rn_view name = { "a", 1 };
    const struct rn_json_wanted w = { &name, 1 };
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(
            rn_json_parse_some(&j, rn_view_text(texts[i]), &w, NULL),
            RN_BAD_REQUEST);
    assert_int_equal(rn_json_parse_some(&j, RN_LIT("[1]"), &w, NULL), RN_OK);
    assert_int_equal(rn_json_kind(&j, 0), RN_JSON_ARRAY);
    rn_json_release(&j);
}

static void cut_texts_do_no_harm(void **state)
{
    static const struct rn_view name = { "never", 5 };
    const struct rn_json_wanted w = { &name, 1 };
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rn_buf made = RN_BUF_INIT(TEXT_MAX);
        struct rn_prng c;

        rn_prng_init(&c, seed);
        put_object(&made, &c);
        for (size_t n = 0; n < made.len; n++) {
            char *text = malloc(n + 1);
            assert_non_null(text);
            memcpy(text + 1, made.at, n);
            assert_int_equal(
                rn_json_parse_some(&j, rn_view_of(text + 1, n), &w, NULL),
                RN_BAD_REQUEST);
            free(text);
        }
        rn_buf_release(&made);
    }
    rn_json_release(&j);
}

/* Containers of every length about the size of a block, ended by a string with
 * brackets and backslashes at every place. */
static void containers_end_where_they_do(void **state)
{
    static const char end[] = "\"]}\\\\\\\"[{\"]";

    (void)state;
    for (size_t n = 0; n < 300; n++) {
        char text[400];
        size_t len = 0;

        text[len++] = '[';
        memset(text + len, ' ', n);
        len += n;
        memcpy(text + len, end, sizeof(end) - 1);
        len += sizeof(end) - 1;
        memset(text + len, ']', 70);
        assert_ptr_equal(rn_scan_past_container(text, text + len + 70),
                         text + len);
        assert_ptr_equal(rn_scan_past_container(text, text + len), text + len);
        assert_null(rn_scan_past_container(text, text + len - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wanted_is_read_as_in_whole),
        cmocka_unit_test(texts_of_any_form_are_read),
        cmocka_unit_test(what_is_no_object_is_reported),
        cmocka_unit_test(cut_texts_do_no_harm),
        cmocka_unit_test(containers_end_where_they_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
