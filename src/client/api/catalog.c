/* catalog.c -- databases, new containers, and throughput. */
#include "client/account/call.h"
#include "client/account/container.h"
#include "client/api/client.h"
#include "client/api/reply.h"
#include "client/http/exchange.h"
#include "client/http/options.h"
#include "json/print.h"

#include <stdio.h>

enum { BODY_MAX = 4 << 20 };

static struct rn_link database_link(const char *id)
{
    return (struct rn_link){ .kind = RN_KIND_DATABASE,
                             .depth = 1,
                             .ids = { rn_view_text(id) } };
}

static runnel_code add_throughput(struct rn_headers *h, runnel_throughput t,
                                  runnel_error *error)
{
    char text[64];

    if (t.units == 0)
        return RUNNEL_OK;
    snprintf(text, sizeof(text),
             t.is_autoscale ? "{\"maxThroughput\":%u}" : "%u", t.units);
    return rn_headers_add(
        h, t.is_autoscale ? RN_HEADER_AUTOSCALE : RN_HEADER_THROUGHPUT,
        rn_view_text(text), error);
}

struct creation {
    struct rn_link list, link; /* where it is created; what it then is */
    struct rn_buf body;
    runnel_throughput throughput;
    bool if_absent;
};

/* Reads the resource instead if it is there already and that is no error. */
static runnel_code create(struct rn_account *account, const struct creation *c,
                          runnel_reply **out, runnel_error *error)
{
    struct rn_client_call call;
    runnel_code rc;

    rn_client_call_init(&call, account, "POST", RN_EFFECT_WRITE, &c->list);
    call.request.body = rn_buf_view(&c->body);
    rc = add_throughput(&call.request.headers, c->throughput, error);
    rc = rn_client_call_finish(&call, rc, out, error);
    if (rc != RUNNEL_CONFLICT || !c->if_absent)
        return rc;
    rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &c->link);
    return rn_client_call_finish(&call, RUNNEL_OK, out, error);
}

/* ---- databases ----------------------------------------------------------- */

runnel_code runnel_database_create(runnel_client *client,
                                   const runnel_database_definition *definition,
                                   runnel_reply **out, runnel_error *error)
{
    struct creation c = { .list = { .kind = RN_KIND_DATABASE, .is_list = true },
                          .body = RN_BUF_INIT(BODY_MAX) };
    struct rn_json_out o = RN_JSON_OUT_INIT(&c.body);
    runnel_database_definition d;
    runnel_code rc = rn_options_copy(&d, sizeof(d), definition, error);

    if (!rc)
        rc = rn_name_check(RN_KIND_DATABASE, d.id, error);
    if (rc)
        return rc;
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(d.id));
    rn_json_out_object_end(&o);
    rc = rn_error_take(error, rn_json_out_finish(&o), NULL);
    c.link = database_link(d.id);
    c.throughput = d.throughput;
    c.if_absent = d.if_absent;
    if (!rc)
        rc = create(client->account, &c, out, error);
    rn_buf_release(&c.body);
    return rc;
}

static runnel_code call_database(runnel_client *client, const char *method,
                                 const char *id, runnel_reply **out,
                                 runnel_error *error)
{
    struct rn_link link;
    struct rn_client_call call;
    runnel_code rc = rn_name_check(RN_KIND_DATABASE, id, error);

    if (rc)
        return rc;
    link = database_link(id);
    rn_client_call_init(&call, client->account, method,
                        rn_effect_of(method, NULL), &link);
    return rn_client_call_finish(&call, RUNNEL_OK, out, error);
}

runnel_code runnel_database_read(runnel_client *client, const char *id,
                                 runnel_reply **out, runnel_error *error)
{
    return call_database(client, "GET", id, out, error);
}

runnel_code runnel_database_delete(runnel_client *client, const char *id,
                                   runnel_error *error)
{
    return call_database(client, "DELETE", id, NULL, error);
}

/* ---- containers ---------------------------------------------------------- */

/* "/a,/b": a comma followed by a slash separates paths. */
static void print_key(struct rn_json_out *o, const char *paths)
{
    const char *at = paths, *comma;
    bool is_one = !strstr(paths, ",/");

    rn_json_out_key(o, RN_LIT("partitionKey"));
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("paths"));
    rn_json_out_array_begin(o);
    while ((comma = strstr(at, ",/")) != NULL) {
        rn_json_out_string(o, rn_view_of(at, (size_t)(comma - at)));
        at = comma + 1;
    }
    rn_json_out_string(o, rn_view_text(at));
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("kind"));
    rn_json_out_string(o, is_one ? RN_LIT("Hash") : RN_LIT("MultiHash"));
    rn_json_out_key(o, RN_LIT("version"));
    rn_json_out_int(o, 2);
    rn_json_out_object_end(o);
}

/* A member that the struct gives must not be in the JSON too. */
static bool is_given(const runnel_container_definition *d,
                     const struct rn_json *j, uint32_t name)
{
    return rn_json_string_is(j, name, RN_LIT("id")) ||
           (d->partition_key &&
            rn_json_string_is(j, name, RN_LIT("partitionKey"))) ||
           (d->ttl_s && rn_json_string_is(j, name, RN_LIT("defaultTtl"))) ||
           (d->versions_min &&
            rn_json_string_is(j, name, RN_LIT("changeFeedPolicy")));
}

static runnel_code print_more(const runnel_container_definition *d,
                              struct rn_json_out *o, runnel_error *error)
{
    struct rn_err err = { 0 };
    struct rn_json_walk w;
    struct rn_json j;
    enum rn_code rc;

    if (!d->json)
        return RUNNEL_OK;
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, rn_view_text(d->json), &err);
    if (!rc && rn_json_kind(&j, 0) != RN_JSON_OBJECT)
        rc = rn_fail(&err, RN_BAD_REQUEST,
                     "the definition's json is not an object");
    w = rn_json_walk_begin(&j, 0);
    while (!rc && rn_json_walk_next(&w)) {
        if (is_given(d, &j, w.name)) {
            rc = rn_fail(&err, RN_BAD_REQUEST,
                         "the definition has %.*s twice: as a member and in "
                         "json",
                         RN_FMT(rn_json_text(&j, w.name)));
        } else {
            rn_json_out_member(o, &j, w.name, w.value);
        }
    }
    rn_json_release(&j);
    return rn_error_take(error, rc, &err);
}

static runnel_code print_definition(const runnel_container_definition *d,
                                    struct rn_buf *out, runnel_error *error)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    runnel_code rc;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(d->id));
    if (d->partition_key)
        print_key(&o, d->partition_key);
    if (d->ttl_s) {
        rn_json_out_key(&o, RN_LIT("defaultTtl"));
        rn_json_out_int(&o, d->ttl_s);
    }
    if (d->versions_min) {
        rn_json_out_key(&o, RN_LIT("changeFeedPolicy"));
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("retentionDuration"));
        rn_json_out_int(&o, d->versions_min);
        rn_json_out_object_end(&o);
    }
    rc = print_more(d, &o, error);
    rn_json_out_object_end(&o);
    return rc ? rc : rn_error_take(error, rn_json_out_finish(&o), NULL);
}

runnel_code
runnel_container_create(runnel_client *client, const char *database,
                        const runnel_container_definition *definition,
                        runnel_reply **out, runnel_error *error)
{
    struct creation c = { .body = RN_BUF_INIT(BODY_MAX) };
    runnel_container_definition d;
    runnel_code rc = rn_options_copy(&d, sizeof(d), definition, error);

    if (!rc)
        rc = rn_name_check(RN_KIND_DATABASE, database, error);
    if (!rc)
        rc = rn_name_check(RN_KIND_CONTAINER, d.id, error);
    if (!rc)
        rc = print_definition(&d, &c.body, error);
    if (!rc) {
        c.list = c.link = database_link(database);
        c.list.kind = c.link.kind = RN_KIND_CONTAINER;
        c.list.is_list = true;
        c.link.ids[c.link.depth++] = rn_view_text(d.id);
        c.throughput = d.throughput;
        c.if_absent = d.if_absent;
        rc = create(client->account, &c, out, error);
    }
    rn_buf_release(&c.body);
    return rc;
}
