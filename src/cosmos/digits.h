/* digits.h -- parses the numbers in tokens.
 *
 * A decimal number has no sign, no leading zero and does not overflow.  Clients
 * compare tokens as text, so two spellings of one number would be two tokens.
 */
#ifndef RN_COSMOS_DIGITS_H
#define RN_COSMOS_DIGITS_H

#include "base/mem.h"

/* Moves `in` past the digits.  On false neither argument has changed. */
static inline bool rn_digits_read(struct rn_view *in, uint64_t max,
                                  uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < in->len && in->at[i] >= '0' && in->at[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(in->at[i] - '0');
        if (digit > max || n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (i == 0 || (i > 1 && in->at[0] == '0'))
        return false;
    in->at += i;
    in->len -= i;
    *out = n;
    return true;
}

/* Moves `in` past `c` if it starts with it. */
static inline bool rn_digits_skip(struct rn_view *in, char c)
{
    if (in->len == 0 || in->at[0] != c)
        return false;
    in->at++;
    in->len--;
    return true;
}

#endif
