/* top.c -- `runnel top`: what a server does, from two reads of its metrics. */
#include "base/env.h"
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/screen.h"
#include "tools/common/signals.h"
#include "tools/common/target.h"
#include "tools/top/metrics.h"
#include "json/print.h"

#include <stdarg.h>
#include <unistd.h>

enum { LINE_BYTES = 256, JSON_MAX = 1 << 20, CONTAINERS_MAX = 1024 };

static const char *const methods[] = { "GET", "POST", "PUT", "PATCH",
                                       "DELETE" };
enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

struct method_view {
    double rate, p50, p99;
};

struct container_view {
    struct rn_view database, name;
    uint32_t ranges;
    double lsn, writes; /* the sum of LSNs; how they rise, a second */
    double units;
};

struct lag_view {
    int64_t behind, behind_ms;
    uint32_t leases;
};

/* What is shown; views are of the metrics. */
struct view {
    struct rn_view version;
    double requests, failed, throttled;
    double connections, inflight, feed_readers, feed_items;
    double commits, commit_p99, cpu, resident, data;
    struct method_view methods[METHODS];
    struct container_view containers[CONTAINERS_MAX];
    size_t container_count;
    bool has_lag;
    struct lag_view lag;
};

struct top {
    const struct rn_args *args;
    struct rn_target target;
    runnel_container *source, *leases;
    struct rn_metrics before, now;
    struct view view;
};

/* ---- reckoning ----------------------------------------------------------- */

static double rate(const struct top *t, const char *name)
{
    return rn_metrics_rate(&t->before, &t->now, name, NULL,
                           (struct rn_view){ 0 });
}

static double value(const struct top *t, const char *name)
{
    return rn_metrics_sum(&t->now, name, NULL, (struct rn_view){ 0 });
}

/* Requests a second that were answered with a status from 400 on. */
static double failure_rate(const struct top *t)
{
    double counts[2] = { 0, 0 };
    const struct rn_metrics *both[2] = { &t->before, &t->now };
    int64_t ns = t->now.read_ns - t->before.read_ns;

    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < both[k]->count; i++) {
            const struct rn_sample *s = &both[k]->samples[i];
            struct rn_view code = rn_sample_label(s, "code");

            if (rn_view_eq(s->name, RN_LIT("runnel_http_requests_total")) &&
                code.len && code.at[0] >= '4')
                counts[k] += s->value;
        }
    }
    return ns > 0 && counts[1] > counts[0]
               ? (counts[1] - counts[0]) * 1e9 / (double)ns
               : 0;
}

static struct container_view *container_of(struct view *v,
                                           const struct rn_sample *s)
{
    struct rn_view database = rn_sample_label(s, "database");
    struct rn_view name = rn_sample_label(s, "container");

    for (size_t i = 0; i < v->container_count; i++) {
        if (rn_view_eq(v->containers[i].database, database) &&
            rn_view_eq(v->containers[i].name, name))
            return &v->containers[i];
    }
    if (!name.len || v->container_count == CONTAINERS_MAX)
        return NULL;
    v->containers[v->container_count] =
        (struct container_view){ .database = database, .name = name };
    return &v->containers[v->container_count++];
}

/* Adds what the samples say of containers: `sign` -1 for those before. */
static void add_containers(struct view *v, const struct rn_metrics *m,
                           double sign)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct rn_sample *s = &m->samples[i];
        bool is_lsn = rn_view_eq(s->name, RN_LIT("runnel_range_lsn"));
        struct container_view *c;

        if (!is_lsn &&
            !rn_view_eq(s->name, RN_LIT("runnel_request_units_total")))
            continue;
        c = container_of(v, s);
        if (!c)
            continue;
        *(is_lsn ? &c->writes : &c->units) += sign * s->value;
        if (is_lsn && sign > 0) {
            c->ranges++;
            c->lsn += s->value;
        }
    }
}

static void reckon_containers(struct top *t)
{
    double seconds = (double)(t->now.read_ns - t->before.read_ns) / 1e9;
    struct view *v = &t->view;

    add_containers(v, &t->now, 1);
    add_containers(v, &t->before, -1);
    for (size_t i = 0; i < v->container_count; i++) {
        struct container_view *c = &v->containers[i];

        c->writes = c->writes > 0 ? c->writes / seconds : 0;
        c->units = c->units > 0 ? c->units / seconds : 0;
    }
}

static void reckon(struct top *t)
{
    static const char duration[] = "runnel_http_request_duration_seconds";
    struct view *v = &t->view;

    v->container_count = 0;
    for (size_t i = 0; i < t->now.count; i++) {
        if (rn_view_eq(t->now.samples[i].name, RN_LIT("runnel_build_info")))
            v->version = rn_sample_label(&t->now.samples[i], "version");
    }
    v->requests = rate(t, "runnel_http_requests_total");
    v->failed = failure_rate(t);
    v->throttled = rate(t, "runnel_throttled_total");
    v->connections = value(t, "runnel_http_connections");
    v->inflight = value(t, "runnel_inflight_requests");
    v->feed_readers = value(t, "runnel_feed_readers");
    v->feed_items = rate(t, "runnel_feed_items_total");
    v->commits = rate(t, "runnel_commits_total");
    v->commit_p99 = rn_metrics_quantile(&t->before, &t->now,
                                        "runnel_commit_duration_seconds", NULL,
                                        (struct rn_view){ 0 }, 0.99);
    v->cpu = 100 * rate(t, "process_cpu_seconds_total");
    v->resident = value(t, "process_resident_memory_bytes");
    v->data = value(t, "runnel_db_size_bytes");
    for (size_t i = 0; i < METHODS; i++) {
        struct rn_view op = rn_view_text(methods[i]);

        v->methods[i] = (struct method_view){
            .rate = rn_metrics_rate(&t->before, &t->now,
                                    "runnel_http_requests_total", "op", op),
            .p50 = rn_metrics_quantile(&t->before, &t->now, duration, "op", op,
                                       0.5),
            .p99 = rn_metrics_quantile(&t->before, &t->now, duration, "op", op,
                                       0.99),
        };
    }
    reckon_containers(t);
}

static bool take_lag(void *context, const runnel_lag *lag)
{
    struct lag_view *out = context;

    if (!lag->lease) {
        *out = (struct lag_view){ .behind = lag->behind,
                                  .behind_ms = lag->behind_ms,
                                  .leases = lag->leases };
    }
    return true;
}

static int read_lag(struct top *t)
{
    runnel_error error = { 0 };
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = t->source,
                             .leases = t->leases,
                             .name = rn_args_text(t->args, "lease-prefix") };

    t->view.has_lag = t->leases != NULL;
    if (t->leases && runnel_lag_each(&set, take_lag, &t->view.lag, &error))
        return rn_report_error(&error);
    return RN_EXIT_OK;
}

/* The next view. */
static int look(struct top *t)
{
    int status;

    rn_metrics_release(&t->before);
    t->before = t->now;
    status = rn_metrics_read(t->target.client, &t->now);
    if (!status)
        status = read_lag(t);
    if (!status)
        reckon(t);
    return status;
}

/* ---- for people ---------------------------------------------------------- */

typedef void line_fn(void *to, const char *text);

static void tell(line_fn *line, void *to, const char *fmt, ...) RN_PRINTF(3, 4);
static void tell(line_fn *line, void *to, const char *fmt, ...)
{
    char text[LINE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    line(to, text);
}

/* Seconds as text: "<0.5 ms", ">10000 ms", "-" if there was nothing. */
static const char *latency(double seconds, char out[32])
{
    if (seconds == 0)
        return "-";
    snprintf(out, 32, "%c%g ms", seconds < 0 ? '>' : '<',
             1000 * (seconds < 0 ? -seconds : seconds));
    return out;
}

static void print_methods(const struct view *v, line_fn *line, void *to)
{
    char p50[32], p99[32];

    tell(line, to, "%s%-10s %12s %12s %12s%s", rn_color(RN_COLOR_BOLD),
         "METHOD", "REQUESTS/S", "P50", "P99", rn_color(RN_COLOR_NONE));
    for (size_t i = 0; i < METHODS; i++) {
        const struct method_view *m = &v->methods[i];

        tell(line, to, "%-10s %12.1f %12s %12s", methods[i], m->rate,
             latency(m->p50, p50), latency(m->p99, p99));
    }
}

static void print_view(const struct view *v, line_fn *line, void *to)
{
    char p99[32];

    tell(line, to, "Runnel %.*s   cpu %.0f %%   memory %.0f MB   data %.0f MB",
         RN_FMT(v->version), v->cpu, v->resident / 1e6, v->data / 1e6);
    tell(line, to,
         "requests %.1f/s   failed %.1f/s   throttled %.1f/s   in flight %.0f"
         "   connections %.0f",
         v->requests, v->failed, v->throttled, v->inflight, v->connections);
    tell(line, to,
         "commits %.1f/s   commit p99 %s   feed %.1f changes/s to %.0f "
         "waiting readers",
         v->commits, latency(v->commit_p99, p99), v->feed_items,
         v->feed_readers);
    if (v->has_lag) {
        tell(line, to, "lag %lld transaction%s, %.1f s, of %u lease%s",
             (long long)v->lag.behind, rn_plural((uint64_t)v->lag.behind),
             (double)v->lag.behind_ms / 1000, v->lag.leases,
             rn_plural(v->lag.leases));
    }
    line(to, "");
    print_methods(v, line, to);
    line(to, "");
    tell(line, to, "%s%-36s %6s %14s %10s %10s%s", rn_color(RN_COLOR_BOLD),
         "CONTAINER", "RANGES", "LSN", "WRITES/S", "RU/S",
         rn_color(RN_COLOR_NONE));
    for (size_t i = 0; i < v->container_count; i++) {
        const struct container_view *c = &v->containers[i];
        char name[64];

        snprintf(name, sizeof(name), "%.*s/%.*s", RN_FMT(c->database),
                 RN_FMT(c->name));
        tell(line, to, "%-36.36s %6u %14.0f %10.1f %10.1f", name, c->ranges,
             c->lsn, c->writes, c->units);
    }
}

static void out_line(void *to, const char *text)
{
    (void)to;
    rn_outf("%s\n", text);
}

static void screen_line(void *to, const char *text)
{
    rn_screen_line(to, "%s", text);
}

/* ---- JSON ---------------------------------------------------------------- */

static void member(struct rn_json_out *o, const char *name, double number)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_double(o, number);
}

static void json_view(const struct view *v, struct rn_json_out *o)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("version"));
    rn_json_out_string(o, v->version);
    member(o, "requestsPerSecond", v->requests);
    member(o, "failedPerSecond", v->failed);
    member(o, "throttledPerSecond", v->throttled);
    member(o, "inFlight", v->inflight);
    member(o, "connections", v->connections);
    member(o, "commitsPerSecond", v->commits);
    member(o, "commitP99Seconds", v->commit_p99);
    member(o, "feedChangesPerSecond", v->feed_items);
    member(o, "feedReaders", v->feed_readers);
    member(o, "cpuPercent", v->cpu);
    member(o, "residentBytes", v->resident);
    member(o, "dataBytes", v->data);
    if (v->has_lag) {
        member(o, "lag", (double)v->lag.behind);
        member(o, "lagMs", (double)v->lag.behind_ms);
        member(o, "leases", v->lag.leases);
    }
    rn_json_out_key(o, RN_LIT("methods"));
    rn_json_out_object_begin(o);
    for (size_t i = 0; i < METHODS; i++) {
        rn_json_out_key(o, rn_view_text(methods[i]));
        rn_json_out_object_begin(o);
        member(o, "requestsPerSecond", v->methods[i].rate);
        member(o, "p50Seconds", v->methods[i].p50);
        member(o, "p99Seconds", v->methods[i].p99);
        rn_json_out_object_end(o);
    }
    rn_json_out_object_end(o);
    rn_json_out_key(o, RN_LIT("containers"));
    rn_json_out_array_begin(o);
}

static void print_json(const struct view *v)
{
    struct rn_buf line = RN_BUF_INIT(JSON_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&line);

    json_view(v, &o);
    for (size_t i = 0; i < v->container_count; i++) {
        const struct container_view *c = &v->containers[i];

        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("database"));
        rn_json_out_string(&o, c->database);
        rn_json_out_key(&o, RN_LIT("container"));
        rn_json_out_string(&o, c->name);
        member(&o, "ranges", c->ranges);
        member(&o, "lsn", c->lsn);
        member(&o, "writesPerSecond", c->writes);
        member(&o, "unitsPerSecond", c->units);
        rn_json_out_object_end(&o);
    }
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    if (!rn_json_out_finish(&o))
        rn_out_json(rn_buf_view(&line));
    rn_out_flush();
    rn_buf_release(&line);
}

/* ---- running ------------------------------------------------------------- */

/* Lines or JSON for pipes: once, or again and again. */
static int run_plain(struct top *t, uint64_t ms)
{
    bool is_once = rn_args_flag(t->args, "once");
    int status = RN_EXIT_OK;

    do {
        if (!rn_signals_pause(ms))
            return RN_EXIT_INTERRUPTED;
        status = look(t);
        if (status)
            break;
        if (rn_args_flag(t->args, "json"))
            print_json(&t->view);
        else
            print_view(&t->view, out_line, NULL);
        rn_out_flush();
    } while (!is_once);
    return status;
}

static int run_live(struct top *t, uint64_t ms)
{
    struct rn_screen *screen = NULL;
    int64_t next = rn_mono_ns(rn_env_real());
    int status = rn_screen_open(&screen), key = RN_KEY_NONE;

    while (!status && key != 'q' && key != RN_KEY_INTERRUPT) {
        int64_t left = next - rn_mono_ns(rn_env_real());

        if (left <= 0) {
            status = look(t);
            next = rn_mono_ns(rn_env_real()) + (int64_t)ms * 1000000;
            left = (int64_t)ms * 1000000;
        }
        rn_screen_begin(screen);
        print_view(&t->view, screen_line, screen);
        rn_screen_line(screen, "%s", "");
        rn_screen_line(screen, "q quits");
        rn_screen_end(screen);
        if (!status)
            key = rn_screen_wait(screen, (uint32_t)(left / 1000000) + 1);
    }
    rn_screen_close(screen);
    return key == RN_KEY_INTERRUPT ? RN_EXIT_INTERRUPTED : status;
}

static int open_leases(struct top *t)
{
    const char *leases = rn_args_text(t->args, "leases");
    const char *source = rn_args_text(t->args, "container");
    int status;

    if (!leases && !source)
        return RN_EXIT_OK;
    if (!leases || !source)
        return rn_report(RN_EXIT_USAGE, "--container and --leases belong "
                                        "together");
    status = rn_target_container(t->target.client, "--container", NULL, source,
                                 &t->source);
    return status ? status
                  : rn_target_container(t->target.client, "--leases", NULL,
                                        leases, &t->leases);
}

static int run(const struct rn_args *args)
{
    struct top *t = rn_new(sizeof(*t));
    uint64_t ms = rn_args_count(args, "interval");
    bool is_plain = rn_args_flag(args, "once") || rn_args_flag(args, "json") ||
                    !rn_out_is_pretty();
    int status;

    if (!t)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    t->args = args;
    status = rn_target_open(args, &t->target);
    if (!status)
        status = open_leases(t);
    if (!status)
        status = rn_metrics_read(t->target.client, &t->now);
    if (!status)
        status =
            is_plain ? run_plain(t, ms ? ms : 1) : run_live(t, ms ? ms : 1);
    rn_metrics_release(&t->before);
    rn_metrics_release(&t->now);
    runnel_container_close(t->source);
    runnel_container_close(t->leases);
    rn_target_close(&t->target);
    rn_free(t);
    return status;
}

static const struct rn_option options[] = {
    { "interval", RN_OPTION_MS, NULL, "1s", NULL,
      "The time between two reads; rates are of that time." },
    { "once", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Print one view, of one interval, and end." },
    { "container", RN_OPTION_TEXT, "DB/NAME", NULL, NULL,
      "Show how far the processors of this container are behind, too." },
    { "leases", RN_OPTION_TEXT, "DB/NAME", NULL, NULL,
      "The container of their leases." },
    { "lease-prefix", RN_OPTION_TEXT, "NAME", "trigger", NULL,
      "The name of the processor." },
    { 0 },
};

const struct rn_tool rn_tool_top = {
    .name = "top",
    .usage = "",
    .summary = "Show the activity of a server, live",
    .help = "Shows requests, latencies, commits and the writes of each "
            "container from the server's /metrics, which it serves to clients "
            "on loopback.  A latency is an upper bound, from a histogram.  On "
            "a terminal "
            "the view is live, and q quits; in a pipe one view follows the "
            "other, as text or with --json as lines of JSON.",
    .example = "  runnel top\n  runnel top --once --json\n",
    .uses = RN_USES_ACCOUNT,
    .options = options,
    .run = run,
};
