/* query_vectors.h -- the recorded queries in tests/vectors, for tests that
 * run them.
 */
#ifndef RN_TEST_QUERY_VECTORS_H
#define RN_TEST_QUERY_VECTORS_H

#include "query/query.h"

struct vectors {
    struct rn_buf cases_text, sets_text;
    struct rn_json cases, sets;
};

void vectors_open(struct vectors *v);
/* Another file of cases in the place of the recorded ones. */
void vectors_take(struct vectors *v, const char *path);
void vectors_close(struct vectors *v);

/* The text of a member, or an empty view; lives in the arena. */
struct rn_view vector_text(const struct rn_json *j, uint32_t at,
                           const char *name, struct rn_arena *a);
bool vector_has(const struct rn_json *j, uint32_t at, const char *name);

/* A source over an array of documents. */
struct vector_source {
    struct rn_json_walk walk;
    struct rn_buf text;
};

enum rn_code vector_source_next(void *context, struct rn_view *document,
                                struct rn_err *err);

/* A sink that makes one JSON array of the rows. */
struct vector_sink {
    struct rn_buf rows;
    uint32_t count, page; /* page 0: all in one */
    char bytes[RN_QUERY_AFTER_MAX];
    struct rn_view after; /* the place behind the last row */
};

enum rn_code vector_sink_row(void *context, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full,
                             struct rn_err *err);

/* By how much of themselves doubles may differ. */
extern double vector_tolerance;

/* Like equality, but doubles may differ by that much, and lists may be
 * in any order down to `unordered` levels. */
bool vector_alike(const struct rn_value *a, const struct rn_value *b,
                  int unordered, struct rn_arena *arena);

/* Both texts without blanks are the same. */
bool vector_same_text(struct rn_view a, struct rn_view b);

#endif
