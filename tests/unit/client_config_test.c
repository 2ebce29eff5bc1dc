/* client_config_test.c -- the options of a processor: defaults and refusals.
 *
 * Goal: what is left zero has the default that include/runnel/processor.h says,
 * and what cannot work is refused with the names of its options.  Method:
 * tables; nothing is started.
 */
#include "client/hosts.h"
#include "client/processor/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;
static struct rn_client_container *leases;
static struct rn_config config;

static int set_up(void **state)
{
    (void)state;
    hosts_open(&h, 1, 1);
    return rn_client_container_open(h.world.account, "db", "leases", &leases,
                                    NULL) != RUNNEL_OK;
}

static int tear_down(void **state)
{
    (void)state;
    rn_client_container_unref(leases);
    hosts_close(&h);
    return 0;
}

static runnel_verdict handle(void *context, const char *lease,
                             const runnel_batch *batch)
{
    (void)context;
    (void)lease;
    (void)batch;
    return RUNNEL_DONE;
}

static runnel_code init(const runnel_processor_options *o,
                        const struct rn_config_containers *at,
                        runnel_error *error)
{
    const runnel_observer observer = { RUNNEL_OBSERVER_INIT,
                                       .changes = handle };

    return rn_config_init(&config, o, &observer, at, rn_sim_env(h.world.sim),
                          error);
}

/* ---- defaults ------------------------------------------------------------ */

static void what_is_left_zero_has_its_documented_default(void **state)
{
    const runnel_processor_options zero = { RUNNEL_PROCESSOR_INIT,
                                            .name = "p" };
    const struct rn_config_containers at = { .source = h.world.container,
                                             .leases = leases };
    const runnel_processor_options *o = &config.o;

    (void)state;
    assert_int_equal(init(&zero, &at, NULL), RUNNEL_OK);
    /* Those of the documents of 2017 to 2019. */
    assert_int_equal(o->lease_renew_ms, 17000);
    assert_int_equal(o->lease_acquire_ms, 13000);
    assert_int_equal(o->lease_expire_ms, 60000);
    assert_int_equal(o->poll_ms, 5000);
    assert_int_equal(o->min_leases, 0);
    assert_int_equal(o->max_leases, 0);
    assert_false(o->discard_leases);
    assert_false(o->manual_checkpoint);
    assert_int_equal(o->checkpoint_changes, 0);
    assert_int_equal(o->checkpoint_ms, 0);
    assert_int_equal(config.start.kind, RN_POSITION_NOW);
    assert_int_equal(config.mode, RUNNEL_FEED_LATEST);
    assert_int_equal(config.page_limit, 0);
    assert_null(config.session_token);
    /* Those of this library. */
    assert_false(o->create_leases);
    assert_int_equal(o->wait_ms, 30000);
    assert_int_equal(o->leases_per_range, 1);
    assert_int_equal(o->fleet, RUNNEL_FLEET_AUTO);
    assert_false(o->weigh_leases);
    assert_int_equal(o->batch_limit, 0);
    assert_int_equal(o->parallel, 1);
    assert_false(o->single_key);
    assert_int_equal(o->pending_limit, 1);
    assert_int_equal(o->threads, 64);
    assert_int_equal(o->buffer_bytes, 32 << 20);
    assert_int_equal(o->retry_attempts, 5);
    assert_int_equal(o->retry_delay_ms, 500);
    assert_int_equal(o->retry_delay_max_ms, 60000);
    assert_int_equal(o->exhausted, RUNNEL_BLOCK);
    assert_false(o->whole_batch);
    assert_int_equal(o->stuck_ms, 60000);
    assert_int_equal(o->give_up_ms, 600000);
    assert_int_equal(o->start_ms, 60000);
    assert_int_equal(o->stop_ms, 30000);
    assert_true(o->event == runnel_event_print);
    rn_config_release(&config);
}

static void a_host_without_a_name_gets_one_of_its_own(void **state)
{
    const runnel_processor_options unnamed = { RUNNEL_PROCESSOR_INIT,
                                               .name = "" };
    const struct rn_config_containers at = { .source = h.world.container,
                                             .leases = leases };
    char first[RN_HOST_MAX + 1];

    (void)state;
    assert_int_equal(init(&unnamed, &at, NULL), RUNNEL_OK);
    snprintf(first, sizeof(first), "%s", config.host);
    rn_config_release(&config);
    assert_true(strlen(first) > 0);
    assert_int_equal(init(&unnamed, &at, NULL), RUNNEL_OK);
    assert_string_not_equal(config.host, first);
    rn_config_release(&config);
}

/* ---- refusals ------------------------------------------------------------ */

static const runnel_feed_options no_size = { .page_limit = 1 };
static const runnel_feed_options with_range = { RUNNEL_FEED_INIT,
                                                .range = "0" };
static const runnel_feed_options with_key = { RUNNEL_FEED_INIT,
                                              .partition_key = "1" };
static const runnel_observer_factory no_create = { RUNNEL_FACTORY_INIT };
static const runnel_lease_store half = { RUNNEL_LEASE_STORE_INIT };

static void what_cannot_work_is_refused_by_its_name(void **state)
{
    static const struct {
        runnel_processor_options o;
        const char *says;
    } cases[] = {
        { { RUNNEL_PROCESSOR_INIT }, "needs a name" },
        { { RUNNEL_PROCESSOR_INIT, .name = "a/b" }, "name has" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .host = "" },
          "host must not be empty" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .host = "a\nb" }, "host has" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .lease_store = &half },
          "one of leases and lease_store" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .lease_renew_ms = 60000 },
          "lease_renew_ms (60000) must be below lease_expire_ms (60000)" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .lease_expire_ms = 5000 },
          "lease_renew_ms (17000) must be below lease_expire_ms (5000)" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .manual_checkpoint = true,
            .batch_limit = 5 },
          "manual_checkpoint excludes batch_limit" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .weigh_leases = true,
            .fleet = RUNNEL_FLEET_COMPATIBLE },
          "weigh_leases excludes RUNNEL_FLEET_COMPATIBLE" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .leases_per_range = 65 },
          "leases_per_range is at most 64" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .parallel = 1025 },
          "parallel, threads or pending_limit is too large" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p",
            .exhausted = RUNNEL_DEAD_LETTER },
          "RUNNEL_DEAD_LETTER needs dead_letters" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .factory = &no_create },
          "the factory has no create" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .feed = &no_size },
          "RUNNEL_FEED_INIT" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .feed = &with_range },
          "feed.range and feed.partition_key" },
        { { RUNNEL_PROCESSOR_INIT, .name = "p", .feed = &with_key },
          "feed.range and feed.partition_key" },
    };
    const struct rn_config_containers at = { .source = h.world.container,
                                             .leases = leases };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        runnel_error error = { 0 };

        assert_int_equal(init(&cases[i].o, &at, &error), RUNNEL_BAD_REQUEST);
        rn_config_release(&config);
        if (!strstr(error.message, cases[i].says))
            fail_msg("not \"%s\": %s", cases[i].says, error.message);
    }
}

static void containers_that_do_not_fit_are_refused(void **state)
{
    const runnel_processor_options plain = { RUNNEL_PROCESSOR_INIT,
                                             .name = "p" };
    const runnel_processor_options table = { RUNNEL_PROCESSOR_INIT, .name = "p",
                                             .lease_store = &half };
    const struct rn_config_containers alone = { .source = h.world.container };
    const struct rn_config_containers same = { .source = h.world.container,
                                               .leases = h.world.container };
    runnel_error error = { 0 };

    (void)state;
    assert_int_equal(init(&plain, &alone, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "one of leases and lease_store"));
    rn_config_release(&config);
    assert_int_equal(init(&plain, &same, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "must not be the source"));
    rn_config_release(&config);
    assert_int_equal(init(&table, &alone, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "all of its four functions"));
    rn_config_release(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_zero_has_its_documented_default),
        cmocka_unit_test(a_host_without_a_name_gets_one_of_its_own),
        cmocka_unit_test(what_cannot_work_is_refused_by_its_name),
        cmocka_unit_test(containers_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
