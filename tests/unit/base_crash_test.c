/* base_crash_test.c -- what a simulated power cut may take of the contents of
 * files, and what it may not.
 *
 * Two kinds of tests, each over many seeds.  Some count: an outcome that a real
 * disk can produce (torn, lost, reordered) must come up, or the simulation
 * would prove nothing.  Others check that no outcome is worse than a disk may
 * be, against all the states a file has had since its last sync.
 *
 * 300 seeds each (1 s); 30,000 as a proof (RUNNEL_PROVE).
 */
#include "lib/crash.h"

#include "base/prng.h"

#include <errno.h>
#include <stdlib.h>

static void what_was_synced_survives(void **state)
{
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        f = synced_file("f", 'a', 5000);
        rn_sim_spoil(sim, 100);
        rn_sim_crash(sim);
        rn_sim_crash(sim); /* and a second one changes nothing */
        assert_int_equal(read_whole("f", out, sizeof(out)), 5000);
        assert_true(is_all(out, 'a', 5000));
        rn_file_close(f);
    }
}

/* Each sector of an unsynced write is there or not, and nothing else. */
static void an_unsynced_write_is_kept_lost_or_torn_by_sectors(void **state)
{
    int kept = 0, lost = 0, torn = 0, torn_inside_block = 0, blocks_apart = 0;
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        int new_sectors = 0;
        f = synced_file("f", 'a', BIG);
        write_fill(f, 'b', 8192, 2048);
        rn_sim_crash(sim);
        assert_int_equal(read_whole("f", out, sizeof(out)), BIG);
        for (size_t s = 0; s < BIG; s += 512) {
            bool is_new = out[s] == 'b';
            assert_true(is_all(out + s, is_new ? 'b' : 'a', 512));
            assert_true(!is_new || (s >= 2048 && s < 2048 + 8192));
            new_sectors += is_new;
        }
        kept += new_sectors == 16;
        lost += new_sectors == 0;
        torn += new_sectors > 0 && new_sectors < 16;
        torn_inside_block += out[4096] != out[8191];
        blocks_apart += is_all(out, 'a', 4096) && is_all(out + 4096, 'b', 4096);
        rn_file_close(f);
    }
    assert_true(kept > 20);
    assert_true(lost > 20);
    assert_true(torn > 20);
    assert_true(torn_inside_block > 20);
    assert_true(blocks_apart > 5);
}

static void writes_are_lost_independently(void **state)
{
    int outcomes[4] = { 0 };
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        f = synced_file("f", 'a', 8192);
        write_fill(f, 'b', 512, 0);
        write_fill(f, 'c', 512, 4096);
        rn_sim_crash(sim);
        assert_int_equal(read_whole("f", out, sizeof(out)), 8192);
        outcomes[(out[0] == 'b') + 2 * (out[4096] == 'c')]++;
        rn_file_close(f);
    }
    for (int i = 0; i < 4; i++)
        assert_true(outcomes[i] > 20);
}

static void spoilt_blocks_lose_neighbours_but_not_other_blocks(void **state)
{
    int neighbour_hit = 0;
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        rn_sim_spoil(sim, 100);
        f = synced_file("f", 'a', BIG);
        write_fill(f, 'b', 512, 4096 + 512);
        rn_sim_crash(sim);
        assert_int_equal(read_whole("f", out, sizeof(out)), BIG);
        assert_true(is_all(out, 'a', 4096));
        assert_true(is_all(out + 8192, 'a', 4096));
        neighbour_hit += !is_all(out + 4096, 'a', 512);
        rn_file_close(f);
    }
    assert_true(neighbour_hit > 20);
}

static void a_length_is_one_the_file_had(void **state)
{
    int seen[4] = { 0 };
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        static const int lengths[4] = { 100, 2000, 50, 700 };
        struct rn_file *f;
        int len, known = 0;
        f = synced_file("f", 'a', 100);
        write_fill(f, 'b', 1000, 1000);
        assert_int_equal(env->ops->truncate(f, 50), 0);
        write_fill(f, 'c', 600, 100);
        rn_sim_crash(sim);
        len = read_whole("f", out, sizeof(out));
        for (int i = 0; i < 4; i++) {
            known += len == lengths[i];
            seen[i] += len == lengths[i];
        }
        assert_int_equal(known, 1);
        assert_true(is_all(out, 'a', 50)); /* never written again */
        /* what came after the cut is not there without it */
        for (int i = 0; len != 700 && len != 50 && i < len; i++)
            assert_int_not_equal(out[i], 'c');
        /* what the cut removed does not come back with it */
        for (int i = 50; len == 700 && i < len; i++)
            assert_true(out[i] == 0 || out[i] == 'c');
        rn_file_close(f);
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 5);
}

/* A failed sync loses writes for good, although reads still show them. */
static void a_later_sync_does_not_mend_a_failed_one(void **state)
{
    int lost = 0, kept = 0;
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        f = synced_file("f", 'a', 4096);
        write_fill(f, 'b', 4096, 0);
        rn_sim_fail(sim, RN_SIM_SYNC, 1, EIO, RN_SIM_ONCE);
        assert_int_equal(rn_file_sync(f), EIO);
        assert_int_equal(read_whole("f", out, sizeof(out)), 4096);
        assert_true(is_all(out, 'b', 4096));
        assert_int_equal(rn_file_sync(f), 0);
        rn_sim_crash(sim);
        assert_int_equal(read_whole("f", out, sizeof(out)), 4096);
        lost += is_all(out, 'a', 4096);
        kept += is_all(out, 'b', 4096);
        rn_file_close(f);
    }
    assert_true(lost > 20);
    assert_true(kept > 20);
}

/* What rereading shows is what a crash will leave; what is not yet synced stays
 * as it is. */
static void rereading_shows_what_a_failed_sync_lost(void **state)
{
    char now[BIG], after[BIG];
    int lost = 0;

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        f = synced_file("f", 'a', 8192);
        write_fill(f, 'b', 4096, 0);
        rn_sim_fail(sim, RN_SIM_SYNC, 1, EIO, RN_SIM_ONCE);
        assert_int_equal(rn_file_sync(f), EIO);
        write_fill(f, 'c', 4096, 4096);
        env->ops->reread(f, 0, 8192);
        assert_int_equal(read_whole("f", now, sizeof(now)), 8192);
        assert_true(is_all(now, 'b', 4096) && is_all(now + 4096, 'c', 4096));
        assert_int_equal(rn_file_sync(f), 0);
        env->ops->reread(f, 0, 100000);
        assert_int_equal(read_whole("f", now, sizeof(now)), 8192);
        assert_true(is_all(now + 4096, 'c', 4096));
        lost += is_all(now, 'a', 4096);
        rn_sim_crash(sim);
        assert_int_equal(read_whole("f", after, sizeof(after)), 8192);
        assert_memory_equal(now, after, 8192);
        rn_file_close(f);
    }
    assert_true(lost > 20);
}

/* All the states a file has had since its last sync. */
struct past {
    char bytes[64][BIG];
    size_t len[64];
    int count;
};

static void remember(struct past *past)
{
    int len = read_whole("f", past->bytes[past->count], BIG);

    assert_true(len >= 0 && past->count < 64);
    past->len[past->count++] = (size_t)len;
}

static void check_against_past(const struct past *past)
{
    char out[BIG];
    int len = read_whole("f", out, BIG);
    bool known_len = false;

    assert_true(len >= 0);
    for (int k = 0; k < past->count; k++)
        known_len = known_len || past->len[k] == (size_t)len;
    assert_true(known_len);
    for (int i = 0; i < len; i++) {
        bool known = out[i] == 0; /* a hole */
        for (int k = 0; !known && k < past->count; k++)
            known = (size_t)i < past->len[k] && past->bytes[k][i] == out[i];
        assert_true(known);
    }
}

static void no_byte_is_invented(void **state)
{
    struct past *past = malloc(sizeof(*past));

    (void)state;
    assert_non_null(past);
    EACH_SEED (seed, seeds / 5) {
        struct rn_prng *prng;
        struct rn_file *f;
        prng = rn_sim_prng(sim);
        f = synced_file("f", 'a', 3000);
        past->count = 0;
        remember(past);
        for (uint64_t i = rn_prng_below(prng, 40); i-- > 0;) {
            uint64_t offset = rn_prng_below(prng, 6000);
            if (rn_prng_percent(prng, 10)) {
                assert_int_equal(rn_file_sync(f), 0);
                past->count = 0;
            } else if (rn_prng_percent(prng, 20)) {
                assert_int_equal(env->ops->truncate(f, offset), 0);
            } else {
                write_fill(f, (char)('b' + i % 20),
                           (size_t)rn_prng_below(prng, 6000), offset);
            }
            remember(past);
        }
        rn_sim_crash(sim);
        check_against_past(past);
        rn_file_close(f);
    }
    free(past);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_synced_survives),
        cmocka_unit_test(an_unsynced_write_is_kept_lost_or_torn_by_sectors),
        cmocka_unit_test(writes_are_lost_independently),
        cmocka_unit_test(spoilt_blocks_lose_neighbours_but_not_other_blocks),
        cmocka_unit_test(a_length_is_one_the_file_had),
        cmocka_unit_test(a_later_sync_does_not_mend_a_failed_one),
        cmocka_unit_test(rereading_shows_what_a_failed_sync_lost),
        cmocka_unit_test(no_byte_is_invented),
    };

    return crash_run(tests, sizeof(tests) / sizeof(tests[0]));
}
