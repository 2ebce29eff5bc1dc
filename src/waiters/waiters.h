/* waiters.h -- waiters: parked change feed readers (long polling) that have
 * read everything and wait for a change.
 *
 * A waiter is a struct in its owner's memory: thousands of them cost no thread,
 * and a writer without waiters pays one load of a counter.
 *
 *   idle --begin--> looking --park--> parked --wake--> idle
 *                      |                 |
 *                      +--end--> idle    +--dismiss (client gone)--> idle
 *
 * A reader registers as looking before it takes its snapshot.  A change after
 * that keeps the reader from parking, and a change after it has parked wakes
 * it.  So there is no lost wake-up between the last read and the sleep.
 *
 * A change is reported for a range of a container; a reader of several ranges
 * waits for any range of its container.  Waiters for the same range are woken
 * in the order of their arrival.  A waiter is also woken by its deadline, and
 * when the waiters are closed.
 *
 * Threads: any; the calls for one waiter come one at a time, except dismiss.
 */
#ifndef RN_WAITERS_WAITERS_H
#define RN_WAITERS_WAITERS_H

#include "base/env.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rn_waiters;

#define RN_CONTAINER_ANY UINT32_MAX
enum { RN_RANGE_ANY = -1 };

/* A part of a range: a closed interval of EPK prefixes of 64 bits, which order
 * the range's documents.  It may be reported larger than it is, never smaller.
 */
struct rn_epk_prefixes {
    uint64_t low, high;
};
#define RN_EPK_PREFIXES_ALL ((struct rn_epk_prefixes){ 0, UINT64_MAX })
/* The prefixes of an interval of EPKs, or of a single EPK. */
struct rn_epk_prefixes rn_epk_prefixes_of(struct rn_view min,
                                          struct rn_view max);

struct rn_waiter {
    /* Set by its owner before begin. */
    uint32_t container;
    int64_t range;                   /* or RN_RANGE_ANY */
    struct rn_epk_prefixes prefixes; /* the part of the range to wait for */
    int64_t deadline_ns;
    /* Called once for each park that returned RN_PARKED.  From then on the
     * waiter belongs to its owner again, which may have freed it.  Thread: any;
     * must not block. */
    void (*wake)(struct rn_waiter *w);

    /* Private. */
    struct rn_waiter *before, *after;
    size_t place;   /* in the heap of deadlines */
    uint64_t moves; /* the count of its bucket at begin */
    enum { RN_WAITER_IDLE, RN_WAITER_LOOKING, RN_WAITER_PARKED } state;
    bool is_dismissed;
};

enum rn_parked {
    RN_PARKED,
    RN_PARK_MOVED, /* a change came meanwhile: read again */
    RN_PARK_OVER,  /* dismissed, past its deadline, or closed: do not wait */
};

enum rn_code rn_waiters_new(struct rn_env *env, struct rn_waiters **out,
                            struct rn_err *err) RN_CHECK;
/* No waiter may be parked.  NULL is fine. */
void rn_waiters_free(struct rn_waiters *ws);
/* Wakes all waiters; from now on none can park. */
void rn_waiters_close(struct rn_waiters *ws);

void rn_waiters_begin(struct rn_waiters *ws, struct rn_waiter *w);
void rn_waiters_end(struct rn_waiters *ws, struct rn_waiter *w);
/* Unless it returns RN_PARKED, the waiter is idle again. */
enum rn_parked rn_waiters_park(struct rn_waiters *ws, struct rn_waiter *w);
/* The waiter's client is gone.  Returns true if the waiter was parked; then it
 * is not woken.  Otherwise it can no longer park. */
bool rn_waiters_dismiss(struct rn_waiters *ws, struct rn_waiter *w);

/* Reports that a part of a range has changed.  With RN_RANGE_ANY any range of
 * the container may have changed, and every waiter of the container is woken
 * whatever its part.  With RN_CONTAINER_ANY too, every waiter is woken. */
void rn_waiters_move(struct rn_waiters *ws, uint32_t container, int64_t range,
                     struct rn_epk_prefixes prefixes);

/* The number of parked waiters. */
size_t rn_waiters_count(struct rn_waiters *ws);

#endif
