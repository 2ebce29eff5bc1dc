/* natural.h -- access path: documents in the order of their creation, and the
 * positions in that order. */
#ifndef RN_ACCESS_NATURAL_H
#define RN_ACCESS_NATURAL_H

#include "access/access_path.h"

/* A position: an interval whose documents up to a rid were returned.  False if
 * the bytes are not a position. */
size_t rn_access_position_put(const struct rn_epk_range *epks, uint64_t rid,
                              char out[RN_PLACE_MAX]);
bool rn_access_position_get(struct rn_view in, struct rn_epk_range *epks,
                            uint64_t *rid);

/* Resumes at a position: narrows the scope to the documents after it.
 * RN_BAD_REQUEST if it is not a position. */
enum rn_code rn_access_begin_natural(struct rn_access *a,
                                     const struct rn_access_ask *ask) RN_CHECK;
/* Opens the path in the order of rids, if there are few enough documents; else
 * leaves its operations unset. */
enum rn_code rn_access_open_natural(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena) RN_CHECK;

#endif
