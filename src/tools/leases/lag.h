/* lag.h -- the lag of a processor, read once: a row for each lease.
 *
 * The rows of the last readings are kept for the sparklines of a live view.
 */
#ifndef RN_TOOLS_LEASES_LAG_H
#define RN_TOOLS_LEASES_LAG_H

#include "tools/common/lease_set.h"

enum { RN_LAG_HISTORY = 20 };

struct rn_lag_row {
    struct rn_lag_row *next;
    char lease[1024], host[256]; /* host: empty if no host owns the lease */
    runnel_lag_state state;
    int64_t behind, behind_ms, checkpoint_age_ms;
    bool is_upper_bound;
    bool is_seen;                    /* by the last reading */
    char error[256];                 /* of RUNNEL_LAG_FAILED */
    int64_t history[RN_LAG_HISTORY]; /* of `behind`, the newest last */
    uint32_t history_count;
};

struct rn_lag {
    struct rn_lag_row *first; /* in the order of the leases */
    uint32_t count;
    int64_t behind, behind_ms; /* in total */
    bool is_upper_bound;
    bool is_out_of_memory;
};

/* Reads the lag anew; rows of leases that are gone are removed.  Returns an
 * enum rn_exit; RN_EXIT_NOT_FOUND, after the line that says so, if there are no
 * leases. */
int rn_lag_read(struct rn_lag *lag, struct rn_leases *leases) RN_CHECK;
void rn_lag_release(struct rn_lag *lag);

/* "known", "unread", "gone" or "failed". */
const char *rn_lag_state_name(runnel_lag_state state);
/* The history as one character for each reading. */
enum { RN_SPARKLINE_MAX = RN_LAG_HISTORY * 3 + 1 };
void rn_lag_sparkline(const struct rn_lag_row *row, char out[RN_SPARKLINE_MAX]);

#endif
