/* http_feed.h -- feeds bytes to an HTTP reader in pieces and writes down all
 * that comes out, so that two ways of cutting can be compared.
 */
#ifndef RN_TEST_HTTP_FEED_H
#define RN_TEST_HTTP_FEED_H

#include "http/parse.h"

/* How the bytes are cut.  All zero: not at all. */
struct feed_cut {
    size_t first;  /* a first piece of that length, then the rest */
    size_t every;  /* pieces of that length */
    uint64_t seed; /* pieces of random lengths, mostly short */
    /* Each piece is put into memory that ends with it and was never there
     * before: reading past the end, or what has moved away, is then seen. */
    bool is_exact;
};

enum feed_end { FEED_OPEN, FEED_CLOSE, FEED_WAIT };

/* A request that was understood, or the refusal. */
struct feed_event {
    int status; /* 0: understood */
    size_t body_bytes;
};

struct feed_result {
    struct rn_buf text;   /* everything, for comparing */
    struct rn_buf events; /* array of struct feed_event */
    enum feed_end end;
};

void feed_result_init(struct feed_result *out);
void feed_result_release(struct feed_result *out);

void feed(struct rn_view bytes, const struct rn_http_limits *limits,
          struct feed_cut cut, struct feed_result *out);

#endif
