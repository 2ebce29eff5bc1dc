/* etag.c -- see etag.h. */
#include "cosmos/etag.h"

#include "base/hex.h"
#include "cosmos/digits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    GUID_LEN = RN_ETAG_LEN - 2,
    LSN_BITS = 56,
    PART_BITS = 20, /* of range and n, below 12 of the series */
    SERIES_BITS = 32 - PART_BITS,
};

static const uint64_t lsn_mask = (UINT64_C(1) << LSN_BITS) - 1;
static const uint32_t part_mask = (UINT32_C(1) << PART_BITS) - 1;

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
    uint64_t lsn = etag.lsn | (uint64_t)(etag.series >> 2 * SERIES_BITS)
                                  << LSN_BITS;
    uint32_t range = etag.range | etag.series >> SERIES_BITS << PART_BITS;
    uint32_t n = etag.n | etag.series << PART_BITS;
    char *at = out;

    assert(etag.lsn <= lsn_mask && etag.range <= part_mask &&
           etag.n <= part_mask);
    *at++ = '"';
    at = put_hex(at, lsn >> 32, 8);
    *at++ = '-';
    at = put_hex(at, lsn >> 16, 4);
    *at++ = '-';
    at = put_hex(at, lsn, 4);
    *at++ = '-';
    at = put_hex(at, range >> 16, 4);
    *at++ = '-';
    at = put_hex(at, range, 4);
    at = put_hex(at, n, 8);
    *at = '"';
}

static struct rn_view strip_quotes(struct rn_view text)
{
    if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"')
        return rn_view_of(text.at + 1, text.len - 2);
    return text;
}

static struct rn_etag join(uint64_t lsn, uint32_t range, uint32_t n)
{
    return (struct rn_etag){
        .lsn = lsn & lsn_mask,
        .range = range & part_mask,
        .n = n & part_mask,
        .series = (uint32_t)(lsn >> LSN_BITS) << 2 * SERIES_BITS |
                  range >> PART_BITS << SERIES_BITS | n >> PART_BITS,
    };
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
    *out = join(halves[0], (uint32_t)(halves[1] >> 32), (uint32_t)halves[1]);
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
