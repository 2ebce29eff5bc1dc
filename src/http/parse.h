/* parse.h -- an incremental HTTP/1.1 request parser.
 *
 * A reader belongs to one connection and does not know the socket.  Its owner
 * asks for buffer space, fills some of it, and reports how much:
 *
 *   rn_http_reader_buffer(r, &at, &len);
 *   step = rn_http_reader_received(r, (size_t)read(fd, at, len));
 *   while (step == RN_HTTP_DONE) {
 *       ... answer r->request ...
 *       step = rn_http_reader_next(r);         pipelined requests come here
 *   }
 *   if (step == RN_HTTP_REFUSED)
 *       ... answer r->refusal, close ...
 *
 * How the bytes are cut into pieces makes no difference to the result.  Heads
 * are parsed in place.  A body that fits after its head stays there; the rest
 * of a longer one is read directly into its final buffer.
 *
 * The parser refuses the following, and the connection must then be closed:
 * where RFC 9112 lets a server be lenient, two readers can disagree.
 *   400  Content-Length with Transfer-Encoding, twice, signed, listed, with a
 *        leading zero, beyond 63 bits; Transfer-Encoding other than exactly
 *        "chunked" (also "Chunked"), twice, or in HTTP/1.0; a body on GET or
 *        HEAD; no Host (HTTP/1.1), two, or one that is not name[:port]; folded
 *        lines, blanks before the colon, lines without a colon, bare CR or LF,
 *        control bytes anywhere, bytes over 127 outside values; any target but
 *        "/...", "*" for OPTIONS, and "http[s]://" + Host + "/..."; malformed
 *        chunks
 *   413  body too large           414  request line too long
 *   417  Expect: other than 100-continue
 *   431  header too long, too many fields
 *   501  unknown method           505  neither HTTP/1.1 nor HTTP/1.0
 *   503  no memory for the body
 * A connection that starts in HTTP/2 is answered in HTTP/2 (preface.h), also
 * with the message of a 505.  One empty line before a request line is skipped,
 * as RFC 9112 advises.  Upgrade and unknown options in Connection are ignored.
 *
 * One thread at a time.
 */
#ifndef RN_HTTP_PARSE_H
#define RN_HTTP_PARSE_H

#include "http/chunked.h"
#include "http/head.h"
#include "http/preface.h"
#include "http/request.h"

#include <stdatomic.h>

/* Lengths of lines exclude their CRLF. */
struct rn_http_limits {
    size_t request_line_bytes_max;
    size_t field_line_bytes_max; /* at most UINT16_MAX */
    size_t fields_bytes_max;     /* header lines, with CRLFs, and trailers */
    unsigned fields_max;         /* header and trailer lines, at most
                                    RN_HTTP_FIELDS_MAX */
    size_t chunk_ext_bytes_max;  /* of one body */
    size_t body_bytes_max;       /* decoded */
    /* Memory that the bodies of all readers with these limits take, except for
     * the first 16 KiB of each, and its ceiling; NULL: no ceiling. */
    atomic_size_t *bodies_bytes;
    size_t bodies_bytes_max;
};

extern const struct rn_http_limits rn_http_limits_default;

struct rn_http_reader {
    struct rn_http_request request; /* after RN_HTTP_DONE, until next */
    struct rn_http_refusal refusal; /* after RN_HTTP_REFUSED */

    /* The rest is private to the reader; parse.c has a diagram. */
    const struct rn_http_limits *limits;
    struct rn_buf in, body;
    size_t counted; /* bytes of the body counted in bodies_bytes */
    size_t start, kept, at, scanned;
    size_t fields_bytes_left;
    uint64_t body_left;
    struct rn_http_head head;
    struct rn_http_chunked chunked;
    struct rn_http_preface preface;
    unsigned char state;
    bool is_later; /* not the first request of the connection */
    bool skipped_line, wants_continue;
};

/* `limits` must outlive the reader. */
void rn_http_reader_init(struct rn_http_reader *r,
                         const struct rn_http_limits *limits);
void rn_http_reader_release(struct rn_http_reader *r);

/* The buffer for the next bytes, at least one.  Only while more bytes are
 * wanted.  Fails with RN_NOMEM. */
enum rn_code rn_http_reader_buffer(struct rn_http_reader *r, char **at,
                                   size_t *len) RN_CHECK;

/* Reports that `n` bytes were written there. */
enum rn_http_step rn_http_reader_received(struct rn_http_reader *r,
                                          size_t n) RN_CHECK;

/* Drops the request, whose views become invalid, and continues with the
 * remaining bytes. */
enum rn_http_step rn_http_reader_next(struct rn_http_reader *r) RN_CHECK;

/* True once, if the client waits for "100 Continue" before it sends the body;
 * ask after RN_HTTP_MORE. */
bool rn_http_reader_wants_continue(struct rn_http_reader *r);

/* True if no byte of a further request has arrived: the connection may be
 * closed, or kept open for long, without harm. */
bool rn_http_reader_is_idle(const struct rn_http_reader *r);

/* True, with the number of bytes received, while a body is being read. */
bool rn_http_reader_in_body(const struct rn_http_reader *r, size_t *len);

/* Refuses the current request because it arrives too slowly. */
void rn_http_reader_give_up(struct rn_http_reader *r);

/* Frees an idle reader's memory; it remains usable. */
void rn_http_reader_trim(struct rn_http_reader *r);

#endif
