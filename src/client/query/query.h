/* query.h -- a query over all ranges of a container, merged by the client.
 *
 * There are four ways, by the plan:
 *
 *   whole     grouped, aggregated or without an order within a range: all rows
 *             are read, then the results are returned page by page
 *   merged    ORDER BY: the least of the ranges' next rows, again and again
 *   in turn   the others: range after range, the server's pages
 *   alone     one partition key, or the catalog: the server's pages
 *
 * After each, rows pass DISTINCT, then OFFSET, then TOP and LIMIT.
 *
 * A token has the position of every range, so a query can be resumed in another
 * process.  Where a token cannot hold the state (DISTINCT without an order, and
 * whole queries), it has the number of rows returned, and the query is computed
 * again.
 *
 * A range that was split or merged is replaced by its children or its
 * successor, clamped to its interval.  One thread.
 */
#ifndef RN_CLIENT_QUERY_QUERY_H
#define RN_CLIENT_QUERY_QUERY_H

#include "client/query/plan.h"
#include "client/query/seen.h"
#include "client/query/source.h"

struct rn_client_query;

struct rn_client_query_options {
    const char *text;       /* NULL: read feed */
    const char *parameters; /* JSON array, or NULL */
    const char *token;      /* or NULL */
    struct rn_view key;     /* partition key header of a whole key, or empty */
    bool has_interval;
    struct rn_epk_range interval; /* only these keys */
    uint32_t page_limit, parallel, memory_limit;
    const char *session_token; /* borrowed until the query is freed */
    struct rn_headers headers; /* copied */
    struct rn_link link;       /* borrowed likewise */
};

/* The container, if there is one, is kept alive. */
runnel_code rn_client_query_new(struct rn_account *account,
                                struct rn_client_container *container,
                                const struct rn_client_query_options *options,
                                struct rn_client_query **out,
                                runnel_error *error) RUNNEL_CHECK;
void rn_client_query_free(struct rn_client_query *q); /* NULL is fine */

/* Concatenated rows, and where each ends. */
struct rn_rows {
    struct rn_buf text;
    struct rn_buf ends; /* of size_t */
    double charge;
    struct rn_buf token; /* with a NUL; empty: this is the last page */
};

void rn_rows_release(struct rn_rows *rows);

/* The next page; sets `*over` if there is none.  A failure of the network loses
 * no row: rows merged before it are a page, and the next call tries again.
 * After any other failure the query is broken. */
runnel_code rn_client_query_next(struct rn_client_query *q,
                                 struct rn_rows *rows, bool *over,
                                 runnel_error *error) RUNNEL_CHECK;

#endif
