/* machine.c -- see machine.h.
 *
 * With cgroups version 2 a process is in one group ("0::/a/b"), whose limit is
 * in ROOT/a/b/memory.max; with version 1 it is in one for memory
 * ("4:memory:/a/b", ROOT/memory/a/b/memory.limit_in_bytes).  In a container the
 * path may be the host's while ROOT shows the container's own group only; so
 * every limit file on the way from the path up to ROOT counts.
 */
#include "base/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, GROUPS_BYTES = 16384 };

/* Reads as much as fits, and adds a NUL; kernel files do not have a size. */
static size_t read_text(struct rn_env *env, const char *path, char *out,
                        size_t room)
{
    struct rn_file *file = NULL;
    size_t got = 0;

    if (rn_file_open(env, path, RN_OPEN_FOLLOW, &file))
        return 0;
    if (rn_file_read(file, out, room - 1, 0, &got))
        got = 0;
    rn_file_close(file);
    out[got] = '\0';
    return got;
}

/* Text that is not a number, such as "max", means no limit. */
static uint64_t read_limit(struct rn_env *env, const char *path)
{
    char text[32];
    char *end = text;
    uint64_t n;

    if (!read_text(env, path, text, sizeof(text)))
        return UINT64_MAX;
    n = strtoull(text, &end, 10);
    return end > text ? n : UINT64_MAX;
}

/* The lowest limit of all groups from `group` up to the one at `top`. */
static uint64_t least(struct rn_env *env, const char *top, struct rn_view group,
                      const char *name)
{
    uint64_t limit = UINT64_MAX;
    char path[PATH_BYTES];

    for (;;) {
        int len = snprintf(path, sizeof(path), "%s%.*s/%s", top, (int)group.len,
                           group.at, name);
        uint64_t n =
            len > 0 && len < PATH_BYTES ? read_limit(env, path) : UINT64_MAX;
        limit = n < limit ? n : limit;
        if (!group.len)
            return limit;
        do
            group.len--;
        while (group.at[group.len] != '/');
    }
}

/* A line of /proc/self/cgroup: "N:CONTROLLERS:/PATH". */
static uint64_t line_limit(struct rn_env *env, const char *line, size_t len,
                           const char *root)
{
    const char *list = memchr(line, ':', len), *path;
    char top[PATH_BYTES];
    bool is_old;

    if (!list)
        return UINT64_MAX;
    list++;
    path = memchr(list, ':', len - (size_t)(list - line));
    if (!path || path + 1 == line + len || path[1] != '/')
        return UINT64_MAX;
    is_old = path - list == 6 && memcmp(list, "memory", 6) == 0;
    if (!is_old && path != list)
        return UINT64_MAX;
    snprintf(top, sizeof(top), "%s%s", root, is_old ? "/memory" : "");
    path++;
    return least(env, top, rn_view_of(path, len - (size_t)(path - line)),
                 is_old ? "memory.limit_in_bytes" : "memory.max");
}

uint64_t rn_machine_limit(struct rn_env *env, struct rn_view groups,
                          const char *root, uint64_t memory)
{
    const char *at = groups.at, *end = groups.at + groups.len;

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        uint64_t n;

        if (!line_end)
            line_end = end;
        n = line_limit(env, at, (size_t)(line_end - at), root);
        memory = n < memory ? n : memory;
        at = line_end + 1;
    }
    return memory;
}

uint64_t rn_machine_memory(struct rn_env *env)
{
    uint64_t memory =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    char groups[GROUPS_BYTES];
    size_t len = read_text(env, "/proc/self/cgroup", groups, sizeof(groups));

    return rn_machine_limit(env, rn_view_of(groups, len), "/sys/fs/cgroup",
                            memory);
}
