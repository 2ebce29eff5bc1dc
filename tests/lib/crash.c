/* crash.c -- see crash.h. */
#include "lib/crash.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t seeds = 300;

struct rn_sim *sim;
struct rn_env *env;

void crash_begin(uint64_t seed)
{
    sim = rn_sim_new(seed);
    env = rn_sim_env(sim);
}

void crash_end(void)
{
    assert_int_equal(rn_sim_open_files(sim), 0);
    rn_sim_free(sim);
}

struct rn_file *crash_open(const char *path, enum rn_open how)
{
    struct rn_file *file = NULL;

    assert_int_equal(rn_file_open(env, path, how, &file), 0);
    return file;
}

void write_fill(struct rn_file *f, char with, size_t len, uint64_t offset)
{
    static char bytes[BIG];

    memset(bytes, with, len);
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, len), offset), 0);
}

struct rn_file *synced_file(const char *path, char with, size_t len)
{
    struct rn_file *f = crash_open(path, RN_OPEN_CREATE);

    write_fill(f, with, len, 0);
    assert_int_equal(rn_file_sync(f), 0);
    assert_int_equal(env->ops->sync_dir(env, "/"), 0);
    return f;
}

int read_whole(const char *path, char *out, size_t room)
{
    struct rn_file *f = NULL;
    size_t got = 0;

    if (rn_file_open(env, path, RN_OPEN_READ, &f) != 0)
        return -1;
    assert_int_equal(rn_file_read(f, out, room, 0, &got), 0);
    rn_file_close(f);
    return (int)got;
}

bool is_all(const char *at, char with, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] != with)
            return false;
    }
    return true;
}

int crash_run(const struct CMUnitTest *tests, size_t count)
{
    int64_t start_ns = rn_mono_ns(rn_env_real());
    int failed;

    if (getenv("RUNNEL_PROVE"))
        seeds *= 100;
    failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    printf("%d seeds, %.1f s\n", (int)seeds,
           (double)(rn_mono_ns(rn_env_real()) - start_ns) / 1e9);
    return failed;
}
