/* main.c -- the program `runnel`: finds the subcommand and runs it. */
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/tools.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int help(int argc, char **argv);
static int version(int argc, char **argv);

static const struct rn_command command_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "List the commands, or explain one of them",
    .help = "COMMAND --help prints the same.\n",
    .run = help,
};

static const struct rn_command command_version = {
    .name = "version",
    .usage = "",
    .summary = "Print the version",
    .help = "The version is printed as 'runnel MAJOR.MINOR.PATCH'.\n",
    .run = version,
};

static const struct rn_command *const commands[] = {
    &rn_command_serve,   &rn_command_keys,    &rn_command_tls,
    &rn_command_verify,  &rn_command_dump,    &rn_command_backup,
    &rn_command_restore, &rn_command_compact, &command_help,
    &command_version,
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_overview(FILE *to)
{
    struct rn_tools tools;
    const char *name, *summary;
    size_t at = 0;

    rn_tools_read(&tools);
    fprintf(to, "Usage: runnel COMMAND [ARGUMENTS]\n"
                "\n"
                "A document database whose change feed is the point.\n"
                "\n"
                "Commands:\n");
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "%s",
            tools.len ? "\nTools, for this server or another:\n" : "");
    while (rn_tools_next(&tools, &at, &name, &summary))
        fprintf(to, "  %-10s %s\n", name, summary);
    fprintf(to, "\n"
                "Exit status: 0 success, 1 failure, 2 invalid command line or "
                "data directory.\n");
}

static void print_help(const struct rn_command *c)
{
    rn_command_print_usage(stdout, "Usage", c);
    printf("\n%s.\n\n%s", c->summary, c->help);
    if (c->more_help)
        c->more_help(stdout);
    printf("\n"
           "Exit status\n"
           "  0 success, 1 failure (no memory, no space), 2 invalid command "
           "line or data\n  directory; one line on standard error says "
           "why.\n");
}

static const struct rn_command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static int unknown(const char *name)
{
    struct rn_nearest near = { .word = rn_view_text(name) };

    for (size_t i = 0; i < COMMANDS; i++)
        rn_nearest_offer(&near, commands[i]->name);
    if (near.found) {
        fprintf(stderr,
                "runnel: there is no command '%s'; did you mean '%s'?\n", name,
                near.found);
    } else {
        fprintf(stderr,
                "runnel: there is no command '%s'; see 'runnel --help'\n",
                name);
    }
    return RN_EXIT_REFUSED;
}

/* Every other command belongs to runnel-tools, which reports unknown ones. */
static int run_tool(char **argv)
{
    rn_tools_run(argv);
    return unknown(argv[1]);
}

static int help(int argc, char **argv)
{
    const struct rn_command *c;

    if (argc < 2) {
        print_overview(stdout);
        return RN_EXIT_OK;
    }
    c = find(argv[1]);
    if (!c) {
        static char option[] = "--help";
        char *args[] = { argv[0], argv[1], option, NULL };
        return run_tool(args);
    }
    print_help(c);
    return RN_EXIT_OK;
}

static int is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int version(int argc, char **argv)
{
    if (!rn_command_operands(&command_version, argc, argv, 0))
        return RN_EXIT_REFUSED;
    printf("runnel %s\n", RUNNEL_VERSION);
    return RN_EXIT_OK;
}

static int run(int argc, char **argv)
{
    const struct rn_command *c;

    if (argc < 2) {
        print_overview(stderr);
        return RN_EXIT_REFUSED;
    }
    if (is_one_of(argv[1], "--help", "-h"))
        return help(argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        return version(argc - 1, argv + 1);
    c = find(argv[1]);
    if (!c)
        return run_tool(argv);
    for (int i = 2; i < argc; i++) {
        if (is_one_of(argv[i], "--help", "-h")) {
            print_help(c);
            return RN_EXIT_OK;
        }
    }
    return c->run(argc - 1, argv + 1);
}

/* A closed standard descriptor would be reused for the next file that is
 * opened, and output would go there.  Its replacement is not writable, so that
 * lost output is an error. */
static int open_standard(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A command whose output was lost has failed.  `serve` is exempt: it prints
 * only its first lines there. */
int main(int argc, char **argv)
{
    int status;

    if (!open_standard())
        return RN_EXIT_FAILED;
    umask(077);
    signal(SIGXFSZ, SIG_IGN); /* makes a file-size limit an error */
    status = run(argc, argv);
    if (status == RN_EXIT_OK && (fflush(stdout) || ferror(stdout)) &&
        find(argv[1]) != &rn_command_serve) {
        fprintf(stderr, "runnel: cannot write to standard output\n");
        status = RN_EXIT_FAILED;
    }
    return status;
}
