/* base64.c -- see base64.h. */
#include "base/base64.h"

#include <assert.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz"
                              "0123456789";

/* The two letters in which the alphabets differ. */
static const char *last_two(unsigned how)
{
    static const char *const pairs[] = { "+/", "-_", "+-" };

    assert((how & 3) < 3);
    return pairs[how & 3];
}

static char letter_of(unsigned bits, const char *last)
{
    if (bits < 62)
        return letters[bits];
    return last[bits - 62];
}

/* -1 if it is none. */
static int bits_of(char letter, const char *last)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    if (letter == last[0])
        return 62;
    return letter == last[1] ? 63 : -1;
}

struct rn_view rn_base64_encode(struct rn_view bytes, unsigned how, char *out)
{
    const char *last = last_two(how);
    char *at = out;
    uint32_t held = 0;
    unsigned held_bits = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        held = held << 8 | (unsigned char)bytes.at[i];
        held_bits += 8;
        while (held_bits >= 6) {
            held_bits -= 6;
            *at++ = letter_of(held >> held_bits & 63, last);
        }
    }
    if (held_bits > 0)
        *at++ = letter_of(held << (6 - held_bits) & 63, last);
    while (!(how & RN_BASE64_BARE) && (at - out) % 4 != 0)
        *at++ = '=';
    return rn_view_of(out, (size_t)(at - out));
}

/* Takes the padding off `*text`; false if it is not as `how` demands. */
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
    const char *last = last_two(how);
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
        int bits = bits_of(text.at[i], last);
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
