/* query_sortkey_test.c -- sort keys compare as the values do.
 *
 * A table of values in their order, numbers at the edges of what doubles can
 * distinguish among them, is held against the bytes of their keys, up and down;
 * then values drawn at random, which share beginnings, against
 * rn_value_compare.  Keys of equal bytes must be of equal values unless they
 * are cut, and a key must end where it says.
 */
#include "query/run/sortkey.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct key {
    char bytes[RN_SORTKEY_MAX];
    size_t len;
    bool is_cut;
};

static struct rn_view view(const struct key *k)
{
    return rn_view_of(k->bytes, k->len);
}

static struct key key_of(const struct rn_value *v, size_t text_max, bool down)
{
    struct rn_sortkey_form form = { text_max, down };
    struct key k;
    bool is_cut;

    k.len = rn_sortkey_encode(v, &form, k.bytes, &k.is_cut);
    assert_true(k.len >= 1 && k.len <= text_max + 10);
    /* Something may follow it. */
    memcpy(k.bytes + k.len, "\x01\xff\x02", 3);
    assert_int_equal(
        rn_sortkey_length(rn_view_of(k.bytes, k.len + 3), down, &is_cut),
        k.len);
    assert_int_equal(is_cut, k.is_cut);
    if (k.len > 1)
        assert_int_equal(
            rn_sortkey_length(rn_view_of(k.bytes, k.len - 1), down, &is_cut),
            0);
    return k;
}

static int sign(int n)
{
    return (n > 0) - (n < 0);
}

static void check_pair(const struct rn_value *a, const struct rn_value *b,
                       size_t text_max)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);
    struct key up[2] = { key_of(a, text_max, false),
                         key_of(b, text_max, false) };
    struct key down[2] = { key_of(a, text_max, true),
                           key_of(b, text_max, true) };
    int order = sign(rn_view_compare(view(&up[0]), view(&up[1]))), expected;

    assert_int_equal(rn_value_compare(a, b, &arena, &expected), RN_OK);
    assert_int_equal(sign(rn_view_compare(view(&down[0]), view(&down[1]))),
                     -order);
    if (order == 0 && up[0].is_cut)
        assert_true(up[1].is_cut && a->kind == b->kind);
    else
        assert_int_equal(order, sign(expected));
    rn_arena_release(&arena);
}

static struct rn_value text(const char *s)
{
    return rn_value_string(rn_view_text(s));
}

static void keys_of_values_are_in_the_order_of_values(void **state)
{
    static const char zero[] = { 'a', 0, 'b' };
    struct rn_value null = { .kind = RN_VALUE_NULL };
    const struct rn_value values[] = {
        rn_value_undefined(),
        null,
        rn_value_bool(false),
        rn_value_bool(true),
        rn_value_double(-1e300),
        rn_value_double(-9223372036854777856.0),
        rn_value_int(INT64_MIN),
        rn_value_int(INT64_MIN + 1),
        rn_value_int(-9007199254740993),
        rn_value_int(-9007199254740992),
        rn_value_double(-2.5),
        rn_value_int(-1),
        rn_value_double(-1e-300),
        rn_value_int(0),
        rn_value_double(-0.0),
        rn_value_double(5e-324),
        rn_value_int(1),
        rn_value_double(1.0),
        rn_value_double(1.5),
        rn_value_int(9007199254740991),
        rn_value_int(9007199254740992),
        rn_value_int(9007199254740993),
        rn_value_int(4611686018427387904),
        rn_value_int(4611686018427388415),
        rn_value_int(4611686018427388416),
        rn_value_int(4611686018427388417),
        rn_value_int(INT64_MAX - 1),
        rn_value_int(INT64_MAX),
        rn_value_double(9223372036854775808.0),
        rn_value_double(1e300),
        text(""),
        rn_value_string(rn_view_of(zero, 1)),
        rn_value_string(rn_view_of(zero, 2)),
        rn_value_string(rn_view_of(zero, 3)),
        text("a\x01"),
        text("aa"),
        text("b"),
        text("\xc3\xa4"),         /* U+00E4 */
        text("\xed\x9f\xbf"),     /* U+D7FF */
        text("\xf0\x90\x80\x80"), /* U+10000: D800 DC00 in UTF-16 */
        text("\xf4\x8f\xbf\xbf"), /* U+10FFFF */
        text("\xee\x80\x80"),     /* U+E000 */
        text("\xef\xbf\xbf"),     /* U+FFFF */
        rn_value_array(NULL, 0),
        rn_value_object(NULL, 0),
    };
    size_t n = sizeof(values) / sizeof(values[0]);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            check_pair(&values[i], &values[k], RN_SORTKEY_TEXT_MAX);
            check_pair(&values[i], &values[k], 4);
        }
    }
}

/* Few characters, so that strings share beginnings. */
static struct rn_value draw(struct rn_prng *c, char *room, size_t most)
{
    static const char *const letters[] = { "a", "b", "\xee\x80\x80",
                                           "\xf0\x90\x80\x80" };
    size_t want = rn_prng_below(c, most), len = 0;

    switch (rn_prng_below(c, 4)) {
    case 0:
        return rn_value_int((int64_t)rn_prng_next(c) >> rn_prng_below(c, 64));
    case 1:
        return rn_value_double((double)(int64_t)rn_prng_next(c) /
                               (double)(1 + rn_prng_below(c, 1000)));
    default:
        while (len < want) {
            const char *at = letters[rn_prng_below(c, 4)];
            if (rn_prng_percent(c, 10)) {
                room[len++] = 0;
                continue;
            }
            memcpy(room + len, at, strlen(at));
            len += strlen(at);
        }
        return rn_value_string(rn_view_of(room, len));
    }
}

static void drawn_values_compare_as_their_keys(void **state)
{
    struct rn_prng c;

    (void)state;
    rn_prng_init(&c, 7);
    for (int i = 0; i < 100000; i++) {
        char a[32], b[32];
        struct rn_value x = draw(&c, a, 12), y = draw(&c, b, 12);
        check_pair(&x, &y, 1 + rn_prng_below(&c, 12));
        check_pair(&x, &y, RN_SORTKEY_TEXT_MAX);
    }
}

static void a_long_text_is_cut_and_still_behind_its_beginning(void **state)
{
    char bytes[400];
    struct rn_value whole, cut, other;

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    whole = rn_value_string(rn_view_of(bytes, RN_SORTKEY_TEXT_MAX));
    cut = rn_value_string(rn_view_of(bytes, RN_SORTKEY_TEXT_MAX + 1));
    other = rn_value_string(rn_view_of(bytes, 400));
    assert_false(key_of(&whole, RN_SORTKEY_TEXT_MAX, false).is_cut);
    assert_true(key_of(&cut, RN_SORTKEY_TEXT_MAX, false).is_cut);
    check_pair(&whole, &cut, RN_SORTKEY_TEXT_MAX);
    check_pair(&cut, &other, RN_SORTKEY_TEXT_MAX);
}

static void texts_begin_with_the_key_of_their_beginning(void **state)
{
    static const struct {
        const char *text, *prefix;
        size_t max;
    } cases[] = {
        { "abc", "", 256 },
        { "abc", "ab", 256 },
        { "abc", "abc", 256 },
        { "abcdef", "abcdef", 3 },
        { "\xee\x80\x80z", "\xee\x80\x80", 256 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_value v = text(cases[i].text);
        struct key k = key_of(&v, cases[i].max, false);
        char prefix[RN_SORTKEY_MAX];
        size_t len = rn_sortkey_encode_prefix(rn_view_text(cases[i].prefix),
                                              cases[i].max, prefix);
        assert_true(rn_view_starts(view(&k), rn_view_of(prefix, len)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_values_are_in_the_order_of_values),
        cmocka_unit_test(drawn_values_compare_as_their_keys),
        cmocka_unit_test(a_long_text_is_cut_and_still_behind_its_beginning),
        cmocka_unit_test(texts_begin_with_the_key_of_their_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
