/* verify.c -- compares the source and the target of a copy, document by
 * document.
 *
 * Every document of the source is looked up in the target and compared; then
 * every document of the target is looked up in the source.  Pages are read by
 * key and looked up in bulk, so that memory does not grow with the containers.
 */
#include "tools/copy/verify.h"

#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/transfer/document.h"
#include "tools/transfer/patience.h"

enum { PAGE_ROWS = 100, ARENA_MAX = 64 << 20 };

/* One direction. */
struct side {
    struct rn_copy *copy;
    bool is_back; /* from the target to the source */
    runnel_container *left, *right;
    const struct rn_schema *left_schema, *right_schema;
    const char *intervals[RN_LANES_MAX];
};

static int failed(const struct rn_schema *where, const runnel_error *error)
{
    return rn_lanes_stop()
               ? rn_report_error_at(error, "comparing %s", where->name)
               : RN_LANE_STOPPED;
}

static void tell(struct side *s, const char *what, const runnel_key *key)
{
    struct rn_copy *c = s->copy;
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_json_out o = RN_JSON_OUT_INIT(&text);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("difference"));
    rn_json_out_string(&o, rn_view_text(what));
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(key->id));
    rn_json_out_key(&o, RN_LIT("partitionKey"));
    rn_json_out_raw(&o, rn_view_text(key->partition_key));
    rn_json_out_object_end(&o);
    pthread_mutex_lock(&c->lock);
    c->differences++;
    if (rn_args_flag(c->args, "json") && !rn_json_out_finish(&o))
        rn_outf("%.*s\n", RN_FMT(rn_buf_view(&text)));
    else
        rn_outf("%s: id \"%s\", partition key %s\n", what, key->id,
                key->partition_key);
    pthread_mutex_unlock(&c->lock);
    rn_buf_release(&text);
}

/* ---- one document -------------------------------------------------------- */

/* A document of the left side, and the one of the right side, if any. */
static enum rn_code compare(struct side *s, runnel_bytes left,
                            runnel_bytes right, const runnel_key *key)
{
    struct rn_json a, b;
    bool is_equal = false;
    enum rn_code rc;

    rn_json_init(&a, NULL);
    rn_json_init(&b, NULL);
    rc = rn_json_parse(&a, rn_view_of(left.at, left.len), NULL);
    if (!rc)
        rc = rn_json_parse(&b, rn_view_of(right.at, right.len), NULL);
    /* On the way back only a document that has another key by now is news. */
    if (!rc && s->is_back)
        rc = rn_schema_compare_keys(s->left_schema, &a, &b, &is_equal);
    else if (!rc)
        rc = rn_document_compare(&a, &b, &is_equal);
    if (!rc && !is_equal)
        tell(s, s->is_back ? "only in the target" : "differs", key);
    rn_json_release(&a);
    rn_json_release(&b);
    return rc;
}

/* Looks one document up that the bulk call could not. */
static int look_up(struct side *s, runnel_bytes left, const runnel_key *key)
{
    struct rn_patience patience = { 0 };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    runnel_code code;
    int status = RN_EXIT_OK;

    do
        code = runnel_item_read(s->right, *key, NULL, &reply, &error);
    while (code && rn_patience_wait(&patience, &error));
    if (code == RUNNEL_NOT_FOUND) {
        tell(s, s->is_back ? "only in the target" : "missing in the target",
             key);
    } else if (code) {
        status = failed(s->right_schema, &error);
    } else if (compare(s, left, runnel_reply_body(reply), key)) {
        status = rn_report(RN_EXIT_FAILED, "out of memory");
    }
    runnel_reply_close(reply);
    return status;
}

/* ---- pages --------------------------------------------------------------- */

/* The lookups of a page's documents in the other container. */
static enum rn_code print_reads(const struct side *s, const runnel_page *page,
                                size_t count, runnel_operation *out,
                                struct rn_arena *arena)
{
    struct rn_buf key = RN_BUF_INIT(1 << 20), id = RN_BUF_INIT(1 << 20);
    enum rn_code rc = RN_OK;
    struct rn_json json;

    rn_json_init(&json, NULL);
    for (size_t i = 0; !rc && i < count; i++) {
        runnel_bytes row = runnel_page_at(page, i);

        rn_buf_clear(&key);
        rn_buf_clear(&id);
        rc = rn_json_parse(&json, rn_view_of(row.at, row.len), NULL);
        if (!rc)
            rc = rn_document_id(&json, &id, NULL);
        if (!rc)
            rc = rn_schema_key(s->right_schema, &json, &key);
        if (rc)
            break;
        out[i] = (runnel_operation){ .kind = RUNNEL_READ };
        out[i].key.id = rn_arena_copy(arena, rn_buf_view(&id)).at;
        out[i].key.partition_key = rn_arena_copy(arena, rn_buf_view(&key)).at;
        if (!out[i].key.id || !out[i].key.partition_key)
            rc = RN_NOMEM;
    }
    rn_json_release(&json);
    rn_buf_release(&key);
    rn_buf_release(&id);
    return rc;
}

static int compare_page(struct side *s, const runnel_page *page,
                        struct rn_arena *arena)
{
    runnel_operation reads[PAGE_ROWS];
    size_t count = runnel_page_count(page);
    runnel_results *results = NULL;
    runnel_error error = { 0 };
    int status = RN_EXIT_OK;

    rn_arena_clear(arena);
    if (count > PAGE_ROWS || print_reads(s, page, count, reads, arena))
        return rn_report(RN_EXIT_FAILED, "a document cannot be read");
    if (runnel_items_bulk(s->right, reads, count, &results, &error) && !results)
        return failed(s->right_schema, &error);
    for (size_t i = 0; !status && i < count; i++) {
        const runnel_result *r = runnel_results_at(results, i);
        runnel_bytes left = runnel_page_at(page, i);

        if (r->code || !r->body.len)
            status = look_up(s, left, &reads[i].key);
        else if (compare(s, left, r->body, &reads[i].key))
            status = rn_report(RN_EXIT_FAILED, "out of memory");
    }
    runnel_results_close(results);
    pthread_mutex_lock(&s->copy->lock);
    s->copy->compared += count;
    pthread_mutex_unlock(&s->copy->lock);
    return status;
}

static int run_lane(void *context, size_t number)
{
    struct side *s = context;
    runnel_query_options options = { RUNNEL_QUERY_INIT };
    struct rn_arena arena = RN_ARENA_INIT(ARENA_MAX);
    struct rn_patience patience = { 0 };
    runnel_query *query = NULL;
    runnel_error error = { 0 };
    bool is_over = false;
    int status = RN_EXIT_OK;

    options.range = s->intervals[number];
    options.page_limit = PAGE_ROWS;
    if (runnel_query_open(s->left, &options, &query, &error))
        status = failed(s->left_schema, &error);
    while (!status && !is_over && !rn_lanes_stopped()) {
        runnel_page *page = NULL;

        if (!runnel_query_next(query, &page, &error)) {
            rn_patience_reset(&patience);
            is_over = !page;
            status = page ? compare_page(s, page, &arena) : RN_EXIT_OK;
        } else if (!rn_patience_wait(&patience, &error)) {
            status = failed(s->left_schema, &error);
        }
        runnel_page_close(page);
    }
    runnel_query_close(query);
    rn_arena_release(&arena);
    return rn_interrupted() ? RN_EXIT_INTERRUPTED : status;
}

static int tick(void *context)
{
    struct side *s = context;
    uint64_t compared;

    pthread_mutex_lock(&s->copy->lock);
    compared = s->copy->compared;
    pthread_mutex_unlock(&s->copy->lock);
    rn_progress_set(&s->copy->progress, compared);
    return RN_EXIT_OK;
}

int rn_copy_verify(struct rn_copy *c)
{
    struct side sides[2] = {
        { .copy = c,
          .left = c->source.container,
          .right = c->target.container,
          .left_schema = &c->from,
          .right_schema = &c->to },
        { .copy = c,
          .is_back = true,
          .left = c->target.container,
          .right = c->source.container,
          .left_schema = &c->to,
          .right_schema = &c->from },
    };
    int status = RN_EXIT_OK;

    rn_progress_begin(&c->progress, "comparing", "documents", 0, 0);
    for (int i = 0; !status && i < 2; i++) {
        status = rn_lanes_cut(sides[i].left, c->lane_count, sides[i].intervals,
                              &c->arena);
        if (!status)
            status = rn_lanes_run(c->lane_count, run_lane, tick, &sides[i]);
    }
    rn_progress_set(&c->progress, c->compared);
    rn_progress_end(&c->progress);
    return status;
}
