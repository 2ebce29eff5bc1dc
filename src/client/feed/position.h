/* position.h -- a position in the change feed of one interval.
 *
 * After the first answer it is an etag, kept and sent exactly as the server
 * wrote it, quotes included; this library never makes one up, so a position is
 * exact on every server.  Before that it is the start option.
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_FEED_POSITION_H
#define RN_CLIENT_FEED_POSITION_H

#include "client/http/exchange.h"

enum rn_position_kind {
    RN_POSITION_BEGINNING,
    RN_POSITION_NOW,
    RN_POSITION_TIME, /* time_ms, inclusive */
    RN_POSITION_ETAG,
};

enum { RN_POSITION_MAX = 127 }; /* bytes of an etag */

struct rn_position {
    enum rn_position_kind kind;
    int64_t time_ms;
    char etag[RN_POSITION_MAX + 1];
};

/* The start that the options ask for; ignores their token.  `usual` is the
 * meaning of RUNNEL_START_DEFAULT.  RUNNEL_BAD_REQUEST if they contradict
 * themselves, or ask all versions to begin anywhere but now. */
runnel_code rn_position_start(const runnel_feed_options *options,
                              runnel_start usual, struct rn_position *out,
                              runnel_error *error) RUNNEL_CHECK;

/* The second that a time is in: changes of it and later ones are wanted. */
int64_t rn_position_second(const struct rn_position *p);

/* RUNNEL_PROTOCOL if the etag is empty or too long. */
runnel_code rn_position_set(struct rn_position *p, struct rn_view etag,
                            runnel_error *error) RUNNEL_CHECK;

/* Adds If-None-Match or If-Modified-Since.  A time is exclusive on the wire and
 * has whole seconds, so the header is the second before the one that time_ms is
 * in: the reader drops older changes. */
runnel_code rn_position_add(const struct rn_position *p, struct rn_headers *h,
                            runnel_error *error) RUNNEL_CHECK;

#endif
