/* response.c -- see response.h. */
#include "http/response.h"

#include "base/decimal.h"
#include "http/token.h"

#include <assert.h>

enum { FIELDS_FIRST = 1024 }; /* an answer has about thirty */

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
    *res = (struct rn_http_response){
        .status = 200,
        .keep_alive = req && req->keep_alive,
        .is_head = req && req->method == RN_HTTP_HEAD,
        .is_1_0 = req && req->is_1_0,
        .fields = RN_BUF_INIT(RN_HTTP_RESPONSE_FIELDS_MAX),
    };
    res->failed = rn_buf_reserve(&res->fields, FIELDS_FIRST);
}

void rn_http_response_release(struct rn_http_response *res)
{
    rn_buf_release(&res->fields);
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

static void add_line(struct rn_http_response *res, struct rn_view name,
                     struct rn_view value)
{
    size_t len = name.len + value.len + 4;
    char *at;

    assert(name.len > 0);
    if (!res->failed)
        res->failed = rn_buf_reserve(&res->fields, len);
    if (res->failed)
        return;
    at = res->fields.at + res->fields.len;
    at = put(at, name);
    at = put(at, RN_LIT(": "));
    at = put(at, value);
    put(at, RN_LIT("\r\n"));
    res->fields.len += len;
}

void rn_http_response_add(struct rn_http_response *res, struct rn_view name,
                          struct rn_view value)
{
    if (!res->failed && has_control(value))
        res->failed = RN_BAD_REQUEST;
    add_line(res, name, value);
}

void rn_http_response_add_number(struct rn_http_response *res,
                                 struct rn_view name, uint64_t value)
{
    char text[RN_DECIMAL_MAX];

    add_line(res, name, rn_decimal_print(value, text + sizeof(text)));
}

static bool has_no_body(const struct rn_http_response *res)
{
    return res->status == 204 || res->status == 304;
}

struct rn_view rn_http_response_body(const struct rn_http_response *res)
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

/* Reserves for the head and `more` behind it, so that a head and its body cost
 * one growth at most. */
static enum rn_code print_head(const struct rn_http_response *res, size_t more,
                               struct rn_buf *out)
{
    struct rn_view reason = rn_view_text(rn_http_reason(res->status));
    struct rn_view connection = connection_line(res);
    struct rn_view status, length;
    char digits[20], code[20], *at;
    enum rn_code rc;

    assert(res->status >= 200 && res->status <= 599);
    status = rn_decimal_print((uint64_t)res->status, code + sizeof(code));
    length = rn_decimal_print(res->body.len, digits + sizeof(digits));
    if (res->failed)
        return res->failed;
    rc = rn_buf_reserve(out, 64 + reason.len + res->fields.len +
                                 connection.len + more);
    if (rc)
        return rc;
    at = out->at + out->len;
    at = put(at, RN_LIT("HTTP/1.1 "));
    at = put(at, status);
    at = put(at, RN_LIT(" "));
    at = put(at, reason);
    at = put(at, RN_LIT("\r\n"));
    at = put(at, rn_buf_view(&res->fields));
    if (!has_no_body(res)) {
        at = put(at, RN_LIT("content-length: "));
        at = put(at, length);
        at = put(at, RN_LIT("\r\n"));
    }
    at = put(at, connection);
    out->len = (size_t)(at - out->at);
    return RN_OK;
}

enum rn_code rn_http_response_print_head(const struct rn_http_response *res,
                                         struct rn_buf *out)
{
    return print_head(res, 0, out);
}

enum rn_code rn_http_response_print(const struct rn_http_response *res,
                                    struct rn_buf *out)
{
    struct rn_view body = rn_http_response_body(res);
    enum rn_code rc = print_head(res, body.len, out);

    return rc ? rc : rn_buf_add(out, body);
}
