/* throughput.c -- the offer of a database or container.
 *
 * An offer is a resource beside what it is for, and is found by that one's rid.
 */
#include "client/account/container.h"
#include "client/api/client.h"
#include "client/api/reply.h"
#include "client/http/exchange.h"
#include "json/print.h"

#include <stdio.h>

enum { BODY_MAX = 1 << 20, RID_MAX = 64 };

/* An offer as it was read. */
struct offer {
    struct rn_json j; /* of call's answer */
    struct rn_client_call call;
    uint32_t at, content;
    runnel_throughput throughput;
};

static void release(struct offer *o)
{
    rn_json_release(&o->j);
    rn_client_call_release(&o->call);
}

static runnel_code unreadable(runnel_error *error)
{
    return rn_error_set(error, RUNNEL_PROTOCOL,
                        "the server's offer cannot be read");
}

/* The rid of a database or container, for which an offer is looked up. */
static runnel_code read_rid(struct rn_account *account,
                            const struct rn_link *link, char out[RID_MAX],
                            runnel_error *error)
{
    struct rn_client_call call;
    struct rn_json j;
    struct rn_view rid = { 0 };
    runnel_code rc;

    rn_json_init(&j, NULL);
    rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, link);
    rc = rn_client_call_run(&call, error);
    if (!rc) {
        if (rn_json_parse(&j, rn_buf_view(&call.exchange.answer), NULL) ==
            RN_OK)
            rid = rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("_rid")));
        if (rid.len == 0 || rid.len >= RID_MAX)
            rc = unreadable(error);
        else
            snprintf(out, RID_MAX, "%.*s", RN_FMT(rid));
    }
    rn_json_release(&j);
    rn_client_call_release(&call);
    return rc;
}

static bool read_units(const struct rn_json *j, uint32_t value, uint32_t *out)
{
    int64_t n;

    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, &n) || n < 0 || n > UINT32_MAX)
        return false;
    *out = (uint32_t)n;
    return true;
}

static runnel_code parse_offer(struct offer *o, runnel_error *error)
{
    uint32_t list, autoscale, units;

    if (rn_json_parse(&o->j, rn_buf_view(&o->call.exchange.answer), NULL) !=
        RN_OK)
        return unreadable(error);
    list = rn_json_find(&o->j, 0, RN_LIT("Offers"));
    if (rn_json_kind(&o->j, list) != RN_JSON_ARRAY)
        return unreadable(error);
    o->at = rn_json_at(&o->j, list, 0);
    if (o->at == RN_JSON_NONE)
        return rn_error_set(error, RUNNEL_NOT_FOUND,
                            "there is no throughput of its own");
    o->content = rn_json_find(&o->j, o->at, RN_LIT("content"));
    autoscale =
        rn_json_find(&o->j, o->content, RN_LIT("offerAutopilotSettings"));
    units = rn_json_find(&o->j, autoscale, RN_LIT("maxThroughput"));
    o->throughput.is_autoscale = units != RN_JSON_NONE;
    if (!o->throughput.is_autoscale)
        units = rn_json_find(&o->j, o->content, RN_LIT("offerThroughput"));
    return read_units(&o->j, units, &o->throughput.units) ? RUNNEL_OK
                                                          : unreadable(error);
}

static runnel_code find(struct rn_account *account, const char *database,
                        const char *container, struct offer *o,
                        runnel_error *error)
{
    struct rn_link list = { .kind = RN_KIND_OFFER, .is_list = true };
    struct rn_link link = { .kind = RN_KIND_DATABASE, .depth = 1 };
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    struct rn_headers *h = &o->call.request.headers;
    char rid[RID_MAX];
    runnel_code rc = rn_name_check(RN_KIND_DATABASE, database, error);

    if (!rc && container)
        rc = rn_name_check(RN_KIND_CONTAINER, container, error);
    if (rc)
        return rc;
    link.ids[0] = rn_view_text(database);
    if (container) {
        link.kind = RN_KIND_CONTAINER;
        link.ids[link.depth++] = rn_view_text(container);
    }
    rn_json_init(&o->j, NULL);
    rn_client_call_init(&o->call, account, "POST", RN_EFFECT_READ, &list);
    rc = read_rid(account, &link, rid, error);
    /* A rid has no character that JSON or SQL would escape. */
    if (!rc) {
        rc = rn_error_take(
            error,
            rn_buf_printf(&body,
                          "{\"query\":\"SELECT * FROM root r WHERE "
                          "r.offerResourceId = @rid\",\"parameters\":"
                          "[{\"name\":\"@rid\",\"value\":\"%s\"}]}",
                          rid),
            NULL);
    }
    o->call.request.body = rn_buf_view(&body);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_IS_QUERY, RN_LIT("true"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_CONTENT_TYPE,
                            RN_LIT("application/query+json"), error);
    if (!rc)
        rc = rn_client_call_run(&o->call, error);
    if (!rc)
        rc = parse_offer(o, error);
    rn_buf_release(&body);
    return rc;
}

runnel_code runnel_throughput_read(runnel_client *client, const char *database,
                                   const char *container,
                                   runnel_throughput *out, runnel_error *error)
{
    struct offer offer = { 0 };
    runnel_code rc = find(client->account, database, container, &offer, error);

    if (!rc && out)
        *out = offer.throughput;
    release(&offer);
    return rc;
}

/* The offer with other units; all else as it was read. */
static runnel_code print_offer(const struct offer *o, runnel_throughput t,
                               struct rn_buf *out, runnel_error *error)
{
    struct rn_json_out p = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w = rn_json_walk_begin(&o->j, o->at);

    rn_json_out_object_begin(&p);
    while (rn_json_walk_next(&w)) {
        if (w.value == o->content)
            continue;
        rn_json_out_member(&p, &o->j, w.name, w.value);
    }
    rn_json_out_key(&p, RN_LIT("content"));
    rn_json_out_object_begin(&p);
    rn_json_out_key(&p, RN_LIT("offerThroughput"));
    rn_json_out_uint(&p, t.units);
    if (t.is_autoscale) {
        rn_json_out_key(&p, RN_LIT("offerAutopilotSettings"));
        rn_json_out_object_begin(&p);
        rn_json_out_key(&p, RN_LIT("maxThroughput"));
        rn_json_out_uint(&p, t.units);
        rn_json_out_object_end(&p);
    }
    rn_json_out_object_end(&p);
    rn_json_out_object_end(&p);
    return rn_error_take(error, rn_json_out_finish(&p), NULL);
}

/* `*is_migrated`: from manual to autoscale, or back. */
static runnel_code replace(struct rn_account *account, const char *database,
                           const char *container, runnel_throughput throughput,
                           bool *is_migrated, runnel_error *error)
{
    struct rn_link link = { .kind = RN_KIND_OFFER, .depth = 1 };
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    struct offer offer = { 0 };
    struct rn_client_call call;
    runnel_code rc = find(account, database, container, &offer, error);

    if (!rc)
        rc = print_offer(&offer, throughput, &body, error);
    link.ids[0] = rn_json_text(
        &offer.j, rn_json_find(&offer.j, offer.at, RN_LIT("_rid")));
    rn_client_call_init(&call, account, "PUT", RN_EFFECT_WRITE, &link);
    call.request.body = rn_buf_view(&body);
    *is_migrated = throughput.is_autoscale != offer.throughput.is_autoscale;
    if (!rc && *is_migrated) {
        rc = rn_headers_add(&call.request.headers,
                            throughput.is_autoscale ? RN_HEADER_TO_AUTOSCALE
                                                    : RN_HEADER_TO_MANUAL,
                            RN_LIT("true"), error);
    }
    rc = rn_client_call_finish(&call, rc, NULL, error);
    rn_buf_release(&body);
    release(&offer);
    return rc;
}

/* The service chooses the units of a migration, so a second request sets them.
 */
runnel_code runnel_throughput_replace(runnel_client *client,
                                      const char *database,
                                      const char *container,
                                      runnel_throughput throughput,
                                      runnel_error *error)
{
    bool is_migrated = false;
    runnel_code rc = replace(client->account, database, container, throughput,
                             &is_migrated, error);

    if (!rc && is_migrated)
        rc = replace(client->account, database, container, throughput,
                     &is_migrated, error);
    return rc;
}
