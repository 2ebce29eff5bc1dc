/* metric_table.c -- the table of all metrics; see metric_table.h.
 *
 * docs/operations.md says what to watch for; a test compares the two.
 */
#include "rest/metrics/metric_table.h"

#include <assert.h>

static const char counter[] = "counter", gauge[] = "gauge",
                  histogram[] = "histogram";

static const struct metric {
    const char *name, *type, *help;
} metrics[] = {
    /* requests */
    { "runnel_http_requests_total", counter, "Requests answered." },
    { "runnel_http_request_duration_seconds", histogram,
      "From a request's last byte to its response." },
    { "runnel_http_request_bytes_total", counter, "Bodies received." },
    { "runnel_http_response_bytes_total", counter, "Bodies sent." },
    { "runnel_http_rejected_total", counter,
      "Connections and requests refused before they were read." },
    { "runnel_http_connections", gauge, "Connections." },
    { "runnel_inflight_requests", gauge, "Requests under way." },
    { "runnel_throttled_total", counter, "Requests answered 429." },
    { "runnel_request_units_total", counter, "Request units charged." },
    { "runnel_event_loop_stall_seconds", histogram,
      "How long an event loop worked between two waits." },
    { "runnel_query_wait_seconds", histogram,
      "How long queries waited for a worker, before and between turns." },
    { "runnel_arena_bytes", gauge, "Memory with a limit of its own." },

    /* authentication */
    { "runnel_auth_failures_total", counter, "Requests answered 401." },
    { "runnel_auth_delayed_total", counter,
      "Wrong signatures whose response was delayed." },
    { "runnel_auth_key_last_used_timestamp_seconds", gauge,
      "When a key last signed a request; 0: never since the start." },
    { "runnel_resource_tokens_issued_total", counter,
      "Tokens issued for permissions." },
    { "runnel_insecure_config", gauge,
      "1: an option opens what is closed by default." },
    { "runnel_tls_cert_not_after_seconds", gauge,
      "The expiry of the certificate." },

    /* commits and the store */
    { "runnel_commits_total", counter, "Group commits." },
    { "runnel_commit_batch_size", histogram, "Operations in a group commit." },
    { "runnel_commit_duration_seconds", histogram,
      "From the start of a group commit until it is durable." },
    { "runnel_commit_operations_total", counter, "Writes answered." },
    { "runnel_commit_queue_depth", gauge, "Writes in progress." },
    { "runnel_commit_aborted_total", counter,
      "Group commits that failed; their writes ran again." },
    { "runnel_commit_busy_total", counter, "Waits for a busy store." },
    { "runnel_removal_failures_total", counter,
      "Removals that failed because of damage." },
    { "runnel_wal_fsync_duration_seconds", histogram, "Syncs of the WAL." },
    { "runnel_wal_fsync_duration_seconds_max", gauge,
      "The longest sync of the WAL." },
    { "runnel_sync_errors_total", counter,
      "Syncs that failed; the store is read-only after one." },
    { "runnel_checkpoints_total", counter, "Checkpoints of the map." },
    { "runnel_checkpoint_failures_total", counter,
      "Checkpoints that failed; each is tried again." },
    { "runnel_corruption_detected_total", counter, "Damaged records found." },
    { "runnel_store_read_only", gauge, "1: no writes until a restart." },
    { "runnel_store_full", gauge, "1: no space for writes." },
    { "runnel_disk_free_bytes", gauge, "Free space on the disk of the data." },
    { "runnel_disk_reserve_bytes", gauge,
      "Space kept free for deletes and checkpoints." },
    { "runnel_db_size_bytes", gauge, "Size of the map's file." },
    { "runnel_db_live_bytes", gauge, "Bytes of the map's file in use." },
    { "runnel_store_map_used_ratio", gauge,
      "The part of the map's file that is in use." },
    { "runnel_wal_size_bytes", gauge, "The WAL segments on disk." },
    { "runnel_store_recent_bytes", gauge, "Size of the memtables." },
    { "runnel_store_readers", gauge, "Read transactions." },
    { "runnel_oldest_reader_seconds", gauge,
      "The age of the oldest read transaction." },
    { "runnel_last_backup_timestamp_seconds", gauge,
      "When the last successful backup began; 0: never." },
    { "runnel_recovery_duration_seconds", gauge,
      "How long the last recovery took." },
    { "runnel_recovered_records_total", counter,
      "Records that the last recovery replayed." },

    /* feeds and queries */
    { "runnel_range_lsn", gauge, "The LSN of the last change of a range." },
    { "runnel_feed_oldest_retained_lsn", gauge,
      "The first LSN from which all versions are present." },
    { "runnel_feed_reads_total", counter, "Reads of the change feed." },
    { "runnel_feed_items_total", counter, "Changes sent." },
    { "runnel_feed_wait_seconds", histogram,
      "How long reads waited for a change." },
    { "runnel_feed_readers", gauge, "Reads that wait for a change." },
    { "runnel_query_duration_seconds", histogram, "Pages of queries." },
    { "runnel_query_docs_examined_total", counter,
      "Documents read for queries." },
    { "runnel_query_docs_returned_total", counter, "Rows of queries sent." },
    { "runnel_query_index_used_total", counter,
      "Pages of queries by access path." },
    { "runnel_query_aborted_total", counter,
      "Queries aborted because they exceeded a limit." },

    /* the process */
    { "process_cpu_seconds_total", counter, "User and system time." },
    { "process_resident_memory_bytes", gauge, "Resident memory." },
    { "process_open_fds", gauge, "Open file descriptors." },
    { "process_max_fds", gauge, "The limit of file descriptors." },
    { "process_start_time_seconds", gauge, "When the process started." },
    { "runnel_clock_jump_total", counter,
      "Times that the wall clock was set by a second or more." },
    { "runnel_log_lines_lost_total", counter,
      "Lines of the server log that its reader did not take." },
    { "runnel_build_info", gauge, "1, with the version." },
    { "runnel_config_info", gauge, "1, with the options." },
};

enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

enum rn_code rn_metric_begin(struct rn_buf *out, const char *name)
{
    const struct metric *m = metrics;

    while (m < metrics + METRICS && strcmp(m->name, name) != 0)
        m++;
    assert(m < metrics + METRICS);
    return rn_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, m->help,
                         name, m->type);
}
