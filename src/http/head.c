/* head.c -- see head.h. */
#include "http/head.h"

#include "base/hex.h"
#include "http/token.h"

static struct rn_http_span span_of(const struct rn_http_request *req,
                                   struct rn_view v)
{
    return (struct rn_http_span){ (uint32_t)(v.at - req->head),
                                  (uint32_t)v.len };
}

static struct rn_view view_of(const struct rn_http_request *req,
                              struct rn_http_span s)
{
    return rn_view_of(req->head + s.at, s.len);
}

/* Takes the text before the first `stop` out of `line`, and the stop. */
static bool cut(struct rn_view *line, char stop, struct rn_view *out)
{
    const char *at = line->len ? memchr(line->at, stop, line->len) : NULL;

    if (!at)
        return false;
    *out = rn_view_of(line->at, (size_t)(at - line->at));
    line->len -= out->len + 1;
    line->at = at + 1;
    return true;
}

/* ---- the request line ---------------------------------------------------- */

static bool judge_version(struct rn_http_request *req, struct rn_view version,
                          struct rn_http_refusal *no)
{
    if (version.len != 8 || !rn_view_starts(version, RN_LIT("HTTP/")) ||
        !rn_http_is_digit(version.at[5]) || version.at[6] != '.' ||
        !rn_http_is_digit(version.at[7]))
        return rn_http_refuse(no, 400, "the request line is malformed");
    if (version.at[5] != '1' || version.at[7] > '1')
        return rn_http_refuse(no, 505, "only HTTP/1.1 and HTTP/1.0 are spoken");
    req->is_1_0 = version.at[7] == '0';
    return true;
}

static bool judge_method(struct rn_http_request *req, struct rn_view name,
                         struct rn_http_refusal *no)
{
    for (unsigned m = 0; m < RN_HTTP_METHODS; m++) {
        if (rn_view_eq(name, rn_view_text(rn_http_method_name(m)))) {
            req->method = m;
            return true;
        }
    }
    return rn_http_refuse(no, 501, "the method is not known here");
}

static bool is_target(struct rn_view target)
{
    for (size_t i = 0; i < target.len; i++) {
        if (!rn_http_is_visible(target.at[i]) || target.at[i] == '#')
            return false;
    }
    return target.len > 0;
}

bool rn_http_head_parse_line(struct rn_http_head *h,
                             struct rn_http_request *req, struct rn_view line,
                             struct rn_http_refusal *no)
{
    struct rn_view method, target;

    if (!cut(&line, ' ', &method) || !cut(&line, ' ', &target) ||
        !rn_http_is_token(method) || !is_target(target))
        return rn_http_refuse(no, 400, "the request line is malformed");
    if (!judge_version(req, line, no) || !judge_method(req, method, no))
        return false;
    h->target = span_of(req, target);
    return true;
}

/* ---- fields -------------------------------------------------------------- */

/* One spelling per number: digits only and no leading zero.  A number beyond 63
 * bits is not a length; one that is merely too large is refused at the end. */
static bool judge_length(struct rn_http_head *h, struct rn_view value,
                         struct rn_http_refusal *no)
{
    uint64_t n = 0;

    if (h->has_length)
        return rn_http_refuse(no, 400, "Content-Length is given twice");
    if (value.len == 0 || (value.len > 1 && value.at[0] == '0'))
        return rn_http_refuse(no, 400, "Content-Length is not a number");
    for (size_t i = 0; i < value.len; i++) {
        uint64_t digit = (uint64_t)(value.at[i] - '0');
        if (!rn_http_is_digit(value.at[i]) || n > (INT64_MAX - digit) / 10)
            return rn_http_refuse(no, 400, "Content-Length is not a number");
        n = n * 10 + digit;
    }
    h->has_length = true;
    h->content_length = n;
    return true;
}

/* Exactly one coding, in exactly one spelling: every other form has made some
 * proxy and some server disagree. */
static bool judge_coding(struct rn_http_head *h, struct rn_view value,
                         struct rn_http_refusal *no)
{
    if (h->is_chunked)
        return rn_http_refuse(no, 400, "Transfer-Encoding is given twice");
    if (!rn_view_eq(value, RN_LIT("chunked")))
        return rn_http_refuse(no, 400, "Transfer-Encoding is not 'chunked'");
    h->is_chunked = true;
    return true;
}

static bool is_port(struct rn_view port)
{
    unsigned n = 0;

    if (port.len == 0 || port.len > 5)
        return false;
    for (size_t i = 0; i < port.len; i++) {
        if (!rn_http_is_digit(port.at[i]))
            return false;
        n = n * 10 + (unsigned)(port.at[i] - '0');
    }
    return n <= UINT16_MAX;
}

static bool is_name_byte(char c)
{
    return rn_http_is_digit(c) || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

/* The length of the host before the port: a name, an IPv4 address, or IPv6 in
 * brackets.  Answers quote the host, so no character that needs quoting is
 * allowed. */
static size_t host_name_len(struct rn_view host)
{
    bool in_brackets = host.len > 0 && host.at[0] == '[';
    size_t i = in_brackets;

    for (; i < host.len; i++) {
        char c = host.at[i];
        if (in_brackets ? rn_hex_digit(c) < 0 && c != ':' && c != '.'
                        : !is_name_byte(c))
            break;
    }
    if (!in_brackets)
        return i;
    return i > 1 && i < host.len && host.at[i] == ']' ? i + 1 : 0;
}

static bool is_host(struct rn_view host)
{
    size_t n = host_name_len(host);

    if (n == 0)
        return false;
    if (n == host.len)
        return true;
    return host.at[n] == ':' &&
           is_port(rn_view_of(host.at + n + 1, host.len - n - 1));
}

static bool judge_host(struct rn_http_head *h,
                       const struct rn_http_request *req, struct rn_view value,
                       struct rn_http_refusal *no)
{
    if (h->has_host)
        return rn_http_refuse(no, 400, "Host is given twice");
    if (!is_host(value))
        return rn_http_refuse(no, 400, "Host is not a name or address");
    h->has_host = true;
    h->host = span_of(req, value);
    return true;
}

static bool judge_expect(struct rn_http_head *h, struct rn_view value,
                         struct rn_http_refusal *no)
{
    if (!rn_http_same(value, RN_LIT("100-continue")))
        return rn_http_refuse(no, 417, "only 100-continue can be expected");
    h->expects_continue = true;
    return true;
}

/* A list; unknown options are for proxies. */
static void read_connection(struct rn_http_head *h, struct rn_view value)
{
    struct rn_view word;
    bool more = true;

    while (more) {
        more = cut(&value, ',', &word);
        word = rn_http_trim(more ? word : value);
        h->says_close |= rn_http_same(word, RN_LIT("close"));
        h->says_keep_alive |= rn_http_same(word, RN_LIT("keep-alive"));
    }
}

/* Checks the fields that decide about framing; all others are for the
 * handler. */
static bool judge_field(struct rn_http_head *h,
                        const struct rn_http_request *req, struct rn_view name,
                        struct rn_view value, struct rn_http_refusal *no)
{
    if (name.len == 4 && rn_http_same(name, RN_LIT("host")))
        return judge_host(h, req, value, no);
    if (name.len == 6 && rn_http_same(name, RN_LIT("expect")))
        return judge_expect(h, value, no);
    if (name.len == 14 && rn_http_same(name, RN_LIT("content-length")))
        return judge_length(h, value, no);
    if (name.len == 17 && rn_http_same(name, RN_LIT("transfer-encoding")))
        return judge_coding(h, value, no);
    if (name.len == 10 && rn_http_same(name, RN_LIT("connection")))
        read_connection(h, value);
    return true;
}

bool rn_http_head_parse_field(struct rn_http_head *h,
                              struct rn_http_request *req, struct rn_view line,
                              struct rn_http_refusal *no)
{
    struct rn_view name = line, value;
    uint16_t key;
    size_t n = 0;

    while (n < line.len && rn_http_token_byte(line.at[n]))
        n++;
    if (n == 0 || n == line.len || line.at[n] != ':')
        return rn_http_refuse(no, 400, "a header line is malformed");
    name.len = n;
    value = rn_http_trim(rn_view_of(line.at + n + 1, line.len - n - 1));
    key = rn_http_name_key(name);
    req->keys |= rn_http_key_bit(key);
    req->fields[req->field_count++] = (struct rn_http_field){
        .at = (uint32_t)(line.at - req->head),
        .name_len = (uint16_t)name.len,
        .value_at = (uint16_t)(value.at - line.at),
        .value_len = (uint16_t)value.len,
        .key = key,
    };
    return judge_field(h, req, name, value, no);
}

/* ---- the whole head ------------------------------------------------------ */

/* "http://host/path" is read as "/path" if its host equals the Host field. */
static bool strip_authority(struct rn_http_head *h,
                            const struct rn_http_request *req,
                            struct rn_http_refusal *no)
{
    struct rn_view rest = view_of(req, h->target), host;

    if (rn_view_starts(rest, RN_LIT("http://")))
        rest = rn_view_of(rest.at + 7, rest.len - 7);
    else if (rn_view_starts(rest, RN_LIT("https://")))
        rest = rn_view_of(rest.at + 8, rest.len - 8);
    else
        return rn_http_refuse(no, 400, "the target is not a path");
    if (!cut(&rest, '/', &host) || !h->has_host ||
        !rn_http_same(host, view_of(req, h->host)))
        return rn_http_refuse(no, 400, "the target's host is not Host");
    h->target = span_of(req, rn_view_of(rest.at - 1, rest.len + 1));
    return true;
}

static bool judge_target(struct rn_http_head *h,
                         const struct rn_http_request *req,
                         struct rn_http_refusal *no)
{
    struct rn_view target = view_of(req, h->target);

    if (target.at[0] == '/')
        return true;
    if (rn_view_eq(target, RN_LIT("*"))) {
        if (req->method != RN_HTTP_OPTIONS)
            return rn_http_refuse(no, 400, "'*' is a target of OPTIONS only");
        return true;
    }
    return strip_authority(h, req, no);
}

bool rn_http_head_judge(struct rn_http_head *h, struct rn_http_request *req,
                        struct rn_http_refusal *no)
{
    if (!h->has_host && !req->is_1_0)
        return rn_http_refuse(no, 400, "Host is missing");
    if (h->is_chunked && h->has_length)
        return rn_http_refuse(
            no, 400, "Content-Length and Transfer-Encoding are both given");
    if (h->is_chunked && req->is_1_0)
        return rn_http_refuse(no, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (!rn_http_may_have_body(req) && h->content_length > 0)
        return rn_http_refuse(no, 400, "GET and HEAD have no body");
    if (!judge_target(h, req, no))
        return false;
    req->keep_alive = !h->says_close && (!req->is_1_0 || h->says_keep_alive);
    rn_http_head_place(h, req);
    return true;
}

void rn_http_head_place(const struct rn_http_head *h,
                        struct rn_http_request *req)
{
    req->target = view_of(req, h->target);
    req->host = view_of(req, h->host);
}
