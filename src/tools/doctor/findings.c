/* findings.c -- prints findings as they are made. */
#include "tools/doctor/findings.h"

#include "tools/common/out.h"
#include "json/print.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX = 2048, LINE_MAX_BYTES = 8 * TEXT_MAX };

static void add_text(struct rn_json_out *o, const char *name, const char *text)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_string(o, rn_view_text(text));
}

static void print_json(const char *result, const char *check,
                       const char *remedy, const char *text)
{
    struct rn_buf line = RN_BUF_INIT(LINE_MAX_BYTES);
    struct rn_json_out o = RN_JSON_OUT_INIT(&line);

    rn_json_out_object_begin(&o);
    add_text(&o, "check", check);
    add_text(&o, "result", result);
    add_text(&o, "text", text);
    if (remedy)
        add_text(&o, "remedy", remedy);
    rn_json_out_object_end(&o);
    rn_out(rn_buf_view(&line));
    rn_out(RN_LIT("\n"));
    rn_buf_release(&line);
}

void rn_findings_add(struct rn_findings *f, enum rn_finding kind,
                     const char *check, const char *remedy, const char *fmt,
                     ...)
{
    static const char *const results[] = { "ok", "warning", "fault" };
    static const enum rn_color colors[] = { RN_COLOR_GREEN, RN_COLOR_YELLOW,
                                            RN_COLOR_RED };
    char text[TEXT_MAX];
    va_list list;

    va_start(list, fmt);
    vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    f->faults += kind == RN_FINDING_FAULT;
    f->warnings += kind == RN_FINDING_WARNING;
    if (f->as_json) {
        print_json(results[kind], check, remedy, text);
        return;
    }
    rn_outf("%s%-8s%s %-10s %s\n", rn_color(colors[kind]), results[kind],
            rn_color(RN_COLOR_NONE), check, text);
    if (remedy)
        rn_outf("%-8s %-10s -> %s\n", "", "", remedy);
}
