/* sessions.h -- what a reader may rely on: its consistency level, and what it
 * has already seen. */
#ifndef RN_REST_SESSIONS_H
#define RN_REST_SESSIONS_H

#include "rest/context.h"

/* Does the account promise the consistency that is asked for?
 * RN_BAD_REQUEST. */
enum rn_code rn_session_check_level(struct rn_context *x) RN_CHECK;
/* Of a read of several documents: is there all that the client's session token
 * has seen in this part of the container?  Adds the answer's own token, if it
 * is of one range.  RN_NOT_FOUND (reason SESSION), RN_BAD_REQUEST. */
enum rn_code rn_session_check(struct rn_context *x, struct rn_snapshot *r,
                              const struct rn_epk_range *epks) RN_CHECK;
/* The same of one range, and nothing is added. */
enum rn_code rn_session_check_range(struct rn_context *x, struct rn_snapshot *r,
                                    uint32_t range) RN_CHECK;
/* The token of a place, as this client reads it. */
struct rn_view rn_session_print_for(const struct rn_context *x, uint32_t range,
                                    uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);

#endif
