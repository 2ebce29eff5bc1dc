/* account.h -- an account as a client sees it: its endpoints, its credential,
 * and what its answers have taught.
 *
 * Reference-counted: a container, a feed or a processor keeps it alive.
 *
 * Threads: any, for all functions.
 */
#ifndef RN_CLIENT_ACCOUNT_ACCOUNT_H
#define RN_CLIENT_ACCOUNT_ACCOUNT_H

#include "client/account/credential.h"
#include "client/account/regions.h"
#include "client/account/sessions.h"
#include "client/http/pool.h"
#include "client/http/retry.h"

struct rn_account;
struct rn_client_container; /* container.h */

/* The options are checked and copied.  The account takes ownership of the
 * network, also if this fails; NULL: libcurl. */
runnel_code rn_account_open(const runnel_client_options *options,
                            struct rn_network *network, struct rn_account **out,
                            runnel_error *error) RUNNEL_CHECK;
struct rn_account *rn_account_ref(struct rn_account *a);
void rn_account_unref(struct rn_account *a); /* NULL is fine */

/* Reads the account if its regions matter and are unknown, or are due to be
 * read again.  A failed read is not an error: the endpoint serves. */
runnel_code rn_account_prepare(struct rn_account *a,
                               const struct rn_cancel *cancel,
                               runnel_error *error) RUNNEL_CHECK;

struct rn_env *rn_account_env(const struct rn_account *a);
struct rn_pool *rn_account_pool(const struct rn_account *a);
struct rn_retry_policy rn_account_retry(const struct rn_account *a);
/* Set by runnel_client_cancel. */
struct rn_cancel *rn_account_cancel(struct rn_account *a);
/* The wall clock, corrected by the server's if they were far apart. */
int64_t rn_account_wall_ms(const struct rn_account *a);
/* More than five minutes off this answer's Date?  The correction is then made
 * by rn_account_set_clock. */
bool rn_account_is_clock_off(const struct rn_account *a,
                             const struct rn_exchange *x);
void rn_account_set_clock(struct rn_account *a, const struct rn_exchange *x);

/* ---- for request.c and call.c ---- */

struct rn_credential *rn_account_credential(const struct rn_account *a);
struct rn_regions *rn_account_regions(const struct rn_account *a);
struct rn_sessions *rn_account_sessions(const struct rn_account *a);
const char *rn_account_user_agent(const struct rn_account *a);
const char *rn_account_consistency(const struct rn_account *a); /* or NULL */
uint32_t rn_account_timeout_ms(const struct rn_account *a);
/* Are session tokens kept and sent? */
bool rn_account_has_session(const struct rn_account *a);

#endif
