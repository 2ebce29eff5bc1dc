/* weight.h -- the load of a lease: how many changes a minute its handlers
 * finish, as a moving average.
 *
 * It is stored in the lease, so that every host of the fleet can balance by it,
 * and the next owner goes on from it.
 *
 * Decides only; asks no clock.  One thread.
 */
#ifndef RN_CLIENT_PROCESSOR_WEIGHT_H
#define RN_CLIENT_PROCESSOR_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum { RN_WEIGHT_MAX = 1 << 30 }; /* so that a sum of them cannot overflow */

struct rn_weight {
    int64_t since_ns; /* the interval that is being counted began */
    uint64_t changes; /* in it */
    uint32_t average; /* changes a minute, of the intervals before */
    bool is_known;    /* an interval was counted, here or by another owner */
};

/* `stored` is what the former owner stored; 0: nothing. */
void rn_weight_init(struct rn_weight *w, uint64_t stored, int64_t now_ns);
void rn_weight_add(struct rn_weight *w, uint64_t changes);
/* The average; ends the interval if it has lasted for `interval_ms`. */
uint32_t rn_weight_read(struct rn_weight *w, uint32_t interval_ms,
                        int64_t now_ns);

/* `value`, or the largest weight. */
uint32_t rn_weight_clamp(uint64_t value);

#endif
