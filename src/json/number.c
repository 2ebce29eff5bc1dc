/* number.c -- see number.h.
 *
 * strtod and printf are exact but depend on the locale's decimal point.  So
 * strtod is only given digits and an exponent ("15e-1"), and of printf's output
 * only the digits and the exponent are read.
 */
#include "json/number.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The number is digits * 10^exponent, where the digits are those of the text
 * without leading and trailing zeros; `exact` if they fit the integer. */
struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool is_negative, is_exact;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The exponent after the e.  Beyond a million million its value no longer
 * matters: no text is long enough to compensate for it. */
static int64_t read_exponent(const char *at, const char *end)
{
    bool is_negative = *at == '-';
    int64_t value = 0;

    if (!is_digit(*at))
        at++;
    for (; at < end; at++) {
        if (value < 1000000000000)
            value = value * 10 + (*at - '0');
    }
    return is_negative ? -value : value;
}

/* Appends `zeros` zeros and then `digit`, which is not zero. */
static bool append(uint64_t *digits, uint64_t zeros, char digit)
{
    uint64_t value = *digits;

    if (value == 0)
        zeros = 0; /* leading ones */
    if (zeros > 19)
        return false;
    for (; zeros > 0; zeros--) {
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    }
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(digit - '0'), &value))
        return false;
    *digits = value;
    return true;
}

static struct decimal read_decimal(struct rn_view text)
{
    const char *at = text.at, *end = text.at + text.len;
    struct decimal d = { .is_exact = true };
    int64_t behind_point = 0;
    uint64_t zeros = 0;
    bool has_point = false;

    d.is_negative = *at == '-';
    at += d.is_negative;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            has_point = true;
            continue;
        }
        behind_point += has_point;
        if (*at == '0') {
            zeros++;
            continue;
        }
        d.is_exact = d.is_exact && append(&d.digits, zeros, *at);
        zeros = 0;
    }
    d.exponent = (int64_t)zeros - behind_point;
    if (at < end)
        d.exponent += read_exponent(at + 1, end);
    return d;
}

/* ---- to double ----------------------------------------------------------- */

/* A double differs from its neighbor's midpoint within 767 digits; of further
 * digits it only matters whether any is nonzero. */
enum { DIGITS_MAX = 768 };

/* Passes the digits without the point, truncated to those that matter, and an
 * adjusted exponent to strtod. */
static double read_slowly(struct rn_view text)
{
    char buf[DIGITS_MAX + 32];
    const char *at = text.at, *end = text.at + text.len;
    int64_t exponent = 0;
    bool has_point = false, is_cut = false;
    int len = 0;

    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (!is_digit(*at)) {
            has_point = has_point || *at == '.';
            continue;
        }
        if (len == DIGITS_MAX) {
            is_cut = is_cut || *at != '0';
            exponent += !has_point;
            continue;
        }
        exponent -= has_point;
        if (len > 0 || *at != '0')
            buf[len++] = *at;
    }
    if (at < end)
        exponent += read_exponent(at + 1, end);
    if (is_cut) {
        buf[len++] = '1';
        exponent--;
    }
    snprintf(buf + len, sizeof(buf) - (size_t)len, "e%" PRId64, exponent);
    return text.at[0] == '-' ? -strtod(buf, NULL) : strtod(buf, NULL);
}

double rn_number_double(struct rn_view text)
{
    static const double tens[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };
    struct decimal d = read_decimal(text);
    double value = (double)d.digits;

    /* Both operands are exact, so the single operation rounds once and
     * correctly. */
    static_assert(FLT_EVAL_METHOD == 0, "needs arithmetic in double");
    if (!d.is_exact || d.digits > UINT64_C(1) << 53 || d.exponent > 22 ||
        d.exponent < -22) {
        if (d.is_exact && d.digits == 0)
            return d.is_negative ? -0.0 : 0.0;
        return read_slowly(text);
    }
    value =
        d.exponent < 0 ? value / tens[-d.exponent] : value * tens[d.exponent];
    return d.is_negative ? -value : value;
}

/* ---- to integer ---------------------------------------------------------- */

bool rn_number_int64(struct rn_view text, int64_t *out)
{
    struct decimal d = read_decimal(text);
    uint64_t value = d.digits;

    if (!d.is_exact)
        return false;
    if (value == 0) {
        *out = 0;
        return true;
    }
    if (d.exponent < 0 || d.exponent > 19)
        return false;
    for (; d.exponent > 0; d.exponent--) {
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    }
    if (value > (uint64_t)INT64_MAX + d.is_negative)
        return false;
    *out = d.is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* ---- to text ------------------------------------------------------------- */

/* digit.digits * 10^exponent */
struct shortest {
    char digits[20];
    int len, exponent;
};

/* `d` in `len` digits, correctly rounded. */
static struct shortest round_to(double d, int len)
{
    struct shortest s = { 0 };
    char text[48];
    const char *at = text;

    snprintf(text, sizeof(text), "%.*e", len - 1, d);
    for (; *at != 'e'; at++) {
        if (is_digit(*at))
            s.digits[s.len++] = *at;
    }
    s.exponent = (int)strtol(at + 1, NULL, 10);
    while (s.len > 1 && s.digits[s.len - 1] == '0')
        s.len--;
    return s;
}

static bool reads_back(const struct shortest *s, double d)
{
    char text[48];

    snprintf(text, sizeof(text), "%.*se%d", s->len, s->digits,
             s->exponent - (s->len - 1));
    return strtod(text, NULL) == d;
}

/* The next larger number of 16 digits. */
static struct shortest one_up(struct shortest s)
{
    while (s.len < 16)
        s.digits[s.len++] = '0';
    while (s.len > 0 && s.digits[s.len - 1] == '9')
        s.len--;
    if (s.len == 0) {
        s.digits[s.len++] = '1';
        s.exponent++;
        return s;
    }
    s.digits[s.len - 1]++;
    return s;
}

/* A number of 15 digits or fewer survives a round trip through a double, so
 * rounding to 15 digits gives the shortest form if it reads back; but subnormal
 * doubles hold fewer digits.  Below a power of two, doubles are denser than
 * above it, so the nearest number of 16 digits may miss where the next one up
 * does not. */
static struct shortest shorten(double d)
{
    struct shortest s;
    int exponent;

    for (int len = d < DBL_MIN ? 1 : 15; len <= 16; len++) {
        s = round_to(d, len);
        if (reads_back(&s, d))
            return s;
    }
    if (frexp(d, &exponent) == 0.5) {
        s = one_up(s);
        if (reads_back(&s, d))
            return s;
    }
    return round_to(d, 17);
}

static size_t put(char *out, size_t at, const char *from, int len)
{
    memcpy(out + at, from, (size_t)len);
    return at + (size_t)len;
}

static size_t put_zeros(char *out, size_t at, int len)
{
    memset(out + at, '0', (size_t)len);
    return at + (size_t)len;
}

/* ECMA-262, Number::toString, step by step; n is its n. */
static size_t lay_out(const struct shortest *s, char *out, size_t at)
{
    int n = s->exponent + 1;

    if (n > 21 || n < -5) {
        at = put(out, at, s->digits, 1);
        if (s->len > 1) {
            out[at++] = '.';
            at = put(out, at, s->digits + 1, s->len - 1);
        }
        return at + (size_t)snprintf(out + at, RN_NUMBER_TEXT_MAX - at, "e%+d",
                                     s->exponent);
    }
    if (n <= 0) {
        at = put(out, at, "0.", 2);
        at = put_zeros(out, at, -n);
        return put(out, at, s->digits, s->len);
    }
    if (n >= s->len) {
        at = put(out, at, s->digits, s->len);
        return put_zeros(out, at, n - s->len);
    }
    at = put(out, at, s->digits, n);
    out[at++] = '.';
    return put(out, at, s->digits + n, s->len - n);
}

size_t rn_number_print(double d, char out[RN_NUMBER_TEXT_MAX])
{
    struct shortest s;
    size_t at = 0;

    assert(isfinite(d));
    if (fabs(d) < 9007199254740992.0 && d == (double)(int64_t)d)
        return (size_t)snprintf(out, RN_NUMBER_TEXT_MAX, "%" PRId64,
                                (int64_t)d);
    if (d < 0)
        out[at++] = '-';
    s = shorten(fabs(d));
    return lay_out(&s, out, at);
}
