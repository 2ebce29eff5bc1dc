/* faults.h -- makes the n-th call of a system function fail.
 *
 * The functions are replaced in the test program, so that everything in it is
 * hit alike: env_real.c, the store, LMDB, the C library's own use of malloc.
 * Nothing fails until armed.
 */
#ifndef RN_TESTS_STORE_FAULTS_H
#define RN_TESTS_STORE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_call {
    FAULT_PWRITE,
    FAULT_WRITEV,
    FAULT_PREAD,
    FAULT_FDATASYNC,
    FAULT_FSYNC,
    FAULT_FALLOCATE,
    FAULT_OPEN,
    FAULT_RENAME,
    FAULT_MMAP,
    FAULT_MPROTECT,
    FAULT_MALLOC,
    FAULT_THREAD,
    FAULT_CALLS,
};

enum { FAULT_SHORT = -1 }; /* instead of an errno value: half is written */

struct fault {
    enum fault_call call;
    int error;
    bool stays; /* all calls from the n-th on */
};

extern const char *const fault_names[FAULT_CALLS];

void fault_arm(const struct fault *f, uint64_t nth);
void fault_disarm(void);
bool fault_has_fired(void);
/* A sync of a file that holds committed data has failed since `forget`. */
bool fault_has_lost_data(void);
void fault_forget_lost_data(void);

#endif
