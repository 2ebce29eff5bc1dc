/* show.c -- prints a change. */
#include "tools/tail/show.h"

#include "base/clock.h"
#include "tools/common/change.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/target.h"
#include "tools/tail/diff.h"
#include "json/print.h"

static const enum rn_color colors[] = {
    [RUNNEL_CHANGED] = RN_COLOR_GREEN,   [RUNNEL_CREATED] = RN_COLOR_GREEN,
    [RUNNEL_REPLACED] = RN_COLOR_YELLOW, [RUNNEL_DELETED] = RN_COLOR_RED,
    [RUNNEL_EXPIRED] = RN_COLOR_MAGENTA,
};

/* The document on one line, without the members that the server added. */
static void print_document(const struct rn_json *json)
{
    struct rn_json_walk walk = rn_json_walk_begin(json, 0);
    const char *comma = "  {";

    while (rn_json_walk_next(&walk)) {
        struct rn_view name = rn_json_text(json, walk.name);
        if (rn_out_is_system(name))
            continue;
        rn_outf("%s%s\"%.*s\"%s: ", comma, rn_color(RN_COLOR_BLUE),
                RN_FMT(name), rn_color(RN_COLOR_NONE));
        rn_out_inline(json, walk.value);
        comma = ", ";
    }
    rn_out(RN_LIT("}\n"));
}

/* The key is JSON in ASCII, for a header; it is shown in its own letters. */
static void print_key(runnel_bytes key)
{
    struct rn_buf buf = RN_BUF_INIT(key.len);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);

    rn_json_out_plain(&o, rn_view_lent(key));
    rn_out(rn_json_out_finish(&o) ? rn_view_lent(key) : rn_buf_view(&buf));
    rn_buf_release(&buf);
}

int rn_show_pretty(const struct rn_shown *shown)
{
    const runnel_change *change = shown->change;
    struct rn_civil at = rn_civil_of(change->time_ms / 1000);
    bool has_both = shown->after.count && shown->before.count;

    rn_outf("%s%02d:%02d:%02d%s %s%-8s%s ", rn_color(RN_COLOR_DIM), at.hour,
            at.minute, at.second, rn_color(RN_COLOR_NONE),
            rn_color(colors[change->kind]), rn_change_kind(change),
            rn_color(RN_COLOR_NONE));
    if (change->partition_key.len)
        print_key(change->partition_key);
    rn_outf(" %s%.*s%s %slsn %llu%s\n", rn_color(RN_COLOR_BOLD),
            (int)change->id.len, change->id.at, rn_color(RN_COLOR_NONE),
            rn_color(RN_COLOR_DIM), (unsigned long long)change->lsn,
            rn_color(RN_COLOR_NONE));
    if (has_both) {
        if (rn_diff_print(&shown->before, &shown->after) < 0)
            return rn_report(RN_EXIT_FAILED, "out of memory");
    } else if (shown->after.count) {
        print_document(&shown->after);
    } else if (shown->before.count) {
        print_document(&shown->before);
    }
    return RN_EXIT_OK;
}

int rn_show_json(const struct rn_shown *shown, struct rn_buf *line,
                 bool all_versions)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(line);
    const runnel_change *change = shown->change;

    if (!all_versions) {
        rn_out_json(rn_view_lent(change->json));
        return RN_EXIT_OK;
    }
    rn_buf_clear(line);
    rn_change_print(&o, change);
    if (rn_json_out_finish(&o) || rn_buf_add(line, RN_LIT("\n")))
        return rn_report(RN_EXIT_FAILED, "out of memory");
    rn_out(rn_buf_view(line));
    return RN_EXIT_OK;
}
