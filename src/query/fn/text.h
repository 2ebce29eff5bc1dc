/* text.h -- strings as queries count them: in UTF-16 units. */
#ifndef RN_QUERY_FN_TEXT_H
#define RN_QUERY_FN_TEXT_H

#include "base/mem.h"

#include <stdint.h>

/* How many UTF-16 units the text has. */
int64_t rn_text_units(struct rn_view text);
/* The byte at which unit `units` begins, at most the length.  The middle of a
 * character counts as its start. */
size_t rn_text_offset(struct rn_view text, int64_t units);

/* Where `part` is in `text` from byte `from` on, or -1. */
int64_t rn_text_find(struct rn_view text, struct rn_view part, size_t from);

/* The code point at `at`, and how many bytes it takes. */
uint32_t rn_text_point(struct rn_view text, size_t at, size_t *len);
/* One code point for one, by the plain mappings of Unicode for Latin, Greek,
 * Cyrillic and Armenian; no locale. */
uint32_t rn_text_lower(uint32_t point);
uint32_t rn_text_upper(uint32_t point);

#endif
