/* session.h -- session tokens: the LSN that a client has seen of each range.
 *
 * A session token is sent in x-ms-session-token, in both directions.  It has a
 * part for each partition range that the client has accessed:
 *
 *   <range>:<version>#<lsn>[#<region>=<lsn>]*     joined by commas
 *   0:-1#15    0:1#100#1=20#2=5    0:-1#15,1:-1#9
 *
 * We send only the first form, with version -1: clients require the same number
 * of regions in all tokens of a range, and Java fails on anything shorter.  The
 * service also sends regions, which the client library keeps and returns.  To
 * clients older than 2018-06-18, which expect a number after the colon, we send
 * <range>:<lsn>; we accept it from all clients.
 *
 * Values only: no allocation except in the caller's buffer.  Any thread.
 */
#ifndef RN_COSMOS_SESSION_H
#define RN_COSMOS_SESSION_H

#include "base/mem.h"

enum {
    RN_SESSION_REGIONS_MAX = 64,  /* about as many as the service has in all */
    RN_SESSION_LSN_TEXT_MAX = 40, /* of <range>:-1#<lsn>, with the NUL */
};

struct rn_session_region {
    uint64_t id;
    int64_t lsn; /* -1 where the region has none */
};

/* One part: the state of one range that was seen. */
struct rn_session {
    uint32_t range;
    int64_t version; /* -1 until the service's first failover */
    uint64_t lsn;
    size_t region_count;
    struct rn_session_region regions[RN_SESSION_REGIONS_MAX];
};

/* Takes the first part off a token; call it until `rest` is empty.  Parsing is
 * strict: RN_BAD_REQUEST. */
enum rn_code rn_session_next(struct rn_view *rest, struct rn_session *out,
                             struct rn_err *err) RN_CHECK;

/* A range and its ancestors, in rising order: no LSN of an ancestor exceeds the
 * range's first LSN. */
struct rn_session_line {
    uint32_t range;
    size_t ancestor_count;
    const uint32_t *ancestors;
};

/* The LSN that the whole token demands of a range, by its own id or by that of
 * an ancestor; 0 if it names none of them. */
enum rn_code rn_session_find(struct rn_view token,
                             const struct rn_session_line *line, uint64_t *lsn,
                             struct rn_err *err) RN_CHECK;

/* Whether `have` has seen everything that `want` has, of the same range. */
bool rn_session_covers(const struct rn_session *have,
                       const struct rn_session *want);

/* Makes `into` cover both.  RN_BAD_REQUEST, and no change, if the two have the
 * same version but different regions. */
enum rn_code rn_session_merge(struct rn_session *into,
                              const struct rn_session *from,
                              struct rn_err *err) RN_CHECK;

/* Appends the text of one part; the caller writes the commas. */
enum rn_code rn_session_print(const struct rn_session *s,
                              struct rn_buf *out) RN_CHECK;

/* The form the server sends, without a buffer; and the form for old clients. */
struct rn_view rn_session_print_lsn(uint32_t range, uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);
struct rn_view rn_session_print_old(uint32_t range, uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);

#endif
