/* scope.c -- see scope.h. */
#include "client/feed/scope.h"

enum { KEY_ARENA_MAX = 64 << 10 };

runnel_code rn_scope_parse_range(struct rn_view text, struct rn_epk_range *out,
                                 runnel_error *error)
{
    const char *dash = text.len ? memchr(text.at, '-', text.len) : NULL;
    size_t min = dash ? (size_t)(dash - text.at) : 0;
    struct rn_epk_range range;

    if (!dash || rn_epk_parse(rn_view_of(text.at, min), &range.min, NULL) ||
        rn_epk_parse(rn_view_of(dash + 1, text.len - min - 1), &range.max,
                     NULL) ||
        rn_epk_compare(&range.min, &range.max) >= 0) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "range: \"%.*s\" is not an interval",
                            (int)(text.len < 80 ? text.len : 80), text.at);
    }
    *out = range;
    return RUNNEL_OK;
}

enum rn_code rn_scope_print_range(const struct rn_epk_range *range,
                                  struct rn_buf *out)
{
    char text[RN_EPK_TEXT_MAX];
    enum rn_code rc = rn_buf_add(out, rn_epk_print(&range->min, text));

    if (!rc)
        rc = rn_buf_add(out, RN_LIT("-"));
    return rc ? rc : rn_buf_add(out, rn_epk_print(&range->max, text));
}

static runnel_code range_resolve(const char *range,
                                 const struct rn_routing *map,
                                 struct rn_epk_range *out, runnel_error *error)
{
    const struct rn_range_route *route;

    if (strchr(range, '-'))
        return rn_scope_parse_range(rn_view_text(range), out, error);
    route = rn_routing_named(map, rn_view_text(range));
    if (!route) {
        return rn_error_set(error, RUNNEL_GONE,
                            "range: there is no partition key range \"%.40s\"",
                            range);
    }
    *out = route->range;
    return RUNNEL_OK;
}

static runnel_code key_resolve(const char *key,
                               const struct rn_definition *definition,
                               struct rn_scope *s, runnel_error *error)
{
    const struct rn_pkdef *def = &definition->key;
    struct rn_arena arena = RN_ARENA_INIT(KEY_ARENA_MAX);
    struct rn_err err;
    struct rn_pk pk;
    enum rn_code rc;

    key += strspn(key, " \t\r\n");
    /* A single value is an array of one. */
    rc = rn_buf_printf(&s->text, key[0] == '[' ? "%s" : "[%s]", key);
    if (!rc)
        rc = rn_pk_parse(rn_buf_view(&s->text), &arena, &pk, &err);
    if (!rc)
        rc = rn_pkdef_fit_prefix(def, &pk, &err);
    if (rc == RN_BAD_REQUEST) {
        rn_arena_release(&arena);
        return rn_error_set(error, RUNNEL_BAD_REQUEST, "partition_key: %.150s",
                            err.text);
    }
    if (!rc) {
        rn_epk_range_of(def, &pk, &s->keys);
        s->is_key = pk.count == def->count;
    }
    if (!rc && s->is_key) {
        struct rn_buf text = RN_BUF_INIT(s->text.ceiling);

        rc = rn_pk_print(&pk, &text);
        rn_buf_release(&s->text);
        s->text = text;
    }
    rn_arena_release(&arena);
    return rn_error_take(error, rc, NULL);
}

runnel_code rn_scope_resolve(const char *range, const char *partition_key,
                             const struct rn_definition *definition,
                             const struct rn_routing *map, struct rn_scope *out,
                             runnel_error *error)
{
    runnel_code code = RUNNEL_OK;
    enum rn_code rc;

    out->keys = rn_epk_all;
    out->is_key = false;
    rn_buf_clear(&out->text);
    if (range && partition_key)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "range and partition_key exclude each other");
    if (range)
        code = range_resolve(range, map, &out->keys, error);
    if (partition_key)
        code = key_resolve(partition_key, definition, out, error);
    if (code)
        return code;
    rc = RN_OK;
    if (!out->is_key) {
        rn_buf_clear(&out->text);
        rc = rn_scope_print_range(&out->keys, &out->text);
    }
    if (!rc)
        rc = rn_buf_reserve(&out->text, 1);
    if (!rc)
        out->text.at[out->text.len] = '\0';
    return rn_error_take(error, rc, NULL);
}

void rn_scope_release(struct rn_scope *s)
{
    rn_buf_release(&s->text);
}
