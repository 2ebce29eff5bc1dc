/* history.h -- what clients did to a server and what it answered.
 *
 * A history is an array of entries, in memory and, byte for byte, in a file.
 * Each write puts a token into its document that no other write has, so that
 * a version that is read names the write it came from.  Times are of one
 * machine's monotonic clock.
 *
 * Keys are numbered in the order of their EPKs, so that a range, an interval, a
 * key and a whole container are all an interval of keys.
 */
#ifndef RN_TEST_HISTORY_H
#define RN_TEST_HISTORY_H

#include <stddef.h>
#include <stdint.h>

enum history_op {
    HISTORY_READ,
    HISTORY_QUERY, /* of one document, by its id; one entry for each asked for,
                      404 if it is not among the rows */
    HISTORY_CREATE,
    HISTORY_UPSERT,
    HISTORY_REPLACE,
    HISTORY_PATCH, /* writes its token, and counts one more */
    HISTORY_DELETE,
    HISTORY_PAGE, /* of a change feed; its items follow, by the same client */
    HISTORY_ITEM,
    HISTORY_RESTORE, /* of a range: what it had above `from` is gone, and what
                        comes is above `to`.  t0 and t1: of the backup */
    HISTORY_START,   /* of the server, at t0: what was sent before it has
                        happened by then, or never will */
};

#define HISTORY_NEVER UINT64_MAX /* t1 of what was never answered */

struct history_entry {
    uint64_t t0, t1;    /* ns: sent, answered */
    uint64_t point;     /* LSN of the range when it was decided */
    uint64_t token;     /* written or seen; 0: there is none */
    uint64_t version;   /* LSN of the version written or seen */
    uint64_t condition; /* LSN in the If-Match; 0: none */
    union {
        uint64_t from;   /* of a page: the continuation sent */
        uint64_t demand; /* of a read or write: its session token's LSN */
        uint64_t low;    /* the checker's, of a lost write: it is above */
    };
    union {
        uint64_t to;   /* of a page: the continuation given */
        uint64_t high; /* the checker's, of a lost write: it is not above */
    };
    uint32_t client;
    uint32_t document, key; /* key: of its partition key */
    uint32_t range;
    uint16_t op, status; /* status 0: nobody knows; t1, if it is not never:
                            from then on it is known not to be there */
    uint32_t n;          /* of the version under its LSN */
    uint32_t keys;       /* of a page, of a restore: so many keys from `key` */
    union {
        uint32_t max;   /* of a page: how many were asked for */
        uint32_t count; /* of a version: patches since it was put as a whole */
    };
    uint32_t flags;
    uint32_t seen; /* the checker's: the page it was last seen in */
    uint64_t gone; /* the checker's: from this LSN on it is undone */
};

enum history_flags {
    HISTORY_STARTS = 1,  /* a page: the reader chose its place: now, or anew */
    HISTORY_AGAIN = 2,   /* a page: it may be given again what it had */
    HISTORY_WAITS = 4,   /* a page: it would wait for a change */
    HISTORY_SESSION = 8, /* sent with the session token of all its answers */
    HISTORY_AHEAD = 16,  /* sent with a token of what has not been yet */
    HISTORY_BEHIND = 32, /* refused as behind its session token */
    HISTORY_TOGETHER = 64, /* a transaction: those of a client and a time */
    HISTORY_LOST = 128,    /* the checker's: a write that was not answered */
};

#endif
