/* head.h -- the rules for the lines of a request's head.
 *
 * For parse.c, which finds the lines; here each is judged alone and then all
 * together.  A line comes without its CRLF and holds no control byte but tabs.
 *
 * The rule behind the rules: two readers of the same bytes -- a proxy and we --
 * must not be able to disagree about where the request ends or whom it is for.
 * Where RFC 9112 lets a server be generous, we refuse (the list is in parse.h).
 */
#ifndef RN_HTTP_HEAD_H
#define RN_HTTP_HEAD_H

#include "http/request.h"

/* Bytes by their place in the head. */
struct rn_http_span {
    uint32_t at, len;
};

struct rn_http_head {
    struct rn_http_span target, host;
    uint64_t content_length;
    bool has_host, has_length, is_chunked, expects_continue;
    bool says_close, says_keep_alive;
};

/* GET and HEAD cannot: who thinks otherwise would take the body for the next
 * request, or the next request for a body. */
static inline bool rn_http_may_have_body(const struct rn_http_request *req)
{
    return req->method != RN_HTTP_GET && req->method != RN_HTTP_HEAD;
}

/* All take lines that lie behind req->head, and refuse by returning false. */
bool rn_http_head_parse_line(struct rn_http_head *h,
                             struct rn_http_request *req, struct rn_view line,
                             struct rn_http_refusal *no) RN_CHECK;
bool rn_http_head_parse_field(struct rn_http_head *h,
                              struct rn_http_request *req, struct rn_view line,
                              struct rn_http_refusal *no) RN_CHECK;
/* Judges what only the whole head can tell. */
bool rn_http_head_judge(struct rn_http_head *h, struct rn_http_request *req,
                        struct rn_http_refusal *no) RN_CHECK;

/* Points the views of `req` into its head, wherever that is now. */
void rn_http_head_place(const struct rn_http_head *h,
                        struct rn_http_request *req);

#endif
