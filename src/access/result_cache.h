/* result_cache.h -- what is left of answers that had to be computed in whole.
 *
 * ORDER BY, GROUP BY, DISTINCT and aggregates look at every document before the
 * first row leaves.  Lest each page do so again, the rows behind it wait here,
 * for a while and while there is room.  Nothing depends on it: a continuation
 * says where the page ended, so a lost answer is computed again from there.
 *
 * A row is kept with the place behind it (query/query.h).
 *
 * Threads: any; an answer that was taken belongs to the taker alone.
 */
#ifndef RN_ACCESS_RESULT_CACHE_H
#define RN_ACCESS_RESULT_CACHE_H

#include "query/query.h"

enum {
    RN_ANSWER_BYTES_MAX = 8 << 20, /* of one */
    RN_ANSWERS_BYTES_MAX = 64 << 20,
    RN_ANSWERS_MAX = 1024,
    RN_ANSWERS_MS = 60 * 1000, /* unused for so long, it goes */
};

struct rn_answer {
    uint64_t id;    /* random, so that nobody guesses another's */
    uint64_t check; /* of what was asked */
    uint64_t sent;  /* rows, over all pages */
    bool is_all;    /* nothing comes behind these rows */
    struct rn_buf rows;
    size_t at; /* of the next row */
    int64_t used_ms;
    struct rn_answer *next;
};

struct rn_answer *rn_answer_new(uint64_t id, uint64_t check) RN_CHECK;
void rn_answer_free(struct rn_answer *a); /* NULL is fine */

enum rn_code rn_answer_add(struct rn_answer *a, struct rn_view json,
                           const struct rn_query_place *place) RN_CHECK;
/* False after the last. */
bool rn_answer_next(struct rn_answer *a, struct rn_view *json,
                    struct rn_query_place *place);
bool rn_answer_is_empty(const struct rn_answer *a);

struct rn_answers *rn_answers_new(void) RN_CHECK;
void rn_answers_free(struct rn_answers *all); /* NULL is fine */

/* Takes it over. */
void rn_answers_put(struct rn_answers *all, struct rn_answer *a,
                    int64_t now_ms);
/* NULL if it is not there, or is not what was asked, or stands elsewhere. */
struct rn_answer *rn_answers_take(struct rn_answers *all, uint64_t id,
                                  uint64_t check, uint64_t sent,
                                  int64_t now_ms) RN_CHECK;

/* Memory for all that wait. */
size_t rn_answers_bytes(struct rn_answers *all);

#endif
