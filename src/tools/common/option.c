/* option.c -- parses a command line by the option tables of a command. */
#include "tools/common/option.h"

#include "base/nearest.h"
#include "base/secret.h"
#include "tools/common/lease_set.h"
#include "tools/common/target.h"
#include "tools/tool.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct rn_option common_options[] = {
    { "json", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Print JSON, one value a line, also on a terminal." },
    { "color", RN_OPTION_CHOICE, "auto|always|never", "auto", NULL,
      "Use colours; auto: if standard output is a terminal and NO_COLOR is "
      "not set; always: print as on a terminal." },
    { "help", RN_OPTION_FLAG, NULL, NULL, NULL, "Print this text." },
    { 0 },
};

/* Copies of the secrets, by their place in argv; they live as long as the
 * process. */
static struct {
    char **argv;
    char **copies;
} hidden;

void rn_option_tables(const struct rn_tool *tool,
                      struct rn_option_table out[RN_OPTION_TABLES + 1])
{
    size_t n = 0;

    if (tool->options)
        out[n++] = (struct rn_option_table){ "Options", tool->options };
    if (tool->uses & RN_USES_CONTAINER)
        out[n++] = (struct rn_option_table){ "Container options",
                                             rn_target_container_options };
    if (tool->uses & RN_USES_LEASES)
        out[n++] =
            (struct rn_option_table){ "Lease options", rn_lease_set_options };
    if (tool->uses & RN_USES_ACCOUNT)
        out[n++] =
            (struct rn_option_table){ "Account options", rn_target_options };
    out[n++] = (struct rn_option_table){ "Common options", common_options };
    out[n] = (struct rn_option_table){ 0 };
}

static const struct rn_option *find_in(const struct rn_option *o,
                                       struct rn_view name)
{
    for (; o->name; o++) {
        if (rn_view_eq(rn_view_text(o->name), name))
            return o;
    }
    return NULL;
}

const struct rn_option *rn_option_find(const struct rn_tool *tool,
                                       struct rn_view name)
{
    struct rn_option_table tables[RN_OPTION_TABLES + 1];
    const struct rn_option *found = NULL;

    rn_option_tables(tool, tables);
    for (size_t i = 0; tables[i].title && !found; i++)
        found = find_in(tables[i].options, name);
    return found;
}

const char *rn_option_value(const struct rn_option *o)
{
    static const char *const names[] = {
        [RN_OPTION_FLAG] = NULL,     [RN_OPTION_TEXT] = "TEXT",
        [RN_OPTION_COUNT] = "N",     [RN_OPTION_MS] = "MS",
        [RN_OPTION_CHOICE] = "WORD", [RN_OPTION_FILE] = "FILE",
        [RN_OPTION_DIR] = "DIR",     [RN_OPTION_LIST] = "TEXT",
        [RN_OPTION_SECRET] = "TEXT",
    };

    return o->value ? o->value : names[o->kind];
}

bool rn_choice_next(const char **rest, struct rn_view *word)
{
    const char *at = *rest;
    size_t len;

    if (!at || !*at)
        return false;
    len = strcspn(at, "|");
    *word = rn_view_of(at, len);
    *rest = at + len + (at[len] == '|');
    return true;
}

/* ---- secrets ------------------------------------------------------------- */

/* The length of an option's name that is a secret's: "--key", "--to-key";
 * 0: it is another argument. */
static size_t secret_name(const char *argument)
{
    size_t len = strcspn(argument, "=");

    if (len < 5 || strncmp(argument, "--", 2) != 0)
        return 0;
    return strncmp(argument + len - 4, "-key", 4) == 0 ? len : 0;
}

/* How much of the argument stays readable; its whole length: it has no secret.
 * The value of a key is secret, and so is the key in a connection string. */
static size_t open_part(const char *argument, const char *before)
{
    const char *key = strstr(argument, "AccountKey=");
    size_t name = secret_name(argument);

    if (before && *before && secret_name(before) == strlen(before))
        return 0;
    if (name && argument[name])
        return name + 1;
    return key ? (size_t)(key - argument) + strlen("AccountKey=")
               : strlen(argument);
}

void rn_args_hide(int argc, char **argv)
{
    hidden.argv = argv;
    hidden.copies = rn_new((size_t)argc * sizeof(char *) + 1);
    for (int i = 1; i < argc && hidden.copies; i++) {
        size_t len = strlen(argv[i]);
        size_t open = open_part(argv[i], i > 1 ? argv[i - 1] : NULL);

        if (open >= len)
            continue;
        hidden.copies[i] = rn_new_text(argv[i]);
        rn_wipe_secret(argv[i] + open, len - open);
    }
}

/* The argument as it was given. */
static const char *argument(char **place)
{
    const char *copy =
        hidden.copies ? hidden.copies[place - hidden.argv] : NULL;

    return copy ? copy : *place;
}

/* ---- parsing ------------------------------------------------------------- */

static bool parse_count(const char *text, uint64_t *out)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return !errno && !*end;
}

bool rn_option_parse_ms(const char *text, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {
        { "", 1 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }
    };
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) == 0 && !errno) {
            *out *= units[i].ms;
            return *out <= UINT32_MAX;
        }
    }
    return false;
}

static bool is_choice(const char *choices, const char *value)
{
    struct rn_view word;

    while (rn_choice_next(&choices, &word)) {
        if (rn_view_eq(word, rn_view_text(value)))
            return true;
    }
    return false;
}

static enum rn_code check_value(const struct rn_option *o, const char *value,
                                const char *from, struct rn_err *err)
{
    uint64_t number;

    if (!value) /* a flag */
        return RN_OK;
    if (o->kind == RN_OPTION_COUNT && !parse_count(value, &number))
        return rn_fail(err, RN_BAD_REQUEST, "%s is a whole number, not '%s'",
                       from, value);
    if (o->kind == RN_OPTION_MS && !rn_option_parse_ms(value, &number)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "%s is a time such as 500, 2s or 5m, not '%s'", from,
                       value);
    }
    if (o->kind == RN_OPTION_CHOICE && !is_choice(o->value, value))
        return rn_fail(err, RN_BAD_REQUEST, "%s is one of %s, not '%s'", from,
                       o->value, value);
    return RN_OK;
}

static enum rn_code fail_unknown(const struct rn_tool *tool,
                                 struct rn_view name, struct rn_err *err)
{
    struct rn_option_table tables[RN_OPTION_TABLES + 1];
    struct rn_nearest near = { .word = name };

    rn_option_tables(tool, tables);
    for (size_t i = 0; tables[i].title; i++) {
        for (const struct rn_option *o = tables[i].options; o->name; o++)
            rn_nearest_offer(&near, o->name);
    }
    if (near.found) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "there is no option '--%.*s'; did you mean '--%s'?",
                       RN_FMT(name), near.found);
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "there is no option '--%.*s'; see 'runnel %s --help'",
                   RN_FMT(name), tool->name);
}

/* Takes the option at argv[*i], and its value behind it. */
static enum rn_code parse_option(struct rn_args *args, int argc, char **argv,
                                 int *i, struct rn_err *err)
{
    const char *text = argument(&argv[*i]) + 2;
    const char *equals = strchr(text, '=');
    struct rn_view name =
        rn_view_of(text, equals ? (size_t)(equals - text) : strlen(text));
    const struct rn_option *o = rn_option_find(args->tool, name);
    const char *value = equals ? equals + 1 : NULL;
    char from[80];

    if (!o)
        return fail_unknown(args->tool, name, err);
    if (o->kind == RN_OPTION_FLAG && value)
        return rn_fail(err, RN_BAD_REQUEST, "--%s takes no value", o->name);
    if (o->kind != RN_OPTION_FLAG && !value) {
        if (*i + 1 == argc)
            return rn_fail(err, RN_BAD_REQUEST, "--%s needs a value: %s",
                           o->name, rn_option_value(o));
        value = argument(&argv[++*i]);
    }
    args->given[args->given_count++] =
        (struct rn_given){ o, value ? value : "" };
    snprintf(from, sizeof(from), "--%s", o->name);
    return check_value(o, value, from, err);
}

static enum rn_code check_environment(const struct rn_tool *tool,
                                      struct rn_err *err)
{
    struct rn_option_table tables[RN_OPTION_TABLES + 1];
    enum rn_code rc = RN_OK;

    rn_option_tables(tool, tables);
    for (size_t i = 0; tables[i].title; i++) {
        for (const struct rn_option *o = tables[i].options; o->name; o++) {
            const char *value = o->env ? getenv(o->env) : NULL;
            if (value && !rc)
                rc = check_value(o, value, o->env, err);
        }
    }
    return rc;
}

static enum rn_code check_operands(const struct rn_args *args,
                                   struct rn_err *err)
{
    const struct rn_tool *tool = args->tool;

    if (args->operand_count < tool->operands_min ||
        args->operand_count > tool->operands_max)
        return rn_fail(err, RN_BAD_REQUEST, "usage: runnel %s [OPTIONS] %s",
                       tool->name, tool->usage);
    if (tool->verbs && args->operand_count &&
        !is_choice(tool->verbs, args->operands[0]))
        return rn_fail(err, RN_BAD_REQUEST, "'%s' is not one of %s",
                       args->operands[0], tool->verbs);
    return RN_OK;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

enum rn_code rn_args_parse(struct rn_args *args, const struct rn_tool *tool,
                           int argc, char **argv, struct rn_err *err)
{
    bool only_operands = false;
    enum rn_code rc = RN_OK;

    *args = (struct rn_args){ .tool = tool };
    args->wants_help = asks_for_help(argc, argv);
    if (args->wants_help)
        return RN_OK;
    args->given = rn_new((size_t)argc * sizeof(*args->given) + 1);
    args->operands = rn_new((size_t)argc * sizeof(*args->operands) + 1);
    if (!args->given || !args->operands)
        return rn_fail(err, RN_NOMEM, "out of memory");
    for (int i = 1; i < argc && !rc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (!only_operands && strncmp(argv[i], "--", 2) == 0)
            rc = parse_option(args, argc, argv, &i, err);
        else if (!only_operands && argv[i][0] == '-' && argv[i][1]) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "there is no option '%s'; see 'runnel %s --help'",
                         argv[i], tool->name);
        } else {
            args->operands[args->operand_count++] = argument(&argv[i]);
        }
    }
    if (!rc)
        rc = check_environment(tool, err);
    return rc ? rc : check_operands(args, err);
}

void rn_args_release(struct rn_args *args)
{
    rn_free(args->given);
    rn_free(args->operands);
    *args = (struct rn_args){ 0 };
}

/* ---- values -------------------------------------------------------------- */

static const struct rn_option *must_find(const struct rn_args *args,
                                         const char *name)
{
    const struct rn_option *o = rn_option_find(args->tool, rn_view_text(name));

    assert(o);
    return o;
}

static const char *given_value(const struct rn_args *args,
                               const struct rn_option *o)
{
    for (uint32_t i = args->given_count; i > 0; i--) {
        if (args->given[i - 1].option == o)
            return args->given[i - 1].value;
    }
    return NULL;
}

const char *rn_args_text(const struct rn_args *args, const char *name)
{
    const struct rn_option *o = must_find(args, name);
    const char *value = given_value(args, o);

    if (!value && o->env)
        value = getenv(o->env);
    return value ? value : o->fallback;
}

bool rn_args_flag(const struct rn_args *args, const char *name)
{
    return given_value(args, must_find(args, name)) != NULL;
}

uint64_t rn_args_count(const struct rn_args *args, const char *name)
{
    const char *text = rn_args_text(args, name);
    uint64_t number = 0;

    if (text && must_find(args, name)->kind == RN_OPTION_MS)
        (void)!rn_option_parse_ms(text, &number);
    else if (text)
        (void)!parse_count(text, &number);
    return number;
}

const char *rn_args_list(const struct rn_args *args, const char *name,
                         uint32_t i)
{
    const struct rn_option *o = must_find(args, name);

    for (uint32_t at = 0; at < args->given_count; at++) {
        if (args->given[at].option == o && i-- == 0)
            return args->given[at].value;
    }
    return NULL;
}

const char *rn_args_operand(const struct rn_args *args, uint32_t i)
{
    return i < args->operand_count ? args->operands[i] : NULL;
}
