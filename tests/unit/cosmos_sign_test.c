/* cosmos_sign_test.c -- we sign as the SDKs sign, and accept nothing else.
 *
 * Signatures captured from the SDKs (tests/vectors/rest-vectors.json) go the
 * server's whole way: from the path on the wire to the link, the string that
 * is signed, the signature, the header and back.  Then each captured signature
 * is offered to each of the other requests, which must refuse it.
 */
#include "cosmos/auth.h"
#include "cosmos/link.h"
#include "cosmos/sign.h"

#include "base/base64.h"
#include "lib/steps.h"
#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

enum { KEY_MAX = 128 };

static struct vectors vectors;

static int load(void **state)
{
    (void)state;
    vectors_load(&vectors, "rest-vectors.json");
    return 0;
}

static int release(void **state)
{
    (void)state;
    vectors_release(&vectors);
    return 0;
}

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static struct rn_signer *signer_of(struct rn_view key_text)
{
    unsigned char key[KEY_MAX];
    struct rn_signer *signer = NULL;
    size_t len;

    assert_int_equal(
        rn_base64_decode(key_text, RN_BASE64_STANDARD, key, sizeof(key), &len),
        RN_OK);
    assert_int_equal(rn_signer_new(rn_view_of(key, len), &signer), RN_OK);
    return signer;
}

/* What a server makes of one request line and date. */
struct request {
    struct rn_link link;
    struct rn_view wire, verb, x_date;
};

static void read_request(uint32_t vector, struct request *out)
{
    struct rn_view segments[VECTORS_SEGMENTS_MAX];
    size_t count;

    *out = (struct request){
        .wire = vectors_string(&vectors, vector, "url_path"),
        .verb = vectors_string(&vectors, vector, "method"),
        .x_date = vectors_string(&vectors, vector, "x_ms_date"),
    };
    count = vectors_segments(&vectors, out->wire, segments);
    assert_int_equal(rn_link_parse(segments, count, &out->link, NULL), RN_OK);
}

static enum rn_code print_text(const struct request *r, enum rn_link_form form,
                               struct rn_buf *link, struct rn_buf *text)
{
    enum rn_code rc;

    rn_buf_clear(link);
    rn_buf_clear(text);
    rc = rn_link_print(&r->link, form, r->wire, link);
    if (rc)
        return rc;
    return rn_sign_print(
        &(struct rn_sign_parts){ .verb = r->verb,
                                 .word = rn_kind_word(r->link.kind),
                                 .link = rn_buf_view(link),
                                 .x_date = r->x_date },
        text);
}

/* Does the server accept the signature for this request, by any form? */
static bool accepts(const struct request *r, struct rn_signer *signer,
                    const unsigned char signature[RN_SIGNATURE_LEN],
                    struct rn_view *link_used)
{
    struct rn_buf link = RN_BUF_INIT(8192), text = RN_BUF_INIT(8192);
    bool accepted = false;

    for (unsigned form = 0; form < RN_LINK_FORMS && !accepted; form++) {
        enum rn_code rc = print_text(r, (enum rn_link_form)form, &link, &text);
        size_t which;
        if (rc == RN_NOT_FOUND)
            continue;
        assert_int_equal(rc, RN_OK);
        accepted =
            !rn_signer_match(&signer, 1, rn_buf_view(&text), signature, &which);
    }
    if (link_used)
        *link_used = rn_arena_copy(&vectors.arena, rn_buf_view(&link));
    rn_buf_release(&link);
    rn_buf_release(&text);
    return accepted;
}

static void read_signature(uint32_t vector, unsigned char out[RN_SIGNATURE_LEN])
{
    size_t len;

    assert_int_equal(
        rn_base64_decode(vectors_string(&vectors, vector, "signature_base64"),
                         RN_BASE64_STANDARD, out, RN_SIGNATURE_LEN, &len),
        RN_OK);
    assert_int_equal(len, RN_SIGNATURE_LEN);
}

static void captured_requests_verify(void **state)
{
    uint32_t list = vectors_member(&vectors, 0, "auth");
    struct rn_json_walk w = rn_json_walk_begin(&vectors.json, list);

    (void)state;
    assert_int_equal(rn_json_count(&vectors.json, list), 26);
    while (rn_json_walk_next(&w)) {
        struct rn_signer *signer =
            signer_of(vectors_string(&vectors, w.value, "key"));
        unsigned char signature[RN_SIGNATURE_LEN];
        struct rn_view link;
        struct request r;
        read_request(w.value, &r);
        read_signature(w.value, signature);
        print_message("# %.*s\n",
                      RN_FMT(vectors_string(&vectors, w.value, "name")));
        assert_view(rn_kind_word(r.link.kind),
                    vectors_string(&vectors, w.value, "resource_type"));
        assert_true(accepts(&r, signer, signature, &link));
        assert_view(link, vectors_string(&vectors, w.value, "resource_link"));
        rn_signer_free(signer);
    }
}

static void captured_strings_are_signed_and_printed_alike(void **state)
{
    uint32_t list = vectors_member(&vectors, 0, "auth");
    struct rn_json_walk w = rn_json_walk_begin(&vectors.json, list);

    (void)state;
    while (rn_json_walk_next(&w)) {
        struct rn_signer *signer =
            signer_of(vectors_string(&vectors, w.value, "key"));
        struct rn_buf text = RN_BUF_INIT(8192);
        unsigned char want[RN_SIGNATURE_LEN], made[RN_SIGNATURE_LEN];
        char header[RN_AUTH_TEXT_MAX];
        struct rn_sign_parts parts = {
            .verb = vectors_string(&vectors, w.value, "method"),
            .word = vectors_string(&vectors, w.value, "resource_type"),
            .link = vectors_string(&vectors, w.value, "resource_link"),
            .x_date = vectors_string(&vectors, w.value, "x_ms_date"),
            .date = RN_LIT("Mon, 01 Jan 2001 00:00:00 GMT"),
        };
        read_signature(w.value, want);
        assert_int_equal(rn_sign_print(&parts, &text), RN_OK);
        assert_view(rn_buf_view(&text),
                    vectors_string(&vectors, w.value, "string_to_sign"));
        assert_int_equal(rn_signer_sign(signer, rn_buf_view(&text), made),
                         RN_OK);
        assert_memory_equal(made, want, RN_SIGNATURE_LEN);
        assert_view(rn_auth_print(made, header),
                    vectors_string(&vectors, w.value, "authorization_header"));
        rn_buf_release(&text);
        rn_signer_free(signer);
    }
}

/* Two requests that differ only in what is not signed. */
static bool are_alike(uint32_t a, uint32_t b)
{
    return rn_view_eq(vectors_string(&vectors, a, "string_to_sign"),
                      vectors_string(&vectors, b, "string_to_sign")) &&
           rn_view_eq(vectors_string(&vectors, a, "key"),
                      vectors_string(&vectors, b, "key"));
}

static void a_signature_is_good_for_one_request_only(void **state)
{
    uint32_t list = vectors_member(&vectors, 0, "auth");
    uint32_t count = rn_json_count(&vectors.json, list);
    unsigned refused = 0;

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = rn_json_at(&vectors.json, list, i);
        unsigned char signature[RN_SIGNATURE_LEN];
        read_signature(from, signature);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t to = rn_json_at(&vectors.json, list, k);
            struct rn_signer *signer =
                signer_of(vectors_string(&vectors, to, "key"));
            struct request r;
            bool accepted;
            read_request(to, &r);
            accepted = accepts(&r, signer, signature, NULL);
            assert_int_equal(accepted, are_alike(from, to));
            refused += !accepted;
            rn_signer_free(signer);
        }
    }
    /* Two of them ask for the same, one with a slash behind. */
    assert_int_equal(refused, count * (count - 1) - 2);
}

static void without_x_ms_date_the_date_is_signed(void **state)
{
    struct rn_buf text = RN_BUF_INIT(1024);
    struct rn_sign_parts parts = {
        .verb = RN_LIT("GET"),
        .word = RN_LIT("dbs"),
        .link = RN_LIT("dbs/A"),
        .date = RN_LIT("Thu, 27 Apr 2017 00:51:12 GMT"),
    };

    (void)state;
    assert_int_equal(rn_sign_print(&parts, &text), RN_OK);
    assert_view(rn_buf_view(&text),
                RN_LIT("get\ndbs\ndbs/A\n\nthu, 27 apr 2017 00:51:12 gmt\n"));
    rn_buf_release(&text);
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    struct rn_sign_parts parts = { .verb = RN_LIT("GET"),
                                   .word = RN_LIT("dbs"),
                                   .link = RN_LIT("dbs/A") };
    const size_t whole = strlen("get\ndbs\ndbs/A\n\n\n");

    (void)state;
    for (size_t room = 1; room < whole; room++) {
        struct rn_buf text = RN_BUF_INIT(room + 2);
        assert_int_equal(rn_buf_add(&text, RN_LIT("ab")), RN_OK);
        assert_int_equal(rn_sign_print(&parts, &text), RN_TOO_LARGE);
        assert_view(rn_buf_view(&text), RN_LIT("ab"));
        rn_buf_release(&text);
    }
}

static void a_match_names_the_first_key_that_fits(void **state)
{
    struct rn_signer *signers[3] = { 0 };
    unsigned char made[RN_SIGNATURE_LEN];
    size_t which = 9;

    (void)state;
    assert_int_equal(rn_signer_new(RN_LIT("one"), &signers[0]), RN_OK);
    assert_int_equal(rn_signer_new(RN_LIT("two"), &signers[1]), RN_OK);
    assert_int_equal(rn_signer_new(RN_LIT("two"), &signers[2]), RN_OK);
    assert_int_equal(rn_signer_sign(signers[2], RN_LIT("text"), made), RN_OK);
    assert_int_equal(rn_signer_match(signers, 3, RN_LIT("text"), made, &which),
                     RN_OK);
    assert_int_equal(which, 1);
    assert_int_equal(rn_signer_match(signers, 1, RN_LIT("text"), made, &which),
                     RN_UNAUTHORIZED);
    assert_int_equal(rn_signer_match(signers, 0, RN_LIT("text"), made, &which),
                     RN_UNAUTHORIZED);
    for (unsigned bit = 0; bit < 8 * RN_SIGNATURE_LEN; bit++) {
        made[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(
            rn_signer_match(signers, 3, RN_LIT("text"), made, &which),
            RN_UNAUTHORIZED);
        made[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (unsigned i = 0; i < 3; i++)
        rn_signer_free(signers[i]);
    rn_signer_free(NULL);
}

/* RFC 4231, cases 1, 2, 3 and 6: keys shorter and longer than a block. */
static void signatures_are_hmac_sha256(void **state)
{
    static const char key_1[] = "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"
                                "\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b";
    char key_3[20], key_6[131], text_3[50];
    const struct {
        struct rn_view key, text;
        const char *mac;
    } cases[] = {
        { RN_LIT(key_1), RN_LIT("Hi There"),
          "b0344c61d8db38535ca8afceaf0bf12b"
          "881dc200c9833da726e9376c2e32cff7" },
        { RN_LIT("Jefe"), RN_LIT("what do ya want for nothing?"),
          "5bdcc146bf60754e6a042426089575c7"
          "5a003f089d2739839dec58b964ec3843" },
        { { key_3, sizeof(key_3) },
          { text_3, sizeof(text_3) },
          "773ea91e36800e46854db8ebd09181a7"
          "2959098b3ef8c122d9635514ced565fe" },
        { { key_6, sizeof(key_6) },
          RN_LIT("Test Using Larger Than Block-Size Key - Hash Key First"),
          "60e431591ee0b67f0d8a26aacbf5b77f"
          "8e0bc6213728c5140546040f0ee37f54" },
    };

    (void)state;
    memset(key_3, 0xaa, sizeof(key_3));
    memset(key_6, 0xaa, sizeof(key_6));
    memset(text_3, 0xdd, sizeof(text_3));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_view want =
            vectors_bytes(&vectors, rn_view_text(cases[i].mac));
        struct rn_signer *signer = NULL;
        unsigned char made[RN_SIGNATURE_LEN];
        assert_int_equal(rn_signer_new(cases[i].key, &signer), RN_OK);
        for (int again = 0; again < 3; again++) {
            assert_int_equal(rn_signer_sign(signer, cases[i].text, made),
                             RN_OK);
            assert_memory_equal(made, want.at, RN_SIGNATURE_LEN);
        }
        rn_signer_free(signer);
    }
}

/* ---- time ---------------------------------------------------------------- */

enum { KEYS = 2 };

struct guess {
    struct rn_signer *signers[KEYS];
    unsigned char signature[RN_SIGNATURE_LEN];
};

static void try_guess(void *context)
{
    struct guess *g = context;
    size_t which;

    (void)!rn_signer_match(g->signers, KEYS, RN_LIT("text"), g->signature,
                           &which);
}

/* A guess that is nearly right is refused as late as any other, in steps:
 * whichever key it is near to, and however many bytes of that it has. */
static void a_guess_takes_as_many_steps_however_near_it_is(void **state)
{
    static const char *const keys[KEYS] = { "k0", "k1" };
    struct guess g = { 0 };
    long wrong;

    (void)state;
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(rn_signer_new(rn_view_text(keys[i]), &g.signers[i]),
                         RN_OK);
    try_guess(&g); /* what is done once is done */
    wrong = steps_of(try_guess, &g);
    for (size_t key = 0; wrong > 0 && key < KEYS; key++) {
        for (size_t i = 0; i < RN_SIGNATURE_LEN; i += RN_SIGNATURE_LEN - 1) {
            assert_int_equal(
                rn_signer_sign(g.signers[key], RN_LIT("text"), g.signature),
                RN_OK);
            g.signature[i] ^= 1;
            assert_int_equal(steps_of(try_guess, &g), wrong);
        }
    }
    for (size_t i = 0; i < KEYS; i++)
        rn_signer_free(g.signers[i]);
    if (wrong < 0)
        skip(); /* nobody may be traced here */
}

/* ---- no memory ----------------------------------------------------------- */

/* OpenSSL's allocations fail from this one on; negative: never. */
static long fail_after = -1;

static bool may_allocate(void)
{
    if (fail_after < 0)
        return true;
    if (fail_after == 0)
        return false;
    fail_after--;
    return true;
}

static void *failing_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return may_allocate() ? malloc(size) : NULL;
}

static void *failing_realloc(void *at, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return may_allocate() ? realloc(at, size) : NULL;
}

static void failing_free(void *at, const char *file, int line)
{
    (void)file;
    (void)line;
    free(at);
}

/* Wherever memory runs out, making a signer and signing either work or say so,
 * leave nothing behind, and work again when there is memory. */
static void no_memory_is_reported(void **state)
{
    struct rn_signer *signer = NULL, *good = NULL;
    unsigned char want[RN_SIGNATURE_LEN], made[RN_SIGNATURE_LEN];
    unsigned failed_new = 0;
    enum rn_code rc = RN_NOMEM;

    (void)state;
    assert_int_equal(rn_signer_new(RN_LIT("key"), &good), RN_OK);
    assert_int_equal(rn_signer_sign(good, RN_LIT("text"), want), RN_OK);
    for (long n = 0; rc; n++) {
        fail_after = n;
        rc = rn_signer_new(RN_LIT("key"), &signer);
        fail_after = -1;
        assert_true(rc == RN_OK || rc == RN_NOMEM);
        assert_int_equal(ERR_peek_error(), 0);
        failed_new += rc == RN_NOMEM;
        assert_true(n < 10000);
    }
    assert_true(failed_new > 3);
    rc = RN_NOMEM;
    for (long n = 0; rc; n++) {
        fail_after = n;
        rc = rn_signer_sign(signer, RN_LIT("text"), made);
        fail_after = -1;
        assert_true(rc == RN_OK || rc == RN_NOMEM);
        assert_int_equal(ERR_peek_error(), 0);
        assert_true(n < 10000);
    }
    assert_memory_equal(made, want, RN_SIGNATURE_LEN);
    rn_signer_free(signer);
    rn_signer_free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_requests_verify),
        cmocka_unit_test(captured_strings_are_signed_and_printed_alike),
        cmocka_unit_test(a_signature_is_good_for_one_request_only),
        cmocka_unit_test(without_x_ms_date_the_date_is_signed),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
        cmocka_unit_test(a_match_names_the_first_key_that_fits),
        cmocka_unit_test(signatures_are_hmac_sha256),
        cmocka_unit_test(a_guess_takes_as_many_steps_however_near_it_is),
        cmocka_unit_test(no_memory_is_reported),
    };

    if (!CRYPTO_set_mem_functions(failing_malloc, failing_realloc,
                                  failing_free))
        return 1;

    return cmocka_run_group_tests(tests, load, release);
}
