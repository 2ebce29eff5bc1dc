/* client_bench.c -- what librunnel adds to the requests that it makes.
 *
 *   client_bench drain PORT DOCUMENTS
 *       one host reads a container of so many documents from the beginning, in
 *       pages of 1,000: "drain RANGES documents/s documents/s - CPU", from the
 *       start of the processor and from its first batch
 *   client_bench wake PORT CHANGES
 *       one host waits, a change is written every 10 ms: "wake CHANGES p50 p99
 *       p50 p99" in us from the sending of a write to the handler, and to the
 *       writer's own answer
 *   client_bench read PORT CONNECTIONS SECONDS
 *       point reads of one document by as many threads:
 *       "read CONNECTIONS a-second - - CPU"
 *   client_bench curl PORT CONNECTIONS SECONDS HEADER...
 *       the same by libcurl alone, with the headers of a signed request
 *
 * CPU is the processor time of this program for one document, in us: on a
 * machine that is shared it says more than the rates.  feed_bench fill makes
 * the container.
 */
#include <runnel/runnel.h>

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, PAGE = 1000, WRITE_EVERY_US = 10000 };

static struct {
    runnel_container *documents;
    atomic_ulong count;
    _Atomic int64_t first_ns, last_ns;
    size_t changes;
    _Atomic int64_t *seen_ns;
    int64_t until_ns;
    char url[128];
    struct curl_slist *headers;
} bench;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Processor time so far, for one of `count`. */
static double cpu_us(size_t count)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return ((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
            (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec)) /
           (double)count;
}

static void must(runnel_code rc, const runnel_error *error)
{
    if (!rc)
        return;
    fprintf(stderr, "client_bench: %s\n", error->message);
    exit(1);
}

static runnel_container *open_container(const char *port, const char *name,
                                        uint32_t connections)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT,
                                      .connection_limit = connections };
    runnel_container *container = NULL;
    runnel_client *client = NULL;
    runnel_error error;
    char url[64];

    snprintf(url, sizeof(url), "http://127.0.0.1:%s/", port);
    options.endpoint = url;
    must(runnel_client_open(&options, &client, &error), &error);
    must(runnel_container_open(client, "h", name, &container, &error), &error);
    runnel_client_close(client);
    return container;
}

/* ---- processors ---------------------------------------------------------- */

static runnel_verdict count_changes(void *context, const char *lease,
                                    const runnel_batch *batch)
{
    int64_t none = 0, now = now_ns();

    (void)context, (void)lease;
    atomic_compare_exchange_strong(&bench.first_ns, &none, now);
    atomic_fetch_add(&bench.count, runnel_batch_count(batch));
    atomic_store(&bench.last_ns, now);
    return RUNNEL_DONE;
}

/* The id of a change that is waited for is "wNUMBER". */
static runnel_verdict note_changes(void *context, const char *lease,
                                   const runnel_batch *batch)
{
    (void)context, (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        runnel_bytes id = runnel_batch_at(batch, i)->id;
        size_t n = strtoul(id.at + 1, NULL, 10);
        if (id.at[0] == 'w' && n < bench.changes)
            atomic_store(&bench.seen_ns[n], now_ns());
    }
    return RUNNEL_DONE;
}

static runnel_processor *start(const char *port, runnel_start from,
                               runnel_verdict (*changes)(void *, const char *,
                                                         const runnel_batch *))
{
    runnel_feed_options feed = { RUNNEL_FEED_INIT, .start = from,
                                 .page_limit = PAGE };
    runnel_observer observer = { .changes = changes };
    runnel_processor_options options = { RUNNEL_PROCESSOR_INIT, .feed = &feed,
                                         .create_leases = true };
    runnel_processor *processor = NULL;
    runnel_error error;
    char name[32];

    snprintf(name, sizeof(name), "bench-%d", (int)getpid());
    options.name = name;
    options.leases = open_container(port, "leases", 0);
    must(runnel_processor_start(bench.documents, &options, &observer,
                                &processor, &error),
         &error);
    runnel_container_close(options.leases);
    return processor;
}

static uint32_t wait_for_leases(runnel_processor *processor)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    do {
        usleep(10000);
        runnel_processor_read_stats(processor, &stats);
    } while (!stats.leases_owned || stats.leases_owned < stats.leases_seen);
    return stats.leases_owned;
}

static void drain(const char *port, size_t documents)
{
    int64_t begin = now_ns();
    runnel_processor *processor =
        start(port, RUNNEL_START_BEGINNING, count_changes);
    uint32_t leases;
    double last;

    while (atomic_load(&bench.count) < documents)
        usleep(1000);
    last = (double)atomic_load(&bench.last_ns);
    leases = wait_for_leases(processor);
    runnel_processor_stop(processor);
    printf("drain %u %.0f %.0f - %.2f\n", leases,
           (double)documents * 1e9 / (last - (double)begin),
           (double)documents * 1e9 /
               (last - (double)atomic_load(&bench.first_ns)),
           cpu_us(documents));
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_times(int64_t *ns, size_t count)
{
    qsort(ns, count, sizeof(*ns), by_size);
    printf(" %.0f %.0f", (double)ns[count / 2] / 1e3,
           (double)ns[count * 99 / 100] / 1e3);
}

static void wake(const char *port, size_t changes)
{
    int64_t *sent = calloc(changes, sizeof(*sent));
    int64_t *commits = calloc(changes, sizeof(*commits));
    runnel_processor *processor;
    runnel_error error;
    char json[80];

    bench.changes = changes;
    bench.seen_ns = calloc(changes, sizeof(*bench.seen_ns));
    if (!sent || !commits || !bench.seen_ns)
        exit(1);
    processor = start(port, RUNNEL_START_NOW, note_changes);
    wait_for_leases(processor);
    sleep(1);
    for (size_t i = 0; i < changes; i++) {
        snprintf(json, sizeof(json), "{\"id\":\"w%zu\",\"pk\":\"k%zu\"}", i,
                 i % PAGE);
        sent[i] = now_ns();
        must(runnel_item_upsert(bench.documents, runnel_text(json), NULL, NULL,
                                &error),
             &error);
        commits[i] = now_ns() - sent[i];
        usleep(WRITE_EVERY_US);
    }
    for (size_t i = 0; i < changes; i++) {
        while (!atomic_load(&bench.seen_ns[i]))
            usleep(1000);
        sent[i] = atomic_load(&bench.seen_ns[i]) - sent[i];
    }
    runnel_processor_stop(processor);
    printf("wake %zu", changes);
    print_times(sent, changes);
    print_times(commits, changes);
    printf("\n");
    free(sent);
    free(commits);
    free(bench.seen_ns);
}

/* ---- point reads --------------------------------------------------------- */

static void *read_documents(void *unused)
{
    runnel_key key = { .partition_key = "\"k0\"", .id = "d0" };

    (void)unused;
    while (now_ns() < bench.until_ns) {
        runnel_reply *reply = NULL;
        runnel_error error;
        must(runnel_item_read(bench.documents, key, NULL, &reply, &error),
             &error);
        runnel_reply_close(reply);
        atomic_fetch_add(&bench.count, 1);
    }
    return NULL;
}

/* Copies the body once, as any program would that wants it. */
static size_t take(char *at, size_t size, size_t count, void *context)
{
    char **body = context;

    memcpy(*body, at, size * count);
    *body += size * count;
    return size * count;
}

static void *read_by_curl(void *unused)
{
    CURL *curl = curl_easy_init();
    char body[65536];

    (void)unused;
    curl_easy_setopt(curl, CURLOPT_URL, bench.url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, bench.headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    while (now_ns() < bench.until_ns) {
        char *at = body;
        long status = 0;
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &at);
        if (curl_easy_perform(curl) ||
            curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) ||
            status != 200) {
            fprintf(stderr, "client_bench: curl: status %ld\n", status);
            exit(1);
        }
        atomic_fetch_add(&bench.count, 1);
    }
    curl_easy_cleanup(curl);
    return NULL;
}

static void run(const char *name, void *(*body)(void *), size_t connections,
                unsigned seconds)
{
    pthread_t threads[THREADS_MAX];
    int64_t begin = now_ns();
    size_t count;

    if (connections > THREADS_MAX)
        connections = THREADS_MAX;
    bench.until_ns = begin + (int64_t)seconds * 1000000000;
    for (size_t i = 0; i < connections; i++)
        if (pthread_create(&threads[i], NULL, body, NULL))
            exit(1);
    for (size_t i = 0; i < connections; i++)
        pthread_join(threads[i], NULL);
    count = atomic_load(&bench.count);
    printf("%s %zu %.0f - - %.2f\n", name, connections,
           (double)count * 1e9 / (double)(now_ns() - begin), cpu_us(count));
}

int main(int argc, char **argv)
{
    const char *what = argc > 3 ? argv[1] : "";
    size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    unsigned seconds = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;

    if (n == 0) {
        fprintf(stderr, "see the top of client_bench.c\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    bench.documents = open_container(argv[2], "c", (uint32_t)n);
    snprintf(bench.url, sizeof(bench.url),
             "http://127.0.0.1:%s/dbs/h/colls/c/docs/d0", argv[2]);
    for (int i = 5; i < argc; i++)
        bench.headers = curl_slist_append(bench.headers, argv[i]);
    if (strcmp(what, "drain") == 0)
        drain(argv[2], n);
    else if (strcmp(what, "wake") == 0)
        wake(argv[2], n);
    else if (strcmp(what, "read") == 0)
        run("read", read_documents, n, seconds);
    else if (strcmp(what, "curl") == 0)
        run("curl", read_by_curl, n, seconds);
    curl_slist_free_all(bench.headers);
    runnel_container_close(bench.documents);
    return 0;
}
