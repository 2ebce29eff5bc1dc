/* query_metrics.c -- execution metrics of a query page, for clients that
 * request them.
 *
 * Clients parse the text of the header by its names.
 */
#include "rest/query/query_metrics.h"
#include "rest/query/index_metrics.h"
#include "rest/reply.h"

#include <stdio.h>

static double ms(int64_t ns)
{
    return ns > 0 ? (double)ns / 1e6 : 0;
}

/* The share of the documents read that matched. */
static double ratio(const struct rn_query_stats *s)
{
    if (s->documents == 0 || s->matched >= s->documents)
        return 1;
    return (double)s->matched / (double)s->documents;
}

static void add_times(struct rn_context *x, const struct rn_query_cost *c)
{
    const struct rn_query_stats *s = c->stats;
    char text[640];

    snprintf(text, sizeof(text),
             "totalExecutionTimeInMs=%.4f;queryCompileTimeInMs=%.4f;"
             "queryLogicalPlanBuildTimeInMs=0.00;"
             "queryPhysicalPlanBuildTimeInMs=0.00;"
             "queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs=%.4f;"
             "indexLookupTimeInMs=0.00;instructionCount=%llu;"
             "documentLoadTimeInMs=%.4f;systemFunctionExecuteTimeInMs=0.00;"
             "userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount=%llu;"
             "retrievedDocumentSize=%llu;outputDocumentCount=%llu;"
             "outputDocumentSize=%llu;writeOutputTimeInMs=0.00;"
             "indexUtilizationRatio=%.2f",
             ms(c->ran_ns - c->begun_ns), ms(c->parsed_ns - c->begun_ns),
             ms(c->ran_ns - c->parsed_ns - c->load_ns),
             (unsigned long long)s->steps, ms(c->load_ns),
             (unsigned long long)s->documents,
             (unsigned long long)s->document_bytes, (unsigned long long)s->rows,
             (unsigned long long)s->row_bytes, ratio(s));
    rn_reply_text(x, RN_HEADER_QUERY_METRICS, text);
}

void rn_query_metrics_add(struct rn_context *x,
                          const struct rn_query_cost *cost)
{
    x->call->note.query = (struct rn_query_note){
        .examined = cost->stats->documents,
        .returned = cost->stats->rows,
        .has_way = cost->access,
        .way = cost->access ? cost->access->kind : 0,
    };
    if (rn_context_flag(x, RN_HEADER_WANT_QUERY_METRICS))
        add_times(x, cost);
    if (rn_context_flag(x, RN_HEADER_WANT_INDEX_METRICS_2))
        rn_index_metrics_add(x, cost, false);
    else if (rn_context_flag(x, RN_HEADER_WANT_INDEX_METRICS))
        rn_index_metrics_add(x, cost, true);
}
