/* leases.c -- leases for tools: listed, moved, released, cut, exported,
 * imported, forked, deleted; see runnel/processor.h.
 *
 * lag/lease_set.h has the conditional writes, lag/seek.h the seek.
 */
#include "client/account/routing.h"
#include "client/api/container.h"
#include "client/feed/reader.h"
#include "client/http/exchange.h"
#include "client/http/options.h"
#include "client/lag/lease_set.h"
#include "client/lag/seek.h"
#include "client/lease/document.h"
#include "client/lease/listing.h"
#include "client/lease/property.h"
#include "client/lease/store.h"
#include "json/print.h"

#include <stdio.h>

enum { EXPORT_MAX = 256 << 20 };

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
    return rc ? rc : rn_lease_set_route(s, l, map, error);
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
    const struct rn_range_route *route =
        rn_routing_find(map, &cover->range.min);
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

/* Changes the lease of this token, or with NULL all. */
static runnel_code change_all(struct rn_lease_set *s, struct rn_listing *l,
                              const char *token, rn_lease_change_fn *change,
                              void *context, runnel_error *error)
{
    bool is_found = false;
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < l->count; i++) {
        if (token &&
            !rn_view_eq(l->leases[i]->lease.token, rn_view_text(token)))
            continue;
        is_found = true;
        rc = rn_lease_set_change(s, &l->leases[i], change, context, error);
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

runnel_code runnel_leases_seek(const runnel_lease_set *set, const char *lease,
                               const runnel_feed_options *to,
                               runnel_error *error)
{
    runnel_feed_options known;
    struct rn_lease_set s;
    runnel_code rc = rn_options_copy(&known, sizeof(known), to, error);

    if (rc)
        return rc;
    rc = open_set(set, &s, error);
    if (!rc)
        rc = rn_lease_set_seek(&s, lease, &known, error);
    rn_lease_set_close(&s);
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
            rc = rn_lease_set_change(&s, &l.leases[i], set_split, &bounds,
                                     error);
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

/* One lease for this set, without an owner. */
static runnel_code create_one(struct rn_lease_set *s,
                              const struct rn_lease *from, runnel_error *error)
{
    struct rn_lease lease = *from;
    struct rn_view none = { 0 };
    struct rn_lease_store_call call;
    runnel_code rc = RUNNEL_OK;

    rn_lease_store_call_init(&call, RN_LEASE_STORE_CREATE);
    snprintf(call.id, sizeof(call.id), "%s..%.*s", s->base,
             RN_FMT(lease.token));
    lease.id = rn_view_text(call.id);
    lease.partition_key = s->store->has_key_member ? lease.id : none;
    lease.etag = lease.owner = lease.timestamp = none;
    lease.ts_s = 0;
    if (!rn_lease_set(&lease, RN_LEASE_SESSION, none) ||
        !rn_lease_set(&lease, RN_LEASE_OWNER, none) ||
        !rn_lease_set(&lease, RN_LEASE_WANTED, none))
        rc = RUNNEL_TOO_LARGE;
    if (!rc)
        rc = rn_lease_print(&lease, &call.json);
    if (!rc)
        rc = rn_lease_set_run(s, &call, error);
    rn_lease_store_call_release(&call);
    return rc;
}

static runnel_code put_marker(struct rn_lease_set *s, runnel_error *error)
{
    struct rn_lease_store_call call;
    struct rn_json_out o = RN_JSON_OUT_INIT(&call.json);
    runnel_code rc;

    rn_lease_store_call_init(&call, RN_LEASE_STORE_CREATE);
    snprintf(call.id, sizeof(call.id), "%s.info", s->base);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(call.id));
    if (s->store->has_key_member) {
        rn_json_out_key(&o, RN_LIT("partitionKey"));
        rn_json_out_string(&o, rn_view_text(call.id));
    }
    rn_json_out_object_end(&o);
    rc = rn_error_code(rn_json_out_finish(&o));
    if (!rc)
        rc = rn_lease_set_run(s, &call, error);
    rn_lease_store_call_release(&call);
    return rc == RUNNEL_CONFLICT ? RUNNEL_OK : rc;
}

/* Creates all of them and the marker, unless the set has leases. */
static runnel_code create_all(struct rn_lease_set *s,
                              struct rn_lease_document *const *leases,
                              size_t count, runnel_error *error)
{
    struct rn_listing l = { 0 };
    runnel_code rc = rn_lease_set_list(s, &l, error);

    if (!rc && l.count + l.damaged > 0)
        rc = rn_error_set(error, RUNNEL_CONFLICT, "the set has leases");
    for (size_t i = 0; !rc && i < count; i++)
        rc = create_one(s, &leases[i]->lease, error);
    if (!rc)
        rc = put_marker(s, error);
    rn_listing_release(&l);
    return rc;
}

/* Parses a lease of the array; no token may come twice. */
static runnel_code add_lease(struct rn_lease_document **leases, size_t *count,
                             struct rn_view json, runnel_error *error)
{
    struct rn_lease_document *d = NULL;
    runnel_code rc = rn_lease_document_new(json, &d, error);

    if (rc)
        return rc == RUNNEL_PROTOCOL ? RUNNEL_BAD_REQUEST : rc;
    leases[(*count)++] = d;
    for (size_t i = 0; i + 1 < *count; i++) {
        if (rn_view_eq(leases[i]->lease.token, d->lease.token)) {
            return rn_error_set(error, RUNNEL_BAD_REQUEST,
                                "lease %.*s is there twice",
                                RN_FMT(d->lease.token));
        }
    }
    return RUNNEL_OK;
}

static runnel_code parse_leases(struct rn_json *j, runnel_bytes json,
                                runnel_error *error)
{
    enum rn_code rc = rn_json_parse(j, rn_view_bytes(json), NULL);

    if (rc == RN_NOMEM)
        return rn_error_take(error, rc, NULL);
    if (rc || rn_json_kind(j, 0) != RN_JSON_ARRAY)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the leases are not a JSON array");
    return RUNNEL_OK;
}

runnel_code runnel_leases_import(const runnel_lease_set *set, runnel_bytes json,
                                 runnel_error *error)
{
    struct rn_json_limits limits = { .bytes = EXPORT_MAX };
    struct rn_lease_document **leases = NULL;
    struct rn_lease_set s;
    struct rn_json_walk w;
    struct rn_json j;
    size_t count = 0;
    runnel_code rc = open_set(set, &s, error);

    rn_json_init(&j, &limits);
    if (!rc)
        rc = parse_leases(&j, json, error);
    if (!rc) {
        leases = rn_new((rn_json_count(&j, 0) + 1) *
                        sizeof(struct rn_lease_document *));
        if (!leases)
            rc = rn_error_take(error, RN_NOMEM, NULL);
    }
    w = rn_json_walk_begin(&j, 0);
    while (leases && !rc && rn_json_walk_next(&w))
        rc = add_lease(leases, &count, rn_json_text(&j, w.value), error);
    if (!rc)
        rc = create_all(&s, leases, count, error);
    for (size_t i = 0; i < count; i++)
        rn_lease_document_free(leases[i]);
    rn_free(leases);
    rn_json_release(&j);
    rn_lease_set_close(&s);
    return rc;
}

runnel_code runnel_leases_fork(const runnel_lease_set *set, const char *from,
                               runnel_error *error)
{
    runnel_lease_set origin;
    struct rn_listing l = { 0 };
    struct rn_lease_set s = { 0 };
    struct rn_lease_set other = { 0 };
    runnel_code rc = rn_options_copy(&origin, sizeof(origin), set, error);

    origin.name = from;
    if (!rc)
        rc = open_set(&origin, &other, error);
    if (!rc)
        rc = rn_lease_set_list(&other, &l, error);
    if (!rc && l.count == 0)
        rc = rn_error_set(error, RUNNEL_NOT_FOUND,
                          "the processor \"%s\" has no lease", from);
    if (!rc && l.damaged) {
        rc = rn_error_set(error, RUNNEL_PROTOCOL,
                          "a lease of \"%s\" is damaged: %s", from,
                          l.error.message);
    }
    if (!rc)
        rc = open_set(set, &s, error);
    if (!rc)
        rc = create_all(&s, l.leases, l.count, error);
    rn_listing_release(&l);
    rn_lease_set_close(&s);
    rn_lease_set_close(&other);
    return rc;
}

static runnel_code remove_one(struct rn_lease_set *s,
                              const struct rn_lease *lease, const char *name,
                              runnel_error *error)
{
    struct rn_lease_store_call call;
    runnel_code rc = RUNNEL_OK;

    rn_lease_store_call_init(&call, RN_LEASE_STORE_REMOVE);
    if (lease)
        rc = rn_listing_address(&call, lease);
    else
        snprintf(call.id, sizeof(call.id), "%s%s", s->base, name);
    call.etag[0] = 0; /* whatever it is by now */
    if (!rc)
        rc = rn_lease_set_run(s, &call, error);
    rn_lease_store_call_release(&call);
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
    for (size_t i = 0; !rc && i < l.count; i++) {
        const struct rn_lease *lease = &l.leases[i]->lease;
        if (rn_lease_set_is_held(lease, l.now_ms)) {
            rc = rn_error_set(error, RUNNEL_CONFLICT,
                              "%.*s holds lease %.*s; stop it first",
                              RN_FMT(lease->owner), RN_FMT(lease->token));
        }
    }
    for (size_t i = 0; !rc && i < l.count; i++)
        rc = remove_one(&s, &l.leases[i]->lease, NULL, error);
    if (!rc)
        rc = remove_one(&s, NULL, ".info", error);
    rn_listing_release(&l);
    rn_lease_set_close(&s);
    return rc;
}
