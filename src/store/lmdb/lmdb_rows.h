/* lmdb_rows.h -- the rows of an LMDB map: lookups, writes, cursors.
 *
 * Entries of rn_map_ops (map.h), whose contract is there.
 */
#ifndef RN_STORE_LMDB_LMDB_ROWS_H
#define RN_STORE_LMDB_LMDB_ROWS_H

#include "store/lmdb/map.h"

enum rn_code rn_lmdb_get(struct rn_map_txn *t, struct rn_view key,
                         struct rn_view *out);
enum rn_code rn_lmdb_put(struct rn_map_txn *t, struct rn_view key,
                         struct rn_view value);
enum rn_code rn_lmdb_append(struct rn_map_txn *t, struct rn_view key,
                            struct rn_view value);
enum rn_code rn_lmdb_del(struct rn_map_txn *t, struct rn_view key);
enum rn_code rn_lmdb_scan(struct rn_map_txn *t, const struct rn_key_interval *r,
                          struct rn_map_cursor **out);
enum rn_code rn_lmdb_next(struct rn_map_cursor *c, struct rn_view *key,
                          struct rn_view *value);
enum rn_code rn_lmdb_leaf(struct rn_map_cursor *c, struct rn_map_leaf *out);
void rn_lmdb_end(struct rn_map_cursor *c);

#endif
