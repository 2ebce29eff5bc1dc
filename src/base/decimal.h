/* decimal.h -- prints unsigned integers, where printf would be too slow. */
#ifndef RN_BASE_DECIMAL_H
#define RN_BASE_DECIMAL_H

#include "base/mem.h"

enum { RN_DECIMAL_MAX = 20 }; /* digits of 2^64 */

/* Writes the digits of `n` so that they stop at `end`. */
static inline struct rn_view rn_decimal_print(uint64_t n, char *end)
{
    char *at = end;

    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return rn_view_of(at, (size_t)(end - at));
}

#endif
