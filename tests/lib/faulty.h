/* faulty.h -- a store over another that fails on order. */
#ifndef RN_TESTS_LIB_FAULTY_H
#define RN_TESTS_LIB_FAULTY_H

#include "store/store.h"

enum faulty_call {
    FAULTY_BEGIN_READ, /* in the order of enum rn_txn_mode */
    FAULTY_BEGIN_WRITE,
    FAULTY_BEGIN_SHRINK,
    FAULTY_COMMIT,
    FAULTY_ABORT, /* counted; cannot fail */
    FAULTY_GET,
    FAULTY_PUT,
    FAULTY_DEL,
    FAULTY_SCAN,
    FAULTY_NEXT,
    FAULTY_CALLS,
};

enum { FAULTY_ALWAYS = 1 << 30 };

/* Takes over `inner`, which is closed with it.  NULL without memory. */
struct rn_store *faulty_new(struct rn_store *inner);

/* The `nth` call from now (1 is the next) and those after it, `times` in all,
 * return `code`.  A commit that fails has written nothing. */
void faulty_fail(struct rn_store *s, enum faulty_call call, unsigned nth,
                 unsigned times, enum rn_code code);

/* How many calls there have been. */
unsigned faulty_count(const struct rn_store *s, enum faulty_call call);

#endif
