/* uuid.h -- UUIDs (RFC 9562), as in activity ids. */
#ifndef RN_BASE_UUID_H
#define RN_BASE_UUID_H

#include "base/env.h"

#include <stdint.h>

enum { RN_UUID_TEXT_MAX = 37 }; /* 32 digits, four dashes, NUL */

struct rn_uuid {
    uint8_t bytes[16];
};

/* A version 4 UUID: all random but for six bits. */
struct rn_uuid rn_uuid_random(struct rn_env *env);

/* Lower case; NUL-terminated as well. */
struct rn_view rn_uuid_print(struct rn_uuid u, char out[RN_UUID_TEXT_MAX]);

/* Parses digits of either case, dashes in their places and nothing else; of any
 * version, since the server echoes what clients made.  False leaves `out`
 * alone. */
bool rn_uuid_parse(struct rn_view text, struct rn_uuid *out) RN_CHECK;

#endif
