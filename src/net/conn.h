/* conn.h -- a client connection: non-blocking byte I/O, plain or TLS.
 *
 * The first byte decides: 0x16 begins a TLS handshake, anything else is plain.
 * A connection belongs to its loop and to that loop's thread.  Its user
 * interprets the bytes, through callbacks:
 *
 *   buffer       names the memory that bytes are to be read into
 *   received     some bytes were read; returns what to do next: MORE, WAIT (for
 *                rn_conn_resume: a response is being made, read nothing), CLOSE
 *                (after what is queued has been sent)
 *   flushed      everything queued has been handed to the kernel; returns like
 *                `received`, WAIT as long as a response is being made
 *   peer_ended   the peer half-closed while a response is being made; true to
 *                close, false if the response is sent in case the peer reads
 *   timed_out    the deadline has passed
 *   closed       the connection is closed and is freed; the last call
 *
 * The user sets deadlines: rn_conn_deadline.  The write deadline, for a peer
 * that reads nothing, is the connection's own.  The bytes queued for such peers
 * are limited for each peer, and for all of them together.
 */
#ifndef RN_NET_CONN_H
#define RN_NET_CONN_H

#include "net/loop.h"
#include "net/tls.h"

struct rn_conn;

enum rn_conn_next { RN_CONN_MORE, RN_CONN_WAIT, RN_CONN_CLOSE };

struct rn_conn_user {
    enum rn_code (*buffer)(void *user, char **at, size_t *len);
    enum rn_conn_next (*received)(void *user, size_t len);
    enum rn_conn_next (*flushed)(void *user);
    bool (*peer_ended)(void *user);
    void (*timed_out)(void *user);
    void (*closed)(void *user);
};

enum { RN_CONN_ADDRESS_MAX = 64 };

struct rn_conn_opts {
    struct rn_loop *loop;
    int fd;             /* owned from now on, non-blocking */
    struct rn_tls *tls; /* NULL: plain only; shared */
    const struct rn_conn_user *ops;
    void *user;
    uint32_t write_stall_ms;
    const char *address; /* the peer's, for the server log; copied */
};

/* Thread: the loop's.  On failure the descriptor is closed and `closed` is not
 * called. */
enum rn_code rn_conn_new(const struct rn_conn_opts *opts,
                         struct rn_conn **out) RN_CHECK;

/* Queues bytes behind those queued already: `head` is copied, `body` only as
 * far as it cannot be sent at once.  RN_TOO_LARGE at a limit: then close.  A
 * user that waits for `flushed` while rn_conn_is_sending queues one response at
 * most. */
enum rn_code rn_conn_send(struct rn_conn *c, struct rn_view head,
                          struct rn_view body) RN_CHECK;

/* After WAIT: `next` is what `received` would have returned.  MORE continues to
 * read. */
void rn_conn_resume(struct rn_conn *c, enum rn_conn_next next);

/* Milliseconds from now; 0: none. */
void rn_conn_deadline(struct rn_conn *c, uint32_t ms);

/* Closes the connection at once.  `closed` is called before this returns. */
void rn_conn_drop(struct rn_conn *c);

bool rn_conn_is_tls(const struct rn_conn *c);
/* True if the client began a TLS handshake, but there is no certificate. */
bool rn_conn_wants_tls(const struct rn_conn *c);
/* True if bytes are queued, or if the connection has used up its share of the
 * loop's turn: `flushed` will be called in a later turn. */
bool rn_conn_is_sending(const struct rn_conn *c);

/* Memory of the queued bytes of all connections of the process.  Any thread. */
size_t rn_conn_unsent_bytes(void);
/* The number of connections of the process with unsent bytes.  Any thread. */
size_t rn_conn_sending_count(void);
const char *rn_conn_address(const struct rn_conn *c);
/* Prints the local address of the connection. */
void rn_conn_print_own(const struct rn_conn *c, char out[RN_CONN_ADDRESS_MAX]);
struct rn_loop *rn_conn_loop(const struct rn_conn *c);

#endif
