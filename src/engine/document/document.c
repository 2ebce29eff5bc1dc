/* document.c -- writes single documents; see document.h.
 *
 * The requesting thread prepares a version (version.h); the committer applies
 * it (apply.h).  The outcome is decided before anything is written, so that a
 * refusal does not affect the other operations of the group.
 */
#include "engine/document/document.h"

#include "cosmos/status.h"
#include "engine/document/apply.h"
#include "engine/engine_state.h"

enum { WRITE_ARENA_MAX = RN_DOCUMENT_MAX + (64 << 10) };

/* ---- deciding ------------------------------------------------------------ */

/* The service refuses an upsert with another message than other writes, and
 * clients' tests compare the messages. */
static enum rn_code refuse_condition(enum rn_document_verb verb,
                                     struct rn_err *err)
{
    if (verb != RN_DOCUMENT_UPSERT)
        return rn_fail_usual(err, RN_PRECONDITION);
    return rn_fail(
        err, RN_PRECONDITION,
        "Message: {\"Errors\":[\"One of the specified "
        "pre-condition is not met. Learn more: "
        "https://aka.ms/CosmosDB/sql/errors/precondition-failed\"]}");
}

/* An empty condition never holds. */
static bool holds(struct rn_view condition, struct rn_view etag)
{
    return condition.len && rn_etag_matches(condition, etag);
}

/* For a read either condition names the version that the client has, as in the
 * service. */
static enum rn_code check_conditions(enum rn_document_verb verb,
                                     const struct rn_document_conditions *c,
                                     const struct rn_found *old,
                                     struct rn_err *err)
{
    char etag[RN_ETAG_LEN];
    struct rn_view view = rn_view_of(etag, RN_ETAG_LEN);

    if (!old->exists)
        return RN_OK; /* an upsert creates, whatever the condition */
    rn_etag_print(rn_found_etag(old), etag);
    if (verb == RN_DOCUMENT_READ) {
        return holds(c->if_match, view) || holds(c->if_none_match, view)
                   ? RN_NOT_MODIFIED
                   : RN_OK;
    }
    if ((c->if_match.len && !holds(c->if_match, view)) ||
        (verb != RN_DOCUMENT_CREATE && holds(c->if_none_match, view)))
        return refuse_condition(verb, err);
    return RN_OK;
}

static enum rn_code check_existence(enum rn_document_verb verb,
                                    const struct rn_found *old,
                                    struct rn_err *err)
{
    if (verb == RN_DOCUMENT_CREATE && old->exists)
        return rn_fail_usual(err, RN_CONFLICT);
    if (verb != RN_DOCUMENT_CREATE && verb != RN_DOCUMENT_UPSERT &&
        !old->exists)
        return rn_fail_usual(err, RN_NOT_FOUND);
    return old->is_other ? rn_found_refuse_other(err) : RN_OK;
}

enum rn_code rn_document_decide(enum rn_document_verb verb,
                                const struct rn_document_conditions *c,
                                const struct rn_found *old, struct rn_err *err)
{
    enum rn_code rc = check_existence(verb, old, err);

    return rc ? rc : check_conditions(verb, c, old, err);
}

/* ---- writing ------------------------------------------------------------- */

static enum rn_code write_in(struct rn_apply *t, struct rn_document_write *w,
                             struct rn_err *err)
{
    struct rn_found old;
    enum rn_code rc =
        rn_apply_find_of(t, w->version.from ? w->version.from : &w->version.key,
                         w->version.pk, &old);

    /* Another document may have taken its id since the look-up. */
    if (!rc && w->rid && old.exists && old.row.rid != w->rid)
        return rn_fail_usual(err, RN_NOT_FOUND);
    w->place.range = t->range;
    w->place.lsn = t->row.lsn; /* reported with a refusal, too */
    if (!rc)
        rc = rn_document_decide(w->verb, &w->conditions, &old, err);
    if (rc)
        return rc;
    w->created = !old.exists;
    if (w->verb == RN_DOCUMENT_DELETE)
        rc = rn_apply_delete(t, &w->version.key, &old);
    else if (w->version.from)
        rc = rn_apply_move(t, &w->version, &old, &w->place.etag);
    else
        rc = rn_apply_put(t, &w->version, &old, &w->place.etag);
    w->place.lsn = t->row.lsn;
    return rc;
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_document_write *w =
        RN_CONTAINER_OF(op, struct rn_document_write, operation);
    struct rn_apply apply;
    enum rn_code rc = rn_apply_begin(&apply, w->engine, txn, w->container,
                                     rn_epk_view(&w->version.epk), &op->err);

    if (!rc)
        rc = write_in(&apply, w, &op->err);
    return rc ? rc : rn_apply_end(&apply);
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_document_write *w =
        RN_CONTAINER_OF(op, struct rn_document_write, operation);

    if (!rc && w->verb != RN_DOCUMENT_DELETE)
        w->stored = rn_version_json(&w->version);
    w->done.call(&w->done, rc, err);
}

/* ---- starting ------------------------------------------------------------ */

static enum rn_code prepare(struct rn_document_write *w, struct rn_err *err)
{
    struct rn_view none = { 0 };
    enum rn_code rc;

    w->version.row = (struct rn_buf){ 0 };
    w->version.is_linkless = w->is_linkless;
    if (w->room)
        rn_buf_swap(&w->version.row, w->room);
    if (w->verb == RN_DOCUMENT_DELETE) {
        w->version = (struct rn_version){ .row = w->version.row };
        rn_version_aim(&w->version, w->container, w->pk, w->id);
        return RN_OK;
    }
    rc = rn_version_render(&w->version, w->container, w->body, w->pk,
                           w->verb == RN_DOCUMENT_REPLACE ? w->id : none,
                           &w->arena, err);
    if (!rc && w->keeps_id && w->version.from) {
        rc = rn_fail(err, RN_FORBIDDEN,
                     "The id in the body is not the id of the item that may be "
                     "replaced");
    }
    return rc;
}

enum rn_code rn_document_write_start(struct rn_engine *e,
                                     struct rn_document_write *w,
                                     struct rn_err *err)
{
    enum rn_code rc;

    w->engine = e;
    w->arena = RN_ARENA_INIT(WRITE_ARENA_MAX);
    w->stored = (struct rn_view){ 0 };
    rc = prepare(w, err);
    w->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = w->verb == RN_DOCUMENT_DELETE ? RN_OPERATION_FREES : 0,
        .bytes = w->version.row.len + 256,
    };
    if (!rc) {
        rc = rn_committer_queue(e->committer, &w->operation);
        if (rc)
            rn_fail(err, rc, "too many writes are under way");
    } else if (rc == RN_NOMEM || (err && !err->text[0])) {
        rn_fail(err, rc, "%s", rn_code_name(rc));
    }
    if (rc)
        rn_document_write_release(w);
    return rc;
}

void rn_document_write_release(struct rn_document_write *w)
{
    if (w->room)
        rn_buf_swap(&w->version.row, w->room);
    rn_version_release(&w->version);
    rn_arena_release(&w->arena);
}
