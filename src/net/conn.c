/* conn.c -- see conn.h.
 *
 * Reading and writing share one epoll registration.  The states are few:
 * sniffing the first byte, then open; `waiting` stops reading but keeps
 * watching for the peer's end of stream; `closing` sends what is queued;
 * `lingering` then discards what the peer is still sending, until it ends or
 * the time is up.
 */
#include "net/conn.h"

#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    OUT_MAX = 64 << 20, /* queued for one peer; responses are far smaller */
    OUT_ALL_MAX = 256 << 20, /* queued for all peers */
    OUT_KEPT = 64 << 10,     /* memory that an idle connection may keep */
    READS_MAX = 16,          /* in a row, before other connections run */
    SHARE = 128 << 10,       /* bytes, likewise; more is heavy (loop.h) */
    TLS_HANDSHAKE = 0x16,    /* the first byte of a ClientHello */
    LINGER_MS = 2000,        /* for a peer to notice the end */
};

/* Memory of all buffers of unsent bytes.  It is bounded for the process and not
 * for each loop. */
static atomic_size_t queued_all;
static atomic_size_t sending_all; /* connections with unsent bytes */

struct rn_conn {
    struct rn_socket socket;
    struct rn_loop *loop;
    struct rn_tls *tls;
    struct rn_tls_session *session;
    const struct rn_conn_user *ops;
    void *user;
    struct rn_buf out;
    size_t out_at; /* bytes of it that were sent */
    uint32_t write_stall_ms;
    int64_t user_deadline_ns, stall_ns;
    bool sniffed, waiting, closing, lingering;
    bool wants_tls; /* but the server has no certificate */
    bool is_muted;  /* sent data while it had to wait: not read now */
    bool has_ended; /* the peer sent its end; data before it may be unread */
    bool tls_wants_write, in_callback, dropped;
    bool is_sending; /* counted in sending_all */
    bool yields;     /* used up its share: `flushed` comes in the next turn */
    size_t moved;    /* bytes since its last event */
    size_t weight;   /* recent average of bytes per event */
    char address[RN_CONN_ADDRESS_MAX];
};

size_t rn_conn_unsent_bytes(void)
{
    return atomic_load_explicit(&queued_all, memory_order_relaxed);
}

/* ---- fairness ------------------------------------------------------------ */

static void spend(struct rn_conn *c, size_t bytes)
{
    c->moved += bytes;
    rn_loop_spend(c->loop, bytes);
}

/* Called at the end of an event.  The bytes moved recently predict the next
 * ones. */
static void weigh(struct rn_conn *c)
{
    c->weight = (c->weight + c->moved) / 2;
    c->moved = 0;
    c->socket.is_heavy = c->weight > SHARE;
}

/* ---- life cycle ---------------------------------------------------------- */

/* Must be called whenever `out` becomes empty or non-empty. */
static void note_sending(struct rn_conn *c)
{
    bool is = c->out.len > c->out_at;

    if (is != c->is_sending)
        atomic_fetch_add(&sending_all, is ? 1 : (size_t)-1);
    c->is_sending = is;
}

/* Frees the buffer's memory. */
static void drop_out(struct rn_conn *c)
{
    atomic_fetch_sub(&queued_all, c->out.room);
    rn_buf_release(&c->out);
    c->out_at = 0;
}

static void conn_free(struct rn_conn *c)
{
    c->ops->closed(c->user);
    rn_tls_session_free(c->session);
    rn_tls_close(c->tls);
    close(c->socket.fd);
    drop_out(c);
    note_sending(c);
    rn_free(c);
}

/* A callback may drop the connection it was called for; that is done when the
 * callback has returned. */
void rn_conn_drop(struct rn_conn *c)
{
    if (c->in_callback) {
        c->dropped = true;
        return;
    }
    rn_loop_remove(c->loop, &c->socket);
    conn_free(c);
}

static void on_loop_ended(struct rn_socket *socket)
{
    conn_free((struct rn_conn *)socket);
}

/* ---- deadlines ----------------------------------------------------------- */

static void set_deadline(struct rn_conn *c)
{
    int64_t user = c->user_deadline_ns, stall = c->stall_ns;

    rn_loop_deadline(c->loop, &c->socket,
                     !user || (stall && stall < user) ? stall : user);
}

void rn_conn_deadline(struct rn_conn *c, uint32_t ms)
{
    c->user_deadline_ns =
        ms ? rn_loop_now_ns(c->loop) + (int64_t)ms * 1000000 : 0;
    set_deadline(c);
}

static void on_timed_out(struct rn_socket *socket)
{
    struct rn_conn *c = (struct rn_conn *)socket;

    if (c->lingering ||
        (c->stall_ns && c->stall_ns <= rn_loop_now_ns(c->loop))) {
        rn_conn_drop(c);
        return;
    }
    c->user_deadline_ns = 0;
    set_deadline(c);
    c->in_callback = true;
    c->ops->timed_out(c->user);
    c->in_callback = false;
    if (c->dropped)
        rn_conn_drop(c);
}

/* ---- writing ------------------------------------------------------------- */

static void watch_for(struct rn_conn *c)
{
    uint32_t events = 0;

    /* While the last bytes are being sent, the end of the peer's stream is no
     * event. */
    if ((!c->closing || c->lingering) && !c->has_ended)
        events |= EPOLLRDHUP;
    if (c->lingering || (!c->waiting && !c->closing))
        events |= EPOLLIN;
    /* Most peers are silent until they have their response.  Removing EPOLLIN
     * and restoring it costs two system calls, so that happens only when they
     * send. */
    if (c->waiting && !c->closing && !c->is_muted)
        events |= c->socket.events & EPOLLIN;
    if (c->out.len > c->out_at || c->tls_wants_write || c->yields)
        events |= EPOLLOUT;
    /* Decrypted bytes that were left unread, because the connection yielded,
     * raise no epoll event.  The socket being writable is one. */
    if (c->session && !c->waiting && !c->closing && rn_tls_pending(c->session))
        events |= EPOLLOUT;
    rn_loop_change(c->loop, &c->socket, events);
}

static ptrdiff_t taken(ssize_t n)
{
    return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* Writes bytes to the socket: returns how many, 0 if it takes none now, -1 if
 * the peer is gone. */
static ptrdiff_t write_some(struct rn_conn *c, struct rn_view bytes)
{
    size_t moved = 0;
    enum rn_tls_step step;

    if (!c->session)
        return taken(send(c->socket.fd, bytes.at, bytes.len, MSG_NOSIGNAL));
    step = rn_tls_write(c->session, bytes, &moved);
    if (step == RN_TLS_OK)
        return (ptrdiff_t)moved;
    return step == RN_TLS_END ? -1 : 0;
}

/* Starts the write deadline of a peer that must take bytes before the
 * connection goes on.  That includes one that yields: the kernel has all bytes,
 * but reports the socket as writable only when the peer has read some of them.
 */
static void begin_stall(struct rn_conn *c)
{
    if ((c->out.len > c->out_at || c->yields) && !c->stall_ns)
        c->stall_ns =
            rn_loop_now_ns(c->loop) + (int64_t)c->write_stall_ms * 1000000;
    set_deadline(c);
}

/* False if the peer is gone. */
static bool flush(struct rn_conn *c)
{
    bool moved = false;

    while (c->out.len > c->out_at) {
        ptrdiff_t n = write_some(
            c, rn_view_of(c->out.at + c->out_at, c->out.len - c->out_at));
        if (n < 0)
            return false;
        if (n == 0)
            break;
        moved = true;
        c->out_at += (size_t)n;
        spend(c, (size_t)n);
    }
    if (c->out.len == c->out_at) {
        if (c->out.room > OUT_KEPT)
            drop_out(c);
        rn_buf_clear(&c->out);
        c->out_at = 0;
        c->stall_ns = 0;
    } else if (moved) {
        c->stall_ns = 0;
    }
    note_sending(c);
    begin_stall(c);
    return true;
}

/* Sends head and body in one call if nothing is queued before them; returns the
 * number of bytes sent. */
static ptrdiff_t write_both(struct rn_conn *c, struct rn_view head,
                            struct rn_view body)
{
    struct iovec parts[2] = { { (void *)head.at, head.len },
                              { (void *)body.at, body.len } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

    if (c->session || c->out.len > c->out_at)
        return 0;
    if (body.len == 0)
        return taken(send(c->socket.fd, head.at, head.len, MSG_NOSIGNAL));
    return taken(sendmsg(c->socket.fd, &message, MSG_NOSIGNAL));
}

static enum rn_code queue(struct rn_conn *c, struct rn_view bytes)
{
    size_t before = c->out.room;
    enum rn_code rc;

    if (bytes.len > before - c->out.len &&
        atomic_load(&queued_all) + bytes.len > OUT_ALL_MAX)
        return RN_TOO_LARGE;
    rc = rn_buf_add(&c->out, bytes);
    atomic_fetch_add(&queued_all, c->out.room - before);
    note_sending(c);
    return rc;
}

enum rn_code rn_conn_send(struct rn_conn *c, struct rn_view head,
                          struct rn_view body)
{
    ptrdiff_t n = write_both(c, head, body);
    size_t sent = n > 0 ? (size_t)n : 0;
    enum rn_code rc = RN_OK;

    if (n < 0)
        return RN_IO;
    spend(c, head.len + body.len);
    c->yields = c->yields || c->moved > SHARE;
    if (sent < head.len) {
        rc = queue(c, rn_view_of(head.at + sent, head.len - sent));
        sent = head.len;
    }
    if (!rc && sent - head.len < body.len)
        rc = queue(c, rn_view_of(body.at + (sent - head.len),
                                 body.len - (sent - head.len)));
    if (!rc && c->out.len > c->out_at && !flush(c))
        rc = RN_IO;
    if (!rc && c->yields)
        begin_stall(c);
    watch_for(c);
    return rc;
}

/* ---- reading ------------------------------------------------------------- */

/* Like write_some: 0 for nothing now, -1 for the end. */
static ptrdiff_t read_some(struct rn_conn *c, char *at, size_t len)
{
    size_t moved = 0;
    enum rn_tls_step step;
    ssize_t n;

    if (!c->session) {
        n = recv(c->socket.fd, at, len, 0);
        if (n > 0)
            return n;
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    }
    step = rn_tls_read(c->session, at, len, &moved);
    c->tls_wants_write = step == RN_TLS_WRITE;
    if (step == RN_TLS_OK)
        return (ptrdiff_t)moved;
    return step == RN_TLS_END ? -1 : 0;
}

/* False if the connection must end. */
static bool sniff(struct rn_conn *c)
{
    unsigned char first;
    ssize_t n = recv(c->socket.fd, &first, 1, MSG_PEEK);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    c->sniffed = true;
    c->wants_tls = first == TLS_HANDSHAKE && !c->tls;
    if (first != TLS_HANDSHAKE || !c->tls)
        return true;
    return rn_tls_session_new(c->tls, c->socket.fd, &c->session) == RN_OK;
}

/* All is sent.  A close while the peer still sends would make the kernel reset
 * the connection, and the peer would lose the response that says why. */
static void linger(struct rn_conn *c)
{
    c->lingering = true;
    c->waiting = false;
    c->tls_wants_write = false;
    rn_tls_session_free(c->session);
    c->session = NULL;
    (void)shutdown(c->socket.fd, SHUT_WR);
    rn_conn_deadline(c, LINGER_MS);
    watch_for(c);
}

static void discard(struct rn_conn *c)
{
    char bytes[4096];
    ssize_t n = 1;

    for (int i = 0; i < READS_MAX && n > 0; i++)
        n = recv(c->socket.fd, bytes, sizeof(bytes), 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        rn_conn_drop(c);
}

/* Acts on the user's decision; false if the connection has ended or lingers. */
static bool obey(struct rn_conn *c, enum rn_conn_next next)
{
    c->waiting = next == RN_CONN_WAIT;
    c->is_muted = c->is_muted && c->waiting;
    c->closing = c->closing || next == RN_CONN_CLOSE;
    if (c->dropped) {
        c->in_callback = false;
        rn_conn_drop(c);
        return false;
    }
    if (!c->closing || c->out.len > c->out_at)
        return true;
    linger(c);
    return false;
}

/* Reads what is available.  False if the connection has ended. */
static bool read_all(struct rn_conn *c)
{
    for (int i = 0; i < READS_MAX && !c->waiting && !c->closing; i++) {
        size_t len = 0;
        char *at = NULL;
        ptrdiff_t n = -1;
        enum rn_conn_next next;

        if (!c->ops->buffer(c->user, &at, &len))
            n = read_some(c, at, len);
        if (n < 0 && c->out.len > c->out_at) {
            c->closing = true; /* half-closed; the peer may still read */
            break;
        }
        if (n < 0) {
            rn_conn_drop(c);
            return false;
        }
        if (n == 0)
            break;
        spend(c, (size_t)n);
        c->in_callback = true;
        next = c->ops->received(c->user, (size_t)n);
        c->in_callback = false;
        if (!obey(c, next))
            return false;
        /* A short read of a plain socket has emptied it. */
        if (!c->session && (size_t)n < len)
            break;
    }
    return true;
}

/* Acts on the user's decision.  Bytes that are decrypted already raise no
 * event, so they are read now.  False if the connection has ended or lingers.
 */
static bool go_on(struct rn_conn *c, enum rn_conn_next next)
{
    if (!obey(c, next))
        return false;
    return next != RN_CONN_MORE || !c->session || !rn_tls_pending(c->session) ||
           read_all(c);
}

/* The peer's end of stream may have come together with the request that is
 * being served now.  False if the connection has ended with it. */
static bool heed_end(struct rn_conn *c)
{
    if (!c->waiting || !c->has_ended || !c->ops->peer_ended(c->user))
        return true;
    rn_conn_drop(c);
    return false;
}

void rn_conn_resume(struct rn_conn *c, enum rn_conn_next next)
{
    if (go_on(c, next) && heed_end(c))
        watch_for(c);
}

static bool on_writable(struct rn_conn *c)
{
    enum rn_conn_next next;

    c->tls_wants_write = c->yields = false;
    if (!flush(c)) {
        rn_conn_drop(c);
        return false;
    }
    if (c->out.len > c->out_at)
        return true;
    if (c->closing) {
        linger(c);
        return false;
    }
    c->in_callback = true;
    next = c->ops->flushed(c->user);
    c->in_callback = false;
    return go_on(c, next);
}

static void on_ready(struct rn_socket *socket, uint32_t events)
{
    struct rn_conn *c = (struct rn_conn *)socket;

    if (events & (EPOLLERR | EPOLLHUP)) {
        rn_conn_drop(c);
        return;
    }
    if (c->lingering) {
        discard(c);
        return;
    }
    c->has_ended = c->has_ended || (events & EPOLLRDHUP);
    if ((events & EPOLLOUT) && !on_writable(c))
        return;
    if (c->waiting) {
        c->is_muted = c->is_muted || (events & EPOLLIN);
    } else if (events & (EPOLLIN | EPOLLRDHUP)) {
        if (!c->sniffed && !sniff(c)) {
            rn_conn_drop(c);
            return;
        }
        if (c->sniffed && !read_all(c))
            return;
    }
    if (!heed_end(c))
        return;
    weigh(c);
    watch_for(c);
}

enum rn_code rn_conn_new(const struct rn_conn_opts *opts, struct rn_conn **out)
{
    struct rn_conn *c = rn_new(sizeof(*c));

    if (!c) {
        close(opts->fd);
        return RN_NOMEM;
    }
    c->socket =
        (struct rn_socket){ .fd = opts->fd,
                            .events = EPOLLIN | EPOLLRDHUP,
                            .is_heavy = true, /* until its traffic is known */
                            .ready = on_ready,
                            .timed_out = on_timed_out,
                            .loop_ended = on_loop_ended };
    c->loop = opts->loop;
    c->tls = opts->tls ? rn_tls_share(opts->tls) : NULL;
    c->ops = opts->ops;
    c->user = opts->user;
    c->write_stall_ms = opts->write_stall_ms;
    c->weight = SHARE + 1;
    c->out = RN_BUF_INIT(OUT_MAX);
    snprintf(c->address, sizeof(c->address), "%s", opts->address);
    if (rn_loop_add(c->loop, &c->socket)) {
        rn_tls_close(c->tls);
        close(opts->fd);
        rn_free(c);
        return RN_NOMEM;
    }
    *out = c;
    return RN_OK;
}

bool rn_conn_is_tls(const struct rn_conn *c)
{
    return c->session != NULL;
}

bool rn_conn_wants_tls(const struct rn_conn *c)
{
    return c->wants_tls;
}

void rn_conn_print_own(const struct rn_conn *c, char out[RN_CONN_ADDRESS_MAX])
{
    static_assert((int)RN_CONN_ADDRESS_MAX >= RN_ADDRESS_TEXT_MAX,
                  "an address must fit");
    rn_address_print(c->socket.fd, out);
}

bool rn_conn_is_sending(const struct rn_conn *c)
{
    return c->yields || c->out.len > c->out_at;
}

size_t rn_conn_sending_count(void)
{
    return atomic_load(&sending_all);
}

const char *rn_conn_address(const struct rn_conn *c)
{
    return c->address;
}

struct rn_loop *rn_conn_loop(const struct rn_conn *c)
{
    return c->loop;
}
