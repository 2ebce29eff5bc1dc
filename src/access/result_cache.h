/* result_cache.h -- a cache of computed query results that clients read page by
 * page.
 *
 * ORDER BY, GROUP BY, DISTINCT and aggregates read every document before the
 * first row is sent.  So that not every page has to repeat that, the remaining
 * rows are kept here, for a limited time and within limited memory.  Nothing
 * depends on it: a continuation says where the page ended, so a lost result is
 * computed again from there.
 *
 * A row is kept with the place after it (query/query.h).
 *
 * Threads: any; a result that was taken belongs to its taker alone.
 */
#ifndef RN_ACCESS_RESULT_CACHE_H
#define RN_ACCESS_RESULT_CACHE_H

#include "query/query.h"

enum {
    RN_CACHED_RESULT_BYTES_MAX = 8 << 20, /* of one result */
    RN_RESULT_CACHE_BYTES_MAX = 64 << 20,
    RN_RESULT_CACHE_COUNT_MAX = 1024,
    RN_RESULT_CACHE_MS = 60 * 1000, /* evicted when unused for so long */
};

struct rn_cached_result {
    uint64_t id;    /* random, so that it cannot be guessed */
    uint64_t check; /* hash of the request */
    uint64_t sent;  /* rows, over all pages */
    bool is_all;    /* these rows are the last */
    struct rn_buf rows;
    size_t at; /* offset of the next row */
    int64_t used_ms;
    struct rn_cached_result *next;
};

struct rn_cached_result *rn_cached_result_new(uint64_t id,
                                              uint64_t check) RN_CHECK;
void rn_cached_result_free(struct rn_cached_result *a); /* NULL is fine */

enum rn_code rn_cached_result_add(struct rn_cached_result *a,
                                  struct rn_view json,
                                  const struct rn_query_place *place) RN_CHECK;
/* False after the last. */
bool rn_cached_result_next(struct rn_cached_result *a, struct rn_view *json,
                           struct rn_query_place *place);
bool rn_cached_result_is_empty(const struct rn_cached_result *a);

struct rn_result_cache *rn_result_cache_new(void) RN_CHECK;
void rn_result_cache_free(struct rn_result_cache *all); /* NULL is fine */

/* Takes ownership. */
void rn_result_cache_put(struct rn_result_cache *all,
                         struct rn_cached_result *a, int64_t now_ms);
/* NULL if it is not cached, belongs to another request, or is at another row.
 */
struct rn_cached_result *rn_result_cache_take(struct rn_result_cache *all,
                                              uint64_t id, uint64_t check,
                                              uint64_t sent,
                                              int64_t now_ms) RN_CHECK;

/* Memory of all cached results. */
size_t rn_result_cache_bytes(struct rn_result_cache *all);

#endif
