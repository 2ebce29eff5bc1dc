/* access_path.h -- the way to the documents that a query may want.
 *
 * What WHERE pins decides how many documents are looked at:
 *
 *   id and partition key         each such document is looked up
 *   values that an index has     those are looked up in it
 *   partition key, or a prefix   the keys that begin so
 *   nothing                      everything in the request's scope
 *
 * Whichever it is, documents come in one order, that of their keys or that of
 * their rids, so that a position among them is good for all; and WHERE is still
 * asked about each.  Only where all are wanted and nobody can tell the order do
 * they come as they lie.
 *
 * Two ways lead elsewhere.  ORDER BY may follow an index that is in its order,
 * and MIN and MAX may look at its two ends.  Both may find on their way that
 * too little of what they meet is wanted: then they give up, and the query is
 * to be run again without them.
 *
 * Each kind of access path is a file with a table of operations (own.h).
 */
#ifndef RN_ACCESS_PATH_H
#define RN_ACCESS_PATH_H

#include "engine/document/full_scan.h"
#include "engine/index/index.h"
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

/* In which order documents come, if the query can tell and has no order of its
 * own. */
enum rn_document_order {
    RN_ORDER_KEYS, /* of their keys */
    /* Of their rids, range by range, if they are few: RN_ACCESS_NATURAL_MAX of
     * a range, or of what the path leaves of it.  Else of their keys. */
    RN_ORDER_BY_SIZE,
    RN_ORDER_RIDS, /* of their rids, however many there are */
};
enum { RN_ACCESS_NATURAL_MAX = 10000 };

/* What the caller lets it do. */
struct rn_access_ask {
    struct rn_documents_scan scope; /* the request's */
    enum rn_document_order order;   /* its `after` is a position of that */
    const struct rn_query *query;   /* NULL: all documents are wanted */
    struct rn_view after; /* the row that an ordered page begins behind */
    const struct rn_query_resume *resume; /* see struct rn_query_limits */
    bool no_index;                        /* as if there were none */
    bool no_order;                        /* nor one that ORDER BY may follow */
    /* Rows that WHERE has let through so far (struct rn_query_stats), by which
     * MIN and MAX know the end of an index; NULL: they do not use one. */
    const uint64_t *matched;
};

/* Of KEYS and POINTS: in order, each once. */
struct rn_access_keys {
    struct rn_access_key *list;
    uint32_t count, next;
};

/* Where documents lie, in the order in which they come. */
struct rn_access_places {
    struct rn_buf list;   /* of struct rn_access_place, own.h */
    struct rn_arena held; /* their bytes */
    size_t next;
};

/* Of ORDER and EXTREMES: a walk along an index. */
struct rn_access_walk {
    struct rn_query_spans spans; /* where to walk */
    uint32_t span;               /* the next of them */
    struct rn_index_walk rows;   /* if `is_open` */
    uint64_t budget; /* rows to look at before it gives up; 0: no end */
    bool is_open, is_backward;
    bool is_keyed; /* else WHERE's keys would be scanned */
};

/* Of ORDER. */
struct rn_access_order {
    char seek[RN_KEY_MAX]; /* where a page begins */
    size_t seek_len;
};

/* Sort keys that all rows of interest begin with. */
struct rn_access_prefix {
    char bytes[RN_KEY_MAX];
    size_t len;
};

/* Of EXTREMES. */
struct rn_access_extremes {
    struct rn_query_extreme what;
    struct rn_access_prefix prefix;
    const uint64_t *matched; /* see struct rn_access_ask */
    uint64_t matched_before; /* the document given last */
    uint64_t group;          /* of this end, if `has_end` */
    bool has_end;
};

/* Of any kind in the order of rids. */
struct rn_access_natural {
    struct rn_access_segment *segments; /* natural.c */
    uint32_t count, at;
    uint64_t from;        /* the least rid of segment `at` that is wanted */
    uint64_t collected;   /* documents, so far */
    uint32_t end_segment; /* no place from there on is collected, if `is_cut` */
    uint64_t end;
    struct rn_epk_range begun; /* what a page goes on with, if `has_begun` */
    struct rn_births births;   /* of a scan along the rids */
    struct rn_rid_scan scan;   /* if `is_open` */
    struct rn_access_ask ask;
    struct rn_arena *arena;
    char position[RN_PLACE_MAX];
    bool has_begun, is_open;
    bool is_forced; /* there is no other order */
    bool is_cut;    /* behind the last place there may be more */
};

struct rn_access_ops; /* own.h */

struct rn_access {
    enum rn_access_kind kind;
    const struct rn_access_ops *ops;
    struct rn_snapshot *reading;
    struct rn_documents_scan scope; /* the request's */
    struct rn_view at; /* the place, or position, of the document given last */
    uint64_t examined; /* rows of indexes that were looked at */

    /* What indexes there are. */
    struct rn_indexes indexes;    /* all that the container has */
    const struct rn_index *index; /* the one that is used; NULL: none */
    uint64_t about;               /* documents of the container */
    uint64_t text;                /* hash of the query's */
    uint64_t too_many; /* rows after which an index was left alone; 0: none */
    struct rn_documents_bounds bounds; /* of the scope */

    /* Of the kinds. */
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
 * `after` is no place. */
enum rn_code rn_access_open(struct rn_access *a, struct rn_snapshot *r,
                            const struct rn_access_ask *ask,
                            struct rn_arena *arena) RN_CHECK;
/* RN_NOT_FOUND after the last. */
enum rn_code rn_access_next(struct rn_access *a, struct rn_view *body) RN_CHECK;
void rn_access_close(struct rn_access *a); /* zeroed is fine */

/* True if documents come in the order of their rids: then `at` is no place but
 * a position (natural.c). */
bool rn_access_is_natural(const struct rn_access *a);
/* A position: an interval of which all documents up to a rid were given.  False
 * if the bytes are none. */
size_t rn_access_position_put(const struct rn_epk_range *epks, uint64_t rid,
                              char out[RN_PLACE_MAX]);
bool rn_access_position_get(struct rn_view in, struct rn_epk_range *epks,
                            uint64_t *rid);

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
