/* where_intervals.h -- predicate analysis: the intervals of sort keys that
 * WHERE leaves possible for a path, for a range scan of an index. */
#ifndef RN_QUERY_WHERE_WHERE_INTERVALS_H
#define RN_QUERY_WHERE_WHERE_INTERVALS_H

#include "query/query.h"

/* An interval of sort keys (sortkey.h). */
struct rn_sortkey_interval {
    struct rn_view from, before;
    bool is_point; /* WHERE demands one value */
};

/* The key intervals that WHERE allows for a path of the document.  They are
 * conservative: WHERE may exclude more. */
struct rn_where_intervals {
    bool is_bounded; /* false: any value is possible */
    const struct rn_sortkey_interval *list;
    uint32_t count; /* 0: no document can match */
};

/* Intervals of sort keys whose strings are cut at `text_max` bytes. */
enum rn_code rn_where_intervals_find(const struct rn_query *q,
                                     const struct rn_json_path *path,
                                     size_t text_max, struct rn_arena *a,
                                     struct rn_where_intervals *out) RN_CHECK;

#endif
