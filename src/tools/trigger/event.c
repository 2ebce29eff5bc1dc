/* event.c -- the events of the processor: a line each. */
#include "tools/trigger/event.h"

#include "tools/common/out.h"
#include "tools/common/report.h"
#include "json/print.h"

static const char *const names[] = {
    [RUNNEL_EVENT_READY] = "ready",
    [RUNNEL_EVENT_ACQUIRED] = "acquired",
    [RUNNEL_EVENT_RELEASED] = "released",
    [RUNNEL_EVENT_LOST] = "lost",
    [RUNNEL_EVENT_SPLIT] = "split",
    [RUNNEL_EVENT_MERGED] = "merged",
    [RUNNEL_EVENT_RETRIED] = "retried",
    [RUNNEL_EVENT_BISECTED] = "bisected",
    [RUNNEL_EVENT_DEAD_LETTERED] = "dead-lettered",
    [RUNNEL_EVENT_SKIPPED] = "skipped",
    [RUNNEL_EVENT_BLOCKED] = "blocked",
    [RUNNEL_EVENT_STUCK] = "stuck",
    [RUNNEL_EVENT_THROTTLED] = "throttled",
    [RUNNEL_EVENT_TROUBLE] = "trouble",
    [RUNNEL_EVENT_SEEK] = "seek",
    [RUNNEL_EVENT_RETENTION] = "retention",
    [RUNNEL_EVENT_FOREIGN] = "foreign",
    [RUNNEL_EVENT_CONFIGURATION] = "configuration",
    [RUNNEL_EVENT_NAME_CLASH] = "name-clash",
    [RUNNEL_EVENT_TERMINAL] = "terminal",
    [RUNNEL_EVENT_STOPPED] = "stopped",
};

static void print_text(struct rn_json_out *o, const char *name,
                       const char *text)
{
    if (!text)
        return;
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_string(o, rn_view_text(text));
}

static void print_number(struct rn_json_out *o, const char *name,
                         uint64_t number)
{
    if (number == 0)
        return;
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_uint(o, number);
}

static void print_json(const runnel_event *e)
{
    struct rn_buf line = RN_BUF_INIT(1 << 16);
    struct rn_json_out o = RN_JSON_OUT_INIT(&line);
    size_t kind = (size_t)e->kind;

    rn_json_out_object_begin(&o);
    print_text(&o, "event",
               kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL);
    print_number(&o, "time_ms", (uint64_t)e->time_ms);
    print_number(&o, "severity", (uint64_t)e->severity);
    print_text(&o, "lease", e->lease);
    print_text(&o, "host", e->host);
    print_text(&o, "message", e->message);
    print_number(&o, "attempt", e->attempt);
    print_number(&o, "count", e->count);
    print_number(&o, "lsn", e->lsn);
    rn_json_out_object_end(&o);
    if (!rn_json_out_finish(&o)) {
        rn_out_json(rn_buf_view(&line));
        rn_out_flush();
    }
    rn_buf_release(&line);
}

void rn_trigger_event(void *context, const runnel_event *e)
{
    struct rn_trigger *t = context;
    bool is_end = e->kind == RUNNEL_EVENT_TERMINAL ||
                  e->kind == RUNNEL_EVENT_NAME_CLASH ||
                  (e->kind == RUNNEL_EVENT_BLOCKED && t->plan.is_once);
    int status = RN_EXIT_FAILED;

    if (t->wants_json)
        print_json(e);
    if (!t->wants_json && e->severity <= RUNNEL_SEVERITY_WARNING)
        (void)!rn_report(RN_EXIT_OK, "%s%s%s", e->lease ? e->lease : "",
                         e->lease ? ": " : "", e->message);
    if (!is_end)
        return;
    if (e->kind == RUNNEL_EVENT_NAME_CLASH)
        status = RN_EXIT_CONFLICT;
    else if (e->error)
        status = (int)rn_exit_of(e->error->code);
    rn_trigger_stop(t, status);
}
