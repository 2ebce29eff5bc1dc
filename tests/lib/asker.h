/* asker.h -- signed requests at the REST side itself, without a socket.
 *
 *   asker_open(&a, env, engine);
 *   step = asker_begin(&a, &(struct asked_for){ ... }); rn_rest_resume(&a.call)
 *   ... a.call.res ...
 *   asker_end(&a);
 *   rn_rest_quiesce(a.rest);  the engine is closed  asker_close(&a);
 *
 * One request at a time; what happens between its steps is the test's to say.
 */
#ifndef RN_TESTS_LIB_ASKER_H
#define RN_TESTS_LIB_ASKER_H

#include "cosmos/sign.h"
#include "http/parse.h"
#include "rest/rest.h"

struct asker {
    struct rn_env *env;
    struct rn_rest *rest;
    struct rn_signer *signer;
    struct rn_http_reader reader;
    struct rn_call call;
};

struct asked_for {
    const char *verb;
    const char *link; /* of the container; its documents are meant, */
    const char *id;   /* or this one */
    const char *more; /* headers, each with its CRLF */
    const char *body;
};

void asker_open(struct asker *a, struct rn_env *env, struct rn_engine *engine);
void asker_close(struct asker *a);

enum rn_rest_step asker_begin(struct asker *a, const struct asked_for *what);
/* The value of a header of the answer; "" if there is none. */
void asker_header(struct asker *a, const char *name, char *out, size_t room);
void asker_end(struct asker *a);

#endif
