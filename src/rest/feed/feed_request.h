/* feed_request.h -- the request headers of a change feed read, parsed. */
#ifndef RN_REST_FEED_FEED_REQUEST_H
#define RN_REST_FEED_FEED_REQUEST_H

#include "rest/feed/feed_page.h"

/* Reads all headers, including how long to wait. */
enum rn_code rn_feed_page_ask(struct rn_feed_page *f) RN_CHECK;
/* Only sets up the pieces, from the ranges in the catalog now. */
enum rn_code rn_feed_page_scope(struct rn_feed_page *f) RN_CHECK;

#endif
