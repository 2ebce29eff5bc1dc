/* backup.h -- copies of a data directory, of a running store too.
 *
 * Both read files only: the map of the durable checkpoint, whose pages stay
 * whole while the lock on the file `backup` is held (maintenance.c), and the
 * log after it, record by record to its end.  The copy is a data directory like
 * any other, `keys` included.  It has every write that was acknowledged before
 * the copy began.
 *
 * Pages are compared with their sums on the way, so what is damaged is refused,
 * not copied; and so is a copy under which the store was restarted or
 * compacted, if it cannot be made right by beginning again.
 */
#ifndef RN_STORE_ADMIN_BACKUP_H
#define RN_STORE_ADMIN_BACKUP_H

#include "base/env.h"

/* What a backup leaves in the file `backup` of its source: the time at which it
 * began.  Behind that, while it runs, is a number, u64, that changes as long as
 * it makes progress; it is gone afterwards (held.c). */
enum { RN_BACKUP_NOTE_MAX = 20, RN_BACKUP_PROGRESS = RN_BACKUP_NOTE_MAX };

/* How much a copy has in it. */
struct rn_copied {
    uint64_t map_bytes; /* with the sums of its pages */
    uint64_t log_bytes; /* of records */
};

/* `to` must be empty or absent.  The copy keeps the store's identity.  `out`
 * may be NULL. */
enum rn_code rn_backup(struct rn_env *env, const char *from, const char *to,
                       struct rn_copied *out, struct rn_err *err) RN_CHECK;

/* The same with a new identity, one restore further, so that whoever followed
 * the old store can tell that time may have gone back. */
enum rn_code rn_restore(struct rn_env *env, const char *from, const char *to,
                        struct rn_copied *out, struct rn_err *err) RN_CHECK;

#endif
