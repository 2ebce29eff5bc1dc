/* preface.h -- answers the HTTP/2 connection preface with GOAWAY, so that the
 * client falls back to HTTP/1.1.
 *
 * A client may assume that a server speaks HTTP/2 (RFC 9113, 3.3).  It sends 24
 * bytes that are not an HTTP/1.1 request, SETTINGS, and its first request
 * (HEADERS).  It falls back to HTTP/1.1 if the server says so in HTTP/2, and
 * after a request: an earlier close looks to it like a network failure.  So
 * frames are skipped up to the first HEADERS, and answered with SETTINGS and
 * GOAWAY, HTTP_1_1_REQUIRED.
 *
 * If the 24 bytes are not followed by SETTINGS, or a frame is too long, or too
 * many bytes precede HEADERS, the answer is sent at once.  How the bytes are
 * cut makes no difference.
 *
 * One thread at a time.
 */
#ifndef RN_HTTP_PREFACE_H
#define RN_HTTP_PREFACE_H

#include "http/request.h"

#include <stdint.h>

enum { RN_HTTP_PREFACE_MAX = 1 << 16 }; /* bytes before HEADERS */

/* A zeroed struct is at the start, after the 24 bytes. */
struct rn_http_preface {
    unsigned char head[9]; /* of a frame, as far as received */
    unsigned have;
    uint32_t left; /* of the frame's payload */
    uint32_t taken;
};

/* How many of the 24 bytes `bytes` starts with: all of `bytes`, or 24; else
 * 0. */
size_t rn_http_preface_match(struct rn_view bytes);
#define RN_HTTP_PREFACE_BYTES ((size_t)24)

/* Consumes the received bytes.  True, with the refusal, once it is time to
 * answer. */
bool rn_http_preface_take(struct rn_http_preface *p, struct rn_view bytes,
                          struct rn_http_refusal *no);

#endif
