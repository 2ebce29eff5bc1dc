/* session.h -- what a client has already seen, range by range.
 *
 * A session token travels in x-ms-session-token, both ways.  It has a part for
 * each partition range the client has touched:
 *
 *   <range>:<version>#<lsn>[#<region>=<lsn>]*     joined by commas
 *   0:-1#15    0:1#100#1=20#2=5    0:-1#15,1:-1#9
 *
 * We send only the first form, with version -1: clients of one range must
 * always see the same number of regions, and Java fails on anything shorter.
 * The service also sends regions, which the client library keeps and returns.
 * To clients from before 2018-06-18, for whom what follows the colon is a
 * number, we send <range>:<lsn>, and accept it of all.
 *
 * Values only: no allocation but in the caller's buffer.  Any thread.
 */
#ifndef RN_COSMOS_SESSION_H
#define RN_COSMOS_SESSION_H

#include "base/mem.h"

enum {
    RN_SESSION_REGIONS_MAX = 64,  /* the service has about as many in all */
    RN_SESSION_LSN_TEXT_MAX = 40, /* of <range>:-1#<lsn>, with the NUL */
};

struct rn_session_region {
    uint64_t id;
    int64_t lsn; /* -1 where the region has none */
};

/* One part: what was seen of one range. */
struct rn_session {
    uint32_t range;
    int64_t version; /* -1 until the service's first failover */
    uint64_t lsn;
    size_t region_count;
    struct rn_session_region regions[RN_SESSION_REGIONS_MAX];
};

/* Takes the first part off a token; call it until `rest` is empty.  Anything
 * but an exact match is RN_BAD_REQUEST. */
enum rn_code rn_session_next(struct rn_view *rest, struct rn_session *out,
                             struct rn_err *err) RN_CHECK;

/* A range and, in rising order, all that it comes from: none of those came
 * further than it began. */
struct rn_session_line {
    uint32_t range;
    size_t ancestor_count;
    const uint32_t *ancestors;
};

/* The LSN that the whole token demands of a range, by its own id or by that of
 * one that it comes from; 0 if it names none of them. */
enum rn_code rn_session_find(struct rn_view token,
                             const struct rn_session_line *line, uint64_t *lsn,
                             struct rn_err *err) RN_CHECK;

/* Has `have` seen all that `want` has, of the same range? */
bool rn_session_covers(const struct rn_session *have,
                       const struct rn_session *want);

/* Makes `into` cover both.  RN_BAD_REQUEST, and no change, if the two are of
 * one version but not of the same regions. */
enum rn_code rn_session_merge(struct rn_session *into,
                              const struct rn_session *from,
                              struct rn_err *err) RN_CHECK;

/* Appends the text of one part; the caller writes the commas. */
enum rn_code rn_session_print(const struct rn_session *s,
                              struct rn_buf *out) RN_CHECK;

/* The form the server sends, without a buffer; and that for old clients. */
struct rn_view rn_session_print_lsn(uint32_t range, uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);
struct rn_view rn_session_print_old(uint32_t range, uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);

#endif
