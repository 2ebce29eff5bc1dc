/* counters.h -- what is counted of requests, and how it is told to Prometheus.
 *
 * Names and labels are a fixed set: no id of a document, no key, no name of a
 * client's ever becomes a label.  Of containers so many are told by name and no
 * more (by_container.c).  Each thread counts in a stripe of its own, so that
 * counting costs a few nanoseconds; the stripes are added up when somebody
 * asks.
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

struct rn_tally;

enum rn_reject {
    RN_REJECT_CONNECTIONS, /* more than there may be */
    RN_REJECT_TIMEOUT,     /* the request did not come in time */
    RN_REJECT_MALFORMED,   /* what came was no request, or too large a one */
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

/* What a query had too much of. */
enum rn_query_abort { RN_ABORT_STEPS, RN_ABORT_MEMORY, RN_ABORTS };

/* So many containers are counted each by itself. */
enum { RN_TALLY_CONTAINERS = 64 };

struct rn_tally_request {
    enum rn_http_method method;
    enum rn_kind kind; /* RN_KINDS: of none */
    int status;
    int64_t ns;
    uint64_t bytes_in, bytes_out;
    double units;
    uint64_t container; /* see rn_tally_place; 0: of none */
};

struct rn_tally *rn_tally_new(void) RN_CHECK; /* NULL without memory */
void rn_tally_free(struct rn_tally *t);       /* NULL is fine */

void rn_tally_request(struct rn_tally *t, const struct rn_tally_request *r);
void rn_tally_reject(struct rn_tally *t, enum rn_reject why);
/* A read that did not wait has waited for 0. */
void rn_tally_feed(struct rn_tally *t, enum rn_feed_result result,
                   uint64_t items, int64_t waited_ns);
void rn_tally_query(struct rn_tally *t, int64_t ns,
                    const struct rn_query_note *n);
void rn_tally_abort(struct rn_tally *t, enum rn_query_abort why);
void rn_tally_token(struct rn_tally *t); /* one was made for a permission */
/* A container's place, taken for it if there is one left; otherwise
 * RN_TALLY_CONTAINERS, the place of all others and of what is in none.  It may
 * be any number but 0, and should differ from others' in its last bits. */
size_t rn_tally_place(struct rn_tally *t, uint64_t container);
uint64_t rn_tally_container(struct rn_tally *t, size_t place); /* 0: none */
double rn_tally_units(struct rn_tally *t, size_t place);
/* The container is gone: its place is free, and its units are the others'. */
void rn_tally_forget(struct rn_tally *t, size_t place);

/* How many answers had this status. */
uint64_t rn_tally_status(struct rn_tally *t, int status);
enum rn_code rn_tally_print(struct rn_tally *t, struct rn_buf *out) RN_CHECK;

/* ---- the wall clock ------------------------------------------------------ */

/* Sees when the wall clock and the steady one part.  Zeroed is ready. */
struct rn_jumps {
    _Atomic int64_t offset_ms; /* wall - steady; 0: not yet known */
    atomic_ullong count;
};

/* By how many milliseconds the wall clock has jumped since it was last looked
 * at; 0 if it ran on, or was merely slewed.  A jump is told to one caller. */
int64_t rn_jumps_note(struct rn_jumps *j, int64_t wall_ms, int64_t mono_ns);

#endif
