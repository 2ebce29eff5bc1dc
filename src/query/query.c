/* query.c -- the module's face: a text is parsed, a query is run. */
#include "query/query.h"

#include "query/check.h"
#include "query/parse.h"
#include "query/run.h"

enum rn_code rn_query_parse(const struct rn_query_input *in, struct rn_arena *a,
                            struct rn_query **out, struct rn_faults *faults,
                            struct rn_err *err)
{
    struct rn_query *q = rn_arena_alloc(a, sizeof(*q));
    struct rn_check check = { .arena = a,
                              .faults = faults,
                              .json = in->json,
                              .policy = in->policy,
                              .parameters = in->parameters };
    enum rn_code rc = q ? RN_OK : RN_TOO_LARGE;

    *faults = (struct rn_faults){ 0 };
    if (!rc)
        rc = rn_parse(in->text, a, faults, &q->select);
    if (!rc)
        rc = rn_check_query(&check, q->select);
    if (rc == RN_BAD_REQUEST)
        return rn_fail(err, rc, "%s", faults->list[0].message);
    if (rc)
        return rn_fail(err, rc, "the query needs more than %zu bytes to parse",
                       a->ceiling);
    q->text = in->text;
    q->policy = in->policy;
    q->slots = check.slots;
    *out = q;
    return RN_OK;
}

bool rn_query_is_streaming(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    return !s->is_distinct && !s->group_count && !s->aggregate_count &&
           !s->order_count && s->from_count > 0 && !s->from[0].query;
}

bool rn_query_reads_documents(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    while (s->from_count && s->from[0].query)
        s = s->from[0].query;
    return s->from_count > 0;
}

/* ---- running ------------------------------------------------------------- */

static enum rn_code send_row(void *context, const struct rn_value *row,
                             bool *stop)
{
    struct rn_run *r = context;
    struct rn_json_out o = RN_JSON_OUT_INIT(&r->row);
    enum rn_code rc;

    if (!rn_value_is_printable(row))
        return RN_OK;
    if (r->skip_sent) {
        r->skip_sent--;
        return RN_OK;
    }
    if (r->is_full) {
        r->is_cut = true;
        r->has_row = true;
        *stop = true;
        return RN_OK;
    }
    rn_buf_clear(&r->row);
    rn_value_print(row, &o);
    rc = rn_json_out_finish(&o);
    if (!rc)
        rc = rn_run_step(r, 1 + r->row.len / 64);
    if (rc)
        return rc;
    r->stats->rows++;
    r->stats->row_bytes += r->row.len;
    return r->sink->row(r->sink->context, rn_buf_view(&r->row), &r->is_full,
                        r->err);
}

static enum rn_code run(struct rn_run *r)
{
    size_t frame = r->query->slots * sizeof(*r->frame);
    enum rn_code rc;

    r->frame = rn_arena_alloc(&r->keep, frame);
    if (!r->frame)
        return RN_TOO_LARGE;
    memset(r->frame, 0, frame);
    rn_chance_init(&r->chance, r->limits.seed);
    if (!rn_query_is_streaming(r->query))
        r->skip_sent = r->limits.from.rows;
    rc = rn_select_run(r, r->query->select, RN_HOLD_TEXT, send_row, r);
    r->stats->is_done = !r->is_cut;
    r->stats->place.rows = r->limits.from.rows + r->stats->rows;
    return rc;
}

enum rn_code rn_query_run(const struct rn_query *q,
                          const struct rn_source *source,
                          const struct rn_sink *sink,
                          const struct rn_query_limits *limits,
                          struct rn_query_stats *stats, struct rn_err *err)
{
    struct rn_err why = { 0 };
    struct rn_run r = { .query = q,
                        .source = source,
                        .sink = sink,
                        .limits = *limits,
                        .stats = stats,
                        .err = &why };
    size_t most;
    enum rn_code rc;

    if (!r.limits.steps)
        r.limits.steps = 100 * 1000 * 1000;
    if (!r.limits.memory_bytes)
        r.limits.memory_bytes = (size_t)64 << 20;
    most = r.limits.memory_bytes;
    r.keep = RN_ARENA_INIT(most);
    r.scratch = RN_ARENA_INIT(most);
    r.arena = &r.scratch;
    r.row = RN_BUF_INIT(most);
    r.encoded = RN_BUF_INIT(most);
    *stats = (struct rn_query_stats){ 0 };
    rn_json_init(&r.json, NULL);

    rc = run(&r);
    if (rc && why.code != rc)
        rn_fail(&why, rc,
                rc == RN_TOO_LARGE ? "the query needs more than %zu bytes"
                                   : "the query failed within %zu bytes",
                most);
    if (rc && err)
        *err = why;
    rn_json_release(&r.json);
    rn_buf_release(&r.encoded);
    rn_buf_release(&r.row);
    rn_arena_release(&r.scratch);
    rn_arena_release(&r.keep);
    return rc;
}
