/* raw.c -- escapes raw control characters in the strings of a JSON text.
 *
 * JSON forbids them, but the service accepts them, so clients send them.  They
 * are escaped before any other code reads the text, so that valid JSON is
 * stored and sent.
 */
#include "json/raw.h"

#include <string.h>

/* True if one of the eight bytes is below the space. */
static bool has_control(uint64_t word)
{
    const uint64_t blanks = UINT64_C(0x2020202020202020);

    return (word - blanks) & ~word & UINT64_C(0x8080808080808080);
}

static bool holds_control(struct rn_view text)
{
    size_t i = 0;
    uint64_t word;

    for (; i + 8 <= text.len; i += 8) {
        memcpy(&word, text.at + i, 8);
        if (has_control(word))
            return true;
    }
    for (; i < text.len; i++) {
        if ((unsigned char)text.at[i] < ' ')
            return true;
    }
    return false;
}

/* Writes the text with its raw control characters escaped and returns the
 * length; only measures if `out` is NULL. */
static size_t escape(struct rn_view text, char *out)
{
    static const char digits[] = "0123456789abcdef";
    bool is_string = false;
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool is_pair = is_string && c == '\\' && i + 1 < text.len;

        if (is_string && c < ' ') {
            char code[6] = {
                '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]
            };
            if (out)
                memcpy(out + n, code, sizeof(code));
            n += sizeof(code);
            continue;
        }
        if (c == '"')
            is_string = !is_string;
        if (out)
            memcpy(out + n, text.at + i, is_pair ? 2 : 1);
        n += is_pair ? 2 : 1;
        i += is_pair;
    }
    return n;
}

enum rn_code rn_json_escape_raw(struct rn_view text, struct rn_arena *a,
                                struct rn_view *out)
{
    size_t len;
    char *at;

    *out = text;
    if (!holds_control(text))
        return RN_OK;
    len = escape(text, NULL);
    if (len == text.len)
        return RN_OK;
    at = rn_arena_alloc(a, len);
    if (!at)
        return RN_TOO_LARGE;
    (void)escape(text, at);
    *out = rn_view_of(at, len);
    return RN_OK;
}
