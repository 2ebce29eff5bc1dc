/* number.h -- converts between the text of a JSON number and its value.
 *
 * The input text has been validated by the parser.  The locale has no effect.
 * Values only.  Any thread.
 */
#ifndef RN_JSON_NUMBER_H
#define RN_JSON_NUMBER_H

#include "base/mem.h"

#include <stdint.h>

enum { RN_NUMBER_TEXT_MAX = 32 };

/* The double nearest to the number, ties to even; infinite if it is too large,
 * a signed zero if it is too small. */
double rn_number_double(struct rn_view text);

/* True, with the value, if the number is an integer that fits, however it is
 * written. */
bool rn_number_int64(struct rn_view text, int64_t *out);

/* Prints the shortest decimal that reads back as `d`, in JavaScript's format:
 * 0.1, 100000000000000000000, 1e+21, 1e-7, and 0 for -0.  `d` is finite.
 * Returns the length; no NUL is written. */
size_t rn_number_print(double d, char out[RN_NUMBER_TEXT_MAX]);

#endif
