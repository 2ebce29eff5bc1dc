/* tools.c -- finds, lists and executes the commands of runnel-tools. */
#include "cli/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "runnel-tools"

enum { PATH_BYTES = 4096 };

static bool find_program(char *out, size_t room)
{
    ssize_t len = readlink("/proc/self/exe", out, room - 1);
    char *slash;

    out[len > 0 ? len : 0] = 0;
    slash = strrchr(out, '/');
    if (slash && (size_t)(slash - out) + sizeof("/" PROGRAM) <= room) {
        memcpy(slash, "/" PROGRAM, sizeof("/" PROGRAM));
        if (access(out, X_OK) == 0)
            return true;
    }
    snprintf(out, room, "%s/%s", RUNNEL_BINDIR, PROGRAM);
    return access(out, X_OK) == 0;
}

/* Reads the output of `runnel-tools --commands`. */
static size_t read_list(const char *path, char *out, size_t room)
{
    size_t len = 0;
    int ends[2], status = 0;
    ssize_t n;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC))
        return 0;
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(path, PROGRAM, "--commands", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    while (child > 0 && len < room &&
           ((n = read(ends[0], out + len, room - len)) > 0 ||
            (n < 0 && errno == EINTR)))
        len += n > 0 ? (size_t)n : 0;
    close(ends[0]);
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
        return len;
    return 0;
}

void rn_tools_read(struct rn_tools *tools)
{
    char path[PATH_BYTES];

    *tools = (struct rn_tools){ 0 };
    if (find_program(path, sizeof(path)))
        tools->len = read_list(path, tools->text, sizeof(tools->text) - 1);
    for (char *line = tools->text; line < tools->text + tools->len;) {
        char *blank = strchr(line, ' '), *end = strchr(line, '\n');

        if (!blank || !end || blank > end) {
            tools->len = (size_t)(line - tools->text);
            return;
        }
        *blank = *end = 0;
        line = end + 1;
    }
}

bool rn_tools_next(const struct rn_tools *tools, size_t *at, const char **name,
                   const char **summary)
{
    if (*at >= tools->len)
        return false;
    *name = tools->text + *at;
    *summary = *name + strlen(*name) + 1;
    *at = (size_t)(*summary + strlen(*summary) + 1 - tools->text);
    return true;
}

void rn_tools_run(char **args)
{
    static char name[] = PROGRAM;
    char path[PATH_BYTES];

    args[0] = name;
    if (find_program(path, sizeof(path)))
        execv(path, args);
}
