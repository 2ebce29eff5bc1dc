/* etag.h -- the version of a resource as text, and the conditions upon it.
 *
 * An etag is opaque to its holder and compared as text.  Two sorts are made:
 *
 *   of a resource   in the dress of a guid, from the place of its last write.
 *                   Always as long, so that it can be put into a document
 *                   rendered before its LSN was known:
 *
 *                   "SSLLLLLL-LLLL-LLLL-SSSR-RRRRSSSNNNNN"
 *
 *                   L 56 bits of the LSN, R 20 of the range, N 20 of the write
 *                   at that LSN; S 32 bits of the series that the LSN is of,
 *                   where the other numbers have nothing but zeros
 *
 *   of a feed page  "42", quoted and decimal: Java parses it as a number
 *
 * Conditions (If-Match, If-None-Match) may hold one etag, several separated by
 * commas, or * for whatever there is.  Quotes are optional, as clients lose
 * them, and W/ is ignored.
 *
 * Values only; any thread.
 */
#ifndef RN_COSMOS_ETAG_H
#define RN_COSMOS_ETAG_H

#include "base/mem.h"

enum {
    RN_ETAG_LEN = 38,          /* quotes included; there is no NUL */
    RN_ETAG_LSN_TEXT_MAX = 24, /* quotes, 20 digits, NUL */
};

/* Unique: no two writes of a container have the same place, and no two
 * containers the same series, not even in two stores, as far as chance goes.
 * Else the etag of a document in a container that was deleted would be one of
 * the container that takes its name, where LSNs begin at 1 again. */
struct rn_etag {
    uint64_t lsn;
    uint32_t range;
    uint32_t n;
    uint32_t series; /* 0: of the catalog, or of a container from before there
                        was a series */
};

void rn_etag_print(struct rn_etag etag, char out[RN_ETAG_LEN]);

/* Reads what print wrote, with or without the quotes.  False for any other
 * text, which then is nobody's etag. */
bool rn_etag_parse(struct rn_view text, struct rn_etag *out);

struct rn_view rn_etag_print_lsn(uint64_t lsn, char out[RN_ETAG_LSN_TEXT_MAX]);

/* Reads "42", 42 or W/"42". */
enum rn_code rn_etag_parse_lsn(struct rn_view text, uint64_t *out,
                               struct rn_err *err) RN_CHECK;

/* Takes the first etag off a condition, without its quotes; false at the end.
 * A * comes out as itself. */
bool rn_etag_next(struct rn_view *rest, struct rn_view *out);

/* Does a condition name this etag?  Whoever asks knows the resource exists. */
bool rn_etag_matches(struct rn_view condition, struct rn_view etag);

#endif
