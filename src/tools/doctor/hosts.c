/* hosts.c -- see hosts.h. */
#include "tools/doctor/hosts.h"

#include "tools/common/out.h"
#include "json/json.h"

#include <stdio.h>

enum {
    ARENA_MAX = 16 << 20,
    EXPIRE_MS = 60000, /* of hosts that do not say: the default everywhere */
    SLACK_MS = 3000    /* the server's clock is known to a second */
};

void rn_hosts_init(struct rn_hosts *hosts, int64_t now_ms)
{
    *hosts = (struct rn_hosts){ .arena = RN_ARENA_INIT(ARENA_MAX),
                                .now_ms = now_ms };
}

void rn_hosts_release(struct rn_hosts *hosts)
{
    rn_arena_release(&hosts->arena);
}

/* ---- adding -------------------------------------------------------------- */

static struct rn_view property(const struct rn_json *json, const char *name)
{
    uint32_t all = rn_json_find(json, 0, RN_LIT("properties"));
    uint32_t value = rn_json_find(json, all, rn_view_text(name));

    return rn_json_kind(json, value) == RN_JSON_STRING
               ? rn_json_text(json, value)
               : (struct rn_view){ 0 };
}

static void read_intervals(struct rn_view text, struct rn_intervals *out)
{
    char copy[64] = { 0 };
    struct rn_intervals i;

    if (text.len && text.len < sizeof(copy)) {
        memcpy(copy, text.at, text.len);
        /* NOLINTNEXTLINE(cert-err34-c): a number too large is a wrong one */
        if (sscanf(copy, "%9u %9u %9u", &i.acquire_ms, &i.renew_ms,
                   &i.expire_ms) == 3)
            *out = i;
    }
}

static struct rn_doctor_host *find(const struct rn_hosts *hosts,
                                   struct rn_view name, struct rn_view start)
{
    struct rn_doctor_host *h = hosts->first;

    while (h && !(rn_view_eq(h->name, name) && rn_view_eq(h->start, start)))
        h = h->next;
    return h;
}

static struct rn_doctor_host *
new_host(struct rn_hosts *hosts, struct rn_view name, struct rn_view start)
{
    struct rn_doctor_host *h = rn_arena_alloc(&hosts->arena, sizeof(*h));

    if (!h)
        return NULL;
    *h = (struct rn_doctor_host){
        .next = hosts->first,
        .name = rn_arena_copy(&hosts->arena, name),
        .start = rn_arena_copy(&hosts->arena, start),
    };
    hosts->first = h;
    return h->name.at ? h : NULL;
}

/* A session is drawn for each lease; its first part is when the host began. */
static struct rn_view start_of(struct rn_view session)
{
    const char *end = session.len ? memchr(session.at, '-', session.len) : NULL;

    return end ? rn_view_of(session.at, (size_t)(end - session.at)) : session;
}

enum rn_code rn_hosts_add(struct rn_hosts *hosts, const runnel_lease *lease)
{
    struct rn_view name = rn_view_text(lease->host ? lease->host : "");
    struct rn_doctor_host *h;
    struct rn_view start;
    struct rn_json json;
    enum rn_code rc;

    if (!lease->host)
        return RN_OK;
    rn_json_init(&json, NULL);
    rc =
        rn_json_parse(&json, rn_view_of(lease->json.at, lease->json.len), NULL);
    /* What a foreign host has taken over keeps the session of the last. */
    start = rc || lease->is_foreign
                ? (struct rn_view){ 0 }
                : start_of(property(&json, "runnel.session"));
    h = rc ? NULL : find(hosts, name, start);
    if (!rc && !h)
        h = new_host(hosts, name, start);
    if (h) {
        h->leases++;
        if (h->written_ms < lease->written_ms)
            h->written_ms = lease->written_ms;
        if (lease->is_foreign)
            hosts->foreign++;
        else
            read_intervals(property(&json, "runnel.intervals"), &h->intervals);
    }
    rn_json_release(&json);
    return rc ? rc : h ? RN_OK : RN_NOMEM;
}

static bool is_dead(const struct rn_hosts *hosts,
                    const struct rn_doctor_host *h)
{
    int64_t expire_ms =
        h->intervals.expire_ms ? h->intervals.expire_ms : EXPIRE_MS;

    return hosts->now_ms &&
           hosts->now_ms - h->written_ms > expire_ms + SLACK_MS;
}

void rn_hosts_count(struct rn_hosts *hosts)
{
    for (const struct rn_doctor_host *h = hosts->first; h; h = h->next) {
        hosts->owned += h->leases;
        hosts->alive += is_dead(hosts, h) ? 0 : h->leases;
    }
}

/* ---- checking ------------------------------------------------------------ */

static void check_one(const struct rn_intervals *i, const char *name,
                      struct rn_findings *findings)
{
    static const char remedy[] =
        "renew three times while a lease lives: --lease-renew 17s "
        "--lease-expire 60s";

    if (!i->expire_ms)
        return;
    if (i->renew_ms >= i->expire_ms) {
        rn_findings_add(findings, RN_FINDING_FAULT, "intervals", remedy,
                        "%s renews its leases every %u ms, but they expire "
                        "after %u ms: it loses them all the time",
                        name, i->renew_ms, i->expire_ms);
    } else if (i->expire_ms / 3 < i->renew_ms) {
        rn_findings_add(findings, RN_FINDING_WARNING, "intervals", remedy,
                        "%s renews its leases every %u ms, and they expire "
                        "after %u ms: one slow request loses them",
                        name, i->renew_ms, i->expire_ms);
    }
    if (i->acquire_ms >= i->expire_ms) {
        rn_findings_add(findings, RN_FINDING_WARNING, "intervals",
                        "look more often than leases expire: --lease-acquire "
                        "13s",
                        "%s looks for free leases every %u ms, and they expire "
                        "after %u ms",
                        name, i->acquire_ms, i->expire_ms);
    }
}

static bool differ(const struct rn_intervals *a, const struct rn_intervals *b)
{
    return a->expire_ms && b->expire_ms &&
           (a->acquire_ms != b->acquire_ms || a->renew_ms != b->renew_ms ||
            a->expire_ms != b->expire_ms);
}

static const char *name_host(const struct rn_doctor_host *h, char out[256])
{
    snprintf(out, 256, "host \"%.*s\"",
             (int)(h->name.len < 200 ? h->name.len : 200), h->name.at);
    return out;
}

static void tell_difference(const struct rn_intervals *a, const char *name,
                            const struct rn_intervals *b, const char *other,
                            struct rn_findings *findings)
{
    rn_findings_add(findings, RN_FINDING_WARNING, "intervals",
                    "give all hosts of a processor the same --lease-acquire, "
                    "--lease-renew and --lease-expire",
                    "%s acquires, renews and expires after %u, %u and %u ms, "
                    "%s after %u, %u and %u",
                    name, a->acquire_ms, a->renew_ms, a->expire_ms, other,
                    b->acquire_ms, b->renew_ms, b->expire_ms);
}

void rn_hosts_check_intervals(const struct rn_hosts *hosts,
                              const struct rn_intervals *wanted,
                              struct rn_findings *findings)
{
    struct rn_intervals first = { 0 };
    char name[256], other[256] = "a host with these options";

    if (wanted) {
        first = *wanted;
        check_one(wanted, other, findings);
    }
    for (const struct rn_doctor_host *h = hosts->first; h; h = h->next) {
        if (is_dead(hosts, h))
            continue;
        name_host(h, name);
        check_one(&h->intervals, name, findings);
        if (differ(&first, &h->intervals))
            tell_difference(&first, other, &h->intervals, name, findings);
        if (!first.expire_ms) {
            first = h->intervals;
            name_host(h, other);
        }
    }
}

static bool shares_name(const struct rn_hosts *hosts,
                        const struct rn_doctor_host *h)
{
    for (const struct rn_doctor_host *o = h->next; o; o = o->next)
        if (rn_view_eq(o->name, h->name) && !is_dead(hosts, o))
            return true;
    return false;
}

void rn_hosts_check_names(const struct rn_hosts *hosts,
                          struct rn_findings *findings)
{
    char name[256];

    for (const struct rn_doctor_host *h = hosts->first; h; h = h->next) {
        name_host(h, name);
        if (is_dead(hosts, h)) {
            rn_findings_add(findings, RN_FINDING_WARNING, "hosts",
                            "start a host, which takes them over; 'runnel "
                            "leases release' frees them at once",
                            "%s has not renewed its %u lease%s for %lld s: it "
                            "is dead",
                            name, h->leases, rn_plural(h->leases),
                            (long long)(hosts->now_ms - h->written_ms) / 1000);
        } else if (shares_name(hosts, h)) {
            rn_findings_add(findings, RN_FINDING_WARNING, "hosts",
                            "give each host an --instance of its own",
                            "two processes are %s: they take the leases from "
                            "each other",
                            name);
        }
    }
}
