/* index_order.h -- access path: follows an index in the order of ORDER BY. */
#ifndef RN_ACCESS_INDEX_ORDER_H
#define RN_ACCESS_INDEX_ORDER_H

#include "access/access_path.h"

/* The keys of ORDER BY as an index would have them, the first one ascending;
 * none if no index can serve it. */
enum rn_code rn_access_order_keys(const struct rn_query *q,
                                  struct rn_arena *arena,
                                  struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                                  uint32_t *count, bool *is_backward) RN_CHECK;

#endif
