/* web.c -- see web.h. */
#include "history/web.h"

#include "base/base64.h"
#include "base/clock.h"
#include "cosmos/auth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_MAX = 4096, ANSWER_MAX = 16 << 20, ANSWER_S = 30 };

/* The emulators' key; every client of the service knows it. */
static const char well_known[] =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEc"
    "aGQy67XIw/Jw==";

struct web web;

uint64_t web_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the server ---------------------------------------------------------- */

int web_start(void)
{
    int out[2];
    FILE *lines;
    char line[256];
    int port = 0;

    if (pipe(out))
        return 0;
    web.pid = fork();
    if (web.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execl(web.program, web.program, "serve", "--listen", "127.0.0.1:0",
              "--data", web.dir, "--log-level", "error", "--ranges", web.ranges,
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

void web_announce(int port)
{
    atomic_store(&web.port, port);
}

bool web_command(const char *verb, const char *a, const char *b)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
        execl(web.program, web.program, verb, a, b, (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

void web_kill(int signal)
{
    atomic_store(&web.port, 0);
    kill(web.pid, signal);
    waitpid(web.pid, NULL, 0);
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
    int port = c->port ? c->port : atomic_load(&web.port);

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

static void print_request(struct client *c, const struct request *r)
{
    char date[RN_DATE_TEXT_MAX], auth[RN_AUTH_TEXT_MAX];
    unsigned char signature[RN_SIGNATURE_LEN];
    struct rn_buf string = RN_BUF_INIT(4096);
    struct rn_view d = rn_date_print(time(NULL), date), a;
    struct rn_sign_parts parts = { .verb = rn_view_text(r->verb),
                                   .word = rn_view_text(r->word),
                                   .link = rn_view_text(r->link),
                                   .x_date = d };

    if (rn_sign_print(&parts, &string) ||
        rn_signer_sign(c->signer, rn_buf_view(&string), signature))
        abort();
    rn_buf_release(&string);
    a = rn_auth_print(signature, auth);
    rn_buf_clear(&c->out);
    if (rn_buf_printf(
            &c->out,
            "%s %s HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2018-12-31\r\n"
            "x-ms-date: %.*s\r\nAuthorization: %.*s\r\nContent-Length: %zu\r\n"
            "%s\r\n",
            r->verb, r->path, RN_FMT(d), RN_FMT(a), r->body.len,
            r->more ? r->more : "") ||
        rn_buf_add(&c->out, r->body))
        abort();
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

static struct rn_view header(struct rn_view head, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i + len + 2 < head.len; i++) {
        size_t end = i + len + 2;
        if (head.at[i] != '\n' || strncasecmp(head.at + i + 1, name, len) ||
            head.at[i + 1 + len] != ':')
            continue;
        while (end < head.len && head.at[end] == ' ')
            end++;
        i = end;
        while (end < head.len && head.at[end] != '\r')
            end++;
        return rn_view_of(head.at + i, end - i);
    }
    return (struct rn_view){ 0 };
}

/* False if the connection ended first: nobody knows what happened. */
static bool read_answer(struct client *c, struct answer *out)
{
    struct rn_view head, length, token;
    const char *end = NULL;
    size_t body;

    c->in.len = 0;
    while (!end) {
        if (!receive(c))
            return false;
        end = memmem(c->in.at, c->in.len, "\r\n\r\n", 4);
    }
    head = rn_view_of(c->in.at, (size_t)(end - c->in.at) + 2);
    length = header(head, "content-length");
    body = length.len ? strtoul(length.at, NULL, 10) : 0;
    while (c->in.len < head.len + 2 + body)
        if (!receive(c))
            return false;
    head.at = c->in.at; /* it may have moved */
    *out = (struct answer){ .status = (int)strtol(head.at + 9, NULL, 10),
                            .etag = header(head, "etag"),
                            .body = rn_view_of(head.at + head.len + 2, body) };
    token = out->session = header(head, "x-ms-session-token");
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] == '#')
            out->lsn = strtoull(token.at + i + 1, NULL, 10);
    if (token.len)
        out->range = (uint32_t)strtoul(token.at, NULL, 10);
    return true;
}

bool client_ask(struct client *c, const struct request *r, struct answer *out)
{
    client_reach(c);
    print_request(c, r);
    if (send_all(c->fd, c->out.at, c->out.len) && read_answer(c, out))
        return true;
    client_hang_up(c);
    return false;
}

/* ---- what they note ------------------------------------------------------ */

struct history_entry *client_note(struct client *c,
                                  const struct history_entry *e)
{
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 1024;
        void *log = realloc(c->log, room * sizeof(*c->log));
        if (!log)
            abort();
        c->log = log;
        c->room = room;
    }
    c->log[c->count] = *e;
    return &c->log[c->count++];
}

bool web_read_etag(const struct rn_json *j, uint32_t value, struct rn_etag *out)
{
    struct rn_view tag = rn_json_text(j, value);
    char text[64];
    size_t n = 0;

    for (size_t i = 0; i < tag.len && n < sizeof(text); i++)
        if (tag.at[i] != '\\' && tag.at[i] != '"')
            text[n++] = tag.at[i];
    return rn_etag_parse(rn_view_of(text, n), out);
}

bool web_read_document(const struct rn_json *j, uint32_t at,
                       struct history_entry *e)
{
    struct rn_view id = rn_json_text(j, rn_json_find(j, at, RN_LIT("id")));
    struct rn_etag etag;
    int64_t token = 0;

    if (id.len < 2 ||
        !web_read_etag(j, rn_json_find(j, at, RN_LIT("_etag")), &etag) ||
        !rn_json_int64(j, rn_json_find(j, at, RN_LIT("w")), &token))
        return false;
    e->document = (uint32_t)strtoul(id.at + 1, NULL, 10);
    e->key = e->document % web.keys;
    e->token = (uint64_t)token;
    e->version = etag.lsn;
    e->n = etag.n;
    if (e->op == HISTORY_ITEM)
        e->range = etag.range; /* where it was written */
    return true;
}

/* ---- life ---------------------------------------------------------------- */

void client_init(struct client *c, uint32_t number, uint64_t seed)
{
    char key[64];
    size_t len = 0;

    *c = (struct client){ .number = number,
                          .fd = -1,
                          .in = RN_BUF_INIT(ANSWER_MAX),
                          .out = RN_BUF_INIT(ANSWER_MAX) };
    rn_chance_init(&c->chance, seed * 1000 + number);
    if (rn_base64_decode(rn_view_text(well_known), RN_BASE64_STANDARD, key,
                         sizeof(key), &len) ||
        rn_signer_new(rn_view_of(key, len), &c->signer))
        abort();
}

void client_release(struct client *c)
{
    client_hang_up(c);
    rn_signer_free(c->signer);
    rn_buf_release(&c->in);
    rn_buf_release(&c->out);
    free(c->log);
}
