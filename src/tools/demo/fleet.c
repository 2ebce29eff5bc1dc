/* fleet.c -- see fleet.h. */
#include "tools/demo/fleet.h"

#include "base/env.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, START_MS = 20000, STOP_MS = 5000, STEP_MS = 10 };

/* ---- processes ----------------------------------------------------------- */

/* A program that lies beside this one. */
static bool find_program(const char *name, char out[PATH_BYTES])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_BYTES - 1);
    char *slash;
    size_t room;

    out[len > 0 ? len : 0] = 0;
    slash = strrchr(out, '/');
    if (!slash)
        return false;
    room = PATH_BYTES - (size_t)(slash + 1 - out);
    return (size_t)snprintf(slash + 1, room, "%s", name) < room &&
           access(out, X_OK) == 0;
}

/* In a group of its own: Ctrl-C at the terminal is for the demo alone. */
static pid_t start(const char *program, char *const *args, int output)
{
    pid_t parent = getpid(), child = fork();
    int null;

    if (child != 0)
        return child;
    (void)!prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    setpgid(0, 0);
    rn_signals_reset();
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(output >= 0 ? output : null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(program, args);
    _exit(127);
}

static void end(pid_t pid)
{
    struct rn_env *env = rn_env_real();
    int64_t until = rn_mono_ns(env) + STOP_MS * INT64_C(1000000);

    if (pid <= 0)
        return;
    kill(pid, SIGTERM);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (rn_mono_ns(env) > until)
            kill(pid, SIGKILL);
        env->ops->sleep(env, STEP_MS * INT64_C(1000000));
    }
}

/* ---- the server ---------------------------------------------------------- */

/* Waits for "listening on URL". */
static int read_account(struct rn_fleet *f, int from)
{
    static const char before[] = "listening on ";
    struct pollfd fds[] = { { .fd = from, .events = POLLIN },
                            { .fd = rn_signals_fd(), .events = POLLIN } };
    char text[256];
    size_t len = 0;
    char *line_end = NULL;

    while (!line_end) {
        ssize_t n;

        if (poll(fds, 2, START_MS) <= 0)
            return rn_report(RN_EXIT_FAILED, "the server does not start");
        if (rn_interrupted())
            return RN_EXIT_INTERRUPTED;
        if (!fds[0].revents) { /* another size of the terminal */
            char byte;
            (void)!read(fds[1].fd, &byte, 1);
            continue;
        }
        n = read(from, text + len, sizeof(text) - 1 - len);
        if (n <= 0 || len + (size_t)n == sizeof(text) - 1)
            return rn_report(RN_EXIT_FAILED, "the server does not start");
        len += (size_t)n;
        text[len] = 0;
        line_end = strchr(text, '\n');
    }
    *line_end = 0;
    if (strncmp(text, before, sizeof(before) - 1) != 0)
        return rn_report(RN_EXIT_FAILED, "the server says '%s'", text);
    snprintf(f->account, sizeof(f->account), "%s/", text + sizeof(before) - 1);
    return RN_EXIT_OK;
}

int rn_fleet_open(struct rn_fleet *f)
{
    static const char *const args[] = {
        "runnel", "serve",         "--listen", "127.0.0.1:0", "--ranges",
        "4",      "--no-auto-tls", "--data",   NULL,          NULL,
    };
    enum { ARGS = sizeof(args) / sizeof(args[0]) };
    char *own[ARGS], program[PATH_BYTES];
    const char *base = getenv("TMPDIR");
    int ends[2], status;

    if (!find_program("runnel", program))
        return rn_report(RN_EXIT_FAILED, "%s: %s", program, strerror(errno));
    snprintf(f->directory, sizeof(f->directory), "%s/runnel-demo-XXXXXX",
             base && strlen(base) < 40 ? base : "/tmp");
    if (!mkdtemp(f->directory)) {
        status =
            rn_report(RN_EXIT_FAILED, "%s: %s", f->directory, strerror(errno));
        f->directory[0] = 0;
        return status;
    }
    if (pipe2(ends, O_CLOEXEC))
        return rn_report(RN_EXIT_FAILED, "%s", strerror(errno));
    memcpy(own, args, sizeof(args));
    own[ARGS - 2] = f->directory;
    f->server = start(program, own, ends[1]);
    close(ends[1]);
    status = f->server > 0 ? read_account(f, ends[0])
                           : rn_report(RN_EXIT_FAILED, "%s", strerror(errno));
    close(ends[0]);
    return status;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void rn_fleet_close(struct rn_fleet *f)
{
    while (rn_fleet_kill(f))
        ;
    end(f->server);
    if (f->directory[0])
        (void)!nftw(f->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    *f = (struct rn_fleet){ 0 };
}

/* ---- hosts --------------------------------------------------------------- */

bool rn_fleet_add(struct rn_fleet *f)
{
    static const char *const args[] = { "runnel-tools", "demo", "--join", NULL,
                                        "--instance",   NULL,   NULL };
    enum { ARGS = sizeof(args) / sizeof(args[0]) };
    char *own[ARGS], program[PATH_BYTES];
    struct rn_demo_host *host;

    if (f->host_count == RN_DEMO_HOSTS_MAX ||
        !find_program("runnel-tools", program))
        return false;
    host = &f->hosts[f->host_count];
    snprintf(host->name, sizeof(host->name), "host-%u", f->host_count + 1);
    memcpy(own, args, sizeof(args));
    own[3] = f->account;
    own[5] = host->name;
    host->pid = start(program, own, -1);
    if (host->pid <= 0)
        return false;
    f->host_count++;
    return true;
}

const struct rn_demo_host *rn_fleet_kill(struct rn_fleet *f)
{
    for (uint32_t i = 0; i < f->host_count; i++) {
        struct rn_demo_host *host = &f->hosts[i];

        if (!host->pid)
            continue;
        kill(host->pid, SIGKILL);
        (void)!waitpid(host->pid, NULL, 0);
        host->pid = 0;
        return host;
    }
    return NULL;
}

uint32_t rn_fleet_alive(const struct rn_fleet *f)
{
    uint32_t alive = 0;

    for (uint32_t i = 0; i < f->host_count; i++)
        alive += f->hosts[i].pid != 0;
    return alive;
}
