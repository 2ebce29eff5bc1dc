/* cycles_program.c -- leases are acquired and released over and over, by the
 * public headers alone, and the process does not grow: neither its descriptors
 * nor its threads nor its memory.  tests/suites/cycles.sh runs it.
 *
 *   cycles_program URL CYCLES [bytes|descriptor]
 *
 * URL is http:// or https://, whose certificate is not looked at.  CYCLES is
 * how often a lease is acquired and released in each part.  With a
 * third argument each of them leaks 64 bytes or a descriptor, which must be
 * found: exit status 1.
 */
#include <runnel/runnel.h>

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LEASES = 64,
    DOCUMENTS = 1000, /* each lease has some */
    WAIT_S = 120,
    SAMPLES = 60, /* of a millisecond */
    STEADY_BYTES = 4 << 10,
    /* In all cycles of a part, of which each may leak. */
    MOST_BYTES = 16 << 10,
    MOST_RESIDENT_KB = 1024,
    /* More while hosts live: idle connections with their buffers, and threads,
     * as many as there were requests and calls of handlers at a time. */
    ALIVE_BYTES = 112 << 10,
    ALIVE_TLS_BYTES = 2 * LEASES * (17 << 10), /* a record each way, or none */
    ALIVE_RESIDENT_KB = 8192,
    ALIVE_DESCRIPTORS = LEASES,
    ALIVE_THREADS = LEASES,
};

static const char *url, *leak = "";
static runnel_error error;
static int status;

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, error.message);
    exit(2);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- what the process has ------------------------------------------------ */

struct usage {
    int descriptors, threads;
    size_t bytes, resident_kb;
};

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    if (!dir)
        give_up(path);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

static size_t resident_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        give_up("statm");
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE) / 1024;
}

#define LOWER(a, b) ((a) = (a) < (b) ? (a) : (b))

/* The least of some samples: hosts that live come and go with requests, and a
 * thread that was joined is seen for a moment longer. */
static struct usage sample(void)
{
    struct usage least = { 1 << 30, 1 << 30, SIZE_MAX, SIZE_MAX };

    malloc_trim(0);
    for (int i = 0; i < SAMPLES; i++) {
        struct mallinfo2 heap = mallinfo2();
        LOWER(least.bytes, heap.uordblks + heap.hblkhd);
        LOWER(least.descriptors, count_entries("/proc/self/fd"));
        LOWER(least.threads, count_entries("/proc/self/task"));
        LOWER(least.resident_kb, resident_kb());
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return least;
}

/* Once hosts that live have read ahead what they can. */
static struct usage measure(void)
{
    struct usage last = sample(), u = last;

    for (int i = 0; i < SAMPLES; i++) {
        u = sample();
        if (u.bytes < last.bytes + STEADY_BYTES &&
            last.bytes < u.bytes + STEADY_BYTES)
            break;
        last = u;
    }
    return u;
}

static void compare(const char *part, size_t before, size_t after, size_t more,
                    const char *what)
{
    if (after <= before + more)
        return;
    printf("# %s: %s grew from %zu to %zu\n", part, what, before, after);
    status = 1;
}

static size_t alive_bytes(void)
{
    return strncmp(url, "https:", 6) == 0 ? ALIVE_TLS_BYTES : ALIVE_BYTES;
}

static void judge(const char *part, size_t cycles, double began_s,
                  const struct usage *a, bool is_alive)
{
    struct usage b = measure();

    printf("# %s: %zu cycles in %.1f s; descriptors %d to %d, threads %d to "
           "%d, bytes %zu to %zu, resident KiB %zu to %zu\n",
           part, cycles, now_s() - began_s, a->descriptors, b.descriptors,
           a->threads, b.threads, a->bytes, b.bytes, a->resident_kb,
           b.resident_kb);
    compare(part, (size_t)a->descriptors, (size_t)b.descriptors,
            is_alive ? ALIVE_DESCRIPTORS : 0, "descriptors");
    compare(part, (size_t)a->threads, (size_t)b.threads,
            is_alive ? ALIVE_THREADS : 0, "threads");
    compare(part, a->bytes, b.bytes,
            MOST_BYTES + (is_alive ? alive_bytes() : 0), "bytes");
    compare(part, a->resident_kb, b.resident_kb,
            MOST_RESIDENT_KB + (is_alive ? ALIVE_RESIDENT_KB : 0), "resident");
    fflush(stdout);
}

/* ---- a host -------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Guarded by the lock. */
struct host {
    runnel_processor *processor;
    size_t held, released; /* leases */
    size_t blocked;        /* handlers, while `is_paused` */
    bool yields, is_paused;
};

static void change(size_t *count, int by)
{
    pthread_mutex_lock(&lock);
    *count += (size_t)by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Until there are `n` of them. */
static void wait_for(const size_t *count, size_t n)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += WAIT_S;
    pthread_mutex_lock(&lock);
    while (*count < n)
        if (pthread_cond_timedwait(&changed, &lock, &end)) {
            printf("# %zu instead of %zu\n", *count, n);
            exit(2);
        }
    pthread_mutex_unlock(&lock);
}

static void leak_one(void)
{
    if (strcmp(leak, "bytes") == 0 && !malloc(64))
        abort();
    if (strcmp(leak, "descriptor") == 0 && dup(0) < 0)
        abort();
}

static runnel_code on_open(void *context, const char *lease)
{
    struct host *h = context;

    (void)lease;
    leak_one();
    change(&h->held, 1);
    return RUNNEL_OK;
}

static void on_close(void *context, const char *lease,
                     runnel_close_reason reason)
{
    struct host *h = context;

    (void)lease;
    (void)reason;
    change(&h->held, -1);
    change(&h->released, 1);
}

static runnel_verdict on_changes(void *context, const char *lease,
                                 const runnel_batch *batch)
{
    struct host *h = context;

    (void)lease;
    (void)batch;
    pthread_mutex_lock(&lock);
    h->blocked++;
    pthread_cond_broadcast(&changed);
    while (h->is_paused)
        pthread_cond_wait(&changed, &lock);
    h->blocked--;
    pthread_mutex_unlock(&lock);
    return h->yields ? RUNNEL_YIELD : RUNNEL_DONE;
}

struct place {
    runnel_client *client;
    runnel_container *orders, *leases;
};

static struct place open_place(void)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .endpoint = url,
                                .insecure_tls = true };
    struct place p = { 0 };

    if (runnel_client_open(&o, &p.client, &error) ||
        runnel_container_open(p.client, "shop", "orders", &p.orders, &error) ||
        runnel_container_open(p.client, "shop", "leases", &p.leases, &error))
        give_up("open");
    return p;
}

static void close_place(struct place *p)
{
    runnel_container_close(p->leases);
    runnel_container_close(p->orders);
    runnel_client_close(p->client);
}

static void start(struct host *h, const struct place *p, const char *processor,
                  const char *name)
{
    static const runnel_feed_options beginning = { RUNNEL_FEED_INIT,
                                                   .start =
                                                       RUNNEL_START_BEGINNING };
    runnel_observer observer = { RUNNEL_OBSERVER_INIT, .context = h,
                                 .open = on_open, .close = on_close,
                                 .changes = on_changes };
    runnel_processor_options o = {
        RUNNEL_PROCESSOR_INIT,  .name = processor,
        .host = name,           .leases = p->leases,
        .feed = &beginning,     .leases_per_range = LEASES,
        .lease_acquire_ms = 20, .event = runnel_event_ignore
    };

    if (runnel_processor_start(p->orders, &o, &observer, &h->processor, &error))
        give_up("start");
}

static void stop(struct host *h)
{
    runnel_processor_stop(h->processor);
    h->processor = NULL;
}

/* ---- the parts ----------------------------------------------------------- */

/* A host that takes all leases and stops, on a client of its own. */
static void start_and_stop(struct host *h)
{
    struct place p = open_place();

    start(h, &p, "starts", "a");
    wait_for(&h->held, LEASES);
    stop(h);
    close_place(&p);
}

static void test_starts(size_t cycles)
{
    struct host h = { 0 };
    struct usage before;
    double began_s;

    for (int i = 0; i < 4; i++)
        start_and_stop(&h);
    before = measure();
    began_s = now_s();
    h.released = 0;
    while (h.released < cycles)
        start_and_stop(&h);
    judge("starts", h.released, began_s, &before, false);
}

/* A second host comes, is given half of the leases, and goes. */
static void hand_over(struct host *a, struct host *b, const struct place *p)
{
    start(b, p, "hand-overs", "b");
    wait_for(&b->held, LEASES / 2);
    stop(b);
    wait_for(&a->held, LEASES);
}

static void test_hand_overs(size_t cycles)
{
    struct usage empty = measure(), before;
    struct place p = open_place();
    struct host a = { 0 }, b = { 0 };
    double began_s;

    start(&a, &p, "hand-overs", "a");
    wait_for(&a.held, LEASES);
    for (int i = 0; i < 4; i++)
        hand_over(&a, &b, &p);
    before = measure();
    began_s = now_s();
    a.released = b.released = 0;
    while (a.released + b.released < cycles)
        hand_over(&a, &b, &p);
    judge("hand-overs", a.released + b.released, began_s, &before, true);
    stop(&a);
    close_place(&p);
    judge("hand-overs, closed", a.released + b.released, began_s, &empty,
          false);
}

/* Each handler is inside its call. */
static void pause_handlers(struct host *h)
{
    pthread_mutex_lock(&lock);
    h->is_paused = true;
    pthread_mutex_unlock(&lock);
    wait_for(&h->blocked, LEASES);
}

static void resume_handlers(struct host *h)
{
    pthread_mutex_lock(&lock);
    h->is_paused = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* One host whose handlers yield: what is released is acquired again. */
static void test_yields(size_t cycles)
{
    struct usage empty = measure(), before;
    struct place p = open_place();
    struct host h = { .yields = true };
    double began_s;
    size_t first;

    start(&h, &p, "yields", "a");
    wait_for(&h.released, LEASES * 4);
    pause_handlers(&h);
    before = measure();
    began_s = now_s();
    first = h.released;
    resume_handlers(&h);
    wait_for(&h.released, first + cycles);
    pause_handlers(&h);
    judge("yields", h.released - first, began_s, &before, true);
    resume_handlers(&h);
    stop(&h);
    close_place(&p);
    judge("yields, closed", h.released, began_s, &empty, false);
}

static bool each_lease(void *context, const runnel_lease *lease)
{
    (void)lease;
    leak_one();
    change(context, 1);
    return true;
}

static bool each_lag(void *context, const runnel_lag *lag)
{
    if (lag->lease)
        change(context, 1);
    return true;
}

/* All handles that look at leases; `*seen` rises by three for each lease. */
static void look(size_t *seen)
{
    struct place p = open_place();
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = p.orders,
                             .name = "starts", .leases = p.leases };
    runnel_estimator *estimator = NULL;
    size_t first = *seen;

    if (runnel_leases_each(&set, each_lease, seen, &error) ||
        runnel_lag_each(&set, each_lag, seen, &error) ||
        runnel_estimator_start(&set, 1000, each_lag, seen, &estimator, &error))
        give_up("look");
    wait_for(seen, first + 3 * (size_t)LEASES);
    runnel_estimator_stop(estimator);
    close_place(&p);
}

static void test_looks(size_t cycles)
{
    size_t seen = 0;
    struct usage before;
    double began_s;

    for (int i = 0; i < 4; i++)
        look(&seen);
    before = measure();
    began_s = now_s();
    for (seen = 0; seen < cycles;)
        look(&seen);
    judge("looks", seen, began_s, &before, false);
}

static void prepare(void)
{
    runnel_database_definition shop = { RUNNEL_DATABASE_INIT, .id = "shop" };
    runnel_container_definition orders = { RUNNEL_CONTAINER_INIT,
                                           .id = "orders",
                                           .partition_key = "/id" };
    runnel_container_definition leases = { RUNNEL_CONTAINER_INIT,
                                           .id = "leases",
                                           .partition_key = "/id" };
    struct place p = open_place();
    char json[64];

    if (runnel_database_create(p.client, &shop, NULL, &error) ||
        runnel_container_create(p.client, "shop", &orders, NULL, &error) ||
        runnel_container_create(p.client, "shop", &leases, NULL, &error))
        give_up("prepare");
    for (int i = 0; i < DOCUMENTS; i++) {
        snprintf(json, sizeof(json), "{\"id\":\"%d\"}", i);
        if (runnel_item_upsert(p.orders, runnel_text(json), NULL, NULL, &error))
            give_up("write");
    }
    close_place(&p);
}

int main(int argc, char **argv)
{
    size_t cycles;

    if (argc < 3)
        return 2;
    url = argv[1];
    cycles = strtoul(argv[2], NULL, 10);
    if (argc > 3)
        leak = argv[3];
    mallopt(M_ARENA_MAX, 1); /* what is free does not depend on the thread */
    prepare();
    test_starts(cycles);
    test_hand_overs(cycles);
    test_yields(cycles);
    test_looks(cycles);
    return status;
}
