/* replay.c -- see replay.h. */
#include "tools/copy/replay.h"

#include "base/hash.h"
#include "tools/common/report.h"
#include "tools/transfer/document.h"
#include "tools/transfer/patience.h"

#include <stdio.h>

enum {
    ARENA_MAX = 512 << 20, /* servers send batches of 4 MiB */
    LIST_MAX = 64 << 20,
    IDS_PER_QUERY = 100,
};

#define NO_ENTRY UINT32_MAX
#define COLLISION                                                              \
    "another document has the same id and partition key in the target"

/* The last change of a document. */
struct rn_replay_entry {
    const runnel_change *change;
    const char *id, *source_key;
    const char *target_key; /* NULL: deleted; only if the keys differ */
    struct rn_view json;    /* empty: deleted */
};

static bool is_delete(const runnel_change *change)
{
    return change->kind == RUNNEL_DELETED || change->kind == RUNNEL_EXPIRED;
}

static int no_memory(void)
{
    return rn_lanes_stop() ? rn_report(RN_EXIT_FAILED, "out of memory")
                           : RN_LANE_STOPPED;
}

/* A copy with a NUL. */
static const char *keep(struct rn_replay *p, runnel_bytes bytes)
{
    char *text = rn_arena_alloc(&p->arena, bytes.len + 1);

    if (text && bytes.len)
        memcpy(text, bytes.at, bytes.len);
    if (text)
        text[bytes.len] = 0;
    return text;
}

/* ---- entries ------------------------------------------------------------- */

/* The slot of an entry with this id and key, or the free one. */
static uint32_t *find_slot(struct rn_replay *p, const char *id, const char *key,
                           bool by_target)
{
    size_t at = rn_hash64_two(rn_view_text(id), rn_view_text(key), by_target) &
                (p->slot_count - 1);

    for (;; at = (at + 1) & (p->slot_count - 1)) {
        const struct rn_replay_entry *e;
        const char *other;

        if (p->slots[at] == NO_ENTRY)
            return &p->slots[at];
        e = &p->entries[p->slots[at] / 2];
        other = by_target ? e->target_key : e->source_key;
        if (p->slots[at] % 2 == by_target && strcmp(e->id, id) == 0 &&
            strcmp(other, key) == 0)
            return &p->slots[at];
    }
}

/* Fills the document's text and, if the keys differ, its key in the target. */
static enum rn_code read_document(struct rn_replay *p,
                                  struct rn_replay_entry *e)
{
    runnel_bytes bytes = e->change->json;
    enum rn_code rc =
        rn_json_parse(&p->json, rn_view_of(bytes.at, bytes.len), NULL);

    rn_buf_clear(&p->scratch);
    if (!rc)
        rc = rn_document_strip(&p->json, &p->scratch);
    if (!rc) {
        e->json = rn_arena_copy(&p->arena, rn_buf_view(&p->scratch));
        rc = e->json.at ? RN_OK : RN_NOMEM;
    }
    if (rc || p->copy->has_same_key)
        return rc;
    rn_buf_clear(&p->scratch);
    rc = rn_schema_key(&p->copy->to, &p->json, &p->scratch);
    if (!rc) {
        e->target_key = rn_arena_copy(&p->arena, rn_buf_view(&p->scratch)).at;
        rc = e->target_key ? RN_OK : RN_NOMEM;
    }
    return rc;
}

static void refuse(struct rn_replay *p, const char *id, const char *key,
                   const char *why)
{
    p->refused++;
    (void)rn_report(RN_EXIT_PARTIAL,
                    "document \"%s\" with partition key %s: %s", id, key, why);
}

/* Adds the entry of a change unless a later one of its document is there. */
static int add_entry(struct rn_replay *p, const runnel_change *change)
{
    struct rn_replay_entry e = { .change = change,
                                 .id = keep(p, change->id),
                                 .source_key = keep(p, change->partition_key) };
    uint32_t *slot, *target = NULL;

    if (!e.id || !e.source_key)
        return no_memory();
    slot = find_slot(p, e.id, e.source_key, false);
    if (*slot != NO_ENTRY)
        return RN_EXIT_OK;
    if (!is_delete(change) && read_document(p, &e))
        return no_memory();
    if (e.target_key)
        target = find_slot(p, e.id, e.target_key, true);
    if (target && *target != NO_ENTRY) {
        refuse(p, e.id, e.source_key, COLLISION);
        e.json = (struct rn_view){ 0 };
        e.target_key = NULL;
    } else if (target) {
        *target = (uint32_t)p->entry_count * 2 + 1;
    }
    p->entries[p->entry_count] = e;
    /* The first slot may be the one that was just taken. */
    *find_slot(p, e.id, e.source_key, false) = (uint32_t)p->entry_count++ * 2;
    return RN_EXIT_OK;
}

/* ---- operations ---------------------------------------------------------- */

static enum rn_code add_operation(struct rn_replay *p, runnel_operation op)
{
    enum rn_code rc = rn_buf_add(&p->list, rn_view_of(&op, sizeof(op)));

    p->operations = (runnel_operation *)(void *)p->list.at;
    p->count += !rc;
    return rc;
}

static enum rn_code write_entry(struct rn_replay *p,
                                const struct rn_replay_entry *e)
{
    if (e->json.len) {
        p->upserts++;
        return add_operation(
            p, (runnel_operation){ .kind = RUNNEL_UPSERT,
                                   .json = { e->json.at, e->json.len } });
    }
    if (!p->copy->has_same_key)
        return RN_OK; /* its rows are deleted already */
    p->deletes++;
    return add_operation(p,
                         (runnel_operation){ .kind = RUNNEL_DELETE,
                                             .key = { e->source_key, e->id } });
}

static int reserve(struct rn_replay *p, size_t changes)
{
    p->slot_count = 16;
    while (p->slot_count < 4 * changes)
        p->slot_count *= 2;
    p->entries = rn_arena_alloc(&p->arena, changes * sizeof(*p->entries));
    p->slots = rn_arena_alloc(&p->arena, p->slot_count * sizeof(*p->slots));
    if (!p->entries || !p->slots)
        return no_memory();
    memset(p->slots, 0xff, p->slot_count * sizeof(*p->slots));
    return RN_EXIT_OK;
}

/* ---- another partition key ----------------------------------------------- */

/* Does the row of the target come from the entry's document?  Its source key is
 * printed to the scratch. */
static enum rn_code is_of_entry(struct rn_replay *p,
                                const struct rn_replay_entry *e, bool *out)
{
    struct rn_json key;
    enum rn_code rc;

    rn_json_init(&key, NULL);
    rn_buf_clear(&p->scratch);
    rc = rn_schema_key(&p->copy->from, &p->json, &p->scratch);
    if (!rc)
        rc = rn_json_parse(&key, rn_view_text(p->scratch.at), NULL);
    if (!rc)
        rc = rn_json_parse(&p->other, rn_view_text(e->source_key), NULL);
    if (!rc)
        rc = rn_document_value_compare(&key, 0, &p->other, 0, out);
    rn_json_release(&key);
    return rc;
}

/* Deletes a row of the target that the entry's document has left, or refuses
 * the entry if the row is another document's. */
static enum rn_code take_row(struct rn_replay *p, struct rn_replay_entry *e)
{
    bool is_own = false, is_same_place;
    enum rn_code rc = is_of_entry(p, e, &is_own);
    const char *key;

    rn_buf_clear(&p->scratch);
    if (!rc)
        rc = rn_schema_key(&p->copy->to, &p->json, &p->scratch);
    if (rc)
        return rc;
    is_same_place = e->target_key && strcmp(p->scratch.at, e->target_key) == 0;
    if (is_own == is_same_place)
        return RN_OK;
    if (!is_own) {
        refuse(p, e->id, e->source_key, COLLISION);
        e->json.len = 0;
        return RN_OK;
    }
    key = rn_arena_copy(&p->arena, rn_buf_view(&p->scratch)).at;
    if (!key)
        return RN_NOMEM;
    p->deletes += e->json.len == 0;
    return add_operation(
        p, (runnel_operation){ .kind = RUNNEL_DELETE, .key = { key, e->id } });
}

/* The query for the documents of the target that have the ids of some entries,
 * and its parameters. */
static enum rn_code print_query(struct rn_replay *p, size_t from, size_t end,
                                struct rn_buf *text, struct rn_buf *parameters)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(parameters);
    enum rn_code rc =
        rn_buf_add(text, RN_LIT("SELECT * FROM c WHERE c.id IN ("));

    rn_json_out_array_begin(&o);
    for (size_t i = from; !rc && i < end; i++) {
        char name[24];

        snprintf(name, sizeof(name), "@p%zu", i);
        rc = rn_buf_printf(text, "%s%s", i > from ? "," : "", name);
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("name"));
        rn_json_out_string(&o, rn_view_text(name));
        rn_json_out_key(&o, RN_LIT("value"));
        rn_json_out_string(&o, rn_view_text(p->entries[i].id));
        rn_json_out_object_end(&o);
    }
    rn_json_out_array_end(&o);
    if (!rc)
        rc = rn_buf_add(text, rn_view_of(")", 2));
    if (!rc)
        rc = rn_json_out_finish(&o);
    return rc ? rc : rn_buf_add(parameters, rn_view_of("", 1));
}

static enum rn_code take_rows(struct rn_replay *p, const runnel_page *page,
                              size_t from, size_t end)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < runnel_page_count(page); i++) {
        runnel_bytes row = runnel_page_at(page, i);
        uint32_t id;

        rc = rn_json_parse(&p->json, rn_view_of(row.at, row.len), NULL);
        id = rn_json_find(&p->json, 0, RN_LIT("id"));
        for (size_t k = from; !rc && k < end; k++) {
            if (rn_json_string_is(&p->json, id, rn_view_text(p->entries[k].id)))
                rc = take_row(p, &p->entries[k]);
        }
    }
    return rc;
}

/* Looks for rows that entries `from` until before `end` leave behind. */
static int find_moved(struct rn_replay *p, size_t from, size_t end)
{
    runnel_query_options options = { RUNNEL_QUERY_INIT };
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    struct rn_buf parameters = RN_BUF_INIT(1 << 20);
    struct rn_patience patience = { 0 };
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    enum rn_code rc = print_query(p, from, end, &text, &parameters);
    runnel_code code = RUNNEL_OK;

    options.text = text.at;
    options.parameters = parameters.at;
    if (!rc)
        code = runnel_query_open(p->copy->target.container, &options, &query,
                                 &error);
    while (!rc && !code) {
        code = runnel_query_next(query, &page, &error);
        if (code && rn_patience_wait(&patience, &error)) {
            code = RUNNEL_OK;
            continue;
        }
        if (code || !page)
            break;
        rc = take_rows(p, page, from, end);
        runnel_page_close(page);
        page = NULL;
    }
    runnel_query_close(query);
    rn_buf_release(&text);
    rn_buf_release(&parameters);
    if (rc)
        return no_memory();
    if (code) {
        return rn_lanes_stop()
                   ? rn_report_error_at(&error, "reading %s", p->copy->to.name)
                   : RN_LANE_STOPPED;
    }
    return RN_EXIT_OK;
}

/* ---- replay -------------------------------------------------------------- */

void rn_replay_init(struct rn_replay *p, struct rn_copy *copy)
{
    *p = (struct rn_replay){ .copy = copy,
                             .arena = RN_ARENA_INIT(ARENA_MAX),
                             .list = RN_BUF_INIT(LIST_MAX),
                             .scratch =
                                 RN_BUF_INIT((size_t)2 * RN_DOCUMENT_MAX) };
    rn_json_init(&p->json, NULL);
    rn_json_init(&p->other, NULL);
}

void rn_replay_release(struct rn_replay *p)
{
    rn_json_release(&p->json);
    rn_json_release(&p->other);
    rn_buf_release(&p->list);
    rn_buf_release(&p->scratch);
    rn_arena_release(&p->arena);
}

int rn_replay_make(struct rn_replay *p, const runnel_batch *batch)
{
    size_t changes = runnel_batch_count(batch);
    int status;

    rn_arena_clear(&p->arena);
    rn_buf_clear(&p->list);
    p->count = p->entry_count = 0;
    p->upserts = p->deletes = p->refused = 0;
    status = reserve(p, changes);
    for (size_t i = changes; !status && i > 0; i--)
        status = add_entry(p, runnel_batch_at(batch, i - 1));
    for (size_t i = 0; !status && !p->copy->has_same_key && i < p->entry_count;
         i += IDS_PER_QUERY) {
        size_t end = i + IDS_PER_QUERY;
        status = find_moved(p, i, end < p->entry_count ? end : p->entry_count);
    }
    for (size_t i = 0; !status && i < p->entry_count; i++) {
        if (write_entry(p, &p->entries[i]))
            status = no_memory();
    }
    return status;
}

void rn_replay_refuse(struct rn_replay *p, size_t operation, const char *why)
{
    const runnel_operation *op = &p->operations[operation];
    bool is_upsert = op->kind == RUNNEL_UPSERT;

    p->upserts -= is_upsert;
    p->deletes -= !is_upsert && p->deletes;
    for (size_t i = 0; i < p->entry_count; i++) {
        const struct rn_replay_entry *e = &p->entries[i];

        if (is_upsert ? e->json.at == op->json.at : e->id == op->key.id)
            refuse(p, e->id, e->source_key, why);
    }
}
