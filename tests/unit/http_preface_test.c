/* http_preface_test.c -- HTTP/2 is answered to use HTTP/1.1 when its first
 * request has come, and not before.
 *
 * What a reader makes of it, in pieces of every length, is in tests/evil/
 * framing/foreign.txt; here are the bounds, and the bytes of the answer.
 */
#include "http/preface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* The head of a frame. */
static struct rn_view frame(char out[9], uint32_t len, unsigned type)
{
    const char head[9] = { (char)(len >> 16), (char)(len >> 8), (char)len,
                           (char)type };

    memcpy(out, head, 9);
    return rn_view_of(out, 9);
}

static bool take(struct rn_http_preface *p, uint32_t len, unsigned type)
{
    struct rn_http_refusal no = { 0 };
    char head[9];
    static const char payload[1 << 14];

    if (rn_http_preface_take(p, frame(head, len, type), &no)) {
        assert_int_equal(no.status, 505);
        assert_int_equal(no.raw.len, 26);
        return true;
    }
    assert_true(len <= sizeof(payload));
    assert_false(rn_http_preface_take(p, rn_view_of(payload, len), &no));
    return false;
}

static void the_preface_is_known_by_all_its_bytes(void **state)
{
    char bytes[] = PREFACE "more";

    (void)state;
    for (size_t len = 1; len < sizeof(bytes); len++)
        assert_int_equal(rn_http_preface_match(rn_view_of(bytes, len)),
                         len < 24 ? len : 24);
    for (size_t i = 0; i < 24; i++) {
        bytes[i] ^= 0x20;
        assert_int_equal(rn_http_preface_match(rn_view_of(bytes, 24)), 0);
        bytes[i] ^= 0x20;
    }
    assert_int_equal(rn_http_preface_match(rn_view_of(bytes, 0)), 0);
}

static void the_answer_is_settings_and_goaway(void **state)
{
    static const char want[26] = { 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7,
                                   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13 };
    struct rn_http_preface p = { 0 };
    struct rn_http_refusal no = { 0 };
    char head[9];

    (void)state;
    assert_false(rn_http_preface_take(&p, frame(head, 0, 4), &no));
    assert_true(rn_http_preface_take(&p, frame(head, 5, 1), &no));
    assert_true(rn_view_eq(no.raw, rn_view_of(want, sizeof(want))));
    assert_int_equal(no.status, 505);
}

static void frames_of_other_kinds_are_passed_over(void **state)
{
    struct rn_http_preface p = { 0 };

    (void)state;
    assert_false(take(&p, 18, 4));
    for (unsigned type = 0; type < 256; type++) {
        if (type != 1)
            assert_false(take(&p, type, type));
    }
    assert_true(take(&p, 10, 1));
}

static void settings_come_first(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        struct rn_http_preface p = { 0 };
        assert_int_equal(take(&p, 0, type), type != 4);
    }
}

static void a_frame_may_be_long_and_there_may_be_some(void **state)
{
    struct rn_http_preface p = { 0 };
    uint32_t left = RN_HTTP_PREFACE_MAX;

    (void)state;
    for (; left >= 9 + 16384; left -= 9 + 16384)
        assert_false(take(&p, 16384, 4));
    assert_false(take(&p, left - 9, 4));
    assert_true(take(&p, 0, 4));
    p = (struct rn_http_preface){ 0 };
    assert_true(take(&p, 16385, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_preface_is_known_by_all_its_bytes),
        cmocka_unit_test(the_answer_is_settings_and_goaway),
        cmocka_unit_test(frames_of_other_kinds_are_passed_over),
        cmocka_unit_test(settings_come_first),
        cmocka_unit_test(a_frame_may_be_long_and_there_may_be_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
