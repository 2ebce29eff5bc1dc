/* query_page.h -- a page of a query on its way, from the request to the reply.
 *
 *   queries.c       the course of it
 *   query_token.c   where it begins, and where the next one will
 *   query_source.c  the documents, or the catalog's objects, that it reads
 *   page_rows.c    its rows into the body, and those behind it into an answer
 *
 * A page ends when it has its rows or bytes, or its time is over.  Documents
 * are read in the order of their rids or of their keys, which updates do not
 * change; the first page decides, and the token says which.  A query that must
 * see everything first (ORDER BY, GROUP BY, DISTINCT, aggregates) is *whole*:
 * it is answered from what waits (result_cache.h); if that is gone it begins
 * again behind the last row.  So is a ranking (hybrid_rank.h), which counts its
 * rows.
 *
 * Thread: a worker's.
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
    struct rn_asked asked;
    struct rn_query_limits limits;
    struct rn_query_stats stats;
    int64_t load_ns; /* spent on getting documents, if `is_timed` */
    bool is_timed;
    uint64_t held;   /* the answer that the token names */
    bool is_put_off; /* others have to run first; it begins again later */
    bool is_blind;   /* a full page has a continuation, whatever follows */

    /* Documents. */
    struct rn_snapshot reading;
    struct rn_documents_scan scan;
    enum rn_document_order order; /* of the documents: as the token says */
    struct rn_access access;
    char place[RN_PLACE_MAX]; /* or position, of the document given last */
    size_t place_len;
    const struct rn_epk *border; /* where the page ends at the latest; NULL:
                                    with the last document */
    struct rn_epk_range begun;   /* the interval of a natural position */
    struct rn_view first; /* the page's first document, looked at before */
    enum rn_code first_rc;
    bool has_first;

    /* The catalog's objects. */
    struct rn_object *objects[RN_QUERY_OBJECTS];
    size_t object_count, object_at;
    struct rn_rid last;
    bool any;
    struct rn_buf text; /* of a permission, with its token */

    /* Rows, and what comes behind them. */
    struct rn_json_out out;
    size_t max, count, row_bytes, last_bytes;
    struct rn_query_place end; /* behind the last row */
    char after[RN_QUERY_AFTER_MAX];
    struct rn_answer *answer;
};

static inline bool rn_query_page_is_whole(const struct rn_query_page *p)
{
    return !rn_query_is_streaming(p->asked.query);
}

/* ---- query_token.c ------------------------------------------------------- */

/* The request's, if it has one.  RN_BAD_REQUEST if it is none of ours. */
enum rn_code rn_query_token_read(struct rn_query_page *p) RN_CHECK;
/* Into the reply: where the page ended. */
void rn_query_token_add(struct rn_query_page *p);

/* ---- query_source.c ------------------------------------------------------ */

/* `no_order`: not along an index, see struct rn_access_ask. */
enum rn_code rn_query_source_open(struct rn_query_page *p,
                                  struct rn_source *source,
                                  bool no_order) RN_CHECK;
void rn_query_source_close(struct rn_query_page *p); /* unopened is fine */
/* Reads no further than the range in which the page begins. */
void rn_query_source_narrow(struct rn_query_page *p);
/* All up to the border was read: the next page begins there. */
void rn_query_source_cross(struct rn_query_page *p);

/* ---- page_rows.c -------------------------------------------------------- */

void rn_query_page_begin(struct rn_query_page *p);
/* A sink for rows: into the page until it is full, then into an answer. */
enum rn_code rn_query_page_take(void *page, struct rn_view json,
                                const struct rn_query_place *place,
                                bool *is_full, struct rn_err *err) RN_CHECK;
enum rn_code rn_query_page_end(struct rn_query_page *p) RN_CHECK;

/* The answer that the token names, if it still waits, and a page of it. */
bool rn_query_page_find_answer(struct rn_query_page *p);
enum rn_code rn_query_page_of_answer(struct rn_query_page *p) RN_CHECK;
/* Keeps what comes behind the page, if anything does. */
void rn_query_page_keep(struct rn_query_page *p);

#endif
