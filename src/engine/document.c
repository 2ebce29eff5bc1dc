/* document.c -- writing documents; see document.h.
 *
 * What grows with the document is done before queueing, by whoever asks: the
 * body is parsed, its key hashed, its row rendered with slots of fixed width
 * for what only the committer knows (_rid, _self, _etag, _ts).  In the
 * committer a write is some lookups and puts:
 *
 *   r   the range's row: the next LSN and _ts, and the next rid for a new one
 *   d   is there one, of which version; its conditions
 *   f   the old version's row goes, the new one's comes
 *   i   by rid, for a new one
 *
 * It decides before it writes, so that a refusal leaves its neighbours alone.
 */
#include "engine/document.h"

#include "base/bytes.h"
#include "cosmos/link.h"
#include "cosmos/status.h"
#include "engine/own.h"
#include "json/print.h"

#include <assert.h>
#include <stdio.h>

enum {
    ROW_MAX = RN_DOCUMENT_MAX + (64 << 10),
    TS_DIGITS = 10, /* until the year 2286 */
};

/* ---- preparing ----------------------------------------------------------- */

static const char *const system_names[] = { "_rid",         "_self", "_etag",
                                            "_attachments", "_ts",   "_lsn" };

static bool is_system(const struct rn_json *j, uint32_t name)
{
    struct rn_view text = rn_json_text(j, name);

    if (text.len == 0 || (text.at[0] != '_' && text.at[0] != '\\'))
        return false;
    for (size_t i = 0; i < sizeof(system_names) / sizeof(system_names[0]); i++)
        if (rn_json_string_is(j, name, rn_view_text(system_names[i])))
            return true;
    return false;
}

/* Clients send back what they were sent; those properties are ours. */
static void print_members(struct rn_json_out *o, const struct rn_json *j)
{
    struct rn_json_walk w = rn_json_walk_begin(j, 0);

    rn_json_out_object_begin(o);
    while (rn_json_walk_next(&w)) {
        if (is_system(j, w.name))
            continue;
        rn_json_out_member(o, j, w.name, w.value);
    }
    rn_json_out_object_end(o);
}

/* Appends `text` and notes where it begins. */
static enum rn_code add_slot(struct rn_buf *row, struct rn_view before,
                             struct rn_view text, size_t *slot)
{
    enum rn_code rc = rn_buf_add(row, before);

    *slot = row->len;
    return rc ? rc : rn_buf_add(row, text);
}

/* The row as far as it is known now. */
static enum rn_code render(struct rn_document_write *w, const struct rn_json *j,
                           struct rn_view epk)
{
    static const char blank[] = "                                      "
                                "                                      "
                                "    ";
    struct rn_rid rid = rn_rid_child(w->container->rid, RN_KIND_DOCUMENT, 1);
    struct rn_row_feed head = { .ttl = w->ttl, .epk = epk };
    struct rn_json_out o = RN_JSON_OUT_INIT(&w->row);
    char self[RN_RID_SELF_MAX];
    size_t self_len = rn_rid_print_self(rid, self).len;
    bool empty;
    enum rn_code rc = rn_buf_reserve(&w->row, RN_ROW_FEED_HEADER + RN_EPK_MAX);

    if (rc)
        return rc;
    w->row.len = rn_row_feed_encode(&head, w->row.at);
    print_members(&o, j);
    rc = rn_json_out_finish(&o);
    if (rc)
        return rc;
    w->row.len--; /* the closing brace */
    empty = w->row.at[w->row.len - 1] == '{';
    rc = add_slot(&w->row,
                  empty ? RN_LIT("\"_rid\":\"") : RN_LIT(",\"_rid\":\""),
                  rn_view_of(blank, RN_RID_TEXT_MAX), &w->rid_slot);
    if (!rc)
        rc = add_slot(&w->row, RN_LIT("\",\"_self\":\""),
                      rn_view_of(blank, self_len), &w->self_slot);
    if (!rc)
        rc = add_slot(&w->row, RN_LIT("\",\"_etag\":\"\\\""),
                      rn_view_of(blank, RN_ETAG_LEN - 2), &w->etag_slot);
    if (!rc)
        rc = add_slot(&w->row,
                      RN_LIT("\\\"\",\"_attachments\":\"attachments/\","
                             "\"_ts\":"),
                      rn_view_of(blank, TS_DIGITS), &w->ts_slot);
    return rc ? rc : rn_buf_add(&w->row, RN_LIT("}"));
}

static enum rn_code read_ttl(struct rn_document_write *w,
                             const struct rn_json *j, struct rn_err *err)
{
    uint32_t ttl = rn_json_find(j, 0, RN_LIT("ttl"));
    int64_t seconds = 0;

    if (rn_json_kind(j, ttl) == RN_JSON_UNDEFINED)
        return RN_OK;
    if (rn_json_kind(j, ttl) != RN_JSON_NUMBER ||
        !rn_json_int64(j, ttl, &seconds) || seconds == 0 || seconds < -1 ||
        seconds > INT32_MAX)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The ttl of an item must be -1 or a positive 32-bit "
                       "integer");
    w->ttl = (int32_t)seconds;
    return RN_OK;
}

/* The id in the body; for a replace it must be the one in the path. */
static enum rn_code read_id(struct rn_document_write *w,
                            const struct rn_json *j, struct rn_view *out,
                            struct rn_err *err)
{
    uint32_t id = rn_json_find(j, 0, RN_LIT("id"));
    enum rn_code rc;

    if (rn_json_kind(j, 0) != RN_JSON_OBJECT)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The input content is invalid: an item is a JSON "
                       "object");
    if (rn_json_kind(j, id) == RN_JSON_UNDEFINED)
        return rn_fail(err, RN_BAD_REQUEST,
                       "Message: {\"Errors\":[\"The input content is invalid "
                       "because the required properties - 'id; ' - are "
                       "missing\"]}");
    if (rn_json_kind(j, id) != RN_JSON_STRING)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The input content is invalid: 'id' must be a string");
    rc = rn_json_string_get(j, id, &w->arena, out);
    if (!rc)
        rc = rn_id_check(RN_KIND_DOCUMENT, *out, err);
    if (!rc && w->verb == RN_DOCUMENT_REPLACE && !rn_view_eq(*out, w->id))
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The id in the body is not the id of the item that is "
                     "replaced");
    return rc;
}

static enum rn_code check_key(const struct rn_document_write *w,
                              const struct rn_pk *found, struct rn_err *err)
{
    if (!w->pk || rn_pk_eq(w->pk, found))
        return RN_OK;
    return rn_fail_reason(err, RN_REASON_KEY_MISMATCH,
                          "Message: {\"Errors\":[\"PartitionKey extracted "
                          "from document doesn't match the one specified in "
                          "the header\"]}");
}

static enum rn_code make_key(struct rn_document_write *w,
                             const struct rn_pk *pk, struct rn_view id,
                             struct rn_epk *epk)
{
    w->key = rn_arena_alloc(&w->arena, sizeof(*w->key));
    if (!w->key)
        return RN_NOMEM;
    rn_epk_of(&w->container->pkdef, pk, epk);
    rn_key_document(w->container->number, &w->container->pkdef, epk, pk, id,
                    w->key);
    w->place.range = rn_container_range_of(w->container, rn_epk_view(epk))->id;
    return RN_OK;
}

static enum rn_code prepare_body(struct rn_document_write *w,
                                 struct rn_err *err)
{
    struct rn_json j;
    struct rn_view id;
    struct rn_epk epk;
    struct rn_pk pk;
    enum rn_code rc;

    if (w->body.len > RN_DOCUMENT_MAX)
        return rn_fail(err, RN_TOO_LARGE,
                       "Message: {\"Errors\":[\"Request size is too "
                       "large\"]}");
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, w->body, err);
    if (!rc)
        rc = read_id(w, &j, &id, err);
    if (!rc)
        rc = read_ttl(w, &j, err);
    if (!rc)
        rc = rn_pkdef_extract(&w->container->pkdef, &j, 0, &w->arena, &pk, err);
    if (!rc)
        rc = rn_pk_check_size(&pk, err);
    if (!rc)
        rc = check_key(w, &pk, err);
    if (!rc)
        rc = make_key(w, &pk, id, &epk);
    if (!rc)
        rc = render(w, &j, rn_epk_view(&epk));
    rn_json_release(&j);
    return rc;
}

/* ---- deciding ------------------------------------------------------------ */

struct decision {
    struct rn_row_range range;
    struct rn_row_document old;
    bool exists;
};

static enum rn_code refuse_condition(struct rn_err *err)
{
    return rn_fail(err, RN_PRECONDITION,
                   "Operation cannot be performed because one of the "
                   "specified precondition is not met.");
}

static enum rn_code check_conditions(const struct rn_document_write *w,
                                     const struct decision *d,
                                     struct rn_err *err)
{
    char etag[RN_ETAG_LEN];
    struct rn_view view = rn_view_of(etag, RN_ETAG_LEN);

    if (!d->exists)
        return RN_OK; /* an upsert creates whatever the condition says */
    rn_etag_print((struct rn_etag){ .lsn = d->old.lsn,
                                    .range = d->old.range,
                                    .n = d->old.n },
                  etag);
    if (w->if_match.at && !rn_etag_matches(w->if_match, view))
        return refuse_condition(err);
    if (w->if_none_match.at && w->verb != RN_DOCUMENT_CREATE &&
        rn_etag_matches(w->if_none_match, view))
        return refuse_condition(err);
    return RN_OK;
}

static enum rn_code check_existence(const struct rn_document_write *w,
                                    const struct decision *d,
                                    struct rn_err *err)
{
    if (w->verb == RN_DOCUMENT_CREATE && d->exists)
        return rn_fail(err, RN_CONFLICT,
                       "Entity with the specified id already exists in the "
                       "system.");
    if ((w->verb == RN_DOCUMENT_REPLACE || w->verb == RN_DOCUMENT_DELETE) &&
        !d->exists)
        return rn_fail(err, RN_NOT_FOUND,
                       "Entity with the specified id does not exist in the "
                       "system.");
    return RN_OK;
}

/* Reads the state the decision rests on. */
static enum rn_code look(struct rn_document_write *w, struct rn_txn *txn,
                         struct decision *d, struct rn_err *err)
{
    struct rn_view bytes;
    struct rn_row_feed feed;
    enum rn_code rc =
        rn_range_read(txn, w->container, w->place.range, &d->range);

    if (rc == RN_NOT_FOUND)
        return rn_fail_reason(err, RN_REASON_OWNER,
                              "Owner resource does not exist");
    w->place.lsn = d->range.lsn; /* told with a refusal, too */
    if (!rc)
        rc = rn_txn_get(txn, rn_key_view(w->key), &bytes);
    d->exists = !rc;
    if (!rc)
        rc = rn_row_document_decode(bytes, &d->old);
    if (rc == RN_NOT_FOUND)
        return RN_OK;
    if (!rc && w->container->default_ttl != RN_TTL_OFF) {
        rc = rn_document_follow(txn, w->container, &d->old, &feed);
        if (!rc && rn_document_is_expired(w->container, &feed,
                                          rn_engine_now(w->engine)))
            d->exists = false; /* but its rows are there; see replace_old */
    }
    return rc;
}

/* ---- writing ------------------------------------------------------------- */

static enum rn_code remove_feed_row(struct rn_txn *txn,
                                    const struct rn_container *c,
                                    const struct rn_row_document *old)
{
    struct rn_key key;

    rn_key_feed(c->number, old->range, old->lsn, old->n, &key);
    return rn_txn_del(txn, rn_key_view(&key));
}

static enum rn_code remove_rid_row(struct rn_txn *txn,
                                   const struct rn_container *c, uint64_t rid)
{
    struct rn_key key;

    rn_key_rid(c->number, rid, &key);
    return rn_txn_del(txn, rn_key_view(&key));
}

static enum rn_code add_rid_row(struct rn_txn *txn,
                                const struct rn_document_write *w, uint64_t rid)
{
    struct rn_key key;

    rn_key_rid(w->container->number, rid, &key);
    return rn_txn_put(
        txn, rn_key_view(&key),
        rn_view_of(w->key->bytes + RN_KEY_HEAD, w->key->len - RN_KEY_HEAD));
}

/* Writes what the committer decided into the slots. */
static void fill_slots(struct rn_document_write *w, uint64_t rid_number,
                       int64_t ts)
{
    struct rn_rid rid =
        rn_rid_child(w->container->rid, RN_KIND_DOCUMENT, rid_number);
    char text[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX], etag[RN_ETAG_LEN];
    char digits[TS_DIGITS + 12];
    struct rn_view v = rn_rid_print(rid, text);

    memcpy(w->row.at + w->rid_slot, v.at, v.len);
    v = rn_rid_print_self(rid, self);
    memcpy(w->row.at + w->self_slot, v.at, v.len);
    rn_etag_print(w->place.etag, etag);
    memcpy(w->row.at + w->etag_slot, etag + 1, RN_ETAG_LEN - 2);
    snprintf(digits, sizeof(digits), "%*lld", TS_DIGITS, (long long)ts);
    memcpy(w->row.at + w->ts_slot, digits, TS_DIGITS);
    rn_put_u64_be(w->row.at + 8, (uint64_t)ts); /* the row's header */
    rn_put_u64_be(w->row.at + 16, rid_number);
}

static enum rn_code put_version(struct rn_document_write *w, struct rn_txn *txn,
                                struct decision *d)
{
    char bytes[RN_ROW_DOCUMENT_BYTES];
    struct rn_row_document row = { .range = w->place.range,
                                   .lsn = d->range.lsn };
    struct rn_key feed;
    enum rn_code rc = RN_OK;

    row.rid = d->exists ? d->old.rid
                        : rn_rid_number(w->place.range, d->range.next_rid++);
    w->place.etag =
        (struct rn_etag){ .lsn = row.lsn, .range = row.range, .n = row.n };
    fill_slots(w, row.rid, d->range.last_ts);
    rn_key_feed(w->container->number, row.range, row.lsn, row.n, &feed);
    rn_row_document_encode(&row, bytes);
    rc = rn_txn_put(txn, rn_key_view(&feed), rn_buf_view(&w->row));
    if (!rc)
        rc = rn_txn_put(txn, rn_key_view(w->key),
                        rn_view_of(bytes, sizeof(bytes)));
    if (!rc && !d->exists)
        rc = add_rid_row(txn, w, row.rid);
    return rc;
}

/* An expired version is deleted with an LSN of its own before another takes its
 * place. */
static enum rn_code bury_expired(struct rn_document_write *w,
                                 struct rn_txn *txn, struct decision *d)
{
    enum rn_code rc = remove_feed_row(txn, w->container, &d->old);

    if (!rc)
        rc = remove_rid_row(txn, w->container, d->old.rid);
    if (!rc)
        rc = rn_txn_del(txn, rn_key_view(w->key));
    d->range.lsn++;
    return rc;
}

static enum rn_code apply(struct rn_document_write *w, struct rn_txn *txn,
                          struct decision *d)
{
    int64_t now = rn_engine_now(w->engine);
    enum rn_code rc = RN_OK;

    if (!d->exists && d->old.lsn)
        rc = bury_expired(w, txn, d);
    d->range.lsn++;
    if (d->range.last_ts < now)
        d->range.last_ts = now;
    if (!rc && d->exists)
        rc = remove_feed_row(txn, w->container, &d->old);
    if (!rc && w->verb == RN_DOCUMENT_DELETE) {
        rc = remove_rid_row(txn, w->container, d->old.rid);
        if (!rc)
            rc = rn_txn_del(txn, rn_key_view(w->key));
    } else if (!rc) {
        rc = put_version(w, txn, d);
    }
    if (!rc)
        rc = rn_range_write(txn, w->container, w->place.range, &d->range);
    w->place.lsn = d->range.lsn;
    return rc;
}

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_document_write *w =
        RN_QUEUED(op, struct rn_document_write, operation);
    struct decision d = { 0 };
    enum rn_code rc = look(w, txn, &d, &op->err);

    if (!rc)
        rc = check_existence(w, &d, &op->err);
    if (!rc)
        rc = check_conditions(w, &d, &op->err);
    if (rc)
        return rc;
    w->created = !d.exists;
    return apply(w, txn, &d);
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_document_write *w =
        RN_QUEUED(op, struct rn_document_write, operation);

    if (!rc && w->verb != RN_DOCUMENT_DELETE) {
        size_t head = RN_ROW_FEED_HEADER + (unsigned char)w->row.at[1];
        w->stored = rn_view_of(w->row.at + head, w->row.len - head);
    }
    w->done.call(&w->done, rc, err);
}

/* ---- starting ------------------------------------------------------------ */

enum rn_code rn_document_write_start(struct rn_engine *e,
                                     struct rn_document_write *w,
                                     struct rn_err *err)
{
    struct rn_epk epk;
    enum rn_code rc;

    w->engine = e;
    w->arena = RN_ARENA_INIT(ROW_MAX);
    w->row = RN_BUF_INIT(ROW_MAX);
    w->stored = (struct rn_view){ 0 };
    w->ttl = 0;
    if (w->verb == RN_DOCUMENT_DELETE)
        rc = make_key(w, w->pk, w->id, &epk);
    else
        rc = prepare_body(w, err);
    w->operation = (struct rn_operation){
        .run = run,
        .done = done,
        .flags = w->verb == RN_DOCUMENT_DELETE ? RN_OPERATION_FREES : 0,
        .bytes = w->row.len + 256,
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
    rn_buf_release(&w->row);
    rn_arena_release(&w->arena);
}
