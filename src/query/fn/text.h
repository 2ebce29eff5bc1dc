/* text.h -- string operations in UTF-16 code units, the unit of query
 * functions. */
#ifndef RN_QUERY_FN_TEXT_H
#define RN_QUERY_FN_TEXT_H

#include "base/mem.h"

#include <stdint.h>

/* The length of the text in UTF-16 code units. */
int64_t rn_text_units(struct rn_view text);
/* The byte offset at which code unit `units` begins, at most the length.  An
 * offset within a surrogate pair counts as its start. */
size_t rn_text_offset(struct rn_view text, int64_t units);

/* The byte offset of `part` in `text` from byte `from` on, or -1. */
int64_t rn_text_find(struct rn_view text, struct rn_view part, size_t from);

/* The code point at `at`, and its length in bytes. */
uint32_t rn_text_point(struct rn_view text, size_t at, size_t *len);
/* The simple case mapping of Unicode, one code point to one, for Latin, Greek,
 * Cyrillic and Armenian; independent of the locale. */
uint32_t rn_text_lower(uint32_t point);
uint32_t rn_text_upper(uint32_t point);

#endif
