/* local_rows.h -- the rows of the embedded store: lookups, writes, cursors.
 *
 * Entries of rn_store_ops (store.h), whose contract is there.
 */
#ifndef RN_STORE_LOCAL_LOCAL_ROWS_H
#define RN_STORE_LOCAL_LOCAL_ROWS_H

#include "store/store.h"

enum rn_code rn_local_get(struct rn_txn *base, struct rn_view key,
                          struct rn_view *out);
enum rn_code rn_local_put(struct rn_txn *base, struct rn_view key,
                          struct rn_view value);
enum rn_code rn_local_del(struct rn_txn *base, struct rn_view key);
enum rn_code rn_local_scan(struct rn_txn *base,
                           const struct rn_key_interval *range,
                           struct rn_cursor **out);
enum rn_code rn_local_next(struct rn_cursor *base, struct rn_view *key,
                           struct rn_view *value);
void rn_local_end(struct rn_cursor *base);

#endif
