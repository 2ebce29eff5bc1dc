/* account.h -- what every account has: a key, and a promise to its readers.
 *
 * The promise is one of five levels, weakest first.  A request may ask for less
 * than the account gives, never for more.  Values only; any thread.
 */
#ifndef RN_COSMOS_ACCOUNT_H
#define RN_COSMOS_ACCOUNT_H

#include "base/mem.h"

/* The key of every emulator, published by Microsoft and known to everybody: it
 * protects nothing. */
#define RN_ACCOUNT_EMULATOR_KEY                                                \
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZn"     \
    "qyMsEcaGQy67XIw/Jw=="

enum rn_consistency {
    RN_CONSISTENCY_EVENTUAL,
    RN_CONSISTENCY_PREFIX,
    RN_CONSISTENCY_SESSION,
    RN_CONSISTENCY_BOUNDED,
    RN_CONSISTENCY_STRONG,

    RN_CONSISTENCY_LEVELS, /* how many there are */
};

/* "ConsistentPrefix".  Never NULL. */
const char *rn_consistency_name(enum rn_consistency level);

/* Reads a name, in any case; "Bounded" is an old spelling. */
enum rn_code rn_consistency_parse(struct rn_view name, enum rn_consistency *out,
                                  struct rn_err *err) RN_CHECK;

#endif
