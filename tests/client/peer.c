/* peer.c -- see peer.h. */
#include "client/peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 32, REQUEST_MAX = 8 << 20 };

struct connection {
    int fd; /* -1: none */
    struct rn_buf in;
};

/* The length of the first whole request in the buffer, or 0. */
static size_t whole(const struct rn_buf *in)
{
    const char *end = memmem(in->at, in->len, "\r\n\r\n", 4), *at;
    size_t head, body = 0;

    if (!end)
        return 0;
    head = (size_t)(end + 4 - in->at);
    at = memmem(in->at, head, "Content-Length: ", 16);
    if (at)
        body = strtoul(at + 16, NULL, 10);
    return in->len - head >= body ? head + body : 0;
}

static void drop(struct connection *c, bool by_reset)
{
    struct linger at_once = { .l_onoff = 1 };

    if (by_reset)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(c->fd);
    c->fd = -1;
    rn_buf_release(&c->in);
}

static void send_all(int fd, struct rn_view bytes)
{
    while (bytes.len > 0) {
        ssize_t n = send(fd, bytes.at, bytes.len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes = rn_view_of(bytes.at + n, bytes.len - (size_t)n);
    }
}

static void serve(struct peer *p, struct connection *c)
{
    ssize_t n;
    size_t len;

    if (rn_buf_reserve(&c->in, 65536))
        abort();
    n = recv(c->fd, c->in.at + c->in.len, 65536, 0);
    if (n <= 0) {
        drop(c, false);
        return;
    }
    c->in.len += (size_t)n;
    while ((len = whole(&c->in)) > 0) {
        struct rn_buf out = RN_BUF_INIT(REQUEST_MAX);
        enum peer_then then =
            p->answer(p, rn_view_of(c->in.at, len), p->requests++, &out);

        send_all(c->fd, rn_buf_view(&out));
        rn_buf_release(&out);
        memmove(c->in.at, c->in.at + len, c->in.len - len);
        c->in.len -= len;
        if (then != PEER_KEEP) {
            drop(c, then == PEER_RESET);
            return;
        }
    }
}

static void take(const struct peer *p, struct connection *connections)
{
    int fd = accept(p->listener, NULL, NULL);

    for (int i = 0; fd >= 0 && i < CONNECTIONS; i++) {
        if (connections[i].fd >= 0)
            continue;
        connections[i].fd = fd;
        connections[i].in = RN_BUF_INIT(REQUEST_MAX);
        return;
    }
    if (fd >= 0)
        close(fd);
}

static void *run(void *context)
{
    struct peer *p = context;
    struct connection connections[CONNECTIONS];
    struct pollfd polled[CONNECTIONS + 2];

    for (int i = 0; i < CONNECTIONS; i++)
        connections[i].fd = -1;
    for (;;) {
        for (int i = 0; i < CONNECTIONS; i++)
            polled[i] = (struct pollfd){ connections[i].fd, POLLIN, 0 };
        polled[CONNECTIONS] = (struct pollfd){ p->listener, POLLIN, 0 };
        polled[CONNECTIONS + 1] = (struct pollfd){ p->end[0], POLLIN, 0 };
        poll(polled, CONNECTIONS + 2, -1);
        if (polled[CONNECTIONS + 1].revents)
            break;
        for (int i = 0; i < CONNECTIONS; i++) {
            if (connections[i].fd >= 0 && polled[i].revents)
                serve(p, &connections[i]);
        }
        if (polled[CONNECTIONS].revents)
            take(p, connections);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        if (connections[i].fd >= 0)
            drop(&connections[i], false);
    }
    return NULL;
}

void peer_open(struct peer *p, peer_fn *answer, void *context)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t len = sizeof(at);
    int failed;

    *p = (struct peer){ .answer = answer, .context = context };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    failed = bind(p->listener, (struct sockaddr *)(void *)&at, sizeof(at)) ||
             listen(p->listener, 64) ||
             getsockname(p->listener, (struct sockaddr *)(void *)&at, &len) ||
             pipe(p->end) || pthread_create(&p->thread, NULL, run, p);
    assert(!failed);
    (void)failed;
    snprintf(p->endpoint, sizeof(p->endpoint), "http://127.0.0.1:%u",
             ntohs(at.sin_port));
}

void peer_close(struct peer *p)
{
    close(p->end[1]);
    pthread_join(p->thread, NULL);
    close(p->end[0]);
    close(p->listener);
}

void peer_reply(struct rn_buf *out, int status, const char *headers,
                const char *body)
{
    if (rn_buf_printf(out,
                      "HTTP/1.1 %d Said\r\nContent-Length: %zu\r\n%s\r\n%s",
                      status, strlen(body), headers, body))
        abort();
}
