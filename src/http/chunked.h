/* chunked.h -- decodes the chunked transfer coding of a body.
 *
 *   size [";" extension] CRLF  data CRLF   ...   0 CRLF  [trailers]  CRLF
 *
 * A state machine over single bytes: it buffers no input, so the bytes may come
 * in any pieces.  Strict: a size is 1 to 16 hexadecimal digits, lines end in
 * CRLF, an extension follows the size without a blank.  Extensions and trailer
 * fields are checked for syntax, counted against a limit and ignored.
 */
#ifndef RN_HTTP_CHUNKED_H
#define RN_HTTP_CHUNKED_H

#include "http/request.h"

enum rn_http_step {
    RN_HTTP_MORE,    /* feed more bytes */
    RN_HTTP_DONE,    /* complete */
    RN_HTTP_REFUSED, /* answer with the refusal and close */
};

struct rn_http_chunked {
    unsigned char state;
    unsigned char digits;      /* of the size so far */
    uint64_t left;             /* of the chunk's data; or the size so far */
    size_t data_left;          /* data that may still come */
    size_t ext_left;           /* bytes of extensions, all chunks together */
    size_t line_max, line_len; /* of a trailer */
    size_t trailer_left;       /* bytes of trailers */
    unsigned fields_left;      /* trailers */
};

/* Initialize a decoder by zeroing it and filling in its limits. */

/* Decodes from the front of `in` and consumes it: bytes are left over only if
 * the result is RN_HTTP_DONE.  Data is appended to `out`, whose ceiling is at
 * least data_left. */
enum rn_http_step rn_http_chunked_decode(struct rn_http_chunked *c,
                                         struct rn_view *in, struct rn_buf *out,
                                         struct rn_http_refusal *no) RN_CHECK;

/* The number of next bytes that are plain data: the caller may put them into
 * `out` itself and then report that. */
uint64_t rn_http_chunked_data_next(const struct rn_http_chunked *c);
void rn_http_chunked_data_taken(struct rn_http_chunked *c, size_t n);

#endif
