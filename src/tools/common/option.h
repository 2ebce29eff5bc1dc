/* option.h -- tables of options, and the arguments parsed by them.
 *
 * An option is one row.  Its value is, in this order: the last one on the
 * command line, the environment variable of the row, the fallback of the row.
 * Values are checked while parsing, so that accessors cannot fail; asking for
 * an option that is in no table of the command is a bug and asserts.
 *
 * `--name VALUE` and `--name=VALUE` are the same; `--` ends the options; `-` is
 * an operand.  A value that holds a secret is copied and overwritten in argv
 * before anything else happens.
 */
#ifndef RN_TOOLS_COMMON_OPTION_H
#define RN_TOOLS_COMMON_OPTION_H

#include "base/mem.h"

enum rn_option_kind {
    RN_OPTION_FLAG = 0, /* takes no value */
    RN_OPTION_TEXT,
    RN_OPTION_COUNT,  /* a whole number, not negative */
    RN_OPTION_MS,     /* "500", "500ms", "2s", "5m", "1h" */
    RN_OPTION_CHOICE, /* one of the words in `value`: "auto|always|never" */
    RN_OPTION_FILE,   /* shells complete file names */
    RN_OPTION_DIR,    /* shells complete directories */
    RN_OPTION_LIST,   /* text; may be given several times */
    RN_OPTION_SECRET, /* text; overwritten in argv */
};

struct rn_option {
    const char *name; /* without the dashes */
    enum rn_option_kind kind;
    const char *value;    /* its name in help: "FILE"; NULL: by kind */
    const char *fallback; /* the default as text; NULL: none */
    const char *env;      /* environment variable; NULL: none */
    const char *help;     /* sentences, wrapped when printed */
};

struct rn_tool;

/* One option as it was given on the command line. */
struct rn_given {
    const struct rn_option *option;
    const char *value;
};

struct rn_args {
    const struct rn_tool *tool;
    struct rn_given *given;
    uint32_t given_count;
    const char **operands;
    uint32_t operand_count;
    bool wants_help; /* --help was there: nothing else was checked */
};

/* Copies the secrets in argv for rn_args_parse and overwrites them there.
 * The first statement of main. */
void rn_args_hide(int argc, char **argv);

/* argv[0] is the command's name.  RN_BAD_REQUEST with the sentence in `err`. */
enum rn_code rn_args_parse(struct rn_args *args, const struct rn_tool *tool,
                           int argc, char **argv, struct rn_err *err) RN_CHECK;
void rn_args_release(struct rn_args *args);

/* The value as text; NULL: it has none. */
const char *rn_args_text(const struct rn_args *args, const char *name);
/* Was it on the command line?  Flags, and others too. */
bool rn_args_flag(const struct rn_args *args, const char *name);
/* Of a COUNT or MS option; 0: it has none. */
uint64_t rn_args_count(const struct rn_args *args, const char *name);
/* The i-th value of a LIST option; NULL: there are fewer. */
const char *rn_args_list(const struct rn_args *args, const char *name,
                         uint32_t i);
/* The i-th operand; NULL: there are fewer. */
const char *rn_args_operand(const struct rn_args *args, uint32_t i);

/* The option tables of a command, its own first; ends with NULL.  Titles are
 * for help. */
enum { RN_OPTION_TABLES = 5 };
struct rn_option_table {
    const char *title;
    const struct rn_option *options;
};
void rn_option_tables(const struct rn_tool *tool,
                      struct rn_option_table out[RN_OPTION_TABLES + 1]);
/* The row of that name, or NULL. */
const struct rn_option *rn_option_find(const struct rn_tool *tool,
                                       struct rn_view name);
/* Its value's name in help: "FILE", "N", "auto|always|never"; NULL: a flag. */
const char *rn_option_value(const struct rn_option *option);

/* Reads a time as MS options have it.  False: not a time. */
bool rn_option_parse_ms(const char *text, uint64_t *out) RN_CHECK;

/* Walks "a|b|c": sets `*word` and moves `*rest` on; false at the end. */
bool rn_choice_next(const char **rest, struct rn_view *word);

#endif
