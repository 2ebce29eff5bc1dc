/* command.h -- a subcommand of `runnel`: its help and its entry point.
 *
 * One row in main.c, one file cmd_*.c.  Exit status: 0 done, 1 could not
 * finish, 2 invalid command line or data directory; the reason is one line on
 * standard error.
 */
#ifndef RN_CLI_COMMAND_H
#define RN_CLI_COMMAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

enum { RN_EXIT_OK = 0, RN_EXIT_FAILED = 1, RN_EXIT_REFUSED = 2 };

struct rn_command {
    const char *name;
    const char *usage;                 /* the arguments after the name */
    const char *summary;               /* one line, for the list */
    const char *help;                  /* the rest of its help page */
    void (*more_help)(FILE *to);       /* printed behind it; may be NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct rn_command rn_command_serve;
extern const struct rn_command rn_command_keys;
extern const struct rn_command rn_command_tls;
extern const struct rn_command rn_command_verify;
extern const struct rn_command rn_command_dump;
extern const struct rn_command rn_command_backup;
extern const struct rn_command rn_command_restore;
extern const struct rn_command rn_command_compact;

/* Prints "runnel: <text>" and returns the exit status for `rc`. */
int rn_command_fail(enum rn_code rc, const struct rn_err *err);

/* The data directory that `serve` uses by default. */
#define RN_COMMAND_DATA "runnel-data"

/* Removes --data DIR from the arguments.  Without it: RUNNEL_DATA, as `serve`
 * does, else RN_COMMAND_DATA. */
const char *rn_command_data(int *argc, char **argv);
/* An operand that names a directory: it contains a slash, or is a directory. */
bool rn_command_is_directory(const char *operand);

/* Prints "WORD: runnel NAME ARGUMENTS". */
void rn_command_print_usage(FILE *to, const char *word,
                            const struct rn_command *c);
/* Checks that exactly `count` operands follow the command and that none looks
 * like an option; prints an error and returns false otherwise. */
int rn_command_operands(const struct rn_command *c, int argc, char **argv,
                        int count);

#endif
