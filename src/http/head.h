/* head.h -- validates the lines of a request's head.
 *
 * parse.c finds the lines; head.c checks each line alone and then all together.
 * A line comes without its CRLF and holds no control byte but tabs.
 *
 * The principle: two readers of the same bytes -- a proxy and this server --
 * must not be able to disagree about where the request ends or to which host it
 * is addressed (request smuggling).  Where RFC 9112 lets a server be lenient,
 * we refuse (the list is in parse.h).
 */
#ifndef RN_HTTP_HEAD_H
#define RN_HTTP_HEAD_H

#include "http/request.h"

/* A slice by its offset in the head. */
struct rn_http_span {
    uint32_t at, len;
};

struct rn_http_head {
    struct rn_http_span target, host;
    uint64_t content_length;
    bool has_host, has_length, is_chunked, expects_continue;
    bool says_close, says_keep_alive;
};

/* GET and HEAD have no body: a reader that disagrees would take the body for
 * the next request, or the next request for a body. */
static inline bool rn_http_may_have_body(const struct rn_http_request *req)
{
    return req->method != RN_HTTP_GET && req->method != RN_HTTP_HEAD;
}

/* All take lines that lie after req->head, and refuse by returning false. */
bool rn_http_head_parse_line(struct rn_http_head *h,
                             struct rn_http_request *req, struct rn_view line,
                             struct rn_http_refusal *no) RN_CHECK;
bool rn_http_head_parse_field(struct rn_http_head *h,
                              struct rn_http_request *req, struct rn_view line,
                              struct rn_http_refusal *no) RN_CHECK;
/* Checks the rules that concern the whole head. */
bool rn_http_head_judge(struct rn_http_head *h, struct rn_http_request *req,
                        struct rn_http_refusal *no) RN_CHECK;

/* Sets the views of `req` to the current address of its head. */
void rn_http_head_place(const struct rn_http_head *h,
                        struct rn_http_request *req);

#endif
