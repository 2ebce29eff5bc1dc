/* item.c -- single items: create, upsert, replace, read, patch, delete. */
#include "client/api/client.h"
#include "client/api/container.h"
#include "client/api/key.h"
#include "client/api/reply.h"
#include "client/http/exchange.h"
#include "client/http/options.h"
#include "cosmos/status.h"
#include "json/print.h"

enum { BODY_MAX = 8 << 20 };

/* One operation while its call is made. */
struct item {
    struct rn_client_container *container;
    runnel_operation_kind kind;
    runnel_item_options options;
    runnel_key key;      /* read, patch and delete */
    struct rn_view json; /* the item, or the patch operations */
    struct rn_json parsed;
    struct rn_buf id;   /* of replace, with a NUL */
    struct rn_buf body; /* of patch */
};

static const struct {
    const char *method;
    bool has_item; /* the JSON is an item */
    bool is_read;
    bool has_id; /* the path ends with it */
} kinds[] = {
    [RUNNEL_CREATE] = { "POST", true, false, false },
    [RUNNEL_UPSERT] = { "POST", true, false, false },
    [RUNNEL_REPLACE] = { "PUT", true, false, true },
    [RUNNEL_READ] = { "GET", false, true, true },
    [RUNNEL_PATCH] = { "PATCH", false, false, true },
    [RUNNEL_DELETE] = { "DELETE", false, false, true },
};

static runnel_code begin(struct item *it, runnel_container *container,
                         runnel_operation_kind kind,
                         const runnel_item_options *options,
                         runnel_error *error)
{
    *it = (struct item){ .container = container->inner,
                         .kind = kind,
                         .id = RN_BUF_INIT(RN_ID_BYTES_MAX + 2),
                         .body = RN_BUF_INIT(BODY_MAX) };
    rn_json_init(&it->parsed, NULL);
    if (!options)
        return RUNNEL_OK;
    return rn_options_copy(&it->options, sizeof(it->options), options, error);
}

static void end(struct item *it)
{
    rn_json_release(&it->parsed);
    rn_buf_release(&it->id);
    rn_buf_release(&it->body);
}

/* ---- what is asked ------------------------------------------------------- */

static runnel_code parse_item(struct item *it, runnel_error *error)
{
    struct rn_err err = { 0 };
    enum rn_code rc = rn_json_parse(&it->parsed, it->json, &err);

    if (rc)
        return rn_error_take(error, rc, &err);
    if (rn_json_kind(&it->parsed, 0) != RN_JSON_OBJECT)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the item is not a JSON object");
    return RUNNEL_OK;
}

/* The id in an item, with a NUL. */
static runnel_code take_id(struct item *it, runnel_error *error)
{
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    uint32_t value = rn_json_find(&it->parsed, 0, RN_LIT("id"));
    struct rn_view id;
    enum rn_code rc = RN_BAD_REQUEST;

    if (rn_json_kind(&it->parsed, value) == RN_JSON_STRING)
        rc = rn_json_string_get(&it->parsed, value, &arena, &id);
    if (!rc && id.len > 0 && memchr(id.at, '\0', id.len))
        rc = RN_BAD_REQUEST;
    if (!rc)
        rc = rn_buf_add(&it->id, id);
    if (!rc)
        rc = rn_buf_add(&it->id, rn_view_of("", 1));
    rn_arena_release(&arena);
    if (rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the item has no id, or one that is not valid");
    return rn_error_take(error, rc, NULL);
}

/* {"condition":...,"operations":[...]} */
static runnel_code print_patch(struct item *it, runnel_error *error)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&it->body);
    struct rn_err err = { 0 };
    enum rn_code rc = rn_json_parse(&it->parsed, it->json, &err);

    if (!rc && rn_json_kind(&it->parsed, 0) != RN_JSON_ARRAY)
        rc = rn_fail(&err, RN_BAD_REQUEST,
                     "the patch operations are not a JSON array");
    if (rc)
        return rn_error_take(error, rc, &err);
    rn_json_out_object_begin(&o);
    if (it->options.condition) {
        rn_json_out_key(&o, RN_LIT("condition"));
        rn_json_out_string(&o, rn_view_text(it->options.condition));
    }
    rn_json_out_key(&o, RN_LIT("operations"));
    rn_json_out_raw(&o, it->json);
    rn_json_out_object_end(&o);
    return rn_error_take(error, rn_json_out_finish(&o), NULL);
}

static runnel_code prepare(struct item *it, runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    if (kinds[it->kind].has_item)
        rc = parse_item(it, error);
    else if (it->kind == RUNNEL_PATCH)
        rc = print_patch(it, error);
    if (!rc && it->kind == RUNNEL_REPLACE) {
        rc = take_id(it, error);
        it->key.id = it->id.at;
    }
    if (!rc && kinds[it->kind].has_id)
        rc = rn_name_check(RN_KIND_DOCUMENT, it->key.id, error);
    return rc;
}

/* ---- the call ------------------------------------------------------------ */

static runnel_code add_key(struct item *it, struct rn_headers *h,
                           runnel_error *error)
{
    struct rn_buf key = RN_BUF_INIT(RN_KEY_TEXT_MAX);
    const char *given = kinds[it->kind].has_item ? it->options.partition_key
                                                 : it->key.partition_key;
    struct rn_definition *d = NULL;
    runnel_code rc;

    if (given || !kinds[it->kind].has_item) {
        rc = rn_key_print(it->container, given, &key, error);
    } else {
        rc = rn_client_container_define(it->container, NULL, &d, error);
        if (!rc)
            rc = rn_key_extract(d, &it->parsed, &key, error);
        rn_definition_unref(d);
    }
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_PARTITION_KEY, rn_buf_view(&key),
                            error);
    rn_buf_release(&key);
    return rc;
}

static runnel_code add_options(struct item *it, struct rn_headers *h,
                               bool want_body, runnel_error *error)
{
    const runnel_item_options *o = &it->options;
    runnel_code rc =
        rn_headers_add_text(h, RN_HEADER_IF_MATCH, o->if_match, error);

    if (!rc)
        rc = rn_headers_add_text(h, RN_HEADER_IF_NONE_MATCH, o->if_none_match,
                                 error);
    if (!rc && it->kind == RUNNEL_UPSERT)
        rc = rn_headers_add(h, RN_HEADER_IS_UPSERT, RN_LIT("true"), error);
    if (!rc && it->kind == RUNNEL_PATCH)
        rc = rn_headers_add(h, RN_HEADER_CONTENT_TYPE,
                            RN_LIT("application/json-patch+json"), error);
    if (!rc && !kinds[it->kind].is_read && !want_body)
        rc = rn_headers_add(h, RN_HEADER_PREFER, RN_LIT("return=minimal"),
                            error);
    if (!rc)
        rc = rn_headers_add_list(h, o->headers, o->header_count, error);
    return rc;
}

static runnel_code attempt(struct item *it, runnel_reply **out,
                           runnel_error *error)
{
    struct rn_link link =
        kinds[it->kind].has_id
            ? rn_client_container_item(it->container, it->key.id)
            : rn_client_container_list(it->container, RN_KIND_DOCUMENT);
    const char *method = kinds[it->kind].method;
    struct rn_client_call call;
    runnel_code rc;

    rn_client_call_init(&call, rn_client_container_account(it->container),
                        method, rn_effect_of(method, it->options.if_match),
                        &link);
    call.request.container = it->container;
    call.request.session_token = it->options.session_token;
    call.request.body =
        it->kind == RUNNEL_PATCH ? rn_buf_view(&it->body) : it->json;
    rc = add_key(it, &call.request.headers, error);
    if (!rc)
        rc = add_options(it, &call.request.headers,
                         it->options.want_body && out, error);
    return rn_client_call_finish(&call, rc, out, error);
}

/* A key that the container refuses may be of its definition before it was
 * created anew: the call has dropped that, so the key is made once more. */
static bool is_stale_key(struct item *it, runnel_code rc,
                         const runnel_error *error)
{
    return rc == RUNNEL_BAD_REQUEST && kinds[it->kind].has_item &&
           !it->options.partition_key &&
           rn_status_read(error->http_status, error->sub_status)->reason ==
               RN_REASON_KEY_MISMATCH;
}

static runnel_code run(struct item *it, runnel_reply **out, runnel_error *error)
{
    runnel_error own;
    runnel_code rc;

    error = error ? error : &own;
    rc = prepare(it, error);
    if (!rc) {
        rc = attempt(it, out, error);
        if (is_stale_key(it, rc, error))
            rc = attempt(it, out, error);
    }
    end(it);
    return rc;
}

static runnel_code write_item(runnel_container *container,
                              runnel_operation_kind kind, runnel_bytes json,
                              const runnel_item_options *options,
                              runnel_reply **out, runnel_error *error)
{
    struct item it;
    runnel_code rc = begin(&it, container, kind, options, error);

    it.json = rn_view_bytes(json);
    return rc ? rc : run(&it, out, error);
}

runnel_code runnel_item_create(runnel_container *container, runnel_bytes json,
                               const runnel_item_options *options,
                               runnel_reply **out, runnel_error *error)
{
    return write_item(container, RUNNEL_CREATE, json, options, out, error);
}

runnel_code runnel_item_upsert(runnel_container *container, runnel_bytes json,
                               const runnel_item_options *options,
                               runnel_reply **out, runnel_error *error)
{
    return write_item(container, RUNNEL_UPSERT, json, options, out, error);
}

runnel_code runnel_item_replace(runnel_container *container, runnel_bytes json,
                                const runnel_item_options *options,
                                runnel_reply **out, runnel_error *error)
{
    return write_item(container, RUNNEL_REPLACE, json, options, out, error);
}

runnel_code runnel_item_read(runnel_container *container, runnel_key key,
                             const runnel_item_options *options,
                             runnel_reply **out, runnel_error *error)
{
    struct item it;
    runnel_code rc = begin(&it, container, RUNNEL_READ, options, error);

    it.key = key;
    return rc ? rc : run(&it, out, error);
}

runnel_code runnel_item_patch(runnel_container *container, runnel_key key,
                              runnel_bytes operations,
                              const runnel_item_options *options,
                              runnel_reply **out, runnel_error *error)
{
    struct item it;
    runnel_code rc = begin(&it, container, RUNNEL_PATCH, options, error);

    it.key = key;
    it.json = rn_view_bytes(operations);
    return rc ? rc : run(&it, out, error);
}

runnel_code runnel_item_delete(runnel_container *container, runnel_key key,
                               const runnel_item_options *options,
                               runnel_error *error)
{
    struct item it;
    runnel_code rc = begin(&it, container, RUNNEL_DELETE, options, error);

    it.key = key;
    return rc ? rc : run(&it, NULL, error);
}
