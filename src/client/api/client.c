/* client.c -- the client's handle, and requests of any kind. */
#include "client/api/client.h"

#include "base/hex.h"
#include "client/api/reply.h"

#include <strings.h>

runnel_code runnel_client_open(const runnel_client_options *options,
                               runnel_client **out, runnel_error *error)
{
    runnel_client *client = rn_new(sizeof(*client));
    runnel_code rc;

    if (!client)
        return rn_error_no_memory(error);
    rc = rn_account_open(options, NULL, &client->account, error);
    if (rc)
        rn_free(client);
    else if (out)
        *out = client;
    else
        runnel_client_close(client);
    return rc;
}

void runnel_client_close(runnel_client *client)
{
    if (!client)
        return;
    rn_account_unref(client->account);
    rn_free(client);
}

void runnel_client_cancel(runnel_client *client)
{
    rn_pool_cancel(rn_account_pool(client->account),
                   rn_account_cancel(client->account));
}

/* ---- headers ------------------------------------------------------------- */

runnel_code rn_headers_add_list(struct rn_headers *h,
                                const runnel_header *headers, size_t count,
                                runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        if (!headers[i].name || !headers[i].value) {
            rc = rn_error_set(error, RUNNEL_BAD_REQUEST,
                              "header %zu has no name or no value", i);
        } else {
            rc = rn_headers_add(h, headers[i].name,
                                rn_view_text(headers[i].value), error);
        }
    }
    return rc;
}

runnel_code rn_headers_add_text(struct rn_headers *h, const char *name,
                                const char *value, runnel_error *error)
{
    if (!value)
        return RUNNEL_OK;
    if (!value[0])
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the value of %s is empty", name);
    return rn_headers_add(h, name, rn_view_text(value), error);
}

enum rn_effect rn_effect_of(const char *method, const char *if_match)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return RN_EFFECT_READ;
    if (if_match && strcmp(if_match, "*") != 0 &&
        (strcmp(method, "PUT") == 0 || strcmp(method, "DELETE") == 0))
        return RN_EFFECT_GUARDED;
    return RN_EFFECT_WRITE;
}

/* ---- any request --------------------------------------------------------- */

enum { SEGMENTS_MAX = 16, PATH_MAX_BYTES = 16 << 10 };

/* The path's resource, for the signature; one that is no resource's is signed
 * as it is. */
static runnel_code find_link(char *path, struct rn_link *link,
                             runnel_error *error)
{
    struct rn_view segments[SEGMENTS_MAX];
    size_t count = 0;
    char *at = path;

    while (*at) {
        size_t len = strcspn(at, "/?");
        if (len > 0 && count == SEGMENTS_MAX)
            return RUNNEL_OK;
        if (len > 0) {
            ptrdiff_t decoded = rn_percent_decode(rn_view_of(at, len), at);
            if (decoded < 0)
                return rn_error_set(error, RUNNEL_BAD_REQUEST,
                                    "the path has an invalid percent escape");
            segments[count++] = rn_view_of(at, (size_t)decoded);
        }
        if (at[len] == '?')
            break;
        at += len + (at[len] == '/');
    }
    if (rn_link_parse(segments, count, link, NULL) != RN_OK)
        *link = (struct rn_link){ .kind = RN_KIND_ACCOUNT };
    return RUNNEL_OK;
}

static const char *known_method(const char *method)
{
    static const char *const all[] = { "GET",   "POST",   "PUT",
                                       "PATCH", "DELETE", "HEAD" };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(method, all[i]) == 0)
            return all[i];
    }
    return NULL;
}

static enum rn_effect effect_of(const runnel_request *r, const char *method)
{
    const char *if_match = NULL;

    for (size_t i = 0; i < r->header_count; i++) {
        const char *name = r->headers[i].name;
        struct rn_view value;

        if (!name || !r->headers[i].value)
            continue; /* refused with the list */
        value = rn_view_text(r->headers[i].value);
        if ((strcasecmp(name, RN_HEADER_IS_QUERY) == 0 ||
             strcasecmp(name, RN_HEADER_IS_QUERY_PLAN) == 0) &&
            rn_header_is_true(value))
            return RN_EFFECT_READ;
        if (strcasecmp(name, RN_HEADER_IF_MATCH) == 0)
            if_match = r->headers[i].value;
    }
    return rn_effect_of(method, if_match);
}

runnel_code runnel_client_send(runnel_client *client,
                               const runnel_request *request,
                               runnel_reply **out, runnel_error *error)
{
    const char *method = request->method ? known_method(request->method) : NULL;
    struct rn_link link = { .kind = RN_KIND_ACCOUNT };
    struct rn_client_call call;
    char *copy;
    runnel_code rc;

    if (!method)
        return rn_error_set(error, RUNNEL_BAD_REQUEST, "unknown method");
    if (!request->path || request->path[0] != '/' ||
        strlen(request->path) > PATH_MAX_BYTES)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the path does not begin with '/' or is too long");
    copy = rn_new_text(request->path);
    if (!copy)
        return rn_error_no_memory(error);
    rc = find_link(copy, &link, error);
    rn_client_call_init(&call, client->account, method,
                        effect_of(request, method), &link);
    call.request.path = request->path;
    call.request.body = rn_view_bytes(request->body);
    if (!rc)
        rc = rn_headers_add_list(&call.request.headers, request->headers,
                                 request->header_count, error);
    rc = rn_client_call_finish(&call, rc, out, error);
    rn_free(copy);
    return rc;
}
