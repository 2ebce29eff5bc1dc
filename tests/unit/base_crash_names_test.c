/* base_crash_names_test.c -- what a simulated power cut may take of the names
 * of files, and what it may not.
 *
 * Two kinds of tests, each over many seeds.  Some count: an outcome that a real
 * disk can produce (torn, lost, reordered) must come up, or the simulation
 * would prove nothing.  Others check that no outcome is worse than a disk may
 * be, against all the states a name has had since its last sync.
 *
 * 300 seeds each (1 s); 30,000 as a proof (RUNNEL_PROVE).
 */
#include "lib/crash.h"

#include "base/prng.h"

#include <errno.h>
#include <stdlib.h>

static void syncing_a_file_does_not_save_its_name(void **state)
{
    int gone = 0, there = 0;
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        int len;
        f = crash_open("f", RN_OPEN_NEW);
        write_fill(f, 'a', 600, 0);
        assert_int_equal(rn_file_sync(f), 0);
        rn_sim_crash(sim);
        len = read_whole("f", out, sizeof(out));
        assert_true(len == -1 || (len == 600 && is_all(out, 'a', 600)));
        gone += len == -1;
        there += len == 600;
        rn_file_close(f);
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
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        bool done;
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
        if (read_whole("f", out, sizeof(out)) == 3) {
            assert_memory_equal(out, "new", 3);
            fresh++;
        } else {
            assert_int_equal(read_whole("f", out, sizeof(out)), 600);
            assert_true(is_all(out, 'a', 600));
            old++;
        }
    }
    assert_true(old > 20);
    assert_true(fresh > 20);
}

static void a_careless_replacement_is_not(void **state)
{
    int spoilt = 0;
    char out[BIG];

    (void)state;
    EACH_SEED (seed, seeds) {
        struct rn_file *f;
        int len;
        rn_file_close(synced_file("f", 'a', 600));
        f = crash_open("tmp", RN_OPEN_NEW);
        write_fill(f, 'b', 600, 0);
        assert_int_equal(env->ops->rename(env, "tmp", "f"), 0); /* no sync */
        rn_sim_crash(sim);
        len = read_whole("f", out, sizeof(out));
        spoilt +=
            !(len == 600 && (is_all(out, 'a', 600) || is_all(out, 'b', 600)));
        rn_file_close(f);
    }
    assert_true(spoilt > 20);
}

static void names_do_not_wait_for_each_other(void **state)
{
    int outcomes[4] = { 0 };

    (void)state;
    EACH_SEED (seed, seeds) {
        char out[1];
        rn_file_close(crash_open("first", RN_OPEN_NEW));
        rn_file_close(crash_open("second", RN_OPEN_NEW));
        rn_sim_crash(sim);
        outcomes[(read_whole("first", out, 1) == 0) +
                 2 * (read_whole("second", out, 1) == 0)]++;
    }
    for (int i = 0; i < 4; i++)
        assert_true(outcomes[i] > 20);
}

static void what_happened_to_one_name_keeps_its_order(void **state)
{
    (void)state;
    EACH_SEED (seed, seeds) {
        char out[4];
        int a, b;
        rn_file_close(synced_file("a", '1', 1));
        assert_int_equal(env->ops->remove(env, "a"), 0);
        rn_file_close(crash_open("a", RN_OPEN_CREATE));
        assert_int_equal(env->ops->rename(env, "a", "b"), 0);
        rn_sim_crash(sim);
        a = read_whole("a", out, sizeof(out));
        b = read_whole("b", out, sizeof(out));
        /* first one; removed; second one; moved */
        assert_true((a == 1 && b == -1) || (a == -1 && b == -1) ||
                    (a == 0 && b == -1) || (a == -1 && b == 0));
    }
}

/* A new file under the old name must not hide that the old one moved away. */
static void a_file_that_moved_is_not_lost_to_its_successor(void **state)
{
    (void)state;
    EACH_SEED (seed, seeds) {
        char out[4];
        int a, b;
        rn_file_close(synced_file("a", '1', 1));
        assert_int_equal(env->ops->rename(env, "a", "b"), 0);
        rn_file_close(crash_open("a", RN_OPEN_NEW));
        if (seed % 2) { /* syncing what came after syncs what came before */
            assert_int_equal(env->ops->sync_dir(env, "/"), 0);
        }
        rn_sim_crash(sim);
        a = read_whole("a", out, sizeof(out));
        b = read_whole("b", out, sizeof(out));
        assert_true(b == 1 || (a == 1 && seed % 2 == 0));
    }
}

static void a_move_to_another_directory_is_synced_by_either(void **state)
{
    (void)state;
    EACH_SEED (seed, seeds) {
        char out[4];
        assert_int_equal(env->ops->make_dir(env, "x"), 0);
        assert_int_equal(env->ops->make_dir(env, "y"), 0);
        assert_int_equal(env->ops->sync_dir(env, "/"), 0);
        rn_file_close(crash_open("x/a", RN_OPEN_NEW));
        assert_int_equal(env->ops->rename(env, "x/a", "y/a"), 0);
        assert_int_equal(env->ops->sync_dir(env, seed % 2 ? "x" : "y"), 0);
        rn_sim_crash(sim);
        assert_int_equal(read_whole("x/a", out, sizeof(out)), -1);
        assert_int_equal(read_whole("y/a", out, sizeof(out)), 0);
    }
}

static void a_lost_directory_takes_its_files_along(void **state)
{
    int gone = 0;

    (void)state;
    EACH_SEED (seed, seeds) {
        char out[4];
        struct rn_file *f;
        uint64_t free_bytes = 0;
        int made;
        assert_int_equal(env->ops->make_dir(env, "d"), 0);
        f = crash_open("d/f", RN_OPEN_CREATE);
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
        assert_int_equal(read_whole("d/f", out, sizeof(out)),
                         made == EEXIST ? 3 : -1);
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
    int len = read_whole(path, &byte, 1);

    return len < 0 ? 0 : byte;
}

static void remember_names(struct names_past *past)
{
    for (int i = 0; i < NAMES; i++)
        past->held[i][holder(i)] = true;
}

static void change_a_name(struct rn_prng *prng, int file,
                          struct names_past *past)
{
    char from[2] = { (char)('a' + rn_prng_below(prng, NAMES)), '\0' };
    char to[2] = { (char)('a' + rn_prng_below(prng, NAMES)), '\0' };
    char byte = (char)file;
    struct rn_file *f;

    switch (rn_prng_below(prng, 3)) {
    case 0:
        env->ops->remove(env, to);
        remember_names(past);
        f = crash_open(to, RN_OPEN_NEW);
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
    EACH_SEED (seed, seeds) {
        struct names_past past = { 0 };
        struct rn_prng *prng;
        int files[NAMES];
        prng = rn_sim_prng(sim);
        remember_names(&past);
        for (int i = 1; i < 40; i++) {
            change_a_name(prng, i, &past);
            remember_names(&past);
            if (rn_prng_percent(prng, 15)) {
                assert_int_equal(env->ops->sync_dir(env, "."), 0);
                past = (struct names_past){ 0 };
                remember_names(&past);
            }
            if (rn_prng_percent(prng, 5)) {
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
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
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

    return crash_run(tests, sizeof(tests) / sizeof(tests[0]));
}
