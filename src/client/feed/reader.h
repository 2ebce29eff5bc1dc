/* reader.h -- reads the change feed of one interval, a page at a time.
 *
 * It is a step function over a transport and never blocks.  The pull model
 * (cursor.h) has one for each part of its scope, a processor one for each lease
 * that it owns.
 *
 *   rn_reader_init(&r, &source, &keys, &position);
 *   if (!rn_reader_route(&r, map)) ... several ranges: one reader for each ...
 *   rn_reader_ask(&r, transport, wait_ms);
 *   transport->ops->step or wait; event = rn_reader_step(&r, &next_ns);
 *
 *   event     what happened                         what the owner does
 *   NONE      the answer is not there yet           step again in next_ns
 *   PAGE      r.page has changes                    take it, ask again
 *   NOTHING   304: nothing after r.at               wait or poll, ask again
 *   MORE      an answer without changes that does   ask again at once
 *             not mean the end
 *   GONE      the range was split or merged         read the routing map, route
 *   FAILED    r.error                               pause, retry or give up
 *
 * Each request is sent with the position of the answer before it: `at` moves
 * with PAGE, NOTHING and MORE and in no other way but rn_reader_seek.  So no
 * change lies between two pages.
 *
 * An answer beyond its limit, or a server that asks for smaller pages, halves
 * the page limit; 16 good pages double it again.
 *
 * One thread.
 */
#ifndef RN_CLIENT_FEED_READER_H
#define RN_CLIENT_FEED_READER_H

#include "client/account/call.h"
#include "client/feed/page.h"
#include "client/feed/position.h"
#include "client/feed/scope.h"

/* What all readers of a feed have in common.  Borrowed by them. */
struct rn_reader_source {
    struct rn_client_container *container;
    struct rn_definition *definition;
    runnel_feed_mode mode;
    uint32_t page_limit;       /* 0: the server decides */
    const char *session_token; /* NULL: what the client has seen */
    const char *key;           /* partition key header; NULL: by interval */
    int64_t since_s;           /* drop earlier changes; INT64_MIN: none */
};

enum rn_reader_event {
    RN_READER_NONE,
    RN_READER_PAGE,
    RN_READER_NOTHING,
    RN_READER_MORE,
    RN_READER_GONE,
    RN_READER_FAILED,
};

enum { RN_RANGE_ID_MAX = 31 };

struct rn_reader {
    const struct rn_reader_source *source;
    struct rn_epk_range keys; /* what it reads */
    struct rn_position at;    /* everything up to here has been read */

    char range_id[RN_RANGE_ID_MAX + 1]; /* that serves it; "": not routed */
    bool is_part;                       /* the range has more than `keys` */
    char gone_id[RN_RANGE_ID_MAX + 1];  /* GONE: the range that is */

    struct rn_client_call call;
    bool is_asking;        /* a request is under way */
    uint32_t wait_s;       /* that it asked the server to wait */
    bool was_applied;      /* the last answer says that the server would */
    uint32_t limit;        /* of the next page; 0: the server decides */
    uint32_t reduced_from; /* limit before it was halved; 0: it was not */
    uint32_t good_pages;   /* since */

    /* PAGE, and without a change NOTHING and MORE: the answer.  Its owner may
     * take it by setting NULL; the next request drops it. */
    struct rn_change_page *page;
    runnel_code code; /* FAILED */
    runnel_error error;
};

void rn_reader_init(struct rn_reader *r, const struct rn_reader_source *source,
                    const struct rn_epk_range *keys,
                    const struct rn_position *at);
/* Cancels what is under way. */
void rn_reader_release(struct rn_reader *r);

/* Finds the range that serves the interval.  False if several do: then each
 * needs a reader, at the same position. */
bool rn_reader_route(struct rn_reader *r, const struct rn_routing *map);

/* Sends a request; none is under way.  A page that was not taken is lost.
 * `wait_ms`: how long the server may hold it until there is a change, in whole
 * seconds; 0: not at all. */
void rn_reader_ask(struct rn_reader *r, struct rn_transport *t,
                   uint32_t wait_ms);
/* Has the request failed before it was sent?  The transport has nothing of it
 * to wait for; step returns the failure. */
static inline bool rn_reader_is_unsent(const struct rn_reader *r)
{
    return r->is_asking && (r->code || r->call.is_over);
}
/* `*next_ns`: when to call again, unless the transport had something first. */
enum rn_reader_event rn_reader_step(struct rn_reader *r, int64_t *next_ns);

/* Continues from another position: cancels the request, drops the page. */
void rn_reader_seek(struct rn_reader *r, const struct rn_position *to);

#endif
