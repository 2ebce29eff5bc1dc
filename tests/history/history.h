/* history.h -- what clients did to a server and what it answered.
 *
 * A history is an array of entries, in memory and, byte for byte, in a file.
 * Each write puts a token into its document that no other write has, so that
 * whoever sees a version knows whose it is.  Times are of one machine's
 * monotonic clock.
 */
#ifndef RN_TEST_HISTORY_H
#define RN_TEST_HISTORY_H

#include <stddef.h>
#include <stdint.h>

enum history_op {
    HISTORY_READ,
    HISTORY_CREATE,
    HISTORY_UPSERT,
    HISTORY_REPLACE,
    HISTORY_DELETE,
    HISTORY_PAGE, /* of a change feed; its items follow, by the same client */
    HISTORY_ITEM,
};

#define HISTORY_NEVER UINT64_MAX /* t1 of what was never answered */

struct history_entry {
    uint64_t t0, t1;    /* ns: sent, answered */
    uint64_t point;     /* LSN of the range when it was decided */
    uint64_t token;     /* written or seen; 0: there is none */
    uint64_t version;   /* LSN of the version written or seen */
    uint64_t condition; /* LSN in the If-Match; 0: none */
    uint64_t from, to;  /* of a page: the continuation sent, and given */
    uint32_t client;
    uint32_t document, key; /* key: of its partition key */
    uint32_t range;
    uint16_t op, status; /* status 0: nobody knows */
    uint32_t n;          /* of the version under its LSN */
    uint32_t of_key;     /* 1: a page of the feed of `key`, not of `range` */
};

#endif
