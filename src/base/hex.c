/* hex.c -- see hex.h. */
#include "base/hex.h"

ptrdiff_t rn_percent_decode(struct rn_view in, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < in.len; i++) {
        int high, low;

        if (in.at[i] != '%') {
            out[n++] = in.at[i];
            continue;
        }
        if (in.len - i < 3)
            return -1;
        high = rn_hex_digit(in.at[i + 1]);
        low = rn_hex_digit(in.at[i + 2]);
        if (high < 0 || low < 0 || high + low == 0)
            return -1;
        out[n++] = (char)(high << 4 | low);
        i += 2;
    }
    return (ptrdiff_t)n;
}
