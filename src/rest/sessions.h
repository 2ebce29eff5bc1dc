/* sessions.h -- consistency levels and session tokens (read your writes). */
#ifndef RN_REST_SESSIONS_H
#define RN_REST_SESSIONS_H

#include "rest/context.h"

/* Does the account offer the requested consistency level?  RN_BAD_REQUEST. */
enum rn_code rn_session_check_level(struct rn_context *x) RN_CHECK;
/* For a read of several documents: has this part of the container reached the
 * LSNs of the client's session token?  Adds the answer's own token, if the part
 * is in one range.  RN_NOT_FOUND (reason SESSION), RN_BAD_REQUEST. */
enum rn_code rn_session_check(struct rn_context *x, struct rn_snapshot *r,
                              const struct rn_epk_range *epks) RN_CHECK;
/* The same for one range; adds nothing. */
enum rn_code rn_session_check_range(struct rn_context *x, struct rn_snapshot *r,
                                    uint32_t range) RN_CHECK;
/* The session token of an LSN, in the format of this client's API version. */
struct rn_view rn_session_print_for(const struct rn_context *x, uint32_t range,
                                    uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX]);

#endif
