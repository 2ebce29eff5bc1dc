/* cmd_serve.c -- `runnel serve`: run the server until a signal ends it. */
#include "cli/command.h"
#include "server/server.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { ARENA_MAX = 4 << 20 };

/* All threads leave these signals to this one, which waits for them. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is an error, not an end */
}

static void wait_for_end(struct rn_server *server, struct rn_log *log,
                         const sigset_t *set)
{
    for (;;) {
        struct rn_err err = { 0 };
        int number = 0;

        if (sigwait(set, &number) || number != SIGHUP)
            return;
        if (rn_server_reload(server, &err))
            rn_log_warn(log, "reload failed",
                        RN_STR("err", rn_view_text(err.text)));
        else
            rn_log_info(log, "certificates and keys reloaded");
    }
}

static enum rn_code open_log(const struct rn_options *o, struct rn_log **log,
                             struct rn_err *err)
{
    static const char *const levels[] = { "error", "warn", "info", "debug" };
    bool text = strcmp(o->log_format, "text") == 0;

    if (!text && strcmp(o->log_format, "json") != 0)
        return rn_fail(err, RN_BAD_REQUEST, "--log-format is json or text");
    for (int i = 0; i < 4; i++) {
        if (strcmp(levels[i], o->log_level) == 0) {
            *log = rn_log_new(rn_env_real(), STDERR_FILENO,
                              text ? RN_LOG_TEXT : RN_LOG_JSON,
                              (enum rn_log_level)i);
            return *log ? RN_OK : RN_NOMEM;
        }
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "--log-level is error, warn, info or debug");
}

static int run(int argc, char **argv)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_server *server = NULL;
    struct rn_options options;
    struct rn_log *log = NULL;
    struct rn_err err = { 0 };
    sigset_t set;
    enum rn_code rc;

    block_signals(&set);
    rc = rn_options_read(argc, argv, environ, &arena, &options, &err);
    if (!rc)
        rc = open_log(&options, &log, &err);
    if (!rc)
        rc = rn_server_start(&options, log, &server, &err);
    if (!rc) {
        printf("listening on http%s://%s\n", options.tls_cert ? "s" : "",
               rn_server_address(server));
        fflush(stdout);
        wait_for_end(server, log, &set);
        rn_log_info(log, "stopping");
        rn_server_stop(server);
    }
    rn_log_free(log);
    rn_arena_release(&arena);
    return rc ? rn_command_fail(rc, &err) : RN_EXIT_OK;
}

const struct rn_command rn_command_serve = {
    .name = "serve",
    .usage = "[OPTIONS]",
    .summary = "Run the server",
    .help =
        "Serves the Azure Cosmos DB NoSQL dialect over HTTP and, with a "
        "certificate, HTTPS on\none port.  Clients use gateway mode.  The "
        "account's keys are in DIR/keys, made at the\nfirst start; on loopback "
        "the key that all emulators share is valid too.\n\n"
        "SIGTERM and SIGINT finish what is under way and stop; SIGHUP reads "
        "certificates and\nkeys again.  Each option can also be set in the "
        "environment (RUNNEL_LOG_FORMAT) or\nin the configuration file "
        "({\"log-format\":\"text\"}); the command line wins.\n\nOptions:\n",
    .more_help = rn_options_print_help,
    .run = run,
};
