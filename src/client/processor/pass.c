/* pass.c -- one balance pass: list the leases, compare, take, mark, give. */
#include "client/processor/pass.h"

#include "client/http/bug.h"
#include "client/lease/coverage.h"
#include "client/lease/document.h"
#include "client/lease/listing.h"
#include "client/lease/property.h"
#include "client/processor/background_write.h"
#include "client/processor/balance.h"
#include "client/processor/bootstrap.h"
#include "client/processor/host.h"
#include "client/processor/map.h"
#include "client/processor/state.h"
#include "client/processor/table.h"
#include "client/processor/worker.h"

#include <stdio.h>
#include <strings.h>

enum { CLOCK_OFF_MS = 5000 }; /* more than rounding and a slow request */

struct rn_pass {
    struct rn_host *host;
    struct rn_lease_store_call call;
    bool is_over;
    struct rn_listing listing;
    struct rn_arena arena;
    struct rn_balance_lease *leases; /* of the listing, without copies */
    size_t *places;                  /* of each, in the listing */
    size_t count;
};

static void listed(struct rn_lease_store_call *call)
{
    struct rn_pass *p = call->context;

    p->is_over = true;
}

runnel_code rn_pass_new(struct rn_host *h, struct rn_pass **out)
{
    struct rn_pass *p = rn_new(sizeof(*p));

    if (!p)
        return RUNNEL_NO_MEMORY;
    p->host = h;
    p->arena = RN_ARENA_INIT(64 << 20);
    rn_lease_store_call_init(&p->call, RN_LEASE_STORE_LIST);
    snprintf(p->call.id, sizeof(p->call.id), "%s.", h->base);
    p->call.done = listed;
    p->call.context = p;
    h->stats.lease_reads++;
    h->store->ops->start(h->store, &p->call);
    *out = p;
    return RUNNEL_OK;
}

void rn_pass_free(struct rn_pass *p)
{
    if (!p)
        return;
    rn_listing_release(&p->listing);
    rn_lease_store_call_release(&p->call);
    rn_arena_release(&p->arena);
    rn_free(p);
}

/* ---- warnings ------------------------------------------------------------ */

static void tell_damage(struct rn_pass *p)
{
    struct rn_host *h = p->host;

    if (p->listing.damaged && p->listing.damaged != h->damaged_told) {
        rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_CRITICAL,
                     NULL, &p->listing.error,
                     "%zu range%s until the lease document is repaired, or "
                     "deleted to begin again: %s",
                     p->listing.damaged,
                     p->listing.damaged == 1 ? " waits" : "s wait",
                     p->listing.error.message);
    }
    h->damaged_told = (uint32_t)p->listing.damaged;
}

static void tell_intervals(struct rn_pass *p, const struct rn_lease *lease)
{
    struct rn_host *h = p->host;
    struct rn_view theirs = rn_lease_property(lease, RN_LEASE_INTERVALS);
    runnel_event event = { .kind = RUNNEL_EVENT_CONFIGURATION,
                           .severity = RUNNEL_SEVERITY_WARNING };
    char host[RN_HOST_MAX + 1];

    if (h->has_told_intervals || !theirs.at || !rn_lease_is_native(lease) ||
        rn_view_eq(theirs, rn_view_text(h->intervals)))
        return;
    h->has_told_intervals = true;
    snprintf(host, sizeof(host), "%.*s", RN_FMT(lease->owner));
    event.host = host;
    rn_host_put(h, &event,
                "%s has other lease intervals (%.*s) than this host (%s); set "
                "the same on all",
                host, RN_FMT(theirs), h->intervals);
}

/* Another library's hosts write their own clock into the lease, and expire the
 * leases of others by it. */
static void tell_clock(struct rn_pass *p, const struct rn_lease *lease)
{
    struct rn_host *h = p->host;
    int64_t ahead_ms = lease->timestamp_ms - lease->ts_s * 1000;
    runnel_event event = { .kind = RUNNEL_EVENT_CONFIGURATION,
                           .severity = RUNNEL_SEVERITY_WARNING };
    char host[RN_HOST_MAX + 1];

    if (h->has_told_clock || !lease->owner.at || rn_lease_is_native(lease) ||
        !lease->timestamp_ms || !lease->ts_s ||
        (ahead_ms <= CLOCK_OFF_MS && ahead_ms >= -CLOCK_OFF_MS))
        return;
    h->has_told_clock = true;
    snprintf(host, sizeof(host), "%.*s", RN_FMT(lease->owner));
    event.host = host;
    rn_host_put(h, &event,
                "the clock of %s is %lld s off that of the lease container; "
                "set it, or its library misjudges which leases have expired",
                host, (long long)(ahead_ms / 1000));
}

/* A host that started later has our name: the newest wins. */
static bool is_clash(struct rn_pass *p, const struct rn_lease *lease)
{
    struct rn_host *h = p->host;

    if (!lease->owner.at || !rn_lease_is_native(lease) ||
        !rn_view_eq(lease->owner, rn_view_text(h->config.host)) ||
        !rn_lease_session_is_later(rn_lease_property(lease, RN_LEASE_SESSION),
                                   rn_view_text(h->session)))
        return false;
    rn_host_clash(h);
    return true;
}

/* ---- what the leases are ------------------------------------------------- */

static void remove_lease(struct rn_pass *p, const struct rn_lease *lease,
                         const char *why)
{
    struct rn_background_write *c =
        rn_background_write_new(RN_LEASE_STORE_REMOVE, lease);

    if (!c)
        return;
    rn_host_tell(p->host, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_WARNING,
                 NULL, NULL, "lease %.*s is removed: %s", RN_FMT(lease->token),
                 why);
    rn_background_write_start(p->host, c);
}

/* Is the lease a copy or redundant?  It is then drained or removed, and does
 * not count any more. */
static bool is_surplus(struct rn_pass *p, size_t i)
{
    const struct rn_listing *l = &p->listing;
    const struct rn_lease *lease = &l->leases[i]->lease;
    struct rn_host *h = p->host;
    struct rn_worker *w = rn_host_find(h, lease->id);
    bool is_copy = rn_coverage_is_copy(l->covers, l->count, i);

    if (!is_copy && !rn_coverage_is_redundant(l->covers, l->count, i)) {
        if (!h->has_told_double &&
            rn_coverage_is_double(l->covers, l->count, i)) {
            h->has_told_double = true;
            rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_WARNING,
                         NULL, NULL,
                         "lease %.*s overlaps others, so changes come "
                         "twice; delete one of them",
                         RN_FMT(lease->token));
        }
        return false;
    }
    if (w)
        rn_worker_drain(w, RUNNEL_CLOSE_HANDED_OVER);
    else if (!lease->owner.at || rn_lease_expiry_is_over(&h->expiry, lease))
        remove_lease(p, lease,
                     is_copy ? "it exists twice" : "finer leases cover it");
    return true;
}

static struct rn_balance_lease describe(struct rn_pass *p,
                                        const struct rn_lease *lease)
{
    struct rn_host *h = p->host;
    const runnel_processor_options *o = &h->config.o;
    struct rn_worker *w = rn_host_find(h, lease->id);
    bool is_ours = w && w->state != RN_WORKER_LOST;
    struct rn_balance_lease out = { .owner = lease->owner,
                                    .is_native = rn_lease_is_native(lease) };
    int64_t at_ms, free_ms; /* when it was released, or its owner last seen */

    out.is_available =
        !lease->owner.at || rn_lease_expiry_is_over(&h->expiry, lease);
    free_ms = lease->owner.at ? rn_lease_expiry_sign_of_life(lease)
                              : lease->ts_s * 1000;
    out.free_age_ms = free_ms ? rn_host_store_ms(h) - free_ms : 0;
    out.weight = rn_weight_clamp(rn_lease_number(lease, RN_LEASE_WEIGHT));
    out.is_left = out.free_age_ms > (int64_t)o->lease_expire_ms +
                                        RN_LEASE_EXPIRY_MARGIN_MS +
                                        (int64_t)o->lease_acquire_ms;
    if (is_ours) { /* the listing may be older than what we know */
        out.is_available = false;
        out.is_native = true;
        out.owner = rn_view_text(h->config.host);
        out.weight = w->weight.average;
    }
    if (rn_lease_wanted(lease, &out.wanted, &at_ms)) {
        out.wanted_age_ms = rn_host_store_ms(h) - at_ms;
        if (out.wanted_age_ms < 0)
            out.wanted_age_ms = 0;
        /* Our own mark: look often, until the lease may be stolen. */
        if (!is_ours && rn_view_eq(out.wanted, rn_view_text(h->config.host)) &&
            out.wanted_age_ms < (int64_t)h->config.o.lease_expire_ms / 2)
            h->has_marks = true;
    } else {
        out.wanted = (struct rn_view){ 0 };
    }
    return out;
}

static bool collect(struct rn_pass *p)
{
    struct rn_listing *l = &p->listing;

    p->leases = rn_arena_alloc(&p->arena, (l->count + 1) * sizeof(*p->leases));
    p->places = rn_arena_alloc(&p->arena, (l->count + 1) * sizeof(size_t));
    if (!p->leases || !p->places)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const struct rn_lease *lease = &l->leases[i]->lease;
        if (is_clash(p, lease))
            return false;
        tell_intervals(p, lease);
        tell_clock(p, lease);
        if (is_surplus(p, i))
            continue;
        p->leases[p->count] = describe(p, lease);
        p->places[p->count++] = i;
    }
    return true;
}

/* ---- what is done about them --------------------------------------------- */

static void acquire(struct rn_pass *p, size_t place, bool is_expired)
{
    struct rn_host *h = p->host;
    struct rn_listing *l = &p->listing;
    struct rn_worker *w = NULL;

    if (!l->covers[place].has_range)
        rn_host_want_map(h); /* its range is newer; the next pass acquires it */
    if (!l->leases[place] || !l->covers[place].has_range ||
        rn_host_find(h, l->leases[place]->lease.id) ||
        rn_host_is_avoided(h, l->leases[place]->lease.id))
        return;
    if (rn_worker_new(h, l->leases[place], &w))
        return;
    l->leases[place] = NULL; /* the worker's now */
    w->range = l->covers[place].range;
    if (rn_host_add(h, w)) {
        rn_worker_free(w);
        return;
    }
    rn_lease_split_forget(h, w->id);
    rn_worker_acquire(w, is_expired);
}

/* Writes our name into a lease; its timestamp stays the owner's. */
static void mark(struct rn_pass *p, size_t place)
{
    struct rn_host *h = p->host;
    struct rn_lease lease = p->listing.leases[place]->lease;
    struct rn_background_write *c =
        rn_background_write_new(RN_LEASE_STORE_REPLACE, &lease);
    char wanted[RN_HOST_MAX + 32];

    if (!c)
        return;
    snprintf(wanted, sizeof(wanted), "%s %lld", h->config.host,
             (long long)rn_host_store_ms(h));
    if (!rn_lease_set(&lease, RN_LEASE_WANTED, rn_view_text(wanted)) ||
        rn_lease_print(&lease, &c->call.json)) {
        rn_background_write_free(c);
        return;
    }
    h->has_marks = true;
    h->moved_ns = rn_mono_ns(h->env);
    rn_background_write_start(h, c);
}

static void give(struct rn_pass *p, size_t place)
{
    struct rn_lease_document *d = p->listing.leases[place];
    struct rn_worker *w = d ? rn_host_find(p->host, d->lease.id) : NULL;

    if (!w || w->state != RN_WORKER_ACTIVE)
        return;
    rn_worker_drain(w, RUNNEL_CLOSE_HANDED_OVER);
    p->host->moved_ns = rn_mono_ns(p->host->env);
}

/* Leases with our name that no worker of this process has: of an earlier
 * process, or of an acquisition whose answer was lost. */
static void adopt(struct rn_pass *p)
{
    struct rn_host *h = p->host;
    bool is_first = h->pass_ended_ns == 0;

    if (RN_BUG(UNCERTAIN_IS_REFUSED) && !is_first)
        return;
    for (size_t i = 0; i < p->count; i++) {
        struct rn_lease_document *d = p->listing.leases[p->places[i]];
        struct rn_view owner;
        if (!d || !d->lease.owner.at)
            continue;
        owner = d->lease.owner;
        if (owner.len != strlen(h->config.host) ||
            (is_first ? strncasecmp(owner.at, h->config.host, owner.len) != 0
                      : memcmp(owner.at, h->config.host, owner.len) != 0))
            continue;
        if (is_first && rn_host_store_ms(h) - d->lease.timestamp_ms <
                            (int64_t)h->config.o.lease_renew_ms) {
            rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_WARNING,
                         NULL, NULL,
                         "lease %.*s was written by a host named \"%s\" "
                         "moments ago; if that host still runs, it stops "
                         "now: give each host a name of its own",
                         RN_FMT(d->lease.token), h->config.host);
        }
        acquire(p, p->places[i], false);
    }
}

static void note_foreign(struct rn_host *h)
{
    if (!h->has_told_foreign) {
        rn_host_tell(h, RUNNEL_EVENT_FOREIGN, RUNNEL_SEVERITY_INFO, NULL, NULL,
                     "a host of another library is in the fleet; leases are "
                     "balanced its way");
    }
    h->has_told_foreign = true;
}

static void balance(struct rn_pass *p)
{
    struct rn_host *h = p->host;
    const runnel_processor_options *o = &h->config.o;
    struct rn_balance b = { .leases = p->leases,
                            .count = p->count,
                            .host = rn_view_text(h->config.host),
                            .min = o->min_leases,
                            .max = o->max_leases,
                            .acquire_ms = o->lease_acquire_ms,
                            .expire_ms = o->lease_expire_ms,
                            .is_weighed = o->weigh_leases };
    bool is_foreign = rn_balance_has_foreign(&b);
    bool is_official = o->fleet == RUNNEL_FLEET_COMPATIBLE ||
                       (o->fleet == RUNNEL_FLEET_AUTO && is_foreign);
    struct rn_balance_plan plan;

    rn_random(h->env, &b.seed, sizeof(b.seed));
    h->is_official = is_official;
    if (is_foreign)
        note_foreign(h);
    if (is_official ? rn_balance_official(&b, &p->arena, &plan)
                    : rn_balance_native(&b, &p->arena, &plan))
        return;
    h->stats.leases_seen = (uint32_t)p->count;
    h->stats.hosts_seen = (uint32_t)plan.hosts;
    adopt(p);
    for (size_t i = 0; i < plan.give_count; i++)
        give(p, p->places[plan.give[i]]);
    for (size_t i = 0; i < plan.mark_count; i++)
        if (p->listing.leases[p->places[plan.mark[i]]])
            mark(p, p->places[plan.mark[i]]);
    for (size_t i = 0; i < plan.take_count; i++)
        acquire(p, p->places[plan.take[i]],
                !plan.is_steal && p->leases[plan.take[i]].owner.at);
}

/* A hole is filled by the bootstrap, under the lock. */
static void check_coverage(struct rn_pass *p)
{
    struct rn_host *h = p->host;
    struct rn_listing *l = &p->listing;
    struct rn_epk_range hole;

    if (h->bootstrap || l->damaged ||
        !rn_coverage_hole(l->covers, l->count, &rn_epk_all.min, &hole))
        return;
    if (rn_bootstrap_new(h, &h->bootstrap))
        h->bootstrap = NULL; /* the next pass tries again */
}

/* The lease store answers: writes that failed need not wait any longer.  One of
 * them may find that its lease was lost meanwhile, which has to be known before
 * the lease can be acquired again. */
static void hasten_writes(struct rn_host *h)
{
    for (size_t i = 0; i < h->worker_count; i++)
        if (h->workers[i]->write_failures > 0)
            h->workers[i]->retry_write_ns = 0;
}

static void take_listing(struct rn_pass *p)
{
    struct rn_host *h = p->host;
    runnel_error error = { 0 };
    runnel_code rc = rn_listing_read(&p->listing, h->base, &p->call, &error);

    if (rc) {
        rn_host_tell(h, RUNNEL_EVENT_CONFIGURATION, RUNNEL_SEVERITY_CRITICAL,
                     NULL, &error, "%s", error.message);
        return;
    }
    tell_damage(p);
    rn_listing_route(&p->listing, h->map);
    h->expiry.now_ms = p->call.now_ms;
    h->expiry.mono_ns = rn_mono_ns(h->env);
    h->has_marks = false;
    hasten_writes(h);
    if (!collect(p))
        return;
    check_coverage(p);
    balance(p);
}

bool rn_pass_step(struct rn_pass *p)
{
    struct rn_host *h = p->host;

    if (!p->is_over)
        return false;
    rn_host_learn(h, &p->call);
    if (h->state != RUNNEL_RUNNING)
        return true;
    if (p->call.code == RUNNEL_NOT_FOUND) {
        h->is_writing_pointless = true;
        rn_host_fail(h, RUNNEL_CLOSE_LEASE_LOST, RUNNEL_NOT_FOUND,
                     &p->call.error,
                     "the lease container was deleted; restore its leases, or "
                     "restart to begin as a new processor");
    } else if (p->call.code) {
        rn_host_tell_failure(h, NULL, &p->call.error,
                             "the leases cannot be listed");
    } else {
        take_listing(p);
        h->pass_ended_ns = rn_mono_ns(h->env);
    }
    return true;
}
