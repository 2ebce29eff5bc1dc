/* preface.h -- clients that begin in HTTP/2 without asking, told to use 1.1.
 *
 * A client may know beforehand that a server speaks HTTP/2 (RFC 9113, 3.3); one
 * that does not know may try.  It sends 24 bytes that are no request of
 * HTTP/1.1, SETTINGS, and its first request (HEADERS).  It goes back to
 * HTTP/1.1 if it is told so in HTTP/2, and about a request: to close before
 * that has come looks to it like a broken network.  So frames are passed over
 * up to the first HEADERS, and answered with SETTINGS and GOAWAY,
 * HTTP_1_1_REQUIRED.
 *
 * What follows the 24 bytes and begins with no SETTINGS, has too long a frame,
 * or has too many before HEADERS, is answered so at once.  How the bytes are
 * cut makes no difference.
 *
 * One thread at a time.
 */
#ifndef RN_HTTP_PREFACE_H
#define RN_HTTP_PREFACE_H

#include "http/request.h"

#include <stdint.h>

enum { RN_HTTP_PREFACE_MAX = 1 << 16 }; /* bytes before HEADERS */

/* Zeroed is at the beginning, behind the 24 bytes. */
struct rn_http_preface {
    unsigned char head[9]; /* of a frame, as far as it has come */
    unsigned have;
    uint32_t left; /* of the frame's payload */
    uint32_t taken;
};

/* How many of the 24 bytes `bytes` begins with: all there are, or 24; else 0.
 */
size_t rn_http_preface_match(struct rn_view bytes);
#define RN_HTTP_PREFACE_BYTES ((size_t)24)

/* Takes what has come.  True, and the refusal, once it is time to answer. */
bool rn_http_preface_take(struct rn_http_preface *p, struct rn_view bytes,
                          struct rn_http_refusal *no);

#endif
