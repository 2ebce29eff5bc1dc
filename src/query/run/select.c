/* select.c -- executes a SELECT: the row pipeline from sources to sink.
 *
 *   sources -> WHERE -> groups -> project -> sorter -> OFFSET, LIMIT -> sink
 *
 * Rows pass through the groups if there are any, and through the sorter if this
 * SELECT blocks the pipeline (`gatherer` in run.h).  Without a sorter, DISTINCT
 * drops repeated rows as they pass.
 */
#include "query/run/select.h"

#include "query/run/distinct.h"
#include "query/run/encode.h"
#include "query/run/eval.h"
#include "query/run/groups.h"
#include "query/run/hash_set.h"
#include "query/run/sorter_place.h"
#include "query/run/valuekey.h"

/* The number of documents read ahead for a row beyond a full page, so that the
 * last page is marked as the last one; clients rely on that in small
 * containers.  Where matching rows are rare, a page must not wait for the next
 * match. */
enum { LOOK_AHEAD_MAX = 64 };

struct flow {
    struct rn_run *run;
    const struct rn_select *select;
    enum rn_hold hold;
    rn_row_fn *row;
    void *context;
    struct rn_hash_set seen;
    struct rn_sorter sorter;
    struct rn_groups groups;
    uint64_t offset, end; /* only rows in [offset, end) are passed on */
    uint64_t passed;
    uint64_t group;    /* of the documents in key order seen last */
    bool is_outermost; /* the query itself */
    bool is_gatherer;  /* a continuation names one of its rows */
    bool is_grouped, is_resumable, stop;
};

static enum rn_code join(struct flow *f, uint32_t level);

/* ---- rows ---------------------------------------------------------------- */

static enum rn_code hand_on(void *context, const struct rn_value *row,
                            bool *stop)
{
    struct flow *f = context;
    uint64_t place = f->passed++;
    struct rn_run *r = f->run;
    enum rn_code rc = RN_OK;

    if (f->is_outermost) {
        r->passed = f->passed;
    } else if (f->is_gatherer) {
        bool is_first =
            rn_view_eq(rn_buf_view(&r->after), r->limits.from.after);
        r->document_rows = 0;
        r->skip_rows = is_first ? r->limits.from.document_rows : 0;
    }
    if (place >= f->offset && place < f->end)
        rc = f->row(f->context, row, stop);
    if (f->passed >= f->end)
        *stop = true;
    return rc;
}

/* `*is_new` is false if DISTINCT has seen the row; `*place` is its number. */
static enum rn_code look_up(struct flow *f, const struct rn_value *row,
                            uint32_t *place, bool *is_new)
{
    struct rn_buf *bytes = &f->run->encoded;
    enum rn_code rc;

    *place = 0;
    *is_new = true;
    if (!f->select->is_distinct)
        return RN_OK;
    rn_buf_clear(bytes);
    rc = rn_value_encode(row, f->run->arena, bytes);
    return rc ? rc
              : rn_hash_set_add(&f->seen, rn_buf_view(bytes), place, is_new);
}

static enum rn_code drop_seen(void *context, const struct rn_value *row,
                              bool *stop)
{
    struct flow *f = context;
    uint32_t place;
    bool is_new;
    enum rn_code rc = look_up(f, row, &place, &is_new);

    return rc || !is_new ? rc : hand_on(f, row, stop);
}

/* DISTINCT is applied before sorting where possible, so that fewer rows are
 * buffered. */
static enum rn_code put_in_order(void *context, const struct rn_value *row,
                                 bool *stop)
{
    struct flow *f = context;
    struct rn_run *r = f->run;
    struct rn_valuekey key = { 0 };
    uint32_t place;
    bool is_new;
    enum rn_code rc = look_up(f, row, &place, &is_new);

    (void)stop;
    if (rc || (!is_new && f->sorter.distinct != RN_DISTINCT_SORTED))
        return rc;
    if (f->sorter.distinct == RN_DISTINCT_FIRST)
        rc = rn_valuekey_make(row, 1, r, &key);
    else if (f->is_grouped)
        rc = rn_valuekey_make(&r->frame[f->select->group_slot],
                              f->select->group_count, r, &key);
    return rc ? rc : rn_sorter_add(&f->sorter, row, place, &key);
}

static enum rn_code project_list(struct rn_run *r, const struct rn_select *s,
                                 struct rn_value *out)
{
    struct rn_member *members;
    uint32_t n = 0;

    members = rn_arena_alloc(r->arena, (s->item_count + 1) * sizeof(*members));
    if (!members)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < s->item_count; i++) {
        enum rn_code rc = rn_eval(r, s->items[i].expr, &members[n].value);
        if (rc)
            return rc;
        members[n].name = s->items[i].name;
        n += members[n].value.kind != RN_VALUE_UNDEFINED;
    }
    *out = rn_value_object(members, n);
    return RN_OK;
}

enum rn_code rn_select_project(struct rn_run *r, const struct rn_select *s,
                               struct rn_value *out)
{
    if (s->kind == RN_SELECT_LIST)
        return project_list(r, s, out);
    if (s->kind == RN_SELECT_VALUE)
        return rn_eval(r, s->items[0].expr, out);
    *out = r->frame[s->from[0].slot];
    return RN_OK;
}

static enum rn_code take_row(struct flow *f)
{
    struct rn_run *r = f->run;
    struct rn_value v;
    enum rn_code rc;

    if (f->select->where && !(f->is_outermost && r->is_filtered)) {
        rc = rn_eval(r, f->select->where, &v);
        if (rc || !rn_value_is_true(&v))
            return rc;
    }
    r->stats->matched += f->is_outermost;
    if (f->is_grouped)
        return rn_groups_add(&f->groups);
    rc = rn_select_project(r, f->select, &v);
    if (rc || v.kind == RN_VALUE_UNDEFINED)
        return rc;
    if (f->is_gatherer)
        return put_in_order(f, &v, &f->stop);
    if (f->is_resumable && r->document_rows++ < r->skip_rows)
        return RN_OK; /* sent on an earlier page */
    return drop_seen(f, &v, &f->stop);
}

/* ---- sources ------------------------------------------------------------- */

static enum rn_code join_elements(struct flow *f, uint32_t level,
                                  const struct rn_value *array)
{
    struct rn_value_walk w;
    struct rn_value over = *array;
    enum rn_code rc = RN_OK;

    if (over.kind != RN_VALUE_ARRAY)
        return RN_OK;
    w = rn_value_walk_begin(&over, f->run->arena);
    while (!rc && !f->stop && rn_value_walk_next(&w)) {
        rc = rn_run_step(f->run, 1);
        f->run->frame[f->select->from[level].slot] = w.value;
        if (!rc)
            rc = join(f, level + 1);
    }
    return rc ? rc : w.rc;
}

static enum rn_code join_value(struct flow *f, uint32_t level,
                               const struct rn_value *v)
{
    const struct rn_from *from = &f->select->from[level];

    if (v->kind == RN_VALUE_UNDEFINED)
        return RN_OK;
    if (from->is_each)
        return join_elements(f, level, v);
    f->run->frame[from->slot] = *v;
    return join(f, level + 1);
}

struct inner {
    struct flow *flow;
    uint32_t level;
};

static enum rn_code join_inner_row(void *context, const struct rn_value *row,
                                   bool *stop)
{
    struct inner *inner = context;
    enum rn_code rc = join_value(inner->flow, inner->level, row);

    *stop = inner->flow->stop;
    return rc;
}

/* Parses the document, or only its wanted members. */
static enum rn_code read_document(struct rn_run *r, struct rn_view text,
                                  const struct rn_json_wanted *wanted)
{
    enum rn_code rc = wanted
                          ? rn_json_parse_some(&r->json, text, wanted, r->err)
                          : rn_json_parse(&r->json, text, r->err);

    if (!rc)
        rc = rn_run_step(r, 1 + r->json.count / 16);
    return rc ? rc : rn_value_of_json(&r->json, 0, r->arena, &r->frame[0]);
}

/* A document that fails WHERE need not be parsed in full. */
static enum rn_code filter_document(struct rn_run *r, struct rn_view text)
{
    const struct rn_select *s = r->query->select;
    struct rn_value v;
    enum rn_code rc = read_document(r, text, &r->wanted.filter);

    r->frame[s->from[0].slot] = r->frame[0];
    if (!rc)
        rc = rn_eval(r, s->where, &v);
    r->is_filtered = !rc && rn_value_is_true(&v);
    if (!r->is_filtered)
        return rc;
    rn_arena_clear(r->arena);
    return read_document(r, text, NULL);
}

/* Reads the next document; `*is_out` if it fails WHERE. */
static enum rn_code next_document(struct rn_run *r, bool *is_end, bool *is_out)
{
    struct rn_view text;
    enum rn_code rc = r->source->next(r->source->context, &text, r->err);

    *is_out = false;
    *is_end = rc == RN_NOT_FOUND;
    if (rc)
        return *is_end ? RN_OK : rc;
    rn_arena_clear(r->arena);
    if (!text.len) { /* only counted */
        r->frame[0] = rn_value_object(NULL, 0);
        return rn_run_step(r, 1);
    }
    r->stats->documents++;
    r->stats->document_bytes += text.len;
    r->document_rows = 0;
    r->skip_rows = r->stats->documents == 1 ? r->limits.from.document_rows : 0;
    if (r->wanted.has_filter) {
        rc = filter_document(r, text);
        *is_out = !rc && !r->is_filtered;
        return rc;
    }
    return read_document(r, text, r->wanted.is_all ? NULL : &r->wanted.members);
}

static bool has_looked_far(struct rn_run *r)
{
    if (r->is_full && r->ahead++ == LOOK_AHEAD_MAX)
        r->is_cut = true;
    return r->is_cut;
}

/* Emits the sorted rows if the new document sorts after all earlier ones. */
static enum rn_code pass_group(struct flow *f)
{
    const uint64_t *group = f->run->limits.group;
    enum rn_code rc;

    if (!group || !f->is_outermost || *group == f->group)
        return RN_OK;
    f->group = *group;
    rc = rn_sorter_flush(&f->sorter, hand_on, f, &f->stop);
    f->sorter.most = f->end - f->passed;
    if (f->run->is_dropped && !f->stop)
        f->stop = f->run->is_cut = true;
    return rc;
}

static enum rn_code join_documents(struct flow *f)
{
    struct rn_value v;
    bool is_end, is_out;
    enum rn_code rc = RN_OK;

    while (!rc && !f->stop && !has_looked_far(f->run)) {
        rc = next_document(f->run, &is_end, &is_out);
        if (is_end)
            break;
        if (!rc)
            rc = pass_group(f);
        if (f->stop)
            break;
        if (!rc && !is_out)
            rc = rn_eval(f->run, f->select->from[0].path, &v);
        if (!rc && !is_out)
            rc = join_value(f, 0, &v);
        /* The first document may have been started by an earlier page. */
        if (f->run->is_late && !f->run->gatherer &&
            f->run->stats->documents > 1)
            f->stop = f->run->is_cut = true;
    }
    return rc;
}

static bool is_container(const struct rn_from *from)
{
    const struct rn_expr *e = from->path;

    while (e->kind == RN_EXPR_MEMBER || e->kind == RN_EXPR_INDEX)
        e = e->kids[0];
    return e->slot == 0;
}

/* A SELECT that buffers rows is the query itself or its FROM subquery; there
 * the container means all documents.  In a deeper subquery it means the current
 * one. */
static enum rn_code join_source(struct flow *f, uint32_t level)
{
    const struct rn_from *from = &f->select->from[level];
    bool is_outermost = level == 0 && f->hold != RN_HOLD_NOTHING;
    struct inner inner = { f, level };
    struct rn_value v;
    enum rn_code rc;

    if (from->query) {
        return rn_select_run(f->run, from->query,
                             is_outermost ? RN_HOLD_COPY : RN_HOLD_NOTHING,
                             join_inner_row, &inner);
    }
    if (is_outermost && is_container(from))
        return join_documents(f);
    rc = rn_eval(f->run, from->path, &v);
    return rc ? rc : join_value(f, level, &v);
}

static enum rn_code join(struct flow *f, uint32_t level)
{
    return level == f->select->from_count ? take_row(f) : join_source(f, level);
}

/* ---- execution ----------------------------------------------------------- */

static uint64_t count_of(const struct rn_expr *e, uint64_t otherwise)
{
    return e ? (uint64_t)e->value.integer : otherwise;
}

/* Resumes where an earlier page ended. */
static enum rn_code resume(struct flow *f)
{
    const struct rn_query_place *from = &f->run->limits.from;

    if (f->is_outermost)
        f->passed = f->run->passed = from->passed;
    if (f->is_gatherer && from->after.len)
        return rn_sorter_resume(&f->sorter, from->after);
    return RN_OK;
}

static enum rn_code run(struct flow *f)
{
    enum rn_code rc;

    if (f->passed >= f->end)
        return RN_OK;
    f->sorter.most = f->end - f->passed;
    rc = join(f, 0);
    if (!rc && f->is_grouped)
        rc = rn_groups_end(&f->groups,
                           f->is_gatherer ? put_in_order : drop_seen, f);
    if (!rc && f->is_gatherer)
        rc = rn_sorter_flush(&f->sorter, hand_on, f, &f->stop);
    if (f->is_outermost && f->run->is_dropped && f->passed < f->end)
        f->run->is_cut = true;
    return rc;
}

enum rn_code rn_select_run(struct rn_run *r, const struct rn_select *s,
                           enum rn_hold hold, rn_row_fn *row, void *context)
{
    struct rn_arena *arena = hold == RN_HOLD_NOTHING ? r->arena : &r->keep;
    bool is_outermost = s == r->query->select;
    bool is_grouped = s->group_count || s->aggregate_count;
    enum rn_distinct distinct = rn_distinct_of(s);
    struct flow f = {
        .run = r,
        .select = s,
        .hold = hold,
        .row = row,
        .context = context,
        .seen = { .arena = arena },
        .sorter = { .run = r,
                    .select = s,
                    .hold = hold,
                    .is_outermost = is_outermost,
                    .is_by_value = is_grouped || distinct == RN_DISTINCT_FIRST,
                    .distinct = distinct },
        .groups = { .run = r, .select = s, .hold = hold, .arena = arena },
        .offset = count_of(s->offset, 0),
        .is_outermost = is_outermost,
        .is_gatherer = s == r->gatherer,
        .is_grouped = is_grouped,
        .is_resumable = is_outermost && s != r->gatherer,
    };
    uint64_t most = count_of(s->top, UINT64_MAX);
    uint64_t limit = count_of(s->limit, UINT64_MAX);
    enum rn_code rc;

    most = most < limit ? most : limit;
    f.end = most > UINT64_MAX - f.offset ? UINT64_MAX : f.offset + most;
    rc = resume(&f);
    if (!rc)
        rc = run(&f);
    rn_sorter_release(&f.sorter);
    return rc;
}
