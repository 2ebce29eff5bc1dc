/* base_machine_test.c -- memory is what the machine has, or what control groups
 * leave of it.
 *
 * Each case is a tree of limits, the text of a process's groups, and what they
 * leave of 1,000 bytes.
 */
#include "base/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 3 };

static const struct tree_case {
    const char *what;
    const char *groups;
    uint64_t left;
    const char *files[FILES], *texts[FILES];
} cases[] = {
    { "no groups", "", 1000, { NULL }, { NULL } },
    { "a limit", "0::/a/b\n", 300, { "a/b/memory.max" }, { "300\n" } },
    { "no newline", "0::/a", 300, { "a/memory.max" }, { "300" } },
    { "no limit", "0::/a\n", 1000, { "a/memory.max" }, { "max\n" } },
    { "a limit above the machine",
      "0::/a\n",
      1000,
      { "a/memory.max" },
      { "18446744073709551615\n" } },
    { "the group around it has less",
      "0::/a/b\n",
      200,
      { "a/b/memory.max", "a/memory.max" },
      { "300\n", "200\n" } },
    { "the group around it has more",
      "0::/a/b\n",
      200,
      { "a/b/memory.max", "a/memory.max" },
      { "200\n", "300\n" } },
    { "a container's own, seen as the root",
      "0::/docker/0123\n",
      400,
      { "memory.max" },
      { "400\n" } },
    { "in the root", "0::/\n", 400, { "memory.max" }, { "400\n" } },
    { "another's", "0::/a\n", 1000, { "ab/memory.max" }, { "300\n" } },
    { "version 1",
      "9:name=systemd:/\n4:memory:/a\n0::/\n",
      500,
      { "memory/a/memory.limit_in_bytes" },
      { "500\n" } },
    { "version 1 without a limit",
      "4:memory:/a\n",
      1000,
      { "memory/a/memory.limit_in_bytes" },
      { "9223372036854771712\n" } },
    { "of both the least",
      "4:memory:/a\n0::/a\n",
      100,
      { "memory/a/memory.limit_in_bytes", "a/memory.max" },
      { "500\n", "100\n" } },
    { "of another controller",
      "3:cpu:/a\n2:memory_not:/a\n1:memor:/a\n",
      1000,
      { "memory/a/memory.limit_in_bytes", "a/memory.max" },
      { "500\n", "100\n" } },
    { "lines that are none",
      "\n0\n0:\n0::\n0::a\n:\n::\n",
      1000,
      { "memory.max", "a/memory.max" },
      { "500\n", "100\n" } },
    { "texts that are none",
      "0::/a/b\n",
      1000,
      { "memory.max", "a/memory.max", "a/b/memory.max" },
      { "", "\n", "x1\n" } },
};

/* Makes the directories on the way, too. */
static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(!mkdir(path, 0700) || errno == EEXIST);
        *slash = '/';
    }
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The file, and the directories above it as far as they are empty. */
static void take(const char *root, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(unlink(path), 0);
    for (char *slash = strrchr(path, '/'); slash > path + strlen(root);
         slash = strrchr(path, '/')) {
        *slash = '\0';
        (void)rmdir(path);
    }
}

static void run(const struct tree_case *c, const char *root)
{
    uint64_t left;

    for (int i = 0; i < FILES && c->files[i]; i++)
        put(root, c->files[i], c->texts[i]);
    left = rn_machine_limit(rn_env_real(), rn_view_text(c->groups), root, 1000);
    for (int i = 0; i < FILES && c->files[i]; i++)
        take(root, c->files[i]);
    if (left != c->left)
        fail_msg("%s: %llu bytes are left, not %llu", c->what,
                 (unsigned long long)left, (unsigned long long)c->left);
}

static void groups_leave_the_least_of_their_limits(void **state)
{
    char root[] = "/tmp/machine_test_XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run(&cases[i], root);
    assert_int_equal(rmdir(root), 0);
}

static void a_path_too_long_is_no_limit(void **state)
{
    static char groups[8000];

    (void)state;
    memset(groups, 'a', sizeof(groups) - 1);
    memcpy(groups, "0::/", 4);
    assert_int_equal(
        rn_machine_limit(rn_env_real(), rn_view_text(groups), "/nowhere", 1000),
        1000);
}

static void this_machine_has_memory(void **state)
{
    uint64_t all =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    (void)state;
    assert_in_range(rn_machine_memory(rn_env_real()), 1 << 20, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_leave_the_least_of_their_limits),
        cmocka_unit_test(a_path_too_long_is_no_limit),
        cmocka_unit_test(this_machine_has_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
