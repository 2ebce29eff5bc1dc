/* secret.c -- see secret.h. */
#include "base/secret.h"

#include <string.h>

bool rn_equal_secret(struct rn_view a, struct rn_view b)
{
    /* volatile: else the compiler may see that one difference settles it */
    volatile unsigned char differ = 0;

    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        differ = (unsigned char)(differ | (a.at[i] ^ b.at[i]));
    return differ == 0;
}

void rn_wipe_secret(void *at, size_t len)
{
    if (len > 0)
        explicit_bzero(at, len);
}
