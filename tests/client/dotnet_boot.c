/* dotnet_boot.c -- the .NET host's start: containers, marker, lock, leases, its
 * own leases; see dotnet_own.h. */
#include "client/dotnet_own.h"

#include "cosmos/header.h"
#include "cosmos/rid.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { LOCK_TTL_S = 30, LOCK_WAIT_MS = 15000 };

/* ---- ids ----------------------------------------------------------------- */

static void mark_id(const struct dotnet_peer *p, const char *end, char *out)
{
    snprintf(out, DOTNET_ID_MAX, "%s%s", p->base, end);
}

static void fail(struct dotnet_peer *p)
{
    p->has_failed = true;
    if (!p->has_lock) {
        p->state = DOTNET_FAILED;
        p->at = MAIN_OVER;
        return;
    }
    p->at = MAIN_UNLOCK;
}

/* ---- containers ---------------------------------------------------------- */

/* "": the database. */
static void container_ask(struct dotnet_peer *p, const char *name)
{
    char path[DOTNET_PATH_MAX];

    snprintf(path, sizeof(path), "/dbs/%s%s%s", p->o.db,
             name[0] ? "/colls/" : "", name);
    dotnet_call_begin(&p->call, "GET", path);
    dotnet_call_send(&p->call);
}

static void container_read(struct dotnet_peer *p, char rid[32])
{
    struct rn_json j;
    uint32_t at;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, rn_buf_view(&p->call.x.answer), NULL))
        abort();
    dotnet_copy(rid, 32, rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("_rid"))));
    at = rn_json_find(&j, 0, RN_LIT("partitionKey"));
    at = rn_json_at(&j, rn_json_find(&j, at, RN_LIT("paths")), 0);
    p->has_key_member = rn_json_string_is(&j, at, RN_LIT("/partitionKey"));
    rn_json_release(&j);
}

/* The rid of a container begins with that of its database. */
void dotnet_boot_names(struct dotnet_peer *p)
{
    char text[RN_RID_TEXT_MAX];
    struct rn_rid rid;

    if (!rn_rid_parse(rn_view_text(p->source_rid), &rid))
        abort();
    dotnet_copy(p->db_rid, sizeof(p->db_rid),
                rn_rid_print(rn_rid_database(rid.database), text));
    snprintf(p->base, sizeof(p->base), "%s%s_%s_%s", p->o.processor,
             p->o.account, p->db_rid, p->source_rid);
    if (dotnet_is_v2(p))
        snprintf(p->source_map.path, DOTNET_PATH_MAX,
                 "/dbs/%s/colls/%s/pkranges", p->o.db, p->o.source);
    else
        snprintf(p->source_map.path, DOTNET_PATH_MAX,
                 "/dbs/%s/colls/%s/pkranges", p->db_rid, p->source_rid);
    snprintf(p->lease_map.path, DOTNET_PATH_MAX, "/dbs/%s/colls/%s/pkranges",
             p->db_rid, p->leases_rid);
}

/* Asks for a container that the process does not know. */
static bool container_step(struct dotnet_peer *p)
{
    bool is_source = p->at == MAIN_SOURCE;
    const char *rid = is_source ? p->o.known_source.rid : p->o.known_leases.rid;
    char *own = is_source ? p->source_rid : p->leases_rid;
    int status;

    if (rid) {
        dotnet_copy(own, 32, rn_view_text(rid));
        p->has_key_member = p->o.has_key_member;
    } else if (p->call.state == CALL_IDLE) {
        container_ask(p, is_source ? p->o.source : p->o.leases);
        return true;
    } else if (!dotnet_call_take(&p->call, &status)) {
        return false;
    } else if (status != 200) {
        fail(p);
        return true;
    } else {
        container_read(p, own);
    }
    if (is_source) {
        p->at = MAIN_LEASES;
    } else {
        dotnet_boot_names(p);
        p->at = dotnet_is_v2(p) ? MAIN_CACHE : MAIN_MODE;
    }
    return true;
}

/* What version 2 asks besides: the database, and the lease container again. */
static bool more_step(struct dotnet_peer *p)
{
    bool is_first = p->at == MAIN_DATABASE;
    int status;

    if (p->call.state == CALL_IDLE) {
        container_ask(p, is_first ? "" : p->o.leases);
        return true;
    }
    if (!dotnet_call_take(&p->call, &status))
        return false;
    p->at = is_first ? MAIN_SOURCE : MAIN_MARKER;
    if (status != 200)
        fail(p);
    return true;
}

/* ---- marker and lock ----------------------------------------------------- */

static void mark_ask(struct dotnet_peer *p, const char *method, const char *end)
{
    char id[DOTNET_ID_MAX];

    mark_id(p, end, id);
    dotnet_call_lease(&p->call, method, id, id);
    if (strcmp(method, "DELETE") == 0)
        dotnet_call_header(&p->call, RN_HEADER_IF_MATCH, p->lock_etag);
    dotnet_call_send(&p->call);
}

static void mark_create(struct dotnet_peer *p, const char *end, bool is_lock)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&p->call.body);
    char id[DOTNET_ID_MAX];

    mark_id(p, end, id);
    dotnet_call_create(&p->call, id, is_lock);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(id));
    if (p->has_key_member) {
        rn_json_out_key(&o, RN_LIT("partitionKey"));
        rn_json_out_string(&o, rn_view_text(id));
    }
    if (is_lock) {
        rn_json_out_key(&o, RN_LIT("ttl"));
        rn_json_out_int(&o, LOCK_TTL_S);
    }
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        abort();
    dotnet_call_send(&p->call);
}

static void mark_start(struct dotnet_peer *p)
{
    if (p->at == MAIN_MARKER)
        mark_ask(p, "GET", ".info");
    else if (p->at == MAIN_LOCK)
        mark_create(p, ".lock", true);
    else if (p->at == MAIN_MARK)
        mark_create(p, ".info", false);
    else
        mark_ask(p, "DELETE", ".lock");
}

static void mark_answered(struct dotnet_peer *p, int status)
{
    bool is_v2 = dotnet_is_v2(p);

    if (p->at == MAIN_MARKER && (!is_v2 || status == 200 || status == 404)) {
        /* Version 3: whatever is not 200 counts as "not initialised". */
        p->at = status == 200 ? MAIN_OWN : MAIN_LOCK;
    } else if (p->at == MAIN_LOCK && status == 201) {
        dotnet_copy(p->lock_etag, sizeof(p->lock_etag),
                    rn_view_text(dotnet_call_etag(&p->call)));
        p->has_lock = true;
        p->at = MAIN_RANGES;
        p->round =
            p->source_map.is_loaded ? 0 : dotnet_map_refresh(&p->source_map);
    } else if (p->at == MAIN_LOCK && status == 409) {
        p->due_ns = rn_mono_ns(p->env) + LOCK_WAIT_MS * INT64_C(1000000);
        p->at = MAIN_LOCK_HELD;
    } else if (p->at == MAIN_MARK &&
               (status == 201 || (is_v2 && status == 409))) {
        p->at = MAIN_UNLOCK;
    } else if (p->at == MAIN_UNLOCK) {
        p->has_lock = false;
        if (p->has_failed)
            fail(p);
        else
            p->at = MAIN_OWN;
    } else {
        fail(p); /* version 3: also 409 for the marker */
    }
}

static bool mark_step(struct dotnet_peer *p)
{
    int status;

    if (p->call.state == CALL_IDLE) {
        mark_start(p);
        return true;
    }
    if (!dotnet_call_take(&p->call, &status))
        return false;
    mark_answered(p, status);
    return true;
}

/* ---- leases that are missing --------------------------------------------- */

static bool is_covered(const struct dotnet_peer *p,
                       const struct dotnet_range *r)
{
    bool is_v2 = dotnet_is_v2(p);

    for (size_t i = 0; i < p->lease_count; i++) {
        const struct dotnet_lease *l = &p->leases[i];

        if (l->version == 0 && (strcmp(l->token, r->id) == 0 ||
                                (!is_v2 && dotnet_map_is_parent(r, l->token))))
            return true;
        if (l->version == 1 && !is_v2 &&
            (strcmp(l->min, r->min) == 0 || strcmp(l->max, r->max) == 0))
            return true;
    }
    return false;
}

/* Creates the next one that is missing; false if there is none. */
static bool create_next(struct dotnet_peer *p)
{
    const struct dotnet_range *r = NULL;
    struct dotnet_lease lease = { .has_range = true };

    while (p->pick_at < p->source_map.count && !r) {
        r = &p->source_map.ranges[p->pick_at++];
        if (is_covered(p, r))
            r = NULL;
    }
    if (!r)
        return false;
    dotnet_copy(lease.token, sizeof(lease.token), rn_view_text(r->id));
    snprintf(lease.id, sizeof(lease.id), "%s..%s", p->base, r->id);
    if (p->has_key_member)
        dotnet_copy(lease.partition_key, sizeof(lease.partition_key),
                    rn_view_text(lease.id));
    dotnet_copy(lease.min, sizeof(lease.min), rn_view_text(r->min));
    dotnet_copy(lease.max, sizeof(lease.max), rn_view_text(r->max));
    dotnet_copy(lease.mode, sizeof(lease.mode),
                rn_view_text(p->o.mode ? p->o.mode : "Incremental Feed"));
    dotnet_call_create(&p->call, lease.id, true);
    dotnet_print(p, &lease, &p->call.body);
    dotnet_call_send(&p->call);
    return true;
}

static bool create_step(struct dotnet_peer *p)
{
    int status;

    if (p->call.state == CALL_IDLE) {
        if (!create_next(p))
            p->at = MAIN_MARK;
        return true;
    }
    if (!dotnet_call_take(&p->call, &status))
        return false;
    if (status != 201 && status != 409)
        fail(p);
    return true;
}

/* ---- steps --------------------------------------------------------------- */

static bool list_step(struct dotnet_peer *p, enum dotnet_main_state next)
{
    bool ok;

    if (!dotnet_list_step(p, &ok))
        return false;
    p->pick_at = 0;
    p->at = next;
    if (!ok)
        fail(p);
    return true;
}

/* All leases with this host's name, at once. */
static bool adopt_step(struct dotnet_peer *p)
{
    for (; p->pick_at < p->lease_count; p->pick_at++) {
        const struct dotnet_lease *l = &p->leases[p->pick_at];

        if (strcasecmp(l->owner, p->o.instance) == 0)
            (void)dotnet_worker_add(p, l);
    }
    for (struct dotnet_worker *w = p->workers; w; w = w->next) {
        if (w->state <= WORKER_ACQUIRING)
            return false;
    }
    p->state = DOTNET_RUNNING;
    p->at = MAIN_LIST;
    return true;
}

bool dotnet_boot_step(struct dotnet_peer *p)
{
    switch (p->at) {
    case MAIN_SOURCE:
    case MAIN_LEASES:
        return container_step(p);
    case MAIN_DATABASE:
    case MAIN_CACHE:
        return more_step(p);
    case MAIN_MODE:
        return list_step(p, MAIN_MARKER);
    case MAIN_MARKER:
    case MAIN_LOCK:
    case MAIN_MARK:
    case MAIN_UNLOCK:
        return mark_step(p);
    case MAIN_LOCK_HELD:
        if (rn_mono_ns(p->env) < p->due_ns)
            return false;
        p->at = MAIN_MARKER;
        return true;
    case MAIN_RANGES:
        if (!p->source_map.is_loaded && p->source_map.rounds <= p->round)
            return false;
        p->at = MAIN_MISSING;
        if (!p->source_map.is_loaded)
            fail(p);
        return true;
    case MAIN_MISSING:
        return list_step(p, MAIN_CREATE);
    case MAIN_CREATE:
        return create_step(p);
    case MAIN_OWN:
        return list_step(p, MAIN_ADOPT);
    default:
        return adopt_step(p);
    }
}
