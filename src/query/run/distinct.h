/* distinct.h -- DISTINCT: is it applied before or after ORDER BY; internal to
 * the module. */
#ifndef RN_QUERY_RUN_DISTINCT_H
#define RN_QUERY_RUN_DISTINCT_H

#include "query/parse/ast.h"

/* When DISTINCT is applied. */
enum rn_distinct {
    RN_DISTINCT_NOT,
    RN_DISTINCT_FIRST,  /* before sorting: equal rows have equal keys */
    RN_DISTINCT_SORTED, /* after sorting: the row does not determine its keys */
};

enum rn_distinct rn_distinct_of(const struct rn_select *s);

#endif
