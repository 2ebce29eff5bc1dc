/* cursor_parts.c -- the parts of a cursor: from token or scope, through splits
 * and merges, into a token; see cursor_parts.h. */
#include "client/feed/cursor_parts.h"

#include <assert.h>

enum {
    GONE_PAUSE_MS = 10, /* doubled */
    GONE_LIMIT = 9,
};

static runnel_code no_memory(runnel_error *error)
{
    return rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
}

static void part_free(struct rn_part *part)
{
    if (!part)
        return;
    rn_reader_release(&part->reader);
    rn_free(part);
}

void rn_feed_cursor_drop(struct rn_feed_cursor *c)
{
    for (size_t i = 0; i < c->count; i++)
        part_free(c->parts[i]);
    rn_free(c->parts);
    c->parts = NULL;
    c->count = c->room = 0;
}

/* Makes room for `more` parts behind place `at`, which stay empty. */
static runnel_code parts_open(struct rn_feed_cursor *c, size_t at, size_t more,
                              runnel_error *error)
{
    if (c->count + more > c->room) {
        size_t room = 2 * (c->count + more);
        struct rn_part **parts = rn_new(room * sizeof(struct rn_part *));

        if (!parts)
            return no_memory(error);
        if (c->count)
            memcpy(parts, c->parts, c->count * sizeof(struct rn_part *));
        rn_free(c->parts);
        c->parts = parts;
        c->room = room;
    }
    memmove(c->parts + at + more, c->parts + at,
            (c->count - at) * sizeof(struct rn_part *));
    memset(c->parts + at, 0, more * sizeof(struct rn_part *));
    c->count += more;
    return RUNNEL_OK;
}

static struct rn_part *part_new(const struct rn_feed_cursor *c,
                                const struct rn_epk_range *keys,
                                const struct rn_position *at)
{
    struct rn_part *part = rn_new(sizeof(*part));

    if (!part)
        return NULL;
    rn_reader_init(&part->reader, &c->source, keys, at);
    part->delivered = *at;
    return part;
}

static runnel_code part_add(struct rn_feed_cursor *c,
                            const struct rn_epk_range *keys,
                            const struct rn_position *at, runnel_error *error)
{
    struct rn_part *part = part_new(c, keys, at);
    runnel_code code =
        part ? parts_open(c, c->count, 1, error) : no_memory(error);

    if (code)
        part_free(part);
    else
        c->parts[c->count - 1] = part;
    return code;
}

/* ---- at the first next --------------------------------------------------- */

/* Do the parts of a token tile the scope that it names? */
static bool is_tiled(const struct rn_token *t, const struct rn_epk_range *keys)
{
    const struct rn_epk *at = &keys->min;

    for (size_t i = 0; i < t->count; i++) {
        if (rn_epk_compare(&t->parts[i].keys.min, at) != 0)
            return false;
        at = &t->parts[i].keys.max;
    }
    return rn_epk_compare(at, &keys->max) == 0;
}

/* The scope of a token, which the options must not contradict. */
static runnel_code scope_adopt(struct rn_feed_cursor *c,
                               const struct rn_token *t, runnel_error *error)
{
    const runnel_feed_options *o = &c->options;
    runnel_code code;

    if (o->range || o->partition_key) {
        code = rn_scope_resolve(o->range, o->partition_key, c->definition,
                                c->map, &c->scope, error);
        if (code)
            return code;
        if (strcmp(c->scope.text.at, t->scope) != 0)
            return rn_error_set(error, RUNNEL_BAD_REQUEST,
                                "token: it has another scope than the options");
    }
    code = rn_scope_resolve(t->is_key ? NULL : t->scope,
                            t->is_key ? t->scope : NULL, c->definition, c->map,
                            &c->scope, error);
    if (!code && !is_tiled(t, &c->scope.keys))
        code = rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: its parts do not make its scope");
    return code;
}

static runnel_code token_adopt(struct rn_feed_cursor *c,
                               const struct rn_token *t, runnel_error *error)
{
    runnel_code code;

    if (t->mode != c->options.mode)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: it has another mode than the options");
    if (strcmp(t->rid, c->definition->rid) != 0) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: it belongs to another container, or to one "
                            "that was deleted");
    }
    code = scope_adopt(c, t, error);
    c->start = t->start;
    c->source.since_s = t->since_s;
    for (size_t i = 0; !code && i < t->count; i++)
        code = part_add(c, &t->parts[i].keys, &t->parts[i].at, error);
    return code;
}

static runnel_code parts_of_token(struct rn_feed_cursor *c, runnel_error *error)
{
    struct rn_token token = RN_TOKEN_INIT;
    runnel_code code = rn_token_parse(c->options.token, &token, error);

    if (!code)
        code = token_adopt(c, &token, error);
    rn_token_release(&token);
    return code;
}

/* An etag is a position of one range; that the scope lies in one now, or did
 * when the etag was sent, only the caller can know. */
static runnel_code parts_of_etag(struct rn_feed_cursor *c, runnel_error *error)
{
    const runnel_feed_options *o = &c->options;
    struct rn_position at = { 0 };

    if (!o->range && !o->partition_key && c->map->count > 1)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: an etag needs the range it belongs to");
    if (rn_position_set(&at, rn_view_text(o->token), NULL))
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: it is neither a token nor an etag");
    return part_add(c, &c->scope.keys, &at, error);
}

static runnel_code parts_make(struct rn_feed_cursor *c, runnel_error *error)
{
    const runnel_feed_options *o = &c->options;
    runnel_code code;

    if (o->token && rn_token_is(o->token))
        return parts_of_token(c, error);
    code = rn_scope_resolve(o->range, o->partition_key, c->definition, c->map,
                            &c->scope, error);
    if (code)
        return code;
    if (o->token)
        return parts_of_etag(c, error);
    return part_add(c, &c->scope.keys, &c->start, error);
}

static int64_t since_of(const struct rn_position *start)
{
    return start->kind == RN_POSITION_TIME ? rn_position_second(start)
                                           : INT64_MIN;
}

runnel_code rn_feed_cursor_prepare(struct rn_feed_cursor *c,
                                   runnel_error *error)
{
    struct rn_pool *pool =
        rn_account_pool(rn_client_container_account(c->container));
    runnel_code code = RUNNEL_OK;

    if (c->is_prepared)
        return c->is_replaced ? rn_feed_cursor_check_rid(c, "", error)
                              : RUNNEL_OK;
    if (!c->definition)
        code = rn_client_container_define(c->container, &c->cancel,
                                          &c->definition, error);
    if (!code && !c->map)
        code = rn_client_container_route(c->container, &c->cancel, NULL,
                                         &c->map, error);
    if (!code && !c->transport)
        code = rn_pool_take_own(pool, &c->transport, error);
    if (code)
        return code;
    assert(c->definition);
    c->source = (struct rn_reader_source){
        .container = c->container,
        .definition = c->definition,
        .mode = c->options.mode,
        .page_limit = c->options.page_limit,
        .session_token = c->options.session_token,
        .since_s = since_of(&c->start),
    };
    code = parts_make(c, error);
    if (!code)
        code = rn_feed_cursor_print(c, &c->token, error);
    if (code) {
        rn_feed_cursor_drop(c);
        return code;
    }
    if (c->scope.is_key)
        c->source.key = c->scope.text.at;
    c->is_prepared = true;
    return RUNNEL_OK;
}

/* ---- splits and merges --------------------------------------------------- */

static runnel_code map_refresh(struct rn_feed_cursor *c, runnel_error *error)
{
    struct rn_routing *map = NULL;
    runnel_code code = rn_client_container_route(c->container, &c->cancel,
                                                 c->map, &map, error);

    if (code)
        return code;
    rn_routing_unref(c->map);
    c->map = map;
    c->is_map_stale = false;
    return RUNNEL_OK;
}

/* Replaces a part by one for each range that overlaps it, in place, at the same
 * position. */
static runnel_code part_divide(struct rn_feed_cursor *c, size_t i,
                               runnel_error *error)
{
    struct rn_part *whole = c->parts[i];
    size_t first = 0;
    size_t n = rn_routing_overlap(c->map, &whole->reader.keys, &first);
    runnel_code code = parts_open(c, i + 1, n - 1, error);

    if (code)
        return code;
    for (size_t k = 1; k < n; k++) {
        struct rn_epk_range keys;

        (void)rn_epk_range_meet(&whole->reader.keys,
                                &c->map->routes[first + k].range, &keys);
        c->parts[i + k] = part_new(c, &keys, &whole->reader.at);
        if (c->parts[i + k])
            continue;
        /* As it was: the parts made so far, and the holes, go again. */
        for (size_t m = 1; m < n; m++)
            part_free(c->parts[i + m]);
        memmove(c->parts + i + 1, c->parts + i + n,
                (c->count - i - n) * sizeof(struct rn_part *));
        c->count -= n - 1;
        return no_memory(error);
    }
    (void)rn_epk_range_meet(&whole->reader.keys, &c->map->routes[first].range,
                            &whole->reader.keys);
    (void)rn_reader_route(&whole->reader, c->map);
    for (size_t k = 1; k < n; k++)
        (void)rn_reader_route(&c->parts[i + k]->reader, c->map);
    return RUNNEL_OK;
}

runnel_code rn_feed_cursor_route(struct rn_feed_cursor *c, size_t i,
                                 runnel_error *error)
{
    struct rn_part *part = c->parts[i];
    struct rn_env *env =
        rn_account_env(rn_client_container_account(c->container));
    char before[RN_RANGE_ID_MAX + 1];
    runnel_code code = c->is_map_stale ? map_refresh(c, error) : RUNNEL_OK;

    if (code)
        return code;
    memcpy(before, part->reader.gone_id, sizeof(before));
    if (!rn_reader_route(&part->reader, c->map))
        return part_divide(c, i, error);
    if (strcmp(before, part->reader.range_id) != 0) {
        part->failed_routes = 0;
        return RUNNEL_OK;
    }
    /* The server says that the range is gone, and that it is there. */
    if (part->failed_routes == GONE_LIMIT) {
        part->failed_routes = 0;
        part->reader.range_id[0] = '\0';
        c->is_map_stale = true;
        return rn_error_set(error, RUNNEL_GONE,
                            "partition key range %s is gone, and is in the "
                            "list of ranges",
                            before);
    }
    part->due_ns = rn_mono_ns(env) +
                   ((int64_t)GONE_PAUSE_MS << part->failed_routes++) * 1000000;
    return RUNNEL_OK;
}

/* ---- identity ------------------------------------------------------------ */

runnel_code rn_feed_cursor_check_rid(struct rn_feed_cursor *c, const char *rid,
                                     runnel_error *error)
{
    struct rn_definition *now = NULL;
    char known[32];
    runnel_code code = RUNNEL_OK;

    /* The client forgets the definition when the server says that it means
     * another container. */
    rn_client_container_rid(c->container, known);
    if (rid[0] == '\0' && known[0] == '\0') {
        code =
            rn_client_container_define(c->container, &c->cancel, &now, error);
        if (!code)
            rid = now->rid;
    } else if (rid[0] == '\0') {
        rid = known;
    }
    c->is_replaced |= !code && strcmp(rid, c->definition->rid) != 0;
    if (c->is_replaced)
        code = rn_error_set(error, RUNNEL_NOT_FOUND,
                            "the container was deleted and created anew");
    rn_definition_unref(now);
    return code;
}

runnel_code rn_feed_cursor_print(const struct rn_feed_cursor *c,
                                 struct rn_buf *out, runnel_error *error)
{
    struct rn_token token = {
        .rid = c->definition->rid,
        .mode = c->options.mode,
        .scope = c->scope.text.at,
        .is_key = c->scope.is_key,
        .since_s = c->source.since_s,
        .start = c->start,
        .count = c->count,
    };
    runnel_code code;

    token.parts = rn_new(c->count * sizeof(*token.parts));
    if (!token.parts)
        return no_memory(error);
    for (size_t i = 0; i < c->count; i++) {
        token.parts[i].keys = c->parts[i]->reader.keys;
        token.parts[i].at = c->parts[i]->delivered;
    }
    code = rn_token_print(&token, out, error);
    rn_free(token.parts);
    return code;
}
