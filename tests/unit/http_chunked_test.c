/* http_chunked_test.c -- chunks come off exactly, in whatever pieces.
 *
 * Each body is decoded whole and cut at every place, from memory that ends with
 * the piece.  Bad bodies differ from a good one in the way named beside them.
 */
#include "http/chunked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct rn_http_chunked fresh = {
    .data_left = 64,
    .ext_left = 16,
    .line_max = 20,
    .trailer_left = 30,
    .fields_left = 3,
};

struct outcome {
    enum rn_http_step step;
    int status;
    size_t unused; /* bytes after the end */
    char data[80];
};

static enum rn_http_step decode_piece(struct rn_http_chunked *c,
                                      struct rn_view piece, struct rn_buf *out,
                                      struct outcome *o)
{
    char *copy = malloc(piece.len ? piece.len : 1);
    struct rn_http_refusal no = { 0 };
    struct rn_view in = rn_view_of(copy, piece.len);
    enum rn_http_step step;

    assert_non_null(copy);
    memcpy(copy, piece.at, piece.len);
    step = rn_http_chunked_decode(c, &in, out, &no);
    o->status = no.status;
    o->unused = in.len;
    if (step == RN_HTTP_MORE)
        assert_int_equal(in.len, 0);
    free(copy);
    return step;
}

static struct outcome decode(struct rn_view text, size_t cut)
{
    struct rn_buf out = RN_BUF_INIT(64);
    struct rn_http_chunked c = fresh;
    struct outcome o = { 0 };
    struct rn_view rest = rn_view_of(text.at + cut, text.len - cut);

    o.step = decode_piece(&c, rn_view_of(text.at, cut), &out, &o);
    if (o.step == RN_HTTP_MORE)
        o.step = decode_piece(&c, rest, &out, &o);
    else if (o.step == RN_HTTP_DONE)
        o.unused += rest.len;
    memcpy(o.data, out.len ? out.at : "", out.len);
    rn_buf_release(&out);
    return o;
}

static void good_bodies_are_decoded(void **state)
{
    static const struct {
        const char *text, *data;
        size_t unused;
    } good[] = {
        { "0\r\n\r\n", "", 0 },
        { "0\r\n\r\nGET /", "", 5 },
        { "5\r\nhello\r\n0\r\n\r\n", "hello", 0 },
        { "1\r\na\r\n2\r\nbc\r\n00\r\n\r\n", "abc", 0 },
        { "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0 },
        { "9\r\n\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n0\r\n\r\n\r\n", 0 },
        { "0000000000000005\r\nhello\r\n0\r\n\r\n", "hello", 0 },
        { "5;a=b\r\nhello\r\n0;c\r\n\r\n", "hello", 0 },
        { "5;\r\nhello\r\n0\r\n\r\n", "hello", 0 },
        { "5;a=\"b c\"\t\r\nhello\r\n0\r\n\r\n", "hello", 0 },
        { "0\r\nA: b\r\n\r\n", "", 0 },
        { "0\r\nA: 4567890123\r\nB: 4567890123\r\n\r\n", "", 0 },
        { "0\r\nA:\r\nB: \xff\t\r\n\r\n", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct rn_view text = rn_view_text(good[i].text);
        for (size_t cut = 0; cut <= text.len; cut++) {
            struct outcome o = decode(text, cut);
            assert_int_equal(o.step, RN_HTTP_DONE);
            assert_string_equal(o.data, good[i].data);
            assert_int_equal(o.unused, good[i].unused);
        }
    }
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const struct {
        const char *flaw, *text;
        int status;
    } bad[] = {
        { "no size", "\r\nhello\r\n0\r\n\r\n", 400 },
        { "no size at the end", "\r\n\r\n", 400 },
        { "no size but an extension", ";a\r\nhello\r\n0\r\n\r\n", 400 },
        { "signed", "+5\r\nhello\r\n0\r\n\r\n", 400 },
        { "negative", "-5\r\nhello\r\n0\r\n\r\n", 400 },
        { "0x", "0x5\r\nhello\r\n0\r\n\r\n", 400 },
        { "blank before", " 5\r\nhello\r\n0\r\n\r\n", 400 },
        { "blank behind", "5 \r\nhello\r\n0\r\n\r\n", 400 },
        { "blank before extension", "5 ;a\r\nhello\r\n0\r\n\r\n", 400 },
        { "no digit", "g\r\nhello\r\n0\r\n\r\n", 400 },
        { "17 digits", "00000000000000005\r\nhello\r\n0\r\n\r\n", 400 },
        { "2^64-1", "ffffffffffffffff\r\nhello\r\n0\r\n\r\n", 413 },
        { "2^63", "8000000000000000\r\nhello\r\n0\r\n\r\n", 413 },
        { "one too large", "41\r\n", 413 },
        { "bare LF after size", "5\nhello\r\n0\r\n\r\n", 400 },
        { "bare CR after size", "5\rhello\r\n0\r\n\r\n", 400 },
        { "bare LF in extension", "5;a\nb\r\nhello\r\n0\r\n\r\n", 400 },
        { "bare CR in extension", "5;a\rb\r\nhello\r\n0\r\n\r\n", 400 },
        { "NUL in extension", "5;a\x01\r\nhello\r\n0\r\n\r\n", 400 },
        { "8 bits in extension", "5;a\x80\r\nhello\r\n0\r\n\r\n", 400 },
        { "long extension", "5;0123456789abcdefg\r\nhello\r\n0\r\n\r\n", 400 },
        { "data too long", "5\r\nhello!\r\n0\r\n\r\n", 400 },
        { "data too short", "5\r\nhell\r\n0\r\n\r\n", 400 },
        { "bare LF after data", "5\r\nhello\n0\r\n\r\n", 400 },
        { "bare CR after data", "5\r\nhello\r0\r\n\r\n", 400 },
        { "nothing after data", "5\r\nhello0\r\n\r\n", 400 },
        { "bare LF at the end", "0\r\n\n", 400 },
        { "bare CR at the end", "0\r\n\rx", 400 },
        { "trailer without name", "0\r\n: a\r\n\r\n", 400 },
        { "trailer without colon", "0\r\nA\r\n\r\n", 400 },
        { "trailer with blank", "0\r\nA : b\r\n\r\n", 400 },
        { "folded trailer", "0\r\nA: b\r\n c\r\n\r\n", 400 },
        { "control in trailer", "0\r\nA: b\x01\r\n\r\n", 400 },
        { "bare LF in trailer", "0\r\nA: b\n\r\n", 400 },
        { "bare CR in trailer", "0\r\nA: b\rc\r\n\r\n", 400 },
        { "8 bits in trailer name", "0\r\n\x80: b\r\n\r\n", 400 },
        { "trailer line too long", "0\r\nA:3456789012345678901\r\n\r\n", 431 },
        { "trailers too long", "0\r\nA:34567890123456\r\nB:34567890123456\r\n",
          431 },
        { "too many trailers", "0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n", 431 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct rn_view text = rn_view_text(bad[i].text);
        print_message("# %s\n", bad[i].flaw);
        for (size_t cut = 0; cut <= text.len; cut++) {
            struct outcome o = decode(text, cut);
            assert_int_equal(o.step, RN_HTTP_REFUSED);
            assert_int_equal(o.status, bad[i].status);
        }
    }
}

static void an_unfinished_body_wants_more(void **state)
{
    struct rn_view text =
        RN_LIT("5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n");

    (void)state;
    for (size_t n = 0; n < text.len; n++) {
        struct outcome o = decode(rn_view_of(text.at, n), n);
        assert_int_equal(o.step, RN_HTTP_MORE);
    }
}

static void data_may_be_put_in_place_by_the_caller(void **state)
{
    struct rn_buf out = RN_BUF_INIT(64);
    struct rn_http_chunked c = fresh;
    struct rn_http_refusal no;
    struct rn_view in = RN_LIT("5\r\nhe"), rest = RN_LIT("\r\n0\r\n\r\n");

    (void)state;
    assert_int_equal(rn_http_chunked_data_next(&c), 0);
    assert_int_equal(rn_http_chunked_decode(&c, &in, &out, &no), RN_HTTP_MORE);
    assert_int_equal(rn_http_chunked_data_next(&c), 3);
    assert_int_equal(rn_buf_add(&out, RN_LIT("llo")), RN_OK);
    rn_http_chunked_data_taken(&c, 3);
    assert_int_equal(rn_http_chunked_data_next(&c), 0);
    assert_int_equal(rn_http_chunked_decode(&c, &rest, &out, &no),
                     RN_HTTP_DONE);
    assert_int_equal(out.len, 5);
    assert_memory_equal(out.at, "hello", 5);
    rn_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_bodies_are_decoded),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(an_unfinished_body_wants_more),
        cmocka_unit_test(data_may_be_put_in_place_by_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
