/* utf8.h -- UTF-8 validation and encoding by RFC 3629: no overlong form, no
 * surrogate, nothing above U+10FFFF.
 *
 * Values only.  Any thread.
 */
#ifndef RN_JSON_UTF8_H
#define RN_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RN_UTF8_MAX = 4 }; /* bytes of one code point */

/* The length in bytes of the code point at `at`; 0 if it is invalid.  at <
 * end. */
size_t rn_utf8_len(const char *at, const char *end);
/* Is all of it valid? */
bool rn_utf8_is_valid(const char *at, const char *end);

/* Writes `point`, which must be a code point and not a surrogate, and returns
 * its length in bytes. */
size_t rn_utf8_encode(uint32_t point, char out[RN_UTF8_MAX]);

#endif
