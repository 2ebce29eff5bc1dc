/* verify.h -- reads a data directory all over and names what is damaged.
 *
 * Format, checkpoint, every segment of the log that recovery would read, and
 * the map at the checkpoint's state: each page reached exactly once or free
 * exactly once, each as its sum says, in order, and every record's own sum.
 * What recovery would not look at is not looked at: spare segments, free pages,
 * whatever was written to the map after the checkpoint.
 *
 * One damage cannot be seen: that the very last record of the log is gone.  A
 * crash in the middle of writing it leaves the same.
 *
 * Changes nothing and needs no right to.  The directory must not be in use.
 */
#ifndef RN_STORE_ADMIN_VERIFY_H
#define RN_STORE_ADMIN_VERIFY_H

#include "base/env.h"

struct rn_damage {
    const char *file; /* within the directory */
    uint64_t offset;
    const char *what;
};

typedef void rn_verify_fn(void *context, const struct rn_damage *damage);

struct rn_verify_counts {
    uint64_t pages;       /* that hold the checkpoint's state */
    uint64_t free_pages;  /* of the map besides */
    uint64_t records;     /* in the map */
    uint64_t log_records; /* after the checkpoint */
    uint64_t damages;
};

/* RN_OK if all is well; RN_CORRUPT if `report` was called, or would have been
 * if it were not NULL; RN_BUSY if the directory is in use; RN_NOT_FOUND,
 * RN_BAD_REQUEST or RN_FORBIDDEN if it is none of ours. */
enum rn_code rn_verify(struct rn_env *env, const char *dir,
                       rn_verify_fn *report, void *context,
                       struct rn_verify_counts *counts,
                       struct rn_err *err) RN_CHECK;

#endif
