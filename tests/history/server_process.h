/* server_process.h -- a server in a process of its own, and clients that ask it
 * and note what it answered.
 *
 * There is one server at a time, which is started, killed and started again
 * upon the same directory or another.  Clients that find it gone wait until it
 * is back.
 *
 * Threads: the server's functions belong to one; a client to one each.
 */
#ifndef RN_TEST_SERVER_PROCESS_H
#define RN_TEST_SERVER_PROCESS_H

#include "history/history.h"

#include "base/mem.h"
#include "base/prng.h"
#include "cosmos/etag.h"
#include "json/json.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct server_process {
    const char *program, *dir;
    char ranges[16];
    const char *loops; /* NULL: as many as it likes */
    pid_t pid;
    uint32_t keys;   /* how many partition keys there are */
    atomic_int port; /* 0: it is down */
};
extern struct server_process server_process;

struct client {
    pthread_t thread;
    uint32_t number;
    int fd;
    int port; /* its own; 0: the server's, once that is known */
    struct rn_prng prng;
    struct rn_signer *signer;
    struct rn_buf in, out;
    struct history_entry *log;
    size_t count, room;
    const char *broken; /* what should never happen */
};

struct answer {
    int status, reason; /* reason: the substatus */
    uint32_t range;
    uint64_t lsn; /* of the session token */
    struct rn_view etag, session, body;
};

struct request {
    const char *verb, *word, *link, *path;
    const char *more; /* headers */
    struct rn_view body;
};

/* server_process_net.c, and the like of it in a simulation. */
uint64_t server_process_now_ns(void);
int64_t server_process_wall_s(void);

/* Starts the server and returns its port, or 0; server_process_announce gives
 * the port to the clients. */
int server_process_start(void);
void server_process_announce(int port);
void server_process_kill(int signal);
/* Runs a command of the program to its end; true if it ends well. */
bool server_process_command(const char *verb, const char *a, const char *b);

void client_init(struct client *c, uint32_t number, uint64_t seed);
void client_release(struct client *c);
/* A connection, once the server is up. */
void client_reach(struct client *c);
void client_hang_up(struct client *c);
/* False if the connection ended first: nobody knows what happened. */
bool client_ask(struct client *c, const struct request *r, struct answer *out);

/* server_process.c: a request into c->out; an answer, if all of it is in c->in.
 */
void server_process_print_request(struct client *c, const struct request *r);
bool server_process_read_answer(struct client *c, struct answer *out);

struct history_entry *client_note(struct client *c,
                                  const struct history_entry *e);
/* The server has just been started, and the clients do not know it yet. */
void client_note_start(struct client *c);

/* The token and the version in a document. */
bool server_process_read_document(const struct rn_json *j, uint32_t at,
                                  struct history_entry *e);
/* An etag as it stands in JSON. */
bool server_process_read_etag(const struct rn_json *j, uint32_t value,
                              struct rn_etag *out);

#endif
