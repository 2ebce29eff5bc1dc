/* base64.c -- see base64.h. */
#include "base/base64.h"

#include <assert.h>

#define COMMON                                                                 \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                               \
    "abcdefghijklmnopqrstuvwxyz"                                               \
    "0123456789"

/* The alphabets differ in two letters. */
static const char alphabets[3][65] = { COMMON "+/", COMMON "-_", COMMON "+-" };

/* The values of the common letters; -1 for others. */
/* clang-format off */
static const signed char common_bits[128] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1, -1,
    -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1,
    -1, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -1, -1, -1, -1, -1,
};
/* clang-format on */

static const char *letters_of(unsigned how)
{
    assert((how & 3) < 3);
    return alphabets[how & 3];
}

/* -1 if it is not a letter of the alphabet. */
static int bits_of(char letter, const char *letters)
{
    unsigned char c = (unsigned char)letter;

    if (c < 128 && common_bits[c] >= 0)
        return common_bits[c];
    if (letter == letters[62])
        return 62;
    return letter == letters[63] ? 63 : -1;
}

/* The upper two of three bytes. */
static uint32_t pair_of(const unsigned char *in)
{
    return (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8;
}

/* Writes `n` letters for the upper bits of three bytes. */
static char *put(char *at, const char *letters, uint32_t three, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        *at++ = letters[three >> (18 - 6 * i) & 63];
    return at;
}

struct rn_view rn_base64_encode(struct rn_view bytes, unsigned how, char *out)
{
    const char *letters = letters_of(how);
    size_t whole = bytes.len / 3 * 3, rest = bytes.len - whole;
    const unsigned char *in = (const unsigned char *)bytes.at;
    char *at = out;

    for (size_t i = 0; i < whole; i += 3, in += 3)
        at = put(at, letters, pair_of(in) | in[2], 4);
    if (rest == 1)
        at = put(at, letters, (uint32_t)in[0] << 16, 2);
    if (rest == 2)
        at = put(at, letters, pair_of(in), 3);
    while (!(how & RN_BASE64_BARE) && (at - out) % 4 != 0)
        *at++ = '=';
    return rn_view_of(out, (size_t)(at - out));
}

/* Removes the padding from `*text`; false if it is not as `how` demands. */
static bool strip_padding(struct rn_view *text, unsigned how)
{
    size_t pad = 0, bare;

    while (pad < 2 && pad < text->len && text->at[text->len - pad - 1] == '=')
        pad++;
    bare = text->len - pad;
    if (bare % 4 == 1)
        return false;
    if (pad == 0 && !(how & (RN_BASE64_BARE | RN_BASE64_PAD_EITHER)))
        return bare % 4 == 0;
    if (pad > 0 && (how & RN_BASE64_BARE || text->len % 4 != 0))
        return false;
    text->len = bare;
    return true;
}

enum rn_code rn_base64_decode(struct rn_view text, unsigned how, void *out,
                              size_t room, size_t *len)
{
    const char *letters = letters_of(how);
    unsigned char *at = out;
    uint32_t held = 0;
    unsigned held_bits = 0;
    size_t bytes;

    if (!strip_padding(&text, how))
        return RN_BAD_REQUEST;
    bytes = text.len / 4 * 3 + text.len % 4 * 6 / 8;
    if (bytes > room)
        return RN_TOO_LARGE;
    for (size_t i = 0; i < text.len; i++) {
        int bits = bits_of(text.at[i], letters);
        if (bits < 0)
            return RN_BAD_REQUEST;
        held = held << 6 | (uint32_t)bits;
        held_bits += 6;
        if (held_bits >= 8) {
            held_bits -= 8;
            *at++ = (unsigned char)(held >> held_bits & 0xff);
        }
    }
    if ((held & ((1u << held_bits) - 1)) && !(how & RN_BASE64_LOOSE_BITS))
        return RN_BAD_REQUEST;
    *len = bytes;
    return RN_OK;
}
