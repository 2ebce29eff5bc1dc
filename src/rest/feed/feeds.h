/* feeds.h -- reads the change feed of a container by the page, with long
 * polling. */
#ifndef RN_REST_FEED_FEEDS_H
#define RN_REST_FEED_FEEDS_H

#include "rest/context.h"

rn_handler_fn rn_rest_feed_read, rn_rest_feed_query;

#endif
