/* listener.c -- see listener.h. */
#include "net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    ACCEPTS_MAX = 64, /* in a row */
    PAUSE_MS = 100,   /* when there are no descriptors left */
    KEPT = 16,        /* descriptors; at most an eighth of the limit */
    HOST_MAX = 256,
    PAIRS_MAX = 16, /* attempts, for a port that is free on two addresses */
};

struct rn_listener {
    struct rn_socket socket;
    struct rn_loop *loop;
    rn_listener_accepted_fn *accepted;
    void *context;
    bool loopback;
    char address[RN_ADDRESS_TEXT_MAX];
};

/* ---- addresses ----------------------------------------------------------- */

static void print_address(const struct sockaddr_storage *of,
                          char out[RN_ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "?";
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (of->ss_family == AF_INET) {
        memcpy(&v4, of, sizeof(v4));
        inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
        snprintf(out, RN_ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(v4.sin_port));
        return;
    }
    memcpy(&v6, of, sizeof(v6));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        /* IPv4-mapped: count it as the IPv4 peer. */
        inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], host, sizeof(host));
        snprintf(out, RN_ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(v6.sin6_port));
    } else {
        inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
        snprintf(out, RN_ADDRESS_TEXT_MAX, "[%s]:%u", host,
                 ntohs(v6.sin6_port));
    }
}

static struct sockaddr_storage bound_to(int fd)
{
    struct sockaddr_storage bound = { 0 };
    socklen_t len = sizeof(bound);

    (void)getsockname(fd, (struct sockaddr *)&bound, &len);
    return bound;
}

void rn_address_print(int fd, char out[RN_ADDRESS_TEXT_MAX])
{
    struct sockaddr_storage bound = bound_to(fd);

    print_address(&bound, out);
}

static bool is_loopback(const struct sockaddr_storage *of)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (of->ss_family == AF_INET) {
        memcpy(&v4, of, sizeof(v4));
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    }
    memcpy(&v6, of, sizeof(v6));
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

/* getaddrinfo accepts any number and truncates it. */
static bool is_port(const char *text)
{
    return text[0] && text[strspn(text, "0123456789")] == '\0' &&
           strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* Splits HOST:PORT; a colon in HOST needs brackets around it. */
static bool split(const char *where, char host[HOST_MAX], const char **port)
{
    const char *end = strrchr(where, ':');
    size_t len = end ? (size_t)(end - where) : 0;

    if (len == 0 || len >= HOST_MAX || !is_port(end + 1))
        return false;
    *port = end + 1;
    if (where[0] == '[' && where[len - 1] == ']') {
        where++;
        len -= 2;
    }
    memcpy(host, where, len);
    host[len] = '\0';
    return true;
}

static int bind_to(const struct addrinfo *info, int *fd)
{
    int on = 1;

    *fd =
        socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return errno;
    (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(*fd, info->ai_addr, info->ai_addrlen) || listen(*fd, BACKLOG)) {
        int error = errno;
        close(*fd);
        return error;
    }
    return 0;
}

/* `*error` is the errno if a system call failed. */
static enum rn_code bind_name(const char *where, int *fd, int *error,
                              struct rn_err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *info = NULL;
    char host[HOST_MAX];
    const char *port;
    int unknown;

    *error = 0;
    if (!split(where, host, &port))
        return rn_fail(err, RN_BAD_REQUEST, "'%s' is not HOST:PORT", where);
    unknown = getaddrinfo(host, port, &hints, &info);
    if (unknown)
        return rn_fail(err, RN_BAD_REQUEST, "%s: %s", where,
                       gai_strerror(unknown));
    *error = bind_to(info, fd);
    freeaddrinfo(info);
    return *error ? rn_fail_errno(err, *error, "listening on %s", where)
                  : RN_OK;
}

static enum rn_code listener_new(int fd, struct rn_listener **out,
                                 struct rn_err *err)
{
    struct rn_listener *l = rn_new(sizeof(*l));
    struct sockaddr_storage bound;

    if (!l) {
        close(fd);
        return rn_fail(err, RN_NOMEM, "listening: out of memory");
    }
    l->socket.fd = fd;
    bound = bound_to(fd);
    print_address(&bound, l->address);
    l->loopback = is_loopback(&bound);
    *out = l;
    return RN_OK;
}

static enum rn_code open_one(const char *where, struct rn_listener **out,
                             int *error, struct rn_err *err)
{
    int fd = -1;
    enum rn_code rc = bind_name(where, &fd, error, err);

    return rc ? rc : listener_new(fd, out, err);
}

enum rn_code rn_listener_open(const char *where, struct rn_listener **out,
                              struct rn_err *err)
{
    int error;

    return open_one(where, out, &error, err);
}

/* Opens one on 127.0.0.1, and one on ::1 with the port of the first.  `*error`
 * is of the second. */
static enum rn_code open_pair(const char *port, struct rn_listener *out[2],
                              int *error, struct rn_err *err)
{
    const char first[] = "127.0.0.1";
    struct rn_err why = { 0 };
    char where[HOST_MAX];
    enum rn_code rc;

    *error = 0;
    snprintf(where, sizeof(where), "%s:%s", first, port);
    rc = rn_listener_open(where, &out[0], err);
    if (rc)
        return rc;
    snprintf(where, sizeof(where), "[::1]%s",
             out[0]->address + sizeof(first) - 1);
    rc = open_one(where, &out[1], error, &why);
    if (!rc || *error == EADDRNOTAVAIL || *error == EAFNOSUPPORT)
        return RN_OK; /* without IPv6 there is one */
    rn_listener_close(out[0]);
    out[0] = NULL;
    return rn_fail(err, rc, "%s", why.text);
}

enum rn_code rn_listener_open_localhost(const char *port,
                                        struct rn_listener *out[2],
                                        struct rn_err *err)
{
    bool is_any = strcmp(port, "0") == 0;
    int error = 0, tries = 0;
    enum rn_code rc;

    do
        rc = open_pair(port, out, &error, err);
    while (error == EADDRINUSE && is_any && ++tries < PAIRS_MAX);
    return rc;
}

/* ---- accepting ----------------------------------------------------------- */

/* Without descriptors accept would fail again at once, for ever: stop watching
 * the socket for a moment. */
static void pause_accepting(struct rn_listener *l, int error)
{
    l->accepted(l->context, -1, strerror(error));
    rn_loop_change(l->loop, &l->socket, 0);
    rn_loop_deadline(l->loop, &l->socket,
                     rn_loop_now_ns(l->loop) + PAUSE_MS * INT64_C(1000000));
}

static void on_timed_out(struct rn_socket *socket)
{
    struct rn_listener *l = (struct rn_listener *)socket;

    rn_loop_change(l->loop, socket, EPOLLIN);
}

/* Keeps some descriptors for other uses: without one for the next WAL segment
 * all writers would wait until a client disconnects. */
static bool has_descriptors(const struct rn_listener *l)
{
    int fd = fcntl(l->socket.fd, F_DUPFD_CLOEXEC, 0); /* the lowest free */
    struct rlimit files;
    rlim_t kept;

    if (fd < 0)
        return false;
    close(fd);
    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
        return true;
    kept = files.rlim_cur / 8 < KEPT ? files.rlim_cur / 8 : KEPT;
    return (rlim_t)fd + kept < files.rlim_cur;
}

static void on_ready(struct rn_socket *socket, uint32_t events)
{
    struct rn_listener *l = (struct rn_listener *)socket;

    (void)events;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage peer = { 0 };
        socklen_t len = sizeof(peer);
        char address[RN_ADDRESS_TEXT_MAX];
        int on = 1, fd = -1;

        if (has_descriptors(l)) {
            fd = accept4(socket->fd, (struct sockaddr *)&peer, &len,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        } else {
            errno = i > 0 ? EAGAIN : EMFILE; /* at first a client waits */
        }
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                errno == ENOMEM)
                pause_accepting(l, errno);
            return;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        print_address(&peer, address);
        l->accepted(l->context, fd, address);
    }
}

static void on_loop_ended(struct rn_socket *socket)
{
    rn_listener_close((struct rn_listener *)socket);
}

enum rn_code rn_listener_start(struct rn_listener *l, struct rn_loop *loop,
                               rn_listener_accepted_fn *accepted, void *context,
                               struct rn_err *err)
{
    int error;

    l->loop = loop;
    l->accepted = accepted;
    l->context = context;
    l->socket.events = EPOLLIN;
    l->socket.ready = on_ready;
    l->socket.timed_out = on_timed_out;
    l->socket.loop_ended = on_loop_ended;
    error = rn_loop_add(loop, &l->socket);
    return error ? rn_fail_errno(err, error, "listening on %s", l->address)
                 : RN_OK;
}

void rn_listener_stop(struct rn_listener *l)
{
    rn_loop_remove(l->loop, &l->socket);
    rn_listener_close(l);
}

void rn_listener_close(struct rn_listener *l)
{
    if (!l)
        return;
    close(l->socket.fd);
    rn_free(l);
}

const char *rn_listener_address(const struct rn_listener *l)
{
    return l->address;
}

bool rn_listener_is_loopback(const struct rn_listener *l)
{
    return l->loopback;
}
