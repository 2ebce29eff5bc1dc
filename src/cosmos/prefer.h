/* prefer.h -- what a client would like (RFC 7240): Prefer: return=minimal,
 * wait=10.
 *
 * Preferences are separated by commas and may stand in any order and case; of
 * one that is there twice the first counts.  Unknown ones are nobody's fault.
 *
 * Values only; any thread.
 */
#ifndef RN_COSMOS_PREFER_H
#define RN_COSMOS_PREFER_H

#include "base/mem.h"

/* The value of a preference, without quotes; empty if it has none.  False if it
 * is not there. */
bool rn_prefer_find(struct rn_view header, const char *name,
                    struct rn_view *value);

/* Seconds that the client would wait, UINT32_MAX if it is more; 0 if it would
 * not, or says no number. */
uint32_t rn_prefer_wait(struct rn_view header);

#endif
