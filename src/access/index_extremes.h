/* index_extremes.h -- access path: the first and the last documents of an
 * index, for MIN and MAX. */
#ifndef RN_ACCESS_INDEX_EXTREMES_H
#define RN_ACCESS_INDEX_EXTREMES_H

#include "access/access_path.h"

/* An index with the answer at its ends; the one with most paths limited to one
 * value. */
enum rn_code rn_access_find_extreme(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena,
                                    const struct rn_index **out) RN_CHECK;

#endif
