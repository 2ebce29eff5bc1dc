/* bootstrap.h -- initialises the lease store of a processor: checks it and
 * creates the leases that are missing.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_BOOTSTRAP_H
#define RN_CLIENT_PROCESSOR_BOOTSTRAP_H

#include "client/feed/reader.h"
#include "client/lease/listing.h"
#include "client/lease/store.h"
#include "client/processor/lease_split.h"

struct rn_host;

enum rn_bootstrap_step {
    RN_STEP_SOURCE,
    RN_STEP_PREPARE,
    RN_STEP_DISCARD,
    RN_STEP_MAP,
    RN_STEP_LIST,
    RN_STEP_LOCK,
    RN_STEP_BREAK_LOCK,
    RN_STEP_START,
    RN_STEP_CREATE,
    RN_STEP_MARKER,
    RN_STEP_UNLOCK,
    RN_STEP_DONE,
};

struct rn_bootstrap {
    struct rn_host *host;
    bool is_repair; /* of a processor that runs */
    enum rn_bootstrap_step step;
    struct rn_client_call source;
    bool is_asking;
    struct rn_lease_store_call call;
    bool is_calling, has_answer;
    int64_t due_ns, deadline_ns;
    bool is_complete;
    bool is_stopping; /* the host is: it gives the lock back and ends */
    bool has_lock;
    char lock_etag[RN_LEASE_ETAG_MAX];
    int64_t locked_ns; /* when it was asked for */
    bool has_discarded;
    struct rn_listing listing;
    uint64_t map_seen;
    uint64_t strangers; /* leases whose ranges the map did not have; a hash */

    /* New leases. */
    struct rn_lease_child *children;
    size_t count, at;
    bool from_beginning; /* a lease was deleted by hand */
    struct rn_reader reader;
    bool is_reading;
    struct rn_position position; /* START: of the child in work */

    runnel_code failure; /* after UNLOCK */
    runnel_error error;
};

runnel_code rn_bootstrap_new(struct rn_host *h,
                             struct rn_bootstrap **out) RN_CHECK;
void rn_bootstrap_free(struct rn_bootstrap *b); /* NULL is fine */
/* Returns nanoseconds to its next step.  `*is_over` with h->failure. */
int64_t rn_bootstrap_step(struct rn_bootstrap *b, bool *is_over);

/* ---- for bootstrap_plan.c ---- */

/* Drops the new leases. */
void rn_bootstrap_forget(struct rn_bootstrap *b);
/* Gives up, after the lock was released. */
void rn_bootstrap_refuse(struct rn_bootstrap *b, runnel_code code,
                         const char *why);
/* A step failed: again from the ranges on, or not at all. */
void rn_bootstrap_retry(struct rn_bootstrap *b, runnel_code code,
                        const runnel_error *error, int64_t now_ns);

#endif
