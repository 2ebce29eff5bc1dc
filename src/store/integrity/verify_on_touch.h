/* verify_on_touch.h -- checks each page of the map before LMDB first sees it.
 *
 * LMDB reads its file through a mapping.  At open, the part of the mapping that
 * holds the checkpoint's state is made unreadable.  The first touch of any of
 * it faults; the handler (fault_guard.h) compares the pages around that place
 * with their sums (page_sums.h), makes them readable, and the read goes on as
 * if nothing had been.  If a sum is wrong, the call is left with RN_CORRUPT
 * instead.
 *
 *   - Whoever reads, lookup, scan, or LMDB itself when it merges pages or looks
 *     for free ones, reads nothing that was not checked.
 *   - A page that was touched costs nothing from then on.
 *   - Pages written since open are not checked: LMDB made them here, and the
 *     log will make them again.
 *
 * A page that goes bad after it was checked is not met here again until the
 * next open; a record's own sum still covers its value.
 *
 * Threads: check and the remedy from any, also in a signal handler: no locks,
 * no memory.
 */
#ifndef RN_STORE_INTEGRITY_VERIFY_ON_TOUCH_H
#define RN_STORE_INTEGRITY_VERIFY_ON_TOUCH_H

#include "store/integrity/fault_guard.h"
#include "store/integrity/page_sums.h"

struct rn_verify_on_touch {
    struct rn_fault_guard_remedy remedy; /* to enter guards with */
    struct rn_page_sums *sums;           /* borrowed */
    int fd;                              /* of the map's file */
    size_t page_bytes;
    uint64_t bytes; /* watched, from the start of the file */
    char *base;     /* of LMDB's mapping, once it began */
    size_t step;    /* bytes checked and opened at once */
    /* Where damage was last met: an offset in the map's file, or in that of the
     * sums; 0 in neither: not yet. */
    uint64_t damaged_at;   /* atomic */
    bool damaged_is_a_sum; /* atomic */
};

/* For the first `bytes` of the file at `path`.  The very first pages are
 * checked at once, RN_CORRUPT: the metas are among them, and LMDB reads those
 * at times when no guard is set.  One must be set here. */
enum rn_code rn_verify_on_touch_open(struct rn_verify_on_touch *w,
                                     const char *path,
                                     struct rn_page_sums *sums,
                                     size_t page_bytes, uint64_t bytes,
                                     struct rn_err *err) RN_CHECK;
void rn_verify_on_touch_close(
    struct rn_verify_on_touch *w); /* zeroed is fine */

/* True if page `number` is what was written, or is not watched.  A guard must
 * be set: the sums are mapped too. */
bool rn_verify_on_touch_check(struct rn_verify_on_touch *w, uint64_t number);

/* Words for the last damage: "damaged at offset 4096". */
enum rn_code rn_verify_on_touch_fail(const struct rn_verify_on_touch *w,
                                     const char *path, struct rn_err *err);

/* Begins: nothing that was not checked can be read from here on. */
enum rn_code rn_verify_on_touch_begin(struct rn_verify_on_touch *w, void *base,
                                      const char *path,
                                      struct rn_err *err) RN_CHECK;

#endif
