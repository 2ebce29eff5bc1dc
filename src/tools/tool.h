/* tool.h -- a command of the program `runnel-tools`, and its exit status.
 *
 * `runnel NAME ...` executes `runnel-tools NAME ...` for every command of this
 * module.  The tools reach a server through <runnel/runnel.h> only.
 *
 * How to add a command:
 *
 *   1. Write src/tools/NAME.c with one `const struct rn_tool rn_tool_NAME`: its
 *      usage, its table of options and `run`.  Parsing, --help, the man page
 *      and shell completion all come from that struct.
 *   2. Add one line to src/tools/commands.c and one to src/tools/commands.h, in
 *      alphabetical order, one to the list of sources in CMakeLists.txt and one
 *      to the table of tools/ in ARCHITECTURE.md.
 *   3. Add tests/tools/test_NAME.py.  The harness is tests/tools/harness.py; it
 *      finds every test_*.py by itself.
 *
 * What `run` can rely on (headers in tools/common/):
 *
 *   option.h    the arguments by option name: rn_args_text(args, "start")
 *   target.h    a client and a container opened from the common options
 *   report.h    one line on standard error and the exit status for a failure
 *   out.h       standard output: JSON, colours, broken pipes
 *   signals.h   SIGINT, SIGTERM and SIGHUP cancel the client
 *   screen.h    a live view on the terminal
 *   progress.h  a progress bar on standard error
 */
#ifndef RN_TOOLS_TOOL_H
#define RN_TOOLS_TOOL_H

#include "tools/common/option.h"

/* The exit status of every tool; report.h walks the documented meanings. */
enum rn_exit {
    RN_EXIT_OK = 0,
    RN_EXIT_FAILED = 1,        /* the server or the data refused */
    RN_EXIT_USAGE = 2,         /* the command line is wrong */
    RN_EXIT_NOT_FOUND = 3,     /* no such database, container or document */
    RN_EXIT_FORBIDDEN = 4,     /* 401 or 403 */
    RN_EXIT_UNREACHABLE = 5,   /* no connection to the server */
    RN_EXIT_CONFLICT = 6,      /* conflict, or a precondition failed */
    RN_EXIT_PARTIAL = 7,       /* some lines or documents failed */
    RN_EXIT_DIFFERENT = 8,     /* a verification found differences */
    RN_EXIT_LAGGING = 10,      /* the lag is above the limit */
    RN_EXIT_INTERRUPTED = 130, /* SIGINT, SIGTERM or SIGHUP */
    RN_EXIT_PIPE = 141,        /* the reader of standard output went away */
};

/* Which shared option tables a command takes besides its own. */
enum rn_tool_uses {
    RN_USES_ACCOUNT = 1,   /* --account, --key-file, ... */
    RN_USES_CONTAINER = 2, /* --db, --container */
    RN_USES_LEASES = 4,    /* --leases, --lease-prefix */
};

struct rn_tool {
    const char *name;
    const char *usage;   /* what follows the options: "ID", "[QUERY]"; or "" */
    const char *summary; /* one line without a full stop, for the list */
    const char *help;    /* paragraphs, wrapped when printed */
    const char *example; /* lines, printed as they are; may be NULL */
    const char *verbs;   /* choices of the first operand: "list|show"; NULL */
    unsigned uses;       /* enum rn_tool_uses, or-ed */
    uint32_t operands_min, operands_max;
    const struct rn_option *options; /* ends with a row without a name; NULL */
    int (*run)(const struct rn_args *args); /* returns enum rn_exit */
};

#endif
