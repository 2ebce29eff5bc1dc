/* token.c -- see token.h. */
#include "http/token.h"

#include <endian.h>

/* clang-format off */
const unsigned char rn_http_lower[256] = {
    ['!'] = '!', ['#'] = '#', ['$'] = '$', ['%'] = '%', ['&'] = '&',
    ['\''] = '\'', ['*'] = '*', ['+'] = '+', ['-'] = '-', ['.'] = '.',
    ['^'] = '^', ['_'] = '_', ['`'] = '`', ['|'] = '|', ['~'] = '~',
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4',
    ['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8', ['9'] = '9',
    ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd', ['E'] = 'e',
    ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j',
    ['K'] = 'k', ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o',
    ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's', ['T'] = 't',
    ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
    ['Z'] = 'z',
    ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e',
    ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j',
    ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o',
    ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't',
    ['u'] = 'u', ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y',
    ['z'] = 'z',
};
/* clang-format on */

bool rn_http_is_token(struct rn_view v)
{
    for (size_t i = 0; i < v.len; i++) {
        if (!rn_http_token_byte(v.at[i]))
            return false;
    }
    return v.len > 0;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool rn_http_same(struct rn_view a, struct rn_view b)
{
    if (a.len != b.len)
        return false;
    if (rn_view_eq(a, b))
        return true;
    for (size_t i = 0; i < a.len; i++) {
        if (a.at[i] != b.at[i] && lower(a.at[i]) != lower(b.at[i]))
            return false;
    }
    return true;
}

/* Eight bytes at once: the number of bytes before the first that is below 0x20
 * or equal to 0x7f, tabs included; eight if there is none.  A borrow can mark a
 * byte wrongly, but only after the first. */
static unsigned clean_bytes(const char *at)
{
    const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
    uint64_t w, del, found;

    memcpy(&w, at, sizeof(w));
    w = le64toh(w);
    del = w ^ (ones * 0x7f);
    found = (((w - ones * 0x20) & ~w) | ((del - ones) & ~del)) & high;
    return found ? (unsigned)__builtin_ctzll(found) / 8 : 8;
}

/* The last eight bytes are checked again as one word, instead of the remaining
 * bytes one by one: most texts are short. */
const char *rn_http_find_control(const char *at, const char *end)
{
    bool is_word;

    if (at == end) /* perhaps both are NULL */
        return end;
    is_word = end - at >= 8;
    while (end - at >= 8) {
        unsigned n = clean_bytes(at);
        at += n;
        if (n == 8)
            continue;
        if (*at != '\t')
            return at;
        at++;
    }
    if (is_word && clean_bytes(end - 8) == 8)
        return end;
    while (at < end && !rn_http_is_control(*at))
        at++;
    return at;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct rn_view rn_http_trim(struct rn_view v)
{
    while (v.len > 0 && is_blank(v.at[0])) {
        v.at++;
        v.len--;
    }
    while (v.len > 0 && is_blank(v.at[v.len - 1]))
        v.len--;
    return v;
}
