/* page.h -- one answer of the change feed, parsed.
 *
 * A page owns the answer and one arena with what was derived from it: the array
 * of changes, unescaped ids, partition keys.  The documents themselves are
 * views of the body.
 *
 * Reference-counted: the window of a lease, a batch in progress and a batch
 * that the program holds may share it.  It is immutable, so any thread may read
 * it.
 */
#ifndef RN_CLIENT_FEED_PAGE_H
#define RN_CLIENT_FEED_PAGE_H

#include "client/account/container.h"
#include "client/http/reply.h"

/* Counts the bytes of all pages added to it and not freed yet, including those
 * that the program holds.  Reference-counted, because such a page may outlive
 * its processor. */
struct rn_change_page_meter {
    atomic_uint refs;
    atomic_size_t bytes;
};

struct rn_change_page {
    atomic_uint refs;
    struct rn_change_page_meter *meter; /* NULL: it is not counted */
    runnel_reply *reply;                /* owns the body */
    struct rn_arena arena;
    runnel_change *changes;
    size_t count;
    const char *rid; /* of the container, as the page says it */
    size_t bytes;    /* its approximate memory */
};

struct rn_change_page_options {
    const struct rn_pkdef *key;
    runnel_feed_mode mode;
    int64_t since_s; /* drop changes of earlier seconds; INT64_MIN: none */
};

/* Takes the answer out of the exchange, which is a 200 of the change feed.
 * RUNNEL_PROTOCOL if it is not a page. */
runnel_code rn_change_page_take(struct rn_exchange *x,
                                const struct rn_change_page_options *options,
                                struct rn_change_page **out,
                                runnel_error *error) RUNNEL_CHECK;
/* The same of an answer without changes, a 304. */
runnel_code rn_change_page_take_empty(struct rn_exchange *x,
                                      struct rn_change_page **out,
                                      runnel_error *error) RUNNEL_CHECK;
struct rn_change_page *rn_change_page_ref(struct rn_change_page *p);
void rn_change_page_unref(struct rn_change_page *p); /* NULL is fine */

/* NULL without memory. */
struct rn_change_page_meter *rn_change_page_meter_new(void);
void rn_change_page_meter_unref(
    struct rn_change_page_meter *m); /* NULL is fine */
/* Counts a page, which no meter counts yet, until it is freed. */
void rn_change_page_meter_add(struct rn_change_page_meter *m,
                              struct rn_change_page *p);

#endif
