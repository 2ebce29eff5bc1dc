/* cosmos_jwt_test.c -- of web tokens, the emulator's are taken and no others.
 *
 * A token is made of a good header, good claims and the public key, with one
 * of them replaced; the sentence that refuses it is named beside it.
 */
#include "cosmos/jwt.h"

#include "base/base64.h"
#include "cosmos/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NOW = 1800000000 };

#define ISSUER                                                                 \
    "https://sts.fake-issuer.net/7b1999a1-dfd7-440e-8204-00170979b984"
#define FROM "\"iss\":\"" ISSUER "\",\"aud\":\"https://localhost.localhost\""
#define CLAIMS(more) "{" FROM ",\"tid\":\"EmulatorFederation\"," more "}"

static const char header[] =
    "{\"typ\":\"JWT\",\"alg\":\"RS256\",\"kid\":\"CosmosEmulatorPrimaryMaster"
    "\"}";
static const char claims[] = CLAIMS("\"nbf\":1800000000,\"exp\":1800007200");

static size_t add(char *out, const char *text)
{
    return rn_base64_encode(rn_view_text(text), RN_BASE64_URL | RN_BASE64_BARE,
                            out)
        .len;
}

static enum rn_code check_text(const char *token, struct rn_err *err)
{
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    enum rn_code rc = rn_jwt_check(rn_view_text(token), NOW, &arena, err);

    rn_arena_release(&arena);
    return rc;
}

static enum rn_code check(const char *first, const char *second,
                          const char *third, struct rn_err *err)
{
    char token[4096];
    size_t len = add(token, first);

    token[len++] = '.';
    len += add(token + len, second);
    token[len++] = '.';
    len += add(token + len, third);
    token[len] = '\0';
    return check_text(token, err);
}

static void tokens_of_the_emulator_are_taken(void **state)
{
    static const char *const seconds[] = {
        claims,
        CLAIMS("\"nbf\":1799990000,\"exp\":1800000001"),
        CLAIMS("\"nbf\":1800000300,\"exp\":1800007200"),
    };
    struct rn_err err = { 0 };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            check(header, seconds[i], RN_ACCOUNT_EMULATOR_KEY, &err), RN_OK);
        assert_int_equal(check(header, seconds[i], "", &err), RN_OK);
    }
}

static void others_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *first, *second, *third, *why;
    } bad[] = {
        { "{}", claims, "", "header" },
        { "[", claims, "", "header" },
        { header, "{}", "", "no claims" },
        { header, "x", "", "no claims" },
        { header, CLAIMS("\"nbf\":\"1\",\"exp\":1800007200"), "", "no claims" },
        { header, CLAIMS("\"nbf\":1800000000"), "", "no claims" },
        { header, CLAIMS("\"nbf\":1,\"exp\":1800000000"), "", "expired" },
        { header, CLAIMS("\"nbf\":1800000301,\"exp\":1900000000"), "",
          "valid yet" },
        { header, "{\"iss\":\"" ISSUER "\",\"nbf\":1,\"exp\":1900000000}", "",
          "issuer" },
        { header,
          "{\"iss\":\"https://sts.windows.net/\",\"aud\":"
          "\"https://localhost.localhost\",\"nbf\":1,\"exp\":1900000000}",
          "", "issuer" },
        { header, claims, "x", "signed" },
        { header, claims, RN_ACCOUNT_EMULATOR_KEY "x", "signed" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_err err = { 0 };
        assert_int_equal(check(bad[i].first, bad[i].second, bad[i].third, &err),
                         RN_UNAUTHORIZED);
        assert_non_null(strstr(err.text, bad[i].why));
    }
}

static void what_has_not_the_form_is_refused(void **state)
{
    static const char *const bad[] = {
        "",     ".",     "..",           "a.b",      "...",
        "e.30", "e30.!", "e30.e30.e30.", "!.e30.e30"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_err err = { 0 };
        assert_int_equal(check_text(bad[i], &err), RN_UNAUTHORIZED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_the_emulator_are_taken),
        cmocka_unit_test(others_are_refused_with_the_reason),
        cmocka_unit_test(what_has_not_the_form_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
