/* overlay.h -- nested transactions: a transaction upon a transaction. */
#ifndef RN_STORE_OVERLAY_H
#define RN_STORE_OVERLAY_H

#include "store/store.h"

/* Begins a nested transaction: reads look through it to `below`, writes stay in
 * it until commit applies them to `below`, abort discards them.  For operations
 * of several writes that must be atomic beside other operations in the same
 * transaction.  `below` must not be written to meanwhile. */
enum rn_code rn_overlay_begin(struct rn_txn *below,
                              struct rn_txn **out) RN_CHECK;

#endif
