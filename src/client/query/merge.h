/* merge.h -- ORDER BY over several ranges, as a k-way merge. */
#ifndef RN_CLIENT_QUERY_MERGE_H
#define RN_CLIENT_QUERY_MERGE_H

#include "client/http/error.h"
#include "client/query/value.h"

struct rn_client_query;

struct rn_rows;

/* Compares arrays of {"item":v}: as many as ORDER BY has in its directions,
 * the others ascending. */
enum rn_code rn_client_query_compare_keys(const struct rn_client_query *q,
                                          struct rn_merge_item a,
                                          struct rn_merge_item b,
                                          int *order) RN_CHECK;

/* Fills a page of merged rows. */
runnel_code rn_client_query_merge(struct rn_client_query *q,
                                  struct rn_rows *out,
                                  runnel_error *error) RUNNEL_CHECK;

#endif
