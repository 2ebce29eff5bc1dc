/* base_base64_test.c -- one spelling per byte string, and only that.
 *
 * RFC 4648's own vectors, the three alphabets, and every length of tail, there
 * and back.  Each refused text differs from a good one in the way named beside
 * it.  For short texts all are tried: those accepted must be exactly those that
 * some byte string is spelled as.
 */
#include "base/base64.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_encodes(struct rn_view in, unsigned how, const char *want)
{
    char text[200];

    assert_true(
        rn_view_eq(rn_base64_encode(in, how, text), rn_view_text(want)));
}

static enum rn_code decode(const char *text, unsigned how)
{
    char out[200];
    size_t len;

    return rn_base64_decode(rn_view_text(text), how, out, sizeof(out), &len);
}

static void assert_decodes(const char *text, unsigned how, struct rn_view want)
{
    char out[200];
    size_t len = 999;

    assert_int_equal(
        rn_base64_decode(rn_view_text(text), how, out, sizeof(out), &len),
        RN_OK);
    assert_true(rn_view_eq(rn_view_of(out, len), want));
}

static void the_vectors_of_the_rfc_hold(void **state)
{
    static const struct {
        const char *bytes, *text, *bare;
    } cases[] = {
        { "", "", "" },
        { "f", "Zg==", "Zg" },
        { "fo", "Zm8=", "Zm8" },
        { "foo", "Zm9v", "Zm9v" },
        { "foob", "Zm9vYg==", "Zm9vYg" },
        { "fooba", "Zm9vYmE=", "Zm9vYmE" },
        { "foobar", "Zm9vYmFy", "Zm9vYmFy" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_view bytes = rn_view_text(cases[i].bytes);
        assert_encodes(bytes, RN_BASE64_STANDARD, cases[i].text);
        assert_encodes(bytes, RN_BASE64_BARE, cases[i].bare);
        assert_decodes(cases[i].text, RN_BASE64_STANDARD, bytes);
        assert_decodes(cases[i].bare, RN_BASE64_BARE, bytes);
        assert_decodes(cases[i].text, RN_BASE64_PAD_EITHER, bytes);
        assert_decodes(cases[i].bare, RN_BASE64_PAD_EITHER, bytes);
    }
}

static void the_alphabets_differ_in_two_letters(void **state)
{
    const struct rn_view bytes = RN_LIT("\xfb\xef\xbe\xff\xff\xff");

    (void)state;
    assert_encodes(bytes, RN_BASE64_STANDARD, "++++////");
    assert_encodes(bytes, RN_BASE64_URL, "----____");
    assert_encodes(bytes, RN_BASE64_RID, "++++----");
    assert_decodes("++++////", RN_BASE64_STANDARD, bytes);
    assert_decodes("----____", RN_BASE64_URL, bytes);
    assert_decodes("++++----", RN_BASE64_RID, bytes);
    /* resource ids of a database and a container */
    assert_decodes("sbNTAA==", RN_BASE64_RID, RN_LIT("\xb1\xb3\x53\x00"));
    assert_decodes("d9RzAJRFKgw=", RN_BASE64_RID,
                   RN_LIT("\x77\xd4\x73\x00\x94\x45\x2a\x0c"));
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const struct {
        const char *flaw, *text;
        unsigned how;
    } bad[] = {
        { "a blank", "Zm9v ", RN_BASE64_STANDARD },
        { "a blank inside", "Zm 9v", RN_BASE64_STANDARD },
        { "a line end", "Zm9v\n", RN_BASE64_STANDARD },
        { "no padding", "Zg", RN_BASE64_STANDARD },
        { "half the padding", "Zg=", RN_BASE64_STANDARD },
        { "too much padding", "Zg===", RN_BASE64_STANDARD },
        { "padding for nothing", "Zm9v=", RN_BASE64_STANDARD },
        { "a block of padding", "Zm9v====", RN_BASE64_STANDARD },
        { "only padding", "====", RN_BASE64_STANDARD },
        { "padding inside", "Zg==Zg==", RN_BASE64_STANDARD },
        { "one letter", "Z", RN_BASE64_BARE },
        { "five letters", "Zm9vY", RN_BASE64_PAD_EITHER },
        { "padding unasked", "Zg==", RN_BASE64_BARE },
        { "half, though either", "Zg=", RN_BASE64_PAD_EITHER },
        { "bits left over", "Zh==", RN_BASE64_STANDARD },
        { "bits left over", "Zm9=", RN_BASE64_STANDARD },
        { "bits left over", "Zh", RN_BASE64_BARE },
        { "another alphabet", "--__", RN_BASE64_STANDARD },
        { "another alphabet", "++//", RN_BASE64_URL },
        { "another alphabet", "////", RN_BASE64_RID },
        { "another alphabet", "____", RN_BASE64_RID },
        { "beyond ASCII", "Zm9\xc3", RN_BASE64_STANDARD },
        { "beyond ASCII", "\xff\xff\xff\xff", RN_BASE64_STANDARD },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (decode(bad[i].text, bad[i].how) != RN_BAD_REQUEST)
            fail_msg("accepted although %s: '%s'", bad[i].flaw, bad[i].text);
    }
    assert_int_equal(rn_base64_decode(rn_view_of("Zm\0v", 4), 0, (char[9]){ 0 },
                                      9, &(size_t){ 0 }),
                     RN_BAD_REQUEST);
}

static void loose_bits_are_taken_if_allowed(void **state)
{
    (void)state;
    assert_decodes("Zh==", RN_BASE64_LOOSE_BITS, RN_LIT("f"));
    assert_decodes("Zm9=", RN_BASE64_LOOSE_BITS, RN_LIT("fo"));
    assert_decodes("Zh", RN_BASE64_LOOSE_BITS | RN_BASE64_BARE, RN_LIT("f"));
    assert_int_equal(decode("Zh=", RN_BASE64_LOOSE_BITS), RN_BAD_REQUEST);
}

static void what_does_not_fit_is_not_written(void **state)
{
    char out[3] = "..";
    size_t len = 7;

    (void)state;
    assert_int_equal(rn_base64_decode(RN_LIT("Zm9v"), 0, out, 2, &len),
                     RN_TOO_LARGE);
    assert_int_equal(len, 7);
    assert_string_equal(out, "..");
    assert_int_equal(rn_base64_decode(RN_LIT("Zm8="), 0, out, 2, &len), RN_OK);
    assert_int_equal(len, 2);
    assert_int_equal(rn_base64_decode(rn_view_of(NULL, 0), 0, NULL, 0, &len),
                     RN_OK);
    assert_int_equal(len, 0);
}

static void every_length_goes_there_and_back(void **state)
{
    static const unsigned hows[] = { RN_BASE64_STANDARD, RN_BASE64_URL,
                                     RN_BASE64_RID,
                                     RN_BASE64_URL | RN_BASE64_BARE };
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 3);
    for (size_t len = 0; len <= 300; len++) {
        char in[300], text[RN_BASE64_LEN(300)], out[300];
        size_t out_len = 0;
        unsigned how = hows[len % 4];
        struct rn_view v;
        rn_prng_fill(&prng, in, len);
        v = rn_base64_encode(rn_view_of(in, len), how, text);
        assert_true(v.len <= RN_BASE64_LEN(len));
        assert_true((how & RN_BASE64_BARE) || v.len == RN_BASE64_LEN(len));
        assert_int_equal(rn_base64_decode(v, how, out, len, &out_len), RN_OK);
        assert_true(rn_view_eq(rn_view_of(in, len), rn_view_of(out, out_len)));
    }
}

/* Of all texts of two letters exactly 256 mean a byte: one each. */
static void no_two_spellings_mean_the_same(void **state)
{
    int meant[256] = { 0 }, accepted = 0;

    (void)state;
    for (int i = 0; i < 65536; i++) {
        char text[2] = { (char)(i & 255), (char)(i >> 8) };
        unsigned char out = 0;
        size_t len = 0;
        if (rn_base64_decode(rn_view_of(text, 2), RN_BASE64_BARE, &out, 1,
                             &len) != RN_OK)
            continue;
        assert_int_equal(len, 1);
        meant[out]++;
        accepted++;
    }
    assert_int_equal(accepted, 256);
    for (int i = 0; i < 256; i++)
        assert_int_equal(meant[i], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_rfc_hold),
        cmocka_unit_test(the_alphabets_differ_in_two_letters),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(loose_bits_are_taken_if_allowed),
        cmocka_unit_test(what_does_not_fit_is_not_written),
        cmocka_unit_test(every_length_goes_there_and_back),
        cmocka_unit_test(no_two_spellings_mean_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
