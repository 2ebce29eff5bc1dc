/* fault_guard.h -- turns a fault in mapped memory into a failure.
 *
 * LMDB reads its file through a mapping and has no checksums.  A disk that
 * cannot read a block answers with SIGBUS; a rotten page can send LMDB to an
 * address that is not mapped, or into one of its assertions.  None of these
 * may take the process down: the call is left and reported as RN_CORRUPT.
 *
 *     struct rn_fault_guard guard;
 *
 *     if (sigsetjmp(guard.back, 0))
 *         return rn_fault_guard_caught(&guard);
 *     rn_fault_guard_enter(&guard, NULL);
 *     ... calls that touch the mapping, no locks taken ...
 *     rn_fault_guard_leave(&guard);
 *
 * Between enter and leave a thread must not take what it would have to give
 * back.  A guard may be given a remedy: memory that is not there yet
 * (verify_on_touch.h). Guards nest: a fault ends the innermost.  A fault
 * outside of a guard is a bug and does what it always does.
 */
#ifndef RN_STORE_INTEGRITY_FAULT_GUARD_H
#define RN_STORE_INTEGRITY_FAULT_GUARD_H

#include "base/err.h"

#include <setjmp.h>
#include <stdbool.h>

/* Called for a fault at `address`, in the signal handler.  True: it was mended,
 * try again. */
struct rn_fault_guard_remedy {
    bool (*mend)(struct rn_fault_guard_remedy *remedy, const void *address);
};

struct rn_fault_guard {
    sigjmp_buf back;
    struct rn_fault_guard_remedy *remedy;
    struct rn_fault_guard *outer; /* NULL: none */
};

/* Takes SIGBUS and SIGSEGV, if they are not taken yet.  Whoever else wants them
 * must come before the first store is opened; he gets what is not ours. */
void rn_fault_guard_install(void);

void rn_fault_guard_enter(
    struct rn_fault_guard *g,
    struct rn_fault_guard_remedy *remedy); /* NULL: none */
void rn_fault_guard_leave(struct rn_fault_guard *g);
/* After a fault: ends the guard and returns RN_CORRUPT. */
enum rn_code rn_fault_guard_caught(struct rn_fault_guard *g);

/* Leaves the running guard as a fault would; aborts if there is none. */
void rn_fault_guard_trip(void) __attribute__((noreturn));

#endif
