/* jwt.c -- see jwt.h. */
#include "cosmos/jwt.h"

#include "base/base64.h"
#include "cosmos/account.h"
#include "json/json.h"

enum { PARTS = 3 };

static const char issuer[] =
    "https://sts.fake-issuer.net/7b1999a1-dfd7-440e-8204-00170979b984";
static const char audience[] = "https://localhost.localhost";

static enum rn_code refuse(struct rn_err *err, const char *why)
{
    return rn_fail(err, RN_UNAUTHORIZED, "the web token %s", why);
}

static bool split(struct rn_view token, struct rn_view out[PARTS])
{
    size_t part = 0, begin = 0;

    for (size_t i = 0; i <= token.len; i++) {
        if (i < token.len && token.at[i] != '.')
            continue;
        if (part == PARTS)
            return false;
        out[part++] = rn_view_of(token.at + begin, i - begin);
        begin = i + 1;
    }
    return part == PARTS;
}

static enum rn_code decode(struct rn_view part, struct rn_arena *arena,
                           struct rn_view *out, struct rn_err *err)
{
    char *bytes = rn_arena_alloc(arena, part.len + 1);
    size_t len = 0;

    if (!bytes)
        return rn_fail(err, RN_NOMEM, "out of memory");
    if (rn_base64_decode(part, RN_BASE64_URL | RN_BASE64_PAD_EITHER, bytes,
                         part.len, &len))
        return refuse(err, "is not in base64url");
    *out = rn_view_of(bytes, len);
    return RN_OK;
}

static bool has_text(const struct rn_json *j, const char *name,
                     const char *text)
{
    return rn_json_string_is(j, rn_json_find(j, 0, rn_view_text(name)),
                             rn_view_text(text));
}

static bool read_time(const struct rn_json *j, const char *name, int64_t *out)
{
    uint32_t value = rn_json_find(j, 0, rn_view_text(name));

    return rn_json_kind(j, value) == RN_JSON_NUMBER &&
           rn_json_int64(j, value, out);
}

static enum rn_code check_claims(struct rn_view text, int64_t now_s,
                                 struct rn_err *err)
{
    int64_t begin = 0, end = 0;
    struct rn_json j;
    enum rn_code rc = RN_OK;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, text, NULL) || !read_time(&j, "nbf", &begin) ||
        !read_time(&j, "exp", &end))
        rc = refuse(err, "has no claims with nbf and exp");
    else if (!has_text(&j, "iss", issuer) || !has_text(&j, "aud", audience))
        rc = refuse(err, "is not of the emulator's issuer and audience");
    else if (begin > now_s + RN_JWT_SKEW_S || end <= now_s)
        rc = refuse(err, "has expired, or is not valid yet");
    rn_json_release(&j);
    return rc;
}

enum rn_code rn_jwt_check(struct rn_view token, int64_t now_s,
                          struct rn_arena *arena, struct rn_err *err)
{
    struct rn_view parts[PARTS], header = { 0 }, claims = { 0 }, key = { 0 };
    struct rn_json j;
    enum rn_code rc;

    if (!split(token, parts))
        return refuse(err, "does not have three parts");
    rc = decode(parts[0], arena, &header, err);
    if (!rc)
        rc = decode(parts[1], arena, &claims, err);
    if (!rc)
        rc = decode(parts[2], arena, &key, err);
    if (rc)
        return rc;
    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, header, NULL) || !has_text(&j, "typ", "JWT"))
        rc = refuse(err, "has no header of a JWT");
    rn_json_release(&j);
    if (rc)
        return rc;
    if (key.len && !rn_view_eq(key, RN_LIT(RN_ACCOUNT_EMULATOR_KEY)))
        return refuse(err, "is not signed with the emulator's key");
    return check_claims(claims, now_s, err);
}
