/* cosmos_account_test.c -- the words of the dialect: levels, kinds, yes.
 *
 * Small tables are read forward and backward.
 */
#include "cosmos/account.h"

#include "cosmos/header.h"
#include "cosmos/kind.h"
#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void levels_have_names_and_an_order(void **state)
{
    enum rn_consistency level;

    (void)state;
    for (unsigned i = 0; i < RN_CONSISTENCY_LEVELS; i++) {
        const char *name = rn_consistency_name((enum rn_consistency)i);
        assert_int_equal(rn_consistency_parse(rn_view_text(name), &level, NULL),
                         RN_OK);
        assert_int_equal(level, i);
    }
    assert_true(RN_CONSISTENCY_EVENTUAL < RN_CONSISTENCY_PREFIX);
    assert_true(RN_CONSISTENCY_PREFIX < RN_CONSISTENCY_SESSION);
    assert_true(RN_CONSISTENCY_SESSION < RN_CONSISTENCY_BOUNDED);
    assert_true(RN_CONSISTENCY_BOUNDED < RN_CONSISTENCY_STRONG);
}

static void levels_are_read_in_any_case(void **state)
{
    enum rn_consistency level;

    (void)state;
    assert_int_equal(rn_consistency_parse(RN_LIT("STRONG"), &level, NULL),
                     RN_OK);
    assert_int_equal(level, RN_CONSISTENCY_STRONG);
    assert_int_equal(rn_consistency_parse(RN_LIT("bounded"), &level, NULL),
                     RN_OK);
    assert_int_equal(level, RN_CONSISTENCY_BOUNDED);
}

static void other_levels_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "Stron", "Stronger", "2", "Strong ", "Strict", "Bounded Staleness"
    };
    enum rn_consistency level = RN_CONSISTENCY_LEVELS;
    struct rn_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(
            rn_consistency_parse(rn_view_text(bad[i]), &level, &err),
            RN_BAD_REQUEST);
    assert_int_equal(level, RN_CONSISTENCY_LEVELS);
}

static void the_emulators_key_is_the_one_in_the_documents(void **state)
{
    struct vectors v;

    (void)state;
    vectors_load(&v, "rest-vectors.json");
    assert_true(rn_view_eq(vectors_string(&v, 0, "emulator_key"),
                           RN_LIT(RN_ACCOUNT_EMULATOR_KEY)));
    vectors_release(&v);
}

static void every_kind_is_found_by_its_word(void **state)
{
    (void)state;
    for (unsigned kind = RN_KIND_DATABASE; kind < RN_KINDS; kind++) {
        assert_int_equal(rn_kind_find(rn_kind_word((enum rn_kind)kind)), kind);
        assert_true(rn_kind_list((enum rn_kind)kind).len > 0);
        assert_in_range(rn_kind_depth((enum rn_kind)kind), 1, RN_KIND_DEPTH);
    }
    assert_int_equal(rn_kind_depth(RN_KIND_ACCOUNT), 0);
    assert_int_equal(rn_kind_depth(RN_KIND_PERMISSION), 3);
    assert_int_equal(rn_kind_find(RN_LIT("Dbs")), RN_KIND_ACCOUNT);
    assert_int_equal(rn_kind_find(RN_LIT("db")), RN_KIND_ACCOUNT);
    assert_int_equal(rn_kind_find(RN_LIT("")), RN_KIND_ACCOUNT);
}

static void yes_is_true_in_any_case(void **state)
{
    (void)state;
    assert_true(rn_header_is_true(RN_LIT("true")));
    assert_true(rn_header_is_true(RN_LIT("True")));
    assert_true(rn_header_is_true(RN_LIT("TRUE")));
    assert_false(rn_header_is_true(RN_LIT("")));
    assert_false(rn_header_is_true(RN_LIT("false")));
    assert_false(rn_header_is_true(RN_LIT("true ")));
    assert_false(rn_header_is_true(RN_LIT("tru")));
    assert_false(rn_header_is_true(RN_LIT("1")));
    assert_false(rn_header_is_true(RN_LIT("yes!")));
    assert_false(rn_header_is_true(RN_LIT("\x54\x12\x15\x05")));
    assert_false(rn_header_is_true((struct rn_view){ 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_have_names_and_an_order),
        cmocka_unit_test(levels_are_read_in_any_case),
        cmocka_unit_test(other_levels_are_refused),
        cmocka_unit_test(the_emulators_key_is_the_one_in_the_documents),
        cmocka_unit_test(every_kind_is_found_by_its_word),
        cmocka_unit_test(yes_is_true_in_any_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
