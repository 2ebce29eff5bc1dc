/* utf8.c -- see utf8.h. */
#include "json/utf8.h"

#include <assert.h>

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Sequences of three and four bytes.  The second byte alone decides whether the
 * form is overlong, a surrogate or too high: RFC 3629, section 4. */
static size_t long_len(const unsigned char *at, size_t room)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t len = at[0] < 0xf0 ? 3 : 4;

    if (at[0] > 0xf4 || room < len)
        return 0;
    if (at[0] == 0xe0)
        low = 0xa0;
    else if (at[0] == 0xed)
        high = 0x9f;
    else if (at[0] == 0xf0)
        low = 0x90;
    else if (at[0] == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high || !is_tail(at[2]))
        return 0;
    return len == 3 || is_tail(at[3]) ? len : 0;
}

size_t rn_utf8_len(const char *at, const char *end)
{
    const unsigned char *u = (const unsigned char *)at;
    size_t room = (size_t)(end - at);

    assert(at < end);
    if (u[0] < 0x80)
        return 1;
    if (u[0] < 0xc2) /* a continuation byte, or overlong */
        return 0;
    if (u[0] < 0xe0)
        return room >= 2 && is_tail(u[1]) ? 2 : 0;
    return long_len(u, room);
}

bool rn_utf8_is_valid(const char *at, const char *end)
{
    size_t len = 1;

    for (; at < end && len > 0; at += len)
        len = rn_utf8_len(at, end);
    return len > 0;
}

static char tail(uint32_t point, unsigned shift)
{
    return (char)(unsigned char)(0x80 | ((point >> shift) & 0x3f));
}

size_t rn_utf8_encode(uint32_t point, char out[RN_UTF8_MAX])
{
    assert(point <= 0x10ffff && (point < 0xd800 || point > 0xdfff));
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(unsigned char)(0xc0 | (point >> 6));
        out[1] = tail(point, 0);
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(unsigned char)(0xe0 | (point >> 12));
        out[1] = tail(point, 6);
        out[2] = tail(point, 0);
        return 3;
    }
    out[0] = (char)(unsigned char)(0xf0 | (point >> 18));
    out[1] = tail(point, 12);
    out[2] = tail(point, 6);
    out[3] = tail(point, 0);
    return 4;
}
