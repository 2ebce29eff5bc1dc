/* auth.c -- see auth.h. */
#include "cosmos/auth.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/hex.h"

#include <assert.h>

static enum rn_code refuse(struct rn_err *err, const char *why)
{
    return rn_fail(err, RN_UNAUTHORIZED,
                   "The input authorization token can't serve the request: %s",
                   why);
}

/* ---- the header ---------------------------------------------------------- */

static const struct {
    const char *prefix;
    enum rn_auth_type type;
} forms[] = {
    { "type=master&ver=1.0&sig=", RN_AUTH_MASTER },
    { "type=resource&ver=1&sig=", RN_AUTH_RESOURCE },
    { "type=resource&ver=1.0&sig=", RN_AUTH_RESOURCE },
    { "type=aad&ver=1.0&sig=", RN_AUTH_AAD },
};

static bool is_visible(struct rn_view text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] <= 0x20 || text.at[i] >= 0x7f)
            return false;
    }
    return text.len > 0;
}

static enum rn_code read_form(struct rn_view text, struct rn_auth *out,
                              struct rn_err *err)
{
    size_t len = 0;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct rn_view prefix = rn_view_text(forms[i].prefix);
        if (!rn_view_starts(text, prefix))
            continue;
        out->type = forms[i].type;
        out->token = rn_view_of(text.at + prefix.len, text.len - prefix.len);
        if (!is_visible(out->token))
            return refuse(err, "its signature is not text");
        if (out->type != RN_AUTH_MASTER)
            return RN_OK;
        if (rn_base64_decode(out->token, RN_BASE64_STANDARD, out->signature,
                             RN_SIGNATURE_LEN, &len) ||
            len != RN_SIGNATURE_LEN)
            return refuse(err, "its signature is not 32 bytes in base64");
        return RN_OK;
    }
    return refuse(err, "it is none of the forms there are");
}

enum rn_code rn_auth_parse(struct rn_view header, struct rn_arena *arena,
                           struct rn_auth *out, struct rn_err *err)
{
    struct rn_auth auth = { .type = RN_AUTH_MASTER };
    struct rn_view text = header;
    enum rn_code rc;
    char *decoded;
    ptrdiff_t len;

    if (header.len == 0) {
        return rn_fail(err, RN_UNAUTHORIZED,
                       "Required Header authorization is missing. Ensure a "
                       "valid Authorization token is passed.");
    }
    if (header.len > RN_AUTH_HEADER_MAX)
        return refuse(err, "it is too long");
    if (memchr(header.at, '%', header.len)) {
        decoded = rn_arena_alloc(arena, header.len);
        if (!decoded)
            return rn_fail(err, RN_NOMEM, "no memory for a token");
        len = rn_percent_decode(header, decoded);
        if (len < 0)
            return refuse(err, "it is badly URL-encoded");
        text = rn_view_of(decoded, (size_t)len);
    }
    rc = read_form(text, &auth, err);
    if (!rc)
        *out = auth;
    return rc;
}

/* Appends "%XX". */
static size_t put_escape(char *out, char c)
{
    static const char digits[] = "0123456789ABCDEF";

    out[0] = '%';
    out[1] = digits[(unsigned char)c >> 4];
    out[2] = digits[(unsigned char)c & 0xf];
    return 3;
}

struct rn_view rn_auth_print(const unsigned char signature[RN_SIGNATURE_LEN],
                             char out[RN_AUTH_TEXT_MAX])
{
    char text[24 + RN_BASE64_LEN(RN_SIGNATURE_LEN)] =
        "type=master&ver=1.0&sig=";
    size_t len = 24, n = 0;

    len += rn_base64_encode(rn_view_of(signature, RN_SIGNATURE_LEN),
                            RN_BASE64_STANDARD, text + len)
               .len;
    for (size_t i = 0; i < len; i++) {
        if (strchr("+/=&", text[i]))
            n += put_escape(out + n, text[i]);
        else
            out[n++] = text[i];
    }
    return rn_view_of(out, n);
}

/* ---- the date ------------------------------------------------------------ */

enum rn_code rn_auth_check_date(struct rn_view x_date, struct rn_view date,
                                int64_t now_s, struct rn_err *err)
{
    struct rn_view text = x_date.len > 0 ? x_date : date;
    char start[RN_DATE_TEXT_MAX], end[RN_DATE_TEXT_MAX], now[RN_DATE_TEXT_MAX];
    int64_t made_s;

    if (text.len == 0)
        return refuse(err, "the request has no date");
    if (rn_date_parse(text, &made_s, NULL))
        return refuse(err, "the request's date is not one of RFC 1123");
    if (made_s >= now_s - RN_AUTH_WINDOW_S &&
        made_s <= now_s + RN_AUTH_WINDOW_S)
        return RN_OK;
    return rn_fail(
        err, RN_FORBIDDEN,
        "The authorization token is not valid at the current time. Please "
        "create another token and retry (token start time: %.*s, token expiry "
        "time: %.*s, current server time: %.*s).",
        RN_FMT(rn_date_print(made_s, start)),
        RN_FMT(rn_date_print(made_s + RN_AUTH_WINDOW_S, end)),
        RN_FMT(rn_date_print(now_s, now)));
}
