/* schema.c -- reads a container's definition. */
#include "tools/transfer/schema.h"

#include "tools/common/report.h"
#include "tools/transfer/document.h"
#include "json/print.h"

#include <stdio.h>

enum { ARENA_MAX = 64 << 10, PATH_MAX_BYTES = 4096 };

static enum rn_code read_paths(struct rn_schema *s, struct rn_err *err)
{
    const struct rn_json *j = &s->json;
    uint32_t key = rn_json_find(j, 0, RN_LIT("partitionKey"));
    struct rn_json_walk w =
        rn_json_walk_begin(j, rn_json_find(j, key, RN_LIT("paths")));
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, rn_json_find(j, key, RN_LIT("systemKey"))) ==
        RN_JSON_TRUE)
        return RN_OK;
    while (!rc && rn_json_walk_next(&w)) {
        struct rn_view text;

        if (rn_json_kind(j, w.value) != RN_JSON_STRING ||
            s->path_count == RN_SCHEMA_PATHS_MAX)
            return rn_fail(err, RN_BAD_REQUEST,
                           "the partition key of %s cannot be read", s->name);
        rc = rn_json_string_get(j, w.value, &s->arena, &text);
        if (!rc)
            rc = rn_json_path_parse(text, &s->arena, &s->paths[s->path_count++],
                                    err);
    }
    return rc;
}

static bool read_versions(const struct rn_json *j)
{
    uint32_t policy = rn_json_find(j, 0, RN_LIT("changeFeedPolicy"));
    uint32_t value = rn_json_find(j, policy, RN_LIT("retentionDuration"));
    int64_t minutes;

    if (rn_json_kind(j, value) == RN_JSON_NUMBER)
        return rn_json_int64(j, value, &minutes) && minutes != 0;
    return false;
}

static enum rn_code parse(struct rn_schema *s, struct rn_err *err)
{
    runnel_bytes body = runnel_reply_body(s->reply);
    uint32_t rid;
    enum rn_code rc =
        rn_json_parse(&s->json, rn_view_of(body.at, body.len), err);

    if (!rc)
        rc = read_paths(s, err);
    if (rc)
        return rc;
    rid = rn_json_find(&s->json, 0, RN_LIT("_rid"));
    snprintf(s->rid, sizeof(s->rid), "%.*s",
             RN_FMT(rn_json_text(&s->json, rid)));
    s->keeps_versions = read_versions(&s->json);
    return RN_OK;
}

int rn_schema_read(const struct rn_target *target, struct rn_schema *out)
{
    struct rn_schema s = { .arena = RN_ARENA_INIT(ARENA_MAX) };
    runnel_error error = { 0 };
    struct rn_err err = { 0 };
    struct rn_buf name = RN_BUF_INIT(PATH_MAX_BYTES);
    int status = RN_EXIT_OK;

    *out = (struct rn_schema){ 0 };
    rn_json_init(&s.json, NULL);
    if (runnel_container_read(target->container, &s.reply, &error))
        status = rn_report_request(&error, target, NULL);
    if (!status && !rn_buf_printf(&name, "%s/%s", target->database_name,
                                  target->container_name))
        s.name = rn_arena_copy(&s.arena, rn_view_of(name.at, name.len + 1)).at;
    if (!status && !s.name)
        status = rn_report(RN_EXIT_FAILED, "out of memory");
    if (!status && parse(&s, &err))
        status = rn_report_err(&err);
    rn_buf_release(&name);
    if (status)
        rn_schema_release(&s);
    else
        *out = s;
    return status;
}

void rn_schema_release(struct rn_schema *s)
{
    runnel_reply_close(s->reply);
    rn_json_release(&s->json);
    rn_arena_release(&s->arena);
    *s = (struct rn_schema){ 0 };
}

bool rn_schema_same_key(const struct rn_schema *a, const struct rn_schema *b)
{
    bool same = a->path_count == b->path_count;

    for (uint32_t i = 0; same && i < a->path_count; i++)
        same = rn_json_path_eq(&a->paths[i], &b->paths[i]);
    return same;
}

enum rn_code rn_schema_key(const struct rn_schema *schema,
                           const struct rn_json *document, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    bool is_array = schema->path_count != 1;
    enum rn_code rc;

    if (is_array)
        rn_json_out_array_begin(&o);
    for (uint32_t i = 0; i < schema->path_count; i++) {
        uint32_t value = rn_json_path_find(&schema->paths[i], document, 0);

        if (value == RN_JSON_NONE)
            rn_json_out_raw(&o, RN_LIT("{}"));
        else
            rn_json_out_value(&o, document, value);
    }
    if (is_array)
        rn_json_out_array_end(&o);
    rc = rn_json_out_finish(&o);
    return rc ? rc : rn_buf_add(out, rn_view_of("", 1));
}

enum rn_code rn_schema_compare_keys(const struct rn_schema *schema,
                                    const struct rn_json *a,
                                    const struct rn_json *b, bool *is_equal)
{
    enum rn_code rc = RN_OK;

    *is_equal = true;
    for (uint32_t i = 0; !rc && *is_equal && i < schema->path_count; i++) {
        const struct rn_json_path *path = &schema->paths[i];

        rc = rn_document_value_compare(a, rn_json_path_find(path, a, 0), b,
                                       rn_json_path_find(path, b, 0), is_equal);
    }
    return rc;
}

uint64_t rn_schema_count(runnel_container *container)
{
    runnel_query_options options = { RUNNEL_QUERY_INIT };
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    uint64_t documents = 0;

    options.text = "SELECT VALUE COUNT(1) FROM c";
    if (!runnel_query_open(container, &options, &query, NULL) &&
        !runnel_query_next(query, &page, NULL) && page &&
        runnel_page_count(page) == 1) {
        runnel_bytes row = runnel_page_at(page, 0);
        for (size_t i = 0; i < row.len && row.at[i] >= '0' && row.at[i] <= '9';
             i++)
            documents = documents * 10 + (uint64_t)(row.at[i] - '0');
    }
    runnel_page_close(page);
    runnel_query_close(query);
    return documents;
}
