/* cosmos_epk_test.c -- a key lies where the service says it lies.
 *
 * The vectors (tests/vectors/epk-vectors.json) come from the SDKs' own tests
 * and from their code.  Those of fn "epk" are what a server must compute; the
 * others try the hash underneath, with or without a string's last byte and the
 * mask, and are put together here from the same hash.
 */
#include "cosmos/epk.h"

#include "base/hash.h"
#include "base/prng.h"
#include "lib/vectors.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct vectors vectors;

static int load(void **state)
{
    (void)state;
    vectors_load(&vectors, "epk-vectors.json");
    return 0;
}

static int release(void **state)
{
    (void)state;
    vectors_release(&vectors);
    return 0;
}

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static void assert_epk(const struct rn_epk *e, struct rn_view want)
{
    char text[RN_EPK_TEXT_MAX];

    assert_view(rn_epk_print(e, text), want);
}

/* ---- vectors ------------------------------------------------------------- */

enum { VALUES_MAX = 256 };

static struct rn_view read_text(uint32_t value)
{
    struct rn_view piece;
    int64_t count;
    char *out;

    if (rn_json_find(&vectors.json, value, RN_LIT("v")) != RN_JSON_NONE)
        return vectors_string(&vectors, value, "v");
    piece = vectors_string(&vectors, value, "repeat");
    assert_true(rn_json_int64(
        &vectors.json, vectors_member(&vectors, value, "count"), &count));
    out = rn_arena_alloc(&vectors.arena, piece.len * (size_t)count);
    assert_non_null(out);
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy(out + i * piece.len, piece.at, piece.len);
    return rn_view_of(out, piece.len * (size_t)count);
}

static double read_number(uint32_t value)
{
    struct rn_view bytes =
        vectors_bytes(&vectors, vectors_string(&vectors, value, "bits"));
    uint64_t bits = 0;
    double number;

    assert_int_equal(bytes.len, 8);
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | (unsigned char)bytes.at[i];
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static struct rn_pk_value read_value(uint32_t value)
{
    struct rn_view type = vectors_string(&vectors, value, "t");
    uint32_t v = rn_json_find(&vectors.json, value, RN_LIT("v"));

    if (rn_view_eq(type, RN_LIT("string")))
        return (struct rn_pk_value){ .type = RN_PK_STRING,
                                     .text = read_text(value) };
    if (rn_view_eq(type, RN_LIT("number")))
        return (struct rn_pk_value){ .type = RN_PK_NUMBER,
                                     .number = read_number(value) };
    if (rn_view_eq(type, RN_LIT("bool")))
        return (struct rn_pk_value){ .type = rn_json_kind(&vectors.json, v) ==
                                                     RN_JSON_TRUE
                                                 ? RN_PK_TRUE
                                                 : RN_PK_FALSE };
    if (rn_view_eq(type, RN_LIT("null")))
        return (struct rn_pk_value){ .type = RN_PK_NULL };
    assert_view(type, RN_LIT("undefined"));
    return (struct rn_pk_value){ .type = RN_PK_UNDEFINED };
}

static size_t read_values(uint32_t vector, struct rn_pk_value out[VALUES_MAX])
{
    uint32_t list = vectors_member(&vectors, vector, "values");
    struct rn_json_walk w = rn_json_walk_begin(&vectors.json, list);
    size_t count = 0;

    while (rn_json_walk_next(&w)) {
        assert_true(count < VALUES_MAX);
        out[count++] = read_value(w.value);
    }
    return count;
}

static enum rn_pkdef_kind read_kind(uint32_t vector)
{
    struct rn_view kind = vectors_string(&vectors, vector, "kind");

    if (rn_view_eq(kind, RN_LIT("Hash")))
        return RN_PKDEF_HASH;
    if (rn_view_eq(kind, RN_LIT("MultiHash")))
        return RN_PKDEF_MULTIHASH;
    assert_view(kind, RN_LIT("Range"));
    return RN_PKDEF_RANGE;
}

static void check_epk(uint32_t vector)
{
    struct rn_view want = vectors_string(&vectors, vector, "expected");
    struct rn_pk_value values[VALUES_MAX];
    size_t count = read_values(vector, values);
    struct rn_epk e;
    int64_t version;

    if (rn_json_find(&vectors.json, vector, RN_LIT("infinity")) !=
        RN_JSON_NONE) {
        assert_epk(&rn_epk_all.max, want);
        return;
    }
    assert_true(rn_json_int64(
        &vectors.json, vectors_member(&vectors, vector, "version"), &version));
    assert_int_equal(
        rn_epk_hash(read_kind(vector), (uint32_t)version, values, count, &e),
        RN_OK);
    assert_epk(&e, want);
}

/* The bytes hashed of one component; `end` < 0 leaves a string open. */
static struct rn_view hashed_bytes(const struct rn_pk_value *v, int end)
{
    char *out = rn_arena_alloc(&vectors.arena, v->text.len + 16);
    size_t n = 0;

    assert_non_null(out);
    out[n++] = (char)v->type;
    if (v->type == RN_PK_NUMBER) {
        memcpy(out + n, &v->number, 8); /* the machine is little endian */
        n += 8;
    }
    if (v->type == RN_PK_STRING) {
        memcpy(out + n, v->text.at, v->text.len);
        n += v->text.len;
        if (end >= 0)
            out[n++] = (char)end;
    }
    return rn_view_of(out, n);
}

/* One block of 32 digits for each component. */
static void check_hash(uint32_t vector, bool is_32, int end)
{
    struct rn_view want = vectors_string(&vectors, vector, "expected");
    struct rn_pk_value values[VALUES_MAX];
    size_t count = read_values(vector, values);

    assert_int_equal(want.len, 32 * count);
    for (size_t i = 0; i < count; i++) {
        struct rn_view bytes;
        struct rn_hash128 h;
        char text[40];
        if (is_32 && end < 0 && values[i].text.len > 100)
            values[i].text.len = 100; /* .NET cuts here, Go does not */
        bytes = hashed_bytes(&values[i], end);
        h = is_32 ? (struct rn_hash128){ 0, rn_murmur32(bytes, 0) }
                  : rn_murmur128(bytes, (struct rn_hash128){ 0 });
        snprintf(text, sizeof(text), "%016" PRIX64 "%016" PRIX64, h.high,
                 h.low);
        assert_view(rn_view_of(want.at + 32 * i, 32), rn_view_of(text, 32));
    }
}

static void check_murmur(uint32_t vector)
{
    uint32_t want = vectors_member(&vectors, vector, "expected");
    struct rn_hash128 h = rn_murmur128(
        vectors_bytes(&vectors, vectors_string(&vectors, vector, "bytes")),
        (struct rn_hash128){ 0 });
    char low[24], high[24];

    snprintf(low, sizeof(low), "%" PRIu64, h.low);
    snprintf(high, sizeof(high), "%" PRIu64, h.high);
    assert_view(rn_json_text(&vectors.json, rn_json_at(&vectors.json, want, 0)),
                rn_view_text(low));
    assert_view(rn_json_text(&vectors.json, rn_json_at(&vectors.json, want, 1)),
                rn_view_text(high));
}

static void check_prefix(uint32_t vector)
{
    uint32_t want = vectors_member(&vectors, vector, "expected");
    struct rn_pkdef def = { .kind = RN_PKDEF_MULTIHASH, .count = 3 };
    struct rn_pk_value values[VALUES_MAX];
    struct rn_pk pk = { .count = read_values(vector, values) };
    struct rn_epk_range range;

    memcpy(pk.values, values, pk.count * sizeof(values[0]));
    rn_epk_range_of(&def, &pk, &range);
    assert_epk(&range.min,
               rn_json_text(&vectors.json, rn_json_at(&vectors.json, want, 0)));
    assert_epk(&range.max,
               rn_json_text(&vectors.json, rn_json_at(&vectors.json, want, 1)));
}

static void check_vector(uint32_t vector)
{
    struct rn_view fn = vectors_string(&vectors, vector, "fn");

    if (rn_view_eq(fn, RN_LIT("epk")))
        check_epk(vector);
    else if (rn_view_eq(fn, RN_LIT("epk-prefix-range")))
        check_prefix(vector);
    else if (rn_view_eq(fn, RN_LIT("murmur128-raw")))
        check_murmur(vector);
    else if (rn_view_eq(fn, RN_LIT("hash32-hex")))
        check_hash(vector, true, 0);
    else if (rn_view_eq(fn, RN_LIT("nosuffix-hash32")))
        check_hash(vector, true, -1);
    else if (rn_view_eq(fn, RN_LIT("hash128-unmasked-each")))
        check_hash(vector, false, 0xff);
    else if (rn_view_eq(fn, RN_LIT("nosuffix-hash128")))
        check_hash(vector, false, -1);
    else
        fail_msg("unknown fn %.*s", RN_FMT(fn));
}

static void every_vector_holds(void **state)
{
    uint32_t list = vectors_member(&vectors, 0, "vectors");
    struct rn_json_walk w = rn_json_walk_begin(&vectors.json, list);

    (void)state;
    assert_int_equal(rn_json_count(&vectors.json, list), 287);
    while (rn_json_walk_next(&w))
        check_vector(w.value);
}

/* ---- intervals ----------------------------------------------------------- */

static const struct rn_pkdef hash_1 = { .kind = RN_PKDEF_HASH, .count = 1 };
static const struct rn_pkdef hash_2 = { .kind = RN_PKDEF_HASH,
                                        .version = 2,
                                        .count = 1 };
static const struct rn_pkdef multi = { .kind = RN_PKDEF_MULTIHASH,
                                       .version = 2,
                                       .count = 3 };
static const struct rn_pkdef plain = { .kind = RN_PKDEF_RANGE, .count = 1 };

static struct rn_pk key_of(const char *a, const char *b, const char *c)
{
    const char *texts[RN_PK_MAX] = { a, b, c };
    struct rn_pk pk = { .count = 0 };

    for (; pk.count < RN_PK_MAX && texts[pk.count]; pk.count++)
        pk.values[pk.count] =
            (struct rn_pk_value){ .type = RN_PK_STRING,
                                  .text = rn_view_text(texts[pk.count]) };
    return pk;
}

static struct rn_epk epk_of(const char *hex)
{
    struct rn_epk e;

    assert_int_equal(rn_epk_parse(rn_view_text(hex), &e, NULL), RN_OK);
    return e;
}

static struct rn_epk_range range_of(const char *min, const char *max)
{
    return (struct rn_epk_range){ epk_of(min), epk_of(max) };
}

static void a_whole_key_is_alone_in_its_interval(void **state)
{
    struct rn_pk pk = key_of("1", NULL, NULL);
    struct rn_epk_range range;
    struct rn_epk next = epk_of("3C80B1B7310BB39F29CC4EA05BDD461F");

    (void)state;
    rn_epk_range_of(&hash_2, &pk, &range);
    assert_epk(&range.min, RN_LIT("3C80B1B7310BB39F29CC4EA05BDD461E"));
    assert_true(rn_epk_range_has(&range, rn_epk_view(&range.min)));
    assert_false(rn_epk_range_has(&range, rn_epk_view(&next)));
    assert_false(rn_epk_range_has(&range, rn_epk_view(&range.max)));
}

static void a_prefix_holds_all_keys_that_begin_with_it(void **state)
{
    struct rn_pk one = key_of("Redmond", NULL, NULL);
    struct rn_pk two = key_of("Redmond", "WA", NULL);
    struct rn_pk three = key_of("Redmond", "WA", "98052");
    struct rn_pk other = key_of("redmond", "WA", "98052");
    struct rn_epk_range in_one, in_two;
    struct rn_epk whole, strange;

    (void)state;
    rn_epk_range_of(&multi, &one, &in_one);
    rn_epk_range_of(&multi, &two, &in_two);
    rn_epk_of(&multi, &three, &whole);
    rn_epk_of(&multi, &other, &strange);
    assert_epk(&in_one.max, RN_LIT("01620B162169497AFD85FA66E99F7376FF"));
    assert_int_equal(whole.len, 48);
    assert_true(rn_epk_range_has(&in_one, rn_epk_view(&whole)));
    assert_true(rn_epk_range_has(&in_two, rn_epk_view(&whole)));
    assert_false(rn_epk_range_has(&in_one, rn_epk_view(&strange)));
}

static void intervals_meet_in_what_both_hold(void **state)
{
    struct rn_epk_range a = range_of("", "20"), b = range_of("10", "FF"), c;

    (void)state;
    assert_true(rn_epk_range_meet(&a, &b, &c));
    assert_epk(&c.min, RN_LIT("10"));
    assert_epk(&c.max, RN_LIT("20"));
    assert_true(rn_epk_range_meet(&rn_epk_all, &a, &c));
    assert_epk(&c.max, RN_LIT("20"));
    b = range_of("20", "FF");
    assert_false(rn_epk_range_meet(&a, &b, &c));
    b = range_of("10", "10");
    assert_false(rn_epk_range_meet(&a, &b, &c));
}

/* ---- text ---------------------------------------------------------------- */

static void hexadecimal_is_read_in_any_case(void **state)
{
    struct rn_epk e = epk_of("0f1E3c");

    (void)state;
    assert_epk(&e, RN_LIT("0F1E3C"));
    e = epk_of("");
    assert_int_equal(e.len, 0);
}

static void what_is_not_hexadecimal_is_refused(void **state)
{
    static char longest[RN_EPK_TEXT_MAX + 2];
    static const char *const bad[] = {
        "0", "0F1", "0G", " 0F", "0F ", "0x0F", "\"\"", "-1", "0F\n",
    };
    struct rn_epk e = { .len = 7 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(rn_epk_parse(rn_view_text(bad[i]), &e, NULL),
                         RN_BAD_REQUEST);
    memset(longest, 'A', sizeof(longest));
    assert_int_equal(
        rn_epk_parse(rn_view_of(longest, sizeof(longest)), &e, NULL),
        RN_BAD_REQUEST);
    assert_int_equal(e.len, 7);
    assert_int_equal(
        rn_epk_parse(rn_view_of(longest, RN_EPK_TEXT_MAX), &e, NULL), RN_OK);
}

static void too_many_components_are_refused(void **state)
{
    struct rn_pk_value values[200] = { 0 };
    struct rn_epk e;

    (void)state;
    for (size_t i = 0; i < 200; i++)
        values[i].type = RN_PK_NULL;
    assert_int_equal(rn_epk_hash(RN_PKDEF_RANGE, 1, values, 200, &e),
                     RN_TOO_LARGE);
    assert_int_equal(rn_epk_hash(RN_PKDEF_MULTIHASH, 2, values, 9, &e),
                     RN_TOO_LARGE);
    assert_int_equal(rn_epk_hash(RN_PKDEF_MULTIHASH, 2, values, 8, &e), RN_OK);
}

/* Version 1 looks at 100 UTF-16 units, so at 50 letters of two units each, and
 * at a last single one only if there is room for it. */
static void version_1_counts_as_utf_16_does(void **state)
{
    static const struct {
        size_t letters;
        const char *behind;
        bool is_seen; /* what stands behind */
    } cases[] = {
        { 50, "x", false }, { 50, "\xf0\x9f\x98\x80", false },
        { 49, "x", true },  { 49, "\xf0\x9f\x98\x80", true },
        { 49, "xy", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256] = "";
        struct rn_pk pk;
        struct rn_epk without, with;
        for (size_t n = 0; n < cases[i].letters; n++)
            memcpy(text + 4 * n, "\xf0\x9f\x98\x80", 4);
        pk = key_of(text, NULL, NULL);
        rn_epk_of(&hash_1, &pk, &without);
        snprintf(text + 4 * cases[i].letters, 16, "%s", cases[i].behind);
        pk = key_of(text, NULL, NULL);
        rn_epk_of(&hash_1, &pk, &with);
        assert_int_equal(rn_epk_compare(&without, &with) != 0,
                         cases[i].is_seen);
    }
}

/* A key of the greatest size there is must always have an EPK, with room for
 * the byte behind it. */
static void the_longest_key_has_an_epk(void **state)
{
    static const struct rn_pkdef *const defs[] = { &hash_1, &hash_2, &plain };
    static char text[RN_PK_TEXT_MAX];
    struct rn_pk pk = { .count = 1,
                        .values = { { .type = RN_PK_STRING,
                                      .text = { text, sizeof(text) } } } };

    (void)state;
    for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
        struct rn_epk_range range;
        memset(text, 'a', sizeof(text));
        rn_epk_range_of(defs[i], &pk, &range);
        for (size_t at = 0; at + 4 <= sizeof(text); at += 4)
            memcpy(text + at, "\xf0\x9f\x98\x80", 4);
        rn_epk_range_of(defs[i], &pk, &range);
    }
}

/* ---- where to cut -------------------------------------------------------- */

static void even_bounds_are_those_of_the_service(void **state)
{
    static const struct {
        const struct rn_pkdef *def;
        uint32_t i, n;
        const char *bound;
    } cases[] = {
        { &hash_2, 1, 2, "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &hash_2, 1, 5, "0CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC" },
        { &hash_2, 2, 5, "19999999999999999999999999999998" },
        { &hash_2, 3, 5, "26666666666666666666666666666664" },
        { &hash_2, 4, 5, "33333333333333333333333333333330" },
        { &multi, 1, 2, "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &hash_1, 1, 2, "05C1DFFFFFFFFC" },
        { &hash_1, 1, 4, "05C1CFFFFFFFF8" },
    };
    struct rn_epk e;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(rn_epk_even(cases[i].def, cases[i].i, cases[i].n, &e));
        assert_epk(&e, rn_view_text(cases[i].bound));
    }
    assert_false(rn_epk_even(&plain, 1, 2, &e));
}

static void even_bounds_share_keys_evenly(void **state)
{
    static const struct rn_pkdef *const defs[] = { &hash_1, &hash_2, &multi };
    enum { RANGES = 8, KEYS = 8000 };

    (void)state;
    for (size_t d = 0; d < sizeof(defs) / sizeof(defs[0]); d++) {
        unsigned counts[RANGES] = { 0 };
        struct rn_epk bounds[RANGES];
        for (uint32_t i = 1; i < RANGES; i++)
            assert_true(rn_epk_even(defs[d], i, RANGES, &bounds[i]));
        for (int k = 0; k < KEYS; k++) {
            char text[16];
            struct rn_pk pk;
            struct rn_epk e;
            unsigned home = 0;
            snprintf(text, sizeof(text), "key-%d", k);
            pk = key_of(text, NULL, NULL);
            rn_epk_of(defs[d], &pk, &e);
            while (home + 1 < RANGES &&
                   rn_epk_compare(&bounds[home + 1], &e) <= 0)
                home++;
            counts[home]++;
        }
        for (unsigned i = 0; i < RANGES; i++) {
            assert_true(counts[i] > KEYS / RANGES * 8 / 10);
            assert_true(counts[i] < KEYS / RANGES * 12 / 10);
        }
    }
}

static void the_middle_halves(void **state)
{
    static const struct {
        const struct rn_pkdef *def;
        const char *min, *max, *middle; /* NULL: there is none */
    } cases[] = {
        /* clang-format off */
        { &hash_2, "", "FF", "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &hash_2, "", "20", "10000000000000000000000000000000" },
        { &hash_2, "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "FF", "2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &hash_2, "00", "00000000000000000000000000000002", "00000000000000000000000000000001" },
        { &hash_2, "00000000000000000000000000000001", "00000000000000000000000000000002", NULL },
        { &hash_2, "3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "FF", NULL },
        { &hash_2, "50", "FF", NULL },
        { &hash_2, "20", "10", NULL },
        { &multi, "", "FF", "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &multi, "00000000000000000000000000000001", "00000000000000000000000000000002",
          "000000000000000000000000000000011FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &multi, "00000000000000000000000000000001", "00000000000000000000000000000001FF",
          "000000000000000000000000000000011FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF" },
        { &multi, "00000000000000000000000000000001" "10", "00000000000000000000000000000001" "20",
          "0000000000000000000000000000000118000000000000000000000000000000" },
        { &hash_1, "", "FF", "05C1DFFFFFFFFC" },
        { &hash_1, "", "05C1DFFFFFFFFC", "05C1CFFFFFFFF8" },
        { &hash_1, "05C1CFFFFFFFF8", "05C1DFFFFFFFFC", "05C1D7FFFFFFFC" },
        { &hash_1, "06", "FF", NULL },
        { &plain, "", "FF", NULL },
        /* clang-format on */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_epk_range range = range_of(cases[i].min, cases[i].max);
        struct rn_epk e;
        bool found = rn_epk_middle(cases[i].def, &range, &e);
        print_message("# [%s, %s)\n", cases[i].min, cases[i].max);
        assert_int_equal(found, cases[i].middle != NULL);
        if (found)
            assert_epk(&e, rn_view_text(cases[i].middle));
    }
}

/* Halving one of the halves again and again always finds a bound within, until
 * there is none. */
static void halving_ends_without_leaving_the_range(void **state)
{
    static const struct rn_pkdef *const defs[] = { &hash_1, &hash_2, &multi };
    static const int least[] = { 25, 120, 360 };
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 5);
    for (size_t d = 0; d < sizeof(defs) / sizeof(defs[0]); d++) {
        for (int run = 0; run < 50; run++) {
            struct rn_epk_range range = rn_epk_all;
            struct rn_epk e;
            int cuts = 0;
            while (rn_epk_middle(defs[d], &range, &e)) {
                assert_true(rn_epk_compare(&range.min, &e) < 0);
                assert_true(rn_epk_compare(&e, &range.max) < 0);
                *(rn_prng_percent(&prng, 50) ? &range.min : &range.max) = e;
                assert_true(++cuts < 500);
            }
            assert_true(cuts >= least[d]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_holds),
        cmocka_unit_test(a_whole_key_is_alone_in_its_interval),
        cmocka_unit_test(a_prefix_holds_all_keys_that_begin_with_it),
        cmocka_unit_test(intervals_meet_in_what_both_hold),
        cmocka_unit_test(hexadecimal_is_read_in_any_case),
        cmocka_unit_test(what_is_not_hexadecimal_is_refused),
        cmocka_unit_test(too_many_components_are_refused),
        cmocka_unit_test(version_1_counts_as_utf_16_does),
        cmocka_unit_test(the_longest_key_has_an_epk),
        cmocka_unit_test(even_bounds_are_those_of_the_service),
        cmocka_unit_test(even_bounds_share_keys_evenly),
        cmocka_unit_test(the_middle_halves),
        cmocka_unit_test(halving_ends_without_leaving_the_range),
    };

    return cmocka_run_group_tests(tests, load, release);
}
