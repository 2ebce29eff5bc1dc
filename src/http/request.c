/* request.c -- see request.h. */
#include "http/request.h"

#include "http/token.h"

#include <assert.h>

static const char *const names[RN_HTTP_METHODS] = {
    [RN_HTTP_GET] = "GET",         [RN_HTTP_HEAD] = "HEAD",
    [RN_HTTP_POST] = "POST",       [RN_HTTP_PUT] = "PUT",
    [RN_HTTP_PATCH] = "PATCH",     [RN_HTTP_DELETE] = "DELETE",
    [RN_HTTP_OPTIONS] = "OPTIONS",
};

const char *rn_http_method_name(enum rn_http_method method)
{
    return (unsigned)method < RN_HTTP_METHODS ? names[method] : "UNKNOWN";
}

struct rn_view rn_http_field_name(const struct rn_http_request *req,
                                  unsigned index)
{
    const struct rn_http_field *f = &req->fields[index];

    assert(index < req->field_count);
    return rn_view_of(req->head + f->at, f->name_len);
}

struct rn_view rn_http_field_value(const struct rn_http_request *req,
                                   unsigned index)
{
    const struct rn_http_field *f = &req->fields[index];

    assert(index < req->field_count);
    return rn_view_of(req->head + f->at + f->value_at, f->value_len);
}

/* The index of the first field of that name from `index` on, or field_count. */
static unsigned find(const struct rn_http_request *req, struct rn_view name,
                     unsigned index)
{
    uint16_t key = rn_http_name_key(name);

    for (; index < req->field_count; index++) {
        if (req->fields[index].key == key &&
            rn_http_same(rn_http_field_name(req, index), name))
            break;
    }
    return index;
}

struct rn_view rn_http_header_find(const struct rn_http_request *req,
                                   struct rn_view name)
{
    unsigned index = find(req, name, 0);

    if (index == req->field_count)
        return (struct rn_view){ 0 };
    return rn_http_field_value(req, index);
}

bool rn_http_header_repeats(const struct rn_http_request *req,
                            struct rn_view name)
{
    unsigned first = find(req, name, 0);

    return first < req->field_count &&
           find(req, name, first + 1) < req->field_count;
}
