/* key.c -- partition keys, from a caller's JSON or from an item. */
#include "client/api/key.h"

enum { KEY_ARENA_MAX = 64 << 10 };

/* The key of an item without one: a component for each path that is not
 * there, or none where a container has no key at all. */
static runnel_code print_none(struct rn_client_container *c, struct rn_buf *out,
                              runnel_error *error)
{
    struct rn_definition *d = NULL;
    struct rn_pk pk = { 0 };
    runnel_code rc = rn_client_container_define(c, NULL, &d, error);

    if (rc)
        return rc;
    pk.count = d->key.is_system ? 0 : d->key.count;
    rn_definition_unref(d);
    return rn_error_take(error, rn_pk_print(&pk, out), NULL);
}

runnel_code rn_key_print(struct rn_client_container *c, const char *json,
                         struct rn_buf *out, runnel_error *error)
{
    struct rn_arena arena = RN_ARENA_INIT(KEY_ARENA_MAX);
    struct rn_buf array = RN_BUF_INIT(RN_KEY_TEXT_MAX);
    struct rn_err err = { 0 };
    struct rn_pk pk;
    enum rn_code rc;
    const char *at = json;

    if (!json)
        return print_none(c, out, error);
    while (*at == ' ' || *at == '\n' || *at == '\t')
        at++;
    rc = rn_buf_printf(&array, *at == '[' ? "%s" : "[%s]", at);
    if (!rc)
        rc = rn_pk_parse(rn_buf_view(&array), &arena, &pk, &err);
    if (!rc)
        rc = rn_pk_print(&pk, out);
    rn_buf_release(&array);
    rn_arena_release(&arena);
    /* The message of the parser may repeat the key. */
    if (rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the partition key is not JSON as a key may be: a "
                            "value, or an array of up to three");
    }
    return rn_error_take(error, rc, NULL);
}

runnel_code rn_key_extract(const struct rn_definition *d,
                           const struct rn_json *item, struct rn_buf *out,
                           runnel_error *error)
{
    struct rn_arena arena = RN_ARENA_INIT(4 << 20);
    struct rn_err err = { 0 };
    struct rn_pk pk = { 0 };
    enum rn_code rc = RN_OK;

    if (!d->key.is_system && d->key.count > 0)
        rc = rn_pkdef_extract(&d->key, item, 0, &arena, &pk, &err);
    if (!rc)
        rc = rn_pk_print(&pk, out);
    rn_arena_release(&arena);
    return rn_error_take(error, rc, &err);
}
