/* chunked.h -- takes the chunked transfer coding off a body.
 *
 *   size [";" extension] CRLF  data CRLF   ...   0 CRLF  [trailers]  CRLF
 *
 * A machine over single bytes: it keeps nothing of what it was fed, so the
 * bytes may come in any pieces.  Strict: a size is 1 to 16 hexadecimal digits,
 * lines end in CRLF, an extension follows the size without a blank.  Extensions
 * and trailer fields are checked for form, counted against a limit and ignored.
 */
#ifndef RN_HTTP_CHUNKED_H
#define RN_HTTP_CHUNKED_H

#include "http/request.h"

enum rn_http_step {
    RN_HTTP_MORE,    /* feed more bytes */
    RN_HTTP_DONE,    /* it is whole */
    RN_HTTP_REFUSED, /* answer with the refusal and close */
};

struct rn_http_chunked {
    unsigned char state;
    unsigned char digits;      /* of the size so far */
    uint64_t left;             /* of the chunk's data; the size, while read */
    size_t data_left;          /* how much data may still come */
    size_t ext_left;           /* bytes of extensions, all chunks together */
    size_t line_max, line_len; /* of a trailer */
    size_t trailer_left;       /* bytes of trailers */
    unsigned fields_left;      /* trailers */
};

/* A decoder at its start is a zeroed struct with its limits filled in. */

/* Decodes from the front of `in`, which is left at what was not consumed: never
 * anything unless the result is RN_HTTP_DONE.  Data is added to `out`, whose
 * ceiling is at least data_left. */
enum rn_http_step rn_http_chunked_decode(struct rn_http_chunked *c,
                                         struct rn_view *in, struct rn_buf *out,
                                         struct rn_http_refusal *no) RN_CHECK;

/* How many of the next bytes are plain data: the caller may put them into `out`
 * itself and then tell. */
uint64_t rn_http_chunked_data_next(const struct rn_http_chunked *c);
void rn_http_chunked_data_taken(struct rn_http_chunked *c, size_t n);

#endif
