/* client_processor_test.c -- how a processor starts, in virtual time.
 *
 * A host against a service in memory: the lease store is initialised under all
 * circumstances, once, and every change after the start is handled.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static runnel_processor_state state_of(int number)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(h.hosts[number].engine, &stats);
    return stats.state;
}

static bool is_settled(struct hosts *all)
{
    (void)all;
    return state_of(0) != RUNNEL_STARTING;
}

/* Starts host 0, waits for the end of its bootstrap, and frees it if it failed.
 */
static runnel_code start(const runnel_processor_options *o, runnel_error *error)
{
    runnel_code rc = hosts_try(&h, 0, o, error);

    if (rc)
        return rc;
    hosts_until(&h, is_settled, 100000);
    rc = rn_host_wait_ready(h.hosts[0].engine, error);
    if (rc) {
        rn_host_free(h.hosts[0].engine);
        h.hosts[0].engine = NULL;
    }
    return rc;
}

static void one_host_handles_everything_and_releases_its_leases(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    hosts_put(&h, 0, 200);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_put(&h, 100, 300);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_int_equal(hosts_leases(&h), 4);
    assert_int_equal(hosts_owned(&h, 0), 4);
    assert_int_equal(h.deliveries, 400);
    hosts_stop(&h, 0);
    assert_int_equal(hosts_owned(&h, 0), 0);
    assert_int_equal(h.hosts[0].opened, 4);
    assert_int_equal(h.hosts[0].closed, 4);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_SHUTDOWN);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_READY], 1);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_ACQUIRED], 4);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RELEASED], 4);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_STOPPED], 1);
    hosts_check(&h);
}

static void lock_leases_marker_are_written_in_that_order(void **state)
{
    static const char *const ends[] = { ".lock", "..0",   "..1",
                                        "..2",   ".info", ".lock" };
    runnel_processor_options o = hosts_options();
    runnel_error error;

    (void)state;
    hosts_open(&h, 1, 3);
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    assert_true(h.leases->entry_count >= 6);
    for (size_t i = 0; i < 6; i++) {
        const char *id = h.leases->entries[i]->id;
        assert_string_equal(id + strlen(id) - strlen(ends[i]), ends[i]);
    }
    assert_int_equal(h.leases->entries[5]->op, SERVICE_DELETE);
    hosts_stop(&h, 0);
}

static void an_initialised_store_is_not_written_at_start(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error;
    size_t before;

    (void)state;
    hosts_open(&h, 1, 3);
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    hosts_stop(&h, 0);
    before = h.leases->entry_count;
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    hosts_stop(&h, 0);
    assert_true(h.leases->entry_count > before);
    for (size_t i = before; i < h.leases->entry_count; i++)
        assert_int_equal(h.leases->entries[i]->op, SERVICE_REPLACE);
}

/* A lock of a host that crashed.  The container does not expire documents. */
static void an_old_lock_is_removed_by_the_servers_clock(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    h.leases->default_ttl = 0;
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=.lock\"}"));
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 25000);
    assert_int_equal(hosts_leases(&h), 0); /* it may be alive */
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void twenty_hosts_at_once_make_one_set_of_leases(void **state)
{
    runnel_processor_options o = hosts_options();
    unsigned owned = 0;

    (void)state;
    hosts_open(&h, 3, 40);
    hosts_put(&h, 0, 200);
    for (int i = 0; i < 20; i++)
        hosts_start(&h, i, &o);
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_run(&h, 30000);
    assert_int_equal(hosts_leases(&h), 40);
    for (int i = 0; i < 20; i++) {
        assert_true(hosts_owned(&h, i) <= 3);
        owned += hosts_owned(&h, i);
    }
    assert_int_equal(owned, 40);
    hosts_check(&h);
}

static void a_wrong_lease_container_is_refused_in_words(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open_keyed(&h, 1, 2, "/foo");
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "/id or /partitionKey"));
}

static void a_missing_container_is_named(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 2);
    h.leases->is_deleted = true;
    assert_int_equal(start(&o, &error), RUNNEL_NOT_FOUND);
    assert_non_null(strstr(error.message, "db/leases"));
    h.leases->is_deleted = false;
    h.world.box->is_deleted = true;
    assert_int_equal(start(&o, &error), RUNNEL_NOT_FOUND);
    assert_non_null(strstr(error.message, "db/source"));
}

static const char *strange; /* a container at another web server's endpoint */

static bool answer_as_a_stranger(void *context, const struct service_request *q,
                                 struct service_answer *a)
{
    (void)context;
    if (!memmem(q->path.at, q->path.len, strange, strlen(strange)))
        return false;
    a->status = 404;
    a->header_count = 0;
    rn_buf_clear(&a->body);
    assert_int_equal(rn_buf_add(&a->body, RN_LIT("<html>Not here</html>")),
                     RN_OK);
    return true;
}

static void another_server_is_not_taken_for_a_missing_container(void **state)
{
    static const char *const paths[] = { "/colls/source", "/colls/leases" };
    static const char *const names[] = { "the source container cannot be read",
                                         "the lease container cannot be read" };
    runnel_processor_options o = hosts_options();

    (void)state;
    o.create_leases = true;
    for (int i = 0; i < 2; i++) {
        runnel_error error = { 0 };

        hosts_open(&h, 1, 2);
        h.world.wire.before = answer_as_a_stranger;
        strange = paths[i];
        assert_int_equal(start(&o, &error), RUNNEL_NOT_FOUND);
        assert_non_null(strstr(error.message, names[i]));
        assert_non_null(strstr(error.message, "is the endpoint that of"));
        if (i == 0)
            hosts_close(&h);
    }
}

/* Its own leases would be changes for it. */
static void leases_in_the_source_are_refused_by_any_handle(void **state)
{
    const struct service_definition both = { .db = "db",
                                             .name = "both",
                                             .key = "/id" };
    struct rn_client_container *one = NULL;
    struct rn_client_container *other = NULL;
    runnel_processor_options o = hosts_options();
    struct rn_network *network = NULL;
    struct rn_account *account;
    struct hosts_host *host = &h.hosts[0];
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 1);
    service_add(&h.world.service, &both);
    account = world_account(&h.world, rn_sim_env(h.world.sim), &network);
    assert_int_equal(
        rn_client_container_open(h.world.account, "db", "both", &one, NULL),
        RUNNEL_OK);
    assert_int_equal(
        rn_client_container_open(account, "db", "both", &other, NULL),
        RUNNEL_OK);
    host->account = h.world.account;
    host->source = one;
    host->leases = other;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "must not be the source"));
    rn_account_unref(account);
    rn_account_ref(h.world.account); /* hosts_close gives it back */
}

static void leases_keyed_by_partition_key_work(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open_keyed(&h, 1, 2, "/partitionKey");
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_non_null(
        strstr(hosts_lease(&h, "0")->json, "\"partitionKey\":\"plocalhost_"));
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* As .NET hosts before 3.59 made them in a race: one id, two partition keys. */
static void of_a_doubled_lease_the_lower_position_stays(void **state)
{
    runnel_processor_options o = hosts_options();
    const char *json;
    char copy[4096];
    int before;

    (void)state;
    hosts_open_keyed(&h, 1, 1, "/partitionKey");
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_stop(&h, 0);
    json = hosts_lease(&h, "0")->json;
    before = (int)(strstr(json, "\"partitionKey\":\"") - json);
    assert_non_null(strstr(json, "\"\\\"20\\\"\""));
    snprintf(copy, sizeof(copy), "%.*s\"partitionKey\":\"other-%s", before,
             json, json + before + strlen("\"partitionKey\":\""));
    memcpy(strstr(copy, "\\\"20\\\"") + 2, "10", 2); /* done up to 10 */
    assert_non_null(service_upsert(h.leases, copy));
    assert_int_equal(hosts_leases(&h), 2);
    hosts_put(&h, 20, 30);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 10000);
    assert_int_equal(hosts_leases(&h), 1);
    assert_non_null(strstr(hosts_lease(&h, "0")->json, "other-"));
    assert_int_equal(h.deliveries, 40); /* ten came again */
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_start_of_now_misses_nothing_after_it(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error;

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 20);
    o.feed = NULL;
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    hosts_kill(&h, 0); /* before any lease was acquired */
    for (int i = 0; i < 20; i++)
        h.seen[i] = h.written[i]; /* from before the start: not expected */
    hosts_put(&h, 20, 40);
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_int_equal(h.deliveries, 20);
    hosts_check(&h);
    hosts_stop(&h, 0);
}

static void an_idle_lease_remembers_its_place(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 40000); /* the server holds a read for 30 s */
    hosts_stop(&h, 0);
    /* The first 304 was stored. */
    assert_null(
        strstr(hosts_lease(&h, "0")->json, "\"ContinuationToken\":null"));
    hosts_put(&h, 0, 5);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_deleted_lease_begins_again_and_is_reported(void **state)
{
    runnel_processor_options o = hosts_options();
    const struct service_entry *lease;
    char pk[160];

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    lease = hosts_lease(&h, "1");
    snprintf(pk, sizeof(pk), "[\"%s\"]", lease->id);
    assert_non_null(service_delete(h.leases, lease->id, pk));
    hosts_put(&h, 50, 60);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    assert_int_equal(hosts_leases(&h), 2);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION] > 0);
    hosts_stop(&h, 0);
    /* Those of the one range came again. */
    assert_true(h.deliveries > 60 && h.deliveries < 120);
}

/* What was processed is not known: nothing begins by itself. */
static void leases_that_are_all_deleted_are_reported(void **state)
{
    static const char *const tokens[] = { "0", "1" };
    runnel_processor_options o = hosts_options();
    char pk[160];

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    for (int i = 0; i < 2; i++) {
        const char *id = hosts_lease(&h, tokens[i])->id;
        snprintf(pk, sizeof(pk), "[\"%s\"]", id);
        assert_non_null(service_delete(h.leases, id, pk));
    }
    hosts_run(&h, 10000);
    assert_int_equal(hosts_leases(&h), 0);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION] > 0);
    assert_non_null(strstr(h.hosts[0].last_message, "import leases"));
    assert_int_equal(h.deliveries, 50);
    hosts_stop(&h, 0);
}

static void
children_of_a_split_while_stopped_go_on_from_the_parent(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    assert_true(service_split(h.world.box, 0, 0));
    hosts_put(&h, 50, 80);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 3000);
    assert_int_equal(hosts_leases(&h), 2);
    assert_int_equal(h.deliveries, 80);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void damaged_and_foreign_documents_are_reported_and_left(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=..1\","
                  "\"LeaseToken\":7}"));
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION] > 0);
    assert_non_null(strstr(h.hosts[0].last_message,
                           "1 range waits until the lease document is "
                           "repaired, or deleted to begin again: lease \""));
    assert_non_null(strstr(h.hosts[0].last_message, "..1"));
    assert_false(hosts_all_seen(&h)); /* that range waits */
    assert_non_null(strstr(hosts_lease(&h, "1")->json, "\"LeaseToken\":7"));
    hosts_stop(&h, 0);
    /* A lease of the Java library. */
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=..1\","
                  "\"LeaseToken\":\"-FF\",\"version\":1,\"feedRange\":{}}"));
    assert_int_equal(start(&o, &error), RUNNEL_UNSUPPORTED);
    assert_non_null(strstr(error.message, "a lease of the Java library"));
    assert_non_null(strstr(error.message, "use another processor name"));
}

static void options_that_contradict_are_refused(void **state)
{
    static const runnel_feed_options all_from_beginning = {
        RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL,
        .start = RUNNEL_START_BEGINNING
    };
    static const runnel_feed_options all_from_a_time = {
        RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL, .start = RUNNEL_START_TIME,
        .start_time_ms = 1000
    };
    static const runnel_feed_options with_range = { RUNNEL_FEED_INIT,
                                                    .range = "0" };
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 1);
    o.lease_renew_ms = 10000;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "lease_renew_ms"));
    o = hosts_options();
    o.manual_checkpoint = true;
    o.parallel = 2;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    o = hosts_options();
    o.exhausted = RUNNEL_DEAD_LETTER;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    o = hosts_options();
    o.weigh_leases = true;
    o.fleet = RUNNEL_FLEET_COMPATIBLE;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "weigh_leases"));
    o = hosts_options();
    o.feed = &all_from_beginning;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    o.feed = &all_from_a_time;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    o.feed = &with_range;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    o = hosts_options();
    o.name = "a/b";
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    o.name = "caf\xe9";
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_string_equal(error.message, "name is not UTF-8");
    o.name = "a";
    o.host = "\xed\xa0\x80";
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_string_equal(error.message, "host is not UTF-8");
    o.host = NULL;
    o = hosts_options();
    o.name = NULL;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_int_equal(h.world.service.requests, 0);
}

static void leases_of_the_other_mode_are_refused(void **state)
{
    static const runnel_feed_options all = { RUNNEL_FEED_INIT,
                                             .mode = RUNNEL_FEED_ALL };
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 1);
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    hosts_stop(&h, 0);
    o.feed = &all;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "of latest versions"));
    o.name = "q";
    assert_int_equal(start(&o, &error), RUNNEL_OK);
    hosts_stop(&h, 0);
    o.feed = NULL;
    assert_int_equal(start(&o, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "of all versions"));
}

static void discarded_leases_begin_again(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 30);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    o.host = "other";
    o.discard_leases = true;
    assert_int_equal(hosts_try(&h, 1, &o, &error), RUNNEL_OK);
    hosts_run(&h, 3000);
    /* Host 0 lives and would lose its position. */
    assert_int_equal(rn_host_wait_ready(h.hosts[1].engine, &error),
                     RUNNEL_CONFLICT);
    hosts_kill(&h, 1);
    hosts_stop(&h, 0);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 10000);
    assert_int_equal(h.deliveries, 60);
    hosts_stop(&h, 0);
}

/* Several leases for one range, as the .NET library reads them too. */
static void a_range_may_have_several_leases(void **state)
{
    runnel_processor_options o = hosts_options();
    unsigned owned;

    (void)state;
    hosts_open(&h, 1, 2);
    o.leases_per_range = 3;
    hosts_put(&h, 0, 300);
    for (int i = 0; i < 3; i++)
        hosts_start(&h, i, &o);
    hosts_until(&h, hosts_all_seen, 60000);
    hosts_run(&h, 20000);
    assert_int_equal(hosts_leases(&h), 6);
    owned = hosts_owned(&h, 0);
    assert_int_equal(owned, 2);
    hosts_put(&h, 0, 300);
    hosts_until(&h, hosts_all_seen, 60000);
    for (int i = 0; i < 3; i++) {
        assert_true(h.hosts[i].batches > 0);
        hosts_stop(&h, i);
    }
    hosts_check(&h);
}

static void a_host_of_version_2_keeps_leases_whole(void **state)
{
    runnel_processor_options o = hosts_options();
    char json[256];

    (void)state;
    hosts_open(&h, 1, 2);
    snprintf(json, sizeof(json),
             "{\"id\":\"plocalhost_AAAAAQ==_%s..0\",\"PartitionId\":\"0\","
             "\"Owner\":\"v2\",\"ContinuationToken\":null,"
             "\"properties\":{},\"timestamp\":null}",
             h.world.box->rid_text);
    assert_non_null(service_upsert(h.leases, json));
    o.leases_per_range = 4;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 60000); /* the other host is dead */
    assert_int_equal(hosts_leases(&h), 2);
    assert_non_null(hosts_lease(&h, "1"));
    assert_true(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION] > 0);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            one_host_handles_everything_and_releases_its_leases, tear_down),
        cmocka_unit_test_teardown(lock_leases_marker_are_written_in_that_order,
                                  tear_down),
        cmocka_unit_test_teardown(an_initialised_store_is_not_written_at_start,
                                  tear_down),
        cmocka_unit_test_teardown(an_old_lock_is_removed_by_the_servers_clock,
                                  tear_down),
        cmocka_unit_test_teardown(twenty_hosts_at_once_make_one_set_of_leases,
                                  tear_down),
        cmocka_unit_test_teardown(a_wrong_lease_container_is_refused_in_words,
                                  tear_down),
        cmocka_unit_test_teardown(a_missing_container_is_named, tear_down),
        cmocka_unit_test_teardown(
            another_server_is_not_taken_for_a_missing_container, tear_down),
        cmocka_unit_test_teardown(
            leases_in_the_source_are_refused_by_any_handle, tear_down),
        cmocka_unit_test_teardown(leases_keyed_by_partition_key_work,
                                  tear_down),
        cmocka_unit_test_teardown(of_a_doubled_lease_the_lower_position_stays,
                                  tear_down),
        cmocka_unit_test_teardown(a_start_of_now_misses_nothing_after_it,
                                  tear_down),
        cmocka_unit_test_teardown(an_idle_lease_remembers_its_place, tear_down),
        cmocka_unit_test_teardown(a_deleted_lease_begins_again_and_is_reported,
                                  tear_down),
        cmocka_unit_test_teardown(leases_that_are_all_deleted_are_reported,
                                  tear_down),
        cmocka_unit_test_teardown(
            children_of_a_split_while_stopped_go_on_from_the_parent, tear_down),
        cmocka_unit_test_teardown(
            damaged_and_foreign_documents_are_reported_and_left, tear_down),
        cmocka_unit_test_teardown(options_that_contradict_are_refused,
                                  tear_down),
        cmocka_unit_test_teardown(leases_of_the_other_mode_are_refused,
                                  tear_down),
        cmocka_unit_test_teardown(discarded_leases_begin_again, tear_down),
        cmocka_unit_test_teardown(a_range_may_have_several_leases, tear_down),
        cmocka_unit_test_teardown(a_host_of_version_2_keeps_leases_whole,
                                  tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
