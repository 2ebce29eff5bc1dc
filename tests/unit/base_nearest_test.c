/* base_nearest_test.c -- a misspelt word finds the one that was meant.
 *
 * Method: a table of words, offered one after the other.
 */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *nearest(const char *word)
{
    static const char *const words[] = { "serve", "backup",     "restore",
                                         "keys",  "log-format", "log-level" };
    struct rn_nearest n = { .word = rn_view_text(word) };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        rn_nearest_offer(&n, words[i]);
    return n.found;
}

static void the_closest_word_is_found(void **state)
{
    static const char *const rows[][2] = {
        { "serv", "serve" },
        { "sevre", "serve" },
        { "key", "keys" },
        { "bakcup", "backup" },
        { "log-fromat", "log-format" },
        { "log-lvl", "log-level" },
        { "serve", "serve" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(nearest(rows[i][0]), rows[i][1]);
}

static void a_word_that_is_far_from_all_finds_none(void **state)
{
    static const char *const rows[] = { "", "x", "tail", "export",
                                        "something-else" };
    char longer[RN_NEAREST_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_null(nearest(rows[i]));
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_null(nearest(longer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closest_word_is_found),
        cmocka_unit_test(a_word_that_is_far_from_all_finds_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
