/* manual.c -- runnel-NAME(1), from the tables of the command. */
#include "tools/common/manual.h"

#include "tools/common/out.h"
#include "tools/common/report.h"

#include <ctype.h>

/* Prints text that means itself: a backslash and a dash are escaped, and so is
 * what would be a request at the start of a line. */
static void literal_view(struct rn_view text)
{
    bool is_start = true;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (is_start && (c == '.' || c == '\''))
            rn_out(RN_LIT("\\&"));
        if (c == '\\')
            rn_out(RN_LIT("\\e"));
        else if (c == '-')
            rn_out(RN_LIT("\\-"));
        else
            rn_out(rn_view_of(&c, 1));
        is_start = c == '\n';
    }
}

static void literal(const char *text)
{
    literal_view(rn_view_text(text));
}

/* Paragraphs: an empty line begins a new one. */
static void paragraphs(const char *text)
{
    const char *gap;

    while ((gap = strstr(text, "\n\n"))) {
        literal_view(rn_view_of(text, (size_t)(gap - text)));
        rn_out(RN_LIT("\n.PP\n"));
        text = gap + 2;
    }
    literal(text);
    rn_out(RN_LIT("\n"));
}

static void option(const struct rn_option *o)
{
    const char *value = rn_option_value(o);

    rn_out(RN_LIT(".TP\n\\fB\\-\\-"));
    literal(o->name);
    rn_out(RN_LIT("\\fR"));
    if (value) {
        rn_out(RN_LIT(" \\fI"));
        literal(value);
        rn_out(RN_LIT("\\fR"));
    }
    rn_out(RN_LIT("\n"));
    literal(o->help);
    rn_out(RN_LIT("\n"));
    if (o->fallback) {
        rn_out(RN_LIT("Default: "));
        literal(o->fallback);
        rn_out(RN_LIT(".\n"));
    }
    if (o->env)
        rn_outf("Environment: \\fB%s\\fR.\n", o->env);
}

static void section(const char *title)
{
    rn_out(RN_LIT(".SH "));
    for (; *title; title++)
        rn_outf("%c", toupper((unsigned char)*title));
    rn_out(RN_LIT("\n"));
}

void rn_manual_print(const struct rn_tool *tool)
{
    struct rn_option_table tables[RN_OPTION_TABLES + 1];
    enum rn_exit status;
    const char *meaning;
    size_t i = 0;

    rn_outf(".TH runnel\\-%s 1 \"\" \"runnel %s\" \"Runnel\"\n.SH NAME\n"
            "runnel\\-%s \\- %s\n.SH SYNOPSIS\n\\fBrunnel %s\\fR [OPTIONS] ",
            tool->name, RUNNEL_VERSION, tool->name, tool->summary, tool->name);
    literal(tool->usage);
    rn_out(RN_LIT("\n.SH DESCRIPTION\n"));
    paragraphs(tool->help);
    rn_option_tables(tool, tables);
    for (size_t t = 0; tables[t].title; t++) {
        section(tables[t].title);
        for (const struct rn_option *o = tables[t].options; o->name; o++)
            option(o);
    }
    if (tool->example) {
        rn_out(RN_LIT(".SH EXAMPLES\n.nf\n"));
        literal(tool->example);
        rn_out(RN_LIT(".fi\n"));
    }
    section("exit status");
    while ((meaning = rn_exit_next(&i, &status)))
        rn_outf(".TP\n%d\n%s\n", (int)status, meaning);
    rn_out(RN_LIT(".SH SEE ALSO\n\\fBrunnel help\\fR\n"));
}
