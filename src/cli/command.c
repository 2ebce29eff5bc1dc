/* command.c -- what subcommands share: data directory, operands, errors. */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int rn_command_fail(enum rn_code rc, const struct rn_err *err)
{
    fprintf(stderr, "runnel: %s\n",
            err->text[0] ? err->text : rn_code_name(rc));
    return rc == RN_NOMEM || rc == RN_FULL ? RN_EXIT_FAILED : RN_EXIT_REFUSED;
}

const char *rn_command_data(int *argc, char **argv)
{
    const char *found = getenv("RUNNEL_DATA");
    int kept = 1;

    found = found && found[0] ? found : RN_COMMAND_DATA;
    for (int i = 1; i < *argc; i++) {
        if (strncmp(argv[i], "--data=", 7) == 0)
            found = argv[i] + 7;
        else if (strcmp(argv[i], "--data") == 0 && i + 1 < *argc)
            found = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return found;
}

bool rn_command_is_directory(const char *operand)
{
    struct stat st;

    return strchr(operand, '/') || strcmp(operand, ".") == 0 ||
           (stat(operand, &st) == 0 && S_ISDIR(st.st_mode));
}

void rn_command_print_usage(FILE *to, const char *word,
                            const struct rn_command *c)
{
    fprintf(to, "%s: runnel %s%s%s\n", word, c->name, c->usage[0] ? " " : "",
            c->usage);
}

int rn_command_operands(const struct rn_command *c, int argc, char **argv,
                        int count)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != '\0') {
            fprintf(stderr, "runnel: %s has no option '%s'\n", c->name,
                    argv[i]);
            return 0;
        }
    }
    if (argc - 1 == count)
        return 1;
    rn_command_print_usage(stderr, "runnel: usage", c);
    return 0;
}
