/* token.h -- the continuation of a whole feed, as one text.
 *
 *   rn1.BASE64URL of
 *   {"rid":"..","mode":"latest","scope":"-FF","since":1700000000,
 *    "start":"beginning","at":[["","1FFF",null],["1FFF","FF","\"42\""]]}
 *
 *   rid     of the container: a token of a deleted one is refused
 *   mode    latest or all
 *   scope   "MIN-MAX", or an array: the partition key
 *   since   the second of a start time; absent if the feed has none
 *   start   where a part without an etag begins: beginning, now or time
 *   time    milliseconds, if start is time
 *   at      the parts that tile the scope, each with its etag or null
 *
 * Its length grows with the number of ranges: about 120 bytes for each.
 * Programs that store it must treat it as opaque.
 */
#ifndef RN_CLIENT_FEED_TOKEN_H
#define RN_CLIENT_FEED_TOKEN_H

#include "client/feed/position.h"
#include "client/feed/scope.h"

struct rn_token_part {
    struct rn_epk_range keys;
    struct rn_position at;
};

struct rn_token {
    struct rn_arena arena; /* of everything that was parsed */
    const char *rid;
    runnel_feed_mode mode;
    const char *scope; /* as struct rn_scope has it */
    bool is_key;
    int64_t since_s;          /* INT64_MIN: none */
    struct rn_position start; /* of parts that have not begun */
    struct rn_token_part *parts;
    size_t count;
};

enum { RN_TOKEN_MAX = 16 << 20 };
#define RN_TOKEN_INIT                                                          \
    ((struct rn_token){ .arena = RN_ARENA_INIT((size_t)8 * RN_TOKEN_MAX) })

/* Is this a token, rather than an etag? */
bool rn_token_is(const char *text);

/* RUNNEL_BAD_REQUEST if it is not one that print made. */
runnel_code rn_token_parse(const char *text, struct rn_token *out,
                           runnel_error *error) RUNNEL_CHECK;
void rn_token_release(struct rn_token *t);

/* Replaces what is in `out`; a NUL stands behind its bytes. */
runnel_code rn_token_print(const struct rn_token *t, struct rn_buf *out,
                           runnel_error *error) RUNNEL_CHECK;

#endif
