/* options.h -- copies a caller's options struct of another library version.
 *
 * Structs of the public headers begin with `size_t size` and grow at the end.
 * A shorter one comes from a program built for an older library: missing
 * members are zero.  A longer one is accepted if the surplus is zero.
 */
#ifndef RN_CLIENT_HTTP_OPTIONS_H
#define RN_CLIENT_HTTP_OPTIONS_H

#include "client/http/error.h"

/* Fills `to`, whose size in this library is `size`.  RUNNEL_BAD_REQUEST if
 * `from` is NULL, has no size, or members that this library does not know. */
runnel_code rn_options_copy(void *to, size_t size, const void *from,
                            runnel_error *error) RUNNEL_CHECK;

/* A number with its default: zero means the default. */
static inline uint32_t rn_option_or(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

#endif
