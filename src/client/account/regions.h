/* regions.h -- the regions of an account: which URL a request goes to.
 *
 * Without preferred regions every request goes to the endpoint.  With them the
 * account is read (GET /) for its regions; reads go to the first preferred one
 * that works, writes to the account's write region.  A region that failed is
 * skipped for five minutes, and the account is read again.
 *
 * Threads: any.
 */
#ifndef RN_CLIENT_ACCOUNT_REGIONS_H
#define RN_CLIENT_ACCOUNT_REGIONS_H

#include "client/http/exchange.h"
#include "json/json.h"

enum {
    RN_REGIONS_MAX = 64,
    RN_REGION_URL_MAX = 256,
};

struct rn_regions;

/* `endpoint` has no slash at its end; `preferred` may be NULL. */
runnel_code rn_regions_new(const char *endpoint, const char *preferred,
                           struct rn_regions **out,
                           runnel_error *error) RUNNEL_CHECK;
void rn_regions_free(struct rn_regions *r); /* NULL is fine */

/* Should the account be read now?  True for one caller only, until it is due
 * again. */
bool rn_regions_want(struct rn_regions *r, int64_t now_ns);
/* Takes the parsed account document.  RUNNEL_PROTOCOL, and no change, if it is
 * not one. */
runnel_code rn_regions_learn(struct rn_regions *r, const struct rn_json *j,
                             runnel_error *error) RUNNEL_CHECK;

void rn_regions_pick(struct rn_regions *r, bool is_read, int64_t now_ns,
                     char out[RN_REGION_URL_MAX]);
/* The URL that the user gave.  Stays as long as the regions do. */
const char *rn_regions_endpoint(const struct rn_regions *r);
/* The region of this URL failed a request. */
void rn_regions_fail(struct rn_regions *r, struct rn_view url, int64_t now_ns);

#endif
