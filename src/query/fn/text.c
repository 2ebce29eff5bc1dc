/* text.c -- string operations in UTF-16 code units; see text.h. */
#include "query/fn/text.h"

#include "json/utf8.h"

uint32_t rn_text_point(struct rn_view text, size_t at, size_t *len)
{
    const unsigned char *c = (const unsigned char *)text.at + at;

    *len = rn_utf8_len(text.at + at, text.at + text.len);
    switch (*len) {
    case 2:
        return ((c[0] & 0x1Fu) << 6) | (c[1] & 0x3Fu);
    case 3:
        return ((c[0] & 0x0Fu) << 12) | ((c[1] & 0x3Fu) << 6) | (c[2] & 0x3Fu);
    case 4:
        return ((c[0] & 0x07u) << 18) | ((c[1] & 0x3Fu) << 12) |
               ((c[2] & 0x3Fu) << 6) | (c[3] & 0x3Fu);
    default:
        *len = 1;
        return c[0];
    }
}

int64_t rn_text_units(struct rn_view text)
{
    int64_t units = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        units += ((c & 0xC0) != 0x80) + (c >= 0xF0);
    }
    return units;
}

size_t rn_text_offset(struct rn_view text, int64_t units)
{
    size_t i = 0, len;

    while (i < text.len && units > 0) {
        units -= rn_text_point(text, i, &len) > 0xFFFF ? 2 : 1;
        if (units < 0)
            break;
        i += len;
    }
    return i;
}

int64_t rn_text_find(struct rn_view text, struct rn_view part, size_t from)
{
    const char *found;

    if (from > text.len || part.len > text.len - from)
        return -1;
    if (part.len == 0)
        return (int64_t)from;
    found = memmem(text.at + from, text.len - from, part.at, part.len);
    return found ? found - text.at : -1;
}

/* Ranges of capitals: `first` to `last`, every `step`-th, each `apart` from its
 * lower-case letter. */
static const struct {
    uint32_t first, last, step, apart;
} cases[] = {
    { 'A', 'Z', 1, 32 },      { 0xC0, 0xD6, 1, 32 },
    { 0xD8, 0xDE, 1, 32 },    { 0x100, 0x12E, 2, 1 },
    { 0x132, 0x136, 2, 1 },   { 0x139, 0x147, 2, 1 },
    { 0x14A, 0x176, 2, 1 },   { 0x179, 0x17D, 2, 1 },
    { 0x391, 0x3A1, 1, 32 },  { 0x3A3, 0x3AB, 1, 32 },
    { 0x400, 0x40F, 1, 80 },  { 0x410, 0x42F, 1, 32 },
    { 0x460, 0x480, 2, 1 },   { 0x48A, 0x4BE, 2, 1 },
    { 0x4C1, 0x4CD, 2, 1 },   { 0x4D0, 0x52E, 2, 1 },
    { 0x531, 0x556, 1, 48 },  { 0x1E00, 0x1E94, 2, 1 },
    { 0x1EA0, 0x1EFE, 2, 1 }, { 0xFF21, 0xFF3A, 1, 32 },
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

uint32_t rn_text_lower(uint32_t point)
{
    for (int i = 0; i < CASES && point >= cases[i].first; i++) {
        if (point <= cases[i].last &&
            (point - cases[i].first) % cases[i].step == 0)
            return point + cases[i].apart;
    }
    return point == 0x178 ? 0xFF : point;
}

uint32_t rn_text_upper(uint32_t point)
{
    for (int i = 0; i < CASES; i++) {
        uint32_t capital = point - cases[i].apart;
        if (point > cases[i].apart && capital >= cases[i].first &&
            capital <= cases[i].last &&
            (capital - cases[i].first) % cases[i].step == 0)
            return capital;
    }
    return point == 0xFF ? 0x178 : point;
}
