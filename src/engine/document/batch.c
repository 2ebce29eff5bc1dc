/* batch.c -- see batch.h. */
#include "engine/document/batch.h"
#include "engine/document/patch_apply.h"
#include "engine/document/snapshot.h"

#include "cosmos/status.h"
#include "engine/document/apply.h"
#include "engine/engine.h"
#include "engine/engine_state.h"

#include <assert.h>

enum {
    ARENA_MAX = 16 << 20,
    LIGHT_MAX = 64 << 10,  /* bytes of a document patched when light */
    INSTANT_MAX = 8 << 10, /* and in the committer */
    TRIES_MAX = 32,        /* until competing patches of a document fail */
    OPERATION_BYTES = 256, /* redo bytes besides the document */
};

/* ---- patches ------------------------------------------------------------- */

static void make_patched(struct rn_batch *b, struct rn_batch_operation *op,
                         struct rn_view document)
{
    struct rn_buf text = RN_BUF_INIT((size_t)2 * RN_DOCUMENT_MAX);
    enum rn_code rc = rn_patch_apply(op->patch, document,
                                     rn_engine_now(b->engine), &text, &op->why);

    rn_version_release(&op->version);
    op->made++;
    op->version.is_linkless = op->is_linkless;
    if (!rc)
        rc = rn_version_render(&op->version, b->container, rn_buf_view(&text),
                               op->pk, op->id, &b->arena, &op->why);
    rn_buf_release(&text);
    op->unfit = rc;
    if (rc) { /* the document is still looked up by its key */
        rn_version_release(&op->version);
        op->version = (struct rn_version){ 0 };
        rn_version_aim(&op->version, b->container, op->pk, op->id);
    }
}

static const struct rn_etag no_etag = { .lsn = UINT64_MAX >> 8 };

static bool is_at(const struct rn_key *a, const struct rn_key *b)
{
    return rn_view_eq(rn_key_view(a), rn_key_view(b));
}

/* The last operation before the `i`-th that writes or deletes the same
 * document; `i` if none exists. */
static size_t find_maker(const struct rn_batch *b, size_t i)
{
    const struct rn_key *key = &b->operations[i].version.key;

    for (size_t j = i; j-- > b->first;) {
        const struct rn_batch_operation *op = &b->operations[j];

        if (op->verb != RN_DOCUMENT_READ &&
            (is_at(&op->version.key, key) ||
             (op->version.from && is_at(op->version.from, key))))
            return j;
    }
    return i;
}

static bool is_too_long(const struct rn_batch *b,
                        const struct rn_batch_operation *op,
                        struct rn_view document)
{
    return b->is_light && (op->patch->condition || document.len > LIGHT_MAX);
}

/* The document as the earlier operation will leave it.  Its rid and etag are
 * not assigned yet, so values that no document has stand in. */
static struct rn_view made_by(struct rn_batch *b, struct rn_batch_operation *op)
{
    if (op->unfit || op->verb == RN_DOCUMENT_DELETE || !op->version.row.len)
        return (struct rn_view){ 0 };
    rn_version_fill(&op->version, RN_RID_NUMBER_MAX, no_etag,
                    rn_engine_now(b->engine));
    return rn_version_json(&op->version);
}

static enum rn_code find_base(struct rn_batch *b, size_t i,
                              struct rn_snapshot *reading, struct rn_view *out)
{
    struct rn_batch_operation *op = &b->operations[i];
    struct rn_document_place place;
    enum rn_code rc;

    *out = (struct rn_view){ 0 };
    op->base = RN_BASE_NONE;
    op->base_index = find_maker(b, i);
    if (op->base_index < i) {
        struct rn_batch_operation *maker = &b->operations[op->base_index];

        if (is_at(&maker->version.key, &op->version.key))
            *out = made_by(b, maker);
        if (out->at)
            op->base = RN_BASE_OPERATION;
        op->base_made = maker->made;
        return RN_OK;
    }
    rc = rn_document_read(reading, op->pk, op->id, out, &place);
    if (rc)
        return rc == RN_NOT_FOUND ? RN_OK : rc;
    op->base = RN_BASE_STORED;
    op->base_etag = place.etag;
    return RN_OK;
}

static enum rn_code prepare_patch(struct rn_batch *b, size_t i,
                                  struct rn_snapshot *reading)
{
    struct rn_batch_operation *op = &b->operations[i];
    struct rn_view document;
    enum rn_code rc = RN_OK;

    if (!op->patch) {
        rn_version_aim(&op->version, b->container, op->pk, op->id);
        op->patch = rn_arena_alloc(&b->arena, sizeof(*op->patch));
        if (!op->patch)
            return RN_NOMEM;
        op->unfit = rn_patch_read(op->body, &b->container->pkdef, &b->arena,
                                  op->patch, &op->why);
        op->is_ready = op->unfit;
    }
    if (!op->is_ready)
        rc = find_base(b, i, reading, &document);
    if (rc || op->is_ready || op->base == RN_BASE_NONE)
        return rc;
    if (is_too_long(b, op, document))
        return RN_TIMEOUT;
    make_patched(b, op, document);
    return RN_OK;
}

/* ---- preparing ----------------------------------------------------------- */

static bool is_making(const struct rn_batch_operation *op)
{
    return op->verb == RN_DOCUMENT_CREATE || op->verb == RN_DOCUMENT_UPSERT ||
           op->verb == RN_DOCUMENT_REPLACE;
}

static enum rn_code prepare_one(struct rn_batch *b, size_t i,
                                struct rn_snapshot *reading)
{
    struct rn_batch_operation *op = &b->operations[i];
    struct rn_view none = { 0 };

    if (op->is_ready)
        return RN_OK;
    if (op->unfit && !op->patch) {
        op->is_ready = true; /* the caller has refused it */
        return RN_OK;
    }
    if (op->verb == RN_DOCUMENT_PATCH)
        return prepare_patch(b, i, reading);
    if (is_making(op)) {
        op->unfit =
            rn_version_render(&op->version, b->container, op->body, op->pk,
                              op->verb == RN_DOCUMENT_REPLACE ? op->id : none,
                              &b->arena, &op->why);
    } else {
        rn_version_aim(&op->version, b->container, op->pk, op->id);
    }
    op->is_ready = true;
    return RN_OK;
}

static uint64_t need_of(const struct rn_batch_operation *op)
{
    return op->version.row.len + OPERATION_BYTES;
}

/* Limits memory, the WAL record and the answer. */
static void limit(struct rn_batch_operation *op, uint64_t spent)
{
    if (op->unfit || spent + need_of(op) <= RN_BATCH_BYTES_MAX)
        return;
    rn_version_release(&op->version);
    op->is_ready = true;
    op->unfit = rn_fail_reason(&op->why, RN_REASON_SPLIT_BULK,
                               "The operations of this request are too much "
                               "for one.");
}

/* The rows of operations before `first` are kept for the answer, and count
 * towards the limit. */
static enum rn_code prepare(struct rn_batch *b, uint64_t *bytes,
                            struct rn_err *err)
{
    struct rn_snapshot reading = { 0 };
    enum rn_code rc = rn_snapshot_begin(&reading, b->engine, b->container, err);
    uint64_t kept = 0;

    for (size_t i = 0; i < b->first; i++)
        kept += need_of(&b->operations[i]);
    for (size_t i = b->first; !rc && i < b->count; i++) {
        rc = prepare_one(b, i, &reading);
        if (rc)
            break;
        limit(&b->operations[i], kept + *bytes);
        *bytes += need_of(&b->operations[i]);
    }
    rn_snapshot_end(&reading);
    return rc;
}

/* ---- one operation in the committer -------------------------------------- */

static bool is_same(struct rn_etag a, struct rn_etag b)
{
    return a.lsn == b.lsn && a.range == b.range && a.n == b.n;
}

/* Is the version that was patched still the current one? */
static bool base_holds(const struct rn_batch *b,
                       const struct rn_batch_operation *op,
                       const struct rn_found *old)
{
    const struct rn_batch_operation *maker;

    if (op->base == RN_BASE_STORED)
        return is_same(op->base_etag, rn_found_etag(old));
    if (op->base == RN_BASE_NONE)
        return false;
    maker = &b->operations[op->base_index];
    return !maker->code && maker->made == op->base_made &&
           is_same(maker->place.etag, rn_found_etag(old));
}

/* Patches a small document in the committer.  RN_BUSY: the batch has to be
 * prepared again. */
static enum rn_code patch_again(struct rn_batch *b,
                                struct rn_batch_operation *op,
                                struct rn_apply *t, const struct rn_found *old)
{
    struct rn_row_feed feed;
    enum rn_code rc =
        rn_document_follow(t->txn, b->container, &old->row, &feed);

    if (rc)
        return rc;
    if (op->patch->condition || feed.json.len > INSTANT_MAX) {
        if (b->tries < TRIES_MAX)
            return RN_BUSY;
        return rn_fail_reason(&op->err, RN_REASON_RETRY_WITH,
                              "Conflicting request to resource has been "
                              "attempted. Retry to avoid conflicts.");
    }
    make_patched(b, op, feed.json);
    /* If the group is aborted, another version may get this etag. */
    op->base = RN_BASE_NONE;
    return RN_OK;
}

static enum rn_code read_here(struct rn_batch *b, struct rn_batch_operation *op,
                              struct rn_apply *t, const struct rn_found *old)
{
    struct rn_row_feed feed;
    enum rn_code rc =
        rn_document_follow(t->txn, b->container, &old->row, &feed);

    op->place.etag = rn_found_etag(old);
    op->read_at = b->reads.len;
    if (!rc)
        rc = rn_buf_add(&b->reads, feed.json);
    if (!rc)
        op->read_len = feed.json.len;
    if (rc != RN_TOO_LARGE)
        return rc;
    return rn_fail_reason(&op->err, RN_REASON_SPLIT_BULK,
                          "The operations of this request are too much for "
                          "one.");
}

static enum rn_code refuse_unfit(struct rn_batch_operation *op)
{
    op->err = op->why;
    return op->unfit;
}

static enum rn_code do_one(struct rn_batch *b, struct rn_batch_operation *op,
                           struct rn_apply *t)
{
    struct rn_found old;
    enum rn_code rc;

    if (op->is_ready && op->unfit)
        return refuse_unfit(op);
    rc = rn_apply_find_of(
        t, op->version.from ? op->version.from : &op->version.key,
        op->version.pk, &old);
    if (!rc && op->rid && old.row.rid != op->rid)
        old = (struct rn_found){ 0 }; /* another document has its id now */
    if (!rc)
        rc = rn_document_decide(op->verb, &op->conditions, &old, &op->err);
    if (rc == RN_NOT_MODIFIED)
        op->place.etag = rn_found_etag(&old);
    if (!rc && op->verb == RN_DOCUMENT_PATCH && !base_holds(b, op, &old))
        rc = patch_again(b, op, t, &old);
    if (rc)
        return rc;
    if (op->unfit)
        return refuse_unfit(op);
    op->created = !old.exists;
    if (op->verb == RN_DOCUMENT_READ)
        return read_here(b, op, t, &old);
    if (op->verb == RN_DOCUMENT_DELETE)
        return rn_apply_delete(t, &op->version.key, &old);
    if (op->version.from)
        return rn_apply_move(t, &op->version, &old, &op->place.etag);
    return rn_apply_put(t, &op->version, &old, &op->place.etag);
}

static enum rn_code run_one(struct rn_batch *b, struct rn_batch_operation *op,
                            struct rn_apply *t)
{
    op->err = (struct rn_err){ 0 };
    t->err = &op->err;
    op->place = (struct rn_document_place){ .range = t->range };
    op->read_len = 0;
    op->code = do_one(b, op, t);
    op->place.lsn = t->row.lsn;
    b->place = op->place;
    if (op->code && !op->err.text[0])
        rn_fail(&op->err, op->code, "%s", rn_txn_why(t->txn, op->code));
    return op->code;
}

/* ---- the batch in the committer ------------------------------------------ */

/* Nothing was written, so the range keeps its LSN. */
static void undo_places(struct rn_batch *b, uint64_t lsn)
{
    for (size_t i = 0; i <= b->at; i++)
        b->operations[i].place.lsn = lsn;
    b->place.lsn = lsn;
}

/* The operation that the batch fails with.  A too large answer is blamed on the
 * last one, as by the service. */
static size_t find_refused(struct rn_batch *b)
{
    const struct rn_batch_operation *op = &b->operations[b->at];
    struct rn_batch_operation *last = &b->operations[b->count - 1];

    if (op->verb != RN_DOCUMENT_READ || op->err.reason != RN_REASON_SPLIT_BULK)
        return b->at;
    last->code = op->code;
    last->err = op->err;
    return b->count - 1;
}

static enum rn_code run_atomic(struct rn_batch *b, struct rn_txn *txn)
{
    struct rn_epk epk;
    struct rn_apply apply;
    uint64_t lsn;
    enum rn_code rc;

    rn_epk_of(&b->container->pkdef, b->pk, &epk);
    rc = rn_apply_begin(&apply, b->engine, txn, b->container, rn_epk_view(&epk),
                        &b->operation.err);
    if (rc)
        return rc;
    lsn = apply.row.lsn;
    for (; b->at < b->count; b->at++) {
        rc = run_one(b, &b->operations[b->at], &apply);
        if (rc == RN_BUSY) {
            b->is_unfinished = true;
            return rc;
        }
        if (rc && rc != RN_NOT_MODIFIED) {
            if (rn_batch_is_refusal(rc) && !rn_txn_fault(txn))
                b->refused = find_refused(b);
            undo_places(b, lsn);
            b->operation.err = b->operations[b->at].err;
            return rc;
        }
    }
    return rn_apply_end(&apply);
}

/* Runs one of many independent operations.  Returns only failures that are not
 * an outcome of the operation itself. */
static enum rn_code run_apart(struct rn_batch *b, struct rn_batch_operation *op,
                              struct rn_txn *txn)
{
    uint64_t before = txn->redo_bytes;
    struct rn_apply apply;
    enum rn_code rc;

    if (op->is_ready && op->unfit) {
        op->code = refuse_unfit(op);
        return RN_OK;
    }
    rc = rn_apply_begin(&apply, b->engine, txn, b->container,
                        rn_epk_view(&op->version.epk), &b->operation.err);
    if (rc)
        return rc;
    rc = run_one(b, op, &apply);
    if (rc == RN_BUSY)
        return rc;
    if (rc && rc != RN_NOT_MODIFIED &&
        (!rn_batch_is_refusal(rc) || rn_txn_fault(txn) ||
         txn->redo_bytes != before)) {
        b->operation.err = op->err;
        return rc;
    }
    return rn_apply_end(&apply);
}

/* Checked before anything is written, and not later: the client reacts by
 * sending the full batch again. */
static enum rn_code check_range(struct rn_batch *b, struct rn_txn *txn)
{
    bool is_due = b->has_range && b->first == 0;
    struct rn_row_range row;
    uint32_t range;
    enum rn_code rc = RN_OK;

    for (size_t i = 0; is_due && !rc && i < b->count; i++) {
        const struct rn_batch_operation *op = &b->operations[i];

        if (op->is_ready && op->unfit)
            continue;
        rc = rn_range_find(txn, b->container, rn_epk_view(&op->version.epk),
                           &range, &row);
        if (!rc && range != b->range) {
            rc = rn_fail(&b->operation.err, RN_GONE,
                         "The partition key range of this request does not "
                         "hold its operations.");
        }
    }
    return rc == RN_NOT_FOUND
               ? rn_fail_reason(&b->operation.err, RN_REASON_OWNER,
                                "Owner resource does not exist")
               : rc;
}

static void fail_rest(struct rn_batch *b, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        b->operations[i].code =
            rn_fail_reason(&b->operations[i].err, RN_REASON_DEPENDENCY,
                           "Another operation of the batch failed.");
    }
}

static enum rn_code run_each(struct rn_batch *b, struct rn_txn *txn)
{
    uint64_t before = txn->redo_bytes;
    enum rn_code rc = check_range(b, txn);

    if (rc)
        return rc;
    for (; b->at < b->count; b->at++) {
        struct rn_batch_operation *op = &b->operations[b->at];

        rc = run_apart(b, op, txn);
        if (rc == RN_BUSY) {
            b->is_unfinished = true;
            return txn->redo_bytes == before ? rc : RN_OK;
        }
        if (rc)
            return rc;
        if (b->mode == RN_BATCH_UNTIL_FAILURE &&
            rn_batch_is_refusal(op->code)) {
            fail_rest(b, b->at + 1, b->count);
            b->at = b->count;
            break;
        }
    }
    return RN_OK;
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_batch *b = RN_CONTAINER_OF(op, struct rn_batch, operation);

    b->at = b->first;
    b->refused = b->count;
    b->is_unfinished = false;
    b->reads.len = b->reads_kept;
    return b->mode == RN_BATCH_ATOMIC ? run_atomic(b, txn) : run_each(b, txn);
}

static void show(struct rn_batch *b)
{
    for (size_t i = 0; i < b->at; i++) {
        struct rn_batch_operation *op = &b->operations[i];

        if (op->code || op->verb == RN_DOCUMENT_DELETE)
            op->stored = (struct rn_view){ 0 };
        else if (op->verb == RN_DOCUMENT_READ)
            op->stored = rn_view_of(b->reads.at + op->read_at, op->read_len);
        else
            op->stored = rn_version_json(&op->version);
    }
}

/* Was the batch refused by an operation?  If its group is aborted, the write
 * that caused the refusal may be undone too. */
static bool is_refused(const struct rn_batch *b, enum rn_code rc)
{
    return rc && b->refused < b->count && rc == b->operations[b->refused].code;
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_batch *b = RN_CONTAINER_OF(op, struct rn_batch, operation);

    if (is_refused(b, rc)) {
        fail_rest(b, 0, b->refused);
        fail_rest(b, b->refused + 1, b->count);
        rc = RN_OK;
    } else if (b->is_unfinished && (!rc || rc == RN_BUSY)) {
        rc = RN_OK;
    }
    if (!rc) /* the final outcome, unless it is resumed */
        show(b);
    if (!rc && b->mode != RN_BATCH_ATOMIC) {
        b->first = b->at;
        b->reads_kept = b->reads.len;
    }
    b->done.call(&b->done, rc, err);
}

/* ---- starting ------------------------------------------------------------ */

static unsigned flags_of(const struct rn_batch *b)
{
    unsigned flags = RN_OPERATION_FREES;

    for (size_t i = b->first; i < b->count; i++)
        if (b->operations[i].verb != RN_DOCUMENT_DELETE)
            flags = 0;
    if (b->mode == RN_BATCH_ATOMIC && b->count > 1)
        flags |= RN_OPERATION_MULTI;
    return flags;
}

enum rn_code rn_batch_resume(struct rn_batch *b, struct rn_err *err)
{
    uint64_t bytes = 0;
    enum rn_code rc = prepare(b, &bytes, err);

    if (rc == RN_TIMEOUT)
        return rc;
    b->tries++;
    b->refused = b->count;
    b->is_unfinished = false;
    b->operation = (struct rn_operation){
        .run = run, .done = done, .flags = flags_of(b), .bytes = bytes
    };
    if (!rc) {
        rc = rn_committer_queue(b->engine->committer, &b->operation);
        if (rc)
            rn_fail(err, rc, "too many writes are under way");
    } else if (err && !err->text[0]) {
        rn_fail(err, rc, "%s", rn_code_name(rc));
    }
    return rc;
}

enum rn_code rn_batch_start(struct rn_engine *e, struct rn_batch *b,
                            struct rn_err *err)
{
    assert(b->count && b->count <= RN_BATCH_MAX);
    assert(b->mode != RN_BATCH_ATOMIC || b->pk);
    b->engine = e;
    b->arena = RN_ARENA_INIT(ARENA_MAX);
    b->reads = RN_BUF_INIT(RN_BATCH_BYTES_MAX);
    b->first = b->reads_kept = 0;
    b->tries = 0;
    return rn_batch_resume(b, err);
}

void rn_batch_release(struct rn_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        rn_version_release(&b->operations[i].version);
    rn_buf_release(&b->reads);
    rn_arena_release(&b->arena);
}
