/* start.h -- where a reader of the change feed begins, as --start says it:
 * "beginning", "now", or an instant such as 2026-11-18T08:30:00Z.
 */
#ifndef RN_TOOLS_COMMON_START_H
#define RN_TOOLS_COMMON_START_H

#include "tools/common/option.h"

#include <runnel/runnel.h>

/* Reads an instant of RFC 3339 in UTC, with or without a fraction.  False:
 * the text is not such an instant. */
bool rn_start_parse_time(const char *text, int64_t *ms) RN_CHECK;

/* Sets `start` and `start_time_ms`.  False: the text is none of the three. */
bool rn_start_parse(const char *text, runnel_feed_options *out) RN_CHECK;

#endif
