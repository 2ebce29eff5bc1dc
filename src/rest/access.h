/* access.h -- the way to the documents that a query may want.
 *
 * What WHERE pins decides how many documents are looked at:
 *
 *   id and partition key         each such document is looked up
 *   partition key, or a prefix   the keys that begin so
 *   neither                      everything in the request's scope
 *
 * Whichever it is, documents come in the order of their keys, so that a place
 * among them is good for all three; and WHERE is still asked about each.  Only
 * where all are wanted and nobody can tell the order do they come as they lie.
 */
#ifndef RN_REST_ACCESS_H
#define RN_REST_ACCESS_H

#include "engine/whole.h"
#include "query/query.h"

enum rn_access_kind { RN_ACCESS_SCAN, RN_ACCESS_KEYS, RN_ACCESS_POINTS };

struct rn_access {
    enum rn_access_kind kind;
    struct rn_reading *reading;
    struct rn_documents_scan scope; /* the request's */
    struct rn_access_key *keys;     /* in order, each once; not for a scan */
    uint32_t count, next;
    struct rn_documents documents;
    bool is_open;
    struct rn_whole whole; /* instead, if `is_whole` */
    bool is_whole;
    struct rn_view at; /* the place of the document given last */
};

/* The query and the arena must outlive it.  RN_BAD_REQUEST if scope->after is
 * no place. */
enum rn_code rn_access_open(struct rn_access *a, struct rn_reading *r,
                            const struct rn_documents_scan *scope,
                            const struct rn_query *q,
                            struct rn_arena *arena) RN_CHECK;
/* RN_NOT_FOUND after the last. */
enum rn_code rn_access_next(struct rn_access *a, struct rn_view *body) RN_CHECK;
void rn_access_close(struct rn_access *a); /* zeroed is fine */

/* A partition key value of a query's making; `*is_key` if it can be one. */
struct rn_pk_value rn_access_key_of(const struct rn_value *v, bool *is_key);

#endif
