/* needed_paths.h -- projection pushdown: the members of a document that a query
 * reads, so that the others are not parsed; internal to the module. */
#ifndef RN_QUERY_WHERE_NEEDED_PATHS_H
#define RN_QUERY_WHERE_NEEDED_PATHS_H

#include "query/parse/ast.h"
#include "json/json.h"

/* The members of a document that a query reads.  If it may read all members,
 * WHERE may still read only a few; documents that fail WHERE are then never
 * parsed in full. */
struct rn_needed_paths {
    struct rn_json_wanted members; /* unless all are wanted */
    bool is_all;
    struct rn_json_wanted filter; /* of WHERE, if it can be evaluated first */
    bool has_filter;
};

enum rn_code rn_needed_paths_find(struct rn_needed_paths *w,
                                  const struct rn_select *in,
                                  struct rn_arena *a) RN_CHECK;

#endif
