/* request.c -- see request.h. */
#include "client/account/request.h"

#include "base/clock.h"
#include "base/uuid.h"
#include "client/account/container.h"

#include <stdio.h>

/* The newest version that all that we send is in. */
#define PROTOCOL_VERSION "2020-07-15"

enum { TOKEN_MAX = RN_HEADERS_MAX, LINK_MAX = 8 << 10 };

void rn_request_init(struct rn_request *r, const char *method,
                     enum rn_effect effect, const struct rn_link *link)
{
    *r = (struct rn_request){ .method = method,
                              .effect = effect,
                              .headers = RN_HEADERS_INIT };
    if (link)
        r->link = *link;
}

void rn_request_release(struct rn_request *r)
{
    rn_headers_release(&r->headers);
}

/* ---- URL and signature --------------------------------------------------- */

static runnel_code build_url(struct rn_account *account,
                             const struct rn_request *r, struct rn_exchange *x,
                             runnel_error *error)
{
    char base[RN_REGION_URL_MAX];
    enum rn_code rc;

    rn_regions_pick(rn_account_regions(account), r->effect == RN_EFFECT_READ,
                    rn_mono_ns(rn_account_env(account)), base);
    rn_buf_clear(&x->url);
    rc = rn_buf_add(&x->url, rn_view_text(base));
    if (!rc)
        rc = r->path ? rn_buf_add(&x->url, rn_view_text(r->path))
                     : rn_link_print_target(&r->link, &x->url);
    if (!rc)
        rc = rn_buf_add(&x->url, rn_view_of("", 1));
    return rn_error_take(error, rc, NULL);
}

/* A path that is no resource's is signed as it is, without a kind. */
static enum rn_code print_link(const struct rn_request *r, struct rn_buf *out)
{
    if (r->path && r->link.kind == RN_KIND_ACCOUNT)
        return rn_buf_add(out, rn_view_text(r->path + 1));
    if (r->link.is_rid || (r->link.kind == RN_KIND_OFFER && !r->link.is_list))
        return rn_link_print(&r->link, RN_LINK_BY_RID, RN_LIT(""), out);
    return rn_link_print(&r->link, RN_LINK_BY_NAME, RN_LIT(""), out);
}

static runnel_code sign(struct rn_account *account, const struct rn_request *r,
                        struct rn_headers *h, runnel_error *error)
{
    struct rn_buf link = RN_BUF_INIT(LINK_MAX);
    int64_t now_ms = rn_account_wall_ms(account);
    struct rn_sign_parts parts = { .verb = rn_view_text(r->method),
                                   .word = rn_kind_word(r->link.kind) };
    char date[RN_DATE_TEXT_MAX];
    runnel_code rc;

    parts.x_date = rn_date_print(now_ms / 1000, date);
    rc = rn_headers_add(h, RN_HEADER_X_DATE, parts.x_date, error);
    if (!rc)
        rc = rn_error_take(error, print_link(r, &link), NULL);
    parts.link = rn_buf_view(&link);
    if (!rc)
        rc = rn_credential_authorize(rn_account_credential(account), &parts,
                                     now_ms, h, error);
    rn_buf_release(&link);
    return rc;
}

/* ---- headers ------------------------------------------------------------- */

/* Unless the request has its own. */
static runnel_code add_usual(const struct rn_request *r, struct rn_headers *h,
                             const char *name, struct rn_view value,
                             runnel_error *error)
{
    if (value.len == 0 || rn_headers_find(&r->headers, name).at)
        return RUNNEL_OK;
    return rn_headers_add(h, name, value, error);
}

static runnel_code add_own(const struct rn_request *r, struct rn_headers *h,
                           runnel_error *error)
{
    struct rn_view lines = rn_buf_view(&r->headers.lines);

    return rn_error_take(error, rn_buf_add(&h->lines, lines), NULL);
}

static runnel_code add_session(struct rn_account *account,
                               const struct rn_request *r, struct rn_headers *h,
                               runnel_error *error)
{
    struct rn_buf token = RN_BUF_INIT(TOKEN_MAX);
    struct rn_range_route alone = { .id = r->range };
    const struct rn_range_route *route = NULL;
    struct rn_routing *map = NULL;
    runnel_code rc;

    if (r->session_token)
        return add_usual(r, h, RN_HEADER_SESSION_TOKEN,
                         rn_view_text(r->session_token), error);
    if (!r->container || r->effect != RN_EFFECT_READ ||
        !rn_account_has_session(account))
        return RUNNEL_OK;
    if (r->range) {
        map = rn_client_container_routing(r->container);
        route = map ? rn_routing_named(map, rn_view_text(r->range)) : NULL;
        route = route ? route : &alone;
    }
    rc = rn_error_take(error,
                       rn_sessions_print(rn_account_sessions(account),
                                         rn_client_container_path(r->container),
                                         route, &token),
                       NULL);
    rn_routing_unref(map);
    if (!rc)
        rc = add_usual(r, h, RN_HEADER_SESSION_TOKEN, rn_buf_view(&token),
                       error);
    rn_buf_release(&token);
    return rc;
}

static runnel_code add_target(const struct rn_request *r, struct rn_headers *h,
                              runnel_error *error)
{
    char rid[32] = "";
    runnel_code rc = RUNNEL_OK;

    if (r->range)
        rc = add_usual(r, h, RN_HEADER_RANGE_ID, rn_view_text(r->range), error);
    if (!rc && r->container) {
        rn_client_container_rid(r->container, rid);
        rc = add_usual(r, h, RN_HEADER_CONTAINER_RID, rn_view_text(rid), error);
    }
    return rc;
}

static runnel_code add_headers(struct rn_account *account,
                               const struct rn_request *r, struct rn_headers *h,
                               runnel_error *error)
{
    const char *consistency = rn_account_consistency(account);
    char id[RN_UUID_TEXT_MAX];
    struct rn_view activity =
        rn_uuid_print(rn_uuid_random(rn_account_env(account)), id);
    const struct {
        const char *name;
        struct rn_view value;
    } usual[] = {
        { RN_HEADER_VERSION, RN_LIT(PROTOCOL_VERSION) },
        { RN_HEADER_ACCEPT, RN_LIT("application/json") },
        { RN_HEADER_USER_AGENT, rn_view_text(rn_account_user_agent(account)) },
        { RN_HEADER_ACTIVITY_ID, activity },
        { RN_HEADER_CONTENT_TYPE,
          r->body.len ? RN_LIT("application/json") : RN_LIT("") },
        { RN_HEADER_CONSISTENCY,
          rn_view_text(consistency && r->effect == RN_EFFECT_READ ? consistency
                                                                  : "") },
    };
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < sizeof(usual) / sizeof(usual[0]); i++)
        rc = add_usual(r, h, usual[i].name, usual[i].value, error);
    if (!rc)
        rc = add_target(r, h, error);
    if (!rc)
        rc = add_session(account, r, h, error);
    return rc ? rc : add_own(r, h, error);
}

runnel_code rn_request_build(struct rn_account *account,
                             const struct rn_request *r, struct rn_exchange *x,
                             runnel_error *error)
{
    uint32_t timeout = rn_account_timeout_ms(account);
    runnel_code rc;

    rn_headers_clear(&x->headers);
    rc = build_url(account, r, x, error);
    if (!rc)
        rc = sign(account, r, &x->headers, error);
    if (!rc)
        rc = add_headers(account, r, &x->headers, error);
    x->method = r->method;
    x->body = r->body;
    x->effect = r->effect;
    x->is_ranged = r->range != NULL;
    x->timeout_ms =
        timeout + r->wait_ms < timeout ? UINT32_MAX : timeout + r->wait_ms;
    return rc;
}
