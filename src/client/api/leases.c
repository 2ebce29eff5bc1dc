/* leases.c -- leases for tools: listed, moved, released, cut, exported; see
 * runnel/processor.h.
 *
 * Every write is conditional.  A lease that changed meanwhile is read and
 * changed again.
 */
#include "client/api/own.h"
#include "client/feed/reader.h"
#include "client/http/options.h"
#include "client/lag/lag.h"

#include <stdio.h>

enum { ROUNDS_MAX = 20, EXPORT_MAX = 256 << 20 };

static runnel_code open_set(const runnel_lease_set *set, struct rn_lease_set *s,
                            runnel_error *error)
{
    runnel_lease_set known;
    runnel_code rc = rn_options_copy(&known, sizeof(known), set, error);

    *s = (struct rn_lease_set){ 0 };
    if (rc)
        return rc;
    if (!known.source)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a lease set needs a source");
    return rn_lease_set_open(s, &known, known.source->inner,
                             known.leases ? known.leases->inner : NULL, error);
}

/* The set, its leases and their intervals. */
static runnel_code open_list(const runnel_lease_set *set,
                             struct rn_lease_set *s, struct rn_listing *l,
                             struct rn_routing **map, runnel_error *error)
{
    runnel_code rc = open_set(set, s, error);

    *l = (struct rn_listing){ 0 };
    *map = NULL;
    if (!rc)
        rc = rn_container_route(s->source, NULL, map, error);
    if (!rc)
        rc = rn_lease_set_list(s, l, error);
    if (!rc)
        rn_listing_route(l, *map);
    return rc;
}

static void close_list(struct rn_lease_set *s, struct rn_listing *l,
                       struct rn_routing *map)
{
    rn_listing_release(l);
    rn_routing_unref(map);
    rn_lease_set_close(s);
}

/* ---- listing ------------------------------------------------------------- */

/* The texts of one lease, each with its NUL. */
struct shown {
    runnel_lease lease;
    struct rn_buf json;
    char token[RN_LEASE_TOKEN_MAX];
    char host[132];
    char position[RN_POSITION_MAX + 1];
    char min[RN_EPK_TEXT_MAX + 1];
    char max[RN_EPK_TEXT_MAX + 1];
    char range[RN_LEASE_TOKEN_MAX];
    char id[RN_RANGE_ID_MAX + 1];
};

static void show_range(struct shown *out, const struct rn_cover *cover,
                       const struct rn_routing *map)
{
    const struct rn_route *route = rn_routing_find(map, &cover->range.min);
    char text[RN_EPK_TEXT_MAX];

    snprintf(out->min, sizeof(out->min), "%.*s",
             RN_FMT(rn_epk_print(&cover->range.min, text)));
    snprintf(out->max, sizeof(out->max), "%.*s",
             RN_FMT(rn_epk_print(&cover->range.max, text)));
    rn_lease_token_print(&cover->range, out->range);
    snprintf(out->id, sizeof(out->id), "%s", route ? route->id : "");
    out->lease.range = (runnel_range){
        .id = out->id, .min = out->min, .max = out->max, .text = out->range
    };
}

static runnel_code show(struct shown *out, const struct rn_cover *cover,
                        const struct rn_routing *map)
{
    const struct rn_lease *l = cover->lease;
    runnel_code rc;

    rn_buf_clear(&out->json);
    rc = rn_lease_print(l, &out->json);
    if (rc)
        return rc;
    snprintf(out->token, sizeof(out->token), "%.*s", RN_FMT(l->token));
    snprintf(out->host, sizeof(out->host), "%.*s", RN_FMT(l->owner));
    snprintf(out->position, sizeof(out->position), "%.*s", RN_FMT(l->position));
    out->lease = (runnel_lease){
        .size = sizeof(out->lease),
        .lease = out->token,
        .host = l->owner.at ? out->host : NULL,
        .position = l->position.at ? out->position : NULL,
        .written_ms = l->timestamp_ms ? l->timestamp_ms : l->ts_s * 1000,
        .epoch = rn_lease_number(l, RN_LEASE_EPOCH),
        .generation = rn_lease_number(l, RN_LEASE_GENERATION),
        .is_foreign = l->owner.at && !rn_lease_is_native(l),
        .json = rn_bytes_view(rn_buf_view(&out->json)),
    };
    if (cover->has_range)
        show_range(out, cover, map);
    return RUNNEL_OK;
}

runnel_code runnel_leases_each(const runnel_lease_set *set,
                               bool (*each)(void *context,
                                            const runnel_lease *lease),
                               void *context, runnel_error *error)
{
    struct shown shown = { .json = RN_BUF_INIT(RN_LEASE_TEXT_MAX) };
    struct rn_lease_set s;
    struct rn_listing l;
    struct rn_routing *map;
    runnel_code rc = open_list(set, &s, &l, &map, error);

    for (size_t i = 0; !rc && i < l.count; i++) {
        rc = show(&shown, &l.covers[i], map);
        if (!rc && !each(context, &shown.lease))
            break;
    }
    rn_buf_release(&shown.json);
    close_list(&s, &l, map);
    return rc;
}

/* ---- changing ------------------------------------------------------------ */

/* A change of one lease; returns false if there is nothing to change. */
typedef bool change_fn(void *context, struct rn_lease *lease);

static runnel_code read_again(struct rn_lease_set *s,
                              struct rn_store_call *call,
                              struct rn_lease_document **document,
                              runnel_error *error)
{
    struct rn_lease_document *fresh = NULL;
    runnel_code rc;

    rn_store_call_release(call);
    rn_store_call_init(call, RN_STORE_READ);
    rc = rn_listing_address(call, &(*document)->lease);
    if (!rc)
        rc = rn_lease_set_run(s, call, error);
    if (!rc)
        rc = rn_store_record_lease(&call->records[0], &fresh, error);
    if (!rc) {
        rn_lease_document_free(*document);
        *document = fresh;
    }
    return rc;
}

static runnel_code change_lease(struct rn_lease_set *s,
                                struct rn_lease_document **document,
                                change_fn *change, void *context,
                                runnel_error *error)
{
    struct rn_store_call call;
    runnel_code rc = RUNNEL_PRECONDITION;

    rn_store_call_init(&call, RN_STORE_REPLACE);
    for (int i = 0; i < ROUNDS_MAX && rc == RUNNEL_PRECONDITION; i++) {
        struct rn_lease next = (*document)->lease;
        if (!change(context, &next)) {
            rc = RUNNEL_OK;
            break;
        }
        rn_store_call_release(&call);
        rn_store_call_init(&call, RN_STORE_REPLACE);
        rc = rn_listing_address(&call, &next);
        if (!rc)
            rc = rn_lease_print(&next, &call.json);
        if (!rc)
            rc = rn_lease_set_run(s, &call, error);
        if (rc == RUNNEL_PRECONDITION || rc == RUNNEL_UNCERTAIN) {
            rc = read_again(s, &call, document, error);
            if (!rc)
                rc = RUNNEL_PRECONDITION;
        }
    }
    rn_store_call_release(&call);
    return rc;
}

/* Changes the lease of this token, or with NULL all. */
static runnel_code change_all(struct rn_lease_set *s, struct rn_listing *l,
                              const char *token, change_fn *change,
                              void *context, runnel_error *error)
{
    bool is_found = false;
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < l->count; i++) {
        if (token &&
            !rn_view_eq(l->leases[i]->lease.token, rn_view_text(token)))
            continue;
        is_found = true;
        rc = change_lease(s, &l->leases[i], change, context, error);
    }
    if (!rc && !is_found)
        rc = rn_error_set(error, RUNNEL_NOT_FOUND, "there is no lease %s",
                          token ? token : "at all");
    return rc;
}

static bool release_owner(void *context, struct rn_lease *lease)
{
    (void)context;
    if (!lease->owner.at)
        return false;
    lease->owner = (struct rn_view){ 0 };
    return true;
}

runnel_code runnel_leases_release(const runnel_lease_set *set,
                                  const char *lease, runnel_error *error)
{
    struct rn_lease_set s;
    struct rn_listing l;
    struct rn_routing *map;
    runnel_code rc = open_list(set, &s, &l, &map, error);

    if (!rc)
        rc = change_all(&s, &l, lease, release_owner, NULL, error);
    close_list(&s, &l, map);
    return rc;
}

/* ---- seek ---------------------------------------------------------------- */

struct seek {
    struct rn_position to;
    char generation[24];
    char start[48];
};

/* A native host sees the new generation and moves.  A foreign one would write
 * its old position over ours, so the lease is taken from it. */
static bool move_lease(void *context, struct rn_lease *lease)
{
    struct seek *seek = context;
    struct rn_view none = { 0 };
    bool is_etag = seek->to.kind == RN_POSITION_ETAG;

    snprintf(seek->generation, sizeof(seek->generation), "%llu",
             (unsigned long long)rn_lease_number(lease, RN_LEASE_GENERATION) +
                 1);
    snprintf(seek->start, sizeof(seek->start), "beginning");
    if (seek->to.kind == RN_POSITION_TIME)
        snprintf(seek->start, sizeof(seek->start), "time:%lld",
                 (long long)(seek->to.time_ms / 1000));
    lease->position = is_etag ? rn_view_text(seek->to.etag) : none;
    if (lease->owner.at && !rn_lease_is_native(lease))
        lease->owner = none;
    return rn_lease_set(lease, RN_LEASE_GENERATION,
                        rn_view_text(seek->generation)) &&
           rn_lease_set(lease, RN_LEASE_ATTEMPTS, none) &&
           rn_lease_set(lease, RN_LEASE_START,
                        is_etag ? none : rn_view_text(seek->start));
}

/* "Now" of one interval is an etag that the server says. */
static runnel_code read_now(struct rn_lease_set *s, const struct rn_cover *c,
                            const struct rn_routing *map,
                            const runnel_feed_options *to,
                            struct rn_position *at, runnel_error *error)
{
    struct rn_feed_source source = { .container = s->source,
                                     .definition = s->definition,
                                     .mode = to->mode,
                                     .since_s = INT64_MIN };
    struct rn_transport *t = s->transport;
    enum rn_reader_event event;
    struct rn_reader r;
    int64_t next = 0;
    runnel_code rc = RUNNEL_OK;

    rn_reader_init(&r, &source, &c->range, at);
    if (!c->has_range || !rn_reader_route(&r, map))
        return rn_error_set(error, RUNNEL_GONE,
                            "the lease's range was split; let a host run");
    rn_reader_ask(&r, t, 0);
    while ((event = rn_reader_step(&r, &next)) == RN_READER_NONE)
        t->ops->wait(t, next);
    if (event == RN_READER_FAILED || event == RN_READER_GONE) {
        rc = event == RN_READER_GONE ? RUNNEL_GONE : r.code;
        if (error)
            *error = r.error;
    } else {
        *at = r.at;
    }
    rn_reader_release(&r);
    return rc;
}

static runnel_code seek_one(struct rn_lease_set *s, struct rn_listing *l,
                            size_t i, const struct rn_routing *map,
                            const runnel_feed_options *to, runnel_error *error)
{
    struct seek seek = { .generation = "" };
    runnel_code rc =
        rn_position_start(to, RUNNEL_START_BEGINNING, &seek.to, error);

    if (!rc && to->token)
        rc = rn_position_set(&seek.to, rn_view_text(to->token), error);
    else if (!rc && seek.to.kind == RN_POSITION_NOW)
        rc = read_now(s, &l->covers[i], map, to, &seek.to, error);
    return rc ? rc : change_lease(s, &l->leases[i], move_lease, &seek, error);
}

runnel_code runnel_leases_seek(const runnel_lease_set *set, const char *lease,
                               const runnel_feed_options *to,
                               runnel_error *error)
{
    runnel_feed_options known;
    struct rn_lease_set s;
    struct rn_listing l;
    struct rn_routing *map;
    bool is_found = false;
    runnel_code rc = rn_options_copy(&known, sizeof(known), to, error);

    if (rc)
        return rc;
    rc = open_list(set, &s, &l, &map, error);
    for (size_t i = 0; !rc && i < l.count; i++) {
        if (lease && !rn_view_eq(l.leases[i]->lease.token, rn_view_text(lease)))
            continue;
        is_found = true;
        rc = seek_one(&s, &l, i, map, &known, error);
    }
    if (!rc && !is_found)
        rc = rn_error_set(error, RUNNEL_NOT_FOUND, "there is no such lease");
    close_list(&s, &l, map);
    return rc;
}

/* ---- cut ----------------------------------------------------------------- */

/* The bounds between the halves of halves, in order: "BOUND,BOUND". */
static enum rn_code print_bounds(const struct rn_pkdef *key,
                                 const struct rn_epk_range *range,
                                 uint32_t pieces, struct rn_buf *out)
{
    struct rn_epk_range half = *range;
    char text[RN_EPK_TEXT_MAX];
    struct rn_epk middle;
    enum rn_code rc;

    if (pieces <= 1 || !rn_epk_middle(key, range, &middle))
        return RN_OK;
    half.max = middle;
    rc = print_bounds(key, &half, pieces - pieces / 2, out);
    if (!rc) {
        rc = rn_buf_printf(out, "%s%.*s",
                           out->at[out->len - 1] == ' ' ? "" : ",",
                           RN_FMT(rn_epk_print(&middle, text)));
    }
    half = *range;
    half.min = middle;
    if (!rc)
        rc = print_bounds(key, &half, pieces / 2, out);
    return rc;
}

static bool set_split(void *context, struct rn_lease *lease)
{
    struct rn_buf *bounds = context;

    lease->owner = (struct rn_view){ 0 };
    return rn_lease_set(lease, RN_LEASE_SPLIT, rn_buf_view(bounds));
}

/* The next owner of the lease makes the pieces and deletes it. */
runnel_code runnel_leases_cut(const runnel_lease_set *set, const char *lease,
                              uint32_t pieces, runnel_error *error)
{
    struct rn_buf bounds = RN_BUF_INIT(1 << 16);
    struct rn_lease_set s;
    struct rn_listing l;
    struct rn_routing *map;
    bool is_found = false;
    runnel_code rc;

    if (!lease || pieces < 2 || pieces > 64)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "cut one lease into 2 to 64 pieces");
    rc = open_list(set, &s, &l, &map, error);
    for (size_t i = 0; !rc && i < l.count; i++) {
        if (!rn_view_eq(l.leases[i]->lease.token, rn_view_text(lease)) ||
            !l.covers[i].has_range)
            continue;
        is_found = true;
        rc = rn_error_code(rn_buf_printf(&bounds, "%s ", lease));
        if (!rc)
            rc = rn_error_code(print_bounds(
                &s.definition->key, &l.covers[i].range, pieces, &bounds));
        if (!rc && bounds.at[bounds.len - 1] == ' ')
            rc = rn_error_set(error, RUNNEL_BAD_REQUEST,
                              "the lease cannot be cut");
        if (!rc)
            rc = change_lease(&s, &l.leases[i], set_split, &bounds, error);
    }
    if (!rc && !is_found)
        rc = rn_error_set(error, RUNNEL_NOT_FOUND, "there is no lease %s",
                          lease);
    rn_buf_release(&bounds);
    close_list(&s, &l, map);
    return rc;
}

/* ---- export, import, delete ---------------------------------------------- */

runnel_code runnel_leases_export(const runnel_lease_set *set,
                                 runnel_reply **out, runnel_error *error)
{
    struct rn_buf text = RN_BUF_INIT(EXPORT_MAX);
    struct rn_lease_set s;
    struct rn_listing l;
    struct rn_routing *map;
    runnel_reply *reply = NULL;
    runnel_code rc = open_list(set, &s, &l, &map, error);

    if (!rc)
        rc = rn_error_code(rn_buf_add(&text, RN_LIT("[")));
    for (size_t i = 0; !rc && i < l.count; i++) {
        if (i > 0)
            rc = rn_error_code(rn_buf_add(&text, RN_LIT(",")));
        if (!rc)
            rc = rn_lease_print(&l.leases[i]->lease, &text);
    }
    if (!rc)
        rc = rn_error_code(rn_buf_add(&text, RN_LIT("]")));
    if (!rc) {
        reply = rn_new(sizeof(*reply));
        if (!reply)
            rc = rn_error_take(error, RN_NOMEM, NULL);
    }
    if (reply) {
        *reply = (struct runnel_reply){ .status = 200,
                                        .headers = RN_HEADERS_INIT,
                                        .body = text };
        text = RN_BUF_INIT(1);
        *out = reply;
    }
    rn_buf_release(&text);
    close_list(&s, &l, map);
    return rc;
}

/* One lease of the array, for this set and without an owner. */
static runnel_code import_one(struct rn_lease_set *s, struct rn_view json,
                              runnel_error *error)
{
    struct rn_lease_document *d = NULL;
    struct rn_view none = { 0 };
    struct rn_store_call call;
    struct rn_lease *lease;
    runnel_code rc = rn_lease_document_new(json, &d, error);

    if (rc)
        return rc;
    lease = &d->lease;
    rn_store_call_init(&call, RN_STORE_CREATE);
    snprintf(call.id, sizeof(call.id), "%s..%.*s", s->base,
             RN_FMT(lease->token));
    lease->id = rn_view_text(call.id);
    lease->partition_key = s->store->has_key_member ? lease->id : none;
    lease->etag = lease->owner = lease->timestamp = none;
    lease->ts_s = 0;
    if (!rn_lease_set(lease, RN_LEASE_SESSION, none) ||
        !rn_lease_set(lease, RN_LEASE_OWNER, none) ||
        !rn_lease_set(lease, RN_LEASE_WANTED, none))
        rc = RUNNEL_TOO_LARGE;
    if (!rc)
        rc = rn_lease_print(lease, &call.json);
    if (!rc)
        rc = rn_lease_set_run(s, &call, error);
    rn_store_call_release(&call);
    rn_lease_document_free(d);
    return rc;
}

static runnel_code put_marker(struct rn_lease_set *s, runnel_error *error)
{
    struct rn_store_call call;
    runnel_code rc;

    rn_store_call_init(&call, RN_STORE_CREATE);
    snprintf(call.id, sizeof(call.id), "%s.info", s->base);
    rc = rn_error_code(rn_buf_printf(&call.json, "{\"id\":\"%s\"", call.id));
    if (!rc && s->store->has_key_member)
        rc = rn_error_code(
            rn_buf_printf(&call.json, ",\"partitionKey\":\"%s\"", call.id));
    if (!rc)
        rc = rn_error_code(rn_buf_add(&call.json, RN_LIT("}")));
    if (!rc)
        rc = rn_lease_set_run(s, &call, error);
    rn_store_call_release(&call);
    return rc == RUNNEL_CONFLICT ? RUNNEL_OK : rc;
}

runnel_code runnel_leases_import(const runnel_lease_set *set, runnel_bytes json,
                                 runnel_error *error)
{
    struct rn_json_limits limits = { .bytes = EXPORT_MAX };
    struct rn_lease_set s;
    struct rn_listing l = { 0 };
    struct rn_json_walk w;
    struct rn_json j;
    runnel_code rc = open_set(set, &s, error);

    rn_json_init(&j, &limits);
    if (!rc)
        rc = rn_lease_set_list(&s, &l, error);
    if (!rc && l.count + l.damaged > 0)
        rc = rn_error_set(error, RUNNEL_CONFLICT, "the set has leases");
    if (!rc && (rn_json_parse(&j, rn_view_bytes(json), NULL) ||
                rn_json_kind(&j, 0) != RN_JSON_ARRAY))
        rc = rn_error_set(error, RUNNEL_BAD_REQUEST,
                          "the leases are not a JSON array");
    w = rn_json_walk_begin(&j, 0);
    while (!rc && rn_json_walk_next(&w))
        rc = import_one(&s, rn_json_text(&j, w.value), error);
    if (!rc)
        rc = put_marker(&s, error);
    rn_json_release(&j);
    rn_listing_release(&l);
    rn_lease_set_close(&s);
    return rc;
}

static runnel_code remove_one(struct rn_lease_set *s,
                              const struct rn_lease *lease, const char *name,
                              runnel_error *error)
{
    struct rn_store_call call;
    runnel_code rc = RUNNEL_OK;

    rn_store_call_init(&call, RN_STORE_REMOVE);
    if (lease)
        rc = rn_listing_address(&call, lease);
    else
        snprintf(call.id, sizeof(call.id), "%s%s", s->base, name);
    call.etag[0] = 0; /* whatever it is by now */
    if (!rc)
        rc = rn_lease_set_run(s, &call, error);
    rn_store_call_release(&call);
    return rc == RUNNEL_NOT_FOUND ? RUNNEL_OK : rc;
}

runnel_code runnel_leases_delete(const runnel_lease_set *set,
                                 runnel_error *error)
{
    struct rn_lease_set s;
    struct rn_listing l = { 0 };
    runnel_code rc = open_set(set, &s, error);

    if (!rc)
        rc = rn_lease_set_list(&s, &l, error);
    for (size_t i = 0; !rc && i < l.count; i++)
        rc = remove_one(&s, &l.leases[i]->lease, NULL, error);
    if (!rc)
        rc = remove_one(&s, NULL, ".info", error);
    rn_listing_release(&l);
    rn_lease_set_close(&s);
    return rc;
}
