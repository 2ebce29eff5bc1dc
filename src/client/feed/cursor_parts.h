/* cursor_parts.h -- the state of a cursor, and its parts: made from a token or
 * a scope, replaced after splits and merges, printed as a token. */
#ifndef RN_CLIENT_FEED_CURSOR_PARTS_H
#define RN_CLIENT_FEED_CURSOR_PARTS_H

#include "client/feed/cursor.h"
#include "client/feed/reader.h"
#include "client/feed/token.h"

struct rn_part {
    struct rn_reader reader;
    struct rn_position delivered; /* everything up to here was returned */
    bool is_ready;                /* reader.page is to be returned */
    bool is_drained;              /* nothing was left since the last change */
    uint64_t asked_by;            /* the call of next that sent the request */
    int64_t due_ns;               /* no request before */
    int64_t held_until_ns;        /* the server may hold the request so long */
    uint32_t failed_routes; /* 410 in a row that the map did not explain */
};

struct rn_feed_cursor {
    struct rn_client_container *container;
    struct rn_cancel cancel;
    struct rn_transport *transport;

    /* Options: strings are in the arena. */
    struct rn_arena arena;
    runnel_feed_options options;
    struct rn_position start;

    /* Since the first next. */
    bool is_prepared;
    bool is_replaced; /* the container was deleted and created anew */
    struct rn_definition *definition;
    struct rn_routing *map;
    bool is_map_stale;
    struct rn_scope scope;
    struct rn_reader_source source;
    struct rn_part **parts; /* in the order of their keys */
    size_t count, room;
    uint64_t calls;                 /* of next */
    size_t turn;                    /* whose page is looked at first */
    bool cannot_wait;               /* the server ignores Prefer: wait */
    struct rn_change_page *nothing; /* the last answer without changes */
    struct rn_part *nothing_part;
    struct rn_buf token;
};

/* Parts as the token or the scope has them. */
runnel_code rn_feed_cursor_prepare(struct rn_feed_cursor *c,
                                   runnel_error *error);
/* Finds the range of a part that has none, and divides it if there are several.
 * May read the routing map. */
runnel_code rn_feed_cursor_route(struct rn_feed_cursor *c, size_t i,
                                 runnel_error *error);
/* The token of what was delivered. */
runnel_code rn_feed_cursor_print(const struct rn_feed_cursor *c,
                                 struct rn_buf *out, runnel_error *error);
/* Compares the rid of a page, or "", with that of the container as it was.
 * RUNNEL_NOT_FOUND, for good, if it was deleted and created anew. */
runnel_code rn_feed_cursor_check_rid(struct rn_feed_cursor *c, const char *rid,
                                     runnel_error *error);
/* Frees all parts. */
void rn_feed_cursor_drop(struct rn_feed_cursor *c);

#endif
