/* response.h -- builds an HTTP response and serializes it.
 *
 *   struct rn_http_response res = { 0 };
 *
 * The response adds Content-Length and Connection; the caller adds Date and the
 * rest.  Adding never fails at once: the first error, be it memory or a value
 * with a control byte that could inject a header, is returned by print, and
 * then nothing is printed.
 *
 * Content-Length and Connection are ours to say; Date and the rest the
 * caller's.  Adding cannot fail at once: what went wrong first, be it memory or
 * a value with a control byte that would have become a header of its own, is
 * returned when printing, and then nothing is printed.
 */
#ifndef RN_HTTP_RESPONSE_H
#define RN_HTTP_RESPONSE_H

#include "http/request.h"

enum { RN_HTTP_RESPONSE_FIELDS_MAX = 65536 }; /* bytes of all headers */

#define RN_HTTP_CONTINUE RN_LIT("HTTP/1.1 100 Continue\r\n\r\n")

struct rn_http_response {
    int status;
    struct rn_view body; /* not copied until printed */
    bool keep_alive;     /* clear it to close after this answer */

    /* Private. */
    bool is_head, is_1_0;
    enum rn_code failed;
    struct rn_buf head; /* room for the status line, then the headers */
};

/* `res` is zeroed, or was used for another answer, whose memory it reuses.
 * `req` is NULL if there was no valid request: then the answer closes the
 * connection. */
void rn_http_response_init(struct rn_http_response *res,
                           const struct rn_http_request *req);
void rn_http_response_release(struct rn_http_response *res);

/* `name` is a constant of the program and must be a token; `value` may come
 * from anywhere. */
void rn_http_response_add(struct rn_http_response *res, struct rn_view name,
                          struct rn_view value);
void rn_http_response_add_number(struct rn_http_response *res,
                                 struct rn_view name, uint64_t value);
/* The same for a value that is also the program's own. */
void rn_http_response_add_own(struct rn_http_response *res, struct rn_view name,
                              struct rn_view value);
/* Adds complete header lines, each with its CRLF. */
void rn_http_response_add_lines(struct rn_http_response *res,
                                struct rn_view lines);

/* Appends to `out`, which is unchanged on failure. */
enum rn_code rn_http_response_print(struct rn_http_response *res,
                                    struct rn_buf *out) RN_CHECK;
/* The bytes to send, valid until another header is added.  A small body is
 * appended to its head and is part of it; there is no body after HEAD and with
 * 204 and 304.  In both cases `body` is empty. */
enum rn_code rn_http_response_parts(struct rn_http_response *res,
                                    struct rn_view *head,
                                    struct rn_view *body) RN_CHECK;

/* A constant such as "Not Found"; empty for a status we never send. */
const char *rn_http_reason(int status);

#endif
