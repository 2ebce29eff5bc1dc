/* client_herd_test.c -- fleets that change at once: in virtual time, with the
 * default intervals.
 *
 * Goal: however many hosts start, join or die together, the fleet is balanced
 * within two acquire intervals, and the lease container gets few requests.
 * Method: herds of several sizes and seeds; the leases that each host has are
 * counted twice a second.
 */
#include "client/hosts.h"
#include "client/lease/expiry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ACQUIRE_MS = 13000, EXPIRE_MS = 60000, STEP_MS = 500 };

static struct hosts h;
static unsigned first, end; /* hosts that live: those between the two */

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static void open_herd(uint64_t seed, unsigned leases)
{
    hosts_open(&h, seed, leases);
    first = end = 0;
}

static void join(unsigned hosts)
{
    runnel_processor_options o = hosts_options();

    o.lease_acquire_ms = o.lease_renew_ms = o.lease_expire_ms = 0;
    for (; hosts > 0; hosts--)
        hosts_start(&h, (int)end++, &o);
}

static void die(unsigned hosts)
{
    for (; hosts > 0; hosts--)
        hosts_kill(&h, (int)first++);
}

static runnel_processor_stats stats_of(unsigned number)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(h.hosts[number].engine, &stats);
    return stats;
}

/* Of all hosts that live, since they started. */
static uint64_t requests(void)
{
    uint64_t count = 0;

    for (unsigned i = first; i < end; i++) {
        runnel_processor_stats stats = stats_of(i);
        count += stats.lease_reads + stats.lease_writes;
    }
    return count;
}

/* No host has two leases more than another one, nor two where others have
 * none. */
static bool is_balanced(unsigned leases)
{
    unsigned least = UINT32_MAX;
    unsigned most = 0;
    unsigned all = 0;

    for (unsigned i = first; i < end; i++) {
        unsigned owned = stats_of(i).leases_owned;
        least = owned < least ? owned : least;
        most = owned > most ? owned : most;
        all += owned;
    }
    return all == leases && most - least <= 1;
}

/* The time that it took; fails the test after `limit_ms`. */
static int64_t balance(unsigned leases, int64_t limit_ms)
{
    int64_t begin_ms = world_now_ms(&h.world);
    int64_t ms = 0;

    for (; !is_balanced(leases); ms = world_now_ms(&h.world) - begin_ms) {
        if (ms >= limit_ms)
            fail_msg("%u hosts, %u leases: not balanced after %lld ms",
                     end - first, leases, (long long)ms);
        hosts_run(&h, STEP_MS);
    }
    return ms;
}

/* ---- cases --------------------------------------------------------------- */

/* One host takes all leases, and hands over what is not its share. */
static void hosts_that_start_at_once_are_balanced_soon(void **state)
{
    static const struct {
        unsigned hosts, leases, seeds;
    } cases[] = {
        { 2, 100, 1 }, { 3, 8, 3 },   { 8, 8, 3 },     { 10, 64, 1 },
        { 24, 24, 1 }, { 64, 64, 1 }, { 200, 200, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (unsigned seed = 1; seed <= cases[i].seeds; seed++) {
            unsigned hosts = cases[i].hosts;
            unsigned leases = cases[i].leases;
            open_herd(seed, leases);
            join(hosts);
            balance(leases, 2 * ACQUIRE_MS);
            if (requests() > 24 * hosts + 11 * leases / 2)
                fail_msg("%u hosts, %u leases: %llu requests", hosts, leases,
                         (unsigned long long)requests());
            hosts_close(&h);
        }
    }
    open_herd(1, 1); /* for tear_down */
}

/* The leases of hosts that died expire before others may have them. */
static void hosts_that_join_or_die_at_once_are_balanced_soon(void **state)
{
    static const struct {
        unsigned before, joined, died, leases, seeds;
    } cases[] = {
        { 1, 1, 1, 10, 3 },   { 1, 7, 4, 64, 1 },  { 8, 8, 8, 64, 1 },
        { 7, 1, 1, 64, 1 },   { 4, 1, 1, 5, 3 },   { 12, 12, 12, 24, 1 },
        { 20, 3, 10, 20, 1 }, { 1, 1, 1, 100, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (unsigned seed = 1; seed <= cases[i].seeds; seed++) {
            unsigned leases = cases[i].leases;
            open_herd(seed, leases);
            join(cases[i].before);
            balance(leases, 2 * ACQUIRE_MS);
            hosts_run(&h, 4 * ACQUIRE_MS + seed * 1000);
            join(cases[i].joined);
            balance(leases, 2 * ACQUIRE_MS);
            hosts_run(&h, 4 * ACQUIRE_MS + seed * 1000);
            die(cases[i].died);
            balance(leases,
                    EXPIRE_MS + RN_LEASE_EXPIRY_MARGIN_MS + 2 * ACQUIRE_MS);
            hosts_close(&h);
        }
    }
    open_herd(1, 1); /* for tear_down */
}

/* ---- weights ------------------------------------------------------------- */

enum { BUSY_DOCUMENTS = 400, BUSY_RANGES = 4, PERIOD_MS = 5000 };

static unsigned range_of[BUSY_DOCUMENTS]; /* the lease a document is of */
static unsigned handler_of[BUSY_RANGES];  /* the host that has the lease */
static bool is_busy[BUSY_RANGES];

static runnel_verdict note_range(struct hosts_host *host, const char *lease,
                                 const runnel_batch *batch)
{
    unsigned range = (unsigned)strtoul(lease, NULL, 10);

    assert_true(range < BUSY_RANGES);
    handler_of[range] = (unsigned)host->number;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        runnel_bytes json = runnel_batch_at(batch, i)->json;
        const char *id = memmem(json.at, json.len, "\"id\":\"", 6);
        assert_non_null(id);
        range_of[strtoul(id + 6, NULL, 10)] = range;
    }
    return RUNNEL_DONE;
}

/* Writes to the busy ranges only. */
static void write_busily(int64_t ms)
{
    for (; ms > 0; ms -= PERIOD_MS) {
        for (int i = 0; i < BUSY_DOCUMENTS; i++)
            if (is_busy[range_of[i]])
                hosts_put(&h, i, i + 1);
        hosts_run(&h, PERIOD_MS);
    }
}

/* Two hosts with two leases each: all writes go to the two leases of one. */
static void busy_leases_move_to_hosts_of_their_own(void **state)
{
    runnel_processor_options o = hosts_options();
    unsigned closed = 0;
    unsigned other = UINT32_MAX;

    (void)state;
    open_herd(3, BUSY_RANGES);
    h.judge = note_range;
    o.weigh_leases = true;
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    end = 2;
    hosts_put(&h, 0, BUSY_DOCUMENTS);
    balance(BUSY_RANGES, 10000);
    hosts_run(&h, 10000);
    hosts_put(&h, 0, BUSY_DOCUMENTS); /* every range has a handler by now */
    hosts_run(&h, 10000);
    for (unsigned i = 0; i < BUSY_RANGES; i++)
        is_busy[i] = handler_of[i] == 0;
    write_busily(120000);
    for (unsigned i = 0; i < BUSY_RANGES; i++) {
        if (!is_busy[i])
            continue;
        if (other == UINT32_MAX)
            other = handler_of[i];
        else
            assert_int_not_equal(handler_of[i], other);
    }
    assert_true(is_balanced(BUSY_RANGES));
    closed = h.hosts[0].closed + h.hosts[1].closed;
    write_busily(120000); /* and nothing moves any more */
    assert_int_equal(h.hosts[0].closed + h.hosts[1].closed, closed);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(hosts_that_start_at_once_are_balanced_soon),
        CASE(hosts_that_join_or_die_at_once_are_balanced_soon),
        CASE(busy_leases_move_to_hosts_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
