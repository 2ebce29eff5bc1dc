/* fault_guard.h -- turns SIGBUS and SIGSEGV in mapped memory into RN_CORRUPT.
 *
 * LMDB reads its file through a mapping and has no checksums.  An unreadable
 * block raises SIGBUS; a damaged page can send LMDB to an address that is not
 * mapped, or into one of its assertions.  None of these may end the process:
 * the guarded call is left by a jump and reported as RN_CORRUPT.
 *
 *     struct rn_fault_guard guard;
 *
 *     if (sigsetjmp(guard.back, 0))
 *         return rn_fault_guard_caught(&guard);
 *     rn_fault_guard_enter(&guard, NULL);
 *     ... calls that touch the mapping, no locks taken ...
 *     rn_fault_guard_leave(&guard);
 *
 * Between enter and leave a thread must not acquire anything that it would have
 * to release.  A guard may have a remedy, which makes memory readable on demand
 * (verify_on_touch.h).  Guards nest: a fault ends the innermost.  A fault
 * outside of a guard is a bug and has its default effect.
 */
#ifndef RN_STORE_INTEGRITY_FAULT_GUARD_H
#define RN_STORE_INTEGRITY_FAULT_GUARD_H

#include "base/err.h"

#include <setjmp.h>
#include <stdbool.h>

/* Called for a fault at `address`, in the signal handler.  True: the cause is
 * removed, retry the access. */
struct rn_fault_guard_remedy {
    bool (*mend)(struct rn_fault_guard_remedy *remedy, const void *address);
};

struct rn_fault_guard {
    sigjmp_buf back;
    struct rn_fault_guard_remedy *remedy;
    struct rn_fault_guard *outer; /* NULL: none */
};

/* Installs the handlers of SIGBUS and SIGSEGV, once.  Other handlers must be
 * installed before the first store is opened; faults that are not ours go to
 * them. */
void rn_fault_guard_install(void);

void rn_fault_guard_enter(
    struct rn_fault_guard *g,
    struct rn_fault_guard_remedy *remedy); /* NULL: none */
void rn_fault_guard_leave(struct rn_fault_guard *g);
/* After a fault: ends the guard and returns RN_CORRUPT. */
enum rn_code rn_fault_guard_caught(struct rn_fault_guard *g);

/* Leaves the current guard as a fault would; aborts if there is none. */
void rn_fault_guard_trip(void) __attribute__((noreturn));

#endif
