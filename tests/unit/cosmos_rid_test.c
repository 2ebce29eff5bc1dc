/* cosmos_rid_test.c -- resource ids are spelled as clients spell them.
 *
 * Captured rids (tests/vectors/rest-vectors.json) must be read as what they
 * are and printed back; so must generated ones of every kind.  Refused texts
 * differ from a good one in one way each.
 */
#include "cosmos/rid.h"

#include "base/prng.h"
#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static void captured_rids_are_read_and_printed(void **state)
{
    static const struct {
        struct rn_rid rid;
        const char *name;
    } want[] = {
        { { RN_KIND_DATABASE, 0xb1b35300, 0, 0 }, "database" },
        { { RN_KIND_CONTAINER, 0xb1b35300, 0x3d249200, 0 }, "container" },
        { { RN_KIND_DOCUMENT, 0xb1b35300, 0x3d249200, 1 }, "document 1" },
        { { RN_KIND_DOCUMENT, 0xb1b35300, 0x3d249200, 258 }, "document 258" },
        { { RN_KIND_PROCEDURE, 0xb1b35300, 0x3d249200, 2 },
          "stored procedure 2" },
        { { RN_KIND_TRIGGER, 0xb1b35300, 0x3d249200, 2 }, "trigger 2" },
        { { RN_KIND_FUNCTION, 0xb1b35300, 0x3d249200, 2 }, "udf 2" },
        { { RN_KIND_RANGE, 0xb1b35300, 0x3d249200, 2 }, "pkrange 2" },
        { { RN_KIND_CONFLICT, 0xb1b35300, 0x3d249200, 2 }, "conflict 2" },
        { { RN_KIND_USER, 0xb1b35300, 0x00a1b200, 0 }, "user" },
        { { RN_KIND_PERMISSION, 0xb1b35300, 0x00a1b200, 3 }, "permission" },
        { { RN_KIND_OFFER, 0, 0, 0x172503 }, "offer" },
        { { RN_KIND_DATABASE, 0xfffefffd, 0, 0 }, "slash substitution" },
    };
    struct vectors v;
    uint32_t list;

    (void)state;
    vectors_load(&v, "rest-vectors.json");
    list = vectors_member(&v, 0, "rids");
    assert_int_equal(rn_json_count(&v.json, list),
                     sizeof(want) / sizeof(want[0]));
    for (uint32_t i = 0; i < rn_json_count(&v.json, list); i++) {
        uint32_t vector = rn_json_at(&v.json, list, i);
        struct rn_view text = vectors_string(&v, vector, "rid");
        struct rn_view bytes =
            vectors_bytes(&v, vectors_string(&v, vector, "bytes_hex"));
        unsigned char encoded[RN_RID_BYTES_MAX];
        char printed[RN_RID_TEXT_MAX];
        struct rn_rid rid;
        assert_view(vectors_string(&v, vector, "kind"),
                    rn_view_text(want[i].name));
        assert_true(rn_rid_parse(text, &rid));
        assert_true(rn_rid_eq(rid, want[i].rid));
        assert_view(rn_view_of(encoded, rn_rid_encode(rid, encoded)), bytes);
        assert_view(rn_rid_print(rid, printed), text);
    }
    vectors_release(&v);
}

static struct rn_rid random_rid(struct rn_prng *c, enum rn_kind kind)
{
    uint32_t database = (uint32_t)rn_prng_below(c, UINT32_MAX) + 1;
    uint32_t parent = (uint32_t)rn_prng_below(c, INT32_MAX) + 1;
    uint64_t number = rn_prng_next(c) & RN_RID_NUMBER_MAX;

    if (rn_prng_percent(c, 30))
        number >>= rn_prng_below(c, 60);
    switch (kind) {
    case RN_KIND_ACCOUNT:
    case RN_KINDS:
        break;
    case RN_KIND_OFFER:
        return rn_rid_offer((uint32_t)(number & 0xffffff));
    case RN_KIND_DATABASE:
        return rn_rid_database(database);
    case RN_KIND_CONTAINER:
        return rn_rid_container(database, parent);
    case RN_KIND_USER:
        return rn_rid_user(database, parent);
    case RN_KIND_PERMISSION:
        return rn_rid_child(rn_rid_user(database, parent), kind, number);
    case RN_KIND_CLIENT_KEY:
        return rn_rid_child(rn_rid_database(database), kind, number);
    case RN_KIND_DOCUMENT:
    case RN_KIND_RANGE:
    case RN_KIND_PROCEDURE:
    case RN_KIND_TRIGGER:
    case RN_KIND_FUNCTION:
    case RN_KIND_CONFLICT:
        return rn_rid_child(rn_rid_container(database, parent), kind, number);
    }
    fail();
    return (struct rn_rid){ 0 };
}

static void print_then_parse_is_identity(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 12);
    for (unsigned kind = RN_KIND_DATABASE; kind < RN_KINDS; kind++) {
        for (int i = 0; i < 2000; i++) {
            struct rn_rid rid = random_rid(&prng, (enum rn_kind)kind), back;
            char text[RN_RID_TEXT_MAX];
            assert_true(rn_rid_parse(rn_rid_print(rid, text), &back));
            assert_true(rn_rid_eq(rid, back));
            assert_int_equal(back.kind, kind);
        }
    }
}

/* Whatever bytes are taken for a rid print back as they were: no resource has
 * two spellings. */
static void bytes_that_decode_encode_to_themselves(void **state)
{
    static const size_t lengths[] = { 3, 4, 8, 16 };
    struct rn_prng prng;
    unsigned taken = 0;

    (void)state;
    rn_prng_init(&prng, 13);
    for (int i = 0; i < 40000; i++) {
        unsigned char bytes[RN_RID_BYTES_MAX], back[RN_RID_BYTES_MAX];
        size_t len = lengths[rn_prng_below(&prng, 4)];
        struct rn_rid rid;
        rn_prng_fill(&prng, bytes, sizeof(bytes));
        if (rn_prng_percent(&prng, 20))
            memset(bytes + 4, 0, 4);
        if (!rn_rid_decode(rn_view_of(bytes, len), &rid))
            continue;
        taken++;
        assert_int_equal(rn_rid_encode(rid, back), len);
        assert_memory_equal(back, bytes, len);
    }
    assert_true(taken > 10000);
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const struct {
        const char *flaw, *text;
    } bad[] = {
        { "empty", "" },
        { "no padding", "sbNTAA" },
        { "half the padding", "sbNTAA=" },
        { "too much padding", "sbNTAA===" },
        { "cut", "sbNTAL0kkg==" },
        { "cut to an odd length", "sbNTAL0kkgA" },
        { "a slash", "//7//Q==" },
        { "the URL alphabet", "_-7-_Q==" },
        { "bits left behind", "sbNTAB==" },
        { "a blank behind", "sbNTAA== " },
        { "a blank within", "sbNT AA=" },
        { "a newline behind", "sbNTAA==\n" },
        { "database 0", "AAAAAA==" },
        { "database 0 in a container", "AAAAAL0kkgA=" },
        { "user 0", "sbNTAAAAAAA=" },
        { "no nibble of ours: 1", "sbNTAL0kkgACAAAAAAAAEA==" },
        { "no nibble of ours: 9", "sbNTAL0kkgACAAAAAAAAkA==" },
        { "no nibble of ours: f", "sbNTAL0kkgACAAAAAAAA8A==" },
        { "permission with a nibble", "sbNTAAChsgADAAAAAAAAUA==" },
        { "12 bytes", "sbNTAL0kkgABAAAA" },
        { "15 bytes", "sbNTAL0kkgABAAAAAAAA" },
        { "17 bytes", "sbNTAL0kkgABAAAAAAAAAAA=" },
        { "20 bytes, an attachment", "sbNTAL0kkgABAAAAAAAAAAAAAAA=" },
        { "a name", "Orders" },
        { "a long name", "a-name-that-is-far-too-long-for-any-rid-there-is" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_rid rid = { .number = 7 };
        print_message("# %s\n", bad[i].flaw);
        assert_false(rn_rid_parse(rn_view_text(bad[i].text), &rid));
        assert_int_equal(rid.number, 7);
    }
}

static void the_owner_is_what_it_lies_in(void **state)
{
    struct rn_rid db = rn_rid_database(9), co = rn_rid_container(9, 8);
    struct rn_rid user = rn_rid_user(9, 8);
    struct rn_rid account = { .kind = RN_KIND_ACCOUNT };

    (void)state;
    assert_true(
        rn_rid_eq(rn_rid_owner(rn_rid_child(co, RN_KIND_DOCUMENT, 5)), co));
    assert_true(
        rn_rid_eq(rn_rid_owner(rn_rid_child(co, RN_KIND_TRIGGER, 5)), co));
    assert_true(rn_rid_eq(
        rn_rid_owner(rn_rid_child(user, RN_KIND_PERMISSION, 5)), user));
    assert_true(
        rn_rid_eq(rn_rid_owner(rn_rid_child(db, RN_KIND_CLIENT_KEY, 5)), db));
    assert_true(rn_rid_eq(rn_rid_owner(co), db));
    assert_true(rn_rid_eq(rn_rid_owner(user), db));
    assert_true(rn_rid_eq(rn_rid_owner(db), account));
    assert_true(rn_rid_eq(rn_rid_owner(rn_rid_offer(1)), account));
}

/* Clients compare the last eight bytes as a little-endian number. */
static void later_documents_of_a_range_compare_higher(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 14);
    for (int i = 0; i < 2000; i++) {
        uint32_t range = (uint32_t)rn_prng_below(&prng, 1u << 20);
        uint64_t counter = rn_prng_below(&prng, ((uint64_t)1 << 40) - 1);
        uint64_t number = rn_rid_number(range, counter), last = 0;
        struct rn_rid rid =
            rn_rid_child(rn_rid_container(1, 2), RN_KIND_DOCUMENT, number);
        unsigned char bytes[RN_RID_BYTES_MAX];
        assert_int_equal(rn_rid_encode(rid, bytes), 16);
        for (size_t b = 16; b-- > 8;)
            last = last << 8 | bytes[b];
        assert_int_equal(last, number);
        assert_int_equal(rn_rid_number_range(number), range);
        assert_int_equal(rn_rid_number_counter(number), counter);
        assert_true(rn_rid_number(range, counter + 1) > number);
    }
}

static void self_links_are_paths_of_rids(void **state)
{
    static const struct {
        const char *rid, *self;
    } cases[] = {
        { "sbNTAA==", "dbs/sbNTAA==/" },
        { "sbNTAL0kkgA=", "dbs/sbNTAA==/colls/sbNTAL0kkgA=/" },
        { "sbNTAL0kkgABAAAAAAAAAA==",
          "dbs/sbNTAA==/colls/sbNTAL0kkgA=/docs/sbNTAL0kkgABAAAAAAAAAA==/" },
        { "sbNTAL0kkgACAAAAAAAAUA==", "dbs/sbNTAA==/colls/sbNTAL0kkgA=/"
                                      "pkranges/sbNTAL0kkgACAAAAAAAAUA==/" },
        { "sbNTAAChsgADAAAAAAAAAA==", "dbs/sbNTAA==/users/sbNTAAChsgA=/"
                                      "permissions/sbNTAAChsgADAAAAAAAAAA==/" },
        { "FyUD", "offers/FyUD/" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char self[RN_RID_SELF_MAX];
        struct rn_rid rid;
        assert_true(rn_rid_parse(rn_view_text(cases[i].rid), &rid));
        assert_view(rn_rid_print_self(rid, self), rn_view_text(cases[i].self));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_rids_are_read_and_printed),
        cmocka_unit_test(print_then_parse_is_identity),
        cmocka_unit_test(bytes_that_decode_encode_to_themselves),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(the_owner_is_what_it_lies_in),
        cmocka_unit_test(later_documents_of_a_range_compare_higher),
        cmocka_unit_test(self_links_are_paths_of_rids),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
