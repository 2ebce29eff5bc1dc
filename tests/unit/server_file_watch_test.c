/* server_file_watch_test.c -- no change of a file goes unseen, or is seen
 * early.
 *
 * Goal: however a file comes to be another, the kernel reports it, and the file
 * counts as changed when it rests and not before; where the kernel does
 * not, a look finds it.  Method: in a directory of its own, a row makes what
 * is there at first and then changes it, by the shell; between the two nothing
 * may be readable.
 */
#include "server/file_watch.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { LIMIT_MS = 30000 };

static const struct {
    const char *path, *first, *change;
} rows[] = {
    { "f", "echo 1 >f", "echo 22 >f" },
    { "./f", "echo 1 >f", "echo 2 >g && mv g f" },
    { "d/f", "mkdir d && echo 1 >d/f", "rm d/f && echo 22 >d/f" },
    /* not there at first */
    { "f", "true", "echo 1 >f" },
    { "d/e/f", "true", "mkdir -p d/e && echo 1 >d/e/f" },
    { "d/f", "mkdir g && echo 1 >g/f", "mv g d" },
    { "d/f", "mkdir g && echo 1 >g/f", "ln -s g d" },
    { "f", "ln -s d/g f", "mkdir d && echo 1 >d/g" },
    /* as Kubernetes brings a secret */
    { "d/f",
      "mkdir -p d/..1 d/..2 && echo 1 >d/..1/f && echo 2 >d/..2/f && "
      "ln -s ..1 d/..data && ln -s ..data/f d/f",
      "ln -s ..2 d/..tmp && mv -T d/..tmp d/..data && rm -r d/..1" },
    /* as tools that renew certificates do */
    { "live/f",
      "mkdir live old && echo 1 >old/f1 && echo 2 >old/f2 && "
      "ln -s ../old/f1 live/f",
      "ln -sf ../old/f2 live/f" },
    { "live/f", "mkdir live old && echo 1 >old/f && ln -s ../old/f live/f",
      "echo 22 >old/f" },
    { "now/f", "mkdir a b && echo 1 >a/f && echo 2 >b/f && ln -s a now",
      "ln -s b tmp && mv -T tmp now" },
    /* directories on the way */
    { "d/f", "mkdir d e && echo 1 >d/f && echo 2 >e/f", "mv d x && mv e d" },
    { "d/e/f", "mkdir -p d/e x/e && echo 1 >d/e/f && echo 2 >x/e/f",
      "mv d y && mv x d" },
};

static struct rn_file_watch watched;
static char home[64], before[4096];

static int enter(void **state)
{
    (void)state;
    snprintf(home, sizeof(home), "/tmp/watched.XXXXXX");
    rn_file_watch_init(&watched);
    return !getcwd(before, sizeof(before)) || !mkdtemp(home) || chdir(home);
}

static int leave(void **state)
{
    char line[sizeof(home) + 8];

    (void)state;
    rn_file_watch_close(&watched);
    snprintf(line, sizeof(line), "rm -r %s", home);
    return chdir(before) || system(line); // NOLINT: the test's own directory
}

static void sh(const char *line)
{
    assert_int_equal(system(line), 0); // NOLINT: the test's own directory
}

static bool is_notified(int ms)
{
    struct pollfd p = { .fd = watched.fd, .events = POLLIN };

    return poll(&p, 1, ms) == 1;
}

/* Looks until it rests; what it then is. */
static enum rn_file_watch_state until_stable(const char *path)
{
    enum rn_file_watch_state state;

    do
        state = rn_file_watch_look(&watched, &path, 1);
    while (state == RN_FILE_WATCH_MOVING);
    return state;
}

static void try_row(size_t i)
{
    const char *path = rows[i].path;

    sh(rows[i].first);
    rn_file_watch_note(&watched, &path, 0, 1);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    assert_false(watched.is_blind);
    assert_false(is_notified(0));
    sh(rows[i].change);
    assert_true(is_notified(LIMIT_MS));
    assert_int_equal(rn_file_watch_look(&watched, &path, 1),
                     RN_FILE_WATCH_MOVING);
    assert_int_equal(rn_file_watch_look(&watched, &path, 1),
                     RN_FILE_WATCH_CHANGED);
    rn_file_watch_note(&watched, &path, 0, 1);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    assert_false(is_notified(0));
}

static void however_a_file_changes_the_kernel_reports_it(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# %s: %s\n", rows[i].path, rows[i].change);
        assert_int_equal(enter(state), 0);
        try_row(i);
        assert_int_equal(leave(state), 0);
    }
}

/* And what comes in its place has still to be seen. */
static void a_file_that_is_gone_is_no_change(void **state)
{
    const char *path = "d/f";

    (void)state;
    sh("mkdir d && echo 1 >d/f");
    rn_file_watch_note(&watched, &path, 0, 1);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    sh("rm -r d");
    assert_true(is_notified(LIMIT_MS));
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    sh("mkdir d && echo 22 >d/f");
    assert_true(is_notified(LIMIT_MS));
    assert_int_equal(until_stable(path), RN_FILE_WATCH_CHANGED);
}

static void what_is_written_in_part_is_not_reported(void **state)
{
    const char *path = "f";
    FILE *file = fopen(path, "w");

    (void)state;
    rn_file_watch_note(&watched, &path, 0, 1);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    assert_true(fputs("half", file) >= 0 && fflush(file) == 0);
    assert_false(is_notified(0));
    assert_int_equal(fclose(file), 0);
    assert_true(is_notified(LIMIT_MS));
    assert_int_equal(until_stable(path), RN_FILE_WATCH_CHANGED);
}

static void without_descriptors_a_look_finds_it_still(void **state)
{
    struct rlimit files, none;
    const char *path = "f";

    (void)state;
    sh("echo 1 >f");
    rn_file_watch_note(&watched, &path, 0, 1);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = files;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    assert_true(watched.is_blind);
    assert_int_equal(watched.fd, -1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    sh("echo 22 >f");
    assert_int_equal(until_stable(path), RN_FILE_WATCH_CHANGED);
    assert_false(watched.is_blind);
}

static void links_that_lead_round_end_somewhere(void **state)
{
    const char *path = "a/f";

    (void)state;
    sh("ln -s b a && ln -s a b");
    rn_file_watch_note(&watched, &path, 0, 1);
    assert_int_equal(until_stable(path), RN_FILE_WATCH_SAME);
    sh("mkdir c && echo 1 >c/f && rm b && ln -s c b");
    assert_true(is_notified(LIMIT_MS));
    assert_int_equal(until_stable(path), RN_FILE_WATCH_CHANGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(however_a_file_changes_the_kernel_reports_it),
        cmocka_unit_test_setup_teardown(a_file_that_is_gone_is_no_change, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(what_is_written_in_part_is_not_reported,
                                        enter, leave),
        cmocka_unit_test_setup_teardown(
            without_descriptors_a_look_finds_it_still, enter, leave),
        cmocka_unit_test_setup_teardown(links_that_lead_round_end_somewhere,
                                        enter, leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
