/* bulk.c -- see bulk.h. */
#include "tools/transfer/bulk.h"

#include "tools/transfer/document.h"
#include "tools/transfer/patience.h"

#include <assert.h>

enum { KEY_MAX = 64 << 10 };

/* Operations under way; `places` has the index of each in the caller's array.
 */
struct batch {
    const struct rn_bulk *bulk;
    const runnel_operation *all;
    runnel_operation *operations;
    size_t *places;
    bool *was_uncertain; /* by place */
    size_t count;
    struct rn_patience patience;
};

static bool may_be_refused(runnel_code code)
{
    return code == RUNNEL_BAD_REQUEST || code == RUNNEL_CONFLICT ||
           code == RUNNEL_PRECONDITION || code == RUNNEL_TOO_LARGE;
}

static bool is_deleted(const runnel_operation *op, runnel_code code)
{
    return op->kind == RUNNEL_DELETE && code == RUNNEL_NOT_FOUND;
}

/* ---- one by itself ------------------------------------------------------- */

/* Is the document stored with this content? */
static runnel_code find_stored(const struct rn_bulk *bulk, runnel_bytes json,
                               bool *is_same, runnel_error *error)
{
    struct rn_buf key = RN_BUF_INIT(KEY_MAX);
    struct rn_buf id = RN_BUF_INIT(KEY_MAX);
    struct rn_json ours, theirs;
    runnel_reply *reply = NULL;
    runnel_code code = RUNNEL_OK;
    bool is_good;

    rn_json_init(&ours, NULL);
    rn_json_init(&theirs, NULL);
    *is_same = false;
    is_good = !rn_json_parse(&ours, rn_view_of(json.at, json.len), NULL) &&
              !rn_document_id(&ours, &id, NULL) &&
              !rn_schema_key(bulk->schema, &ours, &key);
    if (is_good)
        code = runnel_item_read(bulk->container, (runnel_key){ key.at, id.at },
                                NULL, &reply, error);
    if (is_good && !code) {
        runnel_bytes body = runnel_reply_body(reply);
        if (rn_json_parse(&theirs, rn_view_of(body.at, body.len), NULL) ||
            rn_document_compare(&ours, &theirs, is_same))
            *is_same = false;
    }
    runnel_reply_close(reply);
    rn_json_release(&ours);
    rn_json_release(&theirs);
    rn_buf_release(&key);
    rn_buf_release(&id);
    return code == RUNNEL_NOT_FOUND ? RUNNEL_OK : code;
}

static runnel_code send_one(const struct rn_bulk *bulk,
                            const runnel_operation *op, runnel_error *error)
{
    switch (op->kind) {
    case RUNNEL_CREATE:
        return runnel_item_create(bulk->container, op->json, NULL, NULL, error);
    case RUNNEL_UPSERT:
        return runnel_item_upsert(bulk->container, op->json, NULL, NULL, error);
    default:
        assert(op->kind == RUNNEL_DELETE);
        return runnel_item_delete(bulk->container, op->key, NULL, error);
    }
}

/* Executes an operation, or passes it to `refused`. */
static runnel_code carry_out(struct batch *b, size_t place, runnel_error *error)
{
    const struct rn_bulk *bulk = b->bulk;
    const runnel_operation *op = &b->all[place];
    bool may_exist = bulk->may_exist || b->was_uncertain[place];
    bool is_same = false;
    runnel_error why = { 0 };
    runnel_code code = send_one(bulk, op, &why);

    while (code == RUNNEL_UNCERTAIN || runnel_code_is_transient(code)) {
        may_exist = may_exist || code == RUNNEL_UNCERTAIN;
        if (code == RUNNEL_UNCERTAIN)
            why.code = RUNNEL_BUSY; /* worth another attempt */
        if (!rn_patience_wait(&b->patience, &why))
            break;
        code = send_one(bulk, op, &why);
    }
    if (!code || is_deleted(op, code))
        return RUNNEL_OK;
    if (code == RUNNEL_CONFLICT && op->kind == RUNNEL_CREATE && may_exist) {
        code = find_stored(bulk, op->json, &is_same, error);
        if (code || is_same)
            return code;
    } else if (!may_be_refused(code)) {
        *error = why;
        return code;
    }
    bulk->refused(bulk->context, place, &why);
    return RUNNEL_OK;
}

/* ---- many ---------------------------------------------------------------- */

/* Takes the outcomes: what is to be sent again stays in the batch.  `*error`
 * becomes the failure of one of them. */
static runnel_code take(struct batch *b, const runnel_results *results,
                        runnel_error *error)
{
    runnel_code code = RUNNEL_OK;
    size_t left = 0, count = b->count;

    b->count = 0;
    for (size_t i = 0; i < count; i++) {
        const runnel_result *r = runnel_results_at(results, i);
        size_t place = b->places[i];

        if (!r->code || is_deleted(&b->operations[i], r->code))
            continue;
        if (code)
            break;
        if (may_be_refused(r->code)) {
            code = carry_out(b, place, error);
        } else if (runnel_code_is_transient(r->code) ||
                   r->code == RUNNEL_UNCERTAIN) {
            b->was_uncertain[place] |= r->code == RUNNEL_UNCERTAIN;
            b->operations[left] = b->operations[i];
            b->places[left++] = place;
            error->code = r->code == RUNNEL_UNCERTAIN ? RUNNEL_BUSY : r->code;
        } else {
            error->code = code = r->code;
        }
    }
    b->count = left;
    return code;
}

/* Sends operations `from` until before `end`, which the library refused to
 * send as a whole: halves, down to the one that is wrong. */
static runnel_code bisect(struct batch *b, size_t from, size_t end,
                          runnel_error *error)
{
    size_t middle = from + (end - from) / 2;
    struct batch half = *b;
    runnel_results *results = NULL;
    runnel_code code;

    if (end - from == 1)
        return carry_out(b, b->places[from], error);
    code = runnel_items_bulk(b->bulk->container, b->operations + from,
                             end - from, &results, error);
    if (may_be_refused(code) && !results) {
        code = bisect(b, from, middle, error);
        return code ? code : bisect(b, middle, end, error);
    }
    if (results) {
        half.operations += from;
        half.places += from;
        half.count = end - from;
        code = take(&half, results, error);
    }
    for (size_t i = 0; !code && results && i < half.count; i++)
        code = carry_out(b, half.places[i], error);
    runnel_results_close(results);
    return code;
}

static runnel_code write_all(struct batch *b, runnel_error *error)
{
    runnel_code code = RUNNEL_OK;

    while (!code && b->count) {
        runnel_results *results = NULL;
        size_t before = b->count;

        *error = (runnel_error){ 0 };
        code = runnel_items_bulk(b->bulk->container, b->operations, b->count,
                                 &results, error);
        if (results && code != RUNNEL_CANCELLED) {
            code = take(b, results, error);
        } else if (may_be_refused(code)) {
            code = bisect(b, 0, b->count, error);
            b->count = code ? b->count : 0;
        } else if (code && rn_patience_wait(&b->patience, error)) {
            code = RUNNEL_OK;
        }
        if (b->count < before)
            rn_patience_reset(&b->patience);
        if (!code && b->count && results &&
            !rn_patience_wait(&b->patience, error))
            code = error->code;
        runnel_results_close(results);
    }
    return code;
}

runnel_code rn_bulk_write(const struct rn_bulk *bulk,
                          const runnel_operation *operations, size_t count,
                          runnel_error *error)
{
    struct batch b = { .bulk = bulk, .all = operations, .count = count };
    runnel_code code;

    *error = (runnel_error){ 0 };
    if (!count)
        return RUNNEL_OK;
    b.operations = rn_new(count * sizeof(*b.operations));
    b.places = rn_new(count * sizeof(*b.places));
    b.was_uncertain = rn_new(count * sizeof(*b.was_uncertain));
    if (b.operations && b.places && b.was_uncertain) {
        memcpy(b.operations, operations, count * sizeof(*operations));
        for (size_t i = 0; i < count; i++)
            b.places[i] = i;
        code = write_all(&b, error);
    } else {
        code = RUNNEL_NO_MEMORY;
    }
    if (code && error->code != code)
        error->code = code;
    if (code && !error->message[0])
        strncpy(error->message, runnel_code_name(code),
                sizeof(error->message) - 1);
    rn_free(b.operations);
    rn_free(b.places);
    rn_free(b.was_uncertain);
    return code;
}
