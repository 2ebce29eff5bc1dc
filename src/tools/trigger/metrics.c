/* metrics.c -- a trigger in numbers, and its health. */
#include "tools/trigger/metrics.h"

#include "json/print.h"

struct figures {
    struct rn_buf *out;
    enum rn_code rc;
};

static void add(struct figures *f, const char *name, const char *type,
                const char *help, double value)
{
    if (!f->rc) {
        f->rc = rn_buf_printf(f->out,
                              "# HELP runnel_trigger_%s %s\n"
                              "# TYPE runnel_trigger_%s %s\n"
                              "runnel_trigger_%s %.15g\n",
                              name, help, name, type, name, value);
    }
}

static void add_counter(struct figures *f, const char *name, const char *help,
                        double value)
{
    add(f, name, "counter", help, value);
}

static void add_gauge(struct figures *f, const char *name, const char *help,
                      double value)
{
    add(f, name, "gauge", help, value);
}

static void add_calls(struct figures *f, struct rn_trigger *t)
{
    static const char *const results[] = { [RN_ANSWER_DONE] = "done",
                                           [RN_ANSWER_RETRY] = "retry",
                                           [RN_ANSWER_POISON] = "poison",
                                           [RN_ANSWER_BROKEN] = "broken" };
    uint64_t all = 0;

    if (!f->rc) {
        f->rc = rn_buf_printf(
            f->out, "# HELP runnel_trigger_calls_total Calls of the handler.\n"
                    "# TYPE runnel_trigger_calls_total counter\n");
    }
    for (size_t i = 0; i < RN_ANSWER_KINDS && !f->rc; i++) {
        uint64_t calls = atomic_load(&t->calls[i]);
        all += calls;
        f->rc = rn_buf_printf(
            f->out, "runnel_trigger_calls_total{result=\"%s\"} %llu\n",
            results[i], (unsigned long long)calls);
    }
    if (!f->rc) {
        f->rc = rn_buf_printf(
            f->out,
            "# HELP runnel_trigger_call_seconds The time of calls.\n"
            "# TYPE runnel_trigger_call_seconds summary\n"
            "runnel_trigger_call_seconds_sum %.15g\n"
            "runnel_trigger_call_seconds_count %llu\n",
            (double)atomic_load(&t->call_ns) / 1e9, (unsigned long long)all);
    }
    add_counter(f, "timeouts_total", "Calls that reached the time limit.",
                (double)atomic_load(&t->timeouts));
}

static void add_processor(struct figures *f, const runnel_processor_stats *s)
{
    add_counter(f, "changes_total", "Changes that were handled.",
                (double)s->changes);
    add_counter(f, "batches_total", "Batches that were handled.",
                (double)s->batches);
    add_counter(f, "retries_total", "Batches that will be tried again.",
                (double)s->retries);
    add_counter(f, "dead_letters_total", "Changes stored as dead letters.",
                (double)s->dead_letters);
    add_counter(f, "skipped_total", "Changes that were dropped.",
                (double)s->skips);
    add_counter(f, "checkpoints_total", "Positions that were stored.",
                (double)s->checkpoints);
    add_counter(f, "feed_reads_total", "Reads of the change feed.",
                (double)s->feed_reads);
    add_counter(f, "throttled_total", "Requests answered 429.",
                (double)s->throttled);
    add_counter(f, "request_units_total", "Request units charged.", s->charge);
    add_gauge(f, "leases_owned", "Leases of this instance.", s->leases_owned);
    add_gauge(f, "leases", "Leases of all instances.", s->leases_seen);
    add_gauge(f, "instances", "Instances that share the leases.",
              s->hosts_seen);
    add_gauge(f, "batches_open", "Batches that a handler has.",
              s->batches_open);
    add_gauge(f, "buffered_bytes", "Changes read ahead.",
              (double)s->buffered_bytes);
}

enum rn_code rn_trigger_print_metrics(struct rn_trigger *t, struct rn_buf *out)
{
    runnel_processor_stats s = { RUNNEL_STATS_INIT };
    struct figures f = { .out = out };

    runnel_processor_read_stats(t->processor, &s);
    add_calls(&f, t);
    add_processor(&f, &s);
    pthread_mutex_lock(&t->lock);
    if (t->has_lag) {
        add_gauge(&f, "lag_changes", "Transactions that are not handled yet.",
                  (double)t->lag_changes);
        add_gauge(&f, "lag_seconds", "The age of the oldest of them.",
                  (double)t->lag_ms / 1000);
    }
    pthread_mutex_unlock(&t->lock);
    return f.rc;
}

enum rn_code rn_trigger_print_health(struct rn_trigger *t, bool *is_live,
                                     bool *is_ready, struct rn_buf *out)
{
    static const char *const states[] = { [RUNNEL_STARTING] = "starting",
                                          [RUNNEL_RUNNING] = "running",
                                          [RUNNEL_DRAINING] = "draining",
                                          [RUNNEL_STOPPED] = "stopped",
                                          [RUNNEL_FAILED] = "failed" };
    runnel_processor_stats s = { RUNNEL_STATS_INIT };
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    runnel_processor_read_stats(t->processor, &s);
    *is_live = s.is_live && s.state != RUNNEL_FAILED;
    *is_ready = s.is_ready && s.state == RUNNEL_RUNNING;
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("state"));
    rn_json_out_string(&o, rn_view_text(states[s.state]));
    rn_json_out_key(&o, RN_LIT("live"));
    rn_json_out_bool(&o, *is_live);
    rn_json_out_key(&o, RN_LIT("ready"));
    rn_json_out_bool(&o, *is_ready);
    rn_json_out_key(&o, RN_LIT("leases"));
    rn_json_out_uint(&o, s.leases_owned);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}
