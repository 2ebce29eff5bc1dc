/* backup.h -- backup and restore: copies a data directory, also of a running
 * store.
 *
 * Both read files only: the map of the durable checkpoint, whose pages stay
 * whole while the lock on the file `backup` is held (held.c), and the WAL after
 * it, record by record to its end.  The copy is a data directory like any
 * other, `keys` included.  It has every write that was acknowledged before the
 * copy began.
 *
 * Pages are compared with their checksums on the way, so damage is refused, not
 * copied.  So is a copy during which the store was restarted or compacted, if
 * starting over does not help.
 */
#ifndef RN_STORE_ADMIN_BACKUP_H
#define RN_STORE_ADMIN_BACKUP_H

#include "base/env.h"

/* A backup leaves the time at which it began in the file `backup` of its
 * source.  Behind that, while it runs, is a number, u64, that changes as long
 * as it makes progress; it is removed afterwards (held.c). */
enum { RN_BACKUP_NOTE_MAX = 20, RN_BACKUP_PROGRESS = RN_BACKUP_NOTE_MAX };

/* The sizes of a copy. */
struct rn_copied {
    uint64_t map_bytes; /* with the page checksums */
    uint64_t wal_bytes; /* of records */
};

/* `to` must be empty or absent.  The copy keeps the store's identity.  `out`
 * may be NULL. */
enum rn_code rn_backup(struct rn_env *env, const char *from, const char *to,
                       struct rn_copied *out, struct rn_err *err) RN_CHECK;

/* The same with a new identity and a higher count of restores, so that clients
 * that followed the old store can tell that time may have gone back. */
enum rn_code rn_restore(struct rn_env *env, const char *from, const char *to,
                        struct rn_copied *out, struct rn_err *err) RN_CHECK;

#endif
