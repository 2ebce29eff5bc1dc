/* rank.h -- ORDER BY RANK over several ranges. */
#ifndef RN_CLIENT_QUERY_RANK_H
#define RN_CLIENT_QUERY_RANK_H

#include "client/http/error.h"

struct rn_client_query;

/* Asks the queries of ORDER BY RANK and computes the results. */
runnel_code rn_client_query_rank(struct rn_client_query *q, double *charge,
                                 runnel_error *error) RUNNEL_CHECK;

#endif
