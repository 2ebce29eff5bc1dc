/* apply.c -- see apply.h. */
#include "engine/document/apply.h"
#include "engine/document/snapshot.h"

#include "cosmos/status.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/feed/history.h"
#include "engine/index/index.h"
#include "waiters/waiters.h"

#include <assert.h>

/* ---- the range ----------------------------------------------------------- */

enum rn_code rn_apply_begin(struct rn_apply *t, struct rn_engine *e,
                            struct rn_txn *txn, const struct rn_container *c,
                            struct rn_view epk, struct rn_err *err)
{
    enum rn_code rc;

    *t = (struct rn_apply){
        .engine = e,
        .txn = txn,
        .container = c,
        .err = err,
        .now = rn_engine_now(e),
        .prefixes = rn_epk_prefixes_of(epk, epk),
    };
    e->background.writes++;
    rc = rn_range_find(txn, c, epk, &t->range, &t->row);
    if (rc == RN_NOT_FOUND)
        return rn_fail_reason(err, RN_REASON_OWNER,
                              "Owner resource does not exist");
    return rc;
}

void rn_apply_next(struct rn_apply *t)
{
    t->lsn = 0;
    t->n = 0;
}

enum rn_code rn_apply_end(struct rn_apply *t)
{
    if (!t->wrote)
        return RN_OK;
    rn_engine_note_move(t->engine, t->container->number, t->range, t->prefixes);
    return rn_range_write(t->txn, t->container, t->range, &t->row);
}

static bool keeps_history(const struct rn_apply *t)
{
    return t->container->history.seconds != RN_HISTORY_OFF;
}

/* Assigns the position in the feed of the current write. */
static struct rn_row_document take_place(struct rn_apply *t)
{
    if (!t->lsn) {
        t->lsn = ++t->row.lsn;
        if (t->row.last_ts < t->now)
            t->row.last_ts = t->now;
        if (!keeps_history(t))
            t->row.lost = t->lsn;
    }
    t->wrote = true;
    return (struct rn_row_document){ .range = t->range,
                                     .lsn = t->lsn,
                                     .n = t->n++ };
}

/* ---- finding ------------------------------------------------------------- */

enum rn_code rn_apply_find(struct rn_apply *t, const struct rn_key *key,
                           struct rn_found *out)
{
    struct rn_row_feed feed;
    struct rn_view bytes;
    enum rn_code rc = RN_NOT_FOUND;

    if (!rn_bloom_lacks(&t->engine->blooms, t->container->number,
                        rn_key_view(key))) {
        rc = rn_txn_get(t->txn, rn_key_view(key), &bytes);
        if (rc == RN_NOT_FOUND)
            rn_bloom_fill_want(t->engine, t->container->number);
    }
    *out = (struct rn_found){ .series = t->container->series };
    if (rc == RN_NOT_FOUND)
        return RN_OK;
    if (!rc)
        rc = rn_row_document_decode(bytes, &out->row);
    if (!rc && t->container->default_ttl != RN_TTL_OFF) {
        rc = rn_document_follow(t->txn, t->container, &out->row, &feed);
        out->expired =
            !rc && rn_document_is_expired(t->container, &feed, t->now);
    }
    out->exists = !rc && !out->expired;
    return rc;
}

enum rn_code rn_apply_find_of(struct rn_apply *t, const struct rn_key *key,
                              const struct rn_pk *pk, struct rn_found *out)
{
    struct rn_row_feed feed;
    bool has_key = true;
    enum rn_code rc = rn_apply_find(t, key, out);

    if (rc || !pk || !(out->exists || out->expired))
        return rc;
    rc = rn_document_follow(t->txn, t->container, &out->row, &feed);
    if (!rc)
        rc = rn_document_has_key(t->container, pk, feed.json, &has_key);
    if (!has_key)
        *out = (struct rn_found){ .is_other = true };
    return rc;
}

enum rn_code rn_found_refuse_other(struct rn_err *err)
{
    return rn_fail_reason(err, RN_REASON_KEY_COLLISION, "%s",
                          rn_status_of(RN_OK, RN_REASON_KEY_COLLISION)->text);
}

struct rn_etag rn_found_etag(const struct rn_found *f)
{
    return rn_row_document_etag(&f->row, f->series);
}

/* ---- writing ------------------------------------------------------------- */

static enum rn_code remove_feed_row(struct rn_apply *t,
                                    const struct rn_row_document *old)
{
    struct rn_key key;

    rn_key_feed(t->container->number, old->range, old->lsn, old->n, &key);
    return rn_txn_del(t->txn, rn_key_view(&key));
}

static enum rn_code remove_rid_row(struct rn_apply *t, uint64_t rid)
{
    struct rn_key key;

    rn_key_rid(t->container->number, rid, &key);
    return rn_txn_del(t->txn, rn_key_view(&key));
}

static enum rn_code add_rid_row(struct rn_apply *t, const struct rn_key *at,
                                uint64_t rid)
{
    struct rn_key key;

    rn_key_rid(t->container->number, rid, &key);
    return rn_txn_put(
        t->txn, rn_key_view(&key),
        rn_view_of(at->bytes + RN_KEY_HEAD, at->len - RN_KEY_HEAD));
}

/* The current version's JSON, borrowed from the store until the next write; its
 * EPK is copied. */
static enum rn_code follow_old(struct rn_apply *t, const struct rn_found *old,
                               struct rn_epk *epk, struct rn_view *json)
{
    struct rn_row_feed feed;
    enum rn_code rc =
        rn_document_follow(t->txn, t->container, &old->row, &feed);

    if (rc)
        return rc;
    epk->len = feed.epk.len;
    memcpy(epk->bytes, feed.epk.at, feed.epk.len);
    *json = feed.json;
    return RN_OK;
}

/* The unique values of the current version. */
static enum rn_code old_unique(struct rn_apply *t, const struct rn_found *old,
                               struct rn_epk *epk, struct rn_unique_hashes *out)
{
    struct rn_view json;
    enum rn_code rc = follow_old(t, old, epk, &json);

    return rc ? rc : rn_unique_hash_stored(t->container, json, out);
}

static enum rn_code remove_unique_rows(struct rn_apply *t,
                                       const struct rn_found *old)
{
    struct rn_unique_hashes was;
    struct rn_epk epk;
    enum rn_code rc;

    if (!t->container->unique.count)
        return RN_OK;
    rc = old_unique(t, old, &epk, &was);
    return rc ? rc
              : rn_unique_write(t->txn, t->container, rn_epk_view(&epk),
                                old->row.rid, &was, NULL);
}

static enum rn_code add_time_row(struct rn_apply *t, int64_t expiry,
                                 uint64_t rid)
{
    struct rn_key key;

    rn_key_time(t->container->number, expiry, rid, &key);
    return rn_txn_put(t->txn, rn_key_view(&key), RN_LIT(""));
}

static enum rn_code remove_time_row(struct rn_apply *t,
                                    const struct rn_row_document *old)
{
    struct rn_row_feed feed;
    struct rn_key key;
    enum rn_code rc;

    if (!old->is_timed)
        return RN_OK;
    rc = rn_document_follow(t->txn, t->container, old, &feed);
    if (rc)
        return rc;
    rn_key_time(t->container->number, feed.ts + feed.ttl, old->rid, &key);
    return rn_txn_del(t->txn, rn_key_view(&key));
}

/* Removes the rows of one version. */
static enum rn_code remove_version(struct rn_apply *t,
                                   const struct rn_row_document *old)
{
    enum rn_code rc = remove_time_row(t, old);

    return rc ? rc : remove_feed_row(t, old);
}

static enum rn_code remove_rows(struct rn_apply *t, const struct rn_key *key,
                                const struct rn_found *old)
{
    struct rn_index_rows rows;
    enum rn_code rc = remove_unique_rows(t, old);

    if (!rc)
        rc = rn_index_rows_begin(&rows, t->engine, t->txn, t->container,
                                 &old->row);
    if (!rc)
        rc = rn_index_rows_end(&rows, t->engine, t->txn, RN_LIT(""),
                               old->row.rid, key);
    if (!rc)
        rc = remove_version(t, &old->row);
    if (!rc)
        rc = remove_rid_row(t, old->row.rid);
    return rc ? rc : rn_txn_del(t->txn, rn_key_view(key));
}

/* ---- history ------------------------------------------------------------- */

enum { HISTORY_MAX = 2 * RN_DOCUMENT_MAX + (256 << 10) };

static enum rn_code copy_old(struct rn_apply *t, const struct rn_found *old,
                             struct rn_epk *epk, struct rn_buf *out)
{
    struct rn_view json;
    enum rn_code rc = follow_old(t, old, epk, &json);

    return rc ? rc : rn_buf_add(out, json);
}

static enum rn_code add_history_row(struct rn_apply *t,
                                    const struct rn_row_document *at,
                                    struct rn_row_history *h)
{
    struct rn_buf row = RN_BUF_INIT(HISTORY_MAX);
    struct rn_key key;
    enum rn_code rc;

    h->ts = t->row.last_ts;
    h->tells_previous = t->container->history.tells_previous;
    rn_key_history(t->container->number, at->range, at->lsn, at->n, &key);
    rc = rn_row_history_encode(h, &row);
    if (!rc)
        rc = rn_txn_put(t->txn, rn_key_view(&key), rn_buf_view(&row));
    rn_buf_release(&row);
    rn_ttl_noted(t->engine, t->container->number, h->ts);
    return rc;
}

/* ---- deleting ------------------------------------------------------------ */

enum rn_code rn_apply_delete(struct rn_apply *t, const struct rn_key *key,
                             const struct rn_found *old)
{
    struct rn_buf json = RN_BUF_INIT(HISTORY_MAX);
    struct rn_row_document at;
    struct rn_epk epk = { 0 };
    enum rn_code rc = RN_OK;

    assert(old->exists || old->expired);
    if (keeps_history(t))
        rc = copy_old(t, old, &epk, &json);
    if (!rc) {
        at = take_place(t);
        rc = remove_rows(t, key, old);
    }
    if (!rc && keeps_history(t)) {
        struct rn_row_history h = { .operation = RN_HISTORY_DELETE,
                                    .is_expired = old->expired,
                                    .previous_lsn = old->row.lsn,
                                    .epk = rn_epk_view(&epk),
                                    .previous = rn_buf_view(&json) };
        rc = add_history_row(t, &at, &h);
    }
    rn_buf_release(&json);
    return rc;
}

/* An expired version is deleted with an LSN of its own, before another replaces
 * it; in the middle of a request, with the request's LSN. */
static enum rn_code delete_expired(struct rn_apply *t, const struct rn_key *key,
                                   const struct rn_found *old)
{
    bool first = !t->lsn;
    enum rn_code rc = rn_apply_delete(t, key, old);

    if (first)
        rn_apply_next(t);
    return rc;
}

/* ---- putting ------------------------------------------------------------- */

/* Finds another document that has the version's values of one unique key (there
 * is no rid 0).  RN_NOT_FOUND if none exists. */
static enum rn_code find_holder(struct rn_apply *t, const struct rn_version *v,
                                const struct rn_found *old, uint32_t i,
                                struct rn_key *key, struct rn_found *out)
{
    struct rn_unique_ask ask = { .container = t->container,
                                 .key = i,
                                 .epk = rn_epk_view(&v->epk),
                                 .json = rn_version_json(v),
                                 .hash = v->unique.of[i],
                                 .rid = old->row.rid };
    struct rn_row_document row;
    enum rn_code rc = rn_unique_find(t->txn, &ask, key, &row);

    return rc ? rc : rn_apply_find(t, key, out);
}

/* Makes sure that the version's unique values are free, before anything is
 * written; then deletes the expired documents that still had them. */
static enum rn_code free_values(struct rn_apply *t, const struct rn_version *v,
                                const struct rn_found *old)
{
    uint32_t keys = t->container->unique.count;
    bool is_expired[RN_UNIQUE_KEYS_MAX] = { false };
    struct rn_found holder;
    struct rn_key key;
    enum rn_code rc;

    for (uint32_t i = 0; i < keys; i++) {
        rc = find_holder(t, v, old, i, &key, &holder);
        if (rc && rc != RN_NOT_FOUND)
            return rc;
        is_expired[i] = !rc;
        if (!rc && holder.exists) {
            return rn_fail(t->err, RN_CONFLICT,
                           "Message: {\"Errors\":[\"Unique index constraint "
                           "violation.\"]}");
        }
    }
    for (uint32_t i = 0; i < keys; i++) {
        rc = is_expired[i] ? find_holder(t, v, old, i, &key, &holder)
                           : RN_NOT_FOUND;
        if (!rc)
            rc = delete_expired(t, &key, &holder);
        if (rc && rc != RN_NOT_FOUND)
            return rc;
    }
    return RN_OK;
}

static enum rn_code write_unique_rows(struct rn_apply *t,
                                      const struct rn_version *v,
                                      const struct rn_found *old, uint64_t rid)
{
    struct rn_unique_hashes was;
    struct rn_epk epk;
    enum rn_code rc = RN_OK;

    if (!t->container->unique.count)
        return RN_OK;
    if (old->exists)
        rc = old_unique(t, old, &epk, &was);
    return rc ? rc
              : rn_unique_write(t->txn, t->container, rn_epk_view(&v->epk), rid,
                                old->exists ? &was : NULL, &v->unique);
}

static enum rn_code remove_old(struct rn_apply *t, const struct rn_version *v,
                               const struct rn_found *old)
{
    if (old->expired)
        return delete_expired(t, &v->key, old);
    return old->exists ? remove_version(t, &old->row) : RN_OK;
}

/* Puts the rows of a new version. */
static enum rn_code add_version(struct rn_apply *t, const struct rn_version *v,
                                struct rn_row_document *row)
{
    char bytes[RN_ROW_DOCUMENT_MAX];
    int64_t ts = t->row.last_ts;
    struct rn_key feed;
    enum rn_code rc = RN_OK;

    row->is_timed = v->ttl > 0;
    rn_key_feed(t->container->number, row->range, row->lsn, row->n, &feed);
    if (row->is_timed)
        rc = add_time_row(t, ts + v->ttl, row->rid);
    if (!rc)
        rc = rn_txn_put(t->txn, rn_key_view(&feed), rn_buf_view(&v->row));
    if (!rc)
        rc = rn_txn_put(t->txn, rn_key_view(&v->key),
                        rn_view_of(bytes, rn_row_document_encode(row, bytes)));
    rn_bloom_add(&t->engine->blooms, t->container->number,
                 rn_key_view(&v->key));
    rn_ttl_written(t->engine, t->container->number, v->ttl, ts);
    return rc;
}

static enum rn_code add_put_history(struct rn_apply *t,
                                    const struct rn_version *v,
                                    const struct rn_found *old,
                                    const struct rn_row_document *at,
                                    struct rn_view previous)
{
    struct rn_row_history h = { .operation = old->exists ? RN_HISTORY_REPLACE
                                                         : RN_HISTORY_CREATE,
                                .previous_lsn = old->exists ? old->row.lsn : 0,
                                .epk = rn_epk_view(&v->epk),
                                .current = rn_version_json(v),
                                .previous = previous };

    return keeps_history(t) ? add_history_row(t, at, &h) : RN_OK;
}

/* Replaces the rows at the version's key. */
static enum rn_code replace_rows(struct rn_apply *t, struct rn_version *v,
                                 const struct rn_found *there, uint64_t rid,
                                 struct rn_row_document *row)
{
    struct rn_index_rows rows;
    enum rn_code rc =
        rn_index_rows_begin(&rows, t->engine, t->txn, t->container,
                            there->exists ? &there->row : NULL);

    if (!rc)
        rc = write_unique_rows(t, v, there, rid);
    if (!rc)
        rc = remove_old(t, v, there);
    if (rc)
        return rc;
    *row = take_place(t);
    row->rid = rid;
    rn_version_fill(v, rid, rn_row_document_etag(row, t->container->series),
                    t->row.last_ts);
    rc = add_version(t, v, row);
    if (!rc && !there->exists)
        rc = add_rid_row(t, &v->key, rid);
    return rc ? rc
              : rn_index_rows_end(&rows, t->engine, t->txn, rn_version_json(v),
                                  rid, &v->key);
}

/* `there` was found at the version's key, `old` is the version that is
 * replaced: the same, or the document that is moved. */
static enum rn_code put(struct rn_apply *t, struct rn_version *v,
                        const struct rn_found *old,
                        const struct rn_found *there, struct rn_etag *etag)
{
    struct rn_buf previous = RN_BUF_INIT(HISTORY_MAX);
    struct rn_row_document row;
    struct rn_epk epk;
    uint64_t rid = old->row.rid;
    enum rn_code rc = RN_OK;

    if (old->exists && keeps_history(t) && t->container->history.tells_previous)
        rc = copy_old(t, old, &epk, &previous);
    if (!rc && v->from)
        rc = remove_rows(t, v->from, old);
    if (!rc && !old->exists)
        rid = rn_rid_number(t->range, t->row.next_rid++);
    if (!rc)
        rc = replace_rows(t, v, there, rid, &row);
    if (!rc)
        rc = add_put_history(t, v, old, &row, rn_buf_view(&previous));
    if (!rc)
        *etag = rn_row_document_etag(&row, t->container->series);
    rn_buf_release(&previous);
    return rc;
}

enum rn_code rn_apply_put(struct rn_apply *t, struct rn_version *v,
                          const struct rn_found *old, struct rn_etag *etag)
{
    enum rn_code rc = free_values(t, v, old);

    assert(!old->is_other);
    return rc ? rc : put(t, v, old, old, etag);
}

enum rn_code rn_apply_move(struct rn_apply *t, struct rn_version *v,
                           const struct rn_found *old, struct rn_etag *etag)
{
    struct rn_found there;
    enum rn_code rc = rn_apply_find_of(t, &v->key, v->pk, &there);

    assert(old->exists && v->from);
    if (!rc && there.is_other)
        rc = rn_found_refuse_other(t->err);
    if (!rc && there.exists)
        rc = rn_fail_usual(t->err, RN_CONFLICT);
    if (!rc)
        rc = free_values(t, v, old);
    if (!rc) /* it may have expired and been deleted already */
        rc = rn_apply_find(t, &v->key, &there);
    return rc ? rc : put(t, v, old, &there, etag);
}
