/* page_diff.h -- which pages two states of the map do not share.
 *
 * A checkpoint's state T2 and the one before it, T1, are mostly the same pages:
 * what LMDB changes it copies, and while T1 is pinned it writes over none of
 * T1's.  So a page that T1 had a sum for is the same in T2, with all that hangs
 * on it, and need not be looked at.  The others are new.  What T1 had and T2
 * has not is in T2's free table, under transactions after T1.
 *
 * Both states must be pinned meanwhile.
 */
#ifndef RN_STORE_INTEGRITY_PAGE_DIFF_H
#define RN_STORE_INTEGRITY_PAGE_DIFF_H

#include "store/integrity/page_sums.h"
#include "store/lmdb/page.h"

struct rn_page_diff_opts {
    const char *base;                /* the mapping of the file */
    struct rn_page_sums *sums;       /* of T1 */
    uint64_t since;                  /* T1's transaction; 0: nothing */
    const struct rn_page_meta *meta; /* T2's */
    void (*pause)(void *context);    /* now and then; NULL: not */
    void *context;
};

/* Adds a struct rn_page_sums_change to `out` for each.  Touches the mapping and
 * the sums: a guard must be set, and `out` must be the caller's to release. */
enum rn_code rn_page_diff(const struct rn_page_diff_opts *opts,
                          struct rn_buf *out, struct rn_err *err) RN_CHECK;

#endif
