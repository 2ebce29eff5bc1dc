/* counters.h -- request counters and histograms, lock-free and striped by
 * thread, in Prometheus' text format.
 *
 * Names and labels are a fixed set: no document id, key or name of a client
 * ever becomes a label.  Only a limited number of containers is exported by
 * name (by_container.c).  Each thread counts in a stripe of its own, so that
 * counting costs a few nanoseconds; the stripes are added up when the metrics
 * are printed.
 *
 * Threads: any.
 */
#ifndef RN_REST_METRICS_COUNTERS_H
#define RN_REST_METRICS_COUNTERS_H

#include "base/histogram.h"
#include "cosmos/kind.h"
#include "http/request.h"
#include "rest/call.h"

#include <stdatomic.h>
#include <stdint.h>

struct rn_rest_counters;

enum rn_reject {
    RN_REJECT_CONNECTIONS, /* above the connection limit */
    RN_REJECT_TIMEOUT,     /* the request did not arrive in time */
    RN_REJECT_MALFORMED,   /* not a valid request, or too large */
    RN_REJECTS,
};

/* How a read of the change feed ended. */
enum rn_feed_result {
    RN_FEED_PAGE,
    RN_FEED_NOTHING, /* 304 */
    RN_FEED_GONE,    /* 410 */
    RN_FEED_ERROR,
    RN_FEED_RESULTS,
};

/* The limit that a query exceeded. */
enum rn_query_abort { RN_ABORT_STEPS, RN_ABORT_MEMORY, RN_ABORTS };

/* The number of containers that have a counter of their own. */
enum { RN_COUNTED_CONTAINERS = 64 };

struct rn_rest_counters_request {
    enum rn_http_method method;
    enum rn_kind kind; /* RN_KINDS: no resource */
    int status;
    int64_t ns;
    uint64_t bytes_in, bytes_out;
    double units;
    uint64_t container; /* see rn_rest_counters_place; 0: no container */
};

struct rn_rest_counters *
rn_rest_counters_new(void) RN_CHECK; /* NULL if out of memory */
void rn_rest_counters_free(struct rn_rest_counters *t); /* NULL is allowed */

void rn_rest_counters_request(struct rn_rest_counters *t,
                              const struct rn_rest_counters_request *r);
void rn_rest_counters_reject(struct rn_rest_counters *t, enum rn_reject why);
/* `waited_ns` is 0 if the read was not parked. */
void rn_rest_counters_feed(struct rn_rest_counters *t,
                           enum rn_feed_result result, uint64_t items,
                           int64_t waited_ns);
void rn_rest_counters_query(struct rn_rest_counters *t, int64_t ns,
                            const struct rn_query_note *n);
void rn_rest_counters_abort(struct rn_rest_counters *t,
                            enum rn_query_abort why);
void rn_rest_counters_token(
    struct rn_rest_counters *t); /* a permission's token was created */
/* A container's slot, allocated if one is free; otherwise
 * RN_COUNTED_CONTAINERS, the slot that all other containers share.  The
 * container's number is not 0 and should differ from others in its low bits. */
size_t rn_rest_counters_place(struct rn_rest_counters *t, uint64_t container);
uint64_t rn_rest_counters_container(struct rn_rest_counters *t,
                                    size_t place); /* 0: none */
double rn_rest_counters_units(struct rn_rest_counters *t, size_t place);
/* The container was deleted: frees its slot and adds its units to the shared
 * slot. */
void rn_rest_counters_forget(struct rn_rest_counters *t, size_t place);

/* The number of answers with this status. */
uint64_t rn_rest_counters_status(struct rn_rest_counters *t, int status);
enum rn_code rn_rest_counters_print(struct rn_rest_counters *t,
                                    struct rn_buf *out) RN_CHECK;

/* ---- the wall clock ------------------------------------------------------ */

/* Detects jumps of the wall clock against the monotonic clock.
 * Zero-initialised is ready. */
struct rn_clock_jumps {
    _Atomic int64_t offset_ms; /* wall - monotonic; 0: not yet known */
    atomic_ullong count;
};

/* The milliseconds by which the wall clock has jumped since the last call; 0 if
 * it did not, or was only slewed.  Each jump is returned to one caller. */
int64_t rn_clock_jumps_note(struct rn_clock_jumps *j, int64_t wall_ms,
                            int64_t mono_ns);

#endif
