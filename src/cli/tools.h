/* tools.h -- runs the program `runnel-tools`, whose commands `runnel` offers
 * too.
 *
 * It is beside this program, or where `make install` puts programs.  It lists
 * its commands itself, so that there is one table of them.
 */
#ifndef RN_CLI_TOOLS_H
#define RN_CLI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

enum { RN_TOOLS_TEXT_MAX = 16384 };

/* The commands of runnel-tools: lines "NAME SUMMARY" with a NUL behind each
 * name and each summary. */
struct rn_tools {
    char text[RN_TOOLS_TEXT_MAX];
    size_t len;
};

/* Asks runnel-tools for its commands; there are none if it is not installed. */
void rn_tools_read(struct rn_tools *tools);

/* Iterates over them: `*at` is 0 at first; false at the end. */
bool rn_tools_next(const struct rn_tools *tools, size_t *at, const char **name,
                   const char **summary);

/* Executes `runnel-tools ARGS...`; args[0] is replaced.  Returns only if it is
 * not installed. */
void rn_tools_run(char **args);

#endif
