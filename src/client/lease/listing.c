/* listing.c -- leases, marker and lock out of one answer. */
#include "client/lease/listing.h"

#include "client/http/bug.h"
#include "cosmos/rid.h"
#include "json/utf8.h"

#include <stdio.h>

void rn_listing_release(struct rn_listing *l)
{
    for (size_t i = 0; l->leases && i < l->count; i++)
        rn_lease_document_free(l->leases[i]);
    rn_free(l->leases);
    rn_free(l->covers);
    *l = (struct rn_listing){ 0 };
}

static bool ends_with(struct rn_view id, const char *base, const char *end)
{
    size_t n = strlen(base);

    return id.len == n + strlen(end) && memcmp(id.at, base, n) == 0 &&
           memcmp(id.at + n, end, strlen(end)) == 0;
}

static bool is_lease(struct rn_view id, const char *base)
{
    size_t n = strlen(base);

    return id.len > n + 2 && memcmp(id.at, base, n) == 0 &&
           memcmp(id.at + n, "..", 2) == 0;
}

static void take_lock(struct rn_listing *l,
                      const struct rn_lease_store_record *r)
{
    l->has_lock = true;
    l->lock_written_ms = r->written_ms;
    snprintf(l->lock_etag, sizeof(l->lock_etag), "%.*s", RN_FMT(r->etag));
}

static runnel_code take_lease(struct rn_listing *l,
                              const struct rn_lease_store_record *r,
                              runnel_error *error)
{
    struct rn_lease_document *d = NULL;
    runnel_error why = { 0 };
    runnel_code rc = rn_lease_store_record_lease(r, &d, &why);

    if (rc == RUNNEL_PROTOCOL) {
        if (l->damaged++ == 0) {
            l->error = why;
            snprintf(l->damaged_id, sizeof(l->damaged_id), "%.*s",
                     RN_FMT(r->id));
        }
        return RUNNEL_OK;
    }
    if (rc) {
        if (error)
            *error = why;
        return rc;
    }
    l->leases[l->count] = d;
    l->covers[l->count] = (struct rn_cover){ .lease = &d->lease,
                                             .has_range = d->lease.has_range,
                                             .range = d->lease.range };
    l->count++;
    return RUNNEL_OK;
}

runnel_code rn_listing_read(struct rn_listing *l, const char *base,
                            const struct rn_lease_store_call *call,
                            runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    *l = (struct rn_listing){ .now_ms = call->now_ms };
    l->leases = rn_new((call->count + 1) * sizeof(struct rn_lease_document *));
    l->covers = rn_new((call->count + 1) * sizeof(struct rn_cover));
    if (!l->leases || !l->covers) {
        rn_listing_release(l);
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    }
    for (size_t i = 0; !rc && i < call->count; i++) {
        const struct rn_lease_store_record *r = &call->records[i];
        if (ends_with(r->id, base, ".info"))
            l->has_marker = true;
        else if (ends_with(r->id, base, ".lock"))
            take_lock(l, r);
        else if (is_lease(r->id, base))
            rc = take_lease(l, r, error);
    }
    if (rc)
        rn_listing_release(l);
    return rc;
}

/* The interval of a range that is no more, from the ranges that came of it. */
static bool find_ancestor(const struct rn_routing *map, struct rn_view id,
                          struct rn_epk_range *out)
{
    bool is_found = false;

    for (size_t i = 0; i < map->count && !RN_BUG(ANCESTORS_UNKNOWN); i++) {
        for (size_t k = 0; k < map->routes[i].parent_count; k++) {
            const struct rn_epk_range *r = &map->routes[i].range;
            if (!rn_view_eq(rn_view_text(map->routes[i].parents[k]), id))
                continue;
            if (!is_found || rn_epk_compare(&r->min, &out->min) < 0)
                out->min = r->min;
            if (!is_found || rn_epk_compare(&r->max, &out->max) > 0)
                out->max = r->max;
            is_found = true;
        }
    }
    return is_found;
}

void rn_listing_route(struct rn_listing *l, const struct rn_routing *map)
{
    for (size_t i = 0; map && i < l->count; i++) {
        struct rn_cover *c = &l->covers[i];
        const struct rn_range_route *route;
        if (c->has_range)
            continue;
        route = rn_routing_named(map, c->lease->token);
        if (route) {
            c->range = route->range;
            c->has_range = true;
        } else {
            c->has_range = find_ancestor(map, c->lease->token, &c->range);
        }
    }
}

/* The host of the endpoint: no scheme, no port. */
static struct rn_view host_of(const struct rn_client_container *source)
{
    struct rn_account *account = rn_client_container_account(source);
    const char *url = rn_regions_endpoint(rn_account_regions(account));
    const char *at = strstr(url, "://");

    at = at ? at + 3 : url;
    return rn_view_of(at,
                      *at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ":/"));
}

runnel_code rn_listing_base(const char *name,
                            const struct rn_client_container *source,
                            const char *rid, char out[RN_LEASE_STORE_ID_MAX],
                            runnel_error *error)
{
    char database[RN_RID_TEXT_MAX];
    struct rn_rid container;
    int n;

    if (!rn_utf8_is_valid(name, name + strlen(name)))
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the name of the processor is not UTF-8");
    if (!rn_rid_parse(rn_view_text(rid), &container))
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "the container's _rid is not a resource id");
    n = snprintf(out, RN_LEASE_STORE_ID_MAX, "%s%.*s_%.*s_%s", name,
                 RN_FMT(host_of(source)),
                 RN_FMT(rn_rid_print(rn_rid_owner(container), database)), rid);
    if (n < 0 || n > RN_LEASE_STORE_ID_MAX - RN_LEASE_TOKEN_MAX - 2)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the name of the processor is too long");
    return RUNNEL_OK;
}

runnel_code rn_listing_address(struct rn_lease_store_call *call,
                               const struct rn_lease *lease)
{
    if (lease->id.len >= sizeof(call->id) ||
        lease->partition_key.len >= sizeof(call->partition_key) ||
        lease->etag.len >= sizeof(call->etag))
        return RUNNEL_TOO_LARGE;
    snprintf(call->id, sizeof(call->id), "%.*s", RN_FMT(lease->id));
    snprintf(call->partition_key, sizeof(call->partition_key), "%.*s",
             RN_FMT(lease->partition_key));
    snprintf(call->etag, sizeof(call->etag), "%.*s", RN_FMT(lease->etag));
    return RUNNEL_OK;
}
