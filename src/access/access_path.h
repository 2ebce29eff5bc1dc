/* access_path.h -- the way to the documents that a query may want.
 *
 * What WHERE pins decides how many documents are looked at:
 *
 *   id and partition key         each such document is looked up
 *   values that an index has     those are looked up in it (index_scan.c)
 *   partition key, or a prefix   the keys that begin so
 *   nothing                      everything in the request's scope
 *
 * Whichever it is, documents come in the order of their keys, so that a place
 * among them is good for all; and WHERE is still asked about each.  Only where
 * all are wanted and nobody can tell the order do they come as they lie.
 *
 * Two ways lead elsewhere.  ORDER BY may follow an index that is in its order,
 * and MIN and MAX may look at its two ends.  Both may find on their way that
 * too little of what they meet is wanted: then they give up, and the query is
 * to be run again without them.
 */
#ifndef RN_ACCESS_PATH_H
#define RN_ACCESS_PATH_H

#include "engine/index.h"
#include "engine/whole.h"
#include "query/query.h"

enum rn_access_kind {
    RN_ACCESS_SCAN,
    RN_ACCESS_KEYS,
    RN_ACCESS_POINTS,
    RN_ACCESS_INDEX,    /* what an index has between some bounds */
    RN_ACCESS_ORDER,    /* in the order of an index */
    RN_ACCESS_EXTREMES, /* its first and its last documents */
    RN_ACCESS_KINDS,
};

/* As operators are told. */
const char *rn_access_name(enum rn_access_kind kind);

/* What the caller lets it do. */
struct rn_access_ask {
    struct rn_documents_scan scope; /* the request's */
    const struct rn_query *query;
    struct rn_view after; /* the row that an ordered page begins behind */
    bool no_index;        /* as if there were none */
    bool no_order;        /* nor one that ORDER BY may follow */
    /* Rows that WHERE has let through so far (struct rn_query_stats), by which
     * MIN and MAX know the end of an index; NULL: they do not use one. */
    const uint64_t *matched;
};

struct rn_access_place; /* index_fetch.c */

/* Sort keys that all rows of interest begin with. */
struct rn_access_prefix {
    char bytes[RN_KEY_MAX];
    size_t len;
};

struct rn_access {
    enum rn_access_kind kind;
    struct rn_reading *reading;
    struct rn_documents_scan scope; /* the request's */
    struct rn_access_key *keys;     /* in order, each once; not for a scan */
    uint32_t count, next;
    struct rn_documents documents; /* if `is_open` */
    struct rn_whole whole;         /* instead, if `is_whole` */
    struct rn_view at;             /* the place of the document given last */

    /* Of an index; index_scan.c. */
    struct rn_indexes indexes;    /* all that the container has */
    const struct rn_index *index; /* the one that is used; NULL: none */
    uint64_t about;               /* documents of the container */
    uint64_t examined;            /* rows of indexes that were looked at */
    uint64_t text;                /* hash of the query's */
    uint64_t too_many; /* rows after which an index was left alone; 0: none */
    struct rn_documents_bounds bounds;
    struct rn_buf places; /* of struct rn_access_place, in order */
    struct rn_arena held; /* their bytes */
    size_t next_place;
    struct rn_query_spans spans; /* where to walk, of ORDER and EXTREMES */
    uint32_t span;               /* the next of them */
    char seek[RN_KEY_MAX];       /* where a page of ORDER begins */
    size_t seek_len;
    struct rn_index_walk walk; /* if `is_walking` */
    uint64_t group;            /* see struct rn_query_limits */
    struct rn_query_extreme extreme;
    struct rn_access_prefix prefix; /* of EXTREMES */
    const uint64_t *matched;        /* see struct rn_access_ask */
    uint64_t matched_before;        /* the document given last */
    uint64_t end_group;             /* of this end, if `has_end` */
    uint64_t budget; /* rows to look at before it gives up; 0: no end */

    bool is_open, is_whole, is_walking, is_backward, has_given_up, has_end;
};

/* The query and the arena must outlive it.  RN_BAD_REQUEST if the scope's
 * `after` is no place. */
enum rn_code rn_access_open(struct rn_access *a, struct rn_reading *r,
                            const struct rn_access_ask *ask,
                            struct rn_arena *arena) RN_CHECK;
/* RN_NOT_FOUND after the last. */
enum rn_code rn_access_next(struct rn_access *a, struct rn_view *body) RN_CHECK;
void rn_access_close(struct rn_access *a); /* zeroed is fine */

/* index_scan.c: chooses an index, if one is worth it, and goes along it. */
enum rn_code rn_indexed_open(struct rn_access *a,
                             const struct rn_access_ask *ask,
                             struct rn_arena *arena) RN_CHECK;
enum rn_code rn_indexed_next(struct rn_access *a,
                             struct rn_view *body) RN_CHECK;
void rn_indexed_close(struct rn_access *a);
/* The keys of ORDER BY as an index would have them, whose first ascends; none
 * if no index can. */
enum rn_code rn_indexed_order(const struct rn_query *q, struct rn_arena *arena,
                              struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                              uint32_t *count, bool *is_backward) RN_CHECK;

/* index_fetch.c: documents between the bounds of WHERE, if an index has few
 * enough of them; if not, the access has no index then.  `has_order`: another
 * way is open along one. */
enum rn_code rn_gathered_open(struct rn_access *a,
                              const struct rn_access_ask *ask, bool has_order,
                              struct rn_arena *arena) RN_CHECK;
enum rn_code rn_gathered_next(struct rn_access *a,
                              struct rn_view *body) RN_CHECK;

/* index_advisor.c: which index would have saved documents that were read, so
 * that it is made one day. */
struct rn_missed {
    const struct rn_access *access;
    const struct rn_query *query;
    const struct rn_policy *policy;
    const struct rn_query_stats *stats;
};
/* None if `count` is 0 then. */
enum rn_code rn_missed_find(const struct rn_missed *m, struct rn_arena *arena,
                            struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                            uint32_t *count) RN_CHECK;
/* Tells the engine, and which one was used. */
void rn_missed_note(const struct rn_missed *m, const struct rn_object *o,
                    struct rn_arena *arena);

/* A partition key value of a query's making; `*is_key` if it can be one. */
struct rn_pk_value rn_access_key_of(const struct rn_value *v, bool *is_key);

#endif
