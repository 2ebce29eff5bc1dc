/* seek.h -- keyset pagination: the sort keys at which a page of a sorted query
 * starts, for an index that yields its documents in order. */
#ifndef RN_QUERY_RUN_SEEK_H
#define RN_QUERY_RUN_SEEK_H

#include "query/run/resume.h"
#include "query/run/sortkey.h"

/* True if rows can be emitted as documents come, provided these come in key
 * order, and a page can start with the documents after its continuation. */
bool rn_query_can_follow_order(const struct rn_query *q);
/* The sort keys, in these forms, of the row after which a page of such a query
 * starts, up to the first truncated key; `out` has room for all.
 * RN_BAD_REQUEST if `after` is not a continuation. */
struct rn_query_seek {
    const struct rn_sortkey_form *forms; /* one per key of ORDER BY */
    char *out;
    size_t len;
    bool is_cut;
    uint64_t rid; /* of its document */
    bool has_rid;
};
enum rn_code rn_query_seek(const struct rn_query *q, struct rn_view after,
                           struct rn_query_seek *seek) RN_CHECK;
/* The same for the position that a client resumes from. */
void rn_query_seek_resume(const struct rn_query *q,
                          const struct rn_query_resume *resume,
                          struct rn_query_seek *seek);

/* True if the continuation holds its keys only in truncated form.  The run must
 * then read all documents to find the position: no index can seek to it. */
bool rn_query_place_is_cut(const struct rn_query *q, struct rn_view after);

#endif
