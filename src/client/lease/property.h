/* property.h -- what a lease says in its properties, its token, its position
 * and its times, as values; and back.
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_LEASE_PROPERTY_H
#define RN_CLIENT_LEASE_PROPERTY_H

#include "client/lease/document.h"

enum { RN_LEASE_TAG_LEN = 8 }; /* TAG of a session, in characters */

/* Properties.  The comment says the form of the value. */
#define RN_LEASE_SESSION "runnel.session"       /* STARTMS-TAGHEX */
#define RN_LEASE_OWNER "runnel.owner"           /* Owner at that session */
#define RN_LEASE_EPOCH "runnel.epoch"           /* decimal */
#define RN_LEASE_MADE "runnel.made"             /* TOKEN */
#define RN_LEASE_RANGE "runnel.range"           /* TOKEN MIN-MAX */
#define RN_LEASE_START "runnel.start"           /* beginning, now, time:S */
#define RN_LEASE_ATTEMPTS "runnel.attempts"     /* N CONTINUATION */
#define RN_LEASE_GENERATION "runnel.generation" /* decimal */
#define RN_LEASE_WANTED "runnel.wanted"         /* HOST SERVERMS */
#define RN_LEASE_INTERVALS "runnel.intervals"   /* ACQUIRE RENEW EXPIRE */
#define RN_LEASE_WEIGHT "runnel.weight"         /* changes a minute, decimal */
#define RN_LEASE_SPLIT "runnel.split"           /* TOKEN BOUND,BOUND,... */

/* The value, or a view whose `at` is NULL. */
struct rn_view rn_lease_property(const struct rn_lease *lease,
                                 const char *name);
/* Sets or, with a `value.at` of NULL, removes it.  The views are borrowed.
 * False if there are too many properties. */
bool rn_lease_set(struct rn_lease *lease, const char *name,
                  struct rn_view value) RN_CHECK;

/* A decimal value, or 0. */
uint64_t rn_lease_number(const struct rn_lease *lease, const char *name);
/* True if the owner is a host that uses this library. */
bool rn_lease_is_native(const struct rn_lease *lease);
/* True if the last write was one of version 2 of the .NET library, which keeps
 * neither FeedRange nor LeaseToken. */
bool rn_lease_is_version_2(const struct rn_lease *lease);
/* The value of a property of the form "TOKEN VALUE", if TOKEN is the token of
 * this lease; else a view whose `at` is NULL. */
struct rn_view rn_lease_bound(const struct rn_lease *lease, const char *name);
/* How often the batch after the lease's position has failed. */
uint32_t rn_lease_attempts(const struct rn_lease *lease);
/* The host that wants the lease and the server time of its mark. */
bool rn_lease_wanted(const struct rn_lease *lease, struct rn_view *host,
                     int64_t *at_ms);
/* The time after which an owner that uses this library loses the lease; 0 if
 * it is unknown. */
uint32_t rn_lease_expire_ms(const struct rn_lease *lease);
/* Is the lease to begin at a time?  It is one of this library's: a whole number
 * of seconds, and not before 1970 nor after 9999. */
bool rn_lease_start_second(const struct rn_lease *lease, int64_t *second);
/* Server time at which the owner's processor started; 0 if unknown. */
int64_t rn_lease_session_start(const struct rn_lease *lease);
/* Is a session that of a processor that started later?  Of two that started in
 * the same millisecond one is the later by its tag, which all sessions of a
 * processor begin with.  False if one of the values is not a session. */
bool rn_lease_session_is_later(struct rn_view session, struct rn_view than);

/* ---- ranges and tokens --------------------------------------------------- */

/* Writes "MIN-MAX" and a NUL. */
struct rn_view rn_lease_token_print(const struct rn_epk_range *range,
                                    char out[RN_LEASE_TOKEN_MAX]);
/* Reads "MIN-MAX". */
bool rn_lease_token_parse(struct rn_view token, struct rn_epk_range *out);
/* Has the lease keys that its position is not good for?  A .NET host copies
 * runnel.range from the lease that it replaces; after a merge the one that it
 * makes may be larger than that interval. */
bool rn_lease_is_overgrown(const struct rn_lease *lease);

/* ---- positions ----------------------------------------------------------- */

/* Order of two positions that are quoted integers; false if either is not. */
bool rn_lease_position_compare(struct rn_view a, struct rn_view b, int *order);

/* ---- times --------------------------------------------------------------- */

enum { RN_LEASE_TIME_MAX = 32 };

/* ISO 8601 with a Z, as .NET prints it: no trailing zeros. */
struct rn_view rn_lease_time_print(int64_t ms, char out[RN_LEASE_TIME_MAX]);
bool rn_lease_time_parse(struct rn_view text, int64_t *ms);
/* Sets the timestamp; its text lives in `out`. */
void rn_lease_stamp(struct rn_lease *lease, int64_t ms,
                    char out[RN_LEASE_TIME_MAX]);

#endif
