/* sessions.h -- the session tokens that a client has seen, by container and
 * partition key range.
 *
 * Reads that send them see the client's own writes.  Tokens of a container that
 * was created anew, as its new rid shows, are dropped.
 *
 * Threads: any.
 */
#ifndef RN_CLIENT_ACCOUNT_SESSIONS_H
#define RN_CLIENT_ACCOUNT_SESSIONS_H

#include "client/account/routing.h"
#include "cosmos/session.h"

struct rn_sessions;

runnel_code rn_sessions_new(struct rn_sessions **out,
                            runnel_error *error) RUNNEL_CHECK;
void rn_sessions_free(struct rn_sessions *s); /* NULL is fine */

/* Merges a token of an answer.  `container` is its path, "dbs/D/colls/C"; an
 * empty rid is not known.  A token that cannot be read is ignored. */
enum rn_code rn_sessions_note(struct rn_sessions *s, struct rn_view container,
                              struct rn_view rid, struct rn_view token);
void rn_sessions_drop(struct rn_sessions *s, struct rn_view container);

/* Appends what is sent: the parts of all ranges, or of `route` alone, which
 * inherits those of its parents.  Nothing if nothing was seen. */
enum rn_code rn_sessions_print(struct rn_sessions *s, struct rn_view container,
                               const struct rn_range_route *route,
                               struct rn_buf *out) RN_CHECK;

#endif
