/* page_diff.h -- the page diff between two checkpoints, for incremental page
 * checksums.
 *
 * A checkpoint's state T2 and the one before it, T1, share most pages: LMDB
 * copies the pages it changes, and while T1 is pinned it overwrites none of
 * T1's.  So a page that T1 had a checksum for is the same in T2, with its whole
 * subtree, and need not be read.  The others are new.  The pages that T1 had
 * and T2 has not are in T2's free table, under transactions after T1.
 *
 * Both states must be pinned meanwhile.
 */
#ifndef RN_STORE_INTEGRITY_PAGE_DIFF_H
#define RN_STORE_INTEGRITY_PAGE_DIFF_H

#include "store/integrity/page_checksums.h"
#include "store/lmdb/page.h"

struct rn_page_diff_opts {
    const char *base;                    /* the mapping of the file */
    struct rn_page_checksums *checksums; /* of T1 */
    uint64_t since;                      /* T1's transaction; 0: nothing */
    const struct rn_page_meta *meta;     /* T2's */
    void (*pause)(void *context);        /* called now and then; may be NULL */
    void *context;
};

/* Adds a struct rn_page_checksums_change to `out` for each page.  Touches the
 * mapping and the checksums: a guard must be set, and the caller releases
 * `out`. */
enum rn_code rn_page_diff(const struct rn_page_diff_opts *opts,
                          struct rn_buf *out, struct rn_err *err) RN_CHECK;

#endif
