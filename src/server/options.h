/* options.h -- all options of the server, in one table.
 *
 * Each option has one name and three spellings, in rising order of precedence:
 *
 *   the configuration file   {"log-format": "text"}
 *   the environment          RUNNEL_LOG_FORMAT=text
 *   the command line         --log-format text   or  --log-format=text
 *
 * Sizes take the suffixes K, M, G; times are in milliseconds.  An unknown
 * option, a value out of range, or one of the wrong kind is refused by name; an
 * unknown option in the environment only gives a line in the server log.
 */
#ifndef RN_SERVER_OPTIONS_H
#define RN_SERVER_OPTIONS_H

#include "base/mem.h"

#include <stdio.h>

struct rn_options {
    const char *config;
    const char *listen;
    const char *data;
    const char *store;
    const char *seed;
    const char *advertise;
    char advertised_host[256]; /* of `advertise`, no port; "" if unset */
    const char *consistency;
    const char *tls_cert, *tls_key;
    const char *user, *metrics_token_file;
    const char *log_format, *log_level;
    bool admin, test_mode, log_requests, enforce_throughput;
    bool any_order, strict, no_auto_tls;
    bool allow_well_known_key, allow_plain_http, allow_root;
    uint64_t ranges, loops, workers;
    uint64_t queries_max, queries_waiting_max, query_ms;
    uint64_t connections_max, connections_per_address, requests_max;
    uint64_t body_bytes_max, bodies_bytes_max;
    uint64_t auth_delay_ms;
    uint64_t head_ms, idle_ms, stall_ms, drain_ms, slow_ms, latency_ms;
    uint64_t reserve_bytes, wal_bytes, checkpoint_ms;
};

/* Fills `out` from defaults, file, environment and argv[1..]. Strings are in
 * the arena or in argv.  RN_BAD_REQUEST with the option's name. */
enum rn_code rn_options_read(int argc, char **argv, char **environment,
                             struct rn_arena *arena, struct rn_options *out,
                             struct rn_err *err) RN_CHECK;

/* Does a variable, as NAME=VALUE, have the prefix of options without being one?
 * A misspelt one should not be ignored silently, but it cannot be refused
 * either, since others use the prefix: Kubernetes names variables after
 * services, and those of a service called runnel are ignored. */
bool rn_options_is_stray(const char *variable);

/* Prints every option except texts, which may name people and places, as a
 * metric's labels: log_format="json",... To be called once the server has
 * validated the words. */
enum rn_code rn_options_print_labels(const struct rn_options *options,
                                     struct rn_buf *out) RN_CHECK;

/* The options' part of the manual page. */
void rn_options_print_help(FILE *to);

#endif
