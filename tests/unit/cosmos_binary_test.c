/* cosmos_binary_test.c -- JSON in CosmosBinary becomes the same JSON in text.
 *
 * The vectors of tests/vectors/binary-vectors.json: every kind of marker, and
 * documents as the Rust client encodes them; and what must be refused, with
 * the place and the words.  What is a byte too short or too long is refused,
 * what has a byte changed is refused or is JSON all the same.
 */
#include "cosmos/binary.h"

#include "lib/vectors.h"
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TEXT_MAX = 1 << 20 };

static struct vectors v;

static int setup(void **state)
{
    (void)state;
    vectors_load(&v, "binary-vectors.json");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    vectors_release(&v);
    return 0;
}

/* From memory of just that size, so that a sanitizer sees a byte too many. */
static enum rn_code decode(struct rn_view bytes, struct rn_buf *text,
                           struct rn_err *err)
{
    char *copy = malloc(bytes.len ? bytes.len : 1);
    enum rn_code rc;

    assert_non_null(copy);
    if (bytes.len)
        memcpy(copy, bytes.at, bytes.len);
    rn_buf_clear(text);
    *err = (struct rn_err){ 0 };
    rc = rn_binary_decode(rn_view_of(copy, bytes.len), text, err);
    free(copy);
    return rc;
}

static void assert_text(struct rn_view bytes, struct rn_view want)
{
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_err err;
    enum rn_code rc = decode(bytes, &text, &err);

    if (rc || !rn_view_eq(rn_buf_view(&text), want))
        fail_msg("wanted %.*s, got %d %s %.*s", RN_FMT(want), (int)rc, err.text,
                 (int)text.len, text.at ? text.at : "");
    rn_buf_release(&text);
}

static void assert_refused(struct rn_view bytes, const char *why)
{
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_err err;

    assert_int_equal(decode(bytes, &text, &err), RN_BAD_REQUEST);
    if (!strstr(err.text, why))
        fail_msg("wanted '%s' in '%s'", why, err.text);
    rn_buf_release(&text);
}

static void assert_json(const struct rn_buf *text)
{
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_json j;
    struct rn_err err = { 0 };

    rn_json_init(&j, &limits);
    if (rn_json_parse(&j, rn_buf_view(text), &err))
        fail_msg("%.*s: %s", (int)text->len, text->at, err.text);
    rn_json_release(&j);
}

/* ---- the vectors --------------------------------------------------------- */

static struct rn_view row_bytes(uint32_t row)
{
    return vectors_bytes(&v, vectors_string(&v, row, "bytes"));
}

static void every_marker_has_its_text(void **state)
{
    struct rn_json_walk w =
        rn_json_walk_begin(&v.json, vectors_member(&v, 0, "taken"));

    (void)state;
    while (rn_json_walk_next(&w))
        assert_text(row_bytes(w.value), vectors_string(&v, w.value, "text"));
}

static void errors_have_their_place(void **state)
{
    struct rn_json_walk w =
        rn_json_walk_begin(&v.json, vectors_member(&v, 0, "refused"));
    char want[200];

    (void)state;
    while (rn_json_walk_next(&w)) {
        struct rn_view at = vectors_string(&v, w.value, "at");
        struct rn_view why = vectors_string(&v, w.value, "why");

        snprintf(want, sizeof(want), "CosmosBinary: at byte %.*s, %.*s",
                 RN_FMT(at), RN_FMT(why));
        assert_refused(row_bytes(w.value), want);
    }
}

static void nothing_may_be_cut_off(void **state)
{
    struct rn_json_walk w =
        rn_json_walk_begin(&v.json, vectors_member(&v, 0, "taken"));

    (void)state;
    while (rn_json_walk_next(&w)) {
        struct rn_view bytes = row_bytes(w.value);

        for (size_t len = 0; len < bytes.len; len++)
            assert_refused(rn_view_of(bytes.at, len), "");
    }
}

static void nothing_may_be_left_over(void **state)
{
    struct rn_json_walk w =
        rn_json_walk_begin(&v.json, vectors_member(&v, 0, "taken"));
    char longer[2048];

    (void)state;
    while (rn_json_walk_next(&w)) {
        struct rn_view bytes = row_bytes(w.value);

        assert_true(bytes.len < sizeof(longer));
        memcpy(longer, bytes.at, bytes.len);
        longer[bytes.len] = (char)0xd0;
        assert_refused(rn_view_of(longer, bytes.len + 1), "something follows");
    }
}

/* Every byte of every vector becomes every other. */
static void what_is_read_of_changed_bytes_is_json(void **state)
{
    struct rn_json_walk w =
        rn_json_walk_begin(&v.json, vectors_member(&v, 0, "taken"));
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_err err;
    char changed[2048];
    size_t read = 0;

    (void)state;
    while (rn_json_walk_next(&w)) {
        struct rn_view bytes = row_bytes(w.value);

        memcpy(changed, bytes.at, bytes.len);
        for (size_t i = 1; i < bytes.len && bytes.len < 100; i++) {
            for (unsigned c = 0; c < 256; c++) {
                changed[i] = (char)c;
                if (decode(rn_view_of(changed, bytes.len), &text, &err))
                    continue;
                assert_json(&text);
                read++;
            }
            changed[i] = bytes.at[i];
        }
    }
    assert_true(read > 1000);
    rn_buf_release(&text);
}

/* ---- all of a kind ------------------------------------------------------- */

static void small_numbers_are_their_markers(void **state)
{
    char bytes[2] = { (char)0x80, 0 }, want[4];

    (void)state;
    for (unsigned n = 0; n < 32; n++) {
        bytes[1] = (char)n;
        snprintf(want, sizeof(want), "%u", n);
        assert_text(rn_view_of(bytes, 2), rn_view_text(want));
    }
}

static void known_words_are_their_markers(void **state)
{
    static const char *const words[32] = {
        "$s",
        "$t",
        "$v",
        "_attachments",
        "_etag",
        "_rid",
        "_self",
        "_ts",
        "attachments/",
        "coordinates",
        "geometry",
        "GeometryCollection",
        "id",
        "url",
        "Value",
        "label",
        "LineString",
        "link",
        "MultiLineString",
        "MultiPoint",
        "MultiPolygon",
        "name",
        "Name",
        "Type",
        "Point",
        "Polygon",
        "properties",
        "type",
        "value",
        "Feature",
        "FeatureCollection",
        "_id",
    };
    char bytes[2] = { (char)0x80, 0 }, want[24];

    (void)state;
    for (unsigned i = 0; i < 32; i++) {
        bytes[1] = (char)(0x20 + i);
        snprintf(want, sizeof(want), "\"%s\"", words[i]);
        assert_text(rn_view_of(bytes, 2), rn_view_text(want));
    }
}

static void words_of_an_unknown_dictionary_are_refused(void **state)
{
    char bytes[3] = { (char)0x80, 0, 0 };

    (void)state;
    for (unsigned marker = 0x40; marker < 0x68; marker++) {
        bytes[1] = (char)marker;
        assert_refused(rn_view_of(bytes, marker < 0x60 ? 2 : 3),
                       "at byte 1, a string is of a dictionary");
    }
}

static void unknown_markers_are_refused(void **state)
{
    static const unsigned char unknown[] = {
        0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x70,
        0xcf, 0xd4, 0xd5, 0xd6, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
        0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
    };
    char bytes[10] = { (char)0x80 };

    (void)state;
    for (size_t i = 0; i < sizeof(unknown); i++) {
        bytes[1] = (char)unknown[i];
        assert_refused(rn_view_of(bytes, sizeof(bytes)),
                       "at byte 1, there is no such marker");
    }
}

static void text_is_not_binary(void **state)
{
    (void)state;
    assert_false(rn_binary_is(RN_LIT("")));
    assert_false(rn_binary_is(RN_LIT("{}")));
    assert_false(rn_binary_is(RN_LIT("\x81\x80")));
    assert_true(rn_binary_is(RN_LIT("\x80")));
    assert_refused(RN_LIT("{}"), "at byte 0");
    assert_refused(RN_LIT(""), "at byte 0");
}

/* ---- bounds -------------------------------------------------------------- */

enum { DEPTH = RN_BINARY_DEPTH_MAX };

/* `depth` arrays, or objects, of one each, around `inner`. */
static size_t nest(char *at, size_t depth, bool is_object, const char *inner,
                   size_t len)
{
    size_t n = 0;

    at[n++] = (char)0x80;
    for (size_t i = 0; i < depth; i++) {
        at[n++] = (char)(is_object ? 0xe9 : 0xe1);
        if (is_object)
            at[n++] = 0x2c;
    }
    memcpy(at + n, inner, len);
    return n + len;
}

static void nesting_goes_as_deep_as_in_text(void **state)
{
    static const struct {
        const char *inner;
        size_t len, levels; /* that it has itself */
    } rows[] = {
        { "\xe0", 1, 1 },
        { "\xe8", 1, 1 },
        { "\xf0\xd7\x00", 3, 1 },
        { "\xf2\xf0\xd7\x00\x01", 5, 2 },
        { "\xe5\x01\x01\x07", 4, 1 },
    };
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_err err;
    char bytes[4 * DEPTH];

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        size_t row = i / 2, around = DEPTH - rows[row].levels;
        size_t len = nest(bytes, around, i % 2, rows[row].inner, rows[row].len);

        assert_int_equal(decode(rn_view_of(bytes, len), &text, &err), RN_OK);
        assert_json(&text);
        len = nest(bytes, around + 1, i % 2, rows[row].inner, rows[row].len);
        assert_refused(rn_view_of(bytes, len), "nested too deeply");
    }
    rn_buf_release(&text);
}

static void a_body_of_containers_alone_is_soon_refused(void **state)
{
    enum { LEN = 1 << 20 };
    char *bytes = malloc(LEN);

    (void)state;
    assert_non_null(bytes);
    for (unsigned marker = 0xe1; marker < 0xf0; marker++) {
        memset(bytes, (int)marker, LEN);
        bytes[0] = (char)0x80;
        assert_refused(rn_view_of(bytes, LEN), "");
    }
    free(bytes);
}

/* A reference is two bytes and may mean many: what comes out is bounded by the
 * ceiling, and so is the time. */
static void references_do_not_outgrow_the_ceiling(void **state)
{
    enum { REFERENCES = 100000, TEXT = 200 };
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_err err;
    size_t len = 6 + 2 + TEXT + (size_t)2 * REFERENCES;
    char *bytes = malloc(len);

    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, "\x80\xe4\x0a\x0e\x03\x00\xc0\xc8", 8);
    assert_int_equal(len - 6, 0x030e0a);
    memset(bytes + 8, 'x', TEXT);
    for (size_t i = 0; i < REFERENCES; i++)
        memcpy(bytes + 8 + TEXT + 2 * i, "\xc3\x06", 2);
    assert_int_equal(decode(rn_view_of(bytes, len), &text, &err), RN_TOO_LARGE);
    assert_true(text.len <= TEXT_MAX);
    rn_buf_release(&text);
    free(bytes);
}

static void empty_arrays_do_not_outgrow_the_ceiling(void **state)
{
    static const char seven[] = "\xf3\xf1\xd7\x00\x00\xff\xff";
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);
    struct rn_err err;
    char bytes[6 + 7 * 1000] = "\x80\xe4\x58\x1b";

    (void)state;
    for (size_t i = 6; i < sizeof(bytes); i += 7)
        memcpy(bytes + i, seven, 7);
    assert_int_equal(decode(rn_view_of(bytes, sizeof(bytes)), &text, &err),
                     RN_TOO_LARGE);
    rn_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_marker_has_its_text),
        cmocka_unit_test(errors_have_their_place),
        cmocka_unit_test(nothing_may_be_cut_off),
        cmocka_unit_test(nothing_may_be_left_over),
        cmocka_unit_test(what_is_read_of_changed_bytes_is_json),
        cmocka_unit_test(small_numbers_are_their_markers),
        cmocka_unit_test(known_words_are_their_markers),
        cmocka_unit_test(words_of_an_unknown_dictionary_are_refused),
        cmocka_unit_test(unknown_markers_are_refused),
        cmocka_unit_test(text_is_not_binary),
        cmocka_unit_test(nesting_goes_as_deep_as_in_text),
        cmocka_unit_test(a_body_of_containers_alone_is_soon_refused),
        cmocka_unit_test(references_do_not_outgrow_the_ceiling),
        cmocka_unit_test(empty_arrays_do_not_outgrow_the_ceiling),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
