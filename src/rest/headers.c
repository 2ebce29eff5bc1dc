/* headers.c -- request and response headers that all resources share.
 *
 *   before the handler   refuses invalid values of headers that no
 *                        handler reads
 *   behind it            adds content-location and a document's quota, and
 *                        removes the members that the client does not want
 */
#include "rest/headers.h"

#include "rest/account.h"
#include "rest/context.h"
#include "rest/reply.h"
#include "rest/route.h"

#include "json/json.h"
#include "json/print.h"

#include <stdio.h>
#include <strings.h>

/* ---- before the handler -------------------------------------------------- */

static bool is_among(struct rn_view value, const char *const words[])
{
    for (size_t i = 0; words[i]; i++) {
        if (strlen(words[i]) == value.len &&
            strncasecmp(words[i], value.at, value.len) == 0)
            return true;
    }
    return false;
}

static enum rn_code refuse(struct rn_context *x, const char *name,
                           struct rn_view value)
{
    return rn_fail(&x->err, RN_BAD_REQUEST,
                   "One of the input values is invalid: %s cannot be '%.*s'.",
                   name, value.len > 40 ? 40 : (int)value.len, value.at);
}

static enum rn_code check_word(struct rn_context *x, const char *name,
                               const char *const words[])
{
    struct rn_view value = rn_context_header(x, name);

    return !value.len || is_among(value, words) ? RN_OK
                                                : refuse(x, name, value);
}

/* Later versions may come; all earlier ones are known. */
static enum rn_code check_version(struct rn_context *x)
{
    static const char *const early[] = {
        "2014-08-21", "2015-04-08", "2015-06-03", "2015-08-06",
        "2015-12-16", "2016-05-30", "2016-07-11", "2016-11-14",
        "2017-01-19", "2017-02-22", "2017-05-03", "2017-11-15",
        "2018-06-18", "2018-08-31", "2018-09-17", NULL,
    };
    struct rn_view value = rn_context_header(x, RN_HEADER_VERSION);

    if (!value.len || rn_view_compare(value, RN_LIT("2018-12-31")) >= 0)
        return RN_OK;
    return check_word(x, RN_HEADER_VERSION, early);
}

static enum rn_code check_limit(struct rn_context *x)
{
    struct rn_view value = rn_context_header(x, RN_HEADER_CONTINUATION_KB);
    bool is_zero = value.len > 0;

    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9') {
            return rn_fail(&x->err, RN_BAD_REQUEST,
                           "Please pass in a valid continuation token size "
                           "limit which must be a positive integer.");
        }
        is_zero &= value.at[i] == '0';
    }
    return is_zero ? rn_fail(&x->err, RN_BAD_REQUEST,
                             "The continuation token limit specified is not "
                             "large enough.")
                   : RN_OK;
}

enum rn_code rn_headers_check(struct rn_context *x)
{
    static const char *const directives[] = { "Default", "Include", "Exclude",
                                              "0",       "1",       "2",
                                              NULL };
    static const char *const formats[] = { "JsonText", "CosmosBinary",
                                           "HybridRow", NULL };
    enum rn_code rc = check_version(x);

    if (!rc)
        rc = check_word(x, RN_HEADER_INDEXING_DIRECTIVE, directives);
    if (!rc)
        rc = check_word(x, RN_HEADER_FORMAT, formats);
    return rc ? rc : check_limit(x);
}

/* ---- behind it ----------------------------------------------------------- */

/* content-location: the account's endpoint and the path. */
static void add_location(struct rn_context *x)
{
    struct rn_view path = x->call->req->target;
    char endpoint[RN_ENDPOINT_MAX], *text;
    size_t len = rn_endpoint_print(x, endpoint);

    if (path.len == 0 || path.at[0] != '/')
        return;
    for (size_t i = 0; i < path.len; i++) {
        if (path.at[i] <= ' ' || path.at[i] >= 0x7f)
            return; /* headers are ASCII */
    }
    text = rn_arena_alloc(&x->call->arena, len + path.len);
    if (!text)
        return;
    if (endpoint[len - 1] == '/')
        len--;
    memcpy(text, endpoint, len);
    memcpy(text + len, path.at, path.len);
    rn_reply_header(x, RN_HEADER_CONTENT_LOCATION,
                    rn_view_of(text, len + path.len));
}

/* In kilobytes: the maximum size of a document, and the size of this one. */
static void add_quota(struct rn_context *x)
{
    char text[48];
    int len = snprintf(text, sizeof(text), "documentSize=%zu;",
                       (x->call->res.body.len + 1023) / 1024);

    rn_reply_header(x, RN_HEADER_USAGE, rn_view_of(text, (size_t)len));
    snprintf(text, sizeof(text), "documentSize=%d;", RN_DOCUMENT_MAX / 1024);
    rn_reply_text(x, RN_HEADER_QUOTA, text);
}

static enum rn_code print_bare(const struct rn_json *j, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w = rn_json_walk_begin(j, 0);

    rn_json_out_object_begin(&o);
    while (rn_json_walk_next(&w)) {
        if (!rn_json_string_is(j, w.name, RN_LIT("_self")) &&
            !rn_json_string_is(j, w.name, RN_LIT("_attachments")))
            rn_json_out_member(&o, j, w.name, w.value);
    }
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}

/* A document is sent without its link members to a client that does not want
 * them; when it is read, only if its last write said so, as in the service.  If
 * memory is short, it is sent with them. */
static void strip_links(struct rn_context *x)
{
    struct rn_buf text = RN_BUF_INIT(RN_CALL_BODY_MAX);
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (!rn_json_parse(&j, x->call->res.body, NULL) && !print_bare(&j, &text)) {
        struct rn_view bare =
            rn_arena_copy(&x->call->arena, rn_buf_view(&text));
        if (bare.at)
            x->call->res.body = bare;
    }
    rn_json_release(&j);
    rn_buf_release(&text);
}

void rn_headers_finish(struct rn_context *x)
{
    bool is_document =
        x->route && x->route->traits & RN_ROUTE_DOCUMENT && !x->err.code;

    if (!x->route)
        return;
    add_location(x);
    if (is_document && x->call->res.body.len && !x->keeps_links &&
        rn_context_flag(x, RN_HEADER_EXCLUDE_SYSTEM))
        strip_links(x);
    if (is_document)
        add_quota(x);
}
