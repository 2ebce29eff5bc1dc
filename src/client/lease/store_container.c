/* store_container.c -- leases in a container of an account.
 *
 * Calls go over the host's transport.  The container is keyed by /id, by
 * /partitionKey, or not at all, as the .NET libraries demand; the key of a
 * record is then its id, the member of that name, or none.
 */
#include "client/lease/store.h"

#include "base/clock.h"
#include "client/account/container.h"
#include "cosmos/pk.h"
#include "cosmos/status.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MS = 3000 }; /* all pauses of a call together */

enum key_form { KEY_ID, KEY_MEMBER, KEY_NONE };

struct container_store {
    struct rn_lease_store store; /* first */
    struct rn_client_container *container;
    struct rn_transport *transport;
    struct rn_lease_store_options options;
    enum key_form key;
    bool was_created;                  /* PREPARE has created the container */
    char rid[32];                      /* of the container at PREPARE */
    struct rn_lease_store_call *calls; /* under way */
};

static struct container_store *container_of(struct rn_lease_store *store)
{
    return (struct container_store *)store;
}

/* ---- requests ------------------------------------------------------------ */

static runnel_code add_key(struct container_store *s,
                           struct rn_lease_store_call *call)
{
    const char *key = call->partition_key[0] ? call->partition_key : call->id;
    struct rn_buf text = RN_BUF_INIT(16 << 10);
    struct rn_pk pk = { .count = s->key == KEY_NONE ? 0 : 1 };
    runnel_code rc;

    pk.values[0] =
        (struct rn_pk_value){ .type = RN_PK_STRING, .text = rn_view_text(key) };
    rc = rn_error_code(rn_pk_print(&pk, &text));
    if (!rc)
        rc = rn_headers_add(&call->http.request.headers,
                            RN_HEADER_PARTITION_KEY, rn_buf_view(&text), NULL);
    rn_buf_release(&text);
    return rc;
}

static runnel_code fill_list(struct rn_lease_store_call *call)
{
    struct rn_headers *h = &call->http.request.headers;
    struct rn_json_out o = RN_JSON_OUT_INIT(&call->json);
    runnel_code rc;

    rn_buf_clear(&call->json);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("query"));
    rn_json_out_string(
        &o, RN_LIT("SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)"));
    rn_json_out_key(&o, RN_LIT("parameters"));
    rn_json_out_array_begin(&o);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("name"));
    rn_json_out_string(&o, RN_LIT("@prefix"));
    rn_json_out_key(&o, RN_LIT("value"));
    rn_json_out_string(&o, rn_view_text(call->id));
    rn_json_out_object_end(&o);
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    rc = rn_error_code(rn_json_out_finish(&o));
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_CONTENT_TYPE,
                            RN_LIT("application/query+json"), NULL);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_IS_QUERY, RN_LIT("True"), NULL);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_CROSS_PARTITION, RN_LIT("True"), NULL);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_MAX_ITEM_COUNT, RN_LIT("1000"), NULL);
    if (!rc && call->continuation)
        rc = rn_headers_add(h, RN_HEADER_CONTINUATION,
                            rn_view_text(call->continuation), NULL);
    return rc;
}

static runnel_code fill_write(struct container_store *s,
                              struct rn_lease_store_call *call)
{
    struct rn_headers *h = &call->http.request.headers;
    runnel_code rc = add_key(s, call);

    if (!rc && call->kind != RN_LEASE_STORE_REMOVE)
        rc =
            rn_headers_add(h, RN_HEADER_PREFER, RN_LIT("return=minimal"), NULL);
    if (!rc && call->etag[0])
        rc = rn_headers_add(h, RN_HEADER_IF_MATCH, rn_view_text(call->etag),
                            NULL);
    return rc;
}

/* The definition of a lease container: by /id, whose documents may expire, with
 * an index of the id alone. */
static const char lease_container[] =
    "\",\"partitionKey\":{\"paths\":[\"/id\"],\"kind\":\"Hash\",\"version\":2},"
    "\"defaultTtl\":-1,\"indexingPolicy\":{\"indexingMode\":\"consistent\","
    "\"automatic\":true,\"includedPaths\":[{\"path\":\"/id/?\"}],"
    "\"excludedPaths\":[{\"path\":\"/*\"}]}}";

static runnel_code fill_creation(struct container_store *s,
                                 struct rn_lease_store_call *call)
{
    struct rn_link link = rn_client_container_link(s->container);
    runnel_code rc;

    rn_buf_clear(&call->json);
    rc = rn_error_code(rn_buf_printf(&call->json, "{\"id\":\"%.*s%s",
                                     RN_FMT(link.ids[1]), lease_container));
    link.depth = 1;
    link.is_list = true;
    rn_client_call_init(&call->http, rn_client_container_account(s->container),
                        "POST", RN_EFFECT_WRITE, &link);
    return rc;
}

static runnel_code fill(struct container_store *s,
                        struct rn_lease_store_call *call)
{
    struct rn_account *account = rn_client_container_account(s->container);
    struct rn_link list =
        rn_client_container_list(s->container, RN_KIND_DOCUMENT);
    struct rn_link item = rn_client_container_item(s->container, call->id);
    struct rn_link self = rn_client_container_link(s->container);

    switch (call->kind) {
    case RN_LEASE_STORE_PREPARE:
        rn_client_call_init(&call->http, account, "GET", RN_EFFECT_READ, &self);
        return RUNNEL_OK;
    case RN_LEASE_STORE_LIST:
        rn_client_call_init(&call->http, account, "POST", RN_EFFECT_READ,
                            &list);
        return fill_list(call);
    case RN_LEASE_STORE_READ:
        rn_client_call_init(&call->http, account, "GET", RN_EFFECT_READ, &item);
        return add_key(s, call);
    case RN_LEASE_STORE_CREATE:
        rn_client_call_init(&call->http, account, "POST", RN_EFFECT_WRITE,
                            &list);
        return fill_write(s, call);
    case RN_LEASE_STORE_REPLACE:
        rn_client_call_init(&call->http, account, "PUT", RN_EFFECT_GUARDED,
                            &item);
        return fill_write(s, call);
    case RN_LEASE_STORE_REMOVE:
        rn_client_call_init(&call->http, account, "DELETE",
                            call->etag[0] ? RN_EFFECT_GUARDED : RN_EFFECT_READ,
                            &item);
        return fill_write(s, call);
    }
    return RUNNEL_BAD_REQUEST;
}

/* Sends what `rc` says was filled in well. */
static void send_call(struct container_store *s,
                      struct rn_lease_store_call *call, runnel_code rc)
{
    bool is_document = call->kind != RN_LEASE_STORE_PREPARE && !call->is_check;

    if (is_document)
        call->http.request.container = s->container;
    call->http.request.body = rn_buf_view(&call->json);
    if (rc) {
        call->http.code =
            rn_error_set(&call->http.error, rc, "the request cannot be made");
        call->http.is_over = true;
        return;
    }
    rn_client_call_begin(&call->http, s->transport);
    /* Limits the pauses: the caller can judge better what a late answer is
     * worth. */
    if (call->http.retry.policy.wait_ms > RETRY_MS)
        call->http.retry.policy.wait_ms = RETRY_MS;
}

static void container_start(struct rn_lease_store *store,
                            struct rn_lease_store_call *call)
{
    struct container_store *s = container_of(store);

    call->is_under_way = true;
    call->sent_ns =
        rn_mono_ns(rn_account_env(rn_client_container_account(s->container)));
    call->next = s->calls;
    s->calls = call;
    send_call(s, call, fill(s, call));
}

/* ---- answers ------------------------------------------------------------- */

/* What is no JSON is the server's fault, lack of memory is not. */
static runnel_code parse_answer(struct rn_json *j,
                                const struct rn_lease_store_call *call)
{
    switch (rn_json_parse(j, rn_buf_view(&call->http.exchange.answer), NULL)) {
    case RN_OK:
        return RUNNEL_OK;
    case RN_NOMEM:
        return RUNNEL_NO_MEMORY;
    default:
        return RUNNEL_PROTOCOL;
    }
}

static runnel_code add_document(struct rn_lease_store_call *call,
                                const struct rn_json *j, uint32_t value)
{
    uint32_t ts = rn_json_find(j, value, RN_LIT("_ts"));
    uint32_t id = rn_json_find(j, value, RN_LIT("id"));
    uint32_t etag = rn_json_find(j, value, RN_LIT("_etag"));
    struct rn_lease_store_record record = { .json = rn_json_text(j, value) };
    int64_t seconds = 0;
    enum rn_code rc;

    if (rn_json_kind(j, id) != RN_JSON_STRING ||
        rn_json_kind(j, etag) != RN_JSON_STRING)
        return RUNNEL_PROTOCOL;
    rc = rn_json_string_get(j, id, &call->arena, &record.id);
    if (!rc)
        rc = rn_json_string_get(j, etag, &call->arena, &record.etag);
    if (rc)
        return rn_error_code(rc);
    if (rn_json_kind(j, ts) == RN_JSON_NUMBER && rn_json_int64(j, ts, &seconds))
        record.written_ms = seconds * 1000;
    return rn_lease_store_call_add(call, &record);
}

static runnel_code read_documents(struct rn_lease_store_call *call)
{
    struct rn_json_limits limits = { .bytes = RN_ANSWER_MAX };
    struct rn_json_walk w;
    struct rn_json j;
    uint32_t documents;
    runnel_code rc;

    rn_json_init(&j, &limits);
    rc = parse_answer(&j, call);
    if (!rc && call->kind == RN_LEASE_STORE_READ) {
        rc = add_document(call, &j, 0);
    } else if (!rc) {
        documents = rn_json_find(&j, 0, RN_LIT("Documents"));
        if (rn_json_kind(&j, documents) != RN_JSON_ARRAY)
            rc = RUNNEL_PROTOCOL; /* which is not an empty store */
        w = rn_json_walk_begin(&j, documents);
        while (!rc && rn_json_walk_next(&w))
            rc = add_document(call, &j, w.value);
    }
    rn_json_release(&j);
    if (rc) {
        rn_error_set(&call->error, rc,
                     "the lease container's answer cannot "
                     "be read");
    }
    return rc;
}

/* Which of the three forms the container has. */
static runnel_code check_key(struct container_store *s, const struct rn_json *j,
                             runnel_error *error)
{
    uint32_t key = rn_json_find(j, 0, RN_LIT("partitionKey"));
    uint32_t paths = rn_json_find(j, key, RN_LIT("paths"));
    uint32_t path = rn_json_at(j, paths, 0);
    uint32_t system = rn_json_find(j, key, RN_LIT("systemKey"));

    if (key == RN_JSON_NONE || rn_json_kind(j, system) == RN_JSON_TRUE)
        s->key = KEY_NONE;
    else if (rn_json_count(j, paths) == 1 &&
             rn_json_string_is(j, path, RN_LIT("/id")))
        s->key = KEY_ID;
    else if (rn_json_count(j, paths) == 1 &&
             rn_json_string_is(j, path, RN_LIT("/partitionKey")))
        s->key = KEY_MEMBER;
    else {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the lease container's partition key must be /id "
                            "or /partitionKey; use another container");
    }
    s->store.has_key_member = s->key == KEY_MEMBER;
    return RUNNEL_OK;
}

static void copy_rid(const struct rn_json *j, char out[32])
{
    struct rn_view rid = rn_json_text(j, rn_json_find(j, 0, RN_LIT("_rid")));

    snprintf(out, 32, "%.*s", RN_FMT(rid));
}

static runnel_code read_definition(struct container_store *s,
                                   struct rn_lease_store_call *call)
{
    uint32_t ttl;
    struct rn_json j;
    runnel_code rc;

    rn_json_init(&j, NULL);
    rc = parse_answer(&j, call);
    if (rc) {
        rn_error_set(&call->error, rc,
                     "the lease container's definition cannot be read");
    } else {
        rc = check_key(s, &j, &call->error);
    }
    copy_rid(&j, s->rid);
    memcpy(call->rid, s->rid, sizeof(call->rid));
    ttl = rn_json_find(&j, 0, RN_LIT("defaultTtl"));
    call->lacks_ttl = rn_json_kind(&j, ttl) != RN_JSON_NUMBER;
    rn_json_release(&j);
    return rc;
}

static void note_answer(struct rn_lease_store_call *call)
{
    const struct rn_headers *h = &call->http.exchange.answer_headers;
    struct rn_view date = rn_headers_find(h, RN_HEADER_DATE);
    struct rn_view charge = rn_headers_find(h, RN_HEADER_CHARGE);
    struct rn_view etag = rn_headers_find(h, RN_HEADER_ETAG);
    int64_t seconds;

    if (date.at && !rn_date_parse(date, &seconds, NULL))
        call->now_ms = seconds * 1000;
    if (charge.at)
        call->charge += strtod(charge.at, NULL);
    if (etag.at)
        snprintf(call->new_etag, sizeof(call->new_etag), "%s", etag.at);
}

/* More of a listing, if there is. */
static bool go_on(struct container_store *s, struct rn_lease_store_call *call)
{
    struct rn_view more = rn_headers_find(&call->http.exchange.answer_headers,
                                          RN_HEADER_CONTINUATION);

    rn_free(call->continuation);
    call->continuation = NULL;
    if (call->kind != RN_LEASE_STORE_LIST || call->code || !more.at ||
        more.len == 0)
        return false;
    call->continuation = rn_new_text(more.at);
    if (!call->continuation) {
        call->code = RUNNEL_NO_MEMORY;
        return false;
    }
    rn_client_call_release(&call->http);
    send_call(s, call, fill(s, call));
    return true;
}

static bool try_creation(struct container_store *s,
                         struct rn_lease_store_call *call)
{
    struct rn_link link = rn_client_container_link(s->container);

    if (!rn_exchange_is_explained(&call->http.exchange)) {
        rn_error_during(&call->error, "the lease container cannot be read; "
                                      "check the endpoint");
        return false;
    }
    if (s->was_created || !s->options.create) {
        rn_error_set(&call->error, RUNNEL_NOT_FOUND,
                     "the lease container %.*s/%.*s does not exist; create it "
                     "or set create_leases",
                     RN_FMT(link.ids[0]), RN_FMT(link.ids[1]));
        return false;
    }
    s->was_created = true;
    rn_client_call_release(&call->http);
    send_call(s, call, fill_creation(s, call));
    return true;
}

static bool prepare(struct container_store *s, struct rn_lease_store_call *call)
{
    bool was_creation = call->http.request.method[0] == 'P';

    if (was_creation &&
        (call->code == RUNNEL_OK || call->code == RUNNEL_CONFLICT)) {
        rn_client_call_release(&call->http);
        rn_buf_clear(&call->json);
        send_call(s, call, fill(s, call)); /* it is there: look at it */
        return true;
    }
    if (call->code == RUNNEL_NOT_FOUND && !was_creation)
        return try_creation(s, call);
    if (call->code == RUNNEL_NOT_FOUND) {
        struct rn_link link = rn_client_container_link(s->container);

        rn_error_set(&call->error, RUNNEL_NOT_FOUND,
                     "the lease container's database %.*s does not exist; "
                     "create it, or correct its name",
                     RN_FMT(link.ids[0]));
    }
    if (!call->code)
        call->code = read_definition(s, call);
    return false;
}

/* A listing that no server can answer for our session: perhaps the session is
 * that of a container that is gone, and another has its name. */
static void start_check(struct container_store *s,
                        struct rn_lease_store_call *call)
{
    struct rn_link self = rn_client_container_link(s->container);

    rn_client_call_release(&call->http);
    rn_buf_clear(&call->json);
    rn_client_call_init(&call->http, rn_client_container_account(s->container),
                        "GET", RN_EFFECT_READ, &self);
    call->is_check = true;
    send_call(s, call, RUNNEL_OK);
}

static void end_check(struct container_store *s,
                      struct rn_lease_store_call *call)
{
    char rid[32] = "";
    struct rn_json j;

    rn_json_init(&j, NULL);
    if (!call->http.code &&
        !rn_json_parse(&j, rn_buf_view(&call->http.exchange.answer), NULL))
        copy_rid(&j, rid);
    rn_json_release(&j);
    if (rid[0] && strcmp(rid, s->rid) != 0)
        call->code = rn_error_set(&call->error, RUNNEL_NOT_FOUND,
                                  "another container has its name now");
}

/* True if the call is over. */
static bool take_answer(struct container_store *s,
                        struct rn_lease_store_call *call)
{
    if (call->is_check) {
        end_check(s, call);
        return true;
    }
    call->code = call->http.code;
    call->error = call->http.error;
    note_answer(call);
    if (call->kind == RN_LEASE_STORE_PREPARE)
        return !prepare(s, call);
    if (call->kind == RN_LEASE_STORE_LIST &&
        rn_error_is_session(&call->error)) {
        start_check(s, call);
        return false;
    }
    if (!call->code && (call->kind == RN_LEASE_STORE_LIST ||
                        call->kind == RN_LEASE_STORE_READ))
        call->code = read_documents(call);
    return !go_on(s, call);
}

/* The attempt that is under way is the last one. */
static void end_retries(struct rn_client_call *http)
{
    http->retry.policy.limit = 0;
    if (http->due_ns)
        rn_client_call_cancel(http);
}

static int64_t step_call(struct container_store *s,
                         struct rn_lease_store_call *call)
{
    struct rn_env *env =
        rn_account_env(rn_client_container_account(s->container));

    if (call->http.is_over)
        return 0;
    if (call->until_ns && rn_mono_ns(env) > call->until_ns)
        end_retries(&call->http);
    return rn_client_call_step(&call->http);
}

static int64_t container_step(struct rn_lease_store *store)
{
    struct container_store *s = container_of(store);
    struct rn_lease_store_call **at = &s->calls;
    int64_t next = RN_TASK_IDLE;

    while (*at) {
        struct rn_lease_store_call *call = *at;
        int64_t due = step_call(s, call);
        if (!call->http.is_over || !take_answer(s, call)) {
            next = due < next ? due : next;
            at = &call->next;
            continue;
        }
        *at = call->next;
        rn_client_call_release(&call->http);
        call->is_under_way = false;
        call->done(call);
        next = RN_TASK_NOW; /* `done` may have started others */
        at = &s->calls;
    }
    return next;
}

static void container_close(struct rn_lease_store *store)
{
    struct container_store *s = container_of(store);

    while (s->calls) {
        struct rn_lease_store_call *call = s->calls;
        s->calls = call->next;
        rn_client_call_release(&call->http);
        call->is_under_way = false;
    }
    rn_client_container_unref(s->container);
    rn_free(s);
}

static const struct rn_lease_store_ops container_ops = {
    .start = container_start,
    .step = container_step,
    .close = container_close,
};

runnel_code
rn_lease_store_container_open(struct rn_client_container *container,
                              struct rn_transport *transport,
                              const struct rn_lease_store_options *options,
                              struct rn_lease_store **out, runnel_error *error)
{
    struct container_store *s = rn_new(sizeof(*s));

    if (!s)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "no memory");
    s->store.ops = &container_ops;
    s->container = rn_client_container_ref(container);
    s->transport = transport;
    s->options = *options;
    *out = &s->store;
    return RUNNEL_OK;
}
