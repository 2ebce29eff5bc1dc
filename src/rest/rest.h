/* rest.h -- the server's side of the dialect: what all calls share.
 */
#ifndef RN_REST_REST_H
#define RN_REST_REST_H

#include "base/log.h"
#include "base/shifted_clock.h"
#include "engine/engine.h"
#include "rest/call.h"
#include "rest/metrics/counters.h"

/* What the metrics tell besides, of what is not REST's. */
struct rn_rest_vitals {
    struct rn_histogram turns; /* of loops: how long each was at work, in ns */
    struct rn_histogram waits; /* for a worker, in ns */
    size_t unsent_bytes;       /* of answers that clients have not taken */
};

struct rn_rest_opts {
    struct rn_env *env;
    struct rn_engine *engine;
    struct rn_log *log;
    const char *data_dir; /* where the keys are; NULL: keep them in memory */
    struct rn_view authority;       /* PEM; used where data_dir is NULL */
    const char *metrics_token_file; /* NULL: none */
    const char *advertise;          /* NULL: echo Host and scheme */
    const char *consistency;        /* the account's default level */
    struct rn_view config;          /* how it is set, as labels of a metric */
    bool admin;
    struct rn_shifted_clock
        *clock;          /* the engine's, in test mode; NULL otherwise */
    bool well_known_key; /* the emulators' key is valid */
    bool loopback_only;  /* check Host against DNS rebinding */
    bool has_127;        /* it listens on 127.0.0.1 */
    /* And the certificate is good for that address.  NULL is fine. */
    atomic_bool *tls_has_127;
    bool tls_only;    /* off loopback nothing is served without it */
    const char *host; /* a name that is ours besides; NULL: none */
    /* When the certificate ends, seconds since 1970; 0: none.  NULL is fine. */
    _Atomic int64_t *tls_not_after;
    atomic_uint *connections; /* how many are open; NULL is fine */
    /* Any thread; NULL is fine. */
    void (*vitals)(void *of, struct rn_rest_vitals *out);
    void *vitals_of;
    uint64_t auth_delay_ms;  /* of wrong signatures; 0: 100, none on loopback */
    bool enforce_throughput; /* 429 beyond what an offer says */
    uint64_t query_ms;       /* that a page of a query may run; 0: 30,000 */
    bool any_order;          /* ORDER BY wants no index */
    bool strict;             /* what is to be merged clients merge */
};

/* Reads or makes the keys. */
enum rn_code rn_rest_open(const struct rn_rest_opts *opts, struct rn_rest **out,
                          struct rn_err *err) RN_CHECK;
void rn_rest_close(struct rn_rest *r); /* NULL is fine */
/* Read again, each by itself: a file that will not do keeps nothing else from
 * being taken.  The authority, which is public, comes with the keys. */
enum rn_code rn_rest_reload_keys(struct rn_rest *r,
                                 struct rn_err *err) RN_CHECK;
enum rn_code rn_rest_reload_token(struct rn_rest *r,
                                  struct rn_err *err) RN_CHECK;

/* Counts what never became a call. */
void rn_rest_reject(struct rn_rest *r, enum rn_reject why);

/* Calls that have begun and not been answered. */
uint32_t rn_rest_calls(struct rn_rest *r);
/* The server stops: whoever waits for a change is answered now. */
void rn_rest_quiesce(struct rn_rest *r);

#endif
