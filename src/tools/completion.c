/* completion.c -- `runnel completion`: scripts for bash, zsh and fish, from the
 * tables of all commands. */
#include "tools/commands.h"
#include "tools/common/out.h"

/* Calls `each` for every option of a command, in the order of its tables. */
static void each_option(const struct rn_tool *tool,
                        void (*each)(const struct rn_tool *tool,
                                     const struct rn_option *option))
{
    struct rn_option_table tables[RN_OPTION_TABLES + 1];

    rn_option_tables(tool, tables);
    for (size_t t = 0; tables[t].title; t++) {
        for (const struct rn_option *o = tables[t].options; o->name; o++)
            each(tool, o);
    }
}

/* "a|b|c" as "a b c". */
static void words(const char *choices)
{
    struct rn_view word;

    while (rn_choice_next(&choices, &word)) {
        rn_out(word);
        rn_out(*choices ? RN_LIT(" ") : RN_LIT(""));
    }
}

/* Quotes for the shell and for the square brackets and colons of zsh. */
static void quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            rn_out(RN_LIT("'\\''"));
        else if (strchr("[]:\\", *text))
            rn_outf("\\%c", *text);
        else
            rn_outf("%c", *text);
    }
}

static void all_names(void)
{
    const struct rn_tool *tool;

    for (size_t i = 0; rn_server_commands[i]; i++)
        rn_outf("%s ", rn_server_commands[i]);
    for (size_t i = 0; (tool = rn_tool_at(i)); i++)
        rn_outf("%s ", tool->name);
}

/* ---- bash ---------------------------------------------------------------- */

static void bash_option(const struct rn_tool *tool, const struct rn_option *o)
{
    (void)tool;
    rn_outf(" --%s", o->name);
}

static void bash_value(const struct rn_tool *tool, const struct rn_option *o)
{
    if (o->kind == RN_OPTION_FLAG)
        return;
    rn_outf("    %s:--%s) ", tool->name, o->name);
    if (o->kind == RN_OPTION_CHOICE) {
        rn_out(RN_LIT("words='"));
        words(o->value);
        rn_out(RN_LIT("' ;;\n"));
    } else if (o->kind == RN_OPTION_FILE) {
        rn_out(RN_LIT("files=-f ;;\n"));
    } else if (o->kind == RN_OPTION_DIR) {
        rn_out(RN_LIT("files=-d ;;\n"));
    } else {
        rn_out(RN_LIT("return ;;\n"));
    }
}

static void print_bash(void)
{
    const struct rn_tool *tool;

    rn_out(RN_LIT("# bash completion for runnel\n"
                  "_runnel()\n{\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} words= files=-f\n"
                  "    local before=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local command=${COMP_WORDS[1]}\n\n"
                  "    COMPREPLY=()\n"
                  "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                  "        COMPREPLY=($(compgen -W '"));
    all_names();
    rn_out(RN_LIT("' -- \"$word\"))\n        return\n    fi\n"
                  "    case $command in\n"));
    for (size_t i = 0; (tool = rn_tool_at(i)); i++) {
        rn_outf("    %s) words='", tool->name);
        if (tool->verbs)
            words(tool->verbs);
        each_option(tool, bash_option);
        rn_out(RN_LIT("'; files= ;;\n"));
    }
    rn_out(RN_LIT("    esac\n    case $command:$before in\n"));
    for (size_t i = 0; (tool = rn_tool_at(i)); i++)
        each_option(tool, bash_value);
    rn_out(RN_LIT("    esac\n"
                  "    if [ -n \"$files\" ]; then\n"
                  "        COMPREPLY=($(compgen $files -- \"$word\"))\n"
                  "    else\n"
                  "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "    fi\n}\n"
                  "complete -o default -F _runnel runnel\n"));
}

/* ---- zsh ----------------------------------------------------------------- */

static void zsh_option(const struct rn_tool *tool, const struct rn_option *o)
{
    (void)tool;
    rn_outf("        '%s--%s%s[", o->kind == RN_OPTION_LIST ? "*" : "", o->name,
            o->kind == RN_OPTION_FLAG ? "" : "=");
    quoted(o->help);
    rn_out(RN_LIT("]"));
    if (o->kind == RN_OPTION_CHOICE) {
        rn_out(RN_LIT(":value:("));
        words(o->value);
        rn_out(RN_LIT(")"));
    } else if (o->kind == RN_OPTION_FILE) {
        rn_out(RN_LIT(":file:_files"));
    } else if (o->kind == RN_OPTION_DIR) {
        rn_out(RN_LIT(":directory:_files -/"));
    } else if (o->kind != RN_OPTION_FLAG) {
        rn_outf(":%s: ", rn_option_value(o));
    }
    rn_out(RN_LIT("' \\\n"));
}

static void print_zsh(void)
{
    const struct rn_tool *tool;

    rn_out(RN_LIT("#compdef runnel\n"
                  "# zsh completion for runnel\n"
                  "_runnel()\n{\n"
                  "    if (( CURRENT == 2 )); then\n"
                  "        compadd -- "));
    all_names();
    rn_out(RN_LIT("\n        return\n    fi\n"
                  "    local command=$words[2]\n"
                  "    shift words\n"
                  "    (( CURRENT-- ))\n"
                  "    case $command in\n"));
    for (size_t i = 0; (tool = rn_tool_at(i)); i++) {
        rn_outf("    %s)\n        _arguments \\\n", tool->name);
        each_option(tool, zsh_option);
        if (tool->verbs) {
            rn_out(RN_LIT("        '1:verb:("));
            words(tool->verbs);
            rn_out(RN_LIT(")' \\\n"));
        }
        /* An empty action is a message, which keeps zsh from inserting. */
        rn_outf("        '*:operand:%s' ;;\n",
                strstr(tool->usage, "FILE") ? "_files" : "{:}");
    }
    rn_out(RN_LIT("    *) _files ;;\n    esac\n}\n"
                  "if [ \"$funcstack[1]\" = _runnel ]; then\n"
                  "    _runnel \"$@\"\nelse\n"
                  "    compdef _runnel runnel\nfi\n"));
}

/* ---- fish ---------------------------------------------------------------- */

static void fish_option(const struct rn_tool *tool, const struct rn_option *o)
{
    rn_outf("complete -c runnel -n '__fish_seen_subcommand_from %s' -l %s",
            tool->name, o->name);
    if (o->kind == RN_OPTION_CHOICE) {
        rn_out(RN_LIT(" -xa '"));
        words(o->value);
        rn_out(RN_LIT("'"));
    } else if (o->kind == RN_OPTION_FILE) {
        rn_out(RN_LIT(" -rF"));
    } else if (o->kind == RN_OPTION_DIR) {
        rn_out(RN_LIT(" -xa '(__fish_complete_directories)'"));
    } else if (o->kind != RN_OPTION_FLAG) {
        rn_out(RN_LIT(" -x"));
    }
    rn_out(RN_LIT(" -d '"));
    for (const char *at = o->help; *at; at++)
        rn_outf(strchr("'\\", *at) ? "\\%c" : "%c", *at);
    rn_out(RN_LIT("'\n"));
}

static void print_fish(void)
{
    const struct rn_tool *tool;

    rn_out(RN_LIT("# fish completion for runnel\n"
                  "complete -c runnel -f -n __fish_use_subcommand -a '"));
    for (size_t i = 0; rn_server_commands[i]; i++)
        rn_outf("%s ", rn_server_commands[i]);
    rn_out(RN_LIT("'\n"));
    for (size_t i = 0; (tool = rn_tool_at(i)); i++) {
        rn_outf("complete -c runnel -f -n __fish_use_subcommand -a %s -d '%s'"
                "\n",
                tool->name, tool->summary);
        each_option(tool, fish_option);
        if (tool->verbs) {
            rn_outf("complete -c runnel -f -n "
                    "'__fish_seen_subcommand_from %s' -a '",
                    tool->name);
            words(tool->verbs);
            rn_out(RN_LIT("'\n"));
        }
    }
}

static int run(const struct rn_args *args)
{
    const char *shell = rn_args_operand(args, 0);

    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else
        print_fish();
    return RN_EXIT_OK;
}

const struct rn_tool rn_tool_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .summary = "Print a completion script for a shell",
    .help = "The script completes commands, options and their values.  "
            "'make install' puts all three where the shells look for them.",
    .example = "  source <(runnel completion bash)\n"
               "  source <(runnel completion zsh)\n"
               "  runnel completion fish | source\n",
    .verbs = "bash|zsh|fish",
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
