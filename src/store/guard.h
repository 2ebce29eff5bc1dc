/* guard.h -- turns a fault in mapped memory into a failure.
 *
 * LMDB reads its file through a mapping and has no checksums.  A disk that
 * cannot read a block answers with SIGBUS; a rotten page can send LMDB to an
 * address that is not mapped, or into one of its assertions.  None of these
 * may take the process down: the call is left and reported as RN_CORRUPT.
 *
 *     struct rn_guard guard;
 *
 *     if (sigsetjmp(guard.back, 0))
 *         return rn_guard_caught(&guard);
 *     rn_guard_enter(&guard);
 *     ... calls that touch the mapping, no locks taken ...
 *     rn_guard_leave(&guard);
 *
 * Between enter and leave a thread must not take what it would have to give
 * back.  Guards do not nest.  A fault outside of a guard is a bug and does what
 * it always does.
 */
#ifndef RN_STORE_GUARD_H
#define RN_STORE_GUARD_H

#include "base/err.h"

#include <setjmp.h>

struct rn_guard {
    sigjmp_buf back;
};

/* Once per process, before the first guard; further calls do nothing. */
void rn_guard_install(void);

void rn_guard_enter(struct rn_guard *g);
void rn_guard_leave(struct rn_guard *g);
/* After a fault: ends the guard and returns RN_CORRUPT. */
enum rn_code rn_guard_caught(struct rn_guard *g);

/* Leaves the running guard as a fault would; aborts if there is none. */
void rn_guard_trip(void) __attribute__((noreturn));

#endif
