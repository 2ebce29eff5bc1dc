/* account.h -- account-wide constants: the emulator key and the consistency
 * levels.
 *
 * There are five consistency levels, weakest first.  A request may ask for a
 * weaker level than the account's, never for a stronger one.  Values only; any
 * thread.
 */
#ifndef RN_COSMOS_ACCOUNT_H
#define RN_COSMOS_ACCOUNT_H

#include "base/mem.h"

/* The key of every emulator, published by Microsoft: it protects nothing. */
#define RN_ACCOUNT_EMULATOR_KEY                                                \
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZn"     \
    "qyMsEcaGQy67XIw/Jw=="

enum rn_consistency {
    RN_CONSISTENCY_EVENTUAL,
    RN_CONSISTENCY_PREFIX,
    RN_CONSISTENCY_SESSION,
    RN_CONSISTENCY_BOUNDED,
    RN_CONSISTENCY_STRONG,

    RN_CONSISTENCY_LEVELS, /* number of levels */
};

/* "ConsistentPrefix".  Never NULL. */
const char *rn_consistency_name(enum rn_consistency level);

/* Reads a name, case-insensitively; "Bounded" is an old spelling. */
enum rn_code rn_consistency_parse(struct rn_view name, enum rn_consistency *out,
                                  struct rn_err *err) RN_CHECK;

#endif
