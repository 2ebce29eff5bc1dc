/* hex.h -- hexadecimal digits and percent-decoding of URLs. */
#ifndef RN_BASE_HEX_H
#define RN_BASE_HEX_H

#include "base/mem.h"

/* The value of a digit of either case, or -1. */
static inline int rn_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes "%XX" from `in` to `out`, which has room for in.len bytes and may be
 * the same place.  Returns the decoded length, or -1 for a bad escape or %00.
 */
ptrdiff_t rn_percent_decode(struct rn_view in, char *out);

#endif
