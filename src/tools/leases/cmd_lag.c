/* cmd_lag.c -- `runnel lag`: how far a processor is behind the feed. */
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/screen.h"
#include "tools/common/signals.h"
#include "tools/leases/lag.h"
#include "json/print.h"

#include <stdlib.h>

enum { LINE_MAX_BYTES = 8192, LEASE_COLUMNS = 24, HOST_COLUMNS = 24 };

/* ---- one reading --------------------------------------------------------- */

static void add_seconds(struct rn_json_out *o, const char *name, int64_t ms)
{
    rn_json_out_key(o, rn_view_text(name));
    if (ms < 0)
        rn_json_out_null(o);
    else
        rn_json_out_double(o, (double)ms / 1000);
}

static void print_json(const struct rn_lag_row *row, const struct rn_lag *lag)
{
    struct rn_buf line = RN_BUF_INIT(LINE_MAX_BYTES);
    struct rn_json_out o = RN_JSON_OUT_INIT(&line);

    rn_json_out_object_begin(&o);
    if (row) {
        rn_json_out_key(&o, RN_LIT("lease"));
        rn_json_out_string(&o, rn_view_text(row->lease));
        rn_json_out_key(&o, RN_LIT("host"));
        if (row->host[0])
            rn_json_out_string(&o, rn_view_text(row->host));
        else
            rn_json_out_null(&o);
        rn_json_out_key(&o, RN_LIT("state"));
        rn_json_out_string(&o, rn_view_text(rn_lag_state_name(row->state)));
        add_seconds(&o, "checkpointAgeSeconds", row->checkpoint_age_ms);
    } else {
        rn_json_out_key(&o, RN_LIT("leases"));
        rn_json_out_uint(&o, lag->count);
    }
    rn_json_out_key(&o, RN_LIT("behind"));
    rn_json_out_int(&o, row ? row->behind : lag->behind);
    add_seconds(&o, "behindSeconds", row ? row->behind_ms : lag->behind_ms);
    rn_json_out_key(&o, RN_LIT("isUpperBound"));
    rn_json_out_bool(&o, row ? row->is_upper_bound : lag->is_upper_bound);
    rn_json_out_object_end(&o);
    rn_out(rn_buf_view(&line));
    rn_out(RN_LIT("\n"));
    rn_buf_release(&line);
}

/* "12.3 s", or "-" for none. */
static const char *seconds(int64_t ms, char out[24])
{
    if (ms < 0)
        snprintf(out, 24, "-");
    else
        snprintf(out, 24, "%.1f s", (double)ms / 1000);
    return out;
}

static const char *changes(const struct rn_lag_row *row, char out[32])
{
    if (row->state == RUNNEL_LAG_KNOWN) {
        snprintf(out, 32, "%s%lld", row->is_upper_bound ? "<=" : "",
                 (long long)row->behind);
    } else {
        snprintf(out, 32, "%s", rn_lag_state_name(row->state));
    }
    return out;
}

static void row_text(const struct rn_lag_row *row, char *out, size_t room)
{
    char behind[32], age[24], checkpoint[24];

    snprintf(out, room, "%-*s %-*s %12s %12s %12s", LEASE_COLUMNS, row->lease,
             HOST_COLUMNS, row->host[0] ? row->host : "-", changes(row, behind),
             seconds(row->behind_ms, age),
             seconds(row->checkpoint_age_ms, checkpoint));
}

static void head_text(char *out, size_t room)
{
    snprintf(out, room, "%-*s %-*s %12s %12s %12s", LEASE_COLUMNS, "LEASE",
             HOST_COLUMNS, "HOST", "BEHIND", "OLDEST", "CHECKPOINT");
}

static void total_text(const struct rn_lag *lag, char *out, size_t room)
{
    char leases[32], age[24], behind[32];

    snprintf(leases, sizeof(leases), "%u %s", lag->count,
             lag->count == 1 ? "lease" : "leases");
    snprintf(behind, sizeof(behind), "%s%lld", lag->is_upper_bound ? "<=" : "",
             (long long)lag->behind);
    snprintf(out, room, "%-*s %-*s %12s %12s", LEASE_COLUMNS, "total",
             HOST_COLUMNS, leases, behind, seconds(lag->behind_ms, age));
}

static void print(const struct rn_lag *lag, bool as_json)
{
    char line[LINE_MAX_BYTES];

    if (!as_json) {
        head_text(line, sizeof(line));
        rn_outf("%s%s%s\n", rn_color(RN_COLOR_BOLD), line,
                rn_color(RN_COLOR_NONE));
    }
    for (const struct rn_lag_row *row = lag->first; row; row = row->next) {
        row_text(row, line, sizeof(line));
        if (as_json)
            print_json(row, lag);
        else
            rn_outf("%s\n", line);
        if (!as_json && row->error[0])
            rn_outf("  %s\n", row->error);
    }
    total_text(lag, line, sizeof(line));
    if (as_json)
        print_json(NULL, lag);
    else
        rn_outf("%s\n", line);
    rn_out_flush();
}

/* ---- readings again and again -------------------------------------------- */

static void draw(struct rn_screen *screen, const struct rn_leases *leases,
                 const struct rn_lag *lag)
{
    char line[LINE_MAX_BYTES], spark[RN_SPARKLINE_MAX];

    rn_screen_begin(screen);
    rn_screen_line(screen, "%sprocessor %s on %s/%s%s   q quits",
                   rn_color(RN_COLOR_BOLD), leases->set.name,
                   leases->target.database_name, leases->target.container_name,
                   rn_color(RN_COLOR_NONE));
    rn_screen_line(screen, "%s", "");
    head_text(line, sizeof(line));
    rn_screen_line(screen, "%s%s  HISTORY%s", rn_color(RN_COLOR_DIM), line,
                   rn_color(RN_COLOR_NONE));
    for (const struct rn_lag_row *row = lag->first; row; row = row->next) {
        row_text(row, line, sizeof(line));
        rn_lag_sparkline(row, spark);
        rn_screen_line(screen, "%s  %s", line, spark);
    }
    total_text(lag, line, sizeof(line));
    rn_screen_line(screen, "%s", line);
    rn_screen_end(screen);
}

static int watch_screen(struct rn_leases *leases, struct rn_lag *lag,
                        uint32_t interval_ms)
{
    struct rn_screen *screen = NULL;
    int key = RN_KEY_NONE, status = rn_screen_open(&screen);

    while (!status && key != 'q' && key != RN_KEY_INTERRUPT) {
        if (key != RN_KEY_RESIZE)
            status = rn_lag_read(lag, leases);
        if (!status) {
            draw(screen, leases, lag);
            key = rn_screen_wait(screen, interval_ms);
        }
    }
    rn_screen_close(screen);
    return key == RN_KEY_INTERRUPT ? RN_EXIT_INTERRUPTED : status;
}

/* Prints every reading, until a signal. */
static int watch_lines(struct rn_leases *leases, struct rn_lag *lag,
                       uint32_t interval_ms, bool as_json)
{
    int status = RN_EXIT_OK;

    while (!status && !rn_interrupted()) {
        status = rn_lag_read(lag, leases);
        if (!status)
            print(lag, as_json);
        if (!status)
            (void)rn_signals_pause(interval_ms);
    }
    return rn_interrupted() ? RN_EXIT_INTERRUPTED : status;
}

static int run(const struct rn_args *args)
{
    struct rn_leases leases = { 0 };
    struct rn_lag lag = { 0 };
    bool as_json = rn_args_flag(args, "json");
    uint32_t interval_ms = (uint32_t)rn_args_count(args, "interval");
    int status = rn_leases_open(args, &leases);

    if (!status && rn_args_flag(args, "watch")) {
        status = rn_out_is_pretty()
                     ? watch_screen(&leases, &lag, interval_ms)
                     : watch_lines(&leases, &lag, interval_ms, as_json);
    } else if (!status) {
        status = rn_lag_read(&lag, &leases);
        if (!status)
            print(&lag, as_json);
    }
    if (!status && rn_args_flag(args, "exit-code") &&
        (uint64_t)lag.behind > rn_args_count(args, "limit"))
        status = RN_EXIT_LAGGING;
    rn_lag_release(&lag);
    rn_leases_close(&leases);
    return status;
}

static const struct rn_option options[] = {
    { "watch", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Read again and again: a live table on a terminal, else a block for each "
      "reading." },
    { "interval", RN_OPTION_MS, NULL, "1s", NULL,
      "How often to read with --watch." },
    { "exit-code", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Exit with status 10 if more changes are behind than --limit." },
    { "limit", RN_OPTION_COUNT, NULL, "0", NULL,
      "How many changes may be behind with --exit-code." },
    { 0 },
};

const struct rn_tool rn_tool_lag = {
    .name = "lag",
    .usage = "",
    .summary = "Show how far a processor is behind the change feed",
    .help = "Prints for each lease its owner, how many changes were not "
            "processed yet, the age of the oldest of them, and the age of the "
            "last checkpoint.  A count with <= is an upper bound: the lease "
            "covers only a part of a range.",
    .example = "  runnel lag --container shop/orders --leases leases\n"
               "  runnel lag --container shop/orders --watch\n"
               "  runnel lag --container shop/orders --exit-code --limit 100\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER | RN_USES_LEASES,
    .options = options,
    .run = run,
};
