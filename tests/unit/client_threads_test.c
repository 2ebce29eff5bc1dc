/* client_threads_test.c -- processors by the public calls, with real threads
 * and sockets.
 *
 * Goal: what a program may do from any thread at any time is safe: verdicts
 * that come later and from another thread, handlers of one lease side by side,
 * counters, drains, a host that leaves.  Method: two hosts of one fleet in this
 * process, on a fake service behind a server in this process; under TSan, too.
 */
#include "client/peer.h"
#include "client/service.h"

#include <runnel/runnel.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { DOCUMENTS = 200, WAITING_MAX = 256, LIMIT_MS = 120000 };

static struct service service; /* the peer's thread's, once that runs */
static runnel_error error;

/* ---- a server ------------------------------------------------------------ */

/* Cuts `text` behind the first `end`; what is before that. */
static struct rn_view cut(struct rn_view *text, const char *end)
{
    const char *at = memmem(text->at, text->len, end, strlen(end));
    struct rn_view before = *text;

    if (!at)
        return before;
    before.len = (size_t)(at - text->at);
    *text = rn_view_of(at + strlen(end), text->len - before.len - strlen(end));
    return before;
}

static void print_answer(const struct service_answer *a, struct rn_buf *out)
{
    enum rn_code rc =
        rn_buf_printf(out, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n",
                      a->status, a->status == 304 ? 0 : a->body.len);

    for (size_t i = 0; !rc && i < a->header_count; i++)
        rc = rn_buf_printf(out, "%s: %s\r\n", a->headers[i].name,
                           a->headers[i].value);
    if (!rc)
        rc = rn_buf_add(out, RN_LIT("\r\n"));
    if (!rc && a->status != 304)
        rc = rn_buf_add(out, rn_buf_view(&a->body));
    if (rc)
        abort();
}

static enum peer_then serve(struct peer *p, struct rn_view request, int n,
                            struct rn_buf *out)
{
    struct service_header headers[64];
    struct service_answer answer = SERVICE_ANSWER_INIT;
    struct service_request q = { .headers = headers };
    struct rn_view head = cut(&request, "\r\n\r\n");
    struct rn_view line = cut(&head, "\r\n");

    (void)p;
    (void)n;
    q.method = cut(&line, " ");
    q.path = cut(&line, " ");
    q.body = request;
    while (head.len > 0 && q.header_count < 64) {
        struct rn_view value = cut(&head, "\r\n");
        bool is_last = value.at + value.len == head.at + head.len;

        headers[q.header_count].name = cut(&value, ": ");
        headers[q.header_count++].value = value;
        if (is_last)
            break;
    }
    service_handle(&service, &q, false, &answer);
    print_answer(&answer, out);
    service_answer_release(&answer);
    return PEER_KEEP;
}

/* ---- handlers ------------------------------------------------------------ */

static atomic_uint handled[DOCUMENTS];
static atomic_uint calls, opened, closed, events;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const runnel_batch *waiting[WAITING_MAX]; /* for their verdicts */
static size_t waiting_count;
static bool is_over;

/* Every second batch gets its verdict from another thread. */
static runnel_verdict changes(void *context, const char *lease,
                              const runnel_batch *batch)
{
    (void)context;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        long id = strtol(runnel_batch_at(batch, i)->id.at, NULL, 10);

        assert_true(id >= 0 && id < DOCUMENTS);
        atomic_fetch_add(&handled[id], 1);
    }
    if (runnel_batch_is_cancelled(batch) || atomic_fetch_add(&calls, 1) % 2)
        return RUNNEL_DONE;
    pthread_mutex_lock(&lock);
    assert_true(waiting_count < WAITING_MAX);
    waiting[waiting_count++] = batch;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return RUNNEL_PENDING;
}

static void *acknowledge(void *context)
{
    (void)context;
    for (;;) {
        const runnel_batch *batch = NULL;

        pthread_mutex_lock(&lock);
        while (waiting_count == 0 && !is_over)
            pthread_cond_wait(&changed, &lock);
        if (waiting_count > 0)
            batch = waiting[--waiting_count];
        pthread_mutex_unlock(&lock);
        if (!batch)
            return NULL;
        runnel_batch_ack(batch, RUNNEL_DONE);
    }
}

static runnel_code on_open(void *context, const char *lease)
{
    (void)context;
    (void)lease;
    atomic_fetch_add(&opened, 1);
    return RUNNEL_OK;
}

static void on_close(void *context, const char *lease,
                     runnel_close_reason reason)
{
    (void)context;
    (void)lease;
    (void)reason;
    atomic_fetch_add(&closed, 1);
}

static void on_event(void *context, const runnel_event *event)
{
    (void)context;
    (void)event;
    atomic_fetch_add(&events, 1);
}

/* ---- hosts --------------------------------------------------------------- */

struct host {
    runnel_client *client;
    runnel_container *source, *leases;
    runnel_processor *processor;
};

static void open_host(struct host *h, const char *endpoint)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .endpoint = endpoint };

    assert_int_equal(runnel_client_open(&o, &h->client, &error), RUNNEL_OK);
    assert_int_equal(
        runnel_container_open(h->client, "db", "source", &h->source, &error),
        RUNNEL_OK);
    assert_int_equal(
        runnel_container_open(h->client, "db", "leases", &h->leases, &error),
        RUNNEL_OK);
}

static void start_host(struct host *h, const char *name)
{
    static const runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                              .start = RUNNEL_START_BEGINNING,
                                              .page_limit = 20 };
    runnel_observer observer = { RUNNEL_OBSERVER_INIT, .changes = changes,
                                 .open = on_open, .close = on_close };
    runnel_processor_options o = {
        RUNNEL_PROCESSOR_INIT,
        .name = "p",
        .host = name,
        .leases = h->leases,
        .feed = &feed,
        .poll_ms = 20,
        .lease_acquire_ms = 100,
        .lease_expire_ms = 100000,
        .parallel = 3,
        .batch_limit = 4,
        .event = on_event,
    };

    if (runnel_processor_start(h->source, &o, &observer, &h->processor, &error))
        fail_msg("%s", error.message);
}

static void close_host(struct host *h)
{
    runnel_processor_stop(h->processor);
    runnel_container_close(h->leases);
    runnel_container_close(h->source);
    runnel_client_close(h->client);
}

static bool note_lease(void *context, const runnel_lease_health *lease)
{
    unsigned *count = context;

    assert_true(strlen(lease->doing) > 0);
    (*count)++;
    return true;
}

static uint32_t owned(struct host *h)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };
    unsigned count = 0;

    runnel_processor_read_stats(h->processor, &stats);
    runnel_processor_each_lease(h->processor, note_lease, &count);
    return stats.leases_owned;
}

static bool all_handled(unsigned times)
{
    for (int i = 0; i < DOCUMENTS; i++)
        if (atomic_load(&handled[i]) < times)
            return false;
    return true;
}

static void put_all(struct host *h)
{
    char json[64];

    for (int i = 0; i < DOCUMENTS; i++) {
        snprintf(json, sizeof(json), "{\"id\":\"%d\",\"pk\":\"%d\"}", i,
                 i % 17);
        if (runnel_item_upsert(h->source, runnel_text(json), NULL, NULL,
                               &error))
            fail_msg("%s", error.message);
    }
}

#define UNTIL(condition)                                                       \
    for (int ms = 0; !(condition); ms++) {                                     \
        assert_true(ms < LIMIT_MS);                                            \
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);             \
    }

static void two_hosts_and_other_threads_share_the_work(void **state)
{
    const struct service_definition source = {
        .db = "db", .name = "source", .key = "/pk", .ranges = 4
    };
    const struct service_definition leases = {
        .db = "db", .name = "leases", .key = "/id", .default_ttl = -1
    };
    struct host a = { 0 }, b = { 0 };
    struct peer peer;
    pthread_t acker;

    (void)state;
    service_init(&service, rn_env_real());
    service_add(&service, &source);
    service_add(&service, &leases);
    peer_open(&peer, serve, NULL);
    assert_int_equal(pthread_create(&acker, NULL, acknowledge, NULL), 0);
    open_host(&a, peer.endpoint);
    open_host(&b, peer.endpoint);
    put_all(&a);
    start_host(&a, "a");
    UNTIL(all_handled(1));
    start_host(&b, "b");
    UNTIL(owned(&a) == 2 && owned(&b) == 2);
    put_all(&b);
    UNTIL(all_handled(2));
    assert_int_equal(runnel_processor_drain(a.processor, LIMIT_MS, &error),
                     RUNNEL_OK);
    UNTIL(owned(&b) == 4);
    close_host(&a);
    put_all(&b);
    UNTIL(all_handled(3));
    close_host(&b);
    assert_int_equal(atomic_load(&opened), atomic_load(&closed));
    assert_true(atomic_load(&events) > 0);
    pthread_mutex_lock(&lock);
    is_over = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    assert_int_equal(pthread_join(acker, NULL), 0);
    peer_close(&peer);
    service_release(&service);
}

/* A program that gives up half-way closes what it has. */
static void what_was_never_opened_is_closed_without_harm(void **state)
{
    runnel_processor_options o = { RUNNEL_PROCESSOR_INIT };
    runnel_host_options host = { RUNNEL_HOST_INIT };
    runnel_processor *processor = NULL;
    runnel_host *opened_host = NULL;
    struct host h = { 0 };

    (void)state;
    runnel_processor_stop(NULL);
    runnel_estimator_stop(NULL);
    runnel_host_close(NULL);
    runnel_feed_close(NULL);
    runnel_batch_close(NULL);
    runnel_lease_store_close(NULL);
    runnel_query_close(NULL);
    runnel_page_close(NULL);
    runnel_results_close(NULL);
    runnel_ranges_close(NULL);
    runnel_reply_close(NULL);
    runnel_container_close(NULL);
    runnel_client_close(NULL);
    assert_int_equal(runnel_host_open(&host, &opened_host, &error),
                     RUNNEL_BAD_REQUEST);
    assert_null(opened_host);
    open_host(&h, "http://127.0.0.1:1/");
    assert_int_equal(
        runnel_processor_start(h.source, &o, NULL, &processor, &error),
        RUNNEL_BAD_REQUEST);
    assert_null(processor); /* what failed leaves nothing */
    close_host(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_never_opened_is_closed_without_harm),
        cmocka_unit_test(two_hosts_and_other_threads_share_the_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
