/* input.h -- a file or standard input, read in order through a buffer.
 *
 * The caller looks at `bytes` from `at` on, asks for more, and consumes from
 * the front; the position (byte and line) follows.  A wait for standard input
 * ends when a signal comes.
 *
 * One thread.  A zeroed one may be closed.
 */
#ifndef RN_TOOLS_IMPORT_INPUT_H
#define RN_TOOLS_IMPORT_INPUT_H

#include "base/mem.h"

#include <stdint.h>

/* The byte that comes next, and its line, from 1 on. */
struct rn_place {
    uint64_t offset, line;
};

struct rn_input {
    const char *name; /* borrowed; "-" is standard input */
    uint64_t size;    /* bytes; 0: not known */
    struct rn_place place;
    bool is_end; /* all bytes are in the buffer */

    /* private */
    struct rn_buf bytes;
    size_t at;
    int fd;
    bool is_open;
};

/* RN_NOT_FOUND, RN_FORBIDDEN, RN_IO with the sentence. */
enum rn_code rn_input_open(struct rn_input *input, const char *name,
                           struct rn_err *err) RN_CHECK;
void rn_input_close(struct rn_input *input);

/* The bytes that are there.  Valid until more or consume is called. */
static inline struct rn_view rn_input_view(const struct rn_input *input)
{
    return rn_view_of(input->bytes.at + input->at,
                      input->bytes.len - input->at);
}
/* Reads some more, or sets is_end.  RN_BUSY: a signal came. */
enum rn_code rn_input_more(struct rn_input *input, struct rn_err *err) RN_CHECK;
/* Moves the place over that many bytes. */
void rn_input_consume(struct rn_input *input, size_t count);
/* Moves the place forward to one of an earlier run. */
enum rn_code rn_input_skip(struct rn_input *input, struct rn_place to,
                           struct rn_err *err) RN_CHECK;

#endif
