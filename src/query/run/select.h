/* select.h -- the pipeline of a SELECT, from its sources to its rows; internal
 * to the module. */
#ifndef RN_QUERY_RUN_SELECT_H
#define RN_QUERY_RUN_SELECT_H

#include "query/run/run.h"

/* Runs a SELECT and hands its rows to `row`. */
enum rn_code rn_select_run(struct rn_run *r, const struct rn_select *s,
                           enum rn_hold hold, rn_row_fn *row,
                           void *context) RN_CHECK;
/* The row that SELECT projects from the frame; may be undefined. */
enum rn_code rn_select_project(struct rn_run *r, const struct rn_select *s,
                               struct rn_value *out) RN_CHECK;

#endif
