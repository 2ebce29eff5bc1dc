/* source.h -- one interval of a query, read page by page.
 *
 * A source is an interval of effective partition keys within one partition key
 * range, or all that a request without a range means.  `before` is the
 * continuation that fetched the page it has, `after` the one that fetches the
 * next.
 *
 * One thread.
 */
#ifndef RN_CLIENT_QUERY_SOURCE_H
#define RN_CLIENT_QUERY_SOURCE_H

#include "client/account/call.h"
#include "client/account/container.h"
#include "client/query/value.h"

/* Of a page, and of whatever is made of its rows. */
extern const struct rn_json_limits rn_page_limits;

/* The request that all sources of a query send. */
struct rn_question {
    struct rn_account *account;
    struct rn_client_container *container; /* NULL: a query of the catalog */
    struct rn_link link;                   /* the list that is read */
    struct rn_headers headers;             /* the caller's own */
    struct rn_buf body;                    /* empty: read feed */
    struct rn_buf key;                     /* partition key header, or empty */
    const char *session_token;
    int64_t page_limit; /* rows; -1: the server decides */
};

struct rn_merge_source {
    struct rn_epk_range range;
    char id[32];     /* of the partition key range; "": none is named */
    bool is_clamped; /* the interval is smaller than that range */
    char *before, *after;
    bool has_page;   /* fetched, perhaps read to its end */
    bool is_over;    /* that page is the last, and read */
    bool wants_page; /* one is to be fetched */

    struct rn_buf body; /* the page */
    struct rn_json j;
    struct rn_json_walk rows;
    uint32_t row;  /* the next one; RN_JSON_NONE: there is none */
    uint32_t last; /* the one taken before it, in this page */

    /* Resumed inside a page: rows up to this one were taken before, the
     * resume_count-th with that rid.  Without a rid: rows before it in order
     * come too late, as others behind them were returned. */
    struct rn_buf resume_items, resume_rid;
    int64_t resume_count;

    struct rn_client_call call;
    bool has_call;
};

struct rn_merge_source *rn_merge_source_new(void);
void rn_merge_source_free(struct rn_merge_source *s); /* NULL is fine */

/* Asks for the page behind the one it has. */
void rn_merge_source_ask(struct rn_merge_source *s, const struct rn_question *q,
                         struct rn_transport *t);
/* The call is over and succeeded: takes its page. */
runnel_code rn_merge_source_take(struct rn_merge_source *s,
                                 const struct rn_question *q, double *charge,
                                 runnel_error *error) RUNNEL_CHECK;
/* Goes to the next row. */
void rn_merge_source_next(struct rn_merge_source *s);
static inline bool rn_merge_source_has_row(const struct rn_merge_source *s)
{
    return s->row != RN_JSON_NONE;
}
static inline struct rn_merge_item
rn_merge_source_row(const struct rn_merge_source *s)
{
    return (struct rn_merge_item){ &s->j, s->row };
}

#endif
