/* response.c -- see response.h. */
#include "http/response.h"

#include "base/decimal.h"
#include "http/token.h"

#include <assert.h>

enum {
    LINE_ROOM = 64,    /* for the status line, which is written last */
    END_ROOM = 64,     /* for our own headers after the caller's */
    HEAD_FIRST = 1536, /* a typical answer has about thirty headers */
    SMALL_MAX = 4096,  /* of head and body, to be sent as one buffer */
};

const char *rn_http_reason(int status)
{
    /* clang-format off */
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 207: return "Multi-Status";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 423: return "Locked";
    case 424: return "Failed Dependency";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 449: return "Retry With";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default:  return "";
    }
    /* clang-format on */
}

void rn_http_response_init(struct rn_http_response *res,
                           const struct rn_http_request *req)
{
    struct rn_buf head = res->head;

    head.ceiling = RN_HTTP_RESPONSE_FIELDS_MAX;
    rn_buf_clear(&head);
    *res = (struct rn_http_response){
        .status = 200,
        .keep_alive = req && req->keep_alive,
        .is_head = req && req->method == RN_HTTP_HEAD,
        .is_1_0 = req && req->is_1_0,
        .head = head,
    };
    res->failed = rn_buf_reserve(&res->head, HEAD_FIRST);
    if (!res->failed)
        res->head.len = LINE_ROOM;
}

void rn_http_response_release(struct rn_http_response *res)
{
    rn_buf_release(&res->head);
}

static char *put(char *at, struct rn_view v)
{
    if (v.len)
        memcpy(at, v.at, v.len);
    return at + v.len;
}

static bool has_control(struct rn_view v)
{
    const char *end = v.len ? v.at + v.len : v.at;

    return rn_http_find_control(v.at, end) != end;
}

void rn_http_response_add_own(struct rn_http_response *res, struct rn_view name,
                              struct rn_view value)
{
    size_t len = name.len + value.len + 4;
    char *at;

    assert(name.len > 0);
    if (!res->failed)
        res->failed = rn_buf_reserve(&res->head, len);
    if (res->failed)
        return;
    at = res->head.at + res->head.len;
    at = put(at, name);
    at = put(at, RN_LIT(": "));
    at = put(at, value);
    put(at, RN_LIT("\r\n"));
    res->head.len += len;
}

void rn_http_response_add_lines(struct rn_http_response *res,
                                struct rn_view lines)
{
    if (!res->failed)
        res->failed = rn_buf_add(&res->head, lines);
}

void rn_http_response_add(struct rn_http_response *res, struct rn_view name,
                          struct rn_view value)
{
    if (!res->failed && has_control(value))
        res->failed = RN_BAD_REQUEST;
    rn_http_response_add_own(res, name, value);
}

void rn_http_response_add_number(struct rn_http_response *res,
                                 struct rn_view name, uint64_t value)
{
    char text[RN_DECIMAL_MAX];

    rn_http_response_add_own(res, name,
                             rn_decimal_print(value, text + sizeof(text)));
}

static bool has_no_body(const struct rn_http_response *res)
{
    return res->status == 204 || res->status == 304;
}

static struct rn_view body_of(const struct rn_http_response *res)
{
    if (res->is_head || has_no_body(res))
        return (struct rn_view){ 0 };
    return res->body;
}

static struct rn_view connection_line(const struct rn_http_response *res)
{
    if (!res->keep_alive)
        return RN_LIT("connection: close\r\n\r\n");
    if (res->is_1_0)
        return RN_LIT("connection: keep-alive\r\n\r\n");
    return RN_LIT("\r\n");
}

/* Writes the status line so that it ends where the headers start. */
static char *print_line(struct rn_http_response *res)
{
    struct rn_view reason = rn_view_text(rn_http_reason(res->status));
    char digits[RN_DECIMAL_MAX];
    struct rn_view code =
        rn_decimal_print((uint64_t)res->status, digits + sizeof(digits));
    size_t len = sizeof("HTTP/1.1 200 \r\n") - 1 + reason.len;
    char *from = res->head.at + LINE_ROOM - len, *at;

    assert(res->status >= 200 && res->status <= 599);
    at = put(from, RN_LIT("HTTP/1.1 "));
    at = put(at, code);
    at = put(at, RN_LIT(" "));
    at = put(at, reason);
    put(at, RN_LIT("\r\n"));
    return from;
}

/* Copying a small body costs less than passing two buffers to the kernel. */
enum rn_code rn_http_response_parts(struct rn_http_response *res,
                                    struct rn_view *head, struct rn_view *body)
{
    struct rn_view none = { 0 }, whole = body_of(res);
    bool is_small = res->head.len + END_ROOM + whole.len <= SMALL_MAX;
    struct rn_view small = is_small ? whole : none;
    char digits[RN_DECIMAL_MAX], *from, *at;
    enum rn_code rc = res->failed;

    if (!rc)
        rc = rn_buf_reserve(&res->head, END_ROOM + small.len);
    if (rc)
        return rc;
    from = print_line(res);
    at = res->head.at + res->head.len;
    if (!has_no_body(res)) {
        at = put(at, RN_LIT("content-length: "));
        at = put(at, rn_decimal_print(res->body.len, digits + sizeof(digits)));
        at = put(at, RN_LIT("\r\n"));
    }
    at = put(at, connection_line(res));
    at = put(at, small);
    *head = rn_view_of(from, (size_t)(at - from));
    *body = is_small ? none : whole;
    return RN_OK;
}

enum rn_code rn_http_response_print(struct rn_http_response *res,
                                    struct rn_buf *out)
{
    struct rn_view head, body;
    enum rn_code rc = rn_http_response_parts(res, &head, &body);

    if (!rc)
        rc = rn_buf_reserve(out, head.len + body.len);
    if (!rc)
        rc = rn_buf_add(out, head);
    return rc ? rc : rn_buf_add(out, body);
}
