/* cmd_serve.c -- `runnel serve`: runs the server until a signal ends it. */
#include "cli/command.h"
#include "server/notify.h"
#include "server/reload.h"
#include "server/sandbox.h"
#include "server/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

extern char **environ;

enum { ARENA_MAX = 4 << 20, DAY_MS = 86400000 };

/* Blocked in all threads; this one reads them from a signalfd. */
static enum rn_code open_signals(int *out, struct rn_err *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    *out = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *out < 0 ? rn_fail_errno(err, errno, "signals") : RN_OK;
}

/* A core dump would contain keys and documents.  Descriptors are cheap, so
 * their limit is raised: --connections-max is the limit, not the shell's
 * default. */
static void set_limits(void)
{
    const struct rlimit none = { 0, 0 };
    struct rlimit files;

    (void)!setrlimit(RLIMIT_CORE, &none);
    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max;
    (void)!setrlimit(RLIMIT_NOFILE, &files);
}

/* Returns the signal, or 0 if `ms` have passed (-1: never) or `other` is
 * readable. */
static int await(int signals, int other, int ms)
{
    struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
                            { .fd = other, .events = POLLIN } };
    struct signalfd_siginfo info;

    (void)!poll(fds, 2, ms);
    if (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        return (int)info.ssi_signo;
    return 0;
}

/* Looks for new certificates and keys when inotify reports a change near them,
 * after a short pause in which more changes may come. */
static int await_signal_or_files(struct rn_server *server, int signals,
                                 int wait_ms)
{
    int number;

    if (wait_ms >= 0)
        return await(signals, -1, wait_ms);
    number = await(signals, rn_server_watch_fd(server), DAY_MS);
    return number ? number : await(signals, -1, RN_SERVER_QUIET_MS);
}

static void wait_for_end(struct rn_server *server, int signals)
{
    for (;;) {
        bool is_outdated = false;
        int wait_ms = rn_server_look(server, &is_outdated);
        int number = is_outdated
                         ? SIGHUP
                         : await_signal_or_files(server, signals, wait_ms);

        if (number && number != SIGHUP)
            return;
        if (number) {
            rn_notify_reloading(rn_env_real());
            rn_server_reload(server);
            rn_notify_ready();
        }
    }
}

static enum rn_code open_log(const struct rn_options *o, struct rn_log **log,
                             struct rn_err *err)
{
    static const char *const levels[] = { "error", "warn", "info" };
    bool is_auto = strcmp(o->log_format, "auto") == 0;
    bool text =
        is_auto ? isatty(STDERR_FILENO) : strcmp(o->log_format, "text") == 0;

    if (!text && !is_auto && strcmp(o->log_format, "json") != 0)
        return rn_fail(err, RN_BAD_REQUEST,
                       "--log-format is json, text or auto");
    for (int i = 0; i < 3; i++) {
        if (strcmp(levels[i], o->log_level) == 0) {
            *log = rn_log_new(rn_env_real(), STDERR_FILENO,
                              text ? RN_LOG_TEXT : RN_LOG_JSON,
                              (enum rn_log_level)i);
            return *log ? RN_OK : RN_NOMEM;
        }
    }
    return rn_fail(err, RN_BAD_REQUEST, "--log-level is error, warn or info");
}

/* Logs the name, but not the value, which may be a secret. */
static void warn_unknown_variables(struct rn_log *log)
{
    for (char **each = environ; *each; each++) {
        if (rn_options_is_stray(*each))
            rn_log_warn(log, "an environment variable names no option",
                        RN_STR("name", rn_view_of(*each, strcspn(*each, "="))));
    }
}

/* How to reach the server, for people: programs read the first line only.  The
 * key is the emulators' well-known key; no other key is ever printed. */
static void print_ways(const struct rn_options *o,
                       const struct rn_server *server)
{
    const char *address = rn_server_address(server);
    const char *colon = strrchr(address, ':'), *port = colon + 1;
    const char *key = rn_server_public_key(server);
    bool is_automatic = rn_server_has_automatic_tls(server);
    bool is_https = rn_server_has_tls(server) && !is_automatic;
    /* The name does not lead to other addresses of loopback. */
    bool is_localhost = strncmp(address, "127.0.0.1:", 10) == 0 ||
                        strncmp(address, "[::1]:", 6) == 0;
    struct rn_view host = is_localhost
                              ? RN_LIT("localhost")
                              : rn_view_of(address, (size_t)(colon - address));

    printf("listening on http%s://%s\n", is_https ? "s" : "", address);
    if (key) {
        printf("connection string: AccountEndpoint=http%s://%.*s:%s/;"
               "AccountKey=%s;\n",
               is_https ? "s" : "", (int)host.len, host.at, port, key);
    }
    if (is_automatic && is_localhost && strcmp(o->store, "mem") == 0) {
        printf("https://localhost:%s/ works too; trust its certificate: "
               "curl -k https://localhost:%s/_explorer/emulator.pem\n",
               port, port);
    } else if (is_automatic && is_localhost) {
        printf("https://localhost:%s/ works too; trust its certificate: "
               "runnel tls export %s TO\n",
               port, o->data);
    }
    fflush(stdout);
}

static int run(int argc, char **argv)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_server *server = NULL;
    struct rn_options options;
    struct rn_log *log = NULL;
    struct rn_err err = { 0 };
    int signals = -1;
    bool is_sandboxed, is_lost = false;
    enum rn_code rc;

    set_limits();
    is_sandboxed = rn_sandbox();
    rc = open_signals(&signals, &err);
    if (!rc)
        rc = rn_options_read(argc, argv, environ, &arena, &options, &err);
    if (!rc)
        rc = open_log(&options, &log, &err);
    if (!rc)
        warn_unknown_variables(log);
    if (!rc && !is_sandboxed)
        rn_log_warn(log, "the kernel does not support the sandbox; it is off");
    if (!rc)
        rc = rn_server_start(&options, log, &server, &err);
    if (!rc) {
        print_ways(&options, server);
        rn_notify_ready();
        wait_for_end(server, signals);
        rn_notify_stopping();
        rn_log_info(log, "stopping");
        is_lost = rn_server_is_lost(server);
        rn_server_stop(server);
        rn_log_info(log, "stopped");
    }
    if (signals >= 0)
        close(signals);
    rn_log_free(log);
    rn_arena_release(&arena);
    if (rc)
        return rn_command_fail(rc, &err);
    return is_lost ? RN_EXIT_FAILED : RN_EXIT_OK;
}

static void print_more(FILE *to)
{
    rn_options_print_help(to);
    fprintf(
        to,
        "\n"
        "Environment and file\n"
        "  Each option has three spellings.  The command line takes precedence "
        "over "
        "the\n  environment, which takes precedence over the file of "
        "--config:\n"
        "    --log-format text    RUNNEL_LOG_FORMAT=text    "
        "{\"log-format\": \"text\"}\n"
        "  A flag is given alone on the command line, and is true or false "
        "elsewhere.\n"
        "\n"
        "Signals\n"
        "  SIGTERM, SIGINT   accept no connections, finish requests for up to "
        "--drain-ms,\n                    exit with 0\n"
        "  SIGHUP            reload certificates and keys, as within a second "
        "of "
        "their\n                    change; if one fails to load, the old one "
        "stays in use\n"
        "  SIGKILL           no action needed: the next start has all "
        "acknowledged writes\n"
        "\n"
        "Files in DIR\n"
        "  keys              the account's keys; see 'runnel help keys'\n"
        "  tls/              certificates; see 'runnel help tls'\n"
        "  all others        the data; docs/storage-format.md\n"
        "\n"
        "Paths that need no signature\n"
        "  /healthz /readyz  200 while alive (as /livez); 200 while ready for "
        "writes\n"
        "  /metrics          for Prometheus, to clients on loopback; see\n"
        "                    --metrics-token-file\n"
        "  /_explorer/emulator.pem\n"
        "                    the authority that 'runnel tls init' made\n"
        "\n"
        "Examples\n"
        "  runnel serve\n"
        "        On port 8081 of localhost, with the data in ./runnel-data and "
        "the\n        emulators' key.\n"
        "  runnel tls init /var/lib/runnel db.example.org\n"
        "  runnel serve --data /var/lib/runnel --listen 0.0.0.0:8081\n"
        "        On all addresses, over TLS, with the keys of 'runnel keys "
        "show'.\n"
        "  runnel serve --store mem --listen 127.0.0.1:0 --test-mode\n"
        "        For tests: any free port, which it prints, and data in "
        "memory.\n");
}

const struct rn_command rn_command_serve = {
    .name = "serve",
    .usage = "[OPTIONS]",
    .summary = "Run the server",
    .help =
        "Serves the Azure Cosmos DB NoSQL dialect over HTTP and, with a "
        "certificate,\nHTTPS on one port.  Clients use gateway mode.  When it "
        "is ready, it prints the\nline 'listening on URL'.  The server log "
        "goes "
        "to standard error.\n"
        "\n"
        "The first start creates the account's keys.  On loopback the key that "
        "all\nemulators share is also valid.  Off loopback this key and plain "
        "HTTP need an\noption.\n"
        "\n"
        "Options\n",
    .more_help = print_more,
    .run = run,
};
