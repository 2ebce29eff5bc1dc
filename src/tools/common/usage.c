/* usage.c -- `runnel NAME --help`, from the tables of the command. */
#include "tools/common/usage.h"

#include "tools/common/out.h"
#include "tools/common/report.h"

enum { COLUMNS = 80 };

/* Prints the text in lines of at most 80 columns, each indented.  A newline in
 * the text ends a line; one that a newline follows ends a paragraph. */
static void wrap(const char *text, size_t indent)
{
    size_t column = 0;

    while (*text) {
        size_t len = strcspn(text, " \n");

        if (column && column + 1 + len > COLUMNS) {
            rn_out(RN_LIT("\n"));
            column = 0;
        }
        if (len) {
            rn_outf("%*s%.*s", column ? 1 : (int)indent, "", (int)len, text);
            column += len + (column ? 1 : indent);
        }
        text += len;
        for (; *text == ' ' || *text == '\n'; text++) {
            if (*text == '\n') {
                rn_out(RN_LIT("\n"));
                column = 0;
            }
        }
    }
    if (column)
        rn_out(RN_LIT("\n"));
}

static void print_option(const struct rn_option *o)
{
    const char *value = rn_option_value(o);
    char text[1024];
    int n = snprintf(text, sizeof(text), "%s", o->help);

    if (o->fallback && n < (int)sizeof(text))
        n += snprintf(text + n, sizeof(text) - (size_t)n, "  Default: %s.",
                      o->fallback);
    if (o->env && n < (int)sizeof(text))
        snprintf(text + n, sizeof(text) - (size_t)n, "  Environment: %s.",
                 o->env);
    rn_outf("  --%s%s%s\n", o->name, value ? " " : "", value ? value : "");
    wrap(text, 8);
}

void rn_usage_print(const struct rn_tool *tool)
{
    struct rn_option_table tables[RN_OPTION_TABLES + 1];
    enum rn_exit status;
    const char *meaning;
    size_t i = 0;

    rn_outf("Usage: runnel %s [OPTIONS]%s%s\n\n%s.\n\n", tool->name,
            tool->usage[0] ? " " : "", tool->usage, tool->summary);
    wrap(tool->help, 0);
    rn_option_tables(tool, tables);
    for (size_t t = 0; tables[t].title; t++) {
        rn_outf("\n%s\n", tables[t].title);
        for (const struct rn_option *o = tables[t].options; o->name; o++)
            print_option(o);
    }
    if (tool->example)
        rn_outf("\nExamples\n%s", tool->example);
    rn_outf("\nExit status\n");
    while ((meaning = rn_exit_next(&i, &status)))
        rn_outf("  %3d  %s\n", (int)status, meaning);
}
