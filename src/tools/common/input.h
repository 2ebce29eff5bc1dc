/* input.h -- JSON that a command reads: an argument, a file or standard input.
 */
#ifndef RN_TOOLS_COMMON_INPUT_H
#define RN_TOOLS_COMMON_INPUT_H

#include "json/json.h"

enum { RN_INPUT_MAX = 64 << 20 };

/* Adds the text that `operand` stands for and parses it: JSON itself if it
 * begins with '{' or '[', "-" or NULL is standard input, anything else a file.
 * `kind` is what the root must be.  Returns an enum rn_exit; the line on
 * standard error has the name of the file and the place. */
int rn_input_read(const char *operand, enum rn_json_kind kind,
                  struct rn_buf *text, struct rn_json *json) RN_CHECK;

#endif
