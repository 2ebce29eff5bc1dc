/* prefer.h -- parses the Prefer header (RFC 7240): Prefer: return=minimal,
 * wait=10.
 *
 * Preferences are separated by commas, in any order and case; of a repeated one
 * the first counts.  Unknown ones are ignored.
 *
 * Values only; any thread.
 */
#ifndef RN_COSMOS_PREFER_H
#define RN_COSMOS_PREFER_H

#include "base/mem.h"

/* The value of a preference, without quotes; empty if it has none.  False if
 * the preference is absent. */
bool rn_prefer_find(struct rn_view header, const char *name,
                    struct rn_view *value);

/* The seconds that the client is willing to wait, UINT32_MAX if there are more;
 * 0 if it is absent or not a number. */
uint32_t rn_prefer_wait(struct rn_view header);

#endif
