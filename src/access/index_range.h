/* index_range.h -- access path: documents between bounds of an index. */
#ifndef RN_ACCESS_INDEX_RANGE_H
#define RN_ACCESS_INDEX_RANGE_H

#include "access/access_path.h"

/* Collects the documents between the bounds of WHERE, if an index has few
 * enough of them; if not, the access has no index.  `has_order`: ORDER BY can
 * follow an index instead. */
enum rn_code rn_access_gather(struct rn_access *a,
                              const struct rn_access_ask *ask, bool has_order,
                              struct rn_arena *arena) RN_CHECK;

#endif
