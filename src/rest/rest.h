/* rest.h -- an instance of the REST API: its options, and the state that all
 * calls share. */
#ifndef RN_REST_REST_H
#define RN_REST_REST_H

#include "base/log.h"
#include "base/shifted_clock.h"
#include "engine/engine.h"
#include "rest/call.h"
#include "rest/metrics/counters.h"

/* Metrics of the server that the REST layer does not keep itself. */
struct rn_rest_vitals {
    struct rn_histogram turns; /* busy time of each loop iteration, in ns */
    struct rn_histogram waits; /* time in the worker queue, in ns */
    size_t unsent_bytes; /* of answers not yet accepted by clients' sockets */
};

struct rn_rest_opts {
    struct rn_env *env;
    struct rn_engine *engine;
    struct rn_log *log;
    const char *data_dir; /* where the keys are; NULL: keep them in memory */
    const char *authority_file; /* PEM, for clients; the file may be absent */
    /* Likewise; if it is not empty, it takes precedence over the file. */
    const struct rn_buf *authority;
    const char *metrics_token_file; /* NULL: none */
    const char *advertise;          /* NULL: echo Host and scheme */
    const char *consistency;        /* the account's default level */
    struct rn_view config; /* the configuration, as labels of a metric */
    bool admin;
    struct rn_shifted_clock
        *clock;          /* the engine's, in test mode; NULL otherwise */
    bool well_known_key; /* the emulators' key is valid */
    bool loopback_only;  /* check Host against DNS rebinding */
    bool has_127;        /* it listens on 127.0.0.1 */
    /* And the certificate is valid for that address.  NULL is allowed. */
    atomic_bool *tls_has_127;
    bool tls_only;    /* off loopback, plain HTTP is refused */
    const char *host; /* another valid host name; NULL: none */
    /* When the certificate expires, seconds since 1970; 0: none.  NULL is
     * allowed. */
    _Atomic int64_t *tls_not_after;
    atomic_uint *connections; /* open connections; NULL is allowed */
    /* Any thread; NULL is allowed. */
    void (*vitals)(void *of, struct rn_rest_vitals *out);
    void *vitals_of;
    uint64_t auth_delay_ms; /* for wrong signatures; 0: 100, none on loopback */
    bool enforce_throughput; /* answer 429 above an offer's throughput */
    uint64_t query_ms;       /* time limit of a query page; 0: 30,000 */
    bool any_order;          /* ORDER BY works whatever the policy */
    bool strict;             /* --strict: no more lenient than the service */
};

/* Reads the key file, or creates it. */
enum rn_code rn_rest_open(const struct rn_rest_opts *opts, struct rn_rest **out,
                          struct rn_err *err) RN_CHECK;
void rn_rest_close(struct rn_rest *r); /* NULL is allowed */
/* Each reloads one file by itself: an invalid file does not keep the others
 * from being loaded. */
void rn_rest_reload_authority(struct rn_rest *r);
enum rn_code rn_rest_reload_keys(struct rn_rest *r,
                                 struct rn_err *err) RN_CHECK;
enum rn_code rn_rest_reload_token(struct rn_rest *r,
                                  struct rn_err *err) RN_CHECK;

/* Counts a connection or request that never became a call. */
void rn_rest_reject(struct rn_rest *r, enum rn_reject why);

/* Calls that have begun and are not answered yet. */
uint32_t rn_rest_calls(struct rn_rest *r);
/* The server is shutting down: answers all parked feed readers now. */
void rn_rest_quiesce(struct rn_rest *r);

#endif
