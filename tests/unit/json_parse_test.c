/* json_parse_test.c -- the tape, the limits, and what is said on refusal.
 *
 * The corpus test asks whether a text is taken; this one asks what comes of it.
 * Tapes are compared as one line of text (see draw), sentences word for word,
 * and every limit is met exactly and then exceeded by one.
 */
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The tape as text: kind letter, count of a container, text of a scalar, a
 * star for an escaped string, span of a container. */
static void draw(const struct rn_json *j, char *out, size_t room)
{
    size_t at = 0;

    *out = '\0';
    for (uint32_t i = 0; i < j->count; i++) {
        const struct rn_json_node *n = &j->nodes[i];
        struct rn_view text = rn_json_text(j, i);
        if (n->kind >= RN_JSON_ARRAY) {
            at += (size_t)snprintf(out + at, room - at, "%c%u/%u ",
                                   n->kind == RN_JSON_ARRAY ? 'A' : 'O',
                                   n->count, n->span);
            continue;
        }
        at += (size_t)snprintf(out + at, room - at, "%c%s%.*s ",
                               "?nftNS"[n->kind], n -> escaped ? "*" : "",
                               RN_FMT(text));
    }
    if (at)
        out[at - 1] = '\0';
}

static enum rn_code parse(struct rn_json *j, const char *text,
                          struct rn_err *err)
{
    return rn_json_parse(j, rn_view_text(text), err);
}

static void the_tape_is_the_text_in_order(void **state)
{
    static const struct {
        const char *text, *tape;
    } cases[] = {
        { "null", "nnull" },
        { "[]", "A0/1" },
        { " {} ", "O0/1" },
        { "\"\"", "S" },
        { "-1.50e+1", "N-1.50e+1" },
        { "[1,[2,3],4]", "A3/6 N1 A2/3 N2 N3 N4" },
        { "{\"id\":\"a\",\"n\":[1,2]}", "O2/7 Sid Sa Sn A2/3 N1 N2" },
        { "{\"a\":{\"b\":{}},\"c\":[[]]}",
          "O2/8 Sa O1/3 Sb O0/1 Sc A1/2 A0/1" },
        { "[true,false,null,\"\\n\"]", "A4/5 ttrue ffalse nnull S*\\n" },
        { "[ { } , { \"x\" : [ ] } ]", "A2/5 O0/1 O1/3 Sx A0/1" },
    };
    struct rn_json j;
    char drawn[256];

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(parse(&j, cases[i].text, NULL), RN_OK);
        draw(&j, drawn, sizeof(drawn));
        assert_string_equal(drawn, cases[i].tape);
    }
    rn_json_release(&j);
}

static void a_container_keeps_its_whole_text(void **state)
{
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    assert_int_equal(parse(&j, " {\"a\": [1, 2] } ", NULL), RN_OK);
    assert_true(rn_view_eq(rn_json_text(&j, 0), RN_LIT("{\"a\": [1, 2] }")));
    assert_true(rn_view_eq(rn_json_text(&j, 2), RN_LIT("[1, 2]")));
    assert_int_equal(j.names, 1);
    rn_json_release(&j);
}

static void white_space_between_tokens_is_noticed(void **state)
{
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    assert_int_equal(parse(&j, "{\"a b\":[1,\" \"]}", NULL), RN_OK);
    assert_true(j.is_compact);
    assert_int_equal(parse(&j, "[1, 2]", NULL), RN_OK);
    assert_false(j.is_compact);
    assert_int_equal(parse(&j, "1\n", NULL), RN_OK);
    assert_false(j.is_compact);
    rn_json_release(&j);
}

static void a_refusal_says_where_and_why(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "JSON at offset 0 (line 1, byte 1): expected a value, but the "
              "text ends" },
        { "{\"a\":1 \"b\":2}", "JSON at offset 7 (line 1, byte 8): expected "
                               "',' or '}', not '\"'" },
        { "[1\n,2\n 3]", "JSON at offset 7 (line 3, byte 2): expected ',' or "
                         "']', not '3'" },
        { "[1,]", "JSON at offset 3 (line 1, byte 4): expected a value, not "
                  "']'" },
        { "[1", "JSON at offset 2 (line 1, byte 3): expected ',' or ']', but "
                "the text ends" },
        { "{1:2}", "JSON at offset 1 (line 1, byte 2): expected a name in "
                   "quotes, not '1'" },
        { "{\"a\",1}", "JSON at offset 4 (line 1, byte 5): expected ':', not "
                       "','" },
        { "1 x", "JSON at offset 2 (line 1, byte 3): expected nothing more, "
                 "not 'x'" },
        { "\xff", "JSON at offset 0 (line 1, byte 1): expected a value, not "
                  "byte 0xff" },
        { "[\"abc]", "JSON at offset 1 (line 1, byte 2): this string has no "
                     "end" },
        { "\"a\tb\"", "JSON at offset 2 (line 1, byte 3): the control "
                      "character 0x09 must be escaped" },
        { "\"a\xc0\x80\"", "JSON at offset 2 (line 1, byte 3): byte 0xc0 is "
                           "not UTF-8 here" },
        { "\"\\x\"", "JSON at offset 2 (line 1, byte 3): expected one of \" "
                     "\\ / b f n r t u after a backslash, not 'x'" },
        { "\"\\u12g4\"", "JSON at offset 2 (line 1, byte 3): expected four "
                         "hexadecimal digits after \\u" },
        { "\"\\ud800\"", "JSON at offset 2 (line 1, byte 3): half of a "
                         "surrogate pair stands alone" },
        { "[-]", "JSON at offset 2 (line 1, byte 3): expected a digit, not "
                 "']'" },
        { "[007]", "JSON at offset 1 (line 1, byte 2): a number may not begin "
                   "with a zero" },
        { "[1e400]", "JSON at offset 1 (line 1, byte 2): this number exceeds "
                     "what a double can hold" },
        { "\xef\xbb\xbf{]", "JSON at offset 4 (line 1, byte 5): expected a "
                            "name in quotes, not ']'" },
        { "{\"id\":1,\"i\\u0064\":2}", "JSON at offset 8 (line 1, byte 9): "
                                       "the name \"i\\u0064\" is there "
                                       "twice" },
    };
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_err err = { 0 };
        assert_int_equal(parse(&j, cases[i].text, &err), RN_BAD_REQUEST);
        assert_string_equal(err.text, cases[i].words);
        assert_int_equal(parse(&j, cases[i].text, NULL), RN_BAD_REQUEST);
        assert_int_equal(j.count, 0);
        assert_int_equal(rn_json_kind(&j, 0), RN_JSON_UNDEFINED);
    }
    rn_json_release(&j);
}

/* Every prefix of a text that is JSON only as a whole is refused. */
static void no_beginning_of_a_document_is_one(void **state)
{
    static const char text[] =
        "{\"id\":\"\\ud83d\\ude80\",\"n\":[-1.5e+10,true,false,null,{}],"
        "\"\xc3\xa9\":\"\xe6\x97\xa5\xf0\x9f\x9a\x80\"}";
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        char *exact = malloc(len + 1);
        assert_non_null(exact);
        memcpy(exact + 1, text, len); /* so that no end is aligned */
        assert_int_equal(rn_json_parse(&j, rn_view_of(exact + 1, len), NULL),
                         RN_BAD_REQUEST);
        free(exact);
    }
    assert_int_equal(parse(&j, text, NULL), RN_OK);
    rn_json_release(&j);
}

/* ---- limits -------------------------------------------------------------- */

static char *nested(const char *open, const char *middle, const char *close,
                    uint32_t depth)
{
    size_t each = strlen(open) + strlen(close);
    char *text = malloc(each * depth + strlen(middle) + 1), *at = text;

    assert_non_null(text);
    for (uint32_t i = 0; i < depth; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, middle);
    for (uint32_t i = 0; i < depth; i++)
        at = stpcpy(at, close);
    return text;
}

static void depth_is_taken_to_the_limit_and_no_deeper(void **state)
{
    static const struct {
        uint32_t limit, depth;
        enum rn_code rc;
    } cases[] = {
        { 0, 127, RN_OK },
        { 0, 128, RN_OK },
        { 0, 129, RN_BAD_REQUEST },
        { 0, 10000, RN_BAD_REQUEST },
        { 0, 1000000, RN_BAD_REQUEST },
        { 1, 1, RN_OK },
        { 1, 2, RN_BAD_REQUEST },
        { 1024, 1024, RN_OK },
        { 1024, 1025, RN_BAD_REQUEST },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_json_limits limits = { .depth = cases[i].limit };
        char *arrays = nested("[", "", "]", cases[i].depth);
        char *objects = nested("{\"a\":", "0", "}", cases[i].depth);
        struct rn_json j;
        rn_json_init(&j, &limits);
        assert_int_equal(parse(&j, arrays, NULL), cases[i].rc);
        assert_int_equal(parse(&j, objects, NULL), cases[i].rc);
        rn_json_release(&j);
        free(arrays);
        free(objects);
    }
}

static void depth_counts_what_is_open_not_what_there_was(void **state)
{
    struct rn_json_limits limits = { .depth = 2 };
    struct rn_json j;

    (void)state;
    rn_json_init(&j, &limits);
    assert_int_equal(parse(&j, "[[],[],{},{},[],[]]", NULL), RN_OK);
    assert_int_equal(parse(&j, "[[],[[]]]", NULL), RN_BAD_REQUEST);
    rn_json_release(&j);
}

static void every_limit_is_met_exactly(void **state)
{
    static const struct {
        struct rn_json_limits limits;
        const char *fits, *exceeds, *words;
        enum rn_code rc;
    } cases[] = {
        { { .bytes = 5 },
          "[1,2]",
          "[1,2] ",
          "6 bytes of JSON; at most 5",
          RN_TOO_LARGE },
        { { .nodes = 3 },
          "[1,2]",
          "[1,2,3]",
          "JSON at offset 5 (line 1, byte 6): more than 3 values and names",
          RN_TOO_LARGE },
        { { .nodes = 3 },
          "{\"a\":1}",
          "{\"a\":[1]}",
          "JSON at offset 6 (line 1, byte 7): more than 3 values and names",
          RN_TOO_LARGE },
        { { .names = 2 },
          "{\"a\":{\"b\":1}}",
          "[{\"a\":1},{\"b\":2},{\"c\":3}]",
          "JSON at offset 18 (line 1, byte 19): more than 2 names",
          RN_TOO_LARGE },
        { { .depth = 2 },
          "[[1]]",
          "[[[1]]]",
          "JSON at offset 2 (line 1, byte 3): more than 2 levels of nesting",
          RN_BAD_REQUEST },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_err err = { 0 };
        struct rn_json j;
        rn_json_init(&j, &cases[i].limits);
        assert_int_equal(parse(&j, cases[i].fits, &err), RN_OK);
        assert_int_equal(parse(&j, cases[i].exceeds, &err), cases[i].rc);
        assert_int_equal(err.code, cases[i].rc);
        assert_string_equal(err.text, cases[i].words);
        rn_json_release(&j);
    }
}

/* The densest text of 4 MiB: [0,0,...,0] */
static void no_text_of_four_megabytes_has_too_many_values(void **state)
{
    size_t len = (4 << 20) - 1;
    char *text = malloc(len + 1);
    struct rn_json j;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < len; i += 2) {
        text[i] = ',';
        text[i + 1] = '0';
    }
    text[0] = '[';
    text[len - 1] = ']';
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, rn_view_of(text, len), NULL), RN_OK);
    assert_int_equal(rn_json_count(&j, 0), (2 << 20) - 1);
    assert_int_equal(j.count, 2 << 20);
    rn_json_release(&j);
    free(text);
}

/* The most names: {"":0,"":0,...}, of which the last wins. */
static void no_text_of_four_megabytes_has_too_many_names(void **state)
{
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    size_t count = ((4 << 20) - 1) / 5, len = 5 * count + 1;
    char *text = malloc(len + 1);
    struct rn_json j;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + 5 * i, ",\"\":0", 5);
    text[0] = '{';
    text[len - 1] = '}';
    rn_json_init(&j, &limits);
    assert_int_equal(rn_json_parse(&j, rn_view_of(text, len), NULL), RN_OK);
    assert_int_equal(rn_json_count(&j, 0), 1);
    assert_int_equal(j.names, count);
    rn_json_release(&j);
    free(text);
}

static void the_same_tape_serves_again(void **state)
{
    char *big = nested("[1,", "2", "]", 100);
    struct rn_json j;
    const void *memory;

    (void)state;
    rn_json_init(&j, NULL);
    assert_int_equal(parse(&j, big, NULL), RN_OK);
    memory = j.nodes;
    assert_int_equal(parse(&j, "[1,2", NULL), RN_BAD_REQUEST);
    assert_int_equal(parse(&j, "[1,2]", NULL), RN_OK);
    assert_ptr_equal(j.nodes, memory);
    assert_int_equal(j.count, 3);
    rn_json_release(&j);
    assert_int_equal(rn_json_kind(&j, 0), RN_JSON_UNDEFINED);
    assert_int_equal(parse(&j, big, NULL), RN_OK); /* limits are kept */
    rn_json_release(&j);
    free(big);
}

/* ---- names that are there twice ------------------------------------------ */

/* {"n0":0,"n1":1,...} with `again`, if not negative, once more at the end.
 * The prefix and the suffix are meant to make fingerprints collide. */
static char *many_names(int count, const char *prefix, const char *suffix,
                        int again)
{
    struct rn_buf b = RN_BUF_INIT(16 << 20);
    enum rn_code rc = RN_OK;

    for (int i = 0; !rc && i < count; i++)
        rc = rn_buf_printf(&b, "%c\"%s%06d%s\":%d", i ? ',' : '{', prefix, i,
                           suffix, i);
    if (!rc && again >= 0)
        rc = rn_buf_printf(&b, ",\"%s%06d%s\":-1", prefix, again, suffix);
    if (!rc)
        rc = rn_buf_printf(&b, "}");
    assert_int_equal(rc, RN_OK);
    return rn_buf_take(&b);
}

static void a_repeated_name_is_found_among_any_number(void **state)
{
    static const int counts[] = { 1, 2, 7, 31, 62, 63, 64, 65, 66, 500, 5000 };
    static const char *const parts[][2] = {
        { "", "" },
        { "a_long_beginning", "a_long_ending" },
        { "\\u0061", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(counts) * COUNT(parts); i++) {
        int n = counts[i / COUNT(parts)];
        const char *const *part = parts[i % COUNT(parts)];
        int which[] = { -1, 0, n / 2, n - 1 };
        for (size_t w = 0; w < COUNT(which); w++) {
            char *text = many_names(n, part[0], part[1], which[w]);
            struct rn_json j;
            rn_json_init(&j, NULL);
            assert_int_equal(parse(&j, text, NULL),
                             which[w] < 0 ? RN_OK : RN_BAD_REQUEST);
            rn_json_release(&j);
            free(text);
        }
    }
}

/* The same unescaped name, written so that the table must unescape it. */
static void escapes_hide_no_repetition_among_many(void **state)
{
    static const struct {
        const char *more;
        enum rn_code rc;
    } cases[] = {
        { "\"\\u006b00\\u003042\":0}", RN_OK }, /* k00042, not k000042 */
        { "\"\\u006b000\\u003042\":0}", RN_BAD_REQUEST },
        { "\"\\u0000\":0,\"\\u0000\":1}", RN_BAD_REQUEST },
    };
    char *plain = many_names(200, "k", "", -1);
    struct rn_json j;

    (void)state;
    plain[strlen(plain) - 1] = ',';
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_buf b = RN_BUF_INIT(1 << 20);
        assert_int_equal(rn_buf_printf(&b, "%s%s", plain, cases[i].more),
                         RN_OK);
        assert_int_equal(rn_json_parse(&j, rn_buf_view(&b), NULL), cases[i].rc);
        rn_buf_release(&b);
    }
    rn_json_release(&j);
    free(plain);
}

static void the_last_wins_where_the_caller_says_so(void **state)
{
    static const struct {
        const char *text, *tape;
    } cases[] = {
        { "{\"a\":1,\"a\":2}", "O1/3 Sa N2" },
        { "{\"a\":1,\"b\":2,\"a\":3,\"a\":4}", "O2/5 Sb N2 Sa N4" },
        { "{\"a\":[1,{\"x\":1}],\"b\":{\"c\":1,\"c\":2},\"\\u0061\":[]}",
          "O2/7 Sb O1/3 Sc N2 S*\\u0061 A0/1" },
        { "[{\"a\":1,\"a\":2},{\"a\":3}]", "A2/7 O1/3 Sa N2 O1/3 Sa N3" },
        { "{\"a\":{\"b\":1,\"b\":2},\"c\":3}", "O2/7 Sa O1/3 Sb N2 Sc N3" },
    };
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_json j;
    char drawn[256];

    (void)state;
    rn_json_init(&j, &limits);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(parse(&j, cases[i].text, NULL), RN_OK);
        draw(&j, drawn, sizeof(drawn));
        assert_string_equal(drawn, cases[i].tape);
        assert_false(j.is_compact); /* its text says more than its tape */
    }
    rn_json_release(&j);
}

static void the_last_wins_among_many(void **state)
{
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    char *text = many_names(300, "k", "", 7);
    struct rn_buf b = RN_BUF_INIT(1 << 20);
    struct rn_json j;
    uint32_t found;

    (void)state;
    rn_json_init(&j, &limits);
    assert_int_equal(parse(&j, text, NULL), RN_OK);
    assert_int_equal(rn_json_count(&j, 0), 300);
    assert_int_equal(j.count, 601);
    found = rn_json_find(&j, 0, RN_LIT("k000007"));
    assert_true(rn_view_eq(rn_json_text(&j, found), RN_LIT("-1")));
    text[strlen(text) - 1] = ','; /* and a third time */
    assert_int_equal(rn_buf_printf(&b, "%s\"k000007\":-2}", text), RN_OK);
    assert_int_equal(rn_json_parse(&j, rn_buf_view(&b), NULL), RN_OK);
    assert_int_equal(rn_json_count(&j, 0), 300);
    found = rn_json_find(&j, 0, RN_LIT("k000007"));
    assert_true(rn_view_eq(rn_json_text(&j, found), RN_LIT("-2")));
    rn_json_release(&j);
    rn_buf_release(&b);
    free(text);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Not a speed test: quadratic would be 5,000,000,000 comparisons, a minute at
 * least; linear is some tens of milliseconds, sanitizers included. */
static void
a_hundred_thousand_names_are_not_compared_each_with_each(void **state)
{
    char *text = many_names(100000, "", "", -1);
    double before = cpu_seconds();
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    assert_int_equal(parse(&j, text, NULL), RN_OK);
    assert_true(cpu_seconds() - before < 10);
    rn_json_release(&j);
    free(text);
}

/* 200 objects of 64 long escaped names that differ in four digits only, put at
 * the place given as a number of escapes. */
static char *alike_names(int digits_after)
{
    struct rn_buf b = RN_BUF_INIT(16 << 20);
    enum rn_code rc = RN_OK;

    for (int i = 0; i < 200 * 64; i++) {
        if (!rc)
            rc = rn_buf_printf(&b, i == 0 ? "[{" : i % 64 ? "," : "},{");
        for (int n = 0; !rc && n < 18; n++)
            rc = rn_buf_printf(&b, n == digits_after ? "%s%04d" : "%s\\u0061",
                               n ? "" : "\"", i % 64);
        if (!rc)
            rc = rn_buf_printf(&b, "\":0");
    }
    if (!rc)
        rc = rn_buf_printf(&b, "}]");
    assert_int_equal(rc, RN_OK);
    return rn_buf_take(&b);
}

static double cheapest_parse(const char *text)
{
    double best = 1e9;
    struct rn_json j;

    rn_json_init(&j, NULL);
    for (int i = 0; i < 5; i++) {
        double before = cpu_seconds(), spent;
        assert_int_equal(parse(&j, text, NULL), RN_OK);
        spent = cpu_seconds() - before;
        if (spent < best)
            best = spent;
    }
    rn_json_release(&j);
    return best;
}

/* With the digits in the middle all fingerprints of an object are the same;
 * comparing each name with each was 17 times as dear. */
static void names_made_to_collide_cost_little_more(void **state)
{
    char *usual = alike_names(0), *evil = alike_names(9);
    double ratio = cheapest_parse(evil) / cheapest_parse(usual);

    (void)state;
    print_message("%.1f times the usual\n", ratio);
    assert_true(ratio < 5);
    free(usual);
    free(evil);
}

/* Whatever the seed, the verdict is the same. */
static void the_seed_changes_no_result(void **state)
{
    char *good = many_names(1000, "k", "", -1);
    char *bad = many_names(1000, "k", "", 500);

    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct rn_json_limits limits = { .seed = seed * 0x9e3779b97f4a7c15u };
        struct rn_json j;
        rn_json_init(&j, &limits);
        assert_int_equal(parse(&j, good, NULL), RN_OK);
        assert_int_equal(parse(&j, bad, NULL), RN_BAD_REQUEST);
        rn_json_release(&j);
    }
    free(good);
    free(bad);
}

static void the_seed_of_the_process_serves_all_that_have_none(void **state)
{
    struct rn_json_limits own = { .seed = 7 };
    struct rn_json j;

    (void)state;
    rn_json_seed_set(42);
    rn_json_init(&j, NULL);
    assert_int_equal(j.limits.seed, 42);
    assert_int_equal(rn_json_parse(&j, RN_LIT("{\"a\":1,\"b\":2}"), NULL),
                     RN_OK);
    assert_int_equal(rn_json_find(&j, 0, RN_LIT("b")), 3 + 1);
    rn_json_release(&j);
    rn_json_init(&j, &own);
    assert_int_equal(j.limits.seed, 7);
    rn_json_release(&j);
    rn_json_seed_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tape_is_the_text_in_order),
        cmocka_unit_test(a_container_keeps_its_whole_text),
        cmocka_unit_test(white_space_between_tokens_is_noticed),
        cmocka_unit_test(a_refusal_says_where_and_why),
        cmocka_unit_test(no_beginning_of_a_document_is_one),
        cmocka_unit_test(depth_is_taken_to_the_limit_and_no_deeper),
        cmocka_unit_test(depth_counts_what_is_open_not_what_there_was),
        cmocka_unit_test(every_limit_is_met_exactly),
        cmocka_unit_test(no_text_of_four_megabytes_has_too_many_values),
        cmocka_unit_test(no_text_of_four_megabytes_has_too_many_names),
        cmocka_unit_test(the_same_tape_serves_again),
        cmocka_unit_test(a_repeated_name_is_found_among_any_number),
        cmocka_unit_test(escapes_hide_no_repetition_among_many),
        cmocka_unit_test(the_last_wins_where_the_caller_says_so),
        cmocka_unit_test(the_last_wins_among_many),
        cmocka_unit_test(
            a_hundred_thousand_names_are_not_compared_each_with_each),
        cmocka_unit_test(names_made_to_collide_cost_little_more),
        cmocka_unit_test(the_seed_changes_no_result),
        cmocka_unit_test(the_seed_of_the_process_serves_all_that_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
