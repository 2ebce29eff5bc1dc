/* base_env_test.c -- the machine keeps the promises of env.h.
 *
 * In a directory of its own under TMPDIR.  System calls are wrapped (ld
 * --wrap), so that they can be interrupted, cut short or refused on demand: the
 * kernel does so too seldom for a test.  Tasks are in base_task_test.c.
 */
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- system calls that misbehave ----------------------------------------- */

static struct {
    int interrupts;   /* so many calls end in EINTR first */
    size_t bytes_max; /* a read or write moves no more; 0: no limit */
    int error;        /* the next call fails with this */
    int calls;
} mood;

/* True if the call is to fail with errno set. */
static bool refused(void)
{
    mood.calls++;
    if (mood.interrupts > 0) {
        mood.interrupts--;
        errno = EINTR;
        return true;
    }
    if (mood.error) {
        errno = mood.error;
        mood.error = 0;
        return true;
    }
    return false;
}

static size_t clipped(size_t len)
{
    return mood.bytes_max && len > mood.bytes_max ? mood.bytes_max : len;
}

ssize_t __real_pread(int fd, void *out, size_t len, off_t offset);
ssize_t __real_pwrite(int fd, const void *at, size_t len, off_t offset);
int __real_fdatasync(int fd);
int __real_sync_file_range(int fd, off64_t from, off64_t len, unsigned how);
int __real_fallocate(int fd, int mode, off_t offset, off_t len);
ssize_t __real_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_pread(int fd, void *out, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *at, size_t len, off_t offset);
int __wrap_fdatasync(int fd);
int __wrap_sync_file_range(int fd, off64_t from, off64_t len, unsigned how);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t len);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);

ssize_t __wrap_pread(int fd, void *out, size_t len, off_t offset)
{
    return refused() ? -1 : __real_pread(fd, out, clipped(len), offset);
}

ssize_t __wrap_pwrite(int fd, const void *at, size_t len, off_t offset)
{
    return refused() ? -1 : __real_pwrite(fd, at, clipped(len), offset);
}

int __wrap_fdatasync(int fd)
{
    return refused() ? -1 : __real_fdatasync(fd);
}

int __wrap_sync_file_range(int fd, off64_t from, off64_t len, unsigned how)
{
    return refused() ? -1 : __real_sync_file_range(fd, from, len, how);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t len)
{
    return refused() ? -1 : __real_fallocate(fd, mode, offset, len);
}

ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
    return refused() ? -1 : __real_getrandom(out, clipped(len), flags);
}

/* ---- a directory of our own ---------------------------------------------- */

static struct rn_env *env;
static char dir[200];

static const char *in_dir(const char *name)
{
    static char path[300];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void remove_entry(void *context, const char *name)
{
    (void)context;
    env->ops->remove(env, in_dir(name));
}

static int enter_dir(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    env = rn_env_real();
    snprintf(dir, sizeof(dir), "%s/rn_env_XXXXXX", tmp ? tmp : "/tmp");
    memset(&mood, 0, sizeof(mood));
    return mkdtemp(dir) ? 0 : -1;
}

static int leave_dir(void **state)
{
    (void)state;
    memset(&mood, 0, sizeof(mood));
    env->ops->list(env, dir, remove_entry, NULL);
    return env->ops->remove(env, dir);
}

static struct rn_file *open_file(const char *name, enum rn_open how)
{
    struct rn_file *file = NULL;

    assert_int_equal(rn_file_open(env, in_dir(name), how, &file), 0);
    assert_non_null(file);
    return file;
}

/* ---- files --------------------------------------------------------------- */

static void reads_and_writes_are_whole(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    char out[100], in[100];
    size_t got;

    (void)state;
    for (int i = 0; i < 100; i++)
        in[i] = (char)i;
    mood.bytes_max = 7;
    mood.interrupts = 3;
    assert_int_equal(rn_file_write(f, rn_view_of(in, 100), 50), 0);
    assert_true(mood.calls >= 18);
    mood.interrupts = 3;
    assert_int_equal(rn_file_read(f, out, 100, 50, &got), 0);
    assert_int_equal(got, 100);
    assert_memory_equal(out, in, 100);
    rn_file_close(f);
}

enum { BLOCK = 4096, BLOCKS = 66 * BLOCK }; /* more than go at once */

/* Where the file system has nothing against it, as most of them. */
static bool can_write_directly(void)
{
    int fd = open(in_dir("a"), O_RDWR | O_DIRECT | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void assert_holds(const char *bytes, size_t len, uint64_t offset)
{
    struct rn_file *f = open_file("a", RN_OPEN_READ);
    char *out = malloc(len);
    size_t got;

    assert_int_equal(rn_file_read(f, out, len, offset, &got), 0);
    assert_int_equal(got, len);
    assert_memory_equal(out, bytes, len);
    free(out);
    rn_file_close(f);
}

/* From memory that begins anywhere. */
static void what_goes_past_the_cache_is_in_the_file(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    char *bytes = malloc(BLOCKS + 1);

    (void)state;
    for (int i = 0; i <= BLOCKS; i++)
        bytes[i] = (char)(i / 7);
    env->ops->direct(f);
    env->ops->direct(f); /* twice is once */
    mood.interrupts = 1;
    assert_int_equal(rn_file_write(f, rn_view_of(bytes + 1, BLOCKS), BLOCK), 0);
    assert_int_equal(mood.calls, can_write_directly() ? 3 : 2);
    assert_holds(bytes + 1, BLOCKS, BLOCK);
    mood.error = EIO;
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, BLOCK), 0), EIO);
    assert_int_equal(rn_file_sync(f), 0);
    free(bytes);
    rn_file_close(f);
}

static void what_cannot_go_past_the_cache_goes_through_it(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    char *bytes = calloc(1, BLOCKS), out[8];
    size_t got;

    (void)state;
    env->ops->direct(f);
    mood.error = EINVAL; /* the device wants larger blocks */
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, BLOCKS), 0), 0);
    assert_int_equal(mood.calls, can_write_directly() ? 2 : 1);
    env->ops->direct(f);
    mood.bytes_max = BLOCK + 10;
    assert_int_equal(rn_file_write(f, rn_view_of(bytes, BLOCKS), BLOCK), 0);
    mood.bytes_max = 0;
    env->ops->direct(f);
    assert_int_equal(rn_file_write(f, RN_LIT("odd"), 5), 0);
    env->ops->direct(f);
    assert_int_equal(rn_file_read(f, out, 3, 5, &got), 0);
    assert_int_equal(got, 3);
    assert_memory_equal(out, "odd", 3);
    memcpy(bytes + 5, "odd", 3);
    assert_holds(bytes, BLOCKS, 0);
    free(bytes);
    rn_file_close(f);
}

static void a_read_past_the_end_returns_how_much_there_was(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    char out[100];
    size_t got = 9;

    (void)state;
    assert_int_equal(rn_file_write(f, RN_LIT("0123456789"), 0), 0);
    assert_int_equal(rn_file_read(f, out, 100, 4, &got), 0);
    assert_int_equal(got, 6);
    assert_memory_equal(out, "456789", 6);
    assert_int_equal(rn_file_read(f, out, 100, 10, &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(rn_file_read(f, out, 0, 0, &got), 0);
    assert_int_equal(got, 0);
    rn_file_close(f);
}

static void errors_come_back_as_errno_values(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    struct rn_file *none = NULL;
    char out[4];
    size_t got = 5;

    (void)state;
    mood.error = ENOSPC;
    assert_int_equal(rn_file_write(f, RN_LIT("x"), 0), ENOSPC);
    mood.error = EIO;
    assert_int_equal(rn_file_read(f, out, 4, 0, &got), EIO);
    assert_int_equal(got, 0);
    mood.error = EIO;
    assert_int_equal(rn_file_sync(f), EIO);
    assert_int_equal(rn_file_write(f, RN_LIT("x"), UINT64_MAX), EFBIG);
    assert_int_equal(env->ops->truncate(f, UINT64_MAX), EFBIG);
    assert_int_equal(rn_file_read(f, out, 4, UINT64_MAX - 1, &got), EINVAL);
    rn_file_close(f);

    assert_int_equal(rn_file_open(env, in_dir("no"), RN_OPEN_READ, &none),
                     ENOENT);
    assert_int_equal(rn_file_open(env, in_dir("no"), RN_OPEN_WRITE, &none),
                     ENOENT);
    assert_int_equal(env->ops->rename(env, in_dir("no"), dir), ENOENT);
    assert_int_equal(env->ops->remove(env, in_dir("no")), ENOENT);
    assert_int_equal(env->ops->make_dir(env, dir), EEXIST);
    assert_int_equal(env->ops->sync_dir(env, in_dir("no")), ENOENT);
    assert_int_equal(env->ops->sync_dir(env, in_dir("a")), ENOTDIR);
    assert_int_equal(env->ops->list(env, in_dir("no"), remove_entry, NULL),
                     ENOENT);
    assert_null(none);
}

static void interruptions_are_not_seen(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    char bytes[40] = { 0 };

    (void)state;
    mood.interrupts = 2;
    assert_int_equal(rn_file_sync(f), 0);
    mood.interrupts = 2;
    assert_int_equal(env->ops->write_back(f, 0, 100), 0);
    mood.interrupts = 2;
    assert_int_equal(env->ops->reserve(f, 0, 100, RN_RESERVE_KEEP), 0);
    mood.interrupts = 2;
    mood.bytes_max = 16;
    rn_random(env, bytes, sizeof(bytes));
    assert_true(memcmp(bytes, bytes + 20, 20) != 0);
    rn_file_close(f);
}

static void write_back_is_a_hint_but_its_errors_are_not(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);

    (void)state;
    mood.error = EINVAL;
    assert_int_equal(env->ops->write_back(f, 0, 100), 0);
    mood.error = ENOSYS;
    assert_int_equal(env->ops->write_back(f, 0, 100), 0);
    mood.error = EIO;
    assert_int_equal(env->ops->write_back(f, 0, 100), EIO);
    rn_file_close(f);
}

static void rereading_loses_nothing(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    static char page[4096], out[2 * sizeof(page)];
    size_t got = 0;

    (void)state;
    memset(page, 'x', sizeof(page));
    assert_int_equal(rn_file_write(f, rn_view_of(page, sizeof(page)), 0), 0);
    assert_int_equal(rn_file_sync(f), 0);
    assert_int_equal(
        rn_file_write(f, rn_view_of(page, sizeof(page)), sizeof(page)), 0);
    env->ops->reread(f, 0, sizeof(out));
    env->ops->reread(f, 0, 0);
    env->ops->reread(f, UINT64_MAX, 1);
    assert_int_equal(rn_file_read(f, out, sizeof(out), 0, &got), 0);
    assert_int_equal(got, sizeof(out));
    assert_memory_equal(out, page, sizeof(page));
    assert_memory_equal(out + sizeof(page), page, sizeof(page));
    rn_file_close(f);
}

static void reserving_keeps_or_grows_the_length(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    uint64_t size = 1;

    (void)state;
    assert_int_equal(env->ops->reserve(f, 0, 8192, RN_RESERVE_KEEP), 0);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(env->ops->reserve(f, 4096, 4096, RN_RESERVE_GROW), 0);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_int_equal(size, 8192);
    assert_int_equal(env->ops->reserve(f, 0, 0, RN_RESERVE_GROW), 0);
    mood.error = ENOSYS;
    assert_int_equal(env->ops->reserve(f, 0, 1, RN_RESERVE_GROW), EOPNOTSUPP);
    assert_int_equal(env->ops->truncate(f, 10), 0);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_int_equal(size, 10);
    rn_file_close(f);
}

static void opening_new_empties_creating_does_not(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    uint64_t size = 0;
    struct stat st;

    (void)state;
    assert_int_equal(rn_file_write(f, RN_LIT("old"), 0), 0);
    rn_file_close(f);
    assert_int_equal(stat(in_dir("a"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    f = open_file("a", RN_OPEN_CREATE);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_int_equal(size, 3);
    rn_file_close(f);
    f = open_file("a", RN_OPEN_READ);
    assert_int_equal(rn_file_write(f, RN_LIT("x"), 0), EBADF);
    rn_file_close(f);
    f = open_file("a", RN_OPEN_NEW);
    assert_int_equal(rn_file_size(f, &size), 0);
    assert_int_equal(size, 0);
    rn_file_close(f);
    rn_file_close(NULL);
    env->ops->close(NULL);
}

/* A link, a directory or a FIFO in a file's place is refused, and at once. */
static void only_plain_files_are_opened(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    char target[300];

    (void)state;
    rn_file_close(f);
    f = NULL;
    snprintf(target, sizeof(target), "%s", in_dir("a"));
    assert_int_equal(symlink(target, in_dir("link")), 0);
    assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
    assert_int_equal(rn_file_open(env, in_dir("link"), RN_OPEN_READ, &f),
                     ELOOP);
    assert_int_equal(rn_file_open(env, in_dir("link"), RN_OPEN_NEW, &f), ELOOP);
    assert_int_equal(rn_file_open(env, in_dir("fifo"), RN_OPEN_FOLLOW, &f),
                     EINVAL);
    assert_int_equal(rn_file_open(env, dir, RN_OPEN_READ, &f), EISDIR);
    assert_int_equal(rn_file_open(env, in_dir("fifo"), RN_OPEN_READ, &f),
                     EINVAL);
    assert_null(f);
}

static void a_link_is_followed_where_that_is_asked_for(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    unsigned mode = 0;

    (void)state;
    rn_file_close(f);
    f = NULL;
    assert_int_equal(chmod(in_dir("a"), 0640), 0);
    assert_int_equal(symlink("a", in_dir("link")), 0);
    assert_int_equal(rn_file_open(env, in_dir("link"), RN_OPEN_FOLLOW, &f), 0);
    assert_int_equal(env->ops->mode(f, &mode), 0);
    assert_int_equal(mode, 0640);
    rn_file_close(f);
}

static void files_are_closed_in_children(void **state)
{
    struct rn_file *f = open_file("a", RN_OPEN_CREATE);
    bool found = false;

    (void)state;
    for (int fd = 3; fd < 100; fd++) {
        char link[64], path[300] = "";
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, path, sizeof(path) - 1) < 0 ||
            strcmp(path + strlen(path) - 2, "/a") != 0)
            continue;
        found = true;
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    assert_true(found);
    rn_file_close(f);
}

static void locks_refuse_without_waiting(void **state)
{
    struct rn_file *a = open_file("a", RN_OPEN_CREATE);
    struct rn_file *b = open_file("a", RN_OPEN_CREATE);

    (void)state;
    assert_int_equal(env->ops->lock(a, RN_LOCK_EXCLUSIVE), 0);
    assert_int_equal(env->ops->lock(b, RN_LOCK_EXCLUSIVE), EAGAIN);
    assert_int_equal(env->ops->lock(b, RN_LOCK_SHARED), EAGAIN);
    assert_int_equal(env->ops->lock(a, RN_LOCK_SHARED), 0);
    assert_int_equal(env->ops->lock(b, RN_LOCK_SHARED), 0);
    assert_int_equal(env->ops->lock(a, RN_LOCK_NONE), 0);
    assert_int_equal(env->ops->lock(b, RN_LOCK_EXCLUSIVE), 0);
    rn_file_close(b); /* closing unlocks */
    assert_int_equal(env->ops->lock(a, RN_LOCK_EXCLUSIVE), 0);
    rn_file_close(a);
}

/* ---- names, time, random numbers ----------------------------------------- */

static void count_entry(void *context, const char *name)
{
    int *counts = context;

    counts[0] += strcmp(name, "b") == 0;
    counts[1]++;
}

static void names_are_made_moved_listed_and_removed(void **state)
{
    char from[300];
    int counts[2] = { 0 };

    (void)state;
    rn_file_close(open_file("a", RN_OPEN_CREATE));
    snprintf(from, sizeof(from), "%s", in_dir("a"));
    assert_int_equal(env->ops->rename(env, from, in_dir("b")), 0);
    assert_int_equal(env->ops->make_dir(env, in_dir("sub")), 0);
    assert_int_equal(env->ops->sync_dir(env, dir), 0);
    assert_int_equal(env->ops->list(env, dir, count_entry, counts), 0);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 2);
    assert_int_equal(env->ops->remove(env, in_dir("sub")), 0);
    assert_int_equal(env->ops->remove(env, in_dir("b")), 0);
}

static void there_is_space_and_it_is_finite(void **state)
{
    uint64_t free_bytes = 0;

    (void)state;
    assert_int_equal(env->ops->space(env, dir, &free_bytes), 0);
    assert_in_range(free_bytes, 1, UINT64_C(1) << 60);
    assert_int_equal(env->ops->space(env, in_dir("no"), &free_bytes), ENOENT);
}

static void clocks_go_forward(void **state)
{
    int64_t before = rn_mono_ns(env), wall = rn_wall_ms(env);

    (void)state;
    env->ops->sleep(env, 2000000);
    assert_true(rn_mono_ns(env) - before >= 2000000);
    env->ops->sleep(env, 0);
    env->ops->sleep(env, -1);
    assert_in_range(wall, INT64_C(1600000000000), INT64_C(9999999999999));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_dir, leave_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_and_writes_are_whole),
        TEST(what_goes_past_the_cache_is_in_the_file),
        TEST(what_cannot_go_past_the_cache_goes_through_it),
        TEST(a_read_past_the_end_returns_how_much_there_was),
        TEST(errors_come_back_as_errno_values),
        TEST(interruptions_are_not_seen),
        TEST(write_back_is_a_hint_but_its_errors_are_not),
        TEST(rereading_loses_nothing),
        TEST(reserving_keeps_or_grows_the_length),
        TEST(opening_new_empties_creating_does_not),
        TEST(only_plain_files_are_opened),
        TEST(a_link_is_followed_where_that_is_asked_for),
        TEST(files_are_closed_in_children),
        TEST(locks_refuse_without_waiting),
        TEST(names_are_made_moved_listed_and_removed),
        TEST(there_is_space_and_it_is_finite),
        TEST(clocks_go_forward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
