/* object_json.c -- the JSON of an object as it is served: the client's part,
 * then the system properties.
 */
#include "engine/catalog/object_json.h"

#include "engine/catalog/object.h"
#include "engine/engine_state.h"

#include "cosmos/permission.h"
#include "json/print.h"

enum { BODY_MAX = 4 << 20 };

/* ---- the client's part --------------------------------------------------- */

/* System properties are replaced: clients send back what they have read. */
static bool is_system(enum rn_kind kind, const struct rn_json *j, uint32_t name)
{
    static const char *const names[] = {
        "_rid",   "_self",  "_etag",        "_ts",
        "_colls", "_users", "_permissions", "_token",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rn_json_string_is(j, name, rn_view_text(names[i])))
            return true;
    }
    return kind == RN_KIND_CLIENT_KEY &&
           rn_json_string_is(j, name, RN_LIT("createTimestamp"));
}

static enum rn_code check_text(const struct rn_json *j, const char *name,
                               struct rn_err *err)
{
    if (rn_json_kind(j, rn_json_find(j, 0, rn_view_text(name))) ==
        RN_JSON_STRING)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The input content is invalid because the required "
                   "properties - '%s; ' - are missing",
                   name);
}

static enum rn_code check_client_key(const struct rn_json *j,
                                     struct rn_err *err)
{
    uint32_t metadata = rn_json_find(j, 0, RN_LIT("keyWrapMetadata"));
    enum rn_code rc = check_text(j, "encryptionAlgorithm", err);

    if (!rc)
        rc = check_text(j, "wrappedDataEncryptionKey", err);
    if (!rc && rn_json_kind(j, metadata) != RN_JSON_OBJECT) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The input content is invalid because the required "
                     "properties - 'keyWrapMetadata; ' - are missing");
    }
    return rc;
}

static enum rn_code check(enum rn_kind kind, const struct rn_json *j,
                          struct rn_view json, struct rn_err *err)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_permission p;
    enum rn_code rc = RN_OK;

    if (kind == RN_KIND_CLIENT_KEY)
        rc = check_client_key(j, err);
    else if (kind == RN_KIND_PERMISSION)
        rc = rn_permission_parse(json, &arena, &p, err);
    rn_arena_release(&arena);
    return rc;
}

enum rn_code rn_object_json_print(enum rn_kind kind, struct rn_view json,
                                  struct rn_buf *out, struct rn_err *err)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, err);
    if (!rc)
        rc = check(kind, &j, json, err);
    if (rc)
        goto out;
    w = rn_json_walk_begin(&j, 0);
    rn_json_out_object_begin(&o);
    while (rn_json_walk_next(&w)) {
        if (!is_system(kind, &j, w.name))
            rn_json_out_member(&o, &j, w.name, w.value);
    }
    rn_json_out_object_end(&o);
    rc = rn_json_out_finish(&o);
    if (rc)
        rn_fail(err, rc, "the body of the request: %s", rn_code_name(rc));
    else
        out->len--; /* the closing brace: system properties follow */
out:
    rn_json_release(&j);
    return rc;
}

/* ---- system properties --------------------------------------------------- */

/* The names of the lists of an object's contents. */
static struct rn_view lists(enum rn_kind kind)
{
    if (kind == RN_KIND_DATABASE)
        return RN_LIT(",\"_colls\":\"colls/\",\"_users\":\"users/\"}");
    if (kind == RN_KIND_CONTAINER) {
        return RN_LIT(",\"_docs\":\"docs/\",\"_sprocs\":\"sprocs/\","
                      "\"_triggers\":\"triggers/\",\"_udfs\":\"udfs/\","
                      "\"_conflicts\":\"conflicts/\"}");
    }
    if (kind == RN_KIND_USER)
        return RN_LIT(",\"_permissions\":\"permissions/\"}");
    return RN_LIT("}");
}

static enum rn_code print_system(struct rn_buf *out, const struct rn_object *o)
{
    char rid[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX], etag[RN_ETAG_LEN];
    struct rn_view r = rn_rid_print(o->rid, rid);
    struct rn_view s = rn_rid_print_self(o->rid, self);
    enum rn_code rc;

    rn_etag_print(o->etag, etag);
    rc = rn_buf_printf(
        out,
        ",\"_rid\":\"%.*s\",\"_ts\":%lld,\"_self\":\"%.*s\",\"_etag\":"
        "\"\\\"%.*s\\\"\"",
        RN_FMT(r), (long long)o->ts, RN_FMT(s), RN_ETAG_LEN - 2, etag + 1);
    if (!rc && o->kind == RN_KIND_CLIENT_KEY)
        rc = rn_buf_printf(out, ",\"createTimestamp\":%lld",
                           (long long)o->created_ts);
    return rc ? rc : rn_buf_add(out, lists(o->kind));
}

enum rn_code rn_object_json_finish(const struct rn_object *like,
                                   struct rn_view id, struct rn_view text,
                                   struct rn_object **out)
{
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    enum rn_code rc = rn_buf_add(&body, text);

    if (!rc)
        rc = print_system(&body, like);
    if (!rc)
        rc = rn_object_new(like->kind, like->rid, id, rn_buf_view(&body), out);
    rn_buf_release(&body);
    if (rc)
        return rc;
    (*out)->etag = like->etag;
    (*out)->ts = like->ts;
    (*out)->throughput = like->throughput;
    (*out)->autoscale = like->autoscale;
    (*out)->number = like->number;
    (*out)->has_series = like->has_series;
    return RN_OK;
}
