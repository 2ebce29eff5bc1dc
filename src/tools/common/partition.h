/* partition.h -- the partition key that an option gives, as JSON. */
#ifndef RN_TOOLS_COMMON_PARTITION_H
#define RN_TOOLS_COMMON_PARTITION_H

#include "tools/common/target.h"

/* The row of --pk, for the tables of commands. */
#define RN_OPTION_PK                                                           \
    {                                                                          \
        "pk", RN_OPTION_TEXT, "KEY", NULL, NULL,                               \
            "The partition key as JSON; what is not JSON is a string: eu is "  \
            "\"eu\".  An array is a hierarchical key.  Not needed if the "     \
            "container is keyed by /id."                                       \
    }

enum { RN_KEY_MAX = 8192 };

/* Adds the key and a NUL: JSON stays as it is, other text becomes a string. */
enum rn_code rn_partition_print(const char *text, struct rn_buf *out) RN_CHECK;

/* Opens the account and the container, and finds the key of the document `id`:
 * --pk, or the id if the container is keyed by /id, which its definition tells.
 * Returns an enum rn_exit. */
int rn_partition_open(const struct rn_args *args, const char *id,
                      struct rn_target *target, struct rn_buf *pk) RN_CHECK;

#endif
