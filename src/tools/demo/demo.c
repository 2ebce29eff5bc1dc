/* demo.c -- `runnel demo`: a server, a writer and a fleet of hosts, live. */
#include "base/env.h"
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/screen.h"
#include "tools/common/signals.h"
#include "tools/common/target.h"
#include "tools/demo/fleet.h"
#include "tools/demo/work.h"
#include "tools/top/metrics.h"

#include <stdarg.h>
#include <stdlib.h>

enum {
    HOSTS = 3,
    ROWS_MAX = 64,
    RANGES_MAX = 16, /* more are not split: they would not fit a screen */
    NEWS = 6,
    NEWS_BYTES = 120,
    FRAME_MS = 250,
    MOVED_NS_FOR = 3, /* seconds for which a lease that moved is marked */
};

/* A lease, and what is known of its range. */
struct row {
    char lease[80], host[40];
    char range[16]; /* the one that holds its first key; "-": none yet */
    int64_t behind;
    bool is_known;
    double lsn;
    int64_t moved_ns; /* when it came to its host; 0: it was there */
};

struct demo {
    struct rn_fleet fleet;
    struct rn_screen *screen;
    runnel_client *client;
    runnel_container *source, *leases;
    struct rn_demo_writer writer;
    struct rn_metrics before, now;
    struct row rows[ROWS_MAX], last[ROWS_MAX];
    size_t row_count, last_count;
    int64_t total;
    int64_t begun_ns;
    char news[NEWS][NEWS_BYTES];
    size_t news_count;
};

static void tell(struct demo *d, const char *fmt, ...) RN_PRINTF(2, 3);
static void tell(struct demo *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(d->news[d->news_count++ % NEWS], NEWS_BYTES, fmt, args);
    va_end(args);
}

/* ---- looking ------------------------------------------------------------- */

static bool take_lag(void *context, const runnel_lag *lag)
{
    struct demo *d = context;
    struct row *row = &d->rows[d->row_count];

    if (!lag->lease) {
        d->total = lag->behind;
        return true;
    }
    if (d->row_count == ROWS_MAX)
        return true;
    *row = (struct row){ .behind = lag->behind,
                         .is_known = lag->state == RUNNEL_LAG_KNOWN };
    snprintf(row->lease, sizeof(row->lease), "%s", lag->lease);
    snprintf(row->host, sizeof(row->host), "%s", lag->host ? lag->host : "-");
    d->row_count++;
    return true;
}

static int order_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    long m = strtol(x->range, NULL, 10), n = strtol(y->range, NULL, 10);

    return m != n ? (m > n) - (m < n) : strcmp(x->lease, y->lease);
}

/* A lease is of a range by its id, or of the keys MIN-MAX of a merged one. */
static void find_range(const runnel_ranges *ranges, struct row *row)
{
    const char *dash = strchr(row->lease, '-');
    char min[80];

    snprintf(row->range, sizeof(row->range), "-");
    snprintf(min, sizeof(min), "%.*s", (int)(dash ? dash - row->lease : 0),
             row->lease);
    for (size_t i = 0; i < runnel_ranges_count(ranges); i++) {
        const runnel_range *r = runnel_ranges_at(ranges, i);

        if (dash ? strcmp(r->min, min) <= 0 && strcmp(min, r->max) < 0
                 : strcmp(r->id, row->lease) == 0)
            snprintf(row->range, sizeof(row->range), "%s", r->id);
    }
}

static double lsn_of(const struct rn_metrics *m, const char *range)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct rn_sample *s = &m->samples[i];

        if (rn_view_eq(s->name, RN_LIT("runnel_range_lsn")) &&
            rn_view_eq(rn_sample_label(s, "container"),
                       RN_LIT(RN_DEMO_SOURCE)) &&
            rn_view_eq(rn_sample_label(s, "range"), rn_view_text(range)))
            return s->value;
    }
    return 0;
}

/* Prints the host that has each lease now, and the host that had it before. */
static void compare_rows(struct demo *d)
{
    int64_t now = rn_mono_ns(rn_env_real());

    for (size_t i = 0; i < d->row_count; i++) {
        struct row *row = &d->rows[i];
        size_t k = 0;

        row->lsn = lsn_of(&d->now, row->range);
        while (k < d->last_count && strcmp(d->last[k].lease, row->lease) != 0)
            k++;
        if (k == d->last_count) {
            tell(d, "lease %s is new", row->lease);
            row->moved_ns = now;
        } else if (strcmp(d->last[k].host, row->host) != 0) {
            tell(d, "lease %s: %s -> %s", row->lease, d->last[k].host,
                 row->host);
            row->moved_ns = now;
        } else {
            row->moved_ns = d->last[k].moved_ns;
        }
    }
}

static int look(struct demo *d)
{
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = d->source,
                             .leases = d->leases, .name = RN_DEMO_PROCESSOR };
    runnel_ranges *ranges = NULL;
    runnel_error error = { 0 };
    int status;

    rn_metrics_release(&d->before);
    d->before = d->now;
    status = rn_metrics_read(d->client, &d->now);
    if (status)
        return status;
    memcpy(d->last, d->rows, sizeof(d->rows));
    d->last_count = d->row_count;
    d->row_count = 0;
    if (runnel_lag_each(&set, take_lag, d, &error) ||
        runnel_ranges_read(d->source, 0, &ranges, &error)) {
        memcpy(d->rows, d->last, sizeof(d->rows)); /* in the midst of a split */
        d->row_count = d->last_count;
    }
    for (size_t i = 0; ranges && i < d->row_count; i++)
        find_range(ranges, &d->rows[i]);
    runnel_ranges_close(ranges);
    qsort(d->rows, d->row_count, sizeof(d->rows[0]), order_rows);
    compare_rows(d);
    return RN_EXIT_OK;
}

/* ---- showing ------------------------------------------------------------- */

static uint32_t leases_of(const struct demo *d, const char *host)
{
    uint32_t count = 0;

    for (size_t i = 0; i < d->row_count; i++)
        count += strcmp(d->rows[i].host, host) == 0;
    return count;
}

static void show_leases(struct demo *d)
{
    int64_t now = rn_mono_ns(rn_env_real());

    rn_screen_line(d->screen, "%s%-6s %10s   %-14s %-10s %10s%s",
                   rn_color(RN_COLOR_BOLD), "RANGE", "LSN", "LEASE", "HOST",
                   "LAG", rn_color(RN_COLOR_NONE));
    for (size_t i = 0; i < d->row_count; i++) {
        const struct row *row = &d->rows[i];
        bool has_moved =
            row->moved_ns &&
            now - row->moved_ns < MOVED_NS_FOR * INT64_C(1000000000);
        char lag[24] = "-";

        if (row->is_known)
            snprintf(lag, sizeof(lag), "%lld", (long long)row->behind);
        rn_screen_line(d->screen, "%s%-6s %10.0f   %-14.14s %-10.10s %10s %s",
                       rn_color(has_moved ? RN_COLOR_YELLOW : RN_COLOR_NONE),
                       row->range, row->lsn, row->lease, row->host, lag,
                       has_moved ? "moved" : "");
    }
}

static void show_hosts(struct demo *d)
{
    rn_screen_line(d->screen, "%s", "");
    for (uint32_t i = 0; i < d->fleet.host_count; i++) {
        const struct rn_demo_host *host = &d->fleet.hosts[i];
        uint32_t leases = leases_of(d, host->name);

        if (host->pid)
            rn_screen_line(d->screen, "%-8s process %d, %u lease%s", host->name,
                           (int)host->pid, leases, rn_plural(leases));
    }
    rn_screen_line(d->screen, "%s", "");
    for (size_t i = 0; i < NEWS; i++) {
        if (d->news_count > i)
            rn_screen_line(d->screen, "%s%s", rn_color(RN_COLOR_DIM),
                           d->news[(d->news_count - 1 - i) % NEWS]);
    }
}

static void show(struct demo *d)
{
    int64_t up = rn_mono_ns(rn_env_real()) - d->begun_ns;

    rn_screen_begin(d->screen);
    rn_screen_line(d->screen, "%sRunnel demo%s   %s   %lld s",
                   rn_color(RN_COLOR_BOLD), rn_color(RN_COLOR_NONE),
                   d->fleet.account, (long long)(up / 1000000000));
    rn_screen_line(d->screen, "k kill a host   a add one   s split   m merge"
                              "   q quit");
    rn_screen_line(d->screen, "%s", "");
    rn_screen_line(
        d->screen, "writes %.0f/s   feed %.0f/s   lag %lld   hosts %u",
        rn_metrics_rate(&d->before, &d->now, "runnel_range_lsn", "container",
                        RN_LIT(RN_DEMO_SOURCE)),
        rn_metrics_rate(&d->before, &d->now, "runnel_feed_items_total", NULL,
                        (struct rn_view){ 0 }),
        (long long)d->total, rn_fleet_alive(&d->fleet));
    rn_screen_line(d->screen, "%s", "");
    show_leases(d);
    show_hosts(d);
    rn_screen_end(d->screen);
}

/* ---- keys ---------------------------------------------------------------- */

static long id_at(const runnel_ranges *ranges, size_t i)
{
    return strtol(runnel_ranges_at(ranges, i)->id, NULL, 10);
}

/* Asks for a split or a merge; `with` negative: a split. */
static void split_or_merge(struct demo *d, long range, long with)
{
    char body[160];
    int len = snprintf(body, sizeof(body),
                       "{\"container\":\"dbs/%s/colls/%s\",\"range\":%ld",
                       RN_DEMO_DATABASE, RN_DEMO_SOURCE, range);
    runnel_request request = { .method = "POST",
                               .path = with < 0 ? "/_runnel/split"
                                                : "/_runnel/merge" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    if (with >= 0)
        len += snprintf(body + len, sizeof(body) - (size_t)len, ",\"with\":%ld",
                        with);
    len += snprintf(body + len, sizeof(body) - (size_t)len, "}");
    request.body = (runnel_bytes){ body, (size_t)len };
    if (runnel_client_send(d->client, &request, &reply, &error))
        tell(d, "%s", error.message);
    else if (with < 0)
        tell(d, "range %ld was split", range);
    else
        tell(d, "ranges %ld and %ld were merged", range, with);
    runnel_reply_close(reply);
}

/* Splits the oldest range, or merges the neighbours that are the newest. */
static void change_ranges(struct demo *d, bool is_split)
{
    runnel_ranges *ranges = NULL;
    runnel_error error = { 0 };
    size_t count, best = 0;

    if (runnel_ranges_read(d->source, 0, &ranges, &error)) {
        tell(d, "%s", error.message);
        return;
    }
    count = runnel_ranges_count(ranges);
    for (size_t i = 1; i + (is_split ? 0 : 1) < count; i++) {
        if (is_split ? id_at(ranges, i) < id_at(ranges, best)
                     : id_at(ranges, i) + id_at(ranges, i + 1) >
                           id_at(ranges, best) + id_at(ranges, best + 1))
            best = i;
    }
    if (is_split && count < RANGES_MAX)
        split_or_merge(d, id_at(ranges, best), -1);
    else if (!is_split && count > 1)
        split_or_merge(d, id_at(ranges, best), id_at(ranges, best + 1));
    else
        tell(d,
             is_split ? "there are ranges enough" : "there is one range only");
    runnel_ranges_close(ranges);
}

static void kill_host(struct demo *d)
{
    const struct rn_demo_host *host = rn_fleet_kill(&d->fleet);

    if (host)
        tell(d, "%s was killed; its leases expire", host->name);
    else
        tell(d, "there is no host left");
}

static void press(struct demo *d, int key)
{
    switch (key) {
    case 'k':
        kill_host(d);
        break;
    case 'a':
        if (!rn_fleet_add(&d->fleet))
            tell(d, "there are hosts enough");
        break;
    case 's':
    case 'm':
        change_ranges(d, key == 's');
        break;
    default:
        break;
    }
}

/* ---- running ------------------------------------------------------------- */

static void cancel(void *client)
{
    runnel_client_cancel(client);
}

static int open_client(struct demo *d)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT,
                                      .endpoint = d->fleet.account };
    runnel_error error = { 0 };

    if (runnel_client_open(&options, &d->client, &error) ||
        runnel_container_open(d->client, RN_DEMO_DATABASE, RN_DEMO_SOURCE,
                              &d->source, &error) ||
        runnel_container_open(d->client, RN_DEMO_DATABASE, RN_DEMO_LEASES,
                              &d->leases, &error) ||
        runnel_container_open(d->client, RN_DEMO_DATABASE, RN_DEMO_SOURCE,
                              &d->writer.container, &error))
        return rn_report_error(&error);
    rn_on_interrupt(cancel, d->client);
    return rn_demo_prepare(d->client);
}

static int begin(struct demo *d)
{
    int status;

    rn_screen_begin(d->screen);
    rn_screen_line(d->screen, "Runnel demo: the server starts");
    rn_screen_end(d->screen);
    status = rn_fleet_open(&d->fleet);
    if (!status)
        status = open_client(d);
    if (!status)
        status = rn_metrics_read(d->client, &d->now);
    for (int i = 0; !status && i < HOSTS; i++) {
        if (!rn_fleet_add(&d->fleet))
            status = rn_report(RN_EXIT_FAILED, "no host can be started");
    }
    if (!status && !rn_demo_writer_start(&d->writer))
        status = rn_report(RN_EXIT_FAILED, "a thread cannot be started");
    d->begun_ns = rn_mono_ns(rn_env_real());
    return status;
}

static void finish(struct demo *d)
{
    rn_on_interrupt(NULL, NULL);
    rn_demo_writer_stop(&d->writer);
    rn_metrics_release(&d->before);
    rn_metrics_release(&d->now);
    runnel_container_close(d->writer.container);
    runnel_container_close(d->source);
    runnel_container_close(d->leases);
    runnel_client_close(d->client);
    rn_fleet_close(&d->fleet);
    rn_screen_close(d->screen);
}

static int run_demo(struct demo *d)
{
    int status = rn_screen_open(&d->screen), key = RN_KEY_NONE;

    if (!status)
        status = begin(d);
    while (!status && key != 'q' && key != RN_KEY_INTERRUPT) {
        status = look(d);
        if (status)
            break;
        show(d);
        key = rn_screen_wait(d->screen, FRAME_MS);
        press(d, key);
    }
    finish(d);
    return rn_interrupted() ? RN_EXIT_INTERRUPTED : status;
}

static int run(const struct rn_args *args)
{
    const char *account = rn_args_text(args, "join");
    struct demo *d;
    int status;

    if (account)
        return rn_demo_host(account, rn_args_text(args, "instance"));
    d = rn_new(sizeof(*d));
    if (!d)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    status = run_demo(d);
    rn_free(d);
    return status;
}

static const struct rn_option options[] = {
    { "join", RN_OPTION_TEXT, "URL", NULL, NULL,
      "Run one more host of the demo whose server has this URL, without a "
      "view, until a signal ends it." },
    { "instance", RN_OPTION_TEXT, "NAME", NULL, NULL,
      "The name of the host; by default it is made up." },
    { 0 },
};

const struct rn_tool rn_tool_demo = {
    .name = "demo",
    .usage = "",
    .summary = "Watch a change feed processor at work",
    .help = "Starts a server on a free port with a temporary directory, a "
            "container of four ranges, a writer, and three hosts of a change "
            "feed processor as processes.  Shows the LSN of each range, which "
            "host has its lease, and the lag.  The keys k and a kill and add a "
            "host, s and m split and merge ranges; q quits.  Nothing is left "
            "behind.",
    .example = "  runnel demo\n",
    .options = options,
    .run = run,
};
