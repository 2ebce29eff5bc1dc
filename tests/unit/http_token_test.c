/* http_token_test.c -- a control byte is found wherever it stands.
 *
 * Every byte at every place of texts of every length up to a few words, amid
 * letters, tabs and bytes with the high bit; the texts lie in memory that ends
 * with them.
 */
#include "http/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LENGTH_MAX = 27 };

static void a_control_byte_is_found_at_each_place(void **state)
{
    static const char fills[] = { 'a', '\t', (char)0xff };

    (void)state;
    for (size_t len = 1; len <= LENGTH_MAX; len++) {
        char *text = malloc(len);
        assert_non_null(text);
        for (size_t i = 0; i < 256 * len * sizeof(fills); i++) {
            size_t place = i / 256 % len;
            char c = (char)(i % 256);
            bool is_control = ((i % 256) < 0x20 && c != '\t') || c == 0x7f;
            memset(text, fills[i / 256 / len], len);
            text[place] = c;
            assert_ptr_equal(rn_http_find_control(text, text + len),
                             text + (is_control ? place : len));
        }
        free(text);
    }
}

static void the_first_of_several_is_found(void **state)
{
    char text[LENGTH_MAX];

    (void)state;
    for (size_t first = 0; first < sizeof(text); first++) {
        for (size_t next = first; next < sizeof(text); next++) {
            memset(text, 'a', sizeof(text));
            text[first] = '\r';
            text[next] = '\n';
            assert_ptr_equal(rn_http_find_control(text, text + sizeof(text)),
                             text + first);
        }
    }
}

static void nothing_is_found_in_nothing(void **state)
{
    (void)state;
    assert_null(rn_http_find_control(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_control_byte_is_found_at_each_place),
        cmocka_unit_test(the_first_of_several_is_found),
        cmocka_unit_test(nothing_is_found_in_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
