/* bootstrap.c -- initialises the lease store: checks it and creates what is
 * missing.
 *
 *   SOURCE    the source container: rid, partition key
 *   PREPARE   the lease container: partition key, time to live
 *   DISCARD   old leases, if the options say so
 *   MAP       partition key ranges, read before the leases: a host that splits
 *             between the two has its children in the list
 *   LIST      leases, marker, lock; if nothing is missing: done, without lock
 *   LOCK      created; an old one, by the store's clock, is removed
 *   START     positions of new leases, for a start of now
 *   CREATE    leases of ranges that have none
 *   MARKER    the store is initialised
 *   UNLOCK    at every exit
 *
 * MAP and LIST are repeated under the lock, and under a new one if the host was
 * held up so long that the lock may be another's.  Every step may be repeated
 * after a crash.  The same steps fill a hole that a running processor finds.
 */
#include "client/processor/bootstrap.h"

#include "client/lease/property.h"
#include "client/processor/bootstrap_plan.h"
#include "client/processor/host.h"
#include "client/processor/map.h"
#include "client/processor/state.h"
#include "json/print.h"

#include <stdio.h>

enum {
    LOCK_S = 30,         /* time to live of the lock */
    LOCK_USE_MS = 20000, /* so long it is surely ours, by any clock */
    LOCK_POLL_MS = 1000, /* while another host has it */
    RETRY_MS = 500,
    SOURCE_RETRY_MS = 3000,
};

runnel_code rn_bootstrap_new(struct rn_host *h, struct rn_bootstrap **out)
{
    struct rn_bootstrap *b = rn_new(sizeof(*b));

    if (!b)
        return RUNNEL_NO_MEMORY;
    b->host = h;
    b->is_repair = h->is_ready;
    b->step = h->is_ready ? RN_STEP_MAP : RN_STEP_SOURCE;
    b->map_seen = h->map_version;
    b->deadline_ns =
        rn_mono_ns(h->env) + (int64_t)h->config.o.start_ms * 1000000;
    rn_lease_store_call_init(&b->call, RN_LEASE_STORE_LIST);
    *out = b;
    return RUNNEL_OK;
}

void rn_bootstrap_forget(struct rn_bootstrap *b)
{
    rn_free(b->children);
    b->children = NULL;
    b->count = b->at = 0;
}

void rn_bootstrap_free(struct rn_bootstrap *b)
{
    if (!b)
        return;
    if (b->is_reading)
        rn_reader_release(&b->reader);
    if (b->is_asking)
        rn_client_call_release(&b->source);
    rn_bootstrap_forget(b);
    rn_listing_release(&b->listing);
    rn_lease_store_call_release(&b->call);
    rn_free(b);
}

/* ---- requests ------------------------------------------------------------ */

static void call_done(struct rn_lease_store_call *call)
{
    struct rn_bootstrap *b = call->context;

    b->has_answer = true;
}

static struct rn_lease_store_call *new_call(struct rn_bootstrap *b,
                                            enum rn_lease_store_kind kind)
{
    rn_lease_store_call_release(&b->call);
    rn_lease_store_call_init(&b->call, kind);
    b->call.done = call_done;
    b->call.context = b;
    return &b->call;
}

static void start_call(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;

    b->is_calling = true;
    b->has_answer = false;
    if (b->call.kind == RN_LEASE_STORE_LIST ||
        b->call.kind == RN_LEASE_STORE_READ)
        h->stats.lease_reads++;
    else
        h->stats.lease_writes++;
    h->store->ops->start(h->store, &b->call);
}

/* A call that cannot be made has failed like one that was answered so. */
static void refuse_call(struct rn_bootstrap *b, runnel_code code)
{
    b->is_calling = b->has_answer = true;
    b->call.code =
        rn_error_set(&b->call.error, code, "the request cannot be made");
}

static runnel_code print_own(struct rn_bootstrap *b, unsigned ttl_s)
{
    struct rn_lease_store_call *call = &b->call;
    struct rn_json_out o = RN_JSON_OUT_INIT(&call->json);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(call->id));
    if (b->host->store->has_key_member) {
        rn_json_out_key(&o, RN_LIT("partitionKey"));
        rn_json_out_string(&o, rn_view_text(call->id));
    }
    if (ttl_s) {
        rn_json_out_key(&o, RN_LIT("ttl"));
        rn_json_out_uint(&o, ttl_s);
    }
    rn_json_out_object_end(&o);
    return rn_error_code(rn_json_out_finish(&o));
}

/* The marker or the lock; without `ttl_s` it does not expire.  `etag` is the
 * condition of a removal. */
static void start_own(struct rn_bootstrap *b, enum rn_lease_store_kind kind,
                      const char *name, unsigned ttl_s, const char *etag)
{
    struct rn_lease_store_call *call = new_call(b, kind);
    runnel_code rc = RUNNEL_OK;

    snprintf(call->id, sizeof(call->id), "%s%s", b->host->base, name);
    snprintf(call->etag, sizeof(call->etag), "%s", etag);
    if (kind == RN_LEASE_STORE_CREATE)
        rc = print_own(b, ttl_s);
    if (rc)
        refuse_call(b, rc);
    else
        start_call(b);
}

/* ---- failures ------------------------------------------------------------ */

static bool is_hopeless(runnel_code code)
{
    return code == RUNNEL_BAD_REQUEST || code == RUNNEL_UNAUTHORIZED ||
           code == RUNNEL_FORBIDDEN || code == RUNNEL_UNSUPPORTED ||
           code == RUNNEL_NOT_FOUND || code == RUNNEL_CONFLICT;
}

/* Gives up, after the lock was released. */
static void give_up(struct rn_bootstrap *b, runnel_code code,
                    const runnel_error *error)
{
    b->failure = code;
    b->error = *error;
    b->step = b->has_lock ? RN_STEP_UNLOCK : RN_STEP_DONE;
}

void rn_bootstrap_refuse(struct rn_bootstrap *b, runnel_code code,
                         const char *why)
{
    runnel_error error;

    rn_error_set(&error, code, "%s", why);
    give_up(b, code, &error);
}

/* A step failed: again from the ranges on, or not at all. */
void rn_bootstrap_retry(struct rn_bootstrap *b, runnel_code code,
                        const runnel_error *error, int64_t now_ns)
{
    if (is_hopeless(code) || now_ns >= b->deadline_ns) {
        give_up(b, code, error);
        return;
    }
    rn_host_tell_failure(b->host, NULL, error, "not started yet, trying again");
    b->due_ns = now_ns + rn_host_jitter(b->host, RETRY_MS, 100, 200);
    if (b->step == RN_STEP_SOURCE || b->step == RN_STEP_PREPARE)
        return; /* the same again */
    rn_bootstrap_forget(b);
    b->map_seen = b->host->map_version;
    b->step = b->has_lock ? RN_STEP_UNLOCK : RN_STEP_MAP;
}

/* ---- source and lease container ------------------------------------------ */

static void start_source(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;
    struct rn_link link = rn_client_container_link(h->config.at.source);

    rn_client_call_init(&b->source, h->account, "GET", RN_EFFECT_READ, &link);
    b->is_asking = true;
    rn_client_call_begin(&b->source, h->transport);
    if (b->source.retry.policy.wait_ms > SOURCE_RETRY_MS)
        b->source.retry.policy.wait_ms = SOURCE_RETRY_MS;
}

/* What a user may do about it. */
static const char *remedy(runnel_code code)
{
    switch (code) {
    case RUNNEL_UNAUTHORIZED:
        return "; check the key or token";
    case RUNNEL_FORBIDDEN:
        return "; check the rights of the key or token";
    case RUNNEL_UNREACHABLE:
    case RUNNEL_PROTOCOL:
        return "; check the endpoint";
    default:
        return "";
    }
}

static runnel_code take_source(struct rn_bootstrap *b, runnel_error *error)
{
    struct rn_host *h = b->host;
    struct rn_link link = rn_client_container_link(h->config.at.source);
    runnel_code rc = b->source.code;

    *error = b->source.error;
    if (rc == RUNNEL_NOT_FOUND &&
        rn_exchange_is_explained(&b->source.exchange)) {
        return rn_error_set(error, rc,
                            "the source container %.*s/%.*s does not exist; "
                            "create it, or correct its name",
                            RN_FMT(link.ids[0]), RN_FMT(link.ids[1]));
    }
    if (!rc) {
        rc = rn_client_container_learn(h->config.at.source,
                                       rn_buf_view(&b->source.exchange.answer),
                                       &h->definition, error);
    }
    if (rc)
        rn_error_during(error, "the source container cannot be read%s",
                        remedy(rc));
    if (!rc)
        rc = rn_listing_base(h->config.name, h->config.at.source,
                             h->definition->rid, h->base, error);
    return rc;
}

static int64_t do_source(struct rn_bootstrap *b, int64_t now_ns)
{
    struct rn_host *h = b->host;
    runnel_error error;
    runnel_code rc;
    int64_t next;

    if (!b->is_asking)
        start_source(b);
    next = rn_client_call_step(&b->source);
    if (!b->source.is_over)
        return next;
    rc = take_source(b, &error);
    rn_client_call_release(&b->source);
    b->is_asking = false;
    if (rc) {
        rn_bootstrap_retry(b, rc, &error, now_ns);
        return RN_TASK_NOW;
    }
    h->source = (struct rn_reader_source){
        .container = h->config.at.source,
        .definition = h->definition,
        .mode = h->config.mode,
        .page_limit = h->config.page_limit,
        .session_token = h->config.session_token,
        .since_s = INT64_MIN,
    };
    b->step = RN_STEP_PREPARE;
    return RN_TASK_NOW;
}

/* The same container by another handle: its own leases would be changes.  Two
 * accounts may give the same rid. */
static bool is_source(const struct rn_bootstrap *b)
{
    const struct rn_config_containers *at = &b->host->config.at;

    return at->leases && strcmp(b->call.rid, b->host->definition->rid) == 0 &&
           rn_view_eq(rn_client_container_path(at->leases),
                      rn_client_container_path(at->source));
}

static void prepared(struct rn_bootstrap *b, int64_t now_ns)
{
    struct rn_host *h = b->host;
    runnel_code code = b->call.code;

    if (code) {
        if (code != RUNNEL_NOT_FOUND && code != RUNNEL_BAD_REQUEST) {
            rn_error_during(&b->call.error,
                            "the lease container cannot be read%s",
                            remedy(code));
        }
        rn_bootstrap_retry(b, code, &b->call.error, now_ns);
        return;
    }
    if (is_source(b)) {
        rn_bootstrap_refuse(b, RUNNEL_BAD_REQUEST,
                            "leases must not be the source container");
        return;
    }
    if (b->call.lacks_ttl) {
        rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_INFO, NULL,
                     NULL,
                     "the lease container has no defaultTtl, so a lock that a "
                     "crash leaves behind holds up hosts of other libraries; "
                     "set defaultTtl to -1");
    }
    b->step = RN_STEP_MAP;
    rn_host_want_map(h);
}

/* ---- old leases ---------------------------------------------------------- */

static bool has_live_owner(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;

    for (size_t i = 0; i < b->listing.count; i++) {
        const struct rn_lease *lease = &b->listing.leases[i]->lease;
        if (lease->owner.at &&
            !rn_view_eq(lease->owner, rn_view_text(h->config.host)) &&
            !rn_lease_expiry_is_over(&h->expiry, lease))
            return true;
    }
    return false;
}

/* One removal at a time; the marker is the last. */
static void do_discard(struct rn_bootstrap *b, int64_t now_ns)
{
    struct rn_listing *l = &b->listing;

    if (b->at == 0 && has_live_owner(b)) {
        rn_bootstrap_refuse(
            b, RUNNEL_CONFLICT,
            "discard_leases: another host has leases, and would lose "
            "its position; stop it first");
        return;
    }
    if (b->at < l->count) {
        new_call(b, RN_LEASE_STORE_REMOVE);
        if (rn_listing_address(&b->call, &l->leases[b->at]->lease)) {
            rn_bootstrap_refuse(b, RUNNEL_TOO_LARGE,
                                "a lease's id is too long");
        } else {
            start_call(b);
        }
    } else if (b->at == l->count && l->has_marker) {
        start_own(b, RN_LEASE_STORE_REMOVE, ".info", 0, "");
    } else {
        b->has_discarded = true;
        b->at = 0;
        b->map_seen = b->host->map_version - 1;
        b->step = RN_STEP_LIST;
        b->due_ns = now_ns;
    }
}

static void discarded(struct rn_bootstrap *b, int64_t now_ns)
{
    if (b->call.code && b->call.code != RUNNEL_NOT_FOUND &&
        b->call.code != RUNNEL_UNCERTAIN) {
        b->at = 0;
        rn_bootstrap_retry(b, b->call.code, &b->call.error, now_ns);
        return;
    }
    b->at++;
    if (b->at == b->listing.count + 1)
        b->listing.has_marker = false;
}

/* ---- lock ---------------------------------------------------------------- */

static void do_lock(struct rn_bootstrap *b)
{
    const struct rn_listing *l = &b->listing;

    if (l->has_lock && l->now_ms && l->lock_written_ms &&
        l->now_ms - l->lock_written_ms > (LOCK_S + 1) * INT64_C(1000)) {
        b->step = RN_STEP_BREAK_LOCK;
        start_own(b, RN_LEASE_STORE_REMOVE, ".lock", 0, l->lock_etag);
        return;
    }
    start_own(b, RN_LEASE_STORE_CREATE, ".lock", LOCK_S, "");
}

/* Another host may have removed it, and may have a lock of its own by now. */
static void lock_broken(struct rn_bootstrap *b, int64_t now_ns)
{
    runnel_code code = b->call.code;

    if (code && code != RUNNEL_NOT_FOUND && code != RUNNEL_PRECONDITION &&
        code != RUNNEL_UNCERTAIN) {
        rn_error_during(&b->call.error,
                        "the lock of a host that is gone cannot be removed");
        rn_bootstrap_retry(b, code, &b->call.error, now_ns);
        return;
    }
    b->step = RN_STEP_LIST;
}

static void locked(struct rn_bootstrap *b, int64_t now_ns)
{
    runnel_code code = b->call.code;

    if (code && code != RUNNEL_CONFLICT) {
        rn_bootstrap_retry(b, code, &b->call.error, now_ns);
        return;
    }
    if (code == RUNNEL_CONFLICT) { /* look again in a while */
        if (now_ns >= b->deadline_ns) {
            rn_bootstrap_refuse(
                b, RUNNEL_TIMEOUT,
                "another host initialises the lease store and does not end; "
                "if none does, delete the document whose id ends in .lock");
            return;
        }
        b->due_ns = now_ns + (int64_t)LOCK_POLL_MS * 1000000;
        b->step = RN_STEP_LIST;
        return;
    }
    b->has_lock = true;
    b->locked_ns = b->call.sent_ns;
    snprintf(b->lock_etag, sizeof(b->lock_etag), "%s", b->call.new_etag);
    b->map_seen = b->host->map_version;
    rn_host_want_map(b->host);
    b->step = RN_STEP_MAP;
}

/* ---- new leases ---------------------------------------------------------- */

/* The position of "now" is read once per range. */
static void do_start(struct rn_bootstrap *b, int64_t now_ns)
{
    struct rn_host *h = b->host;
    struct rn_lease_child *c = &b->children[b->at];
    const struct rn_range_route *route;
    int64_t next;

    b->position = h->config.start;
    if (b->from_beginning)
        b->position.kind = RN_POSITION_BEGINNING;
    if (b->position.kind != RN_POSITION_NOW) {
        b->step = RN_STEP_CREATE;
        return;
    }
    if (!b->is_reading) {
        route = rn_routing_find(h->map, &c->range.min);
        rn_reader_init(&b->reader, &h->source, &route->range, &b->position);
        if (!rn_reader_route(&b->reader, h->map)) {
            rn_bootstrap_refuse(b, RUNNEL_PROTOCOL, "the ranges do not fit");
            return;
        }
        b->is_reading = true;
        rn_reader_ask(&b->reader, h->transport, 0);
    }
    switch (rn_reader_step(&b->reader, &next)) {
    case RN_READER_NONE:
        if (next != RN_TASK_IDLE)
            b->due_ns = now_ns + next;
        return;
    case RN_READER_NOTHING:
    case RN_READER_MORE:
    case RN_READER_PAGE: /* a server that gives changes: they lie after it */
        b->position = b->reader.at;
        b->step = RN_STEP_CREATE;
        break;
    case RN_READER_GONE:
        rn_error_set(&b->reader.error, RUNNEL_GONE, "the range was split");
        rn_host_want_map(h);
        rn_bootstrap_retry(b, RUNNEL_GONE, &b->reader.error, now_ns);
        break;
    case RN_READER_FAILED:
        rn_bootstrap_retry(b, b->reader.code, &b->reader.error, now_ns);
        break;
    }
    rn_reader_release(&b->reader);
    b->is_reading = false;
}

static runnel_code print_lease(struct rn_bootstrap *b,
                               const struct rn_lease_child *c)
{
    struct rn_host *h = b->host;
    struct rn_lease lease = { .id = rn_view_text(b->call.id),
                              .token = rn_view_text(c->token),
                              .mode = rn_view_text(rn_bootstrap_mode(h)),
                              .is_epk = c->is_epk,
                              .has_range = true,
                              .range = c->range };
    char token[RN_LEASE_TOKEN_MAX];
    char range[2 * RN_LEASE_TOKEN_MAX];
    char start[48] = "beginning";
    bool fits;

    if (h->store->has_key_member)
        lease.partition_key = lease.id;
    if (b->position.kind == RN_POSITION_ETAG)
        lease.position = rn_view_text(b->position.etag);
    if (b->position.kind == RN_POSITION_TIME)
        snprintf(start, sizeof(start), "time:%lld",
                 (long long)(b->position.time_ms / 1000));
    rn_lease_token_print(&c->range, token);
    snprintf(range, sizeof(range), "%s %s", c->token, token);
    fits = rn_lease_set(&lease, RN_LEASE_MADE, lease.token) &&
           rn_lease_set(&lease, RN_LEASE_RANGE, rn_view_text(range));
    if (b->position.kind != RN_POSITION_ETAG)
        fits =
            fits && rn_lease_set(&lease, RN_LEASE_START, rn_view_text(start));
    return fits ? rn_lease_print(&lease, &b->call.json) : RUNNEL_TOO_LARGE;
}

static void do_create(struct rn_bootstrap *b, int64_t now_ns)
{
    struct rn_lease_child *c = &b->children[b->at];
    struct rn_lease_store_call *call = new_call(b, RN_LEASE_STORE_CREATE);

    snprintf(call->id, sizeof(call->id), "%s..%s", b->host->base, c->token);
    call->until_ns = b->locked_ns + LOCK_USE_MS * INT64_C(1000000);
    call->code = print_lease(b, c);
    if (call->code) {
        rn_error_set(&call->error, call->code, "a lease is too large");
        rn_bootstrap_retry(b, call->code, &call->error, now_ns);
        return;
    }
    start_call(b);
}

static void created(struct rn_bootstrap *b, int64_t now_ns)
{
    runnel_code code = b->call.code;

    /* It exists: a peer made it, or our own answer was lost. */
    if (code && code != RUNNEL_CONFLICT) {
        rn_bootstrap_retry(b, code, &b->call.error, now_ns);
        return;
    }
    b->step = ++b->at < b->count ? RN_STEP_START : RN_STEP_MARKER;
}

/* ---- stepping ------------------------------------------------------------ */

static void take_answer(struct rn_bootstrap *b, int64_t now_ns)
{
    b->is_calling = b->has_answer = false;
    rn_host_learn(b->host, &b->call);
    switch (b->step) {
    case RN_STEP_PREPARE:
        prepared(b, now_ns);
        break;
    case RN_STEP_LIST:
        rn_bootstrap_listed(b, now_ns);
        break;
    case RN_STEP_DISCARD:
        discarded(b, now_ns);
        break;
    case RN_STEP_LOCK:
        locked(b, now_ns);
        break;
    case RN_STEP_BREAK_LOCK:
        lock_broken(b, now_ns);
        break;
    case RN_STEP_CREATE:
        created(b, now_ns);
        break;
    case RN_STEP_MARKER:
        if (b->call.code && b->call.code != RUNNEL_CONFLICT)
            rn_bootstrap_retry(b, b->call.code, &b->call.error, now_ns);
        else
            rn_bootstrap_complete(b);
        break;
    case RN_STEP_UNLOCK: /* if it failed, the lock expires */
        b->has_lock = false;
        b->step = b->failure || b->is_complete || b->is_stopping ? RN_STEP_DONE
                                                                 : RN_STEP_MAP;
        break;
    default:
        break;
    }
}

static void start_listing(struct rn_bootstrap *b)
{
    struct rn_lease_store_call *call = new_call(b, RN_LEASE_STORE_LIST);

    snprintf(call->id, sizeof(call->id), "%s.", b->host->base);
    start_call(b);
}

static void act(struct rn_bootstrap *b, int64_t now_ns)
{
    switch (b->step) {
    case RN_STEP_PREPARE:
        new_call(b, RN_LEASE_STORE_PREPARE);
        start_call(b);
        break;
    case RN_STEP_DISCARD:
        do_discard(b, now_ns);
        break;
    case RN_STEP_MAP:
        if (b->host->map_version > b->map_seen)
            b->step = RN_STEP_LIST;
        else
            rn_host_want_map(b->host);
        break;
    case RN_STEP_LIST:
        start_listing(b);
        break;
    case RN_STEP_LOCK:
        do_lock(b);
        break;
    case RN_STEP_START:
        do_start(b, now_ns);
        break;
    case RN_STEP_CREATE:
        do_create(b, now_ns);
        break;
    case RN_STEP_MARKER:
        start_own(b, RN_LEASE_STORE_CREATE, ".info", 0, "");
        break;
    case RN_STEP_UNLOCK:
        start_own(b, RN_LEASE_STORE_REMOVE, ".lock", 0, b->lock_etag);
        break;
    default:
        break;
    }
}

/* Drops what is under way but a call of the lease store. */
static void drop_work(struct rn_bootstrap *b)
{
    if (b->is_reading)
        rn_reader_release(&b->reader);
    if (b->is_asking)
        rn_client_call_release(&b->source);
    b->is_reading = b->is_asking = false;
    rn_bootstrap_forget(b);
}

/* It was listed under a lock that may have expired: what is missing may exist
 * by now, and have been split. */
static void check_lock(struct rn_bootstrap *b, int64_t now_ns)
{
    if (!b->has_lock || now_ns - b->locked_ns < LOCK_USE_MS * INT64_C(1000000))
        return;
    if (b->step != RN_STEP_START && b->step != RN_STEP_CREATE &&
        b->step != RN_STEP_MARKER)
        return;
    drop_work(b);
    b->map_seen = b->host->map_version;
    b->step = RN_STEP_UNLOCK;
}

/* A host that stops needs no leases any more; it only gives the lock back. */
static void check_stop(struct rn_bootstrap *b)
{
    runnel_processor_state state = b->host->state;

    if (b->is_stopping || state == RUNNEL_STARTING || state == RUNNEL_RUNNING)
        return;
    drop_work(b);
    b->is_stopping = true;
    b->due_ns = 0;
    b->step = b->has_lock ? RN_STEP_UNLOCK : RN_STEP_DONE;
}

/* A hole of a processor that runs could not be filled: the next pass tries
 * again. */
static void tell_unrepaired(struct rn_bootstrap *b)
{
    struct rn_host *h = b->host;

    rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_CRITICAL, NULL,
                 &b->error, "leases are missing and cannot be made: %s",
                 b->error.message);
}

static int64_t end(struct rn_bootstrap *b, bool *is_over)
{
    *is_over = true;
    if (b->is_repair && b->failure)
        tell_unrepaired(b);
    if (!b->is_repair) {
        b->host->failure = b->failure;
        b->host->error = b->error;
    }
    return RN_TASK_NOW;
}

int64_t rn_bootstrap_step(struct rn_bootstrap *b, bool *is_over)
{
    int64_t now_ns = rn_mono_ns(b->host->env);
    enum rn_bootstrap_step before;

    for (;;) {
        if (b->has_answer)
            take_answer(b, now_ns);
        if (!b->is_calling)
            check_stop(b);
        if (b->step == RN_STEP_DONE)
            return end(b, is_over);
        if (b->is_calling)
            return RN_TASK_IDLE;
        if (b->due_ns > now_ns && !b->is_reading)
            return b->due_ns - now_ns;
        b->due_ns = 0;
        if (b->step == RN_STEP_SOURCE) {
            int64_t next = do_source(b, now_ns);
            if (next != RN_TASK_NOW || b->step == RN_STEP_SOURCE)
                return next;
            continue;
        }
        check_lock(b, now_ns);
        before = b->step;
        act(b, now_ns);
        if (b->step == before && !b->has_answer)
            return b->due_ns ? b->due_ns - now_ns : RN_TASK_IDLE;
    }
}
