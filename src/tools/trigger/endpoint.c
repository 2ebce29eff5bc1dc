/* endpoint.c -- a small HTTP server for metrics and health. */
#include "tools/trigger/endpoint.h"

#include "tools/common/report.h"
#include "tools/trigger/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 8192, ANSWER_MAX = 1 << 20, WAIT_S = 2 };

struct rn_endpoint {
    struct rn_trigger *trigger;
    int listener;
    int wake[2]; /* closing the second ends the thread */
    pthread_t thread;
};

/* ---- answers ------------------------------------------------------------- */

/* Reads up to the end of the head.  False: there is none. */
static bool read_head(int fd, char out[REQUEST_MAX + 1])
{
    size_t len = 0;

    while (len < REQUEST_MAX) {
        ssize_t n = recv(fd, out + len, REQUEST_MAX - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        out[len] = 0;
        if (strstr(out, "\r\n\r\n"))
            return true;
    }
    return false;
}

static bool is_path(const char *request, const char *path)
{
    size_t len = strlen(path);
    const char *at = strchr(request, ' ');

    return at && strncmp(at + 1, path, len) == 0 && strchr(" ?", at[1 + len]);
}

static const char *answer(struct rn_trigger *t, const char *request,
                          struct rn_buf *body, const char **type)
{
    bool is_live = false, is_ready = false;
    enum rn_code rc;

    *type = "application/json";
    if (strncmp(request, "GET ", 4) != 0)
        return "405 Method Not Allowed";
    if (is_path(request, "/metrics")) {
        *type = "text/plain; version=0.0.4";
        return rn_trigger_print_metrics(t, body) ? "500 Internal Server Error"
                                                 : "200 OK";
    }
    if (!is_path(request, "/live") && !is_path(request, "/ready"))
        return "404 Not Found";
    rc = rn_trigger_print_health(t, &is_live, &is_ready, body);
    if (!rc && (is_path(request, "/live") ? is_live : is_ready))
        return "200 OK";
    return "503 Service Unavailable";
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

static void serve(struct rn_trigger *t, int fd)
{
    struct timeval limit = { .tv_sec = WAIT_S };
    struct rn_buf body = RN_BUF_INIT(ANSWER_MAX);
    struct rn_buf head = RN_BUF_INIT(1024);
    char request[REQUEST_MAX + 1];
    const char *status, *type;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (read_head(fd, request)) {
        status = answer(t, request, &body, &type);
        if (!rn_buf_printf(&head,
                           "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                           status, type, body.len)) {
            send_all(fd, rn_buf_view(&head));
            send_all(fd, rn_buf_view(&body));
        }
    }
    rn_buf_release(&head);
    rn_buf_release(&body);
}

static void *run(void *context)
{
    struct rn_endpoint *e = context;

    for (;;) {
        struct pollfd fds[] = { { .fd = e->listener, .events = POLLIN },
                                { .fd = e->wake[0], .events = POLLIN } };
        int fd;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (fds[1].revents)
            return NULL;
        fd = accept4(e->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(e->trigger, fd);
        close(fd);
    }
}

/* ---- addresses ----------------------------------------------------------- */

/* Cuts "[HOST]:PORT" or "HOST:PORT".  False: it is neither. */
static bool cut_address(const char *address, char host[256], const char **port)
{
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;

    if (!colon || !colon[1] || len > 255)
        return false;
    if (len > 1 && address[0] == '[' && colon[-1] == ']') {
        address++;
        len -= 2;
    }
    snprintf(host, 256, "%.*s", (int)len, address);
    *port = colon + 1;
    return true;
}

/* A socket that listens there, or -1 and errno. */
static int listen_at(const struct addrinfo *where)
{
    int yes = 1;
    int fd = socket(where->ai_family,
                    where->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (!bind(fd, where->ai_addr, where->ai_addrlen) && !listen(fd, 16))
        return fd;
    close(fd);
    return -1;
}

static void tell_address(int fd)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof(at);
    char host[256], port[32];

    if (!getsockname(fd, (struct sockaddr *)&at, &len) &&
        !getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), port,
                     sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV)) {
        (void)!rn_report(RN_EXIT_OK, "serving http://%s%s%s:%s/",
                         strchr(host, ':') ? "[" : "", host,
                         strchr(host, ':') ? "]" : "", port);
    }
}

static int open_listener(const char *option, const char *address, int *out)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    const char *port;
    char host[256];
    int error;

    if (!cut_address(address, host, &port))
        return rn_report(RN_EXIT_USAGE, "%s is [HOST]:PORT, not '%s'", option,
                         address);
    error = getaddrinfo(host[0] ? host : "127.0.0.1", port, &hints, &found);
    if (error)
        return rn_report(RN_EXIT_USAGE, "%s %s: %s", option, address,
                         gai_strerror(error));
    *out = listen_at(found);
    freeaddrinfo(found);
    if (*out < 0)
        return rn_report(RN_EXIT_FAILED, "%s %s: %s", option, address,
                         strerror(errno));
    tell_address(*out);
    return RN_EXIT_OK;
}

int rn_endpoint_open(struct rn_trigger *trigger, const char *option,
                     const char *address, struct rn_endpoint **out)
{
    struct rn_endpoint *e = rn_new(sizeof(*e));
    int status;

    if (!e)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    e->trigger = trigger;
    status = open_listener(option, address, &e->listener);
    if (status) {
        rn_free(e);
        return status;
    }
    if (pipe2(e->wake, O_CLOEXEC) || pthread_create(&e->thread, NULL, run, e)) {
        close(e->listener);
        rn_free(e);
        return rn_report(RN_EXIT_FAILED, "%s: a thread cannot be started",
                         option);
    }
    *out = e;
    return RN_EXIT_OK;
}

void rn_endpoint_close(struct rn_endpoint *e)
{
    if (!e)
        return;
    close(e->wake[1]);
    pthread_join(e->thread, NULL);
    close(e->wake[0]);
    close(e->listener);
    rn_free(e);
}
