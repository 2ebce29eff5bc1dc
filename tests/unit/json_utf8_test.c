/* json_utf8_test.c -- UTF-8, and the scan for plain text.
 *
 * UTF-8 is checked against its definition: every code point encodes to bytes
 * that are taken whole, and of all sequences of up to three bytes exactly those
 * are taken that encoding gives.  Both scanners are compared with a loop over
 * single bytes, with each odd byte at each place of each length.
 */
#include "json/scan.h"
#include "json/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_surrogate(uint32_t point)
{
    return point >= 0xd800 && point <= 0xdfff;
}

static void every_code_point_is_taken_whole(void **state)
{
    (void)state;
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        char bytes[RN_UTF8_MAX];
        size_t len;
        if (is_surrogate(point))
            continue;
        len = rn_utf8_encode(point, bytes);
        assert_int_equal(len, point < 0x80      ? 1
                              : point < 0x800   ? 2
                              : point < 0x10000 ? 3
                                                : 4);
        assert_int_equal(rn_utf8_len(bytes, bytes + len), len);
        if (len > 1)
            assert_int_equal(rn_utf8_len(bytes, bytes + len - 1), 0);
    }
}

/* What the bytes stand for by the letter of the encoding, whether allowed or
 * not; 0 if they have not even the form. */
static size_t form(const unsigned char *b, uint32_t *point)
{
    size_t len = b[0] < 0x80                   ? 1
                 : b[0] >= 0xc0 && b[0] < 0xe0 ? 2
                 : b[0] >= 0xe0 && b[0] < 0xf0 ? 3
                 : b[0] >= 0xf0 && b[0] < 0xf8 ? 4
                                               : 0;

    if (len == 0)
        return 0;
    *point = len == 1 ? b[0] : b[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (b[i] & 0x3f);
    }
    return len;
}

/* All first three bytes, with a few fourth ones. */
static void only_the_shortest_form_is_taken(void **state)
{
    static const unsigned char fourth[] = {
        0x00, 0x41, 0x80, 0xbf, 0xc0, 0xff
    };

    (void)state;
    for (uint32_t n = 0; n < 1u << 24; n += n < 0xc00000 ? 251 : 1) {
        unsigned char b[4] = { (unsigned char)(n >> 16),
                               (unsigned char)(n >> 8), (unsigned char)n,
                               fourth[n % sizeof(fourth)] };
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        const char *at = (const char *)b;
        uint32_t point = 0;
        size_t len = form(b, &point);
        if (point < least[len] || point > 0x10ffff || is_surrogate(point))
            len = 0;
        if (rn_utf8_len(at, at + 4) != len)
            fail_msg("%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
    }
}

typedef const char *scan_fn(const char *at, const char *end);

static void scan_agrees_with_single_bytes(scan_fn *scan)
{
    for (size_t len = 0; len <= 40; len++) {
        char *text = malloc(len + 1); /* never aligned: text + 1 */
        assert_non_null(text);
        memset(text + 1, 'a', len);
        assert_ptr_equal(scan(text + 1, text + 1 + len), text + 1 + len);
        for (size_t at = 0; at < len; at++) {
            for (int byte = 0; byte < 256; byte++) {
                const char *expected = text + 1 + len;
                text[1 + at] = (char)byte;
                if (byte < ' ' || byte == '"' || byte == '\\' || byte > 127)
                    expected = text + 1 + at;
                assert_ptr_equal(scan(text + 1, text + 1 + len), expected);
            }
            text[1 + at] = 'a';
        }
        free(text);
    }
}

static void the_fast_scan_agrees_with_single_bytes(void **state)
{
    (void)state;
    scan_agrees_with_single_bytes(rn_scan_plain);
}

static void the_portable_scan_agrees_with_single_bytes(void **state)
{
    (void)state;
    scan_agrees_with_single_bytes(rn_scan_plain_words);
}

/* Two odd bytes in one word: the first one counts. */
static void the_first_of_two_odd_bytes_counts(void **state)
{
    static const char odd[] = "\"\\\x1f\x80\xff";
    char text[24];

    (void)state;
    for (size_t a = 0; a < 24; a++) {
        for (size_t b = a + 1; b < 24; b++) {
            memset(text, '~', sizeof(text));
            text[a] = odd[a % 5];
            text[b] = odd[(a + b) % 5];
            assert_ptr_equal(rn_scan_plain(text, text + 24), text + a);
            assert_ptr_equal(rn_scan_plain_words(text, text + 24), text + a);
        }
    }
}

static void four_hexadecimal_digits_are_a_number(void **state)
{
    (void)state;
    assert_int_equal(rn_scan_hex4("0000"), 0);
    assert_int_equal(rn_scan_hex4("09aF"), 0x09af);
    assert_int_equal(rn_scan_hex4("FfFf"), 0xffff);
    for (int byte = 0; byte < 256; byte++) {
        char text[4] = { '0', '0', '0', (char)byte };
        bool is_hex = (byte >= '0' && byte <= '9') ||
                      (byte >= 'a' && byte <= 'f') ||
                      (byte >= 'A' && byte <= 'F');
        assert_int_equal(rn_scan_hex4(text) >= 0, is_hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_taken_whole),
        cmocka_unit_test(only_the_shortest_form_is_taken),
        cmocka_unit_test(the_fast_scan_agrees_with_single_bytes),
        cmocka_unit_test(the_portable_scan_agrees_with_single_bytes),
        cmocka_unit_test(the_first_of_two_odd_bytes_counts),
        cmocka_unit_test(four_hexadecimal_digits_are_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
