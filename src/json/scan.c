/* scan.c -- skips an array or object without parsing it.
 *
 * Blocks of sixty-four bytes become bit masks, one bit per byte: quotes,
 * backslashes, opening and closing brackets.  A quote that is not escaped
 * starts or ends a string; bytes within strings are masked out.  The bits are
 * examined one by one only where the container may end.
 */
#include "json/scan.h"

struct block {
    uint64_t quotes, slashes, opens, closes;
};

struct pass {
    uint64_t depth;
    uint64_t in_string; /* all ones or zero */
    bool is_escaped;    /* the first byte of the next block */
};

#if defined(__SSE2__)
static uint64_t bits(__m128i v, unsigned shift)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(v) << shift;
}

/* Brackets and braces differ in one bit. */
static struct block block_of(const char *at)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i bit = _mm_set1_epi8(0x20);
    struct block b = { 0 };

    for (unsigned i = 0; i < 64; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i brace = _mm_or_si128(v, bit);
        b.quotes |= bits(_mm_cmpeq_epi8(v, quote), i);
        b.slashes |= bits(_mm_cmpeq_epi8(v, slash), i);
        b.opens |= bits(_mm_cmpeq_epi8(brace, open), i);
        b.closes |= bits(_mm_cmpeq_epi8(brace, close), i);
    }
    return b;
}
#else
static struct block block_of(const char *at)
{
    struct block b = { 0 };

    for (unsigned i = 0; i < 64; i++) {
        b.quotes |= (uint64_t)(at[i] == '"') << i;
        b.slashes |= (uint64_t)(at[i] == '\\') << i;
        b.opens |= (uint64_t)((at[i] | 0x20) == '{') << i;
        b.closes |= (uint64_t)((at[i] | 0x20) == '}') << i;
    }
    return b;
}
#endif

/* The bytes that are escaped by a backslash. */
static uint64_t escaped_of(struct pass *p, uint64_t slashes)
{
    uint64_t escaped = p->is_escaped;

    p->is_escaped = false;
    while (slashes) {
        unsigned at = (unsigned)__builtin_ctzll(slashes);
        slashes &= slashes - 1;
        if (escaped >> at & 1)
            continue;
        if (at == 63)
            p->is_escaped = true;
        else
            escaped |= (uint64_t)2 << at;
    }
    return escaped;
}

/* The bytes of strings, including the opening quote and excluding the closing
 * one. */
static uint64_t strings_of(struct pass *p, uint64_t quotes)
{
    uint64_t in = quotes;

    for (unsigned i = 1; i < 64; i <<= 1)
        in ^= in << i;
    in ^= p->in_string;
    p->in_string = 0 - (in >> 63);
    return in;
}

/* The offset in the block at which the container ends, or 0. */
static unsigned pass_block(struct pass *p, struct block b)
{
    uint64_t in, opens, closes;

    if (b.slashes || p->is_escaped)
        b.quotes &= ~escaped_of(p, b.slashes);
    in = strings_of(p, b.quotes);
    opens = b.opens & ~in;
    closes = b.closes & ~in;
    if (p->depth > (unsigned)__builtin_popcountll(closes)) {
        p->depth += (unsigned)__builtin_popcountll(opens);
        p->depth -= (unsigned)__builtin_popcountll(closes);
        return 0;
    }
    for (uint64_t left = opens | closes; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctzll(left);
        if (opens >> at & 1)
            p->depth++;
        else if (--p->depth == 0)
            return at + 1;
    }
    return 0;
}

const char *rn_scan_past_container(const char *at, const char *end)
{
    struct pass p = { 0 };
    char tail[64] = { 0 };
    unsigned n = 0;

    for (; end - at >= 64; at += 64) {
        n = pass_block(&p, block_of(at));
        if (n)
            return at + n;
    }
    memcpy(tail, at, (size_t)(end - at));
    n = pass_block(&p, block_of(tail));
    return n ? at + n : NULL;
}
