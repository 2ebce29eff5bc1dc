/* container.c -- a container and its caches; see container.h. */
#include "client/account/container.h"

#include "client/account/call.h"

#include <pthread.h>
#include <stdio.h>

enum {
    DEFINITION_MAX = 4 << 20,
    RANGE_READS_MAX = 1000, /* give up on a server that never answers 304 */
    MAP_READS_MAX = 5,      /* during a split a map may have holes */
};

#define MAP_PAUSE_NS INT64_C(20000000)

/* Rank 2 of the client's locks; held over a swap, never over a request. */
struct rn_client_container {
    atomic_uint refs;
    struct rn_account *account;
    struct rn_cancel cancel;
    char *database, *name, *path;
    pthread_mutex_t lock;
    struct rn_definition *definition;
    struct rn_routing *routing;
    bool is_stale; /* the routing map must be read again */
};

/* ---- opening ------------------------------------------------------------- */

static char *print_path(const char *database, const char *name)
{
    size_t size = strlen(database) + strlen(name) + sizeof("dbs//colls/");
    char *path = rn_new(size);

    if (path)
        snprintf(path, size, "dbs/%s/colls/%s", database, name);
    return path;
}

runnel_code rn_name_check(enum rn_kind kind, const char *id,
                          runnel_error *error)
{
    struct rn_err err = { 0 };
    enum rn_code rc = rn_id_check(kind, rn_view_text(id ? id : ""), &err);

    return rn_error_take(error, rc, &err);
}

runnel_code rn_client_container_open(struct rn_account *account,
                                     const char *database,
                                     const char *container,
                                     struct rn_client_container **out,
                                     runnel_error *error)
{
    struct rn_client_container *c;
    runnel_code rc = rn_name_check(RN_KIND_DATABASE, database, error);

    if (!rc)
        rc = rn_name_check(RN_KIND_CONTAINER, container, error);
    if (rc)
        return rc;
    c = rn_new(sizeof(*c));
    if (!c)
        return rn_error_no_memory(error);
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    c->account = rn_account_ref(account);
    c->cancel.parent = rn_account_cancel(account);
    c->database = rn_new_text(database);
    c->name = rn_new_text(container);
    c->path = print_path(database, container);
    if (!c->database || !c->name || !c->path) {
        rn_client_container_unref(c);
        return rn_error_no_memory(error);
    }
    *out = c;
    return RUNNEL_OK;
}

struct rn_client_container *
rn_client_container_ref(struct rn_client_container *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void rn_client_container_unref(struct rn_client_container *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    rn_definition_unref(c->definition);
    rn_routing_unref(c->routing);
    rn_account_unref(c->account);
    pthread_mutex_destroy(&c->lock);
    rn_free(c->database);
    rn_free(c->name);
    rn_free(c->path);
    rn_free(c);
}

struct rn_account *
rn_client_container_account(const struct rn_client_container *c)
{
    return c->account;
}

struct rn_cancel *rn_client_container_cancel(struct rn_client_container *c)
{
    return &c->cancel;
}

struct rn_view rn_client_container_path(const struct rn_client_container *c)
{
    return rn_view_text(c->path);
}

struct rn_link rn_client_container_link(const struct rn_client_container *c)
{
    return (struct rn_link){ .kind = RN_KIND_CONTAINER,
                             .depth = 2,
                             .ids = { rn_view_text(c->database),
                                      rn_view_text(c->name) } };
}

struct rn_link rn_client_container_list(const struct rn_client_container *c,
                                        enum rn_kind kind)
{
    struct rn_link link = rn_client_container_link(c);

    link.kind = kind;
    link.is_list = true;
    return link;
}

struct rn_link rn_client_container_item(const struct rn_client_container *c,
                                        const char *id)
{
    struct rn_link link = rn_client_container_link(c);

    link.kind = RN_KIND_DOCUMENT;
    link.ids[link.depth++] = rn_view_text(id);
    return link;
}

/* ---- the definition ------------------------------------------------------ */

void rn_definition_unref(struct rn_definition *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) != 1)
        return;
    rn_arena_release(&d->arena);
    rn_free(d);
}

/* A container without a partition key lacks this member. */
static enum rn_code fill_definition(struct rn_definition *d,
                                    const struct rn_json *j)
{
    uint32_t key = rn_json_find(j, 0, RN_LIT("partitionKey"));
    struct rn_view rid = rn_json_text(j, rn_json_find(j, 0, RN_LIT("_rid")));
    enum rn_code rc = RN_OK;
    char *copy;

    if (rid.len == 0 || rid.len > 31)
        return RN_CORRUPT;
    copy = rn_arena_alloc(&d->arena, rid.len + 1);
    if (!copy)
        return RN_NOMEM;
    memcpy(copy, rid.at, rid.len);
    copy[rid.len] = '\0';
    d->rid = copy;
    if (key != RN_JSON_NONE)
        rc = rn_pkdef_parse(j, key, &d->arena, &d->key, NULL);
    return rc == RN_BAD_REQUEST ? RN_CORRUPT : rc;
}

static runnel_code parse_definition(struct rn_view body,
                                    struct rn_definition **out,
                                    runnel_error *error)
{
    struct rn_definition *d = rn_new(sizeof(*d));
    enum rn_code rc = d ? RN_OK : RN_NOMEM;
    struct rn_view text = { 0 };
    struct rn_json j;

    if (rc)
        return rn_error_take(error, rc, NULL);
    rn_json_init(&j, NULL);
    atomic_init(&d->refs, 1);
    d->arena = RN_ARENA_INIT(DEFINITION_MAX);
    /* The key's views are of the text. */
    text = rn_arena_copy(&d->arena, body);
    rc = text.at ? rn_json_parse(&j, text, NULL) : RN_NOMEM;
    if (rc == RN_BAD_REQUEST)
        rc = RN_CORRUPT;
    if (!rc)
        rc = fill_definition(d, &j);
    rn_json_release(&j);
    if (rc)
        rn_definition_unref(d);
    else
        *out = d;
    if (rc == RN_CORRUPT) {
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "the server's definition of the container cannot "
                            "be read");
    }
    return rn_error_take(error, rc, NULL);
}

static struct rn_definition *peek(struct rn_client_container *c)
{
    struct rn_definition *d;

    pthread_mutex_lock(&c->lock);
    d = c->definition;
    if (d)
        atomic_fetch_add(&d->refs, 1);
    pthread_mutex_unlock(&c->lock);
    return d;
}

runnel_code rn_client_container_learn(struct rn_client_container *c,
                                      struct rn_view body,
                                      struct rn_definition **out,
                                      runnel_error *error)
{
    struct rn_definition *d = NULL, *old;
    runnel_code rc = parse_definition(body, &d, error);

    if (rc)
        return rc;
    pthread_mutex_lock(&c->lock);
    old = c->definition;
    c->definition = d;
    atomic_fetch_add(&d->refs, 1);
    pthread_mutex_unlock(&c->lock);
    rn_definition_unref(old);
    *out = d;
    return RUNNEL_OK;
}

runnel_code rn_client_container_define(struct rn_client_container *c,
                                       const struct rn_cancel *cancel,
                                       struct rn_definition **out,
                                       runnel_error *error)
{
    struct rn_link link = rn_client_container_link(c);
    struct rn_definition *d = peek(c);
    struct rn_client_call call;
    runnel_code rc;

    *out = d;
    if (d)
        return RUNNEL_OK;
    rn_client_call_init(&call, c->account, "GET", RN_EFFECT_READ, &link);
    call.cancel = cancel ? cancel : &c->cancel;
    rc = rn_client_call_run(&call, error);
    if (!rc)
        rc = rn_client_container_learn(c, rn_buf_view(&call.exchange.answer),
                                       out, error);
    rn_client_call_release(&call);
    return rc;
}

void rn_client_container_rid(struct rn_client_container *c, char out[32])
{
    pthread_mutex_lock(&c->lock);
    snprintf(out, 32, "%s", c->definition ? c->definition->rid : "");
    pthread_mutex_unlock(&c->lock);
}

void rn_client_container_forget(struct rn_client_container *c)
{
    struct rn_definition *d;
    struct rn_routing *m;

    pthread_mutex_lock(&c->lock);
    d = c->definition;
    m = c->routing;
    c->definition = NULL;
    c->routing = NULL;
    pthread_mutex_unlock(&c->lock);
    rn_sessions_drop(rn_account_sessions(c->account), rn_view_text(c->path));
    rn_definition_unref(d);
    rn_routing_unref(m);
}

/* ---- the routing map ----------------------------------------------------- */

struct rn_routing *rn_client_container_routing(struct rn_client_container *c)
{
    struct rn_routing *m;

    pthread_mutex_lock(&c->lock);
    m = rn_routing_ref(c->routing);
    pthread_mutex_unlock(&c->lock);
    return m;
}

void rn_client_container_reroute(struct rn_client_container *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_stale = true;
    pthread_mutex_unlock(&c->lock);
}

/* One page of ranges behind `*map`, which it replaces; `*more` is false when
 * there is nothing new. */
static runnel_code read_ranges(struct rn_client_container *c,
                               const struct rn_cancel *cancel,
                               struct rn_routing **map, bool *more,
                               runnel_error *error)
{
    struct rn_link link = rn_client_container_list(c, RN_KIND_RANGE);
    struct rn_view etag = { 0 }, body;
    struct rn_routing *next = NULL;
    struct rn_client_call call;
    runnel_code rc;

    *more = false;
    rn_client_call_init(&call, c->account, "GET", RN_EFFECT_READ, &link);
    call.cancel = cancel ? cancel : &c->cancel;
    rc = rn_headers_add(&call.request.headers, RN_HEADER_A_IM,
                        RN_LIT("Incremental feed"), error);
    if (!rc)
        rc = rn_headers_add(&call.request.headers, RN_HEADER_MAX_ITEM_COUNT,
                            RN_LIT("-1"), error);
    if (!rc && *map && (*map)->etag[0])
        rc = rn_headers_add(&call.request.headers, RN_HEADER_IF_NONE_MATCH,
                            rn_view_text((*map)->etag), error);
    if (!rc)
        rc = rn_client_call_run(&call, error);
    body = rn_buf_view(&call.exchange.answer);
    if (!rc && body.len > 0) {
        etag = rn_headers_find(&call.exchange.answer_headers, RN_HEADER_ETAG);
        rc = rn_routing_apply(*map, body, etag, &next, error);
        *more = !rc && etag.len > 0 &&
                !(*map && rn_view_eq(etag, rn_view_text((*map)->etag)));
    }
    if (next) {
        rn_routing_unref(*map);
        *map = next;
    }
    rn_client_call_release(&call);
    return rc;
}

/* Reads all that is new since `base`, or everything.  The caller unrefs it. */
static runnel_code read_map(struct rn_client_container *c,
                            const struct rn_cancel *cancel,
                            struct rn_routing *base, struct rn_routing **out,
                            runnel_error *error)
{
    struct rn_routing *map = rn_routing_ref(base);
    bool more = true;
    runnel_code rc = RUNNEL_OK;

    for (int i = 0; !rc && more && i < RANGE_READS_MAX; i++)
        rc = read_ranges(c, cancel, &map, &more, error);
    if (!rc && (!map || !rn_routing_is_complete(map))) {
        rc = rn_error_set(error, RUNNEL_BUSY,
                          "the partition key ranges of the container have a "
                          "hole");
    }
    if (rc)
        rn_routing_unref(map);
    else
        *out = map;
    return rc;
}

static void keep_map(struct rn_client_container *c, struct rn_routing *map)
{
    struct rn_routing *old;

    pthread_mutex_lock(&c->lock);
    old = c->routing;
    c->routing = rn_routing_ref(map);
    c->is_stale = false;
    pthread_mutex_unlock(&c->lock);
    rn_routing_unref(old);
}

runnel_code rn_client_container_route(struct rn_client_container *c,
                                      const struct rn_cancel *cancel,
                                      const struct rn_routing *stale,
                                      struct rn_routing **out,
                                      runnel_error *error)
{
    struct rn_env *env = rn_account_env(c->account);
    struct rn_routing *base = rn_client_container_routing(c), *map = NULL;
    bool is_stale;
    runnel_code rc = RUNNEL_BUSY;

    pthread_mutex_lock(&c->lock);
    is_stale = c->is_stale;
    pthread_mutex_unlock(&c->lock);
    if (base && base != stale && !is_stale) {
        *out = base;
        return RUNNEL_OK;
    }
    /* The first read is incremental, the others are whole. */
    for (int i = 0; rc == RUNNEL_BUSY && i < MAP_READS_MAX; i++) {
        if (i > 1)
            env->ops->sleep(env, MAP_PAUSE_NS);
        rc = read_map(c, cancel, i == 0 ? base : NULL, &map, error);
    }
    rn_routing_unref(base);
    if (rc)
        return rc;
    keep_map(c, map);
    *out = map;
    return RUNNEL_OK;
}
