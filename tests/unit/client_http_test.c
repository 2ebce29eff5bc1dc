/* client_http_test.c -- the client and libcurl: threads, time and the machine.
 *
 * Goal: calls from many threads, calls that are cancelled, servers that are
 * silent, and an environment that libcurl would heed by itself.  Method: real
 * sockets on loopback; waits are for conditions, and time limits are those of
 * the client.
 */
#include "client/peer.h"

#include <runnel/runnel.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { THREADS = 6, CALLS = 30 };

static runnel_client *open_at(const struct peer *p, runnel_client_options o)
{
    runnel_client *client = NULL;
    runnel_error error = { 0 };

    o.endpoint = p->endpoint;
    assert_int_equal(runnel_client_open(&o, &client, &error), RUNNEL_OK);
    return client;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- many threads -------------------------------------------------------- */

static enum peer_then be_well(struct peer *p, struct rn_view request, int n,
                              struct rn_buf *out)
{
    (void)p;
    (void)request;
    (void)n;
    peer_reply(out, 200, "x-ms-session-token: 0:-1#5\r\n",
               "{\"id\":\"1\",\"_rid\":\"AbcdAKzQ9AY=\",\"partitionKey\":"
               "{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}");
    return n % 7 == 6 ? PEER_CLOSE : PEER_KEEP;
}

static void *read_items(void *context)
{
    runnel_container *c = context;
    runnel_key key = { "\"p\"", "1" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(runnel_item_read(c, key, NULL, &reply, &error),
                         RUNNEL_OK);
        runnel_reply_close(reply);
    }
    return NULL;
}

static void many_threads_use_one_client_and_few_connections(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .connection_limit = 2 };
    pthread_t threads[THREADS];
    runnel_container *c = NULL;
    runnel_client *client;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    peer_open(&peer, be_well, NULL);
    client = open_at(&peer, o);
    assert_int_equal(runnel_container_open(client, "d", "c", &c, &error),
                     RUNNEL_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_items, c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(peer.requests >= THREADS * CALLS);
    runnel_client_close(client); /* the container keeps it alive */
    read_items(c);
    runnel_container_close(c);
    peer_close(&peer);
}

/* ---- silence ------------------------------------------------------------- */

static enum peer_then be_silent(struct peer *p, struct rn_view request, int n,
                                struct rn_buf *out)
{
    (void)p;
    (void)request;
    (void)n;
    (void)out;
    return PEER_KEEP;
}

static void a_silent_server_is_left_after_the_time_limit(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .timeout_ms = 1000,
                                .retry_limit = 1 };
    runnel_item_options by_key = { RUNNEL_ITEM_INIT, .partition_key = "1" };
    runnel_container *c = NULL;
    runnel_client *client;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    peer_open(&peer, be_silent, NULL);
    client = open_at(&peer, o);
    assert_int_equal(runnel_container_open(client, "d", "c", &c, &error),
                     RUNNEL_OK);
    assert_int_equal(
        runnel_item_read(c, (runnel_key){ "1", "1" }, NULL, NULL, &error),
        RUNNEL_TIMEOUT);
    assert_int_equal(peer.requests, 2);
    assert_int_equal(runnel_item_create(c, runnel_text("{\"id\":\"1\"}"),
                                        &by_key, NULL, &error),
                     RUNNEL_UNCERTAIN);
    assert_int_equal(peer.requests, 3);
    runnel_container_close(c);
    runnel_client_close(client);
    peer_close(&peer);
}

static void nobody_listening_is_unreachable(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .retry_limit = 1 };
    runnel_client *client;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    peer_open(&peer, be_silent, NULL);
    client = open_at(&peer, o);
    peer_close(&peer);
    assert_int_equal(runnel_database_delete(client, "d", &error),
                     RUNNEL_UNREACHABLE);
    assert_true(strlen(error.message) > 0);
    runnel_client_close(client);
}

/* ---- cancelling ---------------------------------------------------------- */

struct blocked {
    runnel_client *client;
    runnel_container *container;
    bool by_query;
    runnel_code rc;
};

static void *block(void *context)
{
    struct blocked *b = context;
    runnel_query_options o = { RUNNEL_QUERY_INIT, .partition_key = "1" };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };

    if (!b->by_query) {
        b->rc = runnel_item_read(b->container, (runnel_key){ "1", "1" }, NULL,
                                 NULL, &error);
        return NULL;
    }
    b->rc = runnel_query_open(b->container, &o, &q, &error);
    if (!b->rc)
        b->rc = runnel_query_next(q, &page, &error);
    runnel_query_close(q);
    return NULL;
}

/* Waits until the request has come, then cancels. */
static void cancel_one(bool by_container, bool by_query)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .timeout_ms = 60000 };
    struct blocked b = { .by_query = by_query };
    int64_t begun = now_ms();
    runnel_error error = { 0 };
    pthread_t thread;
    struct peer peer;

    peer_open(&peer, be_silent, NULL);
    b.client = open_at(&peer, o);
    assert_int_equal(
        runnel_container_open(b.client, "d", "c", &b.container, &error),
        RUNNEL_OK);
    assert_int_equal(pthread_create(&thread, NULL, block, &b), 0);
    while (peer.requests == 0 && now_ms() - begun < 30000)
        sched_yield();
    if (by_container)
        runnel_container_cancel(b.container);
    else
        runnel_client_cancel(b.client);
    pthread_join(thread, NULL);
    assert_int_equal(b.rc, RUNNEL_CANCELLED);
    assert_true(now_ms() - begun < 30000);
    /* All later ones too. */
    block(&b);
    assert_int_equal(b.rc, RUNNEL_CANCELLED);
    runnel_container_close(b.container);
    runnel_client_close(b.client);
    peer_close(&peer);
}

static void a_blocked_call_is_cancelled_from_another_thread(void **state)
{
    (void)state;
    cancel_one(false, false);
    cancel_one(true, false);
    cancel_one(false, true);
    cancel_one(true, true);
}

static void a_cancelled_container_leaves_the_others_alone(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    runnel_container *c = NULL, *other = NULL;
    runnel_client *client;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    peer_open(&peer, be_well, NULL);
    client = open_at(&peer, o);
    assert_int_equal(runnel_container_open(client, "d", "c", &c, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_container_open(client, "d", "c", &other, &error),
                     RUNNEL_OK);
    runnel_container_cancel(c);
    assert_int_equal(runnel_container_read(c, NULL, &error), RUNNEL_CANCELLED);
    assert_int_equal(runnel_container_read(other, NULL, &error), RUNNEL_OK);
    runnel_container_close(c);
    runnel_container_close(other);
    runnel_client_close(client);
    peer_close(&peer);
}

static void *block_in_feed(void *context)
{
    runnel_batch *batch = NULL;
    runnel_error error = { 0 };
    runnel_code rc = runnel_feed_next(context, 60000, &batch, &error);

    assert_null(batch);
    return rc == RUNNEL_CANCELLED ? context : NULL;
}

/* The first next reads the container's definition and ranges, too. */
static void a_feed_is_cancelled_before_its_first_answer(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .timeout_ms = 60000 };
    int64_t begun = now_ms();
    runnel_container *c = NULL;
    runnel_feed *feed = NULL;
    runnel_error error = { 0 };
    runnel_client *client;
    struct peer peer;
    pthread_t thread;
    void *cancelled;

    (void)state;
    peer_open(&peer, be_silent, NULL);
    client = open_at(&peer, o);
    assert_int_equal(runnel_container_open(client, "d", "c", &c, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_feed_open(c, NULL, &feed, &error), RUNNEL_OK);
    assert_int_equal(pthread_create(&thread, NULL, block_in_feed, feed), 0);
    while (peer.requests == 0 && now_ms() - begun < 30000)
        sched_yield();
    runnel_feed_cancel(feed);
    pthread_join(thread, &cancelled);
    assert_non_null(cancelled);
    assert_true(now_ms() - begun < 30000);
    runnel_feed_close(feed);
    runnel_container_close(c);
    runnel_client_close(client);
    peer_close(&peer);
}

/* A pause between two attempts ends, too. */
static enum peer_then be_full(struct peer *p, struct rn_view request, int n,
                              struct rn_buf *out)
{
    (void)p;
    (void)request;
    (void)n;
    peer_reply(out, 429, "x-ms-retry-after-ms: 25000\r\n", "");
    return PEER_KEEP;
}

static void a_pause_between_attempts_is_cancelled(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    struct blocked b = { 0 };
    int64_t begun = now_ms();
    runnel_error error = { 0 };
    pthread_t thread;
    struct peer peer;

    (void)state;
    peer_open(&peer, be_full, NULL);
    b.client = open_at(&peer, o);
    assert_int_equal(
        runnel_container_open(b.client, "d", "c", &b.container, &error),
        RUNNEL_OK);
    assert_int_equal(pthread_create(&thread, NULL, block, &b), 0);
    while (peer.requests == 0 && now_ms() - begun < 20000)
        sched_yield();
    runnel_client_cancel(b.client);
    pthread_join(thread, NULL);
    assert_int_equal(b.rc, RUNNEL_CANCELLED);
    assert_true(now_ms() - begun < 20000);
    runnel_container_close(b.container);
    runnel_client_close(b.client);
    peer_close(&peer);
}

/* ---- the machine --------------------------------------------------------- */

static atomic_bool pipe_came;

static void note_pipe(int signal)
{
    (void)signal;
    pipe_came = true;
}

static void the_environment_and_signals_are_left_alone(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    struct sigaction note = { .sa_handler = note_pipe }, old;
    runnel_client *client;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:9", 1);
    sigaction(SIGPIPE, &note, &old);
    peer_open(&peer, be_well, NULL);
    client = open_at(&peer, o);
    for (int i = 0; i < 20; i++)
        assert_int_equal(runnel_database_read(client, "d", NULL, &error),
                         RUNNEL_OK);
    sigaction(SIGPIPE, NULL, &note);
    assert_ptr_equal(note.sa_handler, note_pipe);
    sigaction(SIGPIPE, &old, NULL);
    assert_false(pipe_came);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    runnel_client_close(client);
    peer_close(&peer);
}

/* ---- requests as they are sent ------------------------------------------- */

static char seen[4096];

static enum peer_then keep_request(struct peer *p, struct rn_view request,
                                   int n, struct rn_buf *out)
{
    (void)p;
    (void)n;
    snprintf(seen, sizeof(seen), "%.*s", RN_FMT(request));
    peer_reply(out, 201, "etag: \"1\"\r\nX-Odd:\r\nX-Blank:  a  \r\n", "{}");
    return PEER_KEEP;
}

static void a_request_has_what_the_protocol_wants(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .user_agent = "tester/1",
                                .consistency = "eventual" };
    runnel_header header = { "x-ms-indexing-directive", "Exclude" };
    runnel_item_options io = { RUNNEL_ITEM_INIT, .partition_key = "\"\\u00e4\"",
                               .headers = &header, .header_count = 1 };
    runnel_container *c = NULL;
    runnel_reply *reply = NULL;
    runnel_client *client;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    peer_open(&peer, keep_request, NULL);
    client = open_at(&peer, o);
    assert_int_equal(
        runnel_container_open(client, "d b", "\xc3\xa4", &c, &error),
        RUNNEL_OK);
    assert_int_equal(runnel_item_create(c, runnel_text("{\"id\":\"1\"}"), &io,
                                        &reply, &error),
                     RUNNEL_OK);
    assert_string_equal(runnel_reply_etag(reply), "\"1\"");
    assert_string_equal(runnel_reply_header(reply, "x-odd"), "");
    assert_string_equal(runnel_reply_header(reply, "x-blank"), "a");
    runnel_reply_close(reply);
    assert_ptr_equal(strstr(seen, "POST /dbs/d%20b/colls/%C3%A4/docs HTTP/1.1"),
                     seen);
    assert_non_null(
        strstr(seen, "x-ms-documentdb-partitionkey: [\"\\u00e4\"]"));
    assert_non_null(strstr(seen, "x-ms-indexing-directive: Exclude"));
    assert_non_null(strstr(seen, "user-agent: librunnel/"));
    assert_non_null(strstr(seen, " tester/1\r\n"));
    assert_non_null(strstr(seen, "prefer: return=minimal"));
    assert_non_null(strstr(seen, "authorization: type%3Dmaster"));
    assert_null(strstr(seen, "Expect:"));
    assert_null(strstr(seen, "x-ms-consistency-level")); /* of reads only */
    header.value = "a\r\nevil: b";
    assert_int_equal(
        runnel_item_create(c, runnel_text("{\"id\":\"1\"}"), &io, NULL, &error),
        RUNNEL_BAD_REQUEST);
    runnel_container_close(c);
    runnel_client_close(client);
    peer_close(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_use_one_client_and_few_connections),
        cmocka_unit_test(a_silent_server_is_left_after_the_time_limit),
        cmocka_unit_test(nobody_listening_is_unreachable),
        cmocka_unit_test(a_blocked_call_is_cancelled_from_another_thread),
        cmocka_unit_test(a_cancelled_container_leaves_the_others_alone),
        cmocka_unit_test(a_feed_is_cancelled_before_its_first_answer),
        cmocka_unit_test(a_pause_between_attempts_is_cancelled),
        cmocka_unit_test(the_environment_and_signals_are_left_alone),
        cmocka_unit_test(a_request_has_what_the_protocol_wants),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
