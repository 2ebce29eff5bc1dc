/* base_err_test.c -- an error keeps its code, and its words in order.
 *
 * Every code is walked, every errno class is tried, and texts are made longer
 * than their room: nothing may be written past it.
 */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < RN_CODES; i++) {
        assert_non_null(rn_code_name((enum rn_code)i));
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(rn_code_name((enum rn_code)i),
                                    rn_code_name((enum rn_code)k));
        }
    }
    assert_string_equal(rn_code_name(RN_CODES), "unnamed");
    assert_string_equal(rn_code_name((enum rn_code) - 1), "unnamed");
}

static void failing_records_code_and_sentence(void **state)
{
    struct rn_err err = { 0 };

    (void)state;
    assert_int_equal(rn_fail(&err, RN_GONE, "range %d has split", 7), RN_GONE);
    assert_int_equal(err.code, RN_GONE);
    assert_string_equal(err.text, "range 7 has split");
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(rn_fail(NULL, RN_BUSY, "never seen"), RN_BUSY);
    assert_int_equal(rn_fail_errno(NULL, ENOSPC, "never seen"), RN_FULL);
    rn_err_during(NULL, "never seen");
}

static void errno_chooses_the_code(void **state)
{
    static const struct {
        int error;
        enum rn_code code;
    } cases[] = {
        { ENOSPC, RN_FULL },      { EDQUOT, RN_FULL },
        { EFBIG, RN_FULL },       { ENOMEM, RN_NOMEM },
        { ENOENT, RN_NOT_FOUND }, { EAGAIN, RN_BUSY },
        { EBUSY, RN_BUSY },       { EROFS, RN_FORBIDDEN },
        { EACCES, RN_FORBIDDEN }, { EPERM, RN_FORBIDDEN },
        { EIO, RN_IO },           { ELOOP, RN_IO },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_err err = { 0 };
        char want[300];
        snprintf(want, sizeof(want), "opening x: %s", strerror(cases[i].error));
        assert_int_equal(rn_fail_errno(&err, cases[i].error, "opening %s", "x"),
                         cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.text, want);
    }
}

static void what_we_did_comes_before_what_went_wrong(void **state)
{
    struct rn_err err = { 0 };

    (void)state;
    rn_fail(&err, RN_CORRUPT, "bad checksum");
    rn_err_during(&err, "reading record %d", 9);
    rn_err_during(&err, "opening %s", "store");
    assert_int_equal(err.code, RN_CORRUPT);
    assert_string_equal(err.text, "opening store: reading record 9: bad "
                                  "checksum");
}

static void long_stories_are_cut_and_ended(void **state)
{
    struct rn_err err;
    char words[600];

    (void)state;
    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    rn_fail(&err, RN_IO, "%s", words);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    rn_err_during(&err, "%s", words);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    rn_fail_errno(&err, EIO, "%s", words);
    assert_true(strlen(err.text) < sizeof(err.text));
    /* the cause survives even if the sentence does not */
    assert_non_null(strstr(err.text, strerror(EIO)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name_of_its_own),
        cmocka_unit_test(failing_records_code_and_sentence),
        cmocka_unit_test(nobody_has_to_listen),
        cmocka_unit_test(errno_chooses_the_code),
        cmocka_unit_test(what_we_did_comes_before_what_went_wrong),
        cmocka_unit_test(long_stories_are_cut_and_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
