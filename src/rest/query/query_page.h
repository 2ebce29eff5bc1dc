/* query_page.h -- one page of a query, from the request to the reply.
 *
 *   queries.c       runs the page
 *   query_token.c   parses and prints the continuation
 *   query_source.c  the documents, or the catalog objects, that it reads
 *   query_page.c    rows of the page into the body, rows behind it into the
 *                   result cache
 *
 * A page ends when it has its rows or bytes, or its time is over.  Documents
 * are read in the order of their rids or of their keys, which updates do not
 * change; the first page decides, and the continuation records the choice.  A
 * query that must see all documents before its first row (ORDER BY, GROUP BY,
 * DISTINCT, aggregates) is *whole*: later pages come from the result cache
 * (result_cache.h); if the entry is gone, the query runs again and continues
 * behind the last row.  A ranking (hybrid_rank.h) is whole too, and continues
 * by counting rows.
 *
 * Thread: worker.
 */
#ifndef RN_REST_QUERY_QUERY_PAGE_H
#define RN_REST_QUERY_QUERY_PAGE_H

#include "access/access_path.h"
#include "access/result_cache.h"
#include "rest/query/request.h"

#include "json/print.h"

enum { RN_QUERY_OBJECTS = 64, RN_QUERY_OBJECT_PLACE = 16 };

struct rn_query_page {
    struct rn_context *x;
    struct rn_query_request request;
    struct rn_query_limits limits;
    struct rn_query_stats stats;
    int64_t load_ns; /* time spent loading documents, if `is_timed` */
    bool is_timed;
    uint64_t held;   /* the result cache entry that the token names */
    bool is_put_off; /* preempted: others run first, it starts over later */
    bool is_blind;   /* every full page gets a continuation */

    /* Documents. */
    struct rn_snapshot reading;
    struct rn_documents_scan scan;
    enum rn_document_order order; /* as the continuation says */
    struct rn_access access;
    char place[RN_PLACE_MAX]; /* or position, of the last document returned */
    size_t place_len;
    const struct rn_epk *border; /* where the page ends at the latest; NULL: at
                                    the last document */
    struct rn_epk_range begun;   /* the interval of a natural position */
    struct rn_view first; /* the page's first document, read in advance */
    enum rn_code first_rc;
    bool has_first;

    /* The catalog's objects. */
    struct rn_object *objects[RN_QUERY_OBJECTS];
    size_t object_count, object_at;
    struct rn_rid last;
    bool any;
    struct rn_buf text; /* a permission's JSON, with its token */

    /* The rows, and the continuation behind them. */
    struct rn_json_out out;
    size_t max, count, row_bytes, last_bytes;
    struct rn_query_place end; /* behind the last row */
    char after[RN_QUERY_AFTER_MAX];
    struct rn_cached_result *answer;
};

static inline bool rn_query_page_is_whole(const struct rn_query_page *p)
{
    return !rn_query_is_streaming(p->request.query);
}

void rn_query_page_begin(struct rn_query_page *p);
/* A sink for rows: fills the page, then the result cache entry. */
enum rn_code rn_query_page_take(void *page, struct rn_view json,
                                const struct rn_query_place *place,
                                bool *is_full, struct rn_err *err) RN_CHECK;
enum rn_code rn_query_page_end(struct rn_query_page *p) RN_CHECK;

/* Finds the result cache entry that the token names, if it still exists; makes
 * a page of it. */
bool rn_query_page_find_answer(struct rn_query_page *p);
enum rn_code rn_query_page_of_answer(struct rn_query_page *p) RN_CHECK;
/* Stores the rows behind the page in the result cache, if there are any. */
void rn_query_page_keep(struct rn_query_page *p);

#endif
