/* client_estimator_test.c -- the estimator that pushes, on a thread of its own.
 *
 * Goal: it gives the total again and again until it is stopped, and the values
 * that the .NET libraries give without leases and after a failure.  Method: a
 * network whose answers are written here, leases in memory.
 */
#include "client/api/container.h"
#include "client/canned.h"

#include <runnel/processor.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static struct canned network;
static runnel_container source;
static runnel_lease_store *store;
static runnel_error error;
static atomic_bool is_broken; /* the feed refuses to be read */

static atomic_uint pushed;
static atomic_llong behind;
static atomic_uint leases, state_of_total, state_of_lease;

static bool push(void *context, const runnel_lag *lag)
{
    (void)context;
    if (lag->lease) {
        atomic_store(&state_of_lease, lag->state);
        assert_true((lag->state == RUNNEL_LAG_FAILED) == (lag->error != NULL));
        return true;
    }
    atomic_store(&behind, lag->behind);
    atomic_store(&leases, lag->leases);
    atomic_store(&state_of_total, lag->state);
    atomic_fetch_add(&pushed, 1);
    return true;
}

static void answer(struct canned *c, struct rn_exchange *x, int n)
{
    const char *url = x->url.at;

    (void)c;
    (void)n;
    if (strstr(url, "/pkranges"))
        canned_reply(x, 200, 0, "etag: \"1\"\n",
                     "{\"PartitionKeyRanges\":[{\"id\":\"0\","
                     "\"minInclusive\":\"\",\"maxExclusive\":\"FF\"}]}");
    else if (strstr(url, "/docs") && atomic_load(&is_broken))
        canned_reply(x, 400, 0, "", "{}");
    else if (strstr(url, "/docs"))
        canned_reply(x, 200, 0, "etag: \"8\"\nx-ms-session-token: 0:1#10#1=3\n",
                     "{\"Documents\":[{\"id\":\"a\",\"pk\":\"a\",\"_lsn\":8,"
                     "\"_ts\":1,\"_rid\":\"AAAAAYAAAAEBAAAAAAAAAA==\"}]}");
    else
        canned_reply(x, 200, 0, "",
                     "{\"id\":\"source\",\"_rid\":\"AAAAAYAAAAE=\","
                     "\"partitionKey\":{\"paths\":[\"/pk\"],"
                     "\"kind\":\"Hash\",\"version\":2}}");
}

/* Waits for rounds that began after the call. */
static void wait_for_rounds(void)
{
    unsigned from = atomic_load(&pushed);

    for (int i = 0; i < 60000 && atomic_load(&pushed) < from + 2; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_true(atomic_load(&pushed) >= from + 2);
}

static runnel_estimator *start(const char *json)
{
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = &source,
                             .name = "p" };
    runnel_estimator *e = NULL;

    assert_int_equal(runnel_lease_store_memory(json, &store, &error),
                     RUNNEL_OK);
    set.lease_store = store;
    assert_int_equal(runnel_estimator_start(&set, 1, push, NULL, &e, &error),
                     RUNNEL_OK);
    wait_for_rounds();
    return e;
}

static void stop(runnel_estimator *e)
{
    unsigned count;

    runnel_estimator_stop(e);
    count = atomic_load(&pushed);
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    assert_int_equal(atomic_load(&pushed), count);
    runnel_lease_store_close(store);
}

static void without_leases_the_total_is_one(void **state)
{
    runnel_estimator *e;

    (void)state;
    e = start(NULL);
    assert_int_equal(atomic_load(&behind), 1);
    assert_int_equal(atomic_load(&leases), 0);
    assert_int_equal(atomic_load(&state_of_total), RUNNEL_LAG_UNREAD);
    stop(e);
}

static void the_total_is_pushed_until_it_is_stopped(void **state)
{
    runnel_estimator *e;

    (void)state;
    e = start("[{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=..0\","
              "\"LeaseToken\":\"0\",\"ContinuationToken\":\"\\\"7\\\"\"}]");
    assert_int_equal(atomic_load(&behind), 3);
    assert_int_equal(atomic_load(&leases), 1);
    assert_int_equal(atomic_load(&state_of_lease), RUNNEL_LAG_KNOWN);
    atomic_store(&is_broken, true);
    wait_for_rounds();
    assert_int_equal(atomic_load(&behind), 1);
    assert_int_equal(atomic_load(&state_of_lease), RUNNEL_LAG_FAILED);
    atomic_store(&is_broken, false);
    wait_for_rounds();
    assert_int_equal(atomic_load(&behind), 3);
    stop(e);
}

static int set_up(void **state)
{
    struct rn_account *account = NULL;

    (void)state;
    canned_init(&network, answer, NULL);
    if (canned_open(&network, NULL, &account, &error) ||
        rn_client_container_open(account, "db", "source", &source.inner,
                                 &error))
        return -1;
    rn_account_unref(account);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rn_client_container_unref(source.inner);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_leases_the_total_is_one),
        cmocka_unit_test(the_total_is_pushed_until_it_is_stopped),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
