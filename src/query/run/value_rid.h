/* value_rid.h -- the resource id of a document, as a number by which clients
 * order documents with equal keys. */
#ifndef RN_QUERY_RUN_VALUE_RID_H
#define RN_QUERY_RUN_VALUE_RID_H

#include "query/run/value.h"

/* The number at the end of a document's _rid, as clients compare it; false if
 * the text is not a _rid, or `v` has none. */
bool rn_value_rid_of(struct rn_view text, uint64_t *out);
enum rn_code rn_value_rid(const struct rn_value *v, struct rn_arena *a,
                          uint64_t *out, bool *found) RN_CHECK;

#endif
