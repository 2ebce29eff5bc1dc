/* canned.h -- a network whose answers a test makes, in virtual time.
 *
 * An exchange is answered in the next step or wait by the test's function; a
 * wait with nothing under way lets the clock pass.  One thread.
 */
#ifndef TESTS_CLIENT_CANNED_H
#define TESTS_CLIENT_CANNED_H

#include "client/account/account.h"
#include "client/http/transport.h"

struct canned;

/* Fills the lower half of the exchange; `n` counts requests from 0. */
typedef void canned_fn(struct canned *c, struct rn_exchange *x, int n);

struct canned {
    struct rn_network network;
    struct rn_env env;
    struct rn_env_ops ops;
    int64_t mono_ns, wall_ms;
    canned_fn *answer;
    void *context;
    int requests;
    struct rn_exchange *waiting;
};

void canned_init(struct canned *c, canned_fn *answer, void *context);

/* A client of the account at "http://localhost:1" on that network; `options`
 * may be NULL.  RUNNEL_NO_MEMORY is for tests that ask for it. */
runnel_code canned_open(struct canned *c, const runnel_client_options *options,
                        struct rn_account **out, runnel_error *error);

/* An answer: lines of headers "name: value\n", and a body.  Lack of memory
 * becomes the exchange's failure. */
void canned_reply(struct rn_exchange *x, int status, int sub_status,
                  const char *headers, const char *body);
/* No answer. */
void canned_fail(struct rn_exchange *x, runnel_code code, bool was_sent);

#endif
