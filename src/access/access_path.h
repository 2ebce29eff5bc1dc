/* access_path.h -- access paths: chooses how a query finds its documents, and
 * reads them in order.
 *
 * The equalities of WHERE decide how many documents are read:
 *
 *   id and partition key         each such document is looked up
 *   values that an index has     those are looked up in it
 *   partition key, or a prefix   the keys with that prefix
 *   nothing                      everything in the request's scope
 *
 * Whichever it is, documents come in one order, that of their keys or that of
 * their rids, so that a position in that order is valid for every path; and
 * WHERE is still evaluated for each.  Only if all documents are wanted and the
 * query does not depend on their order do they come in storage order.
 *
 * Two paths have orders of their own.  ORDER BY may follow an index that is in
 * its order, and MIN and MAX may read its two ends.  Both may find that too few
 * of the documents they read are wanted: then they give up, and the query must
 * be run again without them.
 *
 * Each kind of access path is a file with a table of operations (access_ops.h).
 */
#ifndef RN_ACCESS_PATH_H
#define RN_ACCESS_PATH_H

#include "access/places.h"
#include "engine/document/full_scan.h"
#include "engine/document/rid_scan.h"
#include "engine/index/index.h"
#include "query/query.h"
#include "query/where/where_intervals.h"

enum rn_access_kind {
    RN_ACCESS_SCAN,
    RN_ACCESS_KEYS,
    RN_ACCESS_POINTS,
    RN_ACCESS_INDEX,    /* the rows of an index between bounds */
    RN_ACCESS_ORDER,    /* in the order of an index */
    RN_ACCESS_EXTREMES, /* its first and its last documents */
    RN_ACCESS_KINDS,
};

/* The name that operators see. */
const char *rn_access_name(enum rn_access_kind kind);

/* The order of the documents, if the query depends on it and has no ORDER BY.
 */
enum rn_document_order {
    RN_ORDER_KEYS, /* of their keys */
    /* By rid, range by range, if they are few: at most RN_ACCESS_NATURAL_MAX in
     * a range, or in the part of it that the path selects.  Else by key. */
    RN_ORDER_BY_SIZE,
    RN_ORDER_RIDS, /* by rid, however many there are */
};
enum { RN_ACCESS_NATURAL_MAX = 10000 };

/* What the caller wants and allows. */
struct rn_access_ask {
    struct rn_documents_scan scope; /* the request's */
    enum rn_document_order order;   /* of the scope's `after`, too */
    const struct rn_query *query;   /* NULL: all documents are wanted */
    struct rn_view after; /* the row after which an ordered page begins */
    const struct rn_query_resume *resume; /* see struct rn_query_limits */
    bool no_index;                        /* ignore all indexes */
    bool no_order;                        /* no index for ORDER BY */
    /* Rows that passed WHERE so far (struct rn_query_stats), by which MIN and
     * MAX recognise an end of the index; NULL: they do not use one. */
    const uint64_t *matched;
};

/* For KEYS and POINTS: sorted, without duplicates. */
struct rn_access_keys {
    struct rn_access_key *list; /* key_predicates.h */
    uint32_t count, next;
};

/* For ORDER and EXTREMES: a scan along an index. */
struct rn_access_walk {
    struct rn_where_intervals spans; /* the intervals to scan */
    uint32_t span;                   /* the next of them */
    struct rn_index_walk rows;       /* if `is_open` */
    uint64_t budget; /* rows to read before it gives up; 0: no limit */
    bool is_open, is_backward;
    bool is_keyed; /* otherwise WHERE's keys would be scanned */
};

/* For ORDER. */
struct rn_access_order {
    char seek[RN_KEY_MAX]; /* the start of the page */
    size_t seek_len;
};

/* The common prefix of the sort keys of all wanted rows. */
struct rn_access_prefix {
    char bytes[RN_KEY_MAX];
    size_t len;
};

/* For EXTREMES. */
struct rn_access_extremes {
    struct rn_query_extreme what;
    struct rn_access_prefix prefix;
    const uint64_t *matched; /* see struct rn_access_ask */
    uint64_t matched_before; /* its value when last checked */
    uint64_t group;          /* of the rows at this end, if `has_end` */
    bool has_end;
};

/* For any kind in the order of rids. */
struct rn_access_natural {
    struct rn_access_segment *segments; /* natural.c */
    uint32_t count, at;
    uint64_t from;        /* the least wanted rid of segment `at` */
    uint64_t collected;   /* documents, so far */
    uint32_t end_segment; /* if `is_cut`, no place from there on is collected */
    uint64_t end;
    struct rn_epk_range begun;        /* what a page resumes, if `has_begun` */
    struct rn_creation_counts counts; /* of a scan along the rids */
    struct rn_rid_scan scan;          /* if `is_open` */
    struct rn_access_ask ask;
    struct rn_arena *arena;
    char position[RN_PLACE_MAX];
    bool has_begun, is_open;
    bool is_forced; /* no other order is allowed */
    bool is_cut;    /* there may be more after the last place */
};

struct rn_access_ops; /* access_ops.h */

struct rn_access {
    enum rn_access_kind kind;
    const struct rn_access_ops *ops;
    struct rn_snapshot *reading;
    struct rn_documents_scan scope; /* the request's */
    struct rn_view at; /* place or position of the last document returned */
    uint64_t examined; /* rows of indexes that were read */

    /* Indexes. */
    struct rn_indexes indexes;    /* all of the container */
    const struct rn_index *index; /* the one in use; NULL: none */
    uint64_t about;               /* estimated documents of the container */
    uint64_t text;                /* hash of the query's */
    uint64_t too_many; /* rows after which an index was rejected; 0: none */
    struct rn_documents_bounds bounds; /* of the scope */

    /* For the kinds. */
    struct rn_documents documents; /* of SCAN and KEYS */
    struct rn_full_scan whole;     /* of SCAN instead, if `is_whole` */
    struct rn_access_keys keys;
    struct rn_access_places places; /* of INDEX, and of a sorted `natural` */
    struct rn_access_walk walk;
    struct rn_access_order order;
    struct rn_access_extremes extremes;
    struct rn_access_natural natural;
    uint64_t group; /* of ORDER: see struct rn_query_limits */

    bool is_whole, has_given_up;
};

/* The query and the arena must outlive it.  RN_BAD_REQUEST if the scope's
 * `after` is not a place. */
enum rn_code rn_access_open(struct rn_access *a, struct rn_snapshot *r,
                            const struct rn_access_ask *ask,
                            struct rn_arena *arena) RN_CHECK;
/* RN_NOT_FOUND after the last. */
enum rn_code rn_access_next(struct rn_access *a, struct rn_view *body) RN_CHECK;
void rn_access_close(struct rn_access *a); /* zeroed is fine */

/* True if documents come in the order of their rids: then `at` is a position
 * (natural.h), not a place. */
bool rn_access_is_natural(const struct rn_access *a);

#endif
