/* feed_bench.c -- how fast a change feed is read, and how soon a waiter is
 * woken.
 *
 *   feed_bench fill PORT DOCUMENTS [RANGES]
 *       a container with that many documents of a kilobyte; RANGES splits it
 *       into so many, by splits
 *   feed_bench scan PORT CONNECTIONS SECONDS
 *       pages of 1,000 from the beginning, range after range, again and again:
 *       "scan CONNECTIONS documents/s MB/s"
 *   feed_bench page PORT FILE
 *       the first page, into a file
 *   feed_bench static PORT CONNECTIONS SECONDS
 *       /page.json of another server, likewise
 *   feed_bench wake PORT READERS SECONDS
 *       READERS wait for one range, one for another, in which every millisecond
 *       something is written: "wake READERS commits/s p50 p99" in us from the
 *       sending of a write to the first byte at its reader, "commit p50 p99" to
 *       the writer's own answer
 */
#include "history/shape.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 100, FILLER = 780, PAGE = 1000, THREADS_MAX = 64, KEYS = 512 };
enum { SAMPLES_MAX = 1 << 20, PARKED_MAX = 4096 };

#define DOCS "dbs/h/colls/c"

static struct {
    char filler[FILLER + 1];
    uint64_t until;
    bool is_static;
    atomic_ulong documents, bytes;
    struct shape ranges[SHAPE_RANGES_MAX];
    size_t range_count;
    uint64_t *waits, *commits;
    atomic_size_t wait_count, commit_count;
    atomic_bool over;
} bench;

static void die(const char *why)
{
    fprintf(stderr, "feed_bench: %s\n", why);
    exit(2);
}

/* ---- filling ------------------------------------------------------------- */

static void write_group(struct client *c, struct rn_buf *text, size_t key,
                        size_t from)
{
    char more[200];
    struct request r = { "POST", "docs", DOCS, "/" DOCS "/docs", more, { 0 } };
    struct answer a;

    rn_buf_clear(text);
    for (size_t i = 0; i < GROUP; i++)
        if (rn_buf_printf(text,
                          "%c{\"operationType\":\"Create\",\"resourceBody\":{"
                          "\"id\":\"d%zu\",\"pk\":\"k%zu\",\"filler\":\"%s\"}}",
                          i ? ',' : '[', from + i, key, bench.filler))
            die("memory");
    if (rn_buf_add(text, RN_LIT("]")))
        die("memory");
    snprintf(more, sizeof(more),
             "x-ms-documentdb-partitionkey: [\"k%zu\"]\r\n"
             "x-ms-cosmos-is-batch-request: True\r\n"
             "x-ms-cosmos-batch-atomic: True\r\nPrefer: return=minimal\r\n",
             key);
    r.body = rn_buf_view(text);
    if (!client_ask(c, &r, &a) || a.status != 200)
        die("a batch fails");
}

static void split_to(struct client *c, size_t want)
{
    char body[128];
    struct request r = { "POST",           "", "_runnel/split",
                         "/_runnel/split", "", { 0 } };
    struct answer a;
    uint32_t next = 0;

    /* Breadth first: ids rise, so 0, 1, 2 ... halves all of one width. */
    for (size_t have = 1; have < want; have++, next++) {
        snprintf(body, sizeof(body),
                 "{\"container\":\"" DOCS "\",\"range\":%u}", next);
        r.body = rn_view_text(body);
        if (!client_ask(c, &r, &a) || a.status >= 300)
            die("a split fails");
    }
}

static void fill(struct client *c, size_t documents, size_t ranges)
{
    struct rn_buf text = RN_BUF_INIT(4 << 20);

    if (!shape_make(c))
        die("there is no container");
    for (size_t i = 0; i < documents; i += GROUP)
        write_group(c, &text, i / GROUP % KEYS, i);
    rn_buf_release(&text);
    split_to(c, ranges);
}

/* ---- reading ------------------------------------------------------------- */

/* Where it has come to, with ranges in a row. */
struct scan {
    size_t at;
    char token[64];
};

/* "...],"_count":N}" */
static size_t count_of(struct rn_view page)
{
    const char *colon = memrchr(page.at, ':', page.len);

    return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

static void read_page(struct client *c, struct scan *s)
{
    char more[256];
    struct request r = { "GET", "docs", DOCS, "/" DOCS "/docs", more, { 0 } };
    struct answer a;

    if (bench.is_static)
        r.path = "/page.json";
    snprintf(more, sizeof(more),
             "A-IM: Incremental feed\r\nx-ms-max-item-count: %d\r\n"
             "x-ms-documentdb-partitionkeyrangeid: %u\r\n%s%s%s",
             PAGE, bench.ranges[s->at].id, s->token[0] ? "If-None-Match: " : "",
             s->token, s->token[0] ? "\r\n" : "");
    if (!client_ask(c, &r, &a))
        die("no answer");
    if (a.status == 200 && (bench.is_static || a.etag.len < 64)) {
        atomic_fetch_add(&bench.bytes, a.body.len);
        atomic_fetch_add(&bench.documents, count_of(a.body));
        if (!bench.is_static)
            snprintf(s->token, sizeof(s->token), "%.*s", RN_FMT(a.etag));
        return;
    }
    if (a.status != 304)
        die("a page is refused");
    s->token[0] = '\0';
    s->at = (s->at + 1) % bench.range_count;
}

static void *run_scan(void *arg)
{
    struct client *c = arg;
    struct scan s = { 0 };

    while (server_process_now_ns() < bench.until)
        read_page(c, &s);
    return NULL;
}

static void scan(struct client *clients, size_t count, double seconds)
{
    uint64_t begun = server_process_now_ns();

    bench.until = begun + (uint64_t)(seconds * 1e9);
    for (size_t i = 0; i < count; i++)
        pthread_create(&clients[i].thread, NULL, run_scan, &clients[i]);
    for (size_t i = 0; i < count; i++)
        pthread_join(clients[i].thread, NULL);
    seconds = (double)(server_process_now_ns() - begun) / 1e9;
    printf("%s %zu %.0f %.0f\n", bench.is_static ? "static" : "scan", count,
           (double)bench.documents / seconds,
           (double)bench.bytes / seconds / 1e6);
}

static void save_page(struct client *c, const char *path)
{
    struct request r = { "GET",
                         "docs",
                         DOCS,
                         "/" DOCS "/docs",
                         "A-IM: Incremental feed\r\nx-ms-max-item-count: "
                         "1000\r\nx-ms-documentdb-partitionkeyrangeid: 0\r\n",
                         { 0 } };
    struct answer a;
    FILE *out;

    if (!client_ask(c, &r, &a) || a.status != 200)
        die("no page");
    out = fopen(path, "w");
    if (!out || fwrite(a.body.at, 1, a.body.len, out) != a.body.len ||
        fclose(out))
        die(path);
}

/* ---- waiting ------------------------------------------------------------- */

/* Follows a range from now on, waiting each time. */
static void follow(struct client *c, uint32_t range, bool is_measured)
{
    char more[256], token[64] = "*";
    struct request r = { "GET", "docs", DOCS, "/" DOCS "/docs", more, { 0 } };

    while (!atomic_load(&bench.over)) {
        struct answer a;
        const char *sent;

        snprintf(more, sizeof(more),
                 "A-IM: Incremental feed\r\nPrefer: wait=60\r\n"
                 "x-ms-documentdb-partitionkeyrangeid: %u\r\n"
                 "If-None-Match: %s\r\n",
                 range, token);
        if (!client_ask(c, &r, &a) || atomic_load(&bench.over))
            return;
        snprintf(token, sizeof(token), "%.*s", RN_FMT(a.etag));
        sent = a.body.len ? memmem(a.body.at, a.body.len, "\"sent\":", 7) : 0;
        while (is_measured && sent) {
            size_t n = atomic_fetch_add(&bench.wait_count, 1);
            if (n < SAMPLES_MAX)
                bench.waits[n] =
                    server_process_now_ns() - strtoull(sent + 7, NULL, 10);
            sent = memmem(sent + 7, (size_t)(a.body.at + a.body.len - sent) - 7,
                          "\"sent\":", 7);
        }
    }
}

static void *run_measured(void *arg)
{
    follow(arg, bench.ranges[0].id, true);
    return NULL;
}

static void *run_parked(void *arg)
{
    follow(arg, bench.ranges[1].id, false);
    return NULL;
}

static void *run_commits(void *arg)
{
    struct client *c = arg;
    char more[128], body[1200];
    struct request r = { "POST", "docs", DOCS, "/" DOCS "/docs", more, { 0 } };
    struct answer a;
    uint64_t next = server_process_now_ns();

    for (size_t i = 0; server_process_now_ns() < bench.until; i++) {
        unsigned key = shape_name((uint32_t)(i % bench.ranges[0].keys) +
                                  bench.ranges[0].key);
        uint64_t sent = server_process_now_ns();

        snprintf(more, sizeof(more),
                 "x-ms-documentdb-partitionkey: [\"k%u\"]\r\n"
                 "x-ms-documentdb-is-upsert: True\r\n",
                 key);
        snprintf(body, sizeof(body),
                 "{\"id\":\"w%zu\",\"pk\":\"k%u\",\"sent\":%llu}", i, key,
                 (unsigned long long)sent);
        r.body = rn_view_text(body);
        if (!client_ask(c, &r, &a) || a.status >= 300)
            die("a write fails");
        bench.commits[i % SAMPLES_MAX] = server_process_now_ns() - sent;
        atomic_store(&bench.commit_count, i + 1);
        for (next += 1000000; server_process_now_ns() < next;)
            usleep(100);
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void print_times(const char *name, uint64_t *list, size_t n)
{
    if (n > SAMPLES_MAX)
        n = SAMPLES_MAX;
    qsort(list, n, sizeof(*list), by_number);
    printf(" %s p50 %.0f p99 %.0f us (%zu)", name,
           n ? (double)list[n / 2] / 1e3 : 0,
           n ? (double)list[n * 99 / 100] / 1e3 : 0, n);
}

static void wake(struct client *clients, size_t readers, double seconds)
{
    pthread_attr_t attr;

    bench.waits = calloc(SAMPLES_MAX, sizeof(uint64_t));
    bench.commits = calloc(SAMPLES_MAX, sizeof(uint64_t));
    if (!bench.waits || !bench.commits || bench.range_count < 2)
        die("it needs memory and two ranges");
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 << 10);
    for (size_t i = 0; i < readers; i++)
        pthread_create(&clients[i + 2].thread, &attr, run_parked,
                       &clients[i + 2]);
    usleep(2000000); /* until they are parked */
    bench.until = server_process_now_ns() + (uint64_t)(seconds * 1e9);
    pthread_create(&clients[0].thread, NULL, run_measured, &clients[0]);
    usleep(200000);
    pthread_create(&clients[1].thread, NULL, run_commits, &clients[1]);
    pthread_join(clients[1].thread, NULL);
    usleep(200000);
    atomic_store(&bench.over, true);
    printf("wake %zu %.0f", readers, (double)bench.commit_count / seconds);
    print_times("reader", bench.waits, bench.wait_count);
    print_times("writer", bench.commits, bench.commit_count);
    printf("\n");
    fflush(stdout);
    _exit(0); /* the others wait */
}

int main(int argc, char **argv)
{
    static struct client clients[PARKED_MAX + 2];
    size_t count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    double seconds = argc > 4 ? strtod(argv[4], NULL) : 0;

    if (argc < 4)
        die("see its first lines");
    signal(SIGPIPE, SIG_IGN);
    memset(bench.filler, 'x', FILLER);
    server_process.keys = KEYS;
    shape_init();
    server_process_announce((int)strtol(argv[2], NULL, 10));
    for (uint32_t i = 0;
         i < PARKED_MAX + 2 && (i < THREADS_MAX || i < count + 2); i++)
        client_init(&clients[i], i, 1);
    bench.is_static = strcmp(argv[1], "static") == 0;
    bench.range_count = 1;
    if (!bench.is_static && strcmp(argv[1], "fill") != 0)
        bench.range_count = shape_read(&clients[0], bench.ranges);
    if (strcmp(argv[1], "fill") == 0)
        fill(&clients[0], count, argc > 4 ? strtoul(argv[4], NULL, 10) : 1);
    else if (strcmp(argv[1], "page") == 0)
        save_page(&clients[0], argv[3]);
    else if (strcmp(argv[1], "wake") == 0)
        wake(clients, count < PARKED_MAX ? count : PARKED_MAX, seconds);
    else if (count <= THREADS_MAX)
        scan(clients, count, seconds);
    return 0;
}
