/* route.c -- the route table: verb, resource kind and header to handler; the
 * first matching row wins.
 *
 * A path may have several meanings, distinguished by a header (`given`).  The
 * steps that the rows share are in serve.c, around the handler.
 */
#include "rest/route.h"

#include "rest/account.h"
#include "rest/batches.h"
#include "rest/conflicts.h"
#include "rest/context.h"
#include "rest/documents.h"
#include "rest/feed/feeds.h"
#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/partition_delete.h"
#include "rest/patches.h"
#include "rest/query/plans.h"
#include "rest/query/queries.h"
#include "rest/ranges.h"

#include <strings.h>

/* clang-format off */
static const struct rn_route queries[] = {
    { RN_HTTP_POST,   RN_KIND_DOCUMENT,  true,  RN_HEADER_IS_QUERY_PLAN,
                                                      rn_rest_query_plan,      0 },
    { RN_HTTP_POST,   RN_KIND_DOCUMENT,  true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_DATABASE,  true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_CONTAINER, true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_OFFER,     true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_USER,      true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_PERMISSION, true, NULL, rn_rest_query,           RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_CLIENT_KEY, true, NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_CONFLICT,  true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_RANGE,     true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_PROCEDURE, true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_TRIGGER,   true,  NULL, rn_rest_query,           0 },
    { RN_HTTP_POST,   RN_KIND_FUNCTION,  true,  NULL, rn_rest_query,           0 },
};

/* With A-IM, a list of documents is their change feed, and a query of documents
 * is a query of the feed. */
static const struct rn_route feed =
    { RN_HTTP_GET,    RN_KIND_DOCUMENT,  true,  NULL, rn_rest_feed_read,       0 };
static const struct rn_route feed_query =
    { RN_HTTP_POST,   RN_KIND_DOCUMENT,  true,  NULL, rn_rest_feed_query,      0 };

/* An operation on a container that is not a resource. */
static const struct rn_route partition_delete =
    { RN_HTTP_POST,   RN_KIND_CONTAINER, false, NULL, rn_rest_partition_delete, RN_ROUTE_WRITES };

/* Documents link to a list of attachments, which is always empty. */
static const struct rn_route attachments =
    { RN_HTTP_GET,    RN_KIND_DOCUMENT,  false, NULL, rn_rest_attachment_list, 0 };

static const struct rn_route routes[] = {
    /* The most frequent requests come first. */
    { RN_HTTP_POST,   RN_KIND_DOCUMENT,  true,  RN_HEADER_BATCH,
                                                      rn_rest_batch,           RN_ROUTE_WRITES | RN_ROUTE_PAYS },
    { RN_HTTP_POST,   RN_KIND_DOCUMENT,  true,  RN_HEADER_IS_UPSERT,
                                                      rn_rest_document_upsert, RN_ROUTE_WRITES | RN_ROUTE_DOCUMENT },
    { RN_HTTP_POST,   RN_KIND_DOCUMENT,  true,  NULL, rn_rest_document_create, RN_ROUTE_WRITES | RN_ROUTE_DOCUMENT },
    { RN_HTTP_GET,    RN_KIND_DOCUMENT,  true,  NULL, rn_rest_document_list,   0 },
    { RN_HTTP_GET,    RN_KIND_DOCUMENT,  false, NULL, rn_rest_document_read,   RN_ROUTE_DOCUMENT },
    { RN_HTTP_PUT,    RN_KIND_DOCUMENT,  false, NULL, rn_rest_document_replace, RN_ROUTE_WRITES | RN_ROUTE_DOCUMENT },
    { RN_HTTP_PATCH,  RN_KIND_DOCUMENT,  false, NULL, rn_rest_document_patch,  RN_ROUTE_WRITES | RN_ROUTE_DOCUMENT },
    { RN_HTTP_DELETE, RN_KIND_DOCUMENT,  false, NULL, rn_rest_document_delete, RN_ROUTE_WRITES | RN_ROUTE_DOCUMENT },

    { RN_HTTP_GET,    RN_KIND_ACCOUNT,   false, NULL, rn_rest_account_read,    0 },

    { RN_HTTP_POST,   RN_KIND_DATABASE,  true,  NULL, rn_rest_object_create,   RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_DATABASE,  true,  NULL, rn_rest_object_list,     0 },
    { RN_HTTP_GET,    RN_KIND_DATABASE,  false, NULL, rn_rest_object_read,     0 },
    { RN_HTTP_DELETE, RN_KIND_DATABASE,  false, NULL, rn_rest_object_delete,   RN_ROUTE_WRITES },

    { RN_HTTP_POST,   RN_KIND_CONTAINER, true,  NULL, rn_rest_object_create,   RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_CONTAINER, true,  NULL, rn_rest_object_list,     0 },
    { RN_HTTP_GET,    RN_KIND_CONTAINER, false, NULL, rn_rest_object_read,     0 },
    { RN_HTTP_PUT,    RN_KIND_CONTAINER, false, NULL, rn_rest_object_replace,  RN_ROUTE_WRITES },
    { RN_HTTP_DELETE, RN_KIND_CONTAINER, false, NULL, rn_rest_object_delete,   RN_ROUTE_WRITES },

    { RN_HTTP_GET,    RN_KIND_OFFER,     true,  NULL, rn_rest_object_list,     0 },
    { RN_HTTP_GET,    RN_KIND_OFFER,     false, NULL, rn_rest_object_read,     0 },
    { RN_HTTP_PUT,    RN_KIND_OFFER,     false, NULL, rn_rest_object_replace,  RN_ROUTE_WRITES },

    { RN_HTTP_POST,   RN_KIND_USER,      true,  RN_HEADER_IS_UPSERT,
                                                      rn_rest_object_upsert,   RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_USER,      true,  NULL, rn_rest_object_create,   RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_USER,      true,  NULL, rn_rest_object_list,     0 },
    { RN_HTTP_GET,    RN_KIND_USER,      false, NULL, rn_rest_object_read,     0 },
    { RN_HTTP_PUT,    RN_KIND_USER,      false, NULL, rn_rest_object_replace,  RN_ROUTE_WRITES },
    { RN_HTTP_DELETE, RN_KIND_USER,      false, NULL, rn_rest_object_delete,   RN_ROUTE_WRITES },

    /* Reading a permission returns a token, which may allow writes: as in the
     * service, a read-only key is not enough. */
    { RN_HTTP_POST,   RN_KIND_PERMISSION, true,  RN_HEADER_IS_UPSERT,
                                                      rn_rest_object_upsert,   RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_PERMISSION, true,  NULL, rn_rest_object_create,  RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_PERMISSION, true,  NULL, rn_rest_object_list,    RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_PERMISSION, false, NULL, rn_rest_object_read,    RN_ROUTE_WRITES },
    { RN_HTTP_PUT,    RN_KIND_PERMISSION, false, NULL, rn_rest_object_replace, RN_ROUTE_WRITES },
    { RN_HTTP_DELETE, RN_KIND_PERMISSION, false, NULL, rn_rest_object_delete,  RN_ROUTE_WRITES },

    { RN_HTTP_POST,   RN_KIND_CLIENT_KEY, true,  NULL, rn_rest_object_create,  RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_CLIENT_KEY, true,  NULL, rn_rest_object_list,    0 },
    { RN_HTTP_GET,    RN_KIND_CLIENT_KEY, false, NULL, rn_rest_object_read,    0 },
    { RN_HTTP_PUT,    RN_KIND_CLIENT_KEY, false, NULL, rn_rest_object_replace, RN_ROUTE_WRITES },

    /* There is one region, so conflicts never arise.  Scripts cannot be created
     * yet, so their lists are empty. */
    { RN_HTTP_GET,    RN_KIND_CONFLICT,  true,  NULL, rn_rest_empty_list,      0 },
    { RN_HTTP_GET,    RN_KIND_CONFLICT,  false, NULL, rn_rest_empty_read,      0 },
    { RN_HTTP_DELETE, RN_KIND_CONFLICT,  false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_PROCEDURE, true,  NULL, rn_rest_empty_list,      0 },
    { RN_HTTP_GET,    RN_KIND_PROCEDURE, false, NULL, rn_rest_empty_read,      0 },
    { RN_HTTP_DELETE, RN_KIND_PROCEDURE, false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_PUT,    RN_KIND_PROCEDURE, false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_PROCEDURE, true,  NULL, rn_rest_script_create,   RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_PROCEDURE, false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_TRIGGER,   true,  NULL, rn_rest_empty_list,      0 },
    { RN_HTTP_GET,    RN_KIND_TRIGGER,   false, NULL, rn_rest_empty_read,      0 },
    { RN_HTTP_DELETE, RN_KIND_TRIGGER,   false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_PUT,    RN_KIND_TRIGGER,   false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_TRIGGER,   true,  NULL, rn_rest_script_create,   RN_ROUTE_WRITES },
    { RN_HTTP_GET,    RN_KIND_FUNCTION,  true,  NULL, rn_rest_empty_list,      0 },
    { RN_HTTP_GET,    RN_KIND_FUNCTION,  false, NULL, rn_rest_empty_read,      0 },
    { RN_HTTP_DELETE, RN_KIND_FUNCTION,  false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_PUT,    RN_KIND_FUNCTION,  false, NULL, rn_rest_empty_read,      RN_ROUTE_WRITES },
    { RN_HTTP_POST,   RN_KIND_FUNCTION,  true,  NULL, rn_rest_script_create,   RN_ROUTE_WRITES },

    { RN_HTTP_GET,    RN_KIND_RANGE,     true,  NULL, rn_rest_range_list,      0 },
};
/* clang-format on */

/* Requests that differ only by a header; a query must not be taken for a
 * create. */
static bool is_query(const struct rn_context *x)
{
    static const char word[] =
        "application/query+json"; /* parameters may follow */
    struct rn_view type = rn_context_header(x, RN_HEADER_CONTENT_TYPE);

    return rn_context_flag(x, RN_HEADER_IS_QUERY) ||
           rn_context_flag(x, RN_HEADER_QUERY) ||
           rn_context_flag(x, RN_HEADER_IS_QUERY_PLAN) ||
           (type.len >= sizeof(word) - 1 &&
            strncasecmp(type.at, word, sizeof(word) - 1) == 0);
}

static bool fits(const struct rn_route *r, const struct rn_context *x)
{
    return r->method == x->call->req->method && r->kind == x->link.kind &&
           r->is_list == x->link.is_list &&
           (!r->given || rn_context_flag(x, r->given));
}

static const struct rn_route *find(const struct rn_route *table, size_t count,
                                   const struct rn_context *x)
{
    for (size_t i = 0; i < count; i++) {
        if (fits(&table[i], x))
            return &table[i];
    }
    return NULL;
}

static bool has_im(const struct rn_context *x)
{
    return rn_context_header(x, RN_HEADER_A_IM).at != NULL;
}

const struct rn_route *rn_route_find(const struct rn_context *x)
{
    bool query = x->call->req->method == RN_HTTP_POST && is_query(x);

    if (query && fits(&feed_query, x) && has_im(x))
        return &feed_query;
    if (query)
        return find(queries, sizeof(queries) / sizeof(queries[0]), x);
    if (x->link.is_attachments)
        return x->call->req->method == RN_HTTP_GET ? &attachments : NULL;
    if (x->link.is_key_delete)
        return x->call->req->method == RN_HTTP_POST ? &partition_delete : NULL;
    if (x->call->req->method == RN_HTTP_POST &&
        rn_context_flag(x, RN_HEADER_BATCH) &&
        (x->link.kind != RN_KIND_DOCUMENT || !x->link.is_list))
        return NULL;
    if (fits(&feed, x) && has_im(x))
        return &feed;
    return find(routes, sizeof(routes) / sizeof(routes[0]), x);
}
