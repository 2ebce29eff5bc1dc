/* fusion.h -- reciprocal rank fusion: ORDER BY RANK from its query plan.
 *
 * A plan has a query for the statistics of all documents, and a component
 * query for each score, whose text has placeholders for these statistics.  The
 * rows of the component queries are fused: a row's place in the order by each
 * score counts weight / (60 + place), and the rows with the greatest sums come
 * first.
 *
 * Pure functions; any thread.
 */
#ifndef RN_COSMOS_FUSION_H
#define RN_COSMOS_FUSION_H

#include "json/json.h"

/* A row that a component query returned. */
struct rn_ranked {
    struct rn_view rid, row; /* as JSON */
    const double *scores;    /* by every component */
    double fused;
};

struct rn_rank_way {
    bool is_descending;
    double weight;
};

/* Appends the component text with its placeholders replaced.  `statistics` is
 * {"documentCount":n,"fullTextStatistics":[{"totalWordCount":n,
 * "hitCounts":[...]}...]}. */
enum rn_code rn_fusion_fill_in(struct rn_view text,
                               const struct rn_json *statistics,
                               struct rn_buf *out) RN_CHECK;

/* Sorts by one score and keeps the best; returns their number. */
size_t rn_fusion_best(struct rn_ranked *list, size_t count, size_t component,
                      bool is_descending, size_t most);

/* Keeps each row once and sorts, the best first; returns their number. */
size_t rn_fusion_run(struct rn_ranked *list, size_t count,
                     const struct rn_rank_way *ways, size_t components);

#endif
