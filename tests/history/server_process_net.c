/* server_process_net.c -- the server as a process, and clients with sockets. */
#include "history/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_S = 30 };

uint64_t server_process_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t server_process_wall_s(void)
{
    return time(NULL);
}

/* ---- the server ---------------------------------------------------------- */

int server_process_start(void)
{
    int out[2];
    FILE *lines;
    char line[256];
    int port = 0;

    if (pipe(out))
        return 0;
    server_process.pid = fork();
    if (server_process.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execl(server_process.program, server_process.program, "serve",
              "--listen", "127.0.0.1:0", "--data", server_process.dir,
              "--log-level", "error", "--ranges", server_process.ranges,
              "--loops", server_process.loops ? server_process.loops : "0",
              (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    lines = fdopen(out[0], "r");
    while (lines && !port && fgets(line, sizeof(line), lines)) {
        const char *colon = strrchr(line, ':');
        if (strncmp(line, "listening on ", 13) == 0 && colon)
            port = (int)strtol(colon + 1, NULL, 10);
    }
    if (lines)
        fclose(lines);
    return port;
}

void server_process_announce(int port)
{
    atomic_store(&server_process.port, port);
}

bool server_process_command(const char *verb, const char *a, const char *b)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
        execl(server_process.program, server_process.program, verb, a, b,
              (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

void server_process_kill(int signal)
{
    atomic_store(&server_process.port, 0);
    kill(server_process.pid, signal);
    waitpid(server_process.pid, NULL, 0);
}

/* ---- requests ------------------------------------------------------------ */

void client_hang_up(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static bool dial(struct client *c)
{
    struct sockaddr_in to = { .sin_family = AF_INET };
    struct timeval limit = { .tv_sec = ANSWER_S };
    int one = 1;
    int port = c->port ? c->port : atomic_load(&server_process.port);

    client_hang_up(c);
    if (!port)
        return false;
    to.sin_port = htons((uint16_t)port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return false;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return true;
    client_hang_up(c);
    return false;
}

void client_reach(struct client *c)
{
    while (c->fd < 0 && !dial(c))
        usleep(2000); /* the server is being started */
}

static bool send_all(int fd, const char *at, size_t len)
{
    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

static bool receive(struct client *c)
{
    ssize_t n;

    if (rn_buf_reserve(&c->in, 65536))
        return false;
    n = recv(c->fd, c->in.at + c->in.len, 65536, 0);
    if (n <= 0)
        return false;
    c->in.len += (size_t)n;
    return true;
}

/* False if the connection ended first: nobody knows what happened. */
static bool receive_answer(struct client *c, struct answer *out)
{
    c->in.len = 0;
    do {
        if (!receive(c))
            return false;
    } while (!server_process_read_answer(c, out));
    return true;
}

bool client_ask(struct client *c, const struct request *r, struct answer *out)
{
    client_reach(c);
    server_process_print_request(c, r);
    if (send_all(c->fd, c->out.at, c->out.len) && receive_answer(c, out))
        return true;
    client_hang_up(c);
    return false;
}
