/* costs.c -- what a page of a query cost, for clients that ask.
 *
 * Clients read the text of the one header by its names, and the other as JSON:
 * which paths led to documents, and which of WHERE's did not.  Older clients
 * want the second in other words and in base64.
 */
#include "rest/costs.h"

#include "base/base64.h"
#include "json/print.h"

#include <stdio.h>

enum { INDEX_TEXT_MAX = 4096 };

static double ms(int64_t ns)
{
    return ns > 0 ? (double)ns / 1e6 : 0;
}

/* How many of the documents that were read were wanted. */
static double ratio(const struct rn_query_stats *s)
{
    if (s->documents == 0 || s->matched >= s->documents)
        return 1;
    return (double)s->matched / (double)s->documents;
}

static void add_times(struct rn_context *x, const struct rn_query_cost *c)
{
    const struct rn_query_stats *s = c->stats;
    char text[640];

    snprintf(text, sizeof(text),
             "totalExecutionTimeInMs=%.4f;queryCompileTimeInMs=%.4f;"
             "queryLogicalPlanBuildTimeInMs=0.00;"
             "queryPhysicalPlanBuildTimeInMs=0.00;"
             "queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs=%.4f;"
             "indexLookupTimeInMs=0.00;instructionCount=%llu;"
             "documentLoadTimeInMs=0.00;systemFunctionExecuteTimeInMs=0.00;"
             "userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount=%llu;"
             "retrievedDocumentSize=%llu;outputDocumentCount=%llu;"
             "outputDocumentSize=%llu;writeOutputTimeInMs=0.00;"
             "indexUtilizationRatio=%.2f",
             ms(c->ran_ns - c->begun_ns), ms(c->parsed_ns - c->begun_ns),
             ms(c->ran_ns - c->parsed_ns), (unsigned long long)s->steps,
             (unsigned long long)s->documents,
             (unsigned long long)s->document_bytes, (unsigned long long)s->rows,
             (unsigned long long)s->row_bytes, ratio(s));
    rn_reply_text(x, RN_HEADER_QUERY_METRICS, text);
}

/* ---- paths --------------------------------------------------------------- */

enum use {
    UNUSED,
    USED,     /* documents were found by the values at this path, */
    TOGETHER, /* or at this and others */
};

static bool is_same(const struct rn_json_path *a, const struct rn_json_path *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; i < a->count && same; i++)
        same = rn_view_eq(a->names[i], b->names[i]);
    return same;
}

static enum use use_of(const struct rn_access *a,
                       const struct rn_json_path *path)
{
    const struct rn_pkdef *def;

    if (!a || a->kind == RN_ACCESS_SCAN)
        return UNUSED;
    for (uint32_t i = 0; a->index && i < a->index->count; i++) {
        if (is_same(&a->index->keys[i].path, path))
            return a->index->count == 1 ? USED : TOGETHER;
    }
    if (a->index)
        return UNUSED;
    if (a->kind == RN_ACCESS_POINTS && path->count == 1 &&
        rn_view_eq(path->names[0], RN_LIT("id")))
        return USED;
    def = &a->reading->container->pkdef;
    for (size_t i = 0; i < def->count; i++) {
        if (is_same(&def->paths[i], path))
            return USED;
    }
    return UNUSED;
}

/* "/a/b/?", as indexing policies write it; or with a direction. */
static void print_spec(struct rn_json_out *o, const struct rn_json_path *path,
                       const char *end)
{
    struct rn_buf text = RN_BUF_INIT(INDEX_TEXT_MAX);

    for (uint32_t i = 0; i < path->count; i++) {
        if (rn_buf_add(&text, RN_LIT("/")) || rn_buf_add(&text, path->names[i]))
            break;
    }
    (void)!rn_buf_add(&text, rn_view_text(end));
    rn_json_out_string(o, rn_buf_view(&text));
    rn_buf_release(&text);
}

struct filters {
    const struct rn_access *access;
    const struct rn_json_path *paths;
    uint32_t count;
    bool is_old; /* in the words of older clients */
};

static void print_paths(struct rn_json_out *o, const char *name,
                        const struct filters *f, bool is_wanted)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < f->count; i++) {
        if (use_of(f->access, &f->paths[i]) != (is_wanted ? USED : UNUSED))
            continue;
        rn_json_out_object_begin(o);
        if (f->is_old) {
            rn_json_out_key(o, RN_LIT("FilterExpression"));
            rn_json_out_string(o, RN_LIT(""));
        }
        rn_json_out_key(o, RN_LIT("IndexSpec"));
        print_spec(o, &f->paths[i], "/?");
        if (f->is_old) {
            rn_json_out_key(o, RN_LIT("FilterPreciseSet"));
            rn_json_out_bool(o, true);
            rn_json_out_key(o, RN_LIT("IndexPreciseSet"));
            rn_json_out_bool(o, true);
        }
        rn_json_out_key(o, RN_LIT("IndexImpactScore"));
        rn_json_out_string(o, RN_LIT("High"));
        rn_json_out_object_end(o);
    }
    rn_json_out_array_end(o);
}

/* The one of several paths that was used, if one was. */
static void print_composites(struct rn_json_out *o, const char *name,
                             const struct filters *f, bool is_wanted)
{
    const struct rn_index *x = f->access ? f->access->index : NULL;

    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    if (is_wanted && x && x->count > 1) {
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("IndexSpecs"));
        rn_json_out_array_begin(o);
        for (uint32_t i = 0; i < x->count; i++)
            print_spec(o, &x->keys[i].path,
                       x->keys[i].is_descending ? " DESC" : " ASC");
        rn_json_out_array_end(o);
        rn_json_out_key(o, RN_LIT("IndexImpactScore"));
        rn_json_out_string(o, RN_LIT("High"));
        rn_json_out_object_end(o);
    }
    rn_json_out_array_end(o);
}

static void print_old(struct rn_json_out *o, const struct filters *f)
{
    rn_json_out_object_begin(o);
    print_paths(o, "UtilizedSingleIndexes", f, true);
    print_paths(o, "PotentialSingleIndexes", f, false);
    print_composites(o, "UtilizedCompositeIndexes", f, true);
    print_composites(o, "PotentialCompositeIndexes", f, false);
    rn_json_out_object_end(o);
}

static void print_new(struct rn_json_out *o, const struct filters *f)
{
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            rn_json_out_object_begin(o);
        rn_json_out_key(o, i == 0 ? RN_LIT("UtilizedIndexes")
                                  : RN_LIT("PotentialIndexes"));
        rn_json_out_object_begin(o);
        print_paths(o, "SingleIndexes", f, i == 0);
        print_composites(o, "CompositeIndexes", f, i == 0);
        rn_json_out_object_end(o);
    }
    rn_json_out_object_end(o);
}

/* What a header cannot hold, and %, goes as %XX. */
static enum rn_code escape(struct rn_view text, struct rn_buf *out)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; i < text.len && !rc; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= 0x20 || c >= 0x7f || c == '%')
            rc = rn_buf_printf(out, "%%%02X", c);
        else
            rc = rn_buf_add(out, rn_view_of(&text.at[i], 1));
    }
    return rc;
}

static enum rn_code add_path(struct filters *f, const struct rn_json_path *path,
                             struct rn_arena *arena)
{
    struct rn_json_path *paths;

    for (uint32_t i = 0; i < f->count; i++) {
        if (is_same(&f->paths[i], path))
            return RN_OK;
    }
    paths = rn_arena_alloc(arena, (f->count + 1) * sizeof(*paths));
    if (!paths)
        return RN_NOMEM;
    if (f->count)
        memcpy(paths, f->paths, f->count * sizeof(*paths));
    paths[f->count++] = *path;
    f->paths = paths;
    return RN_OK;
}

/* What ORDER BY, MIN and MAX were found by is no path of WHERE; nor is the
 * partition key that came in a header. */
static enum rn_code add_unwritten(struct filters *f, struct rn_arena *arena)
{
    const struct rn_access *a = f->access;
    const struct rn_pkdef *def;
    enum rn_code rc = RN_OK;

    if (!a)
        return RN_OK;
    if (a->index) {
        return a->index->count > 1
                   ? RN_OK
                   : add_path(f, &a->index->keys[0].path, arena);
    }
    def = &a->reading->container->pkdef;
    for (uint32_t i = 0; a->scope.pk && i < a->scope.pk->count && !rc; i++)
        rc = add_path(f, &def->paths[i], arena);
    return rc;
}

static void add_indexes(struct rn_context *x, const struct rn_query_cost *c,
                        bool is_old)
{
    struct filters f = { .access = c->access, .is_old = is_old };
    struct rn_buf json = RN_BUF_INIT(INDEX_TEXT_MAX);
    struct rn_buf text = RN_BUF_INIT((size_t)3 * INDEX_TEXT_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&json);
    char letters[RN_BASE64_LEN(INDEX_TEXT_MAX)];
    enum rn_code rc =
        rn_query_filter_paths(c->query, &x->call->arena, &f.paths, &f.count);

    if (!rc)
        rc = add_unwritten(&f, &x->call->arena);
    if (is_old)
        print_old(&o, &f);
    else
        print_new(&o, &f);
    if (!rc)
        rc = rn_json_out_finish(&o);
    if (!rc && !is_old)
        rc = escape(rn_buf_view(&json), &text);
    if (!rc) { /* paths too long for a header are no reason to fail */
        rn_reply_header(x, RN_HEADER_INDEX_METRICS,
                        is_old ? rn_base64_encode(rn_buf_view(&json),
                                                  RN_BASE64_STANDARD, letters)
                               : rn_buf_view(&text));
    }
    rn_buf_release(&text);
    rn_buf_release(&json);
}

void rn_costs_add(struct rn_context *x, const struct rn_query_cost *cost)
{
    x->call->note.query = (struct rn_query_note){
        .examined = cost->stats->documents,
        .returned = cost->stats->rows,
        .has_way = cost->access,
        .way = cost->access ? cost->access->kind : 0,
    };
    if (rn_context_flag(x, RN_HEADER_WANT_QUERY_METRICS))
        add_times(x, cost);
    if (rn_context_flag(x, RN_HEADER_WANT_INDEX_METRICS_2))
        add_indexes(x, cost, false);
    else if (rn_context_flag(x, RN_HEADER_WANT_INDEX_METRICS))
        add_indexes(x, cost, true);
}
