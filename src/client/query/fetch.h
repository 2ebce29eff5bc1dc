/* fetch.h -- the sources of a query: found by the routing map, replaced after
 * splits and merges, and fetched page by page. */
#ifndef RN_CLIENT_QUERY_FETCH_H
#define RN_CLIENT_QUERY_FETCH_H

#include "client/http/error.h"
#include "cosmos/epk.h"

struct rn_client_query;

struct rn_merge_source;

/* Opens the sources, at the start or where a token says. */
runnel_code rn_client_query_open_sources(struct rn_client_query *q,
                                         double *charge,
                                         runnel_error *error) RUNNEL_CHECK;
/* Adds, at `at`, one for each range of the map that overlaps `overlap` and has
 * none just before it, clamped to `clamp`; each begins where `from`, which may
 * be NULL, is. */
runnel_code rn_client_query_add_sources(struct rn_client_query *q, size_t at,
                                        const struct rn_epk_range *overlap,
                                        const struct rn_epk_range *clamp,
                                        const struct rn_merge_source *from,
                                        runnel_error *error) RUNNEL_CHECK;

/* Fetches the pages that are wanted. */
runnel_code rn_client_query_fetch(struct rn_client_query *q, double *charge,
                                  runnel_error *error) RUNNEL_CHECK;

/* Sends this text from now on. */
runnel_code rn_client_query_set_text(struct rn_client_query *q,
                                     struct rn_view text,
                                     runnel_error *error) RUNNEL_CHECK;
/* Opens a source for each range that the plan names; `everywhere`: for every
 * range of the container. */
runnel_code rn_client_query_open_ranges(struct rn_client_query *q,
                                        bool everywhere,
                                        runnel_error *error) RUNNEL_CHECK;

#endif
