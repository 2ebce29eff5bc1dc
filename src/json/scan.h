/* scan.h -- fast scanning of JSON: plain text in strings, skipping values, and
 * hexadecimal digits.
 *
 * A plain byte may appear in a JSON string unescaped and needs no further
 * check: ASCII from the space on, without the quote and the backslash.  Both
 * implementations give the same result; rn_scan_plain is the faster one of the
 * machine.
 */
#ifndef RN_JSON_SCAN_H
#define RN_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool rn_scan_is_plain(char c)
{
    return (signed char)c >= ' ' && c != '"' && c != '\\';
}

/* True if one of the eight bytes of `x` may not be plain.  The high bit of a
 * byte of (y - ones) & ~y is set if the byte of y is zero; a borrow can set it
 * wrongly, but only above a byte that is zero. */
static inline bool rn_scan_word_stops(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t quote = x ^ (ones * '"');
    uint64_t slash = x ^ (ones * '\\');
    uint64_t stops = x | ((x - ones * ' ') & ~x) | ((quote - ones) & ~quote) |
                     ((slash - ones) & ~slash);

    return (stops & (ones * 0x80)) != 0;
}

/* The first byte from `at` on that is not plain, or `end`. */
static inline const char *rn_scan_plain_words(const char *at, const char *end)
{
    uint64_t word;

    while (end - at >= 8) {
        memcpy(&word, at, sizeof(word));
        if (rn_scan_word_stops(word))
            break;
        at += 8;
    }
    while (at < end && rn_scan_is_plain(*at))
        at++;
    return at;
}

#if defined(__SSE2__)
#include <emmintrin.h>

/* The comparison is signed: bytes below the space include those with the high
 * bit set. */
static inline const char *rn_scan_plain(const char *at, const char *end)
{
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');

    while (end - at >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i stop = _mm_or_si128(
            _mm_cmplt_epi8(v, space),
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        int mask = _mm_movemask_epi8(stop);
        if (mask)
            return at + __builtin_ctz((unsigned)mask);
        at += 16;
    }
    return rn_scan_plain_words(at, end);
}

/* The first quote or backslash from `at` on, or `end`. */
static inline const char *rn_scan_quote(const char *at, const char *end)
{
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');

    for (; end - at >= 16; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at);
        int mask = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        if (mask)
            return at + __builtin_ctz((unsigned)mask);
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

#else
static inline const char *rn_scan_plain(const char *at, const char *end)
{
    return rn_scan_plain_words(at, end);
}

static inline const char *rn_scan_quote(const char *at, const char *end)
{
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}
#endif

/* The position after the string whose text starts at `at`, or NULL if it does
 * not end. */
static inline const char *rn_scan_past_string(const char *at, const char *end)
{
    for (;;) {
        at = rn_scan_quote(at, end);
        if (at == end)
            return NULL;
        if (*at == '"')
            return at + 1;
        if (end - at < 2)
            return NULL;
        at += 2; /* the backslash, and the escaped byte */
    }
}

/* The position after the array or object that starts at `at`, or NULL if it
 * does not end.  The text must be valid JSON. */
const char *rn_scan_past_container(const char *at, const char *end);

/* The value of the four hexadecimal digits at `at`, or -1 if they are
 * invalid. */
static inline int rn_scan_hex4(const char *at)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        int c = (unsigned char)at[i];
        int lower = c | 0x20;
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

#endif
