/* peer.h -- a server in the same process that says what a test orders.
 *
 * One thread serves all connections.  For each whole request it calls the
 * test's function, which appends bytes and says what becomes of the connection.
 */
#ifndef TESTS_CLIENT_PEER_H
#define TESTS_CLIENT_PEER_H

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

enum peer_then {
    PEER_KEEP,  /* the next request may come */
    PEER_CLOSE, /* after the bytes */
    PEER_RESET, /* likewise, by a reset */
};

struct peer;

/* `n` counts requests from 0.  Called by the peer's thread. */
typedef enum peer_then peer_fn(struct peer *p, struct rn_view request, int n,
                               struct rn_buf *out);

struct peer {
    peer_fn *answer;
    void *context;
    char endpoint[40];
    atomic_int requests;
    int listener, end[2];
    pthread_t thread;
};

void peer_open(struct peer *p, peer_fn *answer, void *context);
void peer_close(struct peer *p);

/* Appends a whole answer, headers "name: value\r\n". */
void peer_reply(struct rn_buf *out, int status, const char *headers,
                const char *body);

#endif
