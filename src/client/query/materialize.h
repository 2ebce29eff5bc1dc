/* materialize.h -- queries that need all rows before the first result: groups,
 * aggregates, counts of distinct values, and orders without an index. */
#ifndef RN_CLIENT_QUERY_MATERIALIZE_H
#define RN_CLIENT_QUERY_MATERIALIZE_H

#include "client/http/error.h"
#include "client/query/value.h"

struct rn_client_query;

/* Reads all and computes the results. */
runnel_code rn_client_query_materialize(struct rn_client_query *q,
                                        double *charge,
                                        runnel_error *error) RUNNEL_CHECK;

/* Adds a result, with its keys as JSON text, for sort. */
enum rn_code rn_client_query_add_result(struct rn_client_query *q,
                                        struct rn_view text,
                                        struct rn_view keys) RN_CHECK;

/* Reads all rows of the sources. */
typedef enum rn_code (*rn_each_row_fn)(struct rn_client_query *q,
                                       struct rn_merge_item row);
runnel_code rn_client_query_read_all(struct rn_client_query *q,
                                     rn_each_row_fn each, double *charge,
                                     runnel_error *error) RUNNEL_CHECK;
/* A failure of the computation in words. */
runnel_code rn_client_query_explain(enum rn_code rc,
                                    runnel_error *error) RUNNEL_CHECK;

#endif
