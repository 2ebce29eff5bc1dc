/* utf8.h -- UTF-8 as RFC 3629 has it: no overlong form, no surrogate, nothing
 * above U+10FFFF.
 *
 * Values only.  Any thread.
 */
#ifndef RN_JSON_UTF8_H
#define RN_JSON_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { RN_UTF8_MAX = 4 }; /* bytes of one code point */

/* How many bytes the code point at `at` takes; 0 if what stands there is not
 * one.  at < end. */
size_t rn_utf8_len(const char *at, const char *end);

/* Writes `point`, which must be a code point and no surrogate, and returns how
 * many bytes it took. */
size_t rn_utf8_encode(uint32_t point, char out[RN_UTF8_MAX]);

#endif
