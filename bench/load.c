/* load.c -- clients that ask one thing each, all the time, and are timed.
 *
 *   load KIND PORT CONNECTIONS SECONDS PID[,PID...]
 *
 *   make     a container with documents of 1 KB, 1,000 or as many as
 *            LOAD_DOCUMENTS says, on Runnel
 *   read     one of them, by id and key
 *   create   a new one
 *   find     one of them, by a number that each has
 *   top      a hundred, in the order of that number
 *   static   /doc.json, from a web server
 *   set      a new value of 1 KB, in Redis
 *
 * KIND with an "s" behind a colon ("read:s") goes over TLS.  One thread; each
 * connection sends its next request when its last answer is whole.  Prints
 * one line: answers a second, the median and the 99th percentile of the time to
 * an answer, and the CPU time that the processes used for one (of the whole
 * run, sampled in hundredths of a second).
 */
#include "base/base64.h"
#include "base/clock.h"
#include "base/env.h"
#include "cosmos/account.h"
#include "cosmos/auth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DOCUMENTS = 1000,
    CONNECTIONS_MAX = 1024,
    REQUEST_MAX = 4096,
    ANSWER_MAX = 256 << 10,
    SLOTS = 64 << 5, /* of the histogram: an octave of ns has 32 of them */
    PLACES = 4,      /* of an id in a request, at most */
    NUMBER_MIN = 1000000000, /* ten digits, whichever it is */
};

#define CONTAINER "dbs/bench/colls/docs"

enum kind { MAKE, READ, CREATE, FIND, TOP, STATIC, SET, KINDS };

static const char *const kind_names[KINDS] = { "make", "read", "create",
                                               "find", "top",  "static",
                                               "set" };

struct client {
    int fd;
    SSL *ssl;
    int64_t sent_ns;
    char request[REQUEST_MAX], answer[ANSWER_MAX];
    size_t length, got, id_length;
    char *places[PLACES]; /* where its id stands; NULL: no more */
    char *number;
};

static struct {
    enum kind kind;
    int port, epoll_fd;
    size_t connections, made, documents;
    SSL_CTX *tls;
    char date[RN_DATE_TEXT_MAX], filler[1024];
    char pid_text[256];
    char authorization[RN_AUTH_TEXT_MAX * 2]; /* of a list of documents */
    uint64_t answers, failures;
    uint32_t slots[SLOTS];
    unsigned run; /* makes its ids differ from another run's */
} load;

static void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    return rn_mono_ns(rn_env_real());
}

/* ---- requests ------------------------------------------------------------ */

static void sign(const char *verb, const char *word, const char *link,
                 char *out)
{
    struct rn_sign_parts parts = { rn_view_text(verb),
                                   rn_view_text(word),
                                   rn_view_text(link),
                                   rn_view_text(load.date),
                                   { 0 } };
    struct rn_buf text = RN_BUF_INIT(4096);
    unsigned char key[128], signature[RN_SIGNATURE_LEN];
    struct rn_signer *signer = NULL;
    struct rn_view token;
    size_t len = 0;

    if (rn_base64_decode(RN_LIT(RN_ACCOUNT_EMULATOR_KEY), RN_BASE64_STANDARD,
                         key, sizeof(key), &len) ||
        rn_signer_new(rn_view_of(key, len), &signer) ||
        rn_sign_print(&parts, &text) ||
        rn_signer_sign(signer, rn_buf_view(&text), signature))
        die("signing");
    token = rn_auth_print(signature, out);
    out[token.len] = '\0';
    rn_signer_free(signer);
    rn_buf_release(&text);
}

/* New documents are all over the index. */
static size_t number_of(void)
{
    return load.kind == CREATE
               ? NUMBER_MIN + load.made * 2654435761 % NUMBER_MIN
               : load.made - 1;
}

static size_t print_document(char *out, size_t room, const char *id)
{
    return (size_t)snprintf(
        out, room,
        "{\"id\":\"%s\",\"pk\":\"%s\",\"n\":%zu,\"filler\":\"%.*s\"}", id, id,
        number_of(), (int)(808 - 2 * strlen(id)), load.filler);
}

static void print_read(struct client *c, size_t number)
{
    char link[128], token[RN_AUTH_TEXT_MAX * 2];

    snprintf(link, sizeof(link), CONTAINER "/docs/d%zu", number);
    sign("get", "docs", link, token);
    c->length = (size_t)snprintf(
        c->request, REQUEST_MAX,
        "GET /%s HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2018-12-31\r\n"
        "x-ms-date: %s\r\nauthorization: %s\r\n"
        "x-ms-documentdb-partitionkey: [\"d%zu\"]\r\nAccept: "
        "application/json\r\n\r\n",
        link, load.date, token, number);
}

static void print_create(struct client *c, const char *id)
{
    char body[2048];
    size_t len = print_document(body, sizeof(body), id);

    c->length = (size_t)snprintf(
        c->request, REQUEST_MAX,
        "POST /" CONTAINER "/docs HTTP/1.1\r\nHost: localhost\r\n"
        "x-ms-version: 2018-12-31\r\nx-ms-date: %s\r\nauthorization: %s\r\n"
        "x-ms-documentdb-partitionkey: [\"%s\"]\r\nAccept: application/json\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        load.date, load.authorization, id, len, body);
}

static void print_query(struct client *c, const char *text, size_t n)
{
    char body[512];
    size_t len = (size_t)snprintf(body, sizeof(body),
                                  "{\"query\":\"%s\",\"parameters\":[{\"name\":"
                                  "\"@n\",\"value\":%zu}]}",
                                  text, n);

    c->length = (size_t)snprintf(
        c->request, REQUEST_MAX,
        "POST /" CONTAINER "/docs HTTP/1.1\r\nHost: localhost\r\n"
        "x-ms-version: 2018-12-31\r\nx-ms-date: %s\r\nauthorization: %s\r\n"
        "x-ms-documentdb-isquery: true\r\nAccept: application/json\r\n"
        "x-ms-documentdb-query-enablecrosspartition: true\r\n"
        "Content-Type: application/query+json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        load.date, load.authorization, len, body);
}

/* Requests that differ in an id and a number, which have the same length each
 * time, are printed once: the client should cost little beside the server. */
static void note_places(struct client *c, const char *id)
{
    char *at = c->request, number[32];

    for (int i = 0; i < PLACES && (at = strstr(at, id)); i++)
        c->places[i] = at++;
    snprintf(number, sizeof(number), ":%zu,", number_of());
    c->number = load.kind == CREATE ? strstr(c->request, number) + 1 : NULL;
}

static void print_digits(char *at, int count, size_t n)
{
    for (int i = count - 1; i >= 0; i--, n /= 10)
        at[i] = (char)('0' + n % 10);
}

/* An id ends with its nine digits. */
static void print_again(struct client *c)
{
    for (int i = 0; i < PLACES && c->places[i]; i++)
        print_digits(c->places[i] + c->id_length - 9, 9, load.made);
    if (c->number)
        print_digits(c->number, 10, number_of());
}

static void print_next(struct client *c)
{
    char id[64];

    load.made++;
    if (c->places[0]) {
        print_again(c);
        return;
    }
    c->id_length =
        (size_t)snprintf(id, sizeof(id), "r%u-%09zu", load.run, load.made);
    switch (load.kind) {
    case READ: /* the request of a connection stays the same */
    case STATIC:
        break;
    case MAKE:
        snprintf(id, sizeof(id), "d%zu", load.made - 1);
        print_create(c, id);
        break;
    case CREATE:
        print_create(c, id);
        note_places(c, id);
        break;
    case FIND:
        print_query(c, "SELECT * FROM c WHERE c.n = @n",
                    load.made * 7919 % load.documents);
        break;
    case TOP:
        print_query(c, "SELECT TOP 100 * FROM c WHERE c.n >= @n ORDER BY c.n",
                    load.made * 7919 % (load.documents - 100));
        break;
    case SET:
        c->length = (size_t)snprintf(
            c->request, REQUEST_MAX,
            "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$1024\r\n%.1024s\r\n", strlen(id),
            id, load.filler);
        note_places(c, id);
        break;
    case KINDS:
        break;
    }
}

static void print_first(struct client *c, size_t number)
{
    if (load.kind == READ)
        print_read(c, number * 7 % load.documents);
    else if (load.kind == STATIC)
        c->length = (size_t)snprintf(c->request, REQUEST_MAX,
                                     "GET /doc.json HTTP/1.1\r\n"
                                     "Host: localhost\r\n\r\n");
}

/* ---- sockets ------------------------------------------------------------- */

static int dial(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)load.port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
        die("connecting");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static void open_client(struct client *c)
{
    c->fd = dial();
    if (load.tls) {
        c->ssl = SSL_new(load.tls);
        if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1 ||
            SSL_connect(c->ssl) != 1)
            die("shaking hands");
    }
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK))
        die("fcntl");
}

/* 0: nothing now. */
static size_t read_some(struct client *c)
{
    ssize_t n;
    size_t moved = 0;

    if (c->ssl) {
        if (SSL_read_ex(c->ssl, c->answer + c->got, ANSWER_MAX - c->got - 1,
                        &moved))
            return moved;
        if (SSL_get_error(c->ssl, 0) != SSL_ERROR_WANT_READ)
            die("reading");
        return 0;
    }
    n = recv(c->fd, c->answer + c->got, ANSWER_MAX - c->got - 1, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        die("reading");
    return n > 0 ? (size_t)n : 0;
}

/* Requests fit the socket's buffer. */
static void send_request(struct client *c, int64_t now)
{
    size_t moved = 0;
    ssize_t n;

    c->sent_ns = now;
    c->got = 0;
    if (c->ssl) {
        if (!SSL_write_ex(c->ssl, c->request, c->length, &moved))
            die("writing");
        return;
    }
    n = send(c->fd, c->request, c->length, MSG_NOSIGNAL);
    if (n != (ssize_t)c->length)
        die("writing");
}

/* Where the body begins, and how long it says to be; false: not there yet. */
static bool read_head(struct client *c, const char **body, size_t *length)
{
    static const char name[] = "content-length:";
    const char *line = c->answer, *end;

    *length = 0;
    while ((end = memchr(line, '\n', c->got - (size_t)(line - c->answer)))) {
        if (*line == '\r') {
            *body = end + 1;
            return true;
        }
        if ((*line | 0x20) == 'c' && !strncasecmp(line, name, strlen(name)))
            *length = strtoul(line + strlen(name), NULL, 10);
        line = end + 1;
    }
    return false;
}

/* Is the answer whole?  Then `*good` says whether it was the right one. */
static bool is_whole(struct client *c, bool *good)
{
    const char *body;
    size_t length;

    c->answer[c->got] = '\0';
    if (load.kind == SET) {
        *good = c->answer[0] == '+';
        return strstr(c->answer, "\r\n") != NULL;
    }
    if (!read_head(c, &body, &length))
        return false;
    *good = strncmp(c->answer + 9,
                    load.kind == CREATE || load.kind == MAKE ? "201" : "200",
                    3) == 0;
    if (load.kind == FIND || load.kind == TOP)
        *good =
            *good && strstr(c->answer, load.kind == FIND
                                           ? "\r\nx-ms-item-count: 1\r\n"
                                           : "\r\nx-ms-item-count: 100\r\n");
    return c->got >= (size_t)(body - c->answer) + length;
}

/* ---- measuring ----------------------------------------------------------- */

/* The highest bit and the five behind it. */
static void note_time(int64_t ns)
{
    uint64_t n = ns > 32 ? (uint64_t)ns : 32;
    unsigned octave = 63 - (unsigned)__builtin_clzll(n);

    load.slots[octave << 5 | (n >> (octave - 5) & 31)]++;
}

/* In microseconds; the upper end of the slot. */
static double percentile(double share)
{
    double left = share * (double)load.answers;
    unsigned i = 0;

    while (i < SLOTS - 1 && (left -= load.slots[i]) > 0)
        i++;
    return ldexp((i & 31) + 33, (int)(i >> 5) - 5) / 1e3;
}

/* Hundredths of a second that the processes, and their children that are gone,
 * have used. */
static uint64_t cpu_ticks(void)
{
    char pids[256], path[64], text[1024];
    uint64_t total = 0;
    char *rest = pids, *pid;

    snprintf(pids, sizeof(pids), "%s", load.pid_text);
    while ((pid = strsep(&rest, ",")) && *pid) {
        unsigned long long ticks[4] = { 0 };
        char *at;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%s/stat", pid);
        file = fopen(path, "re");
        if (!file)
            continue;
        at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
        fclose(file);
        for (int field = 2; at && field < 13; field++)
            at = strchr(at + 1, ' ');
        for (int i = 0; at && i < 4; i++)
            ticks[i] = strtoull(at + 1, &at, 10);
        total += ticks[0] + ticks[1] + ticks[2] + ticks[3];
    }
    return total;
}

static void on_readable(struct client *c)
{
    size_t n;
    bool good = false;
    int64_t now;

    while ((n = read_some(c)) > 0) {
        c->got += n;
        if (c->got >= ANSWER_MAX - 1)
            die("an answer is too long");
        if (!c->ssl)
            break;
    }
    if (c->got == 0 || !is_whole(c, &good))
        return;
    now = now_ns();
    note_time(now - c->sent_ns);
    load.answers++;
    load.failures += !good;
    if (!good && load.failures == 1)
        fprintf(stderr, "load: %.300s\n", c->answer);
    if (load.kind == MAKE && load.made >= load.documents)
        return;
    print_next(c);
    send_request(c, now);
}

static void run(struct client *clients, double seconds)
{
    struct epoll_event events[256];
    int64_t end;

    for (size_t i = 0; i < load.connections; i++) {
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = &clients[i] };
        open_client(&clients[i]);
        if (epoll_ctl(load.epoll_fd, EPOLL_CTL_ADD, clients[i].fd, &e))
            die("epoll");
        print_first(&clients[i], i);
    }
    end = now_ns() + (int64_t)(seconds * 1e9);
    for (size_t i = 0; i < load.connections; i++) {
        print_next(&clients[i]);
        send_request(&clients[i], now_ns());
    }
    while (now_ns() < end &&
           (load.kind != MAKE || load.answers < load.documents)) {
        int n = epoll_wait(load.epoll_fd, events, 256, 100);
        for (int i = 0; i < n; i++)
            on_readable(events[i].data.ptr);
    }
}

/* ---- the container ------------------------------------------------------- */

static void ask(const char *path, const char *word, const char *link,
                const char *body)
{
    struct client *c = rn_new(sizeof(*c));
    char token[RN_AUTH_TEXT_MAX * 2];
    bool good;

    if (!c)
        die("memory");
    sign("post", word, link, token);
    c->length = (size_t)snprintf(
        c->request, REQUEST_MAX,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2018-12-31\r\n"
        "x-ms-date: %s\r\nauthorization: %s\r\nContent-Length: %zu\r\n\r\n%s",
        path, load.date, token, strlen(body), body);
    open_client(c);
    if (fcntl(c->fd, F_SETFL, 0))
        die("fcntl");
    send_request(c, now_ns());
    while (!is_whole(c, &good))
        c->got += read_some(c);
    if (!good)
        fprintf(stderr, "load: %.300s\n", c->answer);
    close(c->fd);
    rn_free(c);
}

static void read_kind(const char *text)
{
    size_t len = strcspn(text, ":");

    for (load.kind = MAKE; load.kind < KINDS; load.kind++) {
        if (strlen(kind_names[load.kind]) == len &&
            strncmp(kind_names[load.kind], text, len) == 0)
            break;
    }
    if (load.kind == KINDS || (text[len] && strcmp(text + len, ":s") != 0)) {
        fprintf(stderr, "load: what is '%s'?\n", text);
        exit(2);
    }
    if (text[len])
        load.tls = SSL_CTX_new(TLS_client_method());
}

int main(int argc, char **argv)
{
    int64_t begun;
    uint64_t ticks;
    double seconds;
    struct client *clients;

    if (argc != 6) {
        fprintf(stderr, "usage: load KIND PORT CONNECTIONS SECONDS PIDS\n");
        return 2;
    }
    read_kind(argv[1]);
    load.port = (int)strtol(argv[2], NULL, 10);
    load.connections = strtoul(argv[3], NULL, 10);
    snprintf(load.pid_text, sizeof(load.pid_text), "%s", argv[5]);
    if (load.connections < 1 || load.connections > CONNECTIONS_MAX)
        return 2;
    load.run = (unsigned)getpid();
    load.documents = getenv("LOAD_DOCUMENTS")
                         ? strtoul(getenv("LOAD_DOCUMENTS"), NULL, 10)
                         : DOCUMENTS;
    if (load.documents <= 100)
        return 2;
    load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    memset(load.filler, 'x', sizeof(load.filler));
    rn_date_print(rn_wall_ms(rn_env_real()) / 1000, load.date);
    sign("post", "docs", CONTAINER, load.authorization);
    if (load.kind == MAKE) {
        ask("/dbs", "dbs", "", "{\"id\":\"bench\"}");
        ask("/dbs/bench/colls", "colls", "dbs/bench",
            "{\"id\":\"docs\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":"
            "\"Hash\",\"version\":2}}");
    }
    clients = rn_new(load.connections * sizeof(*clients));
    if (!clients)
        die("memory");
    ticks = cpu_ticks();
    begun = now_ns();
    run(clients, strtod(argv[4], NULL));
    seconds = (double)(now_ns() - begun) / 1e9;
    ticks = cpu_ticks() - ticks;
    printf("%s %zu %.0f %.0f %.0f %.1f %llu\n", argv[1], load.connections,
           (double)load.answers / seconds, percentile(0.5), percentile(0.99),
           load.answers ? (double)ticks * 1e6 / (double)sysconf(_SC_CLK_TCK) /
                              (double)load.answers
                        : 0,
           (unsigned long long)load.failures);
    return load.failures > 0;
}
