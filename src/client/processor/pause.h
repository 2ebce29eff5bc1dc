/* pause.h -- pauses that double with each failure. */
#ifndef RN_CLIENT_PROCESSOR_PAUSE_H
#define RN_CLIENT_PROCESSOR_PAUSE_H

#include <stdint.h>

/* `first`, doubled `times`, at most `most`. */
static inline int64_t rn_pause(int64_t first, uint32_t times, int64_t most)
{
    while (times-- > 0 && first < most)
        first *= 2;
    return first < most ? first : most;
}

#endif
