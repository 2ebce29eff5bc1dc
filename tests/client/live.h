/* live.h -- what the tests against a running server share.
 *
 * The server's address is in RUNNEL_ENDPOINT.  A test makes a database of its
 * own, with a random name, and deletes it at its end.  With RUNNEL_PLAIN set
 * the server is not ours: what only Runnel can do is skipped.
 */
#ifndef TESTS_CLIENT_LIVE_H
#define TESTS_CLIENT_LIVE_H

#include <runnel/runnel.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct live {
    runnel_client *client;
    runnel_container *container; /* "c", by /pk */
    char database[40];
};

/* A client with the environment's endpoint; `options` may be NULL. */
runnel_client *live_client(const runnel_client_options *options);

/* Group fixtures: `*state` is a struct live. */
int live_set_up(void **state);
int live_tear_down(void **state);

/* A container with so many ranges, or as many as the server makes of 4, in the
 * test's database. */
runnel_container *live_container(struct live *l, const char *id,
                                 const char *partition_key, unsigned ranges);

/* POSTs JSON to a control route of ours. */
void live_control(struct live *l, const char *method, const char *path,
                  const char *json);
/* The next `count` requests to the documents of "c" fail so. */
void live_fault(struct live *l, const char *json);

/* Fails with the error's message unless it was so. */
#define must(call) live_must((call), RUNNEL_OK, &error, __FILE__, __LINE__)
#define must_be(call, code)                                                    \
    live_must((call), (code), &error, __FILE__, __LINE__)
void live_must(runnel_code rc, runnel_code expected, const runnel_error *error,
               const char *file, int line);

/* Does the reply's body hold this text? */
void assert_body_has(const runnel_reply *reply, const char *text);

#endif
