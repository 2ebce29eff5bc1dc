/* fault.h -- makes the n-th allocation of a test fail.
 *
 * A test that uses it is linked with fault.c and RN_FAULT_LINK (see
 * tests/CMakeLists.txt), by which the linker sends the program's own calls of
 * malloc, calloc, realloc and free through here; those of shared libraries go
 * the usual way.  Not for programs with threads.
 */
#ifndef RN_TESTS_LIB_FAULT_H
#define RN_TESTS_LIB_FAULT_H

#include <stdbool.h>

/* The n-th allocation from now on fails, and only that; 0: none does. */
void rn_fault_arm(long nth);

/* Between true and false allocations neither fail nor count: those of a test's
 * own side. */
void rn_fault_hold(bool is_held);

/* True if it has failed since. */
bool rn_fault_struck(void);

/* Allocations not yet freed. */
long rn_fault_live(void);

#endif
