/* permissions.c -- resource tokens: creating them, reading them, and checking
 * what they allow.
 *
 * A token names a permission (cosmos/permission.h).  It is valid while the
 * permission exists unchanged, until it expires, and while the read-write key
 * that signed it is in use.  Any server with the same data directory can verify
 * it.
 *
 * What a permission for a container allows:
 *
 *   Read   reading the container, its documents, ranges, scripts, and queries
 *   All    all operations on it and in it
 *
 * With a partition key it allows the same for documents of that key, and
 * reading the container and its ranges, which clients need, and nothing else.
 * A query or feed may name the key by the interval of its EPKs.
 * A permission for a document or a script allows nothing on any other.  The
 * account may be read with any token.
 */
#include "rest/permissions.h"

#include "rest/auth.h"
#include "rest/context.h"
#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/query/plans.h"
#include "rest/route.h"

#include "base/clock.h"
#include "base/hash.h"
#include "engine/catalog/object.h"
#include "engine/document/snapshot.h"
#include "json/json.h"
#include "json/print.h"

/* ---- making -------------------------------------------------------------- */

enum rn_code rn_permission_read_seconds(struct rn_context *x)
{
    struct rn_view text = rn_context_header(x, RN_HEADER_TOKEN_SECONDS);
    uint32_t n = 0;

    x->token_seconds = RN_GRANT_SECONDS;
    if (!text.len)
        return RN_OK;
    for (size_t i = 0; i < text.len && n <= RN_GRANT_SECONDS_MAX; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            n = RN_GRANT_SECONDS_MAX; /* larger than any limit; clamped by the
                                         next line */
        n = n * 10 + (uint32_t)((unsigned char)text.at[i] & 0xf);
    }
    if (n < RN_GRANT_SECONDS_MIN || n > RN_GRANT_SECONDS_MAX) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "x-ms-documentdb-expiry-seconds must be a number from "
                       "%d to %d",
                       RN_GRANT_SECONDS_MIN, RN_GRANT_SECONDS_MAX);
    }
    x->token_seconds = n;
    return RN_OK;
}

/* The current state of the container that a permission is for. */
static enum rn_code find_container(struct rn_context *x,
                                   const struct rn_object *permission,
                                   struct rn_rid *out)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_permission p;
    struct rn_object *container = NULL;
    enum rn_code rc = rn_permission_parse(permission->body, &arena, &p, NULL);

    if (!rc)
        container = rn_rest_find_container(x->rest, &p.resource);
    if (container)
        *out = container->rid;
    rn_object_release(container);
    rn_arena_release(&arena);
    return rc;
}

enum rn_code rn_permission_print(struct rn_context *x,
                                 const struct rn_object *permission,
                                 struct rn_buf *out)
{
    struct rn_grant g = {
        .permission = permission->rid,
        .lsn = permission->etag.lsn,
        .until = rn_engine_now(x->rest->engine) + x->token_seconds,
    };
    struct rn_view body = permission->body, token;
    char text[RN_GRANT_TEXT_MAX];
    struct rn_signers *s = NULL;
    enum rn_code rc = find_container(x, permission, &g.container);

    if (!rc)
        rc = rn_signers_borrow(x->rest, &s);
    if (rc)
        return rc;
    rc = rn_grant_print(&g, s->of[0], text, &token);
    rn_signers_return(x->rest, s);
    body.len--; /* the closing brace */
    if (!rc)
        rc = rn_buf_add(out, body);
    if (!rc)
        rc = rn_buf_printf(out, ",\"_token\":\"%.*s\"}", RN_FMT(token));
    if (!rc)
        rn_rest_counters_token(x->rest->counters);
    return rc;
}

/* ---- reading ------------------------------------------------------------- */

static enum rn_code refuse(struct rn_context *x)
{
    return rn_fail(&x->err, RN_FORBIDDEN,
                   "Insufficient permissions provided in the authorization "
                   "header for the corresponding request. Please retry with "
                   "another authorization header.");
}

static enum rn_code check_time(struct rn_context *x)
{
    int64_t now = rn_engine_now(x->rest->engine);
    char end[RN_DATE_TEXT_MAX], text[RN_DATE_TEXT_MAX];

    if (now < x->grant.until)
        return RN_OK;
    return rn_fail(&x->err, RN_FORBIDDEN,
                   "The authorization token is not valid at the current time. "
                   "Please create another token and retry (token expiry time: "
                   "%.*s, current server time: %.*s).",
                   RN_FMT(rn_date_print(x->grant.until, end)),
                   RN_FMT(rn_date_print(now, text)));
}

/* The permission must exist unchanged since the token was created. */
static enum rn_code read_permission(struct rn_context *x)
{
    struct rn_object *o =
        rn_catalog_find_rid(x->rest->engine, x->grant.permission);
    struct rn_view body;
    enum rn_code rc;

    if (!o || o->etag.lsn != x->grant.lsn) {
        rn_object_release(o);
        return refuse(x);
    }
    body = rn_arena_copy(&x->call->arena, o->body);
    rn_object_release(o);
    rc = body.at ? rn_permission_parse(body, &x->call->arena, &x->permission,
                                       &x->err)
                 : RN_NOMEM;
    x->is_granted = !rc;
    return rc;
}

enum rn_code rn_permission_authorize(struct rn_context *x, struct rn_view token)
{
    struct rn_signers *s = NULL;
    size_t which = 0;
    enum rn_code rc = rn_signers_borrow(x->rest, &s);

    if (rc)
        return rn_fail(&x->err, rc, "out of memory");
    /* Only read-write keys count: the holder of a read-only key could sign a
     * token for more rights. */
    rc = rn_grant_parse(token, s->of, s->writers, &x->grant, &which, &x->err);
    rn_signers_return(x->rest, s);
    if (!rc)
        rc = check_time(x);
    if (!rc)
        x->call->principal = rn_hash64(
            rn_view_of(&x->grant.permission, sizeof(x->grant.permission)), 0);
    return rc ? rc : read_permission(x);
}

/* ---- checking ------------------------------------------------------------ */

/* Is the request about the permission's partition key, and that alone? */
static bool is_its_key(const struct rn_context *x)
{
    const struct rn_pk *mine = &x->permission.pk;
    struct rn_pk head = x->pk;

    if (!x->has_pk || x->pk.count < mine->count)
        return false;
    head.count = mine->count;
    return rn_pk_eq(&head, mine);
}

/* The Python SDK ends the interval of a key at the EPK plus one, as a big
 * number. */
static void add_one(struct rn_epk *e)
{
    size_t i = e->len;

    while (i > 0 && ++e->bytes[i - 1] == 0)
        i--;
}

/* Does a query or a feed name the permission's key by an interval of EPKs?
 * Then the key itself takes effect, because different keys may share an EPK. */
static bool takes_its_interval(struct rn_context *x,
                               const struct rn_container *c)
{
    struct rn_epk_range asked, mine;
    struct rn_pk pk = x->permission.pk;
    struct rn_epk after;
    bool found = false;

    if (x->has_pk || x->link.kind != RN_KIND_DOCUMENT || !x->link.is_list ||
        x->route->traits & RN_ROUTE_WRITES)
        return false;
    if (rn_pkdef_fit_prefix(&c->pkdef, &pk, NULL) ||
        rn_context_epks(x, &asked, &found) || !found)
        return false;
    rn_epk_range_of(&c->pkdef, &pk, &mine);
    after = mine.min;
    add_one(&after);
    if (pk.count == c->pkdef.count && rn_epk_compare(&mine.max, &after) < 0)
        mine.max = after;
    if (rn_epk_compare(&asked.min, &mine.min) < 0 ||
        rn_epk_compare(&asked.max, &mine.max) > 0)
        return false;
    x->pk = pk;
    x->has_pk = true;
    return true;
}

/* Does the request stay within the permission's key, if it has one? */
static bool is_in_key(struct rn_context *x, const struct rn_container *c)
{
    bool writes = x->route->traits & RN_ROUTE_WRITES;

    if (!x->permission.has_pk)
        return true;
    if (x->link.kind == RN_KIND_RANGE ||
        (x->link.kind == RN_KIND_CONTAINER && !x->link.is_key_delete))
        return !writes;
    return is_its_key(x) || x->route->run == rn_rest_query_plan ||
           takes_its_interval(x, c);
}

/* The requested document, by its id and its rid.  False if it does not
 * exist. */
static bool is_document(struct rn_context *x, const struct rn_container *c,
                        bool by_rid, struct rn_rid rid, struct rn_view member,
                        struct rn_view want)
{
    struct rn_document_place place;
    struct rn_snapshot reading = { 0 };
    struct rn_view body;
    struct rn_json j;
    bool same = false;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_snapshot_begin(&reading, x->rest->engine, c, NULL);
    if (!rc && by_rid)
        rc = rn_document_read_rid(&reading, rid.number, &body, &place);
    else if (!rc) {
        rc = x->has_pk && !rn_pkdef_fit(&c->pkdef, &x->pk, NULL)
                 ? rn_document_read(&reading, &x->pk, x->link.ids[2], &body,
                                    &place)
                 : RN_NOT_FOUND;
    }
    if (!rc)
        rc = rn_json_parse(&j, body, NULL);
    if (!rc)
        same = rn_json_string_is(&j, rn_json_find(&j, 0, member), want);
    rn_json_release(&j);
    rn_snapshot_end(&reading);
    return same;
}

/* A link's last id as a rid, if it is one. */
static bool last_rid(const struct rn_link *l, struct rn_rid *out)
{
    return l->is_rid && rn_rid_parse(l->ids[2], out) && out->kind == l->kind;
}

/* For a permission for one resource in a container: is it the requested one? */
static bool is_same(struct rn_context *x, const struct rn_object *container)
{
    const struct rn_link *mine = &x->permission.resource;
    struct rn_rid asked = { 0 }, granted = { 0 };
    bool by_rid, for_rid;

    if (mine->kind == RN_KIND_CONTAINER)
        return true;
    /* Clients read the container and its ranges before they read a document. */
    if (x->link.kind == RN_KIND_CONTAINER || x->link.kind == RN_KIND_RANGE)
        return !(x->route->traits & RN_ROUTE_WRITES);
    if (x->link.kind != mine->kind || x->link.is_list)
        return false;
    by_rid = last_rid(&x->link, &asked);
    for_rid = last_rid(mine, &granted);
    if (by_rid == for_rid)
        return by_rid ? rn_rid_eq(asked, granted)
                      : rn_view_eq(x->link.ids[2], mine->ids[2]);
    if (mine->kind != RN_KIND_DOCUMENT)
        return false;
    return is_document(x, container->container, by_rid, asked,
                       by_rid ? RN_LIT("id") : RN_LIT("_rid"), mine->ids[2]);
}

enum rn_code rn_permission_check(struct rn_context *x)
{
    bool writes = x->route->traits & RN_ROUTE_WRITES;
    enum rn_permission_mode need =
        writes ? RN_PERMISSION_ALL : RN_PERMISSION_READ;
    struct rn_object *container = NULL;
    bool allowed;

    if (x->link.kind == RN_KIND_ACCOUNT)
        return RN_OK;
    allowed = x->permission.mode >= need &&
              (rn_kind_owner(x->link.kind) == RN_KIND_CONTAINER ||
               (x->link.kind == RN_KIND_CONTAINER && !x->link.is_list));
    if (allowed)
        container = rn_rest_find_container(x->rest, &x->link);
    allowed = container && rn_rid_eq(container->rid, x->grant.container) &&
              is_in_key(x, container->container) && is_same(x, container);
    rn_object_release(container);
    return allowed ? RN_OK : refuse(x);
}
