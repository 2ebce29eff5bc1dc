/* parse.h -- reads HTTP/1.1 requests from bytes as they arrive.
 *
 * A reader belongs to one connection and knows no socket.  Its owner asks where
 * the next bytes should go, puts some there, and tells how many:
 *
 *   rn_http_reader_space(r, &at, &len);
 *   step = rn_http_reader_fed(r, (size_t)read(fd, at, len));
 *   while (step == RN_HTTP_DONE) {
 *       ... answer r->request ...
 *       step = rn_http_reader_next(r);         pipelined requests come here
 *   }
 *   if (step == RN_HTTP_REFUSED)
 *       ... answer r->refusal, close ...
 *
 * How the bytes are cut into pieces makes no difference to what comes out.
 * Heads are parsed where they lie.  A body that fits behind its head is left
 * there; the rest of a longer one is read straight into its final place.
 *
 * What is refused, always with the connection to be closed, because where RFC
 * 9112 lets a server be generous two readers can disagree:
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
 * A connection that begins in HTTP/2 is answered in HTTP/2 (preface.h), also
 * with the words of a 505. One empty line before a request line is skipped, as
 * RFC 9112 asks. Upgrade is ignored; so are unknown words in Connection.
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

/* Lengths of lines count without their CRLF. */
struct rn_http_limits {
    size_t request_line_bytes_max;
    size_t field_line_bytes_max; /* at most UINT16_MAX */
    size_t fields_bytes_max;     /* header lines, with CRLFs, and trailers */
    unsigned fields_max;         /* header and trailer lines, at most
                                    RN_HTTP_FIELDS_MAX */
    size_t chunk_ext_bytes_max;  /* of one body */
    size_t body_bytes_max;       /* decoded */
    /* Memory that the bodies of all readers take which have these limits, but
     * for the first 16 KiB of each, and its ceiling; NULL: there is none. */
    atomic_size_t *bodies_bytes;
    size_t bodies_bytes_max;
};

extern const struct rn_http_limits rn_http_limits_default;

struct rn_http_reader {
    struct rn_http_request request; /* after RN_HTTP_DONE, until next */
    struct rn_http_refusal refusal; /* after RN_HTTP_REFUSED */

    /* The rest is the reader's own; parse.c has a picture. */
    const struct rn_http_limits *limits;
    struct rn_buf in, body;
    size_t counted; /* of the body, in bodies_bytes */
    size_t start, kept, at, scanned;
    size_t fields_bytes_left;
    uint64_t body_left;
    struct rn_http_head head;
    struct rn_http_chunked chunked;
    struct rn_http_preface preface;
    unsigned char state;
    bool is_later; /* than the first request of the connection */
    bool skipped_line, wants_continue;
};

/* `limits` must outlive the reader. */
void rn_http_reader_init(struct rn_http_reader *r,
                         const struct rn_http_limits *limits);
void rn_http_reader_release(struct rn_http_reader *r);

/* Where the next bytes go; there is room for at least one.  Only while more
 * bytes are wanted.  Fails with RN_NOMEM. */
enum rn_code rn_http_reader_space(struct rn_http_reader *r, char **at,
                                  size_t *len) RN_CHECK;

/* `n` bytes have been put there. */
enum rn_http_step rn_http_reader_fed(struct rn_http_reader *r,
                                     size_t n) RN_CHECK;

/* Drops the request, whose views end here, and goes on with what is left. */
enum rn_http_step rn_http_reader_next(struct rn_http_reader *r) RN_CHECK;

/* True once, if the client waits for "100 Continue" before it sends the body;
 * ask after RN_HTTP_MORE. */
bool rn_http_reader_wants_continue(struct rn_http_reader *r);

/* True if nothing of a further request has come: the connection may be closed,
 * or kept for long, without anyone's loss. */
bool rn_http_reader_is_idle(const struct rn_http_reader *r);

/* True, and how many bytes of it have come, while a body is being read. */
bool rn_http_reader_in_body(const struct rn_http_reader *r, size_t *len);

/* What is being read comes too slowly: it is refused. */
void rn_http_reader_give_up(struct rn_http_reader *r);

/* Gives back an idle reader's memory; it remains usable. */
void rn_http_reader_trim(struct rn_http_reader *r);

#endif
