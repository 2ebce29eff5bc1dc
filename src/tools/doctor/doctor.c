/* doctor.c -- `runnel doctor`: names each fault of a configuration, and its
 * remedy.
 *
 * Checks go from the account to the leases.  A check that fails ends the ones
 * that build on it.
 */
#include "base/env.h"
#include "tools/commands.h"
#include "tools/common/lease_set.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/doctor/findings.h"
#include "tools/doctor/hosts.h"
#include "tools/doctor/lock.h"
#include "tools/leases/lag.h"

#include <stdlib.h>
#include <time.h>

enum { SKEW_WARN_S = 60, SKEW_FAULT_S = 15 * 60 };

struct doctor {
    struct rn_findings findings;
    struct rn_leases leases;
    bool wants_leases;
    struct rn_intervals wanted; /* --lease-renew and so on; 0: not given */
    int64_t now_ms;             /* by the server's clock */
    char source_rid[32];
    size_t ranges;
    uint32_t lease_count;
    struct rn_hosts hosts;
};

/* ---- the account --------------------------------------------------------- */

static const char *account_remedy(runnel_code code)
{
    switch (code) {
    case RUNNEL_UNAUTHORIZED:
        return "take the key from --key-file, RUNNEL_KEY or --data; keys of "
               "two accounts are easily mixed up";
    case RUNNEL_FORBIDDEN:
        return "use a read-write key";
    default:
        return "start the server with 'runnel serve', or name it with "
               "--account; a certificate is trusted with --ca-file";
    }
}

/* The clock of the server, against ours: signatures are valid for 15
 * minutes. */
static void check_clock(struct doctor *d, const char *date)
{
    struct tm tm = { 0 };
    int64_t skew_s;

    d->now_ms = rn_wall_ms(rn_env_real());
    if (!date || !strptime(date, "%a, %d %b %Y %H:%M:%S", &tm))
        return;
    d->now_ms = (int64_t)timegm(&tm) * 1000;
    skew_s = rn_wall_ms(rn_env_real()) / 1000 - timegm(&tm);
    if (llabs(skew_s) >= SKEW_WARN_S) {
        rn_findings_add(&d->findings,
                        llabs(skew_s) >= SKEW_FAULT_S ? RN_FINDING_FAULT
                                                      : RN_FINDING_WARNING,
                        "clock", "synchronise the clocks (NTP)",
                        "this machine is %lld s %s the server",
                        (long long)llabs(skew_s),
                        skew_s > 0 ? "ahead of" : "behind");
    } else {
        rn_findings_add(&d->findings, RN_FINDING_OK, "clock", NULL,
                        "agrees with the server's");
    }
}

static bool check_account(struct doctor *d)
{
    const runnel_request request = { .method = "GET", .path = "/" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    runnel_code code =
        runnel_client_send(d->leases.target.client, &request, &reply, &error);

    if (code) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, "account",
                        account_remedy(code), "%s",
                        code == RUNNEL_UNAUTHORIZED
                            ? "the server does not accept the key"
                            : error.message);
    } else {
        rn_findings_add(&d->findings, RN_FINDING_OK, "account", NULL,
                        "answers, and accepts the key");
        check_clock(d, runnel_reply_header(reply, "date"));
    }
    runnel_reply_close(reply);
    return !code;
}

/* ---- containers ---------------------------------------------------------- */

/* A container that must exist. */
struct subject {
    runnel_container *container;
    const char *check, *name, *remedy;
};

struct definition {
    runnel_reply *reply; /* what `json` is read from */
    struct rn_json json;
};

/* False after a finding.  The caller releases `out` in any case. */
static bool read_definition(struct doctor *d, const struct subject *s,
                            struct definition *out)
{
    runnel_error error = { 0 };
    runnel_code code;
    struct rn_err why;

    out->reply = NULL;
    rn_json_init(&out->json, NULL);
    code = runnel_container_read(s->container, &out->reply, &error);
    if (code == RUNNEL_NOT_FOUND) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, s->check, s->remedy,
                        "container \"%s\" does not exist", s->name);
        return false;
    }
    if (code) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, s->check, NULL, "%s",
                        error.message);
        return false;
    }
    if (rn_json_parse(&out->json, rn_view_lent(runnel_reply_body(out->reply)),
                      &why)) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, s->check, NULL,
                        "the definition of \"%s\" is unreadable: %s", s->name,
                        why.text);
        return false;
    }
    return true;
}

static void release_definition(struct definition *def)
{
    rn_json_release(&def->json);
    runnel_reply_close(def->reply);
}

static struct rn_view get_rid(const struct rn_json *json)
{
    return rn_json_text(json, rn_json_find(json, 0, RN_LIT("_rid")));
}

/* The path of the partition key, or words for several; empty if there is
 * none. */
static struct rn_view key_path(const struct rn_json *json)
{
    uint32_t key = rn_json_find(json, 0, RN_LIT("partitionKey"));
    uint32_t paths = rn_json_find(json, key, RN_LIT("paths"));
    struct rn_json_walk walk;
    struct rn_view only = { 0 };

    if (rn_json_kind(json, paths) != RN_JSON_ARRAY)
        return only;
    walk = rn_json_walk_begin(json, paths);
    for (uint32_t n = 0; rn_json_walk_next(&walk); n++)
        only = n ? RN_LIT("of several paths") : rn_json_text(json, walk.value);
    return only;
}

/* The policy of a container that keeps none has a retention of 0. */
static bool keeps_all_versions(const struct rn_json *json)
{
    uint32_t policy = rn_json_find(json, 0, RN_LIT("changeFeedPolicy"));
    uint32_t retention =
        rn_json_find(json, policy, RN_LIT("retentionDuration"));

    return rn_json_kind(json, retention) == RN_JSON_NUMBER &&
           rn_json_double(json, retention) != 0;
}

static void tell_feed(struct doctor *d, const struct rn_json *json)
{
    rn_findings_add(
        &d->findings, RN_FINDING_OK, "feed", NULL,
        keeps_all_versions(json)
            ? "latest versions, and all versions and deletes"
            : "latest versions; no deletes, since the container has no "
              "changeFeedPolicy");
}

static bool check_ranges(struct doctor *d)
{
    struct rn_target *t = &d->leases.target;
    runnel_ranges *ranges = NULL;
    runnel_error error = { 0 };
    runnel_code code = runnel_ranges_read(t->container, 0, &ranges, &error);

    if (code) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, "container", NULL, "%s",
                        error.message);
    } else {
        d->ranges = runnel_ranges_count(ranges);
        rn_findings_add(&d->findings, RN_FINDING_OK, "container", NULL,
                        "\"%s/%s\" has %zu partition key %s", t->database_name,
                        t->container_name, d->ranges,
                        d->ranges == 1 ? "range" : "ranges");
    }
    runnel_ranges_close(ranges);
    return !code;
}

static bool check_source(struct doctor *d)
{
    const struct subject source = {
        d->leases.target.container, "container",
        d->leases.target.container_name,
        "create it with 'runnel create', or correct --db and --container"
    };
    struct definition def;
    bool ok = read_definition(d, &source, &def);

    if (ok) {
        snprintf(d->source_rid, sizeof(d->source_rid), "%.*s",
                 RN_FMT(get_rid(&def.json)));
        ok = check_ranges(d);
    }
    if (ok)
        tell_feed(d, &def.json);
    release_definition(&def);
    return ok;
}

static void check_key_path(struct doctor *d, const struct rn_json *json)
{
    struct rn_view path = key_path(json);

    if (path.len && !rn_view_eq(path, RN_LIT("/id")) &&
        !rn_view_eq(path, RN_LIT("/partitionKey")) &&
        !rn_view_eq(path, RN_LIT("/_partitionKey"))) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, "leases",
                        "create another one with 'runnel create --pk /id'",
                        "\"%s\" has the partition key %.*s, in which no "
                        "library can keep leases",
                        d->leases.place, RN_FMT(path));
    }
}

static void check_ttl(struct doctor *d, const struct rn_json *json)
{
    uint32_t ttl = rn_json_find(json, 0, RN_LIT("defaultTtl"));

    if (rn_json_kind(json, ttl) != RN_JSON_NUMBER) {
        rn_findings_add(&d->findings, RN_FINDING_WARNING, "leases",
                        "set its defaultTtl to -1",
                        "\"%s\" has no defaultTtl: if a host dies at its "
                        "start, its lock stays and others wait for it",
                        d->leases.place);
    } else if (rn_json_double(json, ttl) > 0) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, "leases",
                        "set its defaultTtl to -1",
                        "leases in \"%s\" expire after %.0f s, and their "
                        "positions are lost",
                        d->leases.place, rn_json_double(json, ttl));
    }
}

/* A deletion of nothing needs the rights that hosts need. */
static void check_rights(struct doctor *d)
{
    static const char id[] = "runnel-doctor-has-no-such-lease";
    runnel_error error = { 0 };

    if (runnel_item_delete(
            d->leases.container,
            (runnel_key){ "\"runnel-doctor-has-no-such-lease\"", id }, NULL,
            &error) == RUNNEL_FORBIDDEN) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, "leases",
                        "use a read-write key",
                        "the key may not write and delete leases in \"%s\"",
                        d->leases.place);
    }
}

static bool check_lease_container(struct doctor *d)
{
    const struct subject leases = {
        d->leases.container, "leases", d->leases.place,
        "create it with 'runnel create --pk /id --ttl -1', or correct --leases"
    };
    struct definition def;
    uint32_t before = d->findings.faults;

    if (read_definition(d, &leases, &def)) {
        if (rn_view_eq(get_rid(&def.json), rn_view_text(d->source_rid))) {
            rn_findings_add(&d->findings, RN_FINDING_FAULT, "leases",
                            "give the leases a container of their own",
                            "\"%s\" is the container whose changes are "
                            "processed: each lease would be one, too",
                            d->leases.place);
        }
        check_key_path(d, &def.json);
        if (d->findings.faults == before)
            check_ttl(d, &def.json);
        if (d->findings.faults == before)
            check_rights(d);
    }
    release_definition(&def);
    return d->findings.faults == before;
}

/* ---- leases -------------------------------------------------------------- */

static bool count_lease(void *context, const runnel_lease *lease)
{
    struct doctor *d = context;

    d->lease_count++;
    return !rn_hosts_add(&d->hosts, lease);
}

static void check_lag(struct doctor *d)
{
    struct rn_lag lag = { 0 };
    uint32_t failed = 0;

    if (rn_lag_read(&lag, &d->leases)) {
        d->findings.faults++; /* it was reported */
        rn_lag_release(&lag);
        return;
    }
    for (const struct rn_lag_row *row = lag.first; row; row = row->next) {
        if (row->state == RUNNEL_LAG_FAILED && !failed++) {
            rn_findings_add(&d->findings, RN_FINDING_FAULT, "lag",
                            "'runnel leases show' prints the lease; 'runnel "
                            "leases seek' gives it a new position",
                            "lease \"%s\": %s", row->lease, row->error);
        }
    }
    if (!failed && lag.behind && !d->hosts.alive) {
        rn_findings_add(&d->findings, RN_FINDING_WARNING, "lag",
                        "start a host of this processor",
                        "%lld change%s behind, and no host is running",
                        (long long)lag.behind, rn_plural((uint64_t)lag.behind));
    } else if (!failed) {
        rn_findings_add(&d->findings, RN_FINDING_OK, "lag", NULL,
                        "%lld change%s behind", (long long)lag.behind,
                        rn_plural((uint64_t)lag.behind));
    }
    rn_lag_release(&lag);
}

static void check_count(struct doctor *d)
{
    if (d->lease_count < d->ranges) {
        rn_findings_add(&d->findings, RN_FINDING_WARNING, "leases",
                        "a host creates the missing ones when it starts",
                        "%u lease%s for %zu range%s", d->lease_count,
                        rn_plural(d->lease_count), d->ranges,
                        rn_plural(d->ranges));
    } else {
        rn_findings_add(&d->findings, RN_FINDING_OK, "leases", NULL,
                        "%u, owned: %u (%u by other libraries)", d->lease_count,
                        d->hosts.alive, d->hosts.foreign);
    }
}

static void check_leases(struct doctor *d)
{
    runnel_error error = { 0 };

    rn_doctor_check_lock(&d->leases, rn_view_text(d->source_rid), &d->findings);
    if (runnel_leases_each(&d->leases.set, count_lease, d, &error)) {
        rn_findings_add(&d->findings, RN_FINDING_FAULT, "leases",
                        "give each library a prefix of its own with "
                        "--lease-prefix",
                        "%s", error.message);
        return;
    }
    rn_hosts_count(&d->hosts);
    rn_hosts_check_intervals(&d->hosts, d->wanted.expire_ms ? &d->wanted : NULL,
                             &d->findings);
    if (!d->lease_count) {
        rn_findings_add(&d->findings, RN_FINDING_WARNING, "leases",
                        "start the processor, or correct --lease-prefix",
                        "no processor named \"%s\" has leases in \"%s\"",
                        d->leases.set.name, d->leases.place);
        return;
    }
    rn_hosts_check_names(&d->hosts, &d->findings);
    check_count(d);
    check_lag(d);
}

/* ---- the command --------------------------------------------------------- */

static bool gives_intervals(const struct rn_args *args)
{
    return rn_args_flag(args, "lease-renew") ||
           rn_args_flag(args, "lease-acquire") ||
           rn_args_flag(args, "lease-expire");
}

static int run(const struct rn_args *args)
{
    struct doctor d = { .findings.as_json = rn_args_flag(args, "json"),
                        .wants_leases = rn_args_flag(args, "leases") ||
                                        rn_args_flag(args, "lease-prefix") };
    int status = rn_leases_open(args, &d.leases);

    if (gives_intervals(args)) {
        d.wanted = (struct rn_intervals){
            .acquire_ms = (unsigned)rn_args_count(args, "lease-acquire"),
            .renew_ms = (unsigned)rn_args_count(args, "lease-renew"),
            .expire_ms = (unsigned)rn_args_count(args, "lease-expire"),
        };
    }
    d.wants_leases |= d.wanted.expire_ms != 0;
    rn_hosts_init(&d.hosts, 0);
    if (!status && check_account(&d) && check_source(&d) && d.wants_leases &&
        check_lease_container(&d)) {
        d.hosts.now_ms = d.now_ms;
        check_leases(&d);
    }
    if (!status && d.findings.faults)
        status = RN_EXIT_FAILED;
    rn_hosts_release(&d.hosts);
    rn_leases_close(&d.leases);
    return status;
}

static const struct rn_option options[] = {
    { "lease-renew", RN_OPTION_MS, NULL, "17s", NULL,
      "Check the intervals of a host that is to be started: this one and the "
      "next two, against each other and those of the running hosts." },
    { "lease-acquire", RN_OPTION_MS, NULL, "13s", NULL, "See --lease-renew." },
    { "lease-expire", RN_OPTION_MS, NULL, "60s", NULL, "See --lease-renew." },
    { 0 },
};

const struct rn_tool rn_tool_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "Find configuration errors",
    .help = "Checks the account, the key, the clock and the container; with "
            "--leases, --lease-prefix or an interval the lease container, the "
            "lock that a host may have left, the hosts and the leases of a "
            "processor, too.  Each fault comes with its remedy.  The exit "
            "status is 1 if there is one.",
    .example = "  runnel doctor --container shop/orders\n"
               "  runnel doctor --container shop/orders --leases leases\n"
               "  runnel doctor --container shop/orders --lease-renew 30s\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER | RN_USES_LEASES,
    .options = options,
    .run = run,
};
