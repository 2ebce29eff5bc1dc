/* rid_scan.h -- iterates over documents in the order of their rids, which is
 * the order of their creation; counts of the documents created in each range.
 */
#ifndef RN_ENGINE_DOCUMENT_RID_SCAN_H
#define RN_ENGINE_DOCUMENT_RID_SCAN_H

#include "engine/document/snapshot.h"

/* How many documents were created in each range that the container has had, by
 * range id.  An interval of EPKs has at most the sum over the ranges it
 * overlaps, and about that many if none is deleted. */
struct rn_creation_count {
    uint32_t range;
    uint64_t documents;
    struct rn_epk_range epks;
};
struct rn_creation_counts {
    struct rn_creation_count *list; /* in the arena */
    uint32_t count;
};
enum rn_code rn_creation_counts_read(struct rn_creation_counts *b,
                                     struct rn_snapshot *r,
                                     struct rn_arena *arena) RN_CHECK;
uint64_t rn_creation_counts_sum(const struct rn_creation_counts *b,
                                const struct rn_epk_range *epks);

/* Iterates over the places of documents in the order of their rids: those of a
 * range come in the order in which they were created.  The documents themselves
 * are not read, and expired ones are included. */
struct rn_rid_scan {
    struct rn_snapshot *reading;
    const struct rn_creation_counts *counts;
    struct rn_epk_range epks;
    struct rn_documents_bounds bounds;
    struct rn_cursor *cursor;
    uint32_t next;        /* index of the next range in counts */
    uint64_t from;        /* the least wanted rid */
    uint64_t rid;         /* of the last document returned, */
    struct rn_view place; /* and its place */
};
/* `scan` selects the documents; its `after`, a place in key order, is empty. */
enum rn_code rn_rid_scan_open(struct rn_rid_scan *s, struct rn_snapshot *r,
                              const struct rn_creation_counts *counts,
                              const struct rn_documents_scan *scan,
                              uint64_t from) RN_CHECK;
enum rn_code rn_rid_scan_next(struct rn_rid_scan *s) RN_CHECK;
void rn_rid_scan_close(struct rn_rid_scan *s); /* zeroed is fine */
/* The rid of the document at a place; RN_NOT_FOUND if none exists. */
enum rn_code rn_document_rid_at(struct rn_snapshot *r, struct rn_view place,
                                uint64_t *rid) RN_CHECK;

#endif
