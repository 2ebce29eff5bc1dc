/* verify.h -- offline integrity check: reads a whole data directory and reports
 * all damage.
 *
 * It checks the format, the checkpoint, every WAL segment that recovery would
 * read, and the map at the checkpoint's state: each page is reached exactly
 * once or free exactly once, matches its checksum, and is in order, and every
 * record matches its own checksum.  What recovery would not read is not read:
 * spare segments, free pages, pages written to the map after the checkpoint.
 *
 * One damage cannot be seen: that the very last record of the WAL is gone.  A
 * crash in the middle of writing it leaves the same.
 *
 * Changes nothing and needs only read access.  The directory must not be in
 * use.
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
    uint64_t wal_records; /* after the checkpoint */
    uint64_t damages;
};

/* RN_OK if there is no damage; RN_CORRUPT if `report` was called, or would have
 * been if it were not NULL; RN_BUSY if the directory is in use; RN_NOT_FOUND,
 * RN_BAD_REQUEST or RN_FORBIDDEN if it is not a data directory that this
 * version can read. */
enum rn_code rn_verify(struct rn_env *env, const char *dir,
                       rn_verify_fn *report, void *context,
                       struct rn_verify_counts *counts,
                       struct rn_err *err) RN_CHECK;

#endif
