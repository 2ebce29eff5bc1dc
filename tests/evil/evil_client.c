/* evil_client.c -- an ill-mannered client, for tests/suites/evil.sh.
 *
 *   evil_client framing PORT FILE   every case of a corpus file, each on a
 *                                   connection of its own
 *   evil_client pace PORT MS COUNT  so many clients that send slowly or not at
 *                                   all are cut off by a server that allows MS,
 *                                   and others are served meanwhile; that it
 *                                   holds them until then is slow.py
 *   evil_client stall PORT          so are clients that do not read answers
 *   evil_client noise PORT          bytes of another protocol than the port's
 *   evil_client health PORT         one good request
 *
 * Prints on stdout what went wrong; its exit status says whether anything did.
 * Nothing is waited for without a limit.
 */
#include "lib/evil.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ANSWER_MS = 30000, /* for a whole case; sanitized servers are slow */
    IN_MAX = 64 << 20,
    VICTIMS_MAX = 4000,
    GRACE_MS = 6000, /* past the limit; the server looks once a second */
};

static const char health[] = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";

static uint16_t port;

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- a connection -------------------------------------------------------- */

struct line {
    int fd;
    struct rn_view out; /* still to be sent */
    struct rn_buf in;
    size_t at; /* of it, understood so far */
    bool ended;
    int64_t until;
};

static int dial(int receive_bytes)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (receive_bytes)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes,
                   sizeof(receive_bytes));
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
        fcntl(fd, F_SETFL, O_NONBLOCK)) {
        printf("cannot connect: %s\n", strerror(errno));
        exit(1);
    }
    return fd;
}

static struct line line_open(struct rn_view bytes)
{
    return (struct line){ .fd = dial(0),
                          .out = bytes,
                          .in = RN_BUF_INIT(IN_MAX),
                          .until = now_ms() + ANSWER_MS };
}

static void line_close(struct line *l)
{
    close(l->fd);
    rn_buf_release(&l->in);
}

static void line_send(struct line *l)
{
    ssize_t n = send(l->fd, l->out.at, l->out.len, MSG_NOSIGNAL);

    if (n > 0) {
        l->out.at += n;
        l->out.len -= (size_t)n;
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        l->out.len = 0; /* it takes no more, but may have answered */
    }
}

static void line_receive(struct line *l)
{
    ssize_t n;

    if (rn_buf_reserve(&l->in, 64 << 10)) {
        l->ended = true;
        return;
    }
    n = recv(l->fd, l->in.at + l->in.len, 64 << 10, 0);
    if (n > 0)
        l->in.len += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        l->ended = true;
}

/* Waits for one event.  False when time is up or the connection has ended. */
static bool line_turn(struct line *l)
{
    struct pollfd p = { .fd = l->fd, .events = POLLIN };
    int64_t left = l->until - now_ms();

    if (l->ended || left <= 0)
        return false;
    if (l->out.len)
        p.events |= POLLOUT;
    if (poll(&p, 1, (int)left) <= 0)
        return false;
    if (p.revents & POLLOUT)
        line_send(l);
    if (p.revents & (POLLIN | POLLHUP | POLLERR))
        line_receive(l);
    return true;
}

/* ---- answers ------------------------------------------------------------- */

/* The length an answer's head announces. */
static size_t body_length(const char *head, const char *end)
{
    static const char name[] = "content-length:";

    for (; head < end; head++) {
        if (*head == '\n' && strncasecmp(head + 1, name, strlen(name)) == 0)
            return (size_t)strtoull(head + 1 + strlen(name), NULL, 10);
    }
    return 0;
}

/* The end of the head, or NULL. */
static const char *head_end(const char *at, size_t len)
{
    const char *end = len ? memmem(at, len, "\r\n\r\n", 4) : NULL;

    return end ? end + 4 : NULL;
}

/* The answer in HTTP/2 to use HTTP/1.1: SETTINGS, GOAWAY. */
static const char goaway[] = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
                             "\x00\x00\x08\x07\x00\x00\x00\x00\x00"
                             "\x00\x00\x00\x00\x00\x00\x00\x0d";

/* Takes an answer off what has arrived: its status; 0 if it is not all here,
 * -1 if it is no answer. */
static int take_answer(struct line *l, bool has_body)
{
    const char *at = l->in.at + l->at;
    size_t len = l->in.len - l->at, body;
    const char *end = head_end(at, len);
    int status;

    if (len >= sizeof(goaway) - 1 &&
        memcmp(at, goaway, sizeof(goaway) - 1) == 0) {
        l->at += sizeof(goaway) - 1;
        return EVIL_GOAWAY;
    }
    if (!end)
        return 0;
    if (memcmp(at, "HTTP/1.1 ", 9) != 0)
        return -1;
    status = (int)strtol(at + 9, NULL, 10);
    body = has_body && status >= 200 ? body_length(at, end) : 0;
    if ((size_t)(end - at) + body > len)
        return 0;
    l->at += (size_t)(end - at) + body;
    return status >= 100 && status < 600 ? status : -1;
}

/* The next final answer's status, or 0 if there is none any more. */
static int next_answer(struct line *l, bool has_body)
{
    for (;;) {
        int status = take_answer(l, has_body);

        if (status < 0 || status >= 200)
            return status;
        if (status == 0 && !line_turn(l))
            return 0;
    }
}

/* Is it closed, with nothing more having been said? */
static bool is_closed_silently(struct line *l)
{
    while (line_turn(l))
        ;
    while (take_answer(l, true) / 100 == 1)
        ; /* 100 Continue is no answer */
    return l->ended && l->at == l->in.len;
}

static int check_health(void)
{
    struct line l = line_open(rn_view_text(health));
    int status = next_answer(&l, true);

    line_close(&l);
    if (status != 200)
        printf("a healthy request got %d\n", status);
    return status == 200 ? 0 : 1;
}

/* ---- framing ------------------------------------------------------------- */

struct tally {
    int cases, wrong;
};

/* NULL if the end is as it should be. */
static const char *check_end(struct line *l, enum evil_end end)
{
    switch (end) {
    case EVIL_OPEN:
        while (l->out.len && line_turn(l))
            ;
        l->out = rn_view_text(health);
        return next_answer(l, true) == 200 ? NULL
                                           : "does not serve another request";
    case EVIL_WAIT:
        while (l->out.len && line_turn(l))
            ;
        shutdown(l->fd, SHUT_WR);
        return is_closed_silently(l) ? NULL : "is not closed silently";
    case EVIL_CLOSE:
        break;
    }
    return is_closed_silently(l) ? NULL : "is not closed";
}

static void try_case(void *context, const struct evil_case *c)
{
    struct tally *tally = context;
    struct line l = line_open(c->bytes);
    bool is_head = rn_view_starts(c->bytes, RN_LIT("HEAD / HTTP/1.1\r\n"));
    const char *wrong = NULL;
    int status = 0;

    for (size_t i = 0; i < c->answer_count; i++) {
        const struct evil_answer *a = &c->answers[i];
        for (size_t n = 0; !wrong && n < a->times; n++) {
            status = next_answer(&l, !is_head || a->high >= 400);
            is_head = false; /* only a case's first request may be one */
            if (status < 200 ||
                (a->high && (status < a->low || status > a->high)))
                wrong = "has another answer";
        }
    }
    if (!wrong)
        wrong = check_end(&l, c->end);
    if (wrong)
        printf("%s:%d: %s: %s; last status %d, %zu bytes came, %s\n", c->file,
               c->line, c->name, wrong, status, l.in.len,
               l.ended ? "closed" : "open");
    line_close(&l);
    tally->cases++;
    tally->wrong += wrong != NULL;
}

static int run_framing(const char *path)
{
    struct tally tally = { 0 };
    struct rn_err err = { 0 };

    if (evil_each(path, try_case, &tally, &err)) {
        printf("%s\n", err.text);
        return 1;
    }
    printf("%d cases, %d wrong\n", tally.cases, tally.wrong);
    return check_health() || tally.wrong || !tally.cases;
}

/* ---- pace ---------------------------------------------------------------- */

/* A client that is not done when its time is up.  `drip` is what it sends a
 * byte of now and then, after `first`. */
struct manner {
    const char *name, *first, *drip;
};

static const struct manner manners[] = {
    { "says nothing", "", "" },
    { "stops in its head", "GET /healthz HTTP/1.1\r\nHost:", "" },
    { "drips its head", "GET /healthz HTTP/1.1\r\nX: ", "x" },
    { "drips its body",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n"
      "\r\n",
      "x" },
    { "drips chunks",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked"
      "\r\n\r\n99\r\n",
      "x" },
    { "drips empty lines", "", "\n" },
    { "is idle after a request", health, "" },
    { "drips after a request",
      "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
      "GET /heal",
      "x" },
};
enum { MANNERS = sizeof(manners) / sizeof(manners[0]) };

struct victim {
    int fd; /* -1: cut off */
    const struct manner *manner;
};

static struct victim victims[VICTIMS_MAX];
static int victim_count;

static void begin_victims(void)
{
    for (int i = 0; i < victim_count; i++) {
        const struct manner *m = &manners[i % MANNERS];

        victims[i] = (struct victim){ .fd = dial(0), .manner = m };
        if (m->first[0])
            (void)!send(victims[i].fd, m->first, strlen(m->first),
                        MSG_NOSIGNAL);
    }
}

/* Lets each send a byte; how many are still connected. */
static int turn_victims(void)
{
    int left = 0;

    for (int i = 0; i < victim_count; i++) {
        struct victim *v = &victims[i];
        char answer[4096];
        ssize_t n = 1;

        if (v->fd < 0)
            continue;
        if (v->manner->drip[0])
            (void)!send(v->fd, v->manner->drip, 1, MSG_NOSIGNAL);
        while (n > 0)
            n = recv(v->fd, answer, sizeof(answer), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            left++;
            continue;
        }
        close(v->fd);
        v->fd = -1;
    }
    return left;
}

static int end_victims(void)
{
    int wrong = 0;

    for (int i = 0; i < victim_count; i++) {
        if (victims[i].fd < 0)
            continue;
        close(victims[i].fd);
        if (i < MANNERS || wrong == 0)
            printf("one that %s is not cut off\n", victims[i].manner->name);
        wrong = 1;
    }
    return wrong;
}

static int run_pace(int64_t limit_ms)
{
    int64_t start = now_ms(), ended, worst = 0;
    int left, served = 0, wrong = 0;

    begin_victims();
    do {
        int64_t asked = now_ms();
        wrong |= check_health();
        served++;
        if (now_ms() - asked > worst)
            worst = now_ms() - asked;
        poll(NULL, 0, 100); /* the pace of the drip, not a wait for it */
        left = turn_victims();
        ended = now_ms();
    } while (left && !wrong && ended - start < 2 * limit_ms + GRACE_MS);
    printf("%d clients cut off in %lld ms; %d requests served meanwhile, the "
           "slowest in %lld ms\n",
           victim_count - left, (long long)(ended - start), served,
           (long long)worst);
    if (ended - start < limit_ms) {
        printf("they were cut off before their time\n");
        wrong = 1;
    }
    return end_victims() || wrong;
}

/* Sends requests and reads no answer, with little room for them, until the
 * server has had enough. */
static int run_stall(void)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    int64_t until = now_ms() + ANSWER_MS;
    int fd = dial(4096);
    bool cut = false;
    int wrong = 0;

    while (!cut && !wrong && now_ms() < until) {
        struct pollfd p = { .fd = fd };

        for (int i = 0; i < 1000; i++)
            (void)!send(fd, request, strlen(request), MSG_NOSIGNAL);
        cut = poll(&p, 1, 100) > 0 && p.revents & (POLLHUP | POLLERR);
        wrong = check_health();
    }
    close(fd);
    if (!cut)
        printf("one that reads nothing is not cut off\n");
    return wrong || !cut;
}

/* ---- noise --------------------------------------------------------------- */

/* A constant, which RN_LIT is not. */
#define BYTES(s)                                                               \
    {                                                                          \
        s, sizeof(s) - 1                                                       \
    }

static const struct noise {
    const char *name;
    struct rn_view bytes;
} noises[] = {
    { "a TLS record and nothing", BYTES("\x16") },
    { "half a record header", BYTES("\x16\x03\x01") },
    { "a record of no bytes", BYTES("\x16\x03\x01\x00\x00") },
    { "a record too long", BYTES("\x16\x03\x01\xff\xff zzzzzzzzzzzzzzzz") },
    { "a hello cut short", BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
                                 "0123456789") },
    { "a hello of nonsense", BYTES("\x16\x03\x01\x00\x08zzzzzzzz") },
    { "a request behind the byte of TLS",
      BYTES("\x16GET / HTTP/1.1\r\nHost: h\r\n\r\n") },
    { "an alert", BYTES("\x15\x03\x01\x00\x02\x02\x28") },
    { "application data", BYTES("\x17\x03\x03\x00\x04zzzz") },
    { "zeros", BYTES("\0\0\0\0\0\0\0\0") },
};

static int run_noise(void)
{
    int wrong = 0;

    for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
        struct line l = line_open(noises[i].bytes);

        while (l.out.len && line_turn(&l))
            ;
        shutdown(l.fd, SHUT_WR);
        while (line_turn(&l))
            ;
        if (!l.ended) {
            printf("%s: not closed\n", noises[i].name);
            wrong = 1;
        }
        line_close(&l);
        wrong |= check_health();
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";

    port = (uint16_t)(argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
    if (strcmp(verb, "framing") == 0 && argc == 4)
        return run_framing(argv[3]);
    if (strcmp(verb, "pace") == 0 && argc == 5) {
        victim_count = (int)strtol(argv[4], NULL, 10);
        if (victim_count > 0 && victim_count <= VICTIMS_MAX)
            return run_pace(strtoll(argv[3], NULL, 10));
    }
    if (strcmp(verb, "stall") == 0)
        return run_stall();
    if (strcmp(verb, "noise") == 0)
        return run_noise();
    if (strcmp(verb, "health") == 0)
        return check_health();
    fprintf(stderr, "usage: evil_client framing|pace|stall|noise|health PORT "
                    "[FILE|MS COUNT]\n");
    return 2;
}
