/* operations.c -- see operations.h. */
#include "client/api/operations.h"

#include "cosmos/status.h"

/* What all results may hold together. */
#define RESULTS_BYTES_MAX ((size_t)2 << 30)

static const char *const names[] = {
    [RUNNEL_CREATE] = "Create",   [RUNNEL_UPSERT] = "Upsert",
    [RUNNEL_REPLACE] = "Replace", [RUNNEL_READ] = "Read",
    [RUNNEL_PATCH] = "Patch",     [RUNNEL_DELETE] = "Delete",
};

enum { KINDS = sizeof(names) / sizeof(names[0]) };

/* ---- results ------------------------------------------------------------- */

runnel_code rn_results_new(size_t count, runnel_results **out,
                           runnel_error *error)
{
    runnel_results *r = rn_new(sizeof(*r));

    if (r) {
        r->arena = RN_ARENA_INIT(RESULTS_BYTES_MAX);
        r->of = rn_new((count + 1) * sizeof(*r->of));
        r->count = count;
    }
    if (!r || !r->of) {
        rn_free(r);
        return rn_error_no_memory(error);
    }
    for (size_t i = 0; i < count; i++)
        r->of[i].etag = "";
    *out = r;
    return RUNNEL_OK;
}

size_t runnel_results_count(const runnel_results *results)
{
    return results->count;
}

const runnel_result *runnel_results_at(const runnel_results *results, size_t i)
{
    return i < results->count ? &results->of[i] : NULL;
}

void runnel_results_close(runnel_results *results)
{
    if (!results)
        return;
    rn_arena_release(&results->arena);
    rn_free(results->of);
    rn_free(results);
}

/* An operation that another one undid was not the one refused. */
static runnel_code code_of(int status, int sub_status)
{
    const struct rn_status *s = rn_status_read(status, sub_status);

    if (s->reason == RN_REASON_DEPENDENCY)
        return RUNNEL_CANCELLED;
    return s->reason == RN_REASON_RETRY_WITH ? RUNNEL_BUSY
                                             : rn_error_code(s->code);
}

enum rn_code rn_results_set(runnel_results *r, size_t i,
                            const struct rn_operation_answer *a)
{
    struct rn_view body = rn_arena_copy(&r->arena, a->body);
    char *etag = rn_arena_alloc(&r->arena, a->etag.len + 1);
    runnel_result *to = &r->of[i];

    if (!etag || (a->body.len > 0 && !body.at))
        return RN_NOMEM;
    if (a->etag.len)
        memcpy(etag, a->etag.at, a->etag.len);
    etag[a->etag.len] = '\0';
    to->code = code_of(a->status, a->sub_status);
    to->http_status = a->status;
    to->sub_status = a->sub_status;
    to->etag = etag;
    to->body = rn_bytes_view(body);
    to->charge = a->charge;
    return RN_OK;
}

static int get_int(const struct rn_json *j, uint32_t value, int otherwise)
{
    int64_t n;

    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, &n) || n < 0 || n > INT32_MAX)
        return otherwise;
    return (int)n;
}

bool rn_operation_parse(const struct rn_json *j, uint32_t i,
                        struct rn_arena *arena, struct rn_operation_answer *out)
{
    uint32_t at = rn_json_at(j, 0, i);
    uint32_t etag = rn_json_find(j, at, RN_LIT("eTag"));
    uint32_t charge = rn_json_find(j, at, RN_LIT("requestCharge"));
    uint32_t body = rn_json_find(j, at, RN_LIT("resourceBody"));

    *out = (struct rn_operation_answer){ 0 };
    out->status = get_int(j, rn_json_find(j, at, RN_LIT("statusCode")), 0);
    out->sub_status =
        get_int(j, rn_json_find(j, at, RN_LIT("subStatusCode")), 0);
    out->retry_ms = (uint32_t)get_int(
        j, rn_json_find(j, at, RN_LIT("retryAfterMilliseconds")), 0);
    if (rn_json_kind(j, charge) == RN_JSON_NUMBER)
        out->charge = rn_json_double(j, charge);
    if (rn_json_kind(j, body) == RN_JSON_OBJECT)
        out->body = rn_json_text(j, body);
    if (rn_json_kind(j, etag) == RN_JSON_STRING &&
        rn_json_string_get(j, etag, arena, &out->etag) != RN_OK)
        return false;
    return out->status >= 100;
}

/* ---- requests ------------------------------------------------------------ */

static bool has_item(const runnel_operation *op)
{
    return op->kind == RUNNEL_CREATE || op->kind == RUNNEL_UPSERT ||
           op->kind == RUNNEL_REPLACE;
}

runnel_code rn_operation_check(const runnel_operation *op, struct rn_json *item,
                               runnel_error *error)
{
    enum rn_json_kind want =
        op->kind == RUNNEL_PATCH ? RN_JSON_ARRAY : RN_JSON_OBJECT;
    struct rn_err err = { 0 };
    enum rn_code rc;

    if ((unsigned)op->kind >= KINDS)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "an operation has an unknown kind");
    if (op->if_match && !op->if_match[0])
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "an operation has an empty if_match");
    if (!has_item(op) && (!op->key.id || !op->key.id[0]))
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "an operation lacks the id of its item");
    if (!has_item(op) && op->kind != RUNNEL_PATCH)
        return RUNNEL_OK;
    rc = rn_json_parse(item, rn_view_bytes(op->json), &err);
    if (!rc && rn_json_kind(item, 0) != want)
        rc = rn_fail(&err, RN_BAD_REQUEST, "the JSON of an operation is not %s",
                     want == RN_JSON_ARRAY ? "an array" : "an object");
    if (!rc && op->kind == RUNNEL_REPLACE &&
        rn_json_kind(item, rn_json_find(item, 0, RN_LIT("id"))) !=
            RN_JSON_STRING)
        rc = rn_fail(&err, RN_BAD_REQUEST, "an item to replace has no id");
    return rn_error_take(error, rc, &err);
}

void rn_operation_print(const runnel_operation *op, const struct rn_json *item,
                        struct rn_view key, struct rn_json_out *o)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("operationType"));
    rn_json_out_string(o, rn_view_text(names[op->kind]));
    if (key.len) {
        rn_json_out_key(o, RN_LIT("partitionKey"));
        rn_json_out_string(o, key);
    }
    if (op->kind == RUNNEL_REPLACE) {
        rn_json_out_key(o, RN_LIT("id"));
        rn_json_out_value(o, item, rn_json_find(item, 0, RN_LIT("id")));
    } else if (!has_item(op)) {
        rn_json_out_key(o, RN_LIT("id"));
        rn_json_out_string(o, rn_view_text(op->key.id));
    }
    if (op->if_match) {
        rn_json_out_key(o, RN_LIT("ifMatch"));
        rn_json_out_string(o, rn_view_text(op->if_match));
    }
    if (has_item(op)) {
        rn_json_out_key(o, RN_LIT("resourceBody"));
        rn_json_out_raw(o, rn_view_bytes(op->json));
    } else if (op->kind == RUNNEL_PATCH) {
        rn_json_out_key(o, RN_LIT("resourceBody"));
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("operations"));
        rn_json_out_raw(o, rn_view_bytes(op->json));
        rn_json_out_object_end(o);
    }
    rn_json_out_object_end(o);
}
