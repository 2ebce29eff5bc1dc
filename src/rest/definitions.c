/* definitions.c -- a container's definition, translated between the client's
 * API version and the stored form.
 *
 * Before 2018-12-31 a path had kinds of indexes (`indexes`), which later
 * clients do not see, and a container could lack a partition key.  It is stored
 * with a system key (`systemKey`), and a client of those versions neither sends
 * that key nor sees it:
 *
 *   sent    a partitionKey that is absent, null or without paths stands for
 *           the system key, or for the stored one if the container has such
 *   shown   partitionKey is left out if it is the system key
 */
#include "rest/definitions.h"

#include "rest/context.h"

#include "json/json.h"
#include "json/print.h"

static const char member[] = "partitionKey";

static bool is_early_client(const struct rn_context *x)
{
    struct rn_view version = rn_context_header(x, RN_HEADER_VERSION);

    return version.len > 0 &&
           rn_view_compare(version, RN_LIT("2018-12-31")) < 0;
}

/* ---- shown --------------------------------------------------------------- */

static void print_path(struct rn_json_out *o, const struct rn_json *j,
                       uint32_t path)
{
    struct rn_json_walk w = rn_json_walk_begin(j, path);

    rn_json_out_object_begin(o);
    while (rn_json_walk_next(&w)) {
        if (!rn_json_string_is(j, w.name, RN_LIT("indexes")))
            rn_json_out_member(o, j, w.name, w.value);
    }
    rn_json_out_object_end(o);
}

static void print_policy(struct rn_json_out *o, const struct rn_json *j,
                         uint32_t policy)
{
    struct rn_json_walk v, w = rn_json_walk_begin(j, policy);

    rn_json_out_object_begin(o);
    while (rn_json_walk_next(&w)) {
        if (!rn_json_string_is(j, w.name, RN_LIT("includedPaths"))) {
            rn_json_out_member(o, j, w.name, w.value);
            continue;
        }
        rn_json_out_key(o, RN_LIT("includedPaths"));
        rn_json_out_array_begin(o);
        for (v = rn_json_walk_begin(j, w.value); rn_json_walk_next(&v);)
            print_path(o, j, v.value);
        rn_json_out_array_end(o);
    }
    rn_json_out_object_end(o);
}

static void print_shown(struct rn_json_out *o, const struct rn_json *j,
                        bool is_early)
{
    struct rn_json_walk w = rn_json_walk_begin(j, 0);

    rn_json_out_object_begin(o);
    while (rn_json_walk_next(&w)) {
        if (is_early && rn_json_string_is(j, w.name, rn_view_text(member)))
            continue;
        if (is_early ||
            !rn_json_string_is(j, w.name, RN_LIT("indexingPolicy"))) {
            rn_json_out_member(o, j, w.name, w.value);
            continue;
        }
        rn_json_out_key(o, RN_LIT("indexingPolicy"));
        print_policy(o, j, w.value);
    }
    rn_json_out_object_end(o);
}

enum rn_code rn_definition_show(const struct rn_context *x,
                                const struct rn_object *container,
                                struct rn_buf *out)
{
    static const char indexes[] = "\"indexes\":";
    struct rn_view body = container->body;
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    bool is_early = is_early_client(x);
    struct rn_json j;
    enum rn_code rc;

    if (is_early ? !container->container->pkdef.is_system
                 : !memmem(body.at, body.len, indexes, sizeof(indexes) - 1))
        return rn_buf_add(out, body);
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, body, NULL);
    if (!rc) {
        print_shown(&o, &j, is_early);
        rc = rn_json_out_finish(&o);
    }
    rn_json_release(&j);
    return rc;
}

/* ---- sent ---------------------------------------------------------------- */

static bool has_key(const struct rn_json *j)
{
    uint32_t key = rn_json_find(j, 0, rn_view_text(member));
    uint32_t paths = rn_json_find(j, key, RN_LIT("paths"));

    if (rn_json_kind(j, key) == RN_JSON_OBJECT)
        return rn_json_kind(j, paths) != RN_JSON_ARRAY ||
               rn_json_count(j, paths) > 0;
    return rn_json_kind(j, key) != RN_JSON_UNDEFINED &&
           rn_json_kind(j, key) != RN_JSON_NULL;
}

static enum rn_code print_key(struct rn_json_out *o,
                              const struct rn_object *old)
{
    struct rn_buf key = RN_BUF_INIT(4096);
    enum rn_code rc;

    if (old)
        rc = rn_pkdef_print(&old->container->pkdef, &key);
    else
        rc = rn_buf_add(&key, RN_LIT("{\"paths\":[\"/_partitionKey\"],"
                                     "\"kind\":\"Hash\",\"systemKey\":true}"));
    rn_json_out_key(o, rn_view_text(member));
    rn_json_out_raw(o, rn_buf_view(&key));
    rn_buf_release(&key);
    return rc;
}

static enum rn_code add_key(struct rn_context *x, const struct rn_json *j,
                            const struct rn_object *old, struct rn_view *body)
{
    struct rn_buf text = RN_BUF_INIT(RN_CALL_BODY_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);
    struct rn_json_walk w = rn_json_walk_begin(j, 0);
    enum rn_code rc;

    rn_json_out_object_begin(&o);
    rc = print_key(&o, old);
    while (rn_json_walk_next(&w)) {
        if (!rn_json_string_is(j, w.name, rn_view_text(member)))
            rn_json_out_member(&o, j, w.name, w.value);
    }
    rn_json_out_object_end(&o);
    if (!rc)
        rc = rn_json_out_finish(&o);
    if (!rc)
        *body = rn_arena_copy(&x->call->arena, rn_buf_view(&text));
    rn_buf_release(&text);
    return rc || !body->at ? rn_fail(&x->err, RN_NOMEM, "out of memory")
                           : RN_OK;
}

enum rn_code rn_definition_accept(struct rn_context *x, struct rn_view *body)
{
    const struct rn_object *old = x->object;
    struct rn_json j;
    enum rn_code rc;

    if (!is_early_client(x) || (old && !old->container->pkdef.is_system))
        return RN_OK;
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, *body, &x->err);
    if (!rc && rn_json_kind(&j, 0) == RN_JSON_OBJECT && !has_key(&j))
        rc = add_key(x, &j, old, body);
    rn_json_release(&j);
    return rc;
}
