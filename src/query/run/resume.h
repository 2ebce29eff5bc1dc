/* resume.h -- the resume filter: the row of a sorted query from which a client
 * that merges several ranges continues. */
#ifndef RN_QUERY_RUN_RESUME_H
#define RN_QUERY_RUN_RESUME_H

#include "query/query.h"

/* The position from which a client resumes an ordered query.  No row before
 * these keys is returned.  Of the rows with exactly these keys, it returns
 *
 *   is_exclusive   none, or with a rid only those after that document
 *   else           all, or with a rid those from that document on
 *
 * "Before" is in the order of the query; documents with equal keys are in the
 * order of their rids (sorter.c). */
struct rn_query_resume {
    const struct rn_value *keys; /* one per key of ORDER BY */
    uint64_t rid;
    bool has_rid, is_exclusive;
};

/* Reads the `resumeFilter` of a request into the arena; it borrows the tape.
 * RN_BAD_REQUEST says what is wrong with it. */
enum rn_code rn_query_resume_read(const struct rn_query *q,
                                  const struct rn_json *j, uint32_t node,
                                  struct rn_arena *a,
                                  struct rn_query_resume *out,
                                  struct rn_err *err) RN_CHECK;

#endif
