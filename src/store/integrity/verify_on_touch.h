/* verify_on_touch.h -- verify-on-first-touch: compares each page of the map
 * with its checksum before LMDB first reads it (mprotect and SIGSEGV).
 *
 * LMDB reads its file through a mapping.  At open, the part of the mapping that
 * holds the checkpoint's state is made unreadable.  The first touch of any of
 * it faults; the handler (fault_guard.h) compares the pages around that place
 * with their checksums (page_checksums.h), makes them readable, and the read
 * continues.  If a checksum is wrong, the call is left with RN_CORRUPT instead.
 *
 *   - No lookup, no scan, nor LMDB itself when it merges pages or looks for
 *     free ones, reads a page that was not checked.
 *   - A page that was touched costs nothing from then on.
 *   - Pages written since open are not checked: LMDB made them here, and the
 *     WAL will make them again.
 *
 * Damage to a page after its check is not found here until the next open; a
 * record's own checksum still covers its value.
 *
 * Threads: check and the remedy from any, also in a signal handler: no locks,
 * no memory.
 */
#ifndef RN_STORE_INTEGRITY_VERIFY_ON_TOUCH_H
#define RN_STORE_INTEGRITY_VERIFY_ON_TOUCH_H

#include "store/integrity/fault_guard.h"
#include "store/integrity/page_checksums.h"

struct rn_verify_on_touch {
    struct rn_fault_guard_remedy remedy; /* to enter guards with */
    struct rn_page_checksums *checksums; /* borrowed */
    int fd;                              /* of the map's file */
    size_t page_bytes;
    uint64_t bytes; /* verified, from the start of the file */
    char *base;     /* of LMDB's mapping, once it began */
    size_t step;    /* bytes checked and made readable at once */
    /* Where damage was last found: an offset in the map's file, or in that of
     * the checksums; 0 in neither: not yet. */
    uint64_t damaged_at;      /* atomic */
    bool damaged_is_checksum; /* atomic */
};

/* For the first `bytes` of the file at `path`.  Checks the very first pages at
 * once, RN_CORRUPT: the meta pages are among them, and LMDB reads those when no
 * guard is set.  The caller must have set a guard. */
enum rn_code rn_verify_on_touch_open(struct rn_verify_on_touch *w,
                                     const char *path,
                                     struct rn_page_checksums *checksums,
                                     size_t page_bytes, uint64_t bytes,
                                     struct rn_err *err) RN_CHECK;
void rn_verify_on_touch_close(
    struct rn_verify_on_touch *w); /* zeroed is fine */

/* True if page `number` matches its checksum, or is not verified.  A guard must
 * be set: the checksums are mapped too. */
bool rn_verify_on_touch_check(struct rn_verify_on_touch *w, uint64_t number);

/* Describes the last damage: "damaged at offset 4096". */
enum rn_code rn_verify_on_touch_fail(const struct rn_verify_on_touch *w,
                                     const char *path, struct rn_err *err);

/* Begins: from here on no page can be read before it was checked. */
enum rn_code rn_verify_on_touch_begin(struct rn_verify_on_touch *w, void *base,
                                      const char *path,
                                      struct rn_err *err) RN_CHECK;

#endif
