/* base_sim_test.c -- in the simulation nothing happens by itself, and what does
 * happen can be had again.
 *
 * Clock, tasks, ordered faults, space and power are tried one by one.  The
 * promise behind all of them, that a seed replays its run byte for byte, is
 * tested with a run that uses everything at once, by comparing traces.
 */
#include "base/prng.h"
#include "base/sim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct rn_sim *sim;
static struct rn_env *env;

static int set_up(void **state)
{
    (void)state;
    sim = rn_sim_new(1);
    env = rn_sim_env(sim);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rn_sim_free(sim);
    return 0;
}

static struct rn_file *open_file(const char *path, enum rn_open how)
{
    struct rn_file *file = NULL;

    assert_int_equal(rn_file_open(env, path, how, &file), 0);
    return file;
}

static uint64_t free_bytes(void)
{
    uint64_t bytes = 0;

    assert_int_equal(env->ops->space(env, "/", &bytes), 0);
    return bytes;
}

/* ---- clock and tasks ----------------------------------------------------- */

struct ticker {
    struct rn_task task;
    int steps;
    int64_t answer, last_ns;
};

static int64_t tick(void *context)
{
    struct ticker *t = context;

    t->steps++;
    t->last_ns = rn_mono_ns(env);
    return t->answer;
}

static void start(struct ticker *t, const char *name, int64_t answer)
{
    *t = (struct ticker){ .answer = answer };
    t->task = (struct rn_task){ .name = name, .step = tick, .context = t };
    assert_int_equal(env->ops->task_start(env, &t->task), 0);
}

static void time_stands_still_by_itself(void **state)
{
    int64_t mono = rn_mono_ns(env), wall = rn_wall_ms(env);

    (void)state;
    assert_int_equal(rn_mono_ns(env), mono);
    env->ops->sleep(env, 5000000);
    assert_int_equal(rn_mono_ns(env) - mono, 5000000);
    assert_int_equal(rn_wall_ms(env) - wall, 5);
    env->ops->sleep(env, -5);
    rn_sim_run(sim, 1000000000);
    assert_int_equal(rn_mono_ns(env) - mono, 1005000000);
}

static void the_wall_clock_may_jump_alone(void **state)
{
    int64_t mono = rn_mono_ns(env), wall = rn_wall_ms(env);

    (void)state;
    rn_sim_wall_jump(sim, -3600000);
    assert_int_equal(rn_wall_ms(env) - wall, -3600000);
    assert_int_equal(rn_mono_ns(env), mono);
}

static void the_clock_jumps_to_the_next_that_is_due(void **state)
{
    struct ticker hourly;

    (void)state;
    start(&hourly, "hourly", INT64_C(3600000000000));
    assert_true(rn_sim_step(sim)); /* the first step is due at once */
    assert_int_equal(hourly.last_ns, 0);
    for (int i = 1; i <= 3; i++) {
        assert_true(rn_sim_step(sim));
        assert_int_equal(hourly.last_ns, i * INT64_C(3600000000000));
    }
    rn_sim_run(sim, INT64_C(36000000000000));
    assert_int_equal(hourly.steps, 4 + 10);
    env->ops->task_stop(env, &hourly.task);
    assert_false(rn_sim_step(sim));
}

static void an_idle_task_waits_to_be_woken(void **state)
{
    struct ticker idle;

    (void)state;
    start(&idle, "idle", RN_TASK_IDLE);
    rn_sim_run(sim, 1000000000);
    assert_int_equal(idle.steps, 1);
    assert_false(rn_sim_step(sim));
    env->ops->task_wake(env, &idle.task);
    env->ops->task_wake(env, &idle.task);
    assert_true(rn_sim_step(sim));
    assert_false(rn_sim_step(sim));
    assert_int_equal(idle.steps, 2);
    env->ops->task_stop(env, &idle.task);
    assert_null(idle.task.running);
    env->ops->task_wake(env, &idle.task);
    env->ops->task_stop(env, &idle.task);
}

static int64_t wake_self_twice(void *context)
{
    struct ticker *t = context;

    if (++t->steps < 3)
        env->ops->task_wake(env, &t->task);
    return RN_TASK_IDLE;
}

static void a_wake_during_a_step_brings_another(void **state)
{
    struct ticker t = { .task = { .name = "self", .step = wake_self_twice } };

    (void)state;
    t.task.context = &t;
    assert_int_equal(env->ops->task_start(env, &t.task), 0);
    rn_sim_run(sim, 1000000);
    assert_int_equal(t.steps, 3);
    env->ops->task_stop(env, &t.task);
}

static void a_busy_task_does_not_stop_the_clock(void **state)
{
    struct ticker busy, other;

    (void)state;
    start(&busy, "busy", RN_TASK_NOW);
    start(&other, "other", 100000);
    rn_sim_run(sim, 10000000);
    assert_true(busy.steps > 100);
    assert_true(other.steps > 50);
    env->ops->task_stop(env, &busy.task);
    env->ops->task_stop(env, &other.task);
}

/* Three tasks due at the same time: all six orders must come up. */
static void the_seed_decides_which_task_goes_first(void **state)
{
    bool seen[27] = { false };
    int orders = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct ticker t[3];
        int order = 0;
        tear_down(NULL);
        sim = rn_sim_new(seed);
        env = rn_sim_env(sim);
        for (int i = 0; i < 3; i++)
            start(&t[i], "t", RN_TASK_IDLE);
        for (int i = 0; i < 3; i++) {
            int before[3] = { t[0].steps, t[1].steps, t[2].steps };
            assert_true(rn_sim_step(sim));
            for (int k = 0; k < 3; k++)
                order = t[k].steps > before[k] ? order * 3 + k : order;
        }
        for (int i = 0; i < 3; i++)
            env->ops->task_stop(env, &t[i].task);
        orders += !seen[order];
        seen[order] = true;
    }
    assert_int_equal(orders, 6);
}

/* ---- faults -------------------------------------------------------------- */

static void ignore_name(void *context, const char *name)
{
    (void)context;
    (void)name;
}

static int call_once(enum rn_sim_call call)
{
    static struct rn_file *f;
    struct rn_file *out = NULL;
    uint64_t n;
    char byte;
    size_t got;
    int error = 0;

    if (!f)
        f = open_file("f", RN_OPEN_CREATE);
    switch (call) {
    case RN_SIM_OPEN:
        error = rn_file_open(env, "f", RN_OPEN_READ, &out);
        rn_file_close(out);
        break;
    case RN_SIM_PREAD:
        error = rn_file_read(f, &byte, 1, 0, &got);
        break;
    case RN_SIM_PWRITE:
        error = rn_file_write(f, RN_LIT("x"), 0);
        break;
    case RN_SIM_SYNC:
        error = rn_file_sync(f);
        break;
    case RN_SIM_WRITE_BACK:
        error = env->ops->write_back(f, 0, 1);
        break;
    case RN_SIM_RESERVE:
        error = env->ops->reserve(f, 0, 1, RN_RESERVE_KEEP);
        break;
    case RN_SIM_TRUNCATE:
        error = env->ops->truncate(f, 0);
        break;
    case RN_SIM_SIZE:
        error = rn_file_size(f, &n);
        break;
    case RN_SIM_LOCK:
        error = env->ops->lock(f, RN_LOCK_SHARED);
        break;
    case RN_SIM_RENAME:
        error = env->ops->rename(env, "f", "f");
        break;
    case RN_SIM_REMOVE:
        error = env->ops->remove(env, "gone");
        error = error == ENOENT ? 0 : error;
        break;
    case RN_SIM_MAKE_DIR:
        error = env->ops->make_dir(env, "f");
        error = error == EEXIST ? 0 : error;
        break;
    case RN_SIM_SYNC_DIR:
        error = env->ops->sync_dir(env, "/");
        break;
    case RN_SIM_LIST:
        error = env->ops->list(env, "/", ignore_name, NULL);
        break;
    case RN_SIM_SPACE:
        error = env->ops->space(env, "/", &n);
        break;
    case RN_SIM_CALLS: /* the end of the walk: put the file away */
        rn_file_close(f);
        f = NULL;
        break;
    }
    return error;
}

static void the_nth_call_of_each_kind_fails_as_ordered(void **state)
{
    (void)state;
    for (int kind = 0; kind < RN_SIM_CALLS; kind++) {
        enum rn_sim_call call = (enum rn_sim_call)kind;
        uint64_t before;
        assert_int_equal(call_once(call), 0);
        before = rn_sim_calls(sim, call);
        rn_sim_fail(sim, call, 3, EDQUOT, RN_SIM_ONCE);
        assert_int_equal(call_once(call), 0);
        assert_int_equal(call_once(call), 0);
        assert_int_equal(call_once(call), EDQUOT);
        assert_int_equal(call_once(call), 0);
        rn_sim_fail(sim, call, 1, EIO, RN_SIM_FOR_EVER);
        assert_int_equal(call_once(call), EIO);
        assert_int_equal(call_once(call), EIO);
        rn_sim_fail(sim, call, 0, 0, RN_SIM_ONCE);
        assert_int_equal(call_once(call), 0);
        assert_int_equal(rn_sim_calls(sim, call) - before, 7);
    }
    call_once(RN_SIM_CALLS);
}

static void a_failed_write_may_have_begun(void **state)
{
    struct rn_file *f = open_file("f", RN_OPEN_CREATE);
    bool seen[5] = { false };

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint64_t size = 9;
        assert_int_equal(env->ops->truncate(f, 0), 0);
        rn_sim_fail(sim, RN_SIM_PWRITE, 1, EIO, RN_SIM_ONCE);
        assert_int_equal(rn_file_write(f, RN_LIT("1234"), 0), EIO);
        assert_int_equal(rn_file_size(f, &size), 0);
        assert_in_range(size, 0, 4);
        seen[size] = true;
    }
    for (int i = 0; i <= 4; i++)
        assert_true(seen[i]);
    rn_file_close(f);
}

/* ---- space --------------------------------------------------------------- */

static void a_full_disk_takes_what_fits_and_says_so(void **state)
{
    static char bytes[20000];
    struct rn_file *f = open_file("f", RN_OPEN_CREATE);
    uint64_t size = 0;

    (void)state;
    rn_sim_disk_limit(sim, 16384);
    assert_int_equal(free_bytes(), 16384);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, 4097), 0), 0);
    assert_int_equal(free_bytes(), 8192);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, 20000), 0), ENOSPC);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_in_range(size, 4097, 16384);
    assert_int_equal(env->ops->truncate(f, 16385), ENOSPC);
    assert_int_equal(env->ops->truncate(f, 16384), 0);
    assert_int_equal(free_bytes(), 0);
    /* what has its blocks can be overwritten */
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, 16384), 0), 0);
    rn_sim_disk_limit(sim, UINT64_MAX);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, 20000), 0), 0);
    rn_file_close(f);
}

static void reserved_space_is_there_when_the_disk_is_full(void **state)
{
    static char bytes[8192];
    struct rn_file *f = open_file("f", RN_OPEN_CREATE);
    struct rn_file *g = open_file("g", RN_OPEN_CREATE);
    uint64_t size = 1;

    (void)state;
    rn_sim_disk_limit(sim, 16384);
    assert_int_equal(env->ops->reserve(f, 0, 8192, RN_RESERVE_KEEP), 0);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(rn_file_write(g, rn_view_of(bytes, 8192), 0), 0);
    assert_int_equal(env->ops->reserve(g, 0, 8193, RN_RESERVE_GROW), ENOSPC);
    assert_int_equal(free_bytes(), 0);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, 8192), 0), 0);
    rn_file_close(f);
    rn_file_close(g);
}

static void a_removed_file_holds_its_space_while_open(void **state)
{
    static char bytes[8192];
    struct rn_file *f = open_file("f", RN_OPEN_CREATE);
    char byte = 'x';
    size_t got = 0;

    (void)state;
    rn_sim_disk_limit(sim, 8192);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, 8192), 0), 0);
    assert_int_equal(env->ops->remove(env, "f"), 0);
    assert_int_equal(free_bytes(), 0);
    assert_int_equal(rn_file_read(f, &byte, 1, 8191, &got), 0);
    assert_int_equal(got, 1);
    assert_int_equal(byte, 0);
    rn_file_close(f);
    assert_int_equal(free_bytes(), 8192);
}

/* ---- power --------------------------------------------------------------- */

static void without_power_everything_fails_and_nothing_runs(void **state)
{
    struct rn_file *f = open_file("f", RN_OPEN_CREATE), *g = NULL;
    struct ticker t;
    char byte;
    size_t got;

    (void)state;
    start(&t, "t", RN_TASK_NOW);
    assert_int_equal(rn_file_write(f, RN_LIT("a"), 0), 0);
    rn_sim_cut_after(sim, 2);
    assert_int_equal(rn_file_write(f, RN_LIT("b"), 0), 0);
    assert_int_equal(rn_file_read(f, &byte, 1, 0, &got), 0); /* no change */
    assert_false(rn_sim_is_cut(sim));
    assert_int_equal(rn_file_write(f, RN_LIT("c"), 0), EIO);
    assert_true(rn_sim_is_cut(sim));
    assert_int_equal(rn_file_read(f, &byte, 1, 0, &got), EIO);
    assert_int_equal(rn_file_sync(f), EIO);
    assert_int_equal(rn_file_open(env, "f", RN_OPEN_READ, &g), EIO);
    assert_int_equal(env->ops->remove(env, "f"), EIO);
    assert_false(rn_sim_step(sim));
    rn_sim_run(sim, 1000);
    assert_int_equal(t.steps, 0);
    env->ops->task_stop(env, &t.task);
    rn_file_close(f);
}

static void a_crash_forgets_files_locks_and_tasks(void **state)
{
    struct rn_file *f = open_file("f", RN_OPEN_CREATE), *g;
    struct ticker t;
    uint64_t size;

    (void)state;
    start(&t, "t", RN_TASK_NOW);
    assert_int_equal(rn_file_sync(f), 0);
    assert_int_equal(env->ops->sync_dir(env, "/"), 0);
    assert_int_equal(env->ops->lock(f, RN_LOCK_EXCLUSIVE), 0);
    rn_sim_crash(sim);

    assert_null(t.task.running);
    assert_false(rn_sim_step(sim));
    assert_int_equal(rn_file_size(f, &size), EIO);
    assert_int_equal(rn_file_write(f, RN_LIT("x"), 0), EIO);
    g = open_file("f", RN_OPEN_READ);
    assert_int_equal(env->ops->lock(g, RN_LOCK_EXCLUSIVE), 0);
    assert_int_equal(rn_sim_open_files(sim), 2);
    rn_file_close(f);
    rn_file_close(g);
    assert_int_equal(rn_sim_open_files(sim), 0);
}

static void the_cut_call_may_have_reached_the_disk(void **state)
{
    int happened = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct rn_file *f;
        tear_down(NULL);
        sim = rn_sim_new(seed);
        env = rn_sim_env(sim);
        rn_file_close(open_file("a", RN_OPEN_CREATE));
        assert_int_equal(env->ops->sync_dir(env, "/"), 0);
        rn_sim_cut_after(sim, 1);
        assert_int_equal(env->ops->rename(env, "a", "b"), EIO);
        rn_sim_crash(sim);
        if (rn_file_open(env, "b", RN_OPEN_READ, &f) == 0)
            happened++;
        else
            f = open_file("a", RN_OPEN_READ);
        rn_file_close(f);
    }
    assert_in_range(happened, 5, 45);
}

static void a_sync_that_is_cut_off_has_saved_nothing(void **state)
{
    int lost = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct rn_file *f;
        uint64_t size = 9;
        tear_down(NULL);
        sim = rn_sim_new(seed);
        env = rn_sim_env(sim);
        f = open_file("a", RN_OPEN_CREATE);
        assert_int_equal(env->ops->sync_dir(env, "/"), 0);
        assert_int_equal(rn_file_write(f, RN_LIT("x"), 0), 0);
        rn_sim_cut_after(sim, 1);
        assert_int_equal(rn_file_sync(f), EIO);
        rn_file_close(f);
        rn_sim_crash(sim);
        f = open_file("a", RN_OPEN_READ);
        assert_int_equal(rn_file_size(f, &size), 0);
        lost += size == 0;
        rn_file_close(f);
    }
    assert_in_range(lost, 5, 45);
}

/* ---- the same again ------------------------------------------------------ */

struct story {
    struct rn_buf text;
    struct rn_task writer, cleaner;
    uint64_t written;
};

static void keep_line(void *context, const char *line)
{
    struct story *s = context;

    assert_int_equal(rn_buf_printf(&s->text, "%s\n", line), RN_OK);
}

static int64_t write_some(void *context)
{
    struct story *s = context;
    struct rn_file *f = NULL;
    char path[20], bytes[700];
    uint64_t dice;

    rn_random(env, &dice, sizeof(dice));
    rn_random(env, bytes, sizeof(bytes));
    snprintf(path, sizeof(path), "d/%d", (int)(dice % 5));
    if (rn_file_open(env, path, RN_OPEN_CREATE, &f) == 0) {
        (void)rn_file_write(f, rn_view_of(bytes, dice % 700), dice % 5000);
        if (dice % 3 == 0 && rn_file_sync(f) == 0)
            s->written++;
    }
    rn_file_close(f);
    env->ops->task_wake(env, &s->cleaner);
    return (int64_t)(dice % 1000000);
}

static void remove_one(void *context, const char *name)
{
    char path[20];

    (void)context;
    snprintf(path, sizeof(path), "d/%s", name);
    env->ops->remove(env, path);
}

static int64_t clean_some(void *context)
{
    struct story *s = context;

    if (s->written++ % 7 == 0)
        env->ops->list(env, "d", remove_one, NULL);
    env->ops->sync_dir(env, "d");
    return RN_TASK_IDLE;
}

static void make_story(struct story *s, uint64_t seed)
{
    *s = (struct story){ .text = RN_BUF_INIT(16 << 20) };
    s->writer =
        (struct rn_task){ .name = "writer", .step = write_some, .context = s };
    s->cleaner =
        (struct rn_task){ .name = "cleaner", .step = clean_some, .context = s };
    tear_down(NULL);
    sim = rn_sim_new(seed);
    env = rn_sim_env(sim);
    rn_sim_trace(sim, keep_line, s);
    rn_sim_disk_limit(sim, 30000);
    rn_sim_spoil(sim, 50);
    rn_sim_fail(sim, RN_SIM_SYNC, 20, EIO, RN_SIM_ONCE);
    for (int i = 0; i < 10; i++) {
        env->ops->make_dir(env, "d");
        env->ops->sync_dir(env, "/");
        assert_int_equal(env->ops->task_start(env, &s->writer), 0);
        assert_int_equal(env->ops->task_start(env, &s->cleaner), 0);
        rn_sim_cut_after(sim, 60);
        rn_sim_run(sim, 50000000);
        rn_sim_crash(sim);
    }
}

static void the_same_seed_gives_the_same_run(void **state)
{
    struct story first, again, other;

    (void)state;
    make_story(&first, 42);
    make_story(&again, 42);
    make_story(&other, 43);
    assert_true(first.text.len > 20000);
    assert_true(rn_view_eq(rn_buf_view(&first.text), rn_buf_view(&again.text)));
    assert_false(
        rn_view_eq(rn_buf_view(&first.text), rn_buf_view(&other.text)));
    rn_buf_release(&first.text);
    rn_buf_release(&again.text);
    rn_buf_release(&other.text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(time_stands_still_by_itself),
        TEST(the_wall_clock_may_jump_alone),
        TEST(the_clock_jumps_to_the_next_that_is_due),
        TEST(an_idle_task_waits_to_be_woken),
        TEST(a_wake_during_a_step_brings_another),
        TEST(a_busy_task_does_not_stop_the_clock),
        TEST(the_seed_decides_which_task_goes_first),
        TEST(the_nth_call_of_each_kind_fails_as_ordered),
        TEST(a_failed_write_may_have_begun),
        TEST(a_full_disk_takes_what_fits_and_says_so),
        TEST(reserved_space_is_there_when_the_disk_is_full),
        TEST(a_removed_file_holds_its_space_while_open),
        TEST(without_power_everything_fails_and_nothing_runs),
        TEST(a_crash_forgets_files_locks_and_tasks),
        TEST(the_cut_call_may_have_reached_the_disk),
        TEST(a_sync_that_is_cut_off_has_saved_nothing),
        TEST(the_same_seed_gives_the_same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
