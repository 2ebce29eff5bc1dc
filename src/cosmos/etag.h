/* etag.h -- etags: the version of a resource, and If-Match conditions.
 *
 * An etag is opaque to clients and compared as text.  There are two kinds:
 *
 *   of a resource   formatted as a GUID, made from the LSN of its last write.
 *                   Its length is constant, so that it can be put into a
 *                   document rendered before its LSN was known:
 *
 *                   "SSLLLLLL-LLLL-LLLL-SSSR-RRRRSSSNNNNN"
 *
 *                   L 56 bits of the LSN, R 20 of the range, N 20 of the write
 *                   at that LSN; S 32 bits of the series of the LSN, in the
 *                   bits that the other numbers leave zero
 *
 *   of a feed page  "42", quoted and decimal: Java parses it as a number
 *
 * Conditions (If-Match, If-None-Match) may hold one etag, several separated by
 * commas, or * for any version.  Quotes are optional, since some clients drop
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

/* Unique: no two writes of a container have the same LSN and number, and no two
 * containers the same series, not even in two stores, except by coincidence.
 * Otherwise the etag of a document in a deleted container could match in a new
 * container of the same name, where LSNs start at 1 again. */
struct rn_etag {
    uint64_t lsn;
    uint32_t range;
    uint32_t n;
    uint32_t series; /* 0: the catalog, or a container without one */
};

void rn_etag_print(struct rn_etag etag, char out[RN_ETAG_LEN]);

/* Parses the output of print, with or without the quotes.  False for any other
 * text, which matches no resource. */
bool rn_etag_parse(struct rn_view text, struct rn_etag *out);

struct rn_view rn_etag_print_lsn(uint64_t lsn, char out[RN_ETAG_LSN_TEXT_MAX]);

/* Reads "42", 42 or W/"42". */
enum rn_code rn_etag_parse_lsn(struct rn_view text, uint64_t *out,
                               struct rn_err *err) RN_CHECK;

/* Takes the first etag off a condition, without its quotes; false at the end.
 * A * is returned as itself. */
bool rn_etag_next(struct rn_view *rest, struct rn_view *out);

/* Whether a condition names this etag.  The caller knows that the resource
 * exists. */
bool rn_etag_matches(struct rn_view condition, struct rn_view etag);

#endif
