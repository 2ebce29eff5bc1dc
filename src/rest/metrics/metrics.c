/* metrics.c -- the body of /metrics, in Prometheus' text format.
 *
 * Names begin with runnel_, units are seconds and bytes; docs/operations.md
 * says what to watch for.
 */
#include "rest/metrics/metrics.h"

#include "rest/context.h"
#include "rest/health.h"
#include "rest/keys.h"
#include "rest/metrics/by_container.h"

#include "access/result_cache.h"
#include "rest/metrics/metric_table.h"
#include "waiters/waiters.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void metric(struct rn_buf *out, const char *name, double value)
{
    (void)!rn_metric_begin(out, name);
    (void)!rn_buf_printf(out, "%s %.17g\n", name, value);
}

static void labelled(struct rn_buf *out, const char *name, const char *label,
                     const char *value, double n)
{
    (void)!rn_buf_printf(out, "%s{%s=\"%s\"} %.17g\n", name, label, value, n);
}

static void print_requests(struct rn_rest *r, struct rn_buf *out)
{
    static const char *const reasons[RN_AUTH_FAILURES] = { "missing", "expired",
                                                           "invalid" };
    const char *name = "runnel_auth_failures_total";
    int throttled = rn_status_of(RN_THROTTLED, RN_REASON_NONE)->http;
    size_t readers = rn_waiters_count(rn_engine_waiters(r->engine));

    (void)!rn_rest_counters_print(r->counters, out);
    metric(out, "runnel_inflight_requests", (double)atomic_load(&r->calls));
    metric(out, "runnel_feed_readers", (double)readers);
    metric(out, "runnel_throttled_total",
           (double)rn_rest_counters_status(r->counters, throttled));
    if (r->opts.connections) {
        (void)!rn_metric_begin(out, "runnel_http_connections");
        labelled(out, "runnel_http_connections", "state", "open",
                 (double)atomic_load(r->opts.connections));
    }
    (void)!rn_metric_begin(out, name);
    for (size_t i = 0; i < RN_AUTH_FAILURES; i++)
        labelled(out, name, "reason", reasons[i],
                 (double)atomic_load(&r->auth_failures[i]));
    metric(out, "runnel_auth_delayed_total",
           (double)atomic_load(&r->held_total));
    name = "runnel_auth_key_last_used_timestamp_seconds";
    (void)!rn_metric_begin(out, name);
    for (size_t i = 0; i < RN_KEYS; i++) {
        labelled(out, name, "key",
                 i == RN_KEY_WELL_KNOWN ? "emulator" : rn_keys_name(i),
                 (double)atomic_load(&r->key_used[i]));
    }
}

static void histogram(struct rn_buf *out, const char *name,
                      const struct rn_scale *scale,
                      const struct rn_histogram *h)
{
    (void)!rn_metric_begin(out, name);
    (void)!rn_histogram_print(h, scale, name, "", out);
}

static void print_commits(struct rn_rest *r, struct rn_buf *out)
{
    struct rn_committer_status c;

    rn_engine_commit_status(r->engine, &c);
    histogram(out, "runnel_commit_batch_size", &rn_scale_sizes, &c.sizes);
    histogram(out, "runnel_commit_duration_seconds", &rn_scale_times, &c.times);
    metric(out, "runnel_commit_operations_total", (double)c.operations);
    metric(out, "runnel_commit_queue_depth", (double)c.in_flight);
    metric(out, "runnel_commit_aborted_total", (double)c.aborted);
    metric(out, "runnel_commit_busy_total", (double)c.busy);
    metric(out, "runnel_removal_failures_total",
           (double)rn_engine_removals_failed(r->engine));
}

static void print_store(struct rn_rest *r, struct rn_buf *out)
{
    struct rn_store_status s;

    rn_store_status(rn_engine_store(r->engine), &s);
    metric(out, "runnel_commits_total", (double)s.commits);
    histogram(out, "runnel_wal_fsync_duration_seconds", &rn_scale_times,
              &s.syncs);
    metric(out, "runnel_wal_fsync_duration_seconds_max",
           (double)s.sync_ns_max / 1e9);
    metric(out, "runnel_sync_errors_total", (double)s.sync_errors);
    metric(out, "runnel_checkpoints_total", (double)s.checkpoints);
    metric(out, "runnel_checkpoint_failures_total",
           (double)s.checkpoint_failures);
    metric(out, "runnel_corruption_detected_total", (double)s.corrupt_total);
    metric(out, "runnel_store_read_only", s.read_only);
    metric(out, "runnel_store_full", s.full);
    metric(out, "runnel_disk_free_bytes", (double)s.disk_free_bytes);
    metric(out, "runnel_disk_reserve_bytes", (double)s.reserve_bytes);
    metric(out, "runnel_db_size_bytes", (double)s.data_bytes);
    metric(out, "runnel_db_live_bytes", (double)s.live_bytes);
    metric(out, "runnel_wal_size_bytes", (double)s.wal_bytes);
    metric(out, "runnel_store_recent_bytes", (double)s.memtable_bytes);
    if (s.data_bytes)
        metric(out, "runnel_store_map_used_ratio",
               (double)s.live_bytes / (double)s.data_bytes);
    metric(out, "runnel_store_readers", (double)s.readers);
    metric(out, "runnel_oldest_reader_seconds",
           (double)s.oldest_reader_ms / 1e3);
    metric(out, "runnel_last_backup_timestamp_seconds", (double)s.backup_s);
    metric(out, "runnel_recovery_duration_seconds",
           (double)s.recovery_ms / 1e3);
    metric(out, "runnel_recovered_records_total", (double)s.recovered_records);
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char text[128] = "", *end = text;
    unsigned long pages = 0;

    if (!file)
        return 0;
    if (fgets(text, sizeof(text), file)) {
        (void)strtoul(text, &end, 10); /* total mapped pages, skipped */
        pages = strtoul(end, NULL, 10);
    }
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    double count = -3; /* itself, "." and ".." */

    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* The server's own metrics, and the memory with a limit of its own; memory of
 * requests in progress is not counted. */
static void print_vitals(struct rn_rest *r, struct rn_buf *out)
{
    const char *name = "runnel_arena_bytes";
    struct rn_rest_vitals v = { 0 };

    if (r->opts.vitals)
        r->opts.vitals(r->opts.vitals_of, &v);
    histogram(out, "runnel_event_loop_stall_seconds", &rn_scale_times,
              &v.turns);
    histogram(out, "runnel_query_wait_seconds", &rn_scale_times, &v.waits);
    (void)!rn_metric_begin(out, name);
    labelled(out, name, "pool", "unsent", (double)v.unsent_bytes);
    labelled(out, name, "pool", "answers",
             (double)rn_result_cache_bytes(r->result_cache));
}

static void print_process(struct rn_rest *r, struct rn_buf *out)
{
    struct rlimit files = { 0 };
    struct rusage used = { 0 };

    (void)getrusage(RUSAGE_SELF, &used);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    metric(out, "process_cpu_seconds_total",
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    metric(out, "process_resident_memory_bytes", resident_bytes());
    metric(out, "process_open_fds", open_files());
    metric(out, "process_max_fds", (double)files.rlim_cur);
    metric(out, "process_start_time_seconds", (double)r->started_s);
    metric(out, "runnel_clock_jump_total",
           (double)atomic_load(&r->jumps.count));
    metric(out, "runnel_log_lines_lost_total",
           (double)rn_log_lost(r->opts.log));
    (void)!rn_metric_begin(out, "runnel_build_info");
    (void)!rn_buf_printf(out, "runnel_build_info{version=\"%s\"} 1\n",
                         RUNNEL_VERSION);
    (void)!rn_metric_begin(out, "runnel_config_info");
    (void)!rn_buf_printf(out, "runnel_config_info{%.*s} 1\n",
                         RN_FMT(r->opts.config));
}

static void print_security(struct rn_rest *r, struct rn_buf *out)
{
    const char *name = "runnel_insecure_config";
    int64_t not_after =
        r->opts.tls_not_after ? atomic_load(r->opts.tls_not_after) : 0;
    bool found[RN_INSECURE];

    rn_insecure_find(r, found);
    (void)!rn_metric_begin(out, name);
    for (size_t i = 0; i < RN_INSECURE; i++)
        labelled(out, name, "reason", rn_insecure_names[i], found[i]);
    if (not_after)
        metric(out, "runnel_tls_cert_not_after_seconds", (double)not_after);
}

enum rn_code rn_metrics_print(struct rn_rest *r, struct rn_buf *out)
{
    print_requests(r, out);
    rn_by_container_print(r, out);
    print_commits(r, out);
    print_store(r, out);
    print_vitals(r, out);
    print_process(r, out);
    print_security(r, out);
    /* Metrics that did not fit are missing at the end; half a line would be
     * worse. */
    return rn_buf_add(out, RN_LIT("# end\n"));
}
