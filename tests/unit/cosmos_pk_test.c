/* cosmos_pk_test.c -- a partition key is the same to all clients.
 *
 * Captured headers (tests/vectors/rest-vectors.json) and a table of our own
 * are read and compared component by component; refused ones have one flaw
 * each.  Generated keys go through text and bytes and come back.
 */
#include "cosmos/pk.h"

#include "base/prng.h"
#include "lib/vectors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct rn_arena arena = { .ceiling = 16 << 20 };

static int release(void **state)
{
    (void)state;
    rn_arena_release(&arena);
    return 0;
}

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

#define STRING(s)                                                              \
    {                                                                          \
        .type = RN_PK_STRING, .text = {(s), sizeof(s) - 1 }                    \
    }
#define NUMBER(n)                                                              \
    {                                                                          \
        .type = RN_PK_NUMBER, .number = (n)                                    \
    }
#define OTHER(t)                                                               \
    {                                                                          \
        .type = RN_PK_##t                                                      \
    }

static void assert_parses(struct rn_view text, const struct rn_pk *want)
{
    struct rn_err err = { 0 };
    struct rn_pk pk;

    print_message("# %.*s\n", RN_FMT(text));
    if (rn_pk_parse(text, &arena, &pk, &err))
        fail_msg("%s", err.text);
    assert_int_equal(pk.count, want->count);
    assert_true(rn_pk_eq(&pk, want));
}

static void captured_headers_are_read(void **state)
{
    static const struct rn_pk want[] = {
        { 1, { STRING("p1") } },
        { 1, { STRING("p\"é日") } },
        { 1, { NUMBER(1.5) } },
        { 1, { OTHER(NULL) } },
        { 1, { OTHER(UNDEFINED) } },
        { 0, { { 0 } } },
        { 2, { STRING("x"), NUMBER(2) } },
        { 2, { STRING("x"), OTHER(UNDEFINED) } },
        { 1, { STRING("x") } },
    };
    struct vectors v;
    uint32_t list;

    (void)state;
    vectors_load(&v, "rest-vectors.json");
    list = vectors_member(&v, 0, "partition_key_headers");
    assert_int_equal(rn_json_count(&v.json, list),
                     sizeof(want) / sizeof(want[0]));
    for (uint32_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        assert_parses(
            vectors_string(&v, rn_json_at(&v.json, list, i), "header"),
            &want[i]);
    vectors_release(&v);
}

static void other_spellings_mean_the_same(void **state)
{
    static const struct {
        const char *text;
        struct rn_pk want;
    } good[] = {
        { " [ \"a\" , 1 ] ", { 2, { STRING("a"), NUMBER(1) } } },
        { "[\n1\r\n]\t", { 1, { NUMBER(1) } } },
        { "[true]", { 1, { OTHER(TRUE) } } },
        { "[false]", { 1, { OTHER(FALSE) } } },
        { "[ { } ]", { 1, { OTHER(UNDEFINED) } } },
        { "[ ]", { 0, { { 0 } } } },
        { "[\"\"]", { 1, { STRING("") } } },
        { "[5.0]", { 1, { NUMBER(5) } } },
        { "[5e0]", { 1, { NUMBER(5) } } },
        { "[0.5E+1]", { 1, { NUMBER(5) } } },
        { "[-1]", { 1, { NUMBER(-1) } } },
        { "[-0.0]", { 1, { NUMBER(-0.0) } } },
        { "[1e308]", { 1, { NUMBER(1e308) } } },
        { "[1e-400]", { 1, { NUMBER(0) } } },
        { "[9007199254740993]", { 1, { NUMBER(9007199254740992.0) } } },
        { "[\"1\"]", { 1, { STRING("1") } } },
        { "[\"鱀\"]", { 1, { STRING("鱀") } } },
        { "[\"\\u9c40\"]", { 1, { STRING("鱀") } } },
        { "[\"\\ud83d\\ude00\"]", { 1, { STRING("😀") } } },
        { "[\"\\uD83D\\uDE00\"]", { 1, { STRING("😀") } } },
        { "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
          { 1, { STRING("\"\\/\b\f\n\r\t") } } },
        { "[\"\\u0000\"]", { 1, { STRING("\0") } } },
        { "[\"a\",null,{}]",
          { 3, { STRING("a"), OTHER(NULL), OTHER(UNDEFINED) } } },
        /* As Go writes them. */
        { "[\"\\x00\\x7f\"]", { 1, { STRING("\0\x7f") } } },
        { "[\"\\a\\v\"]", { 1, { STRING("\a\v") } } },
        { "[\"\\U0001f600\"]", { 1, { STRING("😀") } } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_parses(rn_view_text(good[i].text), &good[i].want);
}

static const struct {
    const char *flaw, *text;
} bad_keys[] = {
    { "empty", "" },
    { "a blank", " " },
    { "no array", "\"p1\"" },
    { "a bare word", "p1" },
    { "an object", "{\"a\":1}" },
    { "not closed", "[\"p1\"" },
    { "not opened", "\"p1\"]" },
    { "closed twice", "[\"p1\"]]" },
    { "two arrays", "[\"p1\"][\"p2\"]" },
    { "something behind", "[\"p1\"]x" },
    { "a comma behind", "[\"p1\",]" },
    { "a comma before", "[,\"p1\"]" },
    { "two commas", "[1,,2]" },
    { "only a comma", "[,]" },
    { "no comma", "[1 2]" },
    { "four components", "[1,2,3,4]" },
    { "a full object", "[{\"a\":1}]" },
    { "an open object", "[{" },
    { "an array within", "[[1]]" },
    { "NaN", "[NaN]" },
    { "Infinity", "[Infinity]" },
    { "-Infinity", "[-Infinity]" },
    { "too large a number", "[1e400]" },
    { "too small a number", "[-1e400]" },
    { "a leading zero", "[01]" },
    { "a plus", "[+1]" },
    { "no digit before the point", "[.5]" },
    { "no digit after the point", "[5.]" },
    { "no exponent", "[5e]" },
    { "a sign alone", "[-]" },
    { "hexadecimal", "[0x10]" },
    { "undefined", "[undefined]" },
    { "True", "[True]" },
    { "nul", "[nul]" },
    { "nulll", "[nulll]" },
    { "single quotes", "['p1']" },
    { "a string that does not end", "[\"p1]" },
    { "a string that ends in a backslash", "[\"p1\\" },
    { "a string that ends in an escape", "[\"p1\\\"]" },
    { "an escape of nothing", "[\"\\q\"]" },
    { "an octal escape", "[\"\\101\"]" },
    { "a short \\u", "[\"\\u12\"]" },
    { "a bad \\u", "[\"\\u12g4\"]" },
    { "half a pair", "[\"\\ud83d\"]" },
    { "half a pair, then a letter", "[\"\\ud83dx\"]" },
    { "half a pair, then no half", "[\"\\ud83d\\u0041\"]" },
    { "the second half", "[\"\\ude00\"]" },
    { "the second half twice", "[\"\\ude00\\ude00\"]" },
    { "a short \\x", "[\"\\x4\"]" },
    { "a byte that is no UTF-8, as Go writes it", "[\"\\xff\"]" },
    { "a \\U above all", "[\"\\U00110000\"]" },
    { "a \\U of half a pair", "[\"\\U0000d800\"]" },
    { "a newline in a string", "[\"a\nb\"]" },
    { "bytes that are no UTF-8", "[\"\xff\"]" },
    { "an overlong form", "[\"\xc0\xaf\"]" },
    { "half a pair in UTF-8", "[\"\xed\xa0\x80\"]" },
    { "a cut letter", "[\"\xc3\"]" },
};

static void one_flaw_is_enough_to_be_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_keys) / sizeof(bad_keys[0]); i++) {
        struct rn_err err = { 0 };
        struct rn_pk pk = { .count = 7 };
        print_message("# %s\n", bad_keys[i].flaw);
        assert_int_equal(
            rn_pk_parse(rn_view_text(bad_keys[i].text), &arena, &pk, &err),
            RN_BAD_REQUEST);
        assert_int_equal(err.code, RN_BAD_REQUEST);
        assert_int_equal(pk.count, 7);
    }
}

static struct rn_view long_header(size_t letters, const char *letter)
{
    size_t each = strlen(letter), n = 0;
    char *out = rn_arena_alloc(&arena, letters * each + 4);

    assert_non_null(out);
    out[n++] = '[';
    out[n++] = '"';
    for (size_t i = 0; i < letters; i++, n += each)
        memcpy(out + n, letter, each);
    out[n++] = '"';
    out[n++] = ']';
    return rn_view_of(out, n);
}

static void a_key_has_a_ceiling(void **state)
{
    static const struct {
        size_t letters;
        const char *letter;
        enum rn_code rc;
    } cases[] = {
        { 2048, "a", RN_OK },
        { 2049, "a", RN_BAD_REQUEST },
        { 512, "\\ud83d\\ude00", RN_OK },
        { 513, "\\ud83d\\ude00", RN_BAD_REQUEST },
        { 1024, "é", RN_OK },
        { 1025, "é", RN_BAD_REQUEST },
        { 100000, "a", RN_BAD_REQUEST },
        { 100000, "\\u0041", RN_BAD_REQUEST },
    };
    struct rn_arena small = RN_ARENA_INIT(4);
    struct rn_pk pk;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            rn_pk_parse(long_header(cases[i].letters, cases[i].letter), &arena,
                        &pk, NULL),
            cases[i].rc);
    assert_int_equal(
        rn_pk_parse(RN_LIT("[\"\\u0041bcde\"]"), &small, &pk, NULL), RN_NOMEM);
    rn_arena_release(&small);
}

static void keys_of_different_types_differ(void **state)
{
    static const char *const texts[] = {
        "[]",      "[{}]",     "[null]",   "[false]",  "[true]",     "[0]",
        "[-0.0]",  "[1]",      "[\"\"]",   "[\"1\"]",  "[\"true\"]", "[\"a\"]",
        "[\"A\"]", "[\"a \"]", "[1,{}]",   "[1,null]", "[{},1]",     "[1,1]",
        "[1,1,1]", "[1,\"\"]", "[\"\",1]",
    };
    enum { COUNT = sizeof(texts) / sizeof(texts[0]) };

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            char a_bytes[RN_PK_BYTES_MAX], b_bytes[RN_PK_BYTES_MAX];
            struct rn_pk a, b;
            assert_int_equal(
                rn_pk_parse(rn_view_text(texts[i]), &arena, &a, NULL), RN_OK);
            assert_int_equal(
                rn_pk_parse(rn_view_text(texts[k]), &arena, &b, NULL), RN_OK);
            assert_int_equal(rn_pk_eq(&a, &b), i == k);
            assert_int_equal(
                rn_view_eq(rn_view_of(a_bytes, rn_pk_encode(&a, a_bytes)),
                           rn_view_of(b_bytes, rn_pk_encode(&b, b_bytes))),
                i == k);
        }
    }
}

/* ---- there and back ------------------------------------------------------ */

static struct rn_view random_text(struct rn_prng *c)
{
    static const char *const pieces[] = { "a", "\"", "\\", "/", "\x01",
                                          "é", "鱀", "😀",  " ", "\x7f" };
    char *out = rn_arena_alloc(&arena, 64);
    size_t n = 0;

    assert_non_null(out);
    for (uint64_t i = rn_prng_below(c, 12); i > 0; i--) {
        const char *piece = pieces[rn_prng_below(c, 10)];
        memcpy(out + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return rn_view_of(out, n);
}

static double random_number(struct rn_prng *c)
{
    uint64_t bits = rn_prng_next(c);
    double number;

    if (rn_prng_percent(c, 30))
        return (double)(int64_t)rn_prng_below(c, 1000) - 500;
    memcpy(&number, &bits, sizeof(number));
    return isfinite(number) ? number : -0.0;
}

static struct rn_pk random_key(struct rn_prng *c)
{
    static const enum rn_pk_type types[] = { RN_PK_UNDEFINED, RN_PK_NULL,
                                             RN_PK_FALSE,     RN_PK_TRUE,
                                             RN_PK_NUMBER,    RN_PK_STRING };
    struct rn_pk pk = { .count = rn_prng_below(c, RN_PK_MAX + 1) };

    for (size_t i = 0; i < pk.count; i++) {
        pk.values[i].type = types[rn_prng_below(c, 6)];
        if (pk.values[i].type == RN_PK_NUMBER)
            pk.values[i].number = random_number(c);
        if (pk.values[i].type == RN_PK_STRING)
            pk.values[i].text = random_text(c);
    }
    return pk;
}

static void print_then_parse_is_identity(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 21);
    for (int i = 0; i < 5000; i++) {
        struct rn_pk pk = random_key(&prng), back;
        struct rn_buf text = RN_BUF_INIT(4096);
        assert_int_equal(rn_pk_print(&pk, &text), RN_OK);
        for (size_t b = 0; b < text.len; b++)
            assert_in_range(text.at[b], 0x20, 0x7e);
        assert_int_equal(rn_pk_parse(rn_buf_view(&text), &arena, &back, NULL),
                         RN_OK);
        assert_true(rn_pk_eq(&pk, &back));
        rn_buf_release(&text);
    }
}

static void printing_is_as_the_sdks_print(void **state)
{
    const struct rn_pk pk = {
        3, { STRING("p\"é😀\n"), NUMBER(1.5), OTHER(UNDEFINED) }
    };
    struct rn_buf text = RN_BUF_INIT(256);

    (void)state;
    assert_int_equal(rn_pk_print(&pk, &text), RN_OK);
    assert_view(rn_buf_view(&text),
                RN_LIT("[\"p\\\"\\u00e9\\ud83d\\ude00\\u000a\",1.5,{}]"));
    for (size_t room = 1; room < text.len; room++) {
        struct rn_buf small = RN_BUF_INIT(room);
        assert_int_equal(rn_pk_print(&pk, &small), RN_TOO_LARGE);
        assert_int_equal(small.len, 0);
        rn_buf_release(&small);
    }
    rn_buf_release(&text);
}

static void encode_then_decode_is_identity(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 22);
    for (int i = 0; i < 5000; i++) {
        struct rn_pk pk = random_key(&prng), back;
        char bytes[RN_PK_BYTES_MAX];
        size_t len = rn_pk_encode(&pk, bytes);
        assert_true(rn_pk_decode(rn_view_of(bytes, len), &back));
        assert_true(rn_pk_eq(&pk, &back));
        for (size_t cut = 0; cut < len; cut++)
            assert_false(rn_pk_decode(rn_view_of(bytes, cut), &back));
        if (len < sizeof(bytes)) {
            bytes[len] = 0;
            assert_false(rn_pk_decode(rn_view_of(bytes, len + 1), &back));
        }
    }
}

static void bytes_that_are_no_key_are_refused(void **state)
{
    const struct {
        const char *flaw;
        struct rn_view bytes;
    } bad[] = {
        { "empty", RN_LIT("") },
        { "four components", RN_LIT("\4\0\0\0\0") },
        { "a type there is not", RN_LIT("\1\4") },
        { "a type there is not", RN_LIT("\1\x06") },
        { "an infinite number", RN_LIT("\1\5\x7f\xf0\0\0\0\0\0\0") },
        { "no number", RN_LIT("\1\5\x7f\xf8\0\0\0\0\0\0") },
        { "a string that is too long", RN_LIT("\1\x08\xff\xff") },
    };
    struct rn_pk pk;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("# %s\n", bad[i].flaw);
        assert_false(rn_pk_decode(bad[i].bytes, &pk));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_headers_are_read),
        cmocka_unit_test(other_spellings_mean_the_same),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(a_key_has_a_ceiling),
        cmocka_unit_test(keys_of_different_types_differ),
        cmocka_unit_test(print_then_parse_is_identity),
        cmocka_unit_test(printing_is_as_the_sdks_print),
        cmocka_unit_test(encode_then_decode_is_identity),
        cmocka_unit_test(bytes_that_are_no_key_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
