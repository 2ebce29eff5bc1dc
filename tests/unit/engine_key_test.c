/* engine_key_test.c -- keys sort as what they stand for, and fit the store.
 *
 * Pairs of what is meant, in order, are encoded and compared as bytes; the
 * longest of everything is encoded and measured.
 */
#include "engine/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct rn_pkdef v1 = { .kind = RN_PKDEF_HASH, .count = 1 };

static struct rn_pk pk_of(const char *text)
{
    return (struct rn_pk){
        .count = 1,
        .values = { { .type = RN_PK_STRING, .text = rn_view_text(text) } },
    };
}

static struct rn_epk epk_of(const char *bytes, size_t len)
{
    struct rn_epk epk = { .len = len };

    memcpy(epk.bytes, bytes, len);
    return epk;
}

static int compare(const struct rn_key *a, const struct rn_key *b)
{
    return rn_view_compare(rn_key_view(a), rn_key_view(b));
}

/* ---- documents ----------------------------------------------------------- */

/* In rising order; zero bytes and the end's own byte are where it goes wrong
 * first. */
#define E(s)                                                                   \
    {                                                                          \
        s, sizeof(s) - 1                                                       \
    }
static const struct rn_view epks[] = {
    E(""),         E("\0"),       E("\0\0"),       E("\0\0\0"),
    E("\0\1"),     E("\0\xff"),   E("\0\xff\0"),   E("\0\xff\xff"),
    E("\1"),       E("\1\0"),     E("\1\0\0"),     E("\1\0\1"),
    E("\1\0\xff"), E("\1\1"),     E("\x3f\0\0\0"), E("\x3f\0\0\0\1"),
    E("\xfe"),     E("\xfe\xff"),
};
static const struct rn_view ids[] = {
    E("\0"),  E("\1"), E("\1\1"), E("a"),        E("a\0"),
    E("a\1"), E("ab"), E("b"),    E("\xf0\x9f"), E("\xff\xff"),
};
enum {
    EPKS = sizeof(epks) / sizeof(epks[0]),
    IDS = sizeof(ids) / sizeof(ids[0]),
};

static void document_key(size_t epk, size_t id, struct rn_key *out)
{
    struct rn_epk e = epk_of(epks[epk].at, epks[epk].len);
    struct rn_pk pk = pk_of("p");

    rn_key_document(7, &e, &pk, ids[id], out);
}

static void documents_sort_by_epk_and_then_by_id(void **state)
{
    struct rn_key a, b;

    (void)state;
    for (size_t i = 0; i < EPKS * IDS; i++) {
        document_key(i / IDS, i % IDS, &a);
        for (size_t j = i + 1; j < EPKS * IDS; j++) {
            document_key(j / IDS, j % IDS, &b);
            assert_true(compare(&a, &b) < 0);
        }
    }
}

static void a_bound_parts_lesser_epks_from_the_rest(void **state)
{
    struct rn_key bound, key;

    (void)state;
    for (size_t i = 0; i < EPKS; i++) {
        struct rn_epk e = epk_of(epks[i].at, epks[i].len);

        rn_key_document_bound(7, &e, &bound);
        for (size_t j = 0; j < EPKS * IDS; j++) {
            document_key(j / IDS, j % IDS, &key);
            assert_int_equal(compare(&key, &bound) >= 0, j / IDS >= i);
        }
    }
}

static void keys_with_one_epk_stay_apart_in_version_1(void **state)
{
    char text[2][160];
    struct rn_epk e[2];
    struct rn_key keys[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rn_pk pk;
        memset(text[i], 'x', sizeof(text[i]));
        text[i][158] = (char)('0' + i);
        text[i][159] = '\0';
        pk = pk_of(text[i]);
        rn_epk_of(&v1, &pk, &e[i]);
        rn_key_document(7, &e[i], &pk, RN_LIT("id"), &keys[i]);
    }
    assert_int_equal(rn_epk_compare(&e[0], &e[1]), 0);
    assert_int_not_equal(compare(&keys[0], &keys[1]), 0);
    assert_int_equal(keys[0].len, keys[1].len);
}

static void long_ids_differ_wherever_they_do(void **state)
{
    static const size_t lens[] = { 199, 200, 201, 202, 255, 1022, 1023 };
    struct rn_epk e = epk_of("\0\0", 2);
    struct rn_pk pk = pk_of("p");
    char id[1023];

    (void)state;
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct rn_key whole, other;

        memset(id, 'x', sizeof(id));
        rn_key_document(7, &e, &pk, rn_view_of(id, lens[i]), &whole);
        assert_true(whole.len <= RN_KEY_MAX);
        for (size_t at = 0; at < lens[i]; at++) {
            id[at] = 'y';
            rn_key_document(7, &e, &pk, rn_view_of(id, lens[i]), &other);
            assert_int_not_equal(compare(&whole, &other), 0);
            id[at] = 'x';
        }
        rn_key_document(7, &e, &pk, rn_view_of(id, lens[i] - 1), &other);
        assert_int_not_equal(compare(&whole, &other), 0);
    }
}

/* A client that knows the hash could choose an id that looks like it. */
static void a_short_id_cannot_pass_for_a_long_one(void **state)
{
    struct rn_epk e = epk_of("e", 1);
    struct rn_pk pk = pk_of("p");
    struct rn_key none, whole, key;
    char id[1023];

    (void)state;
    memset(id, 'x', sizeof(id));
    rn_key_document(7, &e, &pk, RN_LIT(""), &none);
    rn_key_document(7, &e, &pk, rn_view_of(id, 200), &whole);
    assert_int_equal(whole.len - none.len, 200);
    for (size_t len = 201; len <= sizeof(id); len++) {
        rn_key_document(7, &e, &pk, rn_view_of(id, len), &key);
        assert_true(key.len > whole.len);
    }
}

static void the_longest_key_fits(void **state)
{
    struct rn_pk pk = pk_of("p");
    struct rn_epk e = { .len = 110 };
    struct rn_key key;
    char id[1023];

    (void)state;
    memset(id, 'x', sizeof(id));
    for (size_t len = 1; len <= sizeof(id); len++) {
        /* Every byte a zero, which takes two. */
        rn_key_document(UINT32_MAX, &e, &pk, rn_view_of(id, len), &key);
        assert_true(key.len <= RN_KEY_MAX);
    }
    e.len = RN_EPK_MAX;
    rn_key_document(UINT32_MAX, &e, &pk, rn_view_of(id, 200), &key);
    assert_true(key.len <= RN_KEY_MAX);
}

/* Real keys of version 1, of every length of string. */
static void every_partition_key_of_version_1_fits(void **state)
{
    char text[2049], id[200];

    (void)state;
    memset(id, 'x', sizeof(id));
    for (size_t len = 0; len <= 2048; len++) {
        struct rn_pk pk;
        struct rn_epk e;
        struct rn_key key;

        memset(text, 1, len);
        text[len] = '\0';
        pk = pk_of(text);
        rn_epk_of(&v1, &pk, &e);
        assert_true(e.len <= 110);
        rn_key_document(1, &e, &pk, rn_view_of(id, 200), &key);
        assert_true(key.len <= RN_KEY_MAX);
    }
}

/* ---- the others ---------------------------------------------------------- */

static void feed_keys_sort_by_range_lsn_and_place(void **state)
{
    static const uint64_t lsns[] = {
        0, 1, 255, 256, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX
    };
    static const uint32_t small[] = { 0, 1, 255, 256, 65536, UINT32_MAX };
    struct rn_key last = { 0 }, key;

    (void)state;
    for (size_t r = 0; r < 6; r++) {
        for (size_t l = 0; l < 7; l++) {
            for (size_t n = 0; n < 6; n++) {
                rn_key_feed(9, small[r], lsns[l], small[n], &key);
                assert_true(last.len == 0 || compare(&last, &key) < 0);
                last = key;
            }
        }
    }
}

static void a_container_holds_its_own_keys_and_no_others(void **state)
{
    static const uint32_t numbers[] = { 0, 1, 255, 256, UINT32_MAX - 1 };
    struct rn_key from, before, key[4];
    struct rn_epk e = epk_of("\xff\xff", 2);
    struct rn_pk pk = pk_of("p");

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        rn_key_span_container(numbers[i], &from, &before);
        for (size_t j = 0; j < 5; j++) {
            rn_key_document(numbers[j], &e, &pk, RN_LIT("\xff"), &key[0]);
            rn_key_feed(numbers[j], UINT32_MAX, UINT64_MAX, 0, &key[1]);
            rn_key_rid(numbers[j], UINT64_MAX, &key[2]);
            rn_key_range(numbers[j], UINT32_MAX, &key[3]);
            for (int k = 0; k < 4; k++)
                assert_int_equal(compare(&from, &key[k]) <= 0 &&
                                     compare(&key[k], &before) < 0,
                                 i == j);
        }
    }
}

static void a_tag_holds_its_own_keys_and_no_others(void **state)
{
    static const char tags[] = { RN_TAG_DOCUMENT, RN_TAG_FEED, RN_TAG_RID,
                                 RN_TAG_RANGE };
    struct rn_key from, before, key[4];
    struct rn_epk e = epk_of("\xff\xff", 2);
    struct rn_pk pk = pk_of("p");

    (void)state;
    rn_key_document(3, &e, &pk, RN_LIT("\xff"), &key[0]);
    rn_key_feed(3, UINT32_MAX, UINT64_MAX, UINT32_MAX, &key[1]);
    rn_key_rid(3, UINT64_MAX, &key[2]);
    rn_key_range(3, UINT32_MAX, &key[3]);
    for (int t = 0; t < 4; t++) {
        rn_key_span_tag(3, tags[t], &from, &before);
        for (int k = 0; k < 4; k++)
            assert_int_equal(compare(&from, &key[k]) <= 0 &&
                                 compare(&key[k], &before) < 0,
                             t == k);
    }
}

static void names_differ_by_kind_owner_and_id(void **state)
{
    struct rn_rid none = { 0 }, one = rn_rid_database(1),
                  two = rn_rid_database(2);
    struct rn_key keys[5];

    (void)state;
    rn_key_name(RN_KIND_DATABASE, none, RN_LIT("a"), &keys[0]);
    rn_key_name(RN_KIND_DATABASE, none, RN_LIT("b"), &keys[1]);
    rn_key_name(RN_KIND_CONTAINER, one, RN_LIT("a"), &keys[2]);
    rn_key_name(RN_KIND_CONTAINER, two, RN_LIT("a"), &keys[3]);
    rn_key_name(RN_KIND_USER, two, RN_LIT("a"), &keys[4]);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(compare(&keys[i], &keys[j]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_sort_by_epk_and_then_by_id),
        cmocka_unit_test(a_bound_parts_lesser_epks_from_the_rest),
        cmocka_unit_test(keys_with_one_epk_stay_apart_in_version_1),
        cmocka_unit_test(long_ids_differ_wherever_they_do),
        cmocka_unit_test(a_short_id_cannot_pass_for_a_long_one),
        cmocka_unit_test(the_longest_key_fits),
        cmocka_unit_test(every_partition_key_of_version_1_fits),
        cmocka_unit_test(feed_keys_sort_by_range_lsn_and_place),
        cmocka_unit_test(a_container_holds_its_own_keys_and_no_others),
        cmocka_unit_test(a_tag_holds_its_own_keys_and_no_others),
        cmocka_unit_test(names_differ_by_kind_owner_and_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
