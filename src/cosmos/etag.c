/* etag.c -- see etag.h. */
#include "cosmos/etag.h"

#include "base/hex.h"
#include "cosmos/digits.h"

#include <inttypes.h>
#include <stdio.h>

enum { GUID_LEN = RN_ETAG_LEN - 2 };

static bool is_dash(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

/* Appends the lower `count` hexadecimal digits of `bits`. */
static char *put_hex(char *at, uint64_t bits, unsigned count)
{
    static const char digits[] = "0123456789abcdef";

    while (count-- > 0)
        *at++ = digits[bits >> count * 4 & 0xf];
    return at;
}

void rn_etag_print(struct rn_etag etag, char out[RN_ETAG_LEN])
{
    char *at = out;

    *at++ = '"';
    at = put_hex(at, etag.lsn >> 32, 8);
    *at++ = '-';
    at = put_hex(at, etag.lsn >> 16, 4);
    *at++ = '-';
    at = put_hex(at, etag.lsn, 4);
    *at++ = '-';
    at = put_hex(at, etag.range >> 16, 4);
    *at++ = '-';
    at = put_hex(at, etag.range, 4);
    at = put_hex(at, etag.n, 8);
    *at = '"';
}

static struct rn_view strip_quotes(struct rn_view text)
{
    if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"')
        return rn_view_of(text.at + 1, text.len - 2);
    return text;
}

bool rn_etag_parse(struct rn_view text, struct rn_etag *out)
{
    struct rn_view guid = strip_quotes(text);
    uint64_t halves[2] = { 0, 0 };
    unsigned digit = 0;

    if (guid.len != GUID_LEN)
        return false;
    for (size_t i = 0; i < GUID_LEN; i++) {
        int value = rn_hex_digit(guid.at[i]);
        bool is_upper = guid.at[i] >= 'A' && guid.at[i] <= 'F';
        if (is_dash(i) ? guid.at[i] != '-' : value < 0 || is_upper)
            return false;
        if (is_dash(i))
            continue;
        halves[digit / 16] = halves[digit / 16] << 4 | (uint64_t)value;
        digit++;
    }
    *out = (struct rn_etag){ .lsn = halves[0],
                             .range = (uint32_t)(halves[1] >> 32),
                             .n = (uint32_t)halves[1] };
    return true;
}

struct rn_view rn_etag_print_lsn(uint64_t lsn, char out[RN_ETAG_LSN_TEXT_MAX])
{
    int len = snprintf(out, RN_ETAG_LSN_TEXT_MAX, "\"%" PRIu64 "\"", lsn);

    return rn_view_of(out, (size_t)len);
}

enum rn_code rn_etag_parse_lsn(struct rn_view text, uint64_t *out,
                               struct rn_err *err)
{
    struct rn_view in = text;
    uint64_t lsn;

    if (rn_view_starts(in, RN_LIT("W/\"")))
        in = rn_view_of(in.at + 2, in.len - 2);
    in = strip_quotes(in);
    if (!rn_digits_read(&in, UINT64_MAX, &lsn) || in.len > 0) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "'%.*s' is not an etag of this feed",
                       text.len > 80 ? 80 : (int)text.len, text.at);
    }
    *out = lsn;
    return RN_OK;
}

/* ---- conditions ---------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip(struct rn_view *v, size_t n)
{
    v->at += n;
    v->len -= n;
}

bool rn_etag_next(struct rn_view *rest, struct rn_view *out)
{
    bool quoted;
    size_t end = 0;

    while (rest->len > 0 && (is_blank(rest->at[0]) || rest->at[0] == ','))
        skip(rest, 1);
    if (rest->len == 0)
        return false;
    if (rn_view_starts(*rest, RN_LIT("W/\"")))
        skip(rest, 2);
    quoted = rn_digits_skip(rest, '"');
    while (end < rest->len && rest->at[end] != (quoted ? '"' : ','))
        end++;
    *out = rn_view_of(rest->at, end);
    skip(rest, end);
    if (quoted) {
        rn_digits_skip(rest, '"');
        return true;
    }
    while (out->len > 0 && is_blank(out->at[out->len - 1]))
        out->len--;
    return true;
}

bool rn_etag_matches(struct rn_view condition, struct rn_view etag)
{
    struct rn_view one, bare = strip_quotes(etag);

    while (rn_etag_next(&condition, &one)) {
        if (rn_view_eq(one, bare) || rn_view_eq(one, RN_LIT("*")))
            return true;
    }
    return false;
}
