/* index_scan.h -- chooses an index for a query, and scans along it. */
#ifndef RN_ACCESS_INDEX_SCAN_H
#define RN_ACCESS_INDEX_SCAN_H

#include "access/access_path.h"

/* Sets the kind and its index, if an index is cheaper. */
enum rn_code rn_access_choose_index(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena) RN_CHECK;
/* The next row in the scope; RN_NOT_FOUND also if the scan gives up. */
enum rn_code rn_access_next_row(struct rn_access *a) RN_CHECK;
void rn_access_end_walk(struct rn_access *a);
/* Sets how many rows the scan may read. */
void rn_access_set_budget(struct rn_access *a, bool has_filter);
/* Is the scope the full container? */
bool rn_access_has_no_bounds(const struct rn_documents_scan *scope);

#endif
