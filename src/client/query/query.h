/* query.h -- a query over all ranges of a container, merged by the client.
 *
 * The plan decides between four strategies:
 *
 *   materialized   groups, aggregates, ranks, or no order within a range: all
 *                  rows are read, then the results are returned page by page
 *   merged         ORDER BY: a k-way merge of the ranges' rows
 *   sequential     other queries: range after range, the server's pages
 *   single         one partition key, or the catalog: the server's pages
 *
 * After each, rows pass DISTINCT, then OFFSET, then TOP and LIMIT.
 *
 * The token of a page resumes a query in another process.  Writes between two
 * pages do not make it repeat or lose other rows:
 *
 *   merged, sequential, single
 *                            the token has the position of every range
 *   DISTINCT without order   also the hashes of all rows returned.  Beyond
 *                            RN_SEEN_MAX of them the token says so, and is
 *                            refused: the official SDKs give no token at all
 *   materialized             the query is computed again; results are sorted by
 *                            ORDER BY, then by the group's key or the rid, and
 *                            go on after the last key returned
 *   ORDER BY RANK            computed again, as each row's rank depends on all
 *                            others; the token has the hashes of the rows
 *                            returned, which are left out
 *
 * A range that was split or merged is replaced by its children or its
 * successor, clamped to its interval.  One thread.
 */
#ifndef RN_CLIENT_QUERY_QUERY_H
#define RN_CLIENT_QUERY_QUERY_H

#include "client/query/plan.h"
#include "client/query/source.h"
#include "client/query/value_set.h"

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

/* ---- for the files of this folder ---------------------------------------- */

/* Passes a row through DISTINCT, OFFSET, TOP and LIMIT, and prints it if it
 * comes out. */
runnel_code rn_client_query_emit(struct rn_client_query *q,
                                 struct rn_merge_item row, struct rn_rows *out,
                                 runnel_error *error) RUNNEL_CHECK;

/* Frees all sources. */
void rn_client_query_drop_sources(struct rn_client_query *q);

#endif
