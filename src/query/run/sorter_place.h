/* sorter_place.h -- the continuation of a sorted query: the position of a row,
 * encoded and decoded; internal to the module. */
#ifndef RN_QUERY_RUN_SORTER_PLACE_H
#define RN_QUERY_RUN_SORTER_PLACE_H

#include "query/run/sorter.h"

/* Continues after the row of a continuation. */
enum rn_code rn_sorter_resume(struct rn_sorter *s,
                              struct rn_view after) RN_CHECK;
/* Writes the continuation of a row to the run's `after`. */
enum rn_code rn_sorter_put_place(struct rn_sorter *s,
                                 const struct rn_sorted *row) RN_CHECK;

#endif
