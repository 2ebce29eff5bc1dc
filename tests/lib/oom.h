/* oom.h -- makes one allocation fail.
 *
 * Include it in one file of a test linked with -Wl,--wrap=rn_new.  The pattern:
 * for n = 1, 2, ... let the n-th allocation fail, until a run needs fewer.
 */
#ifndef RN_TESTS_LIB_OOM_H
#define RN_TESTS_LIB_OOM_H

#include "base/mem.h"

static unsigned oom_in; /* 1: the next one fails; 0: none does */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void *__real_rn_new(size_t size);
void *__wrap_rn_new(size_t size);

void *__wrap_rn_new(size_t size)
{
    if (oom_in > 0 && --oom_in == 0)
        return NULL;
    return __real_rn_new(size);
}
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
