/* rest_client.h -- signed requests at the REST side itself, without a socket.
 *
 *   rest_client_open(&a, env, engine);
 *   step = rest_client_begin(&a, &(struct rest_request){ ... });
 * rn_rest_resume(&a.call)
 *   ... a.call.res ...
 *   rest_client_end(&a);
 *   rn_rest_quiesce(a.rest);  the engine is closed  rest_client_close(&a);
 *
 * One request at a time; what happens between its steps is the test's to say.
 */
#ifndef RN_TESTS_LIB_REST_CLIENT_H
#define RN_TESTS_LIB_REST_CLIENT_H

#include "cosmos/sign.h"
#include "http/parse.h"
#include "rest/rest.h"

struct rest_client {
    struct rn_env *env;
    struct rn_rest *rest;
    struct rn_signer *signer;
    struct rn_http_reader reader;
    struct rn_call call;
};

struct rest_request {
    const char *verb;
    const char *link; /* of the container; its documents are meant, */
    const char *id;   /* or this one */
    const char *more; /* headers, each with its CRLF */
    const char *body;
};

void rest_client_open(struct rest_client *a, struct rn_env *env,
                      struct rn_engine *engine);
void rest_client_close(struct rest_client *a);

enum rn_rest_step rest_client_begin(struct rest_client *a,
                                    const struct rest_request *what);
/* The value of a header of the answer; "" if there is none. */
void rest_client_header(struct rest_client *a, const char *name, char *out,
                        size_t room);
void rest_client_end(struct rest_client *a);

#endif
