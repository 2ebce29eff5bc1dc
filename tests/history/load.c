/* load.c -- many clients at a real server that is killed again and again, and
 * whether what they saw can be true.
 *
 *   history_load PROGRAM DIR OPERATIONS KILLS RANGES SHAPES SEED
 *
 * Starts PROGRAM on DIR, lets 64 clients read, write and compare-and-swap a few
 * hundred documents, alone and in batches, and 4 readers follow the change
 * feed, of ranges and of keys.  Kills the server with SIGKILL every so many
 * operations and starts it again, and splits and merges ranges SHAPES times;
 * then feeds are read by key only.  At the end everything is read once more,
 * quietly, and the history checked (check.h).
 *
 * Exit status 0: nothing wrong; 1: violations, told on stdout; 2: it could not
 * be done.
 */
#include "history/check.h"

#include "base/base64.h"
#include "base/chance.h"
#include "base/clock.h"
#include "cosmos/auth.h"
#include "cosmos/etag.h"
#include "json/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS = 64,
    READERS = 4,
    ALL =
        CLIENTS + READERS + 2, /* one splits and merges, one begins and ends */
    DOCUMENTS = 300,
    KEYS = 40,
    DOCUMENTS_EVEN = DOCUMENTS - DOCUMENTS % KEYS, /* d and d + KEYS: one key */
    HEAD_MAX = 2048,
    ANSWER_MAX = 4 << 20,
    ANSWER_S = 30,
};

/* The emulators' key; every client of the service knows it. */
static const char well_known[] =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEc"
    "aGQy67XIw/Jw==";

static struct {
    const char *program, *dir;
    char ranges[16];
    pid_t pid;
    atomic_int port; /* 0: it is down */
    atomic_ulong left, done, tokens;
    atomic_bool over;
    unsigned long kills, every, shapes;
    unsigned split, merged; /* so many were */
    uint64_t seed;
    pthread_mutex_t lock;
    struct rn_etag seen[DOCUMENTS]; /* a version somebody was told; locked */
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct client {
    pthread_t thread;
    uint32_t number;
    int fd, port;
    struct rn_chance chance;
    struct rn_signer *signer;
    struct rn_etag condition; /* of what it does now */
    struct rn_buf in;
    struct history_entry *log;
    size_t count, room;
    const char *broken; /* what should never happen */
};

struct answer {
    int status;
    uint32_t range;
    uint64_t lsn; /* of the session token */
    struct rn_view etag, body;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the server ---------------------------------------------------------- */

/* Starts it and learns the port. */
static bool start_server(void)
{
    int out[2];
    FILE *lines;
    char line[256];
    int port = 0;

    if (pipe(out))
        return false;
    world.pid = fork();
    if (world.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        close(out[0]);
        close(out[1]);
        execl(world.program, world.program, "serve", "--listen", "127.0.0.1:0",
              "--data", world.dir, "--log-level", "error", "--ranges",
              world.ranges, (char *)NULL);
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
    atomic_store(&world.port, port);
    return port != 0;
}

static void kill_server(int signal)
{
    atomic_store(&world.port, 0);
    kill(world.pid, signal);
    waitpid(world.pid, NULL, 0);
}

/* ---- requests ------------------------------------------------------------ */

static bool dial(struct client *c)
{
    struct sockaddr_in to = { .sin_family = AF_INET };
    struct timeval limit = { .tv_sec = ANSWER_S };
    int one = 1;

    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->port = atomic_load(&world.port);
    if (!c->port)
        return false;
    to.sin_port = htons((uint16_t)c->port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return false;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return true;
    close(c->fd);
    c->fd = -1;
    return false;
}

/* A connection, once the server is up. */
static void reach(struct client *c)
{
    while (c->fd < 0 && !dial(c))
        usleep(2000); /* the server is being started */
}

static size_t print_head(struct client *c, const char *verb, const char *word,
                         const char *link, const char *path, const char *more,
                         size_t body, char out[HEAD_MAX])
{
    char date[RN_DATE_TEXT_MAX], auth[RN_AUTH_TEXT_MAX];
    unsigned char signature[RN_SIGNATURE_LEN];
    struct rn_buf string = RN_BUF_INIT(4096);
    struct rn_view d = rn_date_print(time(NULL), date), a;
    struct rn_sign_parts parts = { .verb = rn_view_text(verb),
                                   .word = rn_view_text(word),
                                   .link = rn_view_text(link),
                                   .x_date = d };

    if (rn_sign_print(&parts, &string) ||
        rn_signer_sign(c->signer, rn_buf_view(&string), signature))
        abort();
    rn_buf_release(&string);
    a = rn_auth_print(signature, auth);
    return (size_t)snprintf(
        out, HEAD_MAX,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2018-12-31\r\n"
        "x-ms-date: %.*s\r\nAuthorization: %.*s\r\nContent-Length: %zu\r\n"
        "%s\r\n",
        verb, path, RN_FMT(d), RN_FMT(a), body, more);
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
    token = header(head, "x-ms-session-token");
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] == '#')
            out->lsn = strtoull(token.at + i + 1, NULL, 10);
    if (token.len)
        out->range = (uint32_t)strtoul(token.at, NULL, 10);
    return true;
}

static bool ask(struct client *c, const char *verb, const char *word,
                const char *link, const char *path, const char *more,
                struct rn_view body, struct answer *out)
{
    char message[HEAD_MAX + 512];
    size_t len;

    reach(c);
    len = print_head(c, verb, word, link, path, more, body.len, message);
    memcpy(message + len, body.at ? body.at : "", body.len);
    if (send_all(c->fd, message, len + body.len) && read_answer(c, out))
        return true;
    close(c->fd);
    c->fd = -1;
    return false;
}

/* ---- what clients do ----------------------------------------------------- */

static struct history_entry *note(struct client *c,
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

/* The token and the version in a document. */
static bool read_document(const struct rn_json *j, uint32_t at,
                          struct history_entry *e)
{
    struct rn_etag etag;
    char text[64];
    struct rn_view id = rn_json_text(j, rn_json_find(j, at, RN_LIT("id")));
    struct rn_view tag = rn_json_text(j, rn_json_find(j, at, RN_LIT("_etag")));
    int64_t token = 0;
    size_t n = 0;

    for (size_t i = 0; i < tag.len && n < sizeof(text); i++)
        if (tag.at[i] != '\\' && tag.at[i] != '"')
            text[n++] = tag.at[i];
    if (id.len < 2 || !rn_etag_parse(rn_view_of(text, n), &etag) ||
        !rn_json_int64(j, rn_json_find(j, at, RN_LIT("w")), &token))
        return false;
    e->document = (uint32_t)strtoul(id.at + 1, NULL, 10);
    e->key = e->document % KEYS;
    e->token = (uint64_t)token;
    e->version = etag.lsn;
    e->n = etag.n;
    return true;
}

static void learn(const struct history_entry *e, struct rn_view tag)
{
    struct rn_etag etag;

    if (!rn_etag_parse(tag, &etag))
        return;
    pthread_mutex_lock(&world.lock);
    world.seen[e->document] = etag;
    pthread_mutex_unlock(&world.lock);
}

/* Fills in what was answered. */
static void settle(struct client *c, struct history_entry *e,
                   const struct answer *a)
{
    struct rn_json j;
    struct rn_etag etag;

    e->status = (uint16_t)a->status;
    e->point = a->lsn;
    e->range = a->range;
    if (a->status == 429 || a->status >= 500) {
        e->status = 0; /* it may have happened, after a 503 */
        e->point = 0;
        return;
    }
    if (a->status >= 400)
        return;
    if (e->op == HISTORY_DELETE) {
        e->version = a->lsn;
        return;
    }
    learn(e, a->etag);
    if (e->op != HISTORY_READ) {
        if (!rn_etag_parse(a->etag, &etag))
            c->broken = "a write's answer has no etag";
        e->version = etag.lsn;
        e->point = etag.lsn;
        e->n = etag.n;
        return;
    }
    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, a->body, NULL) || !read_document(&j, 0, e))
        c->broken = "a document cannot be read";
    rn_json_release(&j);
}

static void draw(struct client *c, struct history_entry *e)
{
    static const uint8_t mix[] = {
        HISTORY_READ,   HISTORY_READ,   HISTORY_READ,    HISTORY_READ,
        HISTORY_UPSERT, HISTORY_UPSERT, HISTORY_REPLACE, HISTORY_REPLACE,
        HISTORY_CREATE, HISTORY_DELETE,
    };

    *e = (struct history_entry){
        .client = c->number,
        .document = (uint32_t)rn_chance_below(&c->chance, DOCUMENTS),
        .op = mix[rn_chance_below(&c->chance, sizeof(mix))],
        .t1 = HISTORY_NEVER,
    };
    /* Half of the work is on a few documents, so that clients collide. */
    if (rn_chance_percent(&c->chance, 50))
        e->document %= 8;
    e->key = e->document % KEYS;
    if (e->op != HISTORY_READ && e->op != HISTORY_DELETE)
        e->token = atomic_fetch_add(&world.tokens, 1) + 1;
    if ((e->op == HISTORY_REPLACE || e->op == HISTORY_DELETE) &&
        rn_chance_percent(&c->chance, 70)) {
        pthread_mutex_lock(&world.lock);
        c->condition = world.seen[e->document];
        pthread_mutex_unlock(&world.lock);
        e->condition = c->condition.lsn;
    }
}

static void act(struct client *c, struct history_entry *e)
{
    static const char *const verbs[] = { "GET", "POST", "POST", "PUT",
                                         "DELETE" };
    bool in_list = e->op == HISTORY_CREATE || e->op == HISTORY_UPSERT;
    char link[64], path[80], more[512], body[256], tag[RN_ETAG_LEN];
    struct answer a;
    int n;

    snprintf(link, sizeof(link),
             in_list ? "dbs/h/colls/c" : "dbs/h/colls/c/docs/d%u", e->document);
    snprintf(path, sizeof(path), in_list ? "/%s/docs" : "/%s", link);
    n = snprintf(more, sizeof(more),
                 "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n%s", e->key,
                 e->op == HISTORY_UPSERT ? "x-ms-documentdb-is-upsert: True\r\n"
                                         : "");
    if (e->condition) {
        rn_etag_print(c->condition, tag);
        snprintf(more + n, sizeof(more) - (size_t)n, "If-Match: %.*s\r\n",
                 RN_ETAG_LEN, tag);
    }
    body[0] = 0;
    if (e->token)
        snprintf(body, sizeof(body),
                 "{\"id\":\"d%u\",\"pk\":\"k%u\",\"w\":%llu}", e->document,
                 e->key, (unsigned long long)e->token);
    reach(c);
    e->t0 = now_ns();
    if (ask(c, verbs[e->op], "docs", link, path, more, rn_view_text(body),
            &a)) {
        e->t1 = now_ns();
        settle(c, e, &a);
        if (e->op == HISTORY_READ && e->status == 0)
            return;
    } else if (e->op == HISTORY_READ) {
        return;
    }
    note(c, e);
}

/* ---- batches ------------------------------------------------------------- */

/* Two documents of one key are written at once: both or none. */
static void read_results(struct client *c, const struct answer *a,
                         struct history_entry *pair)
{
    struct rn_json j;
    struct rn_json_walk walk;
    char text[64];
    size_t at = 0;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, a->body, NULL)) {
        c->broken = "a batch's answer cannot be read";
    } else {
        walk = rn_json_walk_begin(&j, 0);
        while (rn_json_walk_next(&walk) && at < 2) {
            struct history_entry *e = &pair[at++];
            struct rn_view tag =
                rn_json_text(&j, rn_json_find(&j, walk.value, RN_LIT("eTag")));
            struct rn_etag etag;
            size_t n = 0;

            for (size_t i = 0; i < tag.len && n < sizeof(text); i++)
                if (tag.at[i] != '\\' && tag.at[i] != '"')
                    text[n++] = tag.at[i];
            if (!rn_etag_parse(rn_view_of(text, n), &etag)) {
                c->broken = "a batch's result has no etag";
                break;
            }
            learn(e, rn_view_of(text, n));
            e->point = e->version = etag.lsn;
            e->n = etag.n;
            e->range = a->range;
            e->status = 200;
        }
        if (at != 2)
            c->broken = "a batch has other than two results";
    }
    rn_json_release(&j);
}

static void act_together(struct client *c, const struct history_entry *first)
{
    struct history_entry pair[2] = { *first, *first };
    char more[256], body[512];
    struct answer a;

    pair[1].document = (first->document + KEYS) % DOCUMENTS_EVEN;
    pair[1].token = atomic_fetch_add(&world.tokens, 1) + 1;
    snprintf(more, sizeof(more),
             "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n"
             "x-ms-cosmos-is-batch-request: True\r\n"
             "x-ms-cosmos-batch-atomic: True\r\n",
             first->key);
    body[0] = 0;
    for (size_t i = 0, n = 0; i < 2; i++)
        n += (size_t)snprintf(
            body + n, sizeof(body) - n,
            "%c{\"operationType\":\"Upsert\",\"resourceBody\":{\"id\":"
            "\"d%u\",\"pk\":\"k%u\",\"w\":%llu}}%s",
            i ? ',' : '[', pair[i].document, pair[i].key,
            (unsigned long long)pair[i].token, i ? "]" : "");
    reach(c);
    pair[0].t0 = pair[1].t0 = now_ns();
    if (ask(c, "POST", "docs", "dbs/h/colls/c", "/dbs/h/colls/c/docs", more,
            rn_view_text(body), &a) &&
        a.status != 429 && a.status < 500) {
        pair[0].t1 = pair[1].t1 = now_ns();
        if (a.status == 200)
            read_results(c, &a, pair);
        else
            c->broken = "a batch is refused";
    }
    note(c, &pair[0]);
    note(c, &pair[1]);
}

static void *run_client(void *arg)
{
    struct client *c = arg;
    struct history_entry e;

    while (!c->broken && atomic_load(&world.left)) {
        if (atomic_fetch_sub(&world.left, 1) > (1ul << 62)) {
            atomic_store(&world.left, 0);
            break;
        }
        draw(c, &e);
        if (e.op == HISTORY_UPSERT && e.document < DOCUMENTS_EVEN &&
            rn_chance_percent(&c->chance, 25))
            act_together(c, &e);
        else
            act(c, &e);
        atomic_fetch_add(&world.done, 1);
    }
    return NULL;
}

/* ---- readers of the feed ------------------------------------------------- */

static void note_items(struct client *c, const struct history_entry *page,
                       struct rn_view body)
{
    struct rn_json j;
    struct rn_json_walk walk;
    uint64_t place = 0;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, body, NULL)) {
        c->broken = "a page cannot be read";
    } else {
        walk = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
        while (rn_json_walk_next(&walk)) {
            struct history_entry item = { .t0 = page->t0,
                                          .t1 = page->t1,
                                          .client = page->client,
                                          .range = page->range,
                                          .op = HISTORY_ITEM,
                                          .from = place++ };
            if (!read_document(&j, walk.value, &item))
                c->broken = "a change cannot be read";
            note(c, &item);
        }
    }
    rn_json_release(&j);
}

/* What a reader follows: a range or a key. */
struct scope {
    bool of_key;
    uint32_t number;
    uint64_t place;
};

/* Reads one page; false if it is the last for now. */
static bool read_page(struct client *c, struct scope *s)
{
    char more[512];
    int n = snprintf(more, sizeof(more),
                     "A-IM: Incremental feed\r\nx-ms-max-item-count: %u\r\n",
                     1 + (unsigned)rn_chance_below(&c->chance, 200));
    struct history_entry page = { .client = c->number,
                                  .op = HISTORY_PAGE,
                                  .from = s->place,
                                  .of_key = s->of_key };
    struct answer a;

    n += snprintf(more + n, sizeof(more) - (size_t)n,
                  s->of_key ? "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n"
                            : "x-ms-documentdb-partitionkeyrangeid: %u\r\n",
                  s->number);
    if (s->place)
        snprintf(more + n, sizeof(more) - (size_t)n,
                 "If-None-Match: \"%llu\"\r\n", (unsigned long long)s->place);
    reach(c);
    page.t0 = now_ns();
    if (!ask(c, "GET", "docs", "dbs/h/colls/c", "/dbs/h/colls/c/docs", more,
             (struct rn_view){ 0 }, &a))
        return true; /* the same again */
    page.t1 = now_ns();
    if (a.status != 200 && a.status != 304) {
        if (a.status != 429 && a.status < 500)
            c->broken = "a page is refused";
        return true;
    }
    page.status = (uint16_t)a.status;
    page.point = a.lsn;
    page.range = a.range;
    if (s->of_key)
        page.key = s->number;
    if (rn_etag_parse_lsn(a.etag, &page.to, NULL))
        c->broken = "a page has no etag";
    s->place = page.to;
    page = *note(c, &page);
    if (a.status == 200)
        note_items(c, &page, a.body);
    return a.status == 200;
}

static void *run_reader(void *arg)
{
    struct client *c = arg;
    uint32_t ranges = (uint32_t)strtoul(world.ranges, NULL, 10);
    struct scope s = { .of_key = world.shapes || c->number % 2 };

    s.number = s.of_key ? c->number % 8 : c->number / 2 % ranges;
    while (!c->broken && !atomic_load(&world.over))
        if (!read_page(c, &s))
            usleep(1000);
    return NULL;
}

/* ---- splits and merges --------------------------------------------------- */

enum { RANGES_MAX = 12 };

/* The ids of the ranges there are, in the order of their intervals. */
static size_t read_ranges(struct client *c, unsigned ids[RANGES_MAX])
{
    struct rn_json j;
    struct rn_json_walk walk;
    struct answer a;
    size_t n = 0;

    if (!ask(c, "GET", "pkranges", "dbs/h/colls/c", "/dbs/h/colls/c/pkranges",
             "", (struct rn_view){ 0 }, &a) ||
        a.status != 200)
        return 0;
    rn_json_init(&j, NULL);
    if (!rn_json_parse(&j, a.body, NULL)) {
        walk = rn_json_walk_begin(
            &j, rn_json_find(&j, 0, RN_LIT("PartitionKeyRanges")));
        while (rn_json_walk_next(&walk) && n < RANGES_MAX)
            ids[n++] = (unsigned)strtoul(
                rn_json_text(&j, rn_json_find(&j, walk.value, RN_LIT("id"))).at,
                NULL, 10);
    }
    rn_json_release(&j);
    return n;
}

static void reshape(struct client *c)
{
    unsigned ids[RANGES_MAX];
    size_t n = read_ranges(c, ids), at;
    bool splits =
        n < 3 || (n < RANGES_MAX - 1 && rn_chance_percent(&c->chance, 50));
    char body[160];
    struct answer a;

    if (!n)
        return;
    at = rn_chance_below(&c->chance, splits ? n : n - 1);
    if (splits)
        snprintf(body, sizeof(body),
                 "{\"container\":\"dbs/h/colls/c\",\"range\":%u}", ids[at]);
    else
        snprintf(body, sizeof(body),
                 "{\"container\":\"dbs/h/colls/c\",\"range\":%u,\"with\":%u}",
                 ids[at], ids[at + 1]);
    if (!ask(c, "POST", "", splits ? "_runnel/split" : "_runnel/merge",
             splits ? "/_runnel/split" : "/_runnel/merge", "",
             rn_view_text(body), &a))
        return;
    if (a.status >= 300 && a.status < 500 && a.status != 410)
        c->broken = splits ? "a split is refused" : "a merge is refused";
    if (a.status < 300 && splits)
        world.split++;
    else if (a.status < 300)
        world.merged++;
}

/* Spread evenly over what the clients do. */
static void *run_shaper(void *arg)
{
    struct client *c = arg;
    unsigned long all = atomic_load(&world.left) + atomic_load(&world.done);

    for (unsigned long i = 1; i <= world.shapes && !c->broken; i++) {
        while (atomic_load(&world.done) < i * all / (world.shapes + 1) &&
               atomic_load(&world.left))
            usleep(500);
        reshape(c);
    }
    return NULL;
}

/* ---- all together -------------------------------------------------------- */

static void client_init(struct client *c, uint32_t number)
{
    char key[64];
    size_t len = 0;

    *c = (struct client){ .number = number,
                          .fd = -1,
                          .in = RN_BUF_INIT(ANSWER_MAX) };
    rn_chance_init(&c->chance, world.seed * 1000 + number);
    if (rn_base64_decode(rn_view_text(well_known), RN_BASE64_STANDARD, key,
                         sizeof(key), &len) ||
        rn_signer_new(rn_view_of(key, len), &c->signer))
        abort();
}

static bool set_up(struct client *c)
{
    struct answer a;

    return ask(c, "POST", "dbs", "", "/dbs", "", RN_LIT("{\"id\":\"h\"}"),
               &a) &&
           a.status == 201 &&
           ask(c, "POST", "colls", "dbs/h", "/dbs/h/colls", "",
               RN_LIT("{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],"
                      "\"kind\":\"Hash\",\"version\":2}}"),
               &a) &&
           a.status == 201;
}

/* Everything once more, when nobody writes. */
static void read_all(struct client *c)
{
    uint32_t ranges = (uint32_t)(int)strtol(world.ranges, NULL, 10);

    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        struct history_entry e = { .client = c->number,
                                   .document = d,
                                   .key = d % KEYS,
                                   .op = HISTORY_READ,
                                   .t1 = HISTORY_NEVER };
        act(c, &e);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        struct scope s = { .of_key = true, .number = i };
        while (read_page(c, &s) && !c->broken)
            ;
    }
    for (uint32_t i = 0; !world.shapes && i < ranges; i++) {
        struct scope s = { .number = i };
        while (read_page(c, &s) && !c->broken)
            ;
    }
}

/* Kills and starts the server each time the clients have done so much. */
static bool keep_killing(void)
{
    for (unsigned long k = 1; k <= world.kills; k++) {
        while (atomic_load(&world.done) < k * world.every &&
               atomic_load(&world.left))
            usleep(500);
        kill_server(SIGKILL);
        if (!start_server())
            return false;
    }
    return true;
}

static int judge(struct client *clients, size_t count)
{
    struct history_verdict v;
    struct history_entry *all;
    size_t n = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        n += clients[i].count;
    all = malloc((n + 1) * sizeof(*all));
    if (!all)
        return 2;
    for (size_t i = 0; i < count; i++) {
        if (clients[i].count)
            memcpy(all + at, clients[i].log, clients[i].count * sizeof(*all));
        at += clients[i].count;
    }
    if (history_check(all, n, stdout, &v))
        return 2;
    free(all);
    printf("%zu reads, %zu writes, %zu refusals, %zu unknown and unseen, %zu "
           "pages with %zu changes: %zu violations (order %zu, content %zu, "
           "unique %zu, phantom %zu, feed %zu)\n",
           v.reads, v.writes, v.refused, v.unknown, v.pages, v.items,
           history_violations(&v), v.order, v.content, v.unique, v.phantom,
           v.feed);
    return history_violations(&v) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct client clients[ALL];
    struct client *last = &clients[ALL - 1];
    bool alive;
    int rc;

    if (argc != 8)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    world.program = argv[1];
    world.dir = argv[2];
    atomic_store(&world.left, strtoul(argv[3], NULL, 10));
    world.kills = strtoul(argv[4], NULL, 10);
    world.every = atomic_load(&world.left) / (world.kills + 1);
    snprintf(world.ranges, sizeof(world.ranges), "%s", argv[5]);
    world.shapes = strtoul(argv[6], NULL, 10);
    world.seed = strtoull(argv[7], NULL, 10);
    for (uint32_t i = 0; i < ALL; i++)
        client_init(&clients[i], i);
    if (!start_server() || !set_up(last)) {
        printf("the server does not start\n");
        return 2;
    }
    for (uint32_t i = 0; i < ALL - 1; i++)
        pthread_create(&clients[i].thread, NULL,
                       i < CLIENTS             ? run_client
                       : i < CLIENTS + READERS ? run_reader
                                               : run_shaper,
                       &clients[i]);
    alive = keep_killing();
    for (uint32_t i = 0; alive && i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    atomic_store(&world.over, true);
    for (uint32_t i = CLIENTS; alive && i < ALL - 1; i++)
        pthread_join(clients[i].thread, NULL);
    if (!alive) {
        printf("the server does not start again\n");
        return 2;
    }
    read_all(last);
    kill_server(SIGTERM);
    rc = judge(clients, ALL);
    for (uint32_t i = 0; i < ALL; i++) {
        if (clients[i].broken) {
            printf("client %u: %s\n", i, clients[i].broken);
            rc = rc ? rc : 1;
        }
        rn_signer_free(clients[i].signer);
        rn_buf_release(&clients[i].in);
        free(clients[i].log);
        if (clients[i].fd >= 0)
            close(clients[i].fd);
    }
    printf("%lu kills, %u splits, %u merges\n", world.kills, world.split,
           world.merged);
    return rc;
}
