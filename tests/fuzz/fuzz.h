/* fuzz.h -- what fuzzers share. */
#ifndef RN_TESTS_FUZZ_FUZZ_H
#define RN_TESTS_FUZZ_FUZZ_H

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(bool holds)
{
    if (!holds)
        abort();
}

/* One thing that a text may be tried as; the arena is emptied afterwards. */
typedef void fuzz_try_fn(struct rn_view text, struct rn_arena *arena);

/* The first byte chooses what the others are tried as. */
static inline int fuzz_choose(const uint8_t *data, size_t size,
                              fuzz_try_fn *const tries[], size_t count)
{
    struct rn_arena arena = RN_ARENA_INIT(8 << 20);

    if (size > 0)
        tries[data[0] % count](rn_view_of(data + 1, size - 1), &arena);
    rn_arena_release(&arena);
    return 0;
}

#endif
