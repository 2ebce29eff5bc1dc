/* cosmos_auth_test.c -- an Authorization header has few forms; the rest is
 * refused.
 *
 * Each refused header differs from a good one in exactly one way, named beside
 * it.  Dates are tried around the edges of the window.
 */
#include "cosmos/auth.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SIG "c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c="

/* From memory that ends with the header, so that the sanitizer sees a byte too
 * many being read. */
static enum rn_code parse(struct rn_view header, struct rn_auth *out)
{
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    char *exact = malloc(header.len ? header.len : 1);
    struct rn_err err = { 0 };
    struct rn_auth auth = { .type = RN_AUTH_MASTER };
    enum rn_code rc;

    assert_non_null(exact);
    memcpy(exact, header.at, header.len);
    rc = rn_auth_parse(rn_view_of(exact, header.len), &arena, &auth, &err);

    assert_int_equal(err.code, rc);
    if (!rc) {
        /* Which must not need the arena any more. */
        if (auth.type == RN_AUTH_MASTER)
            auth.token = RN_LIT("");
        *out = auth;
    }
    rn_arena_release(&arena);
    free(exact);
    return rc;
}

static void the_usual_spellings_of_a_signature_are_one(void **state)
{
    static const struct {
        const char *sender, *header;
    } good[] = {
        { "JavaScript, Java, Go, Python",
          "type%3Dmaster%26ver%3D1.0%26sig%3Dc09PEVJrgp2uQRkr934kFbTqhByc7TV"
          "r3OHyqlu%2Bc%2Bc%3D" },
        { ".NET",
          "type%3dmaster%26ver%3d1.0%26sig%3dc09PEVJrgp2uQRkr934kFbTqhByc7TV"
          "r3OHyqlu%2bc%2bc%3d" },
        { "not encoded", "type=master&ver=1.0&sig=" SIG },
        { "only the sign of equality",
          "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+"
          "c+c%3D" },
        { "encoded more than needed", "%74ype=master&ver=1%2E0&sig=" SIG },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        unsigned char want[RN_SIGNATURE_LEN];
        struct rn_auth auth;
        size_t len;
        print_message("# %s\n", good[i].sender);
        assert_int_equal(parse(rn_view_text(good[i].header), &auth), RN_OK);
        assert_int_equal(auth.type, RN_AUTH_MASTER);
        assert_int_equal(rn_base64_decode(RN_LIT(SIG), RN_BASE64_STANDARD, want,
                                          sizeof(want), &len),
                         RN_OK);
        assert_memory_equal(auth.signature, want, RN_SIGNATURE_LEN);
    }
}

static const struct {
    const char *flaw, *header;
} bad_headers[] = {
    { "empty", "" },
    { "a blank", " " },
    { "no type", "ver=1.0&sig=" SIG },
    { "no version", "type=master&sig=" SIG },
    { "no signature", "type=master&ver=1.0" },
    { "empty signature", "type=master&ver=1.0&sig=" },
    { "type in capitals", "Type=master&ver=1.0&sig=" SIG },
    { "master in capitals", "type=Master&ver=1.0&sig=" SIG },
    { "sig in capitals", "type=master&ver=1.0&SIG=" SIG },
    { "another order", "ver=1.0&type=master&sig=" SIG },
    { "type twice", "type=master&type=master&ver=1.0&sig=" SIG },
    { "version twice", "type=master&ver=1.0&ver=1.0&sig=" SIG },
    { "signature twice", "type=master&ver=1.0&sig=" SIG "&sig=" SIG },
    { "header twice, joined",
      "type=master&ver=1.0&sig=" SIG ", type=master&ver=1.0&sig=" SIG },
    { "version 2.0", "type=master&ver=2.0&sig=" SIG },
    { "version 1", "type=master&ver=1&sig=" SIG },
    { "unknown type", "type=sas&ver=1.0&sig=" SIG },
    { "empty type", "type=&ver=1.0&sig=" SIG },
    { "another scheme", "Basic dXNlcjpwYXNz" },
    { "bearer", "Bearer " SIG },
    { "blank before", " type=master&ver=1.0&sig=" SIG },
    { "blank behind", "type=master&ver=1.0&sig=" SIG " " },
    { "blank after a sign", "type=master& ver=1.0&sig=" SIG },
    { "newline behind", "type=master&ver=1.0&sig=" SIG "\n" },
    { "encoded newline behind", "type=master&ver=1.0&sig=" SIG "%0A" },
    { "encoded twice",
      "type%253Dmaster%2526ver%253D1.0%2526sig%253Dc09PEVJrgp2uQRkr934k"
      "FbTqhByc7TVr3OHyqlu%252Bc%252Bc%253D" },
    { "escape without digits", "type=master&ver=1.0&sig=" SIG "%" },
    { "escape with one digit", "type=master&ver=1.0&sig=" SIG "%3" },
    { "invalid escape", "type=master&ver=1.0%zz&sig=" SIG },
    { "blank for a plus",
      "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu "
      "c+c=" },
    { "encoded blank for a plus",
      "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%20"
      "c+c=" },
    { "URL alphabet",
      "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu-"
      "c-c=" },
    { "no padding",
      "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+"
      "c+c" },
    { "two paddings",
      "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+"
      "c+c==" },
    { "bits left behind",
      "type=master&ver=1.0&sig=c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+"
      "c+d=" },
    { "31 bytes",
      "type=master&ver=1.0&sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AA==" },
    { "33 bytes",
      "type=master&ver=1.0&sig=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
      "AAAA" },
    { "1 byte", "type=master&ver=1.0&sig=AA==" },
    { "garbage in the signature",
      "type=master&ver=1.0&sig=c09PEVJrgp2u*Rkr934kFbTqhByc7TVr3OHyqlu+"
      "c+c=" },
    { "something behind", "type=master&ver=1.0&sig=" SIG "&x=1" },
    { "resource token that is empty", "type=resource&ver=1&sig=" },
    { "resource token with a blank", "type=resource&ver=1&sig=a b" },
    { "resource token with a byte of 8 bits",
      "type=resource&ver=1&sig=a\xc3\xa9" },
    { "resource of version 2", "type=resource&ver=2&sig=a" },
    { "aad of version 1", "type=aad&ver=1&sig=a.b.c" },
};

static void one_flaw_is_enough_to_be_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_headers) / sizeof(bad_headers[0]); i++) {
        struct rn_auth auth;
        print_message("# %s\n", bad_headers[i].flaw);
        assert_int_equal(parse(rn_view_text(bad_headers[i].header), &auth),
                         RN_UNAUTHORIZED);
    }
}

static void a_nul_is_no_end(void **state)
{
    struct rn_auth auth;

    (void)state;
    assert_int_equal(parse(RN_LIT("type=master&ver=1.0&sig=" SIG "\0"), &auth),
                     RN_UNAUTHORIZED);
    assert_int_equal(parse(RN_LIT("type=master&ver=1.0&sig=" SIG "%00"), &auth),
                     RN_UNAUTHORIZED);
    assert_int_equal(parse(RN_LIT("type=master\0&ver=1.0&sig=" SIG), &auth),
                     RN_UNAUTHORIZED);
}

static void no_beginning_of_a_header_is_a_header(void **state)
{
    static const char whole[] = "type=master&ver=1.0&sig=" SIG;
    struct rn_auth auth;

    (void)state;
    for (size_t len = 0; len < sizeof(whole) - 1; len++)
        assert_int_equal(parse(rn_view_of(whole, len), &auth), RN_UNAUTHORIZED);
}

static void tokens_are_handed_on_as_they_are(void **state)
{
    static const struct {
        const char *header, *token;
        enum rn_auth_type type;
    } good[] = {
        { "type%3Dresource%26ver%3D1%26sig%3Da%2Bb%3D%3D%3Bc%2Fd%3D%3B",
          "a+b==;c/d=;", RN_AUTH_RESOURCE },
        { "type=resource&ver=1&sig=a+b==;c/d=;", "a+b==;c/d=;",
          RN_AUTH_RESOURCE },
        { "type=resource&ver=1.0&sig=x&y=z", "x&y=z", RN_AUTH_RESOURCE },
        { "type=aad&ver=1.0&sig=eyJ0.eyJh.sig_-", "eyJ0.eyJh.sig_-",
          RN_AUTH_AAD },
        { "type%3daad%26ver%3d1.0%26sig%3deyJ0.eyJh.sig_-", "eyJ0.eyJh.sig_-",
          RN_AUTH_AAD },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct rn_arena arena = RN_ARENA_INIT(4096);
        struct rn_auth auth;
        assert_int_equal(
            rn_auth_parse(rn_view_text(good[i].header), &arena, &auth, NULL),
            RN_OK);
        assert_int_equal(auth.type, good[i].type);
        assert_true(rn_view_eq(auth.token, rn_view_text(good[i].token)));
        rn_arena_release(&arena);
    }
}

static void a_header_has_a_ceiling(void **state)
{
    static const char prefix[] = "type=resource&ver=1&sig=";
    static char header[RN_AUTH_HEADER_MAX + 1];
    struct rn_arena small = RN_ARENA_INIT(16);
    struct rn_auth auth;

    (void)state;
    memset(header, 'a', sizeof(header));
    memcpy(header, prefix, sizeof(prefix) - 1);
    assert_int_equal(parse(rn_view_of(header, sizeof(header) - 1), &auth),
                     RN_OK);
    assert_int_equal(parse(rn_view_of(header, sizeof(header)), &auth),
                     RN_UNAUTHORIZED);
    assert_int_equal(rn_auth_parse(RN_LIT("type%3Dresource&ver=1&sig=a"),
                                   &small, &auth, NULL),
                     RN_NOMEM);
    rn_arena_release(&small);
}

static void print_then_parse_is_identity(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 4711);
    for (int i = 0; i < 5000; i++) {
        unsigned char signature[RN_SIGNATURE_LEN];
        char text[RN_AUTH_TEXT_MAX];
        struct rn_auth auth;
        rn_prng_fill(&prng, signature, sizeof(signature));
        if (i == 0)
            memset(signature, 0xff, sizeof(signature)); /* the longest text */
        assert_int_equal(parse(rn_auth_print(signature, text), &auth), RN_OK);
        assert_memory_equal(auth.signature, signature, sizeof(signature));
    }
}

/* ---- dates --------------------------------------------------------------- */

/* Thu, 27 Apr 2017 00:51:12 GMT */
enum { NOW = 1493254272 };

static void a_date_is_good_for_a_quarter_of_an_hour(void **state)
{
    static const struct {
        int64_t off;
        enum rn_code rc;
    } cases[] = {
        { 0, RN_OK },
        { -14 * 60, RN_OK },
        { 14 * 60, RN_OK },
        { -RN_AUTH_WINDOW_S, RN_OK },
        { RN_AUTH_WINDOW_S, RN_OK },
        { -RN_AUTH_WINDOW_S - 1, RN_FORBIDDEN },
        { RN_AUTH_WINDOW_S + 1, RN_FORBIDDEN },
        { -16 * 60, RN_FORBIDDEN },
        { 16 * 60, RN_FORBIDDEN },
        { -100 * 365 * 86400LL, RN_FORBIDDEN },
        { 1000 * 365 * 86400LL, RN_FORBIDDEN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[RN_DATE_TEXT_MAX];
        struct rn_view date = rn_date_print(NOW + cases[i].off, text);
        struct rn_err err = { 0 };
        assert_int_equal(rn_auth_check_date(date, RN_LIT(""), NOW, &err),
                         cases[i].rc);
        assert_int_equal(rn_auth_check_date(RN_LIT(""), date, NOW, &err),
                         cases[i].rc);
    }
}

static void a_refused_date_is_reported_with_the_servers(void **state)
{
    struct rn_err err = { 0 };

    (void)state;
    assert_int_equal(rn_auth_check_date(RN_LIT("Thu, 27 Apr 2017 00:30:12 GMT"),
                                        RN_LIT(""), NOW, &err),
                     RN_FORBIDDEN);
    assert_string_equal(
        err.text,
        "The authorization token is not valid at the current time. Please "
        "create another token and retry (token start time: Thu, 27 Apr 2017 "
        "00:30:12 GMT, token expiry time: Thu, 27 Apr 2017 00:45:12 GMT, "
        "current server time: Thu, 27 Apr 2017 00:51:12 GMT).");
}

static void x_ms_date_wins_over_date(void **state)
{
    struct rn_view now = RN_LIT("Thu, 27 Apr 2017 00:51:12 GMT");
    struct rn_view old = RN_LIT("Thu, 27 Apr 2017 00:30:12 GMT");

    (void)state;
    assert_int_equal(rn_auth_check_date(now, old, NOW, NULL), RN_OK);
    assert_int_equal(rn_auth_check_date(old, now, NOW, NULL), RN_FORBIDDEN);
    assert_int_equal(rn_auth_check_date(RN_LIT("garbage"), now, NOW, NULL),
                     RN_UNAUTHORIZED);
}

static void what_is_no_date_is_refused(void **state)
{
    static const struct {
        const char *flaw, *date;
    } bad[] = {
        { "missing", "" },
        { "garbage", "yesterday" },
        { "RFC 850", "Thursday, 27-Apr-17 00:51:12 GMT" },
        { "asctime", "Thu Apr 27 00:51:12 2017" },
        { "two digits of the year", "Thu, 27 Apr 17 00:51:12 GMT" },
        { "ISO 8601", "2017-04-27T00:51:12Z" },
        { "seconds", "1493254272" },
        { "another zone", "Thu, 27 Apr 2017 00:51:12 +0000" },
        { "no zone", "Thu, 27 Apr 2017 00:51:12" },
        { "another weekday", "Fri, 27 Apr 2017 00:51:12 GMT" },
        { "hour 24", "Thu, 27 Apr 2017 24:51:12 GMT" },
        { "April 31", "Mon, 31 Apr 2017 00:51:12 GMT" },
        { "blank behind", "Thu, 27 Apr 2017 00:51:12 GMT " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("# %s\n", bad[i].flaw);
        assert_int_equal(rn_auth_check_date(rn_view_text(bad[i].date),
                                            RN_LIT(""), NOW, NULL),
                         RN_UNAUTHORIZED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_spellings_of_a_signature_are_one),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(a_nul_is_no_end),
        cmocka_unit_test(no_beginning_of_a_header_is_a_header),
        cmocka_unit_test(tokens_are_handed_on_as_they_are),
        cmocka_unit_test(a_header_has_a_ceiling),
        cmocka_unit_test(print_then_parse_is_identity),
        cmocka_unit_test(a_date_is_good_for_a_quarter_of_an_hour),
        cmocka_unit_test(a_refused_date_is_reported_with_the_servers),
        cmocka_unit_test(x_ms_date_wins_over_date),
        cmocka_unit_test(what_is_no_date_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
