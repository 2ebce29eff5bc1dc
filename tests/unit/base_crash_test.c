/* base_crash_test.c -- what a simulated power cut may take, and what it may
 * not.
 *
 * Two kinds of tests, each over many seeds.  Some count: an outcome that a real
 * disk can produce (torn, lost, reordered) must come up, or the simulation
 * would prove nothing.  Others check that no outcome is worse than a disk may
 * be, against all the states a file or a name has had since its last sync.
 *
 * 300 seeds each (1 s); 30,000 as a proof (RUNNEL_PROVE, 40 s).
 */
#include "base/chance.h"
#include "base/sim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BIG = 12288 };

static uint64_t seeds = 300;

static struct rn_sim *sim;
static struct rn_env *env;

static void begin(uint64_t seed)
{
    sim = rn_sim_new(seed);
    env = rn_sim_env(sim);
}

static void end(void)
{
    assert_int_equal(rn_sim_open_files(sim), 0);
    rn_sim_free(sim);
}

static struct rn_file *open_file(const char *path, enum rn_open how)
{
    struct rn_file *file = NULL;

    assert_int_equal(rn_file_open(env, path, how, &file), 0);
    return file;
}

static void write_fill(struct rn_file *f, char with, size_t len,
                       uint64_t offset)
{
    static char bytes[BIG];

    memset(bytes, with, len);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, len), offset), 0);
}

/* A file of `len` times `with`, contents and name synced. */
static struct rn_file *synced_file(const char *path, char with, size_t len)
{
    struct rn_file *f = open_file(path, RN_OPEN_CREATE);

    write_fill(f, with, len, 0);
    assert_int_equal(rn_file_sync(f), 0);
    assert_int_equal(env->ops->sync_dir(env, "/"), 0);
    return f;
}

/* Reads it whole; the length, or -1 if there is no such file. */
static int read_file(const char *path, char *out, size_t room)
{
    struct rn_file *f = NULL;
    size_t got = 0;

    if (rn_file_open(env, path, RN_OPEN_READ, &f) != 0)
        return -1;
    assert_int_equal(rn_file_read(f, out, room, 0, &got), 0);
    rn_file_close(f);
    return (int)got;
}

static bool all(const char *at, char with, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != with)
            return false;
    }
    return true;
}

/* ---- contents ------------------------------------------------------------ */

static void what_was_synced_survives(void **state)
{
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        begin(seed);
        f = synced_file("f", 'a', 5000);
        rn_sim_spoil(sim, 100);
        rn_sim_crash(sim);
        rn_sim_crash(sim); /* and a second one changes nothing */
        assert_int_equal(read_file("f", out, sizeof(out)), 5000);
        assert_true(all(out, 'a', 5000));
        rn_file_close(f);
        end();
    }
}

/* Each sector of an unsynced write is there or not, and nothing else. */
static void an_unsynced_write_is_kept_lost_or_torn_by_sectors(void **state)
{
    int kept = 0, lost = 0, torn = 0, torn_inside_block = 0, blocks_apart = 0;
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        int new_sectors = 0;
        begin(seed);
        f = synced_file("f", 'a', BIG);
        write_fill(f, 'b', 8192, 2048);
        rn_sim_crash(sim);
        assert_int_equal(read_file("f", out, sizeof(out)), BIG);
        for (size_t s = 0; s < BIG; s += 512) {
            bool is_new = out[s] == 'b';
            assert_true(all(out + s, is_new ? 'b' : 'a', 512));
            assert_true(!is_new || (s >= 2048 && s < 2048 + 8192));
            new_sectors += is_new;
        }
        kept += new_sectors == 16;
        lost += new_sectors == 0;
        torn += new_sectors > 0 && new_sectors < 16;
        torn_inside_block += out[4096] != out[8191];
        blocks_apart += all(out, 'a', 4096) && all(out + 4096, 'b', 4096);
        rn_file_close(f);
        end();
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
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        begin(seed);
        f = synced_file("f", 'a', 8192);
        write_fill(f, 'b', 512, 0);
        write_fill(f, 'c', 512, 4096);
        rn_sim_crash(sim);
        assert_int_equal(read_file("f", out, sizeof(out)), 8192);
        outcomes[(out[0] == 'b') + 2 * (out[4096] == 'c')]++;
        rn_file_close(f);
        end();
    }
    for (int i = 0; i < 4; i++)
        assert_true(outcomes[i] > 20);
}

static void spoilt_blocks_lose_neighbours_but_not_other_blocks(void **state)
{
    int neighbour_hit = 0;
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        begin(seed);
        rn_sim_spoil(sim, 100);
        f = synced_file("f", 'a', BIG);
        write_fill(f, 'b', 512, 4096 + 512);
        rn_sim_crash(sim);
        assert_int_equal(read_file("f", out, sizeof(out)), BIG);
        assert_true(all(out, 'a', 4096));
        assert_true(all(out + 8192, 'a', 4096));
        neighbour_hit += !all(out + 4096, 'a', 512);
        rn_file_close(f);
        end();
    }
    assert_true(neighbour_hit > 20);
}

static void a_length_is_one_the_file_had(void **state)
{
    int seen[4] = { 0 };
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        static const int lengths[4] = { 100, 2000, 50, 700 };
        struct rn_file *f;
        int len, known = 0;
        begin(seed);
        f = synced_file("f", 'a', 100);
        write_fill(f, 'b', 1000, 1000);
        assert_int_equal(env->ops->truncate(f, 50), 0);
        write_fill(f, 'c', 600, 100);
        rn_sim_crash(sim);
        len = read_file("f", out, sizeof(out));
        for (int i = 0; i < 4; i++) {
            known += len == lengths[i];
            seen[i] += len == lengths[i];
        }
        assert_int_equal(known, 1);
        assert_true(all(out, 'a', 50)); /* never written again */
        /* what came after the cut is not there without it */
        for (int i = 0; len != 700 && len != 50 && i < len; i++)
            assert_int_not_equal(out[i], 'c');
        /* what the cut removed does not come back with it */
        for (int i = 50; len == 700 && i < len; i++)
            assert_true(out[i] == 0 || out[i] == 'c');
        rn_file_close(f);
        end();
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
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        begin(seed);
        f = synced_file("f", 'a', 4096);
        write_fill(f, 'b', 4096, 0);
        rn_sim_fail(sim, RN_SIM_SYNC, 1, EIO, RN_SIM_ONCE);
        assert_int_equal(rn_file_sync(f), EIO);
        assert_int_equal(read_file("f", out, sizeof(out)), 4096);
        assert_true(all(out, 'b', 4096));
        assert_int_equal(rn_file_sync(f), 0);
        rn_sim_crash(sim);
        assert_int_equal(read_file("f", out, sizeof(out)), 4096);
        lost += all(out, 'a', 4096);
        kept += all(out, 'b', 4096);
        rn_file_close(f);
        end();
    }
    assert_true(lost > 20);
    assert_true(kept > 20);
}

/* What rereading shows is what a crash will leave; what is not yet synced stays
 * as it is. */
static void rereading_tells_what_a_failed_sync_lost(void **state)
{
    char now[BIG], after[BIG];
    int lost = 0;

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        begin(seed);
        f = synced_file("f", 'a', 8192);
        write_fill(f, 'b', 4096, 0);
        rn_sim_fail(sim, RN_SIM_SYNC, 1, EIO, RN_SIM_ONCE);
        assert_int_equal(rn_file_sync(f), EIO);
        write_fill(f, 'c', 4096, 4096);
        env->ops->reread(f, 0, 8192);
        assert_int_equal(read_file("f", now, sizeof(now)), 8192);
        assert_true(all(now, 'b', 4096) && all(now + 4096, 'c', 4096));
        assert_int_equal(rn_file_sync(f), 0);
        env->ops->reread(f, 0, 100000);
        assert_int_equal(read_file("f", now, sizeof(now)), 8192);
        assert_true(all(now + 4096, 'c', 4096));
        lost += all(now, 'a', 4096);
        rn_sim_crash(sim);
        assert_int_equal(read_file("f", after, sizeof(after)), 8192);
        assert_memory_equal(now, after, 8192);
        rn_file_close(f);
        end();
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
    int len = read_file("f", past->bytes[past->count], BIG);

    assert_true(len >= 0 && past->count < 64);
    past->len[past->count++] = (size_t)len;
}

static void check_against_past(const struct past *past)
{
    char out[BIG];
    int len = read_file("f", out, BIG);
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
    for (uint64_t seed = 0; seed < seeds / 5; seed++) {
        struct rn_chance *chance;
        struct rn_file *f;
        begin(seed);
        chance = rn_sim_chance(sim);
        f = synced_file("f", 'a', 3000);
        past->count = 0;
        remember(past);
        for (uint64_t i = rn_chance_below(chance, 40); i-- > 0;) {
            uint64_t offset = rn_chance_below(chance, 6000);
            if (rn_chance_percent(chance, 10)) {
                assert_int_equal(rn_file_sync(f), 0);
                past->count = 0;
            } else if (rn_chance_percent(chance, 20)) {
                assert_int_equal(env->ops->truncate(f, offset), 0);
            } else {
                write_fill(f, (char)('b' + i % 20),
                           (size_t)rn_chance_below(chance, 6000), offset);
            }
            remember(past);
        }
        rn_sim_crash(sim);
        check_against_past(past);
        rn_file_close(f);
        end();
    }
    free(past);
}

/* ---- names --------------------------------------------------------------- */

static void syncing_a_file_does_not_save_its_name(void **state)
{
    int gone = 0, there = 0;
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        int len;
        begin(seed);
        f = open_file("f", RN_OPEN_NEW);
        write_fill(f, 'a', 600, 0);
        assert_int_equal(rn_file_sync(f), 0);
        rn_sim_crash(sim);
        len = read_file("f", out, sizeof(out));
        assert_true(len == -1 || (len == 600 && all(out, 'a', 600)));
        gone += len == -1;
        there += len == 600;
        rn_file_close(f);
        end();
    }
    assert_true(gone > 20);
    assert_true(there > 20);
}

/* The way to replace a file: new one, sync, rename, sync the directory.  At
 * every moment the name has the whole old contents or the whole new ones. */
static void a_careful_replacement_is_atomic(void **state)
{
    int old = 0, fresh = 0;
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        bool done;
        begin(seed);
        rn_file_close(synced_file("f", 'a', 600));
        rn_sim_cut_after(sim, 1 + seed % 5);
        f = NULL;
        done = rn_file_open(env, "tmp", RN_OPEN_NEW, &f) == 0 &&
               rn_file_write(f, RN_LIT("new"), 0) == 0 &&
               rn_file_sync(f) == 0 && env->ops->rename(env, "tmp", "f") == 0 &&
               env->ops->sync_dir(env, "/") == 0;
        assert_false(done);
        rn_file_close(f);
        rn_sim_crash(sim);
        if (read_file("f", out, sizeof(out)) == 3) {
            assert_memory_equal(out, "new", 3);
            fresh++;
        } else {
            assert_int_equal(read_file("f", out, sizeof(out)), 600);
            assert_true(all(out, 'a', 600));
            old++;
        }
        end();
    }
    assert_true(old > 20);
    assert_true(fresh > 20);
}

static void a_careless_replacement_is_not(void **state)
{
    int spoilt = 0;
    char out[BIG];

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rn_file *f;
        int len;
        begin(seed);
        rn_file_close(synced_file("f", 'a', 600));
        f = open_file("tmp", RN_OPEN_NEW);
        write_fill(f, 'b', 600, 0);
        assert_int_equal(env->ops->rename(env, "tmp", "f"), 0); /* no sync */
        rn_sim_crash(sim);
        len = read_file("f", out, sizeof(out));
        spoilt += !(len == 600 && (all(out, 'a', 600) || all(out, 'b', 600)));
        rn_file_close(f);
        end();
    }
    assert_true(spoilt > 20);
}

static void names_do_not_wait_for_each_other(void **state)
{
    int outcomes[4] = { 0 };

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        char out[1];
        begin(seed);
        rn_file_close(open_file("first", RN_OPEN_NEW));
        rn_file_close(open_file("second", RN_OPEN_NEW));
        rn_sim_crash(sim);
        outcomes[(read_file("first", out, 1) == 0) +
                 2 * (read_file("second", out, 1) == 0)]++;
        end();
    }
    for (int i = 0; i < 4; i++)
        assert_true(outcomes[i] > 20);
}

static void what_happened_to_one_name_keeps_its_order(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        char out[4];
        int a, b;
        begin(seed);
        rn_file_close(synced_file("a", '1', 1));
        assert_int_equal(env->ops->remove(env, "a"), 0);
        rn_file_close(open_file("a", RN_OPEN_CREATE));
        assert_int_equal(env->ops->rename(env, "a", "b"), 0);
        rn_sim_crash(sim);
        a = read_file("a", out, sizeof(out));
        b = read_file("b", out, sizeof(out));
        /* first one; removed; second one; moved */
        assert_true((a == 1 && b == -1) || (a == -1 && b == -1) ||
                    (a == 0 && b == -1) || (a == -1 && b == 0));
        end();
    }
}

/* A new file under the old name must not hide that the old one moved away. */
static void a_file_that_moved_is_not_lost_to_its_successor(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        char out[4];
        int a, b;
        begin(seed);
        rn_file_close(synced_file("a", '1', 1));
        assert_int_equal(env->ops->rename(env, "a", "b"), 0);
        rn_file_close(open_file("a", RN_OPEN_NEW));
        if (seed % 2) { /* syncing what came after syncs what came before */
            assert_int_equal(env->ops->sync_dir(env, "/"), 0);
        }
        rn_sim_crash(sim);
        a = read_file("a", out, sizeof(out));
        b = read_file("b", out, sizeof(out));
        assert_true(b == 1 || (a == 1 && seed % 2 == 0));
        end();
    }
}

static void a_move_to_another_directory_is_synced_by_either(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        char out[4];
        begin(seed);
        assert_int_equal(env->ops->make_dir(env, "x"), 0);
        assert_int_equal(env->ops->make_dir(env, "y"), 0);
        assert_int_equal(env->ops->sync_dir(env, "/"), 0);
        rn_file_close(open_file("x/a", RN_OPEN_NEW));
        assert_int_equal(env->ops->rename(env, "x/a", "y/a"), 0);
        assert_int_equal(env->ops->sync_dir(env, seed % 2 ? "x" : "y"), 0);
        rn_sim_crash(sim);
        assert_int_equal(read_file("x/a", out, sizeof(out)), -1);
        assert_int_equal(read_file("y/a", out, sizeof(out)), 0);
        end();
    }
}

static void a_lost_directory_takes_its_files_along(void **state)
{
    int gone = 0;

    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        char out[4];
        struct rn_file *f;
        uint64_t free_bytes = 0;
        int made;
        begin(seed);
        assert_int_equal(env->ops->make_dir(env, "d"), 0);
        f = open_file("d/f", RN_OPEN_CREATE);
        assert_int_equal(rn_file_write(f, RN_LIT("abc"), 0), 0);
        assert_int_equal(rn_file_sync(f), 0);
        assert_int_equal(env->ops->sync_dir(env, "d"), 0);
        rn_sim_disk_limit(sim, 40960);
        rn_sim_crash(sim); /* the root was not synced */
        rn_file_close(f);
        made = env->ops->make_dir(env, "d");
        assert_int_equal(env->ops->space(env, "/", &free_bytes), 0);
        assert_int_equal(free_bytes, made == EEXIST ? 36864 : 40960);
        gone += made == 0;
        assert_int_equal(read_file("d/f", out, sizeof(out)),
                         made == EEXIST ? 3 : -1);
        end();
    }
    assert_in_range(gone, 20, seeds - 20);
}

/* Files named by their contents are created, moved and removed at random; a
 * name may hold whatever it has held since the last sync_dir, or be free if it
 * has been free, and no file may have two names. */
enum { NAMES = 4 };

struct names_past {
    bool held[NAMES][100]; /* by which file; 0 is none */
};

static int holder(int name)
{
    char path[2] = { (char)('a' + name), '\0' }, byte = 0;
    int len = read_file(path, &byte, 1);

    return len < 0 ? 0 : byte;
}

static void remember_names(struct names_past *past)
{
    for (int i = 0; i < NAMES; i++)
        past->held[i][holder(i)] = true;
}

static void change_a_name(struct rn_chance *chance, int file,
                          struct names_past *past)
{
    char from[2] = { (char)('a' + rn_chance_below(chance, NAMES)), '\0' };
    char to[2] = { (char)('a' + rn_chance_below(chance, NAMES)), '\0' };
    char byte = (char)file;
    struct rn_file *f;

    switch (rn_chance_below(chance, 3)) {
    case 0:
        env->ops->remove(env, to);
        remember_names(past);
        f = open_file(to, RN_OPEN_NEW);
        assert_int_equal(rn_file_write(f, rn_view_of(&byte, 1), 0), 0);
        assert_int_equal(rn_file_sync(f), 0);
        rn_file_close(f);
        break;
    case 1:
        env->ops->rename(env, from, to);
        break;
    default:
        env->ops->remove(env, from);
        break;
    }
}

static void no_name_is_invented(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct names_past past = { 0 };
        struct rn_chance *chance;
        int files[NAMES];
        begin(seed);
        chance = rn_sim_chance(sim);
        remember_names(&past);
        for (int i = 1; i < 40; i++) {
            change_a_name(chance, i, &past);
            remember_names(&past);
            if (rn_chance_percent(chance, 15)) {
                assert_int_equal(env->ops->sync_dir(env, "."), 0);
                past = (struct names_past){ 0 };
                remember_names(&past);
            }
            if (rn_chance_percent(chance, 5)) {
                rn_sim_crash(sim);
                for (int k = 0; k < NAMES; k++)
                    assert_true(past.held[k][holder(k)]);
                past = (struct names_past){ 0 };
                remember_names(&past);
            }
        }
        for (int i = 0; i < NAMES; i++) {
            files[i] = holder(i);
            for (int k = 0; k < i; k++)
                assert_true(files[i] == 0 || files[i] != files[k]);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_synced_survives),
        cmocka_unit_test(an_unsynced_write_is_kept_lost_or_torn_by_sectors),
        cmocka_unit_test(writes_are_lost_independently),
        cmocka_unit_test(spoilt_blocks_lose_neighbours_but_not_other_blocks),
        cmocka_unit_test(a_length_is_one_the_file_had),
        cmocka_unit_test(a_later_sync_does_not_mend_a_failed_one),
        cmocka_unit_test(rereading_tells_what_a_failed_sync_lost),
        cmocka_unit_test(no_byte_is_invented),
        cmocka_unit_test(syncing_a_file_does_not_save_its_name),
        cmocka_unit_test(a_careful_replacement_is_atomic),
        cmocka_unit_test(a_careless_replacement_is_not),
        cmocka_unit_test(names_do_not_wait_for_each_other),
        cmocka_unit_test(what_happened_to_one_name_keeps_its_order),
        cmocka_unit_test(a_file_that_moved_is_not_lost_to_its_successor),
        cmocka_unit_test(a_move_to_another_directory_is_synced_by_either),
        cmocka_unit_test(a_lost_directory_takes_its_files_along),
        cmocka_unit_test(no_name_is_invented),
    };

    int64_t start_ns = rn_mono_ns(rn_env_real());
    int failed;

    if (getenv("RUNNEL_PROVE"))
        seeds *= 100;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%d seeds, %.1f s\n", (int)seeds,
           (double)(rn_mono_ns(rn_env_real()) - start_ns) / 1e9);
    return failed;
}
