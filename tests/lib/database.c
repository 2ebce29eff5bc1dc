/* database.c -- see database.h. */
#include "lib/database.h"

#include "engine/catalog/catalog_change.h"
#include "engine/catalog/object.h"
#include "engine/document/snapshot.h"
#include "engine/index/index_change.h"
#include "lib/faulty.h"
#include "json/json.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARENA = 1 << 20 };

/* ---- life ---------------------------------------------------------------- */

static void open_engine(struct database *d)
{
    struct rn_engine_opts opts = { .env = d->env,
                                   .store = d->store,
                                   .ranges_default = d->ranges };
    struct rn_err err = { 0 };

    if (rn_engine_open(&opts, &d->engine, &err))
        fail_msg("%s", err.text);
}

void database_open(struct database *d, bool is_simulated, uint32_t ranges)
{
    struct rn_store_opts opts = { 0 };
    struct rn_err err = { 0 };

    *d = (struct database){ .ranges = ranges };
    d->sim = is_simulated ? rn_sim_new(1) : NULL;
    d->env = d->sim ? rn_sim_env(d->sim) : rn_env_real();
    opts.env = d->env;
    if (rn_store_open("mem", &opts, &d->store, &err))
        fail_msg("%s", err.text);
    if (d->sim) /* whose one thread is all that it is made for */
        d->store = faulty_new(d->store);
    assert_non_null(d->store);
    open_engine(d);
}

void database_reopen(struct database *d)
{
    rn_engine_close(d->engine);
    open_engine(d);
}

void database_close(struct database *d)
{
    rn_engine_close(d->engine);
    rn_store_close(d->store);
    rn_sim_free(d->sim);
}

/* Slices wait until nobody has written for a while. */
void database_settle(struct database *d)
{
    rn_sim_run(d->sim, 100000000);
}

/* ---- waiting ------------------------------------------------------------- */

struct wait {
    sem_t ended;
    bool is_ended;
    enum rn_code rc;
    struct rn_err err;
};

static void wait_begin(struct wait *w)
{
    memset(w, 0, sizeof(*w));
    sem_init(&w->ended, 0, 0);
}

static void wait_finish(struct wait *w, enum rn_code rc,
                        const struct rn_err *err)
{
    w->rc = rc;
    w->err = *err;
    w->is_ended = true;
    sem_post(&w->ended);
}

/* `rc` is what starting it gave. */
static enum rn_code wait_end(struct database *d, struct wait *w,
                             enum rn_code rc)
{
    while (!rc && d->sim && !w->is_ended)
        assert_true(rn_sim_step(d->sim));
    if (!rc)
        sem_wait(&w->ended);
    sem_destroy(&w->ended);
    return rc ? rc : w->rc;
}

/* Whatever is started and reports when it is done; each begins with `done`. */
struct order {
    struct wait wait;
    union {
        struct rn_done done;
        struct rn_catalog_change change;
        struct rn_document_write write;
        struct rn_index_change index;
        struct rn_delete_partition delete_partition;
        struct rn_split_merge split_merge;
    } of;
};

static void order_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    wait_finish(&RN_CONTAINER_OF(done, struct order, of.done)->wait, rc, err);
}

static void order_begin(struct order *o)
{
    wait_begin(&o->wait);
    o->of.done.call = order_done;
}

/* ---- the catalog --------------------------------------------------------- */

enum rn_code change_like(struct database *d,
                         const struct rn_catalog_change *like,
                         struct rn_object **out)
{
    struct rn_err err = { 0 };
    struct order o = { .of.change = *like };
    enum rn_code rc;

    order_begin(&o);
    rc = rn_catalog_change_start(d->engine, &o.of.change, &err);
    if (rc)
        return wait_end(d, &o.wait, rc);
    rc = wait_end(d, &o.wait, rc);
    if (!rc && out)
        *out = rn_object_share(o.of.change.object);
    rn_catalog_change_release(&o.of.change);
    return rc;
}

enum rn_code change(struct database *d, enum rn_catalog_verb verb,
                    struct rn_rid owner, const char *id, const char *body,
                    struct rn_object **out)
{
    struct rn_catalog_change like = { .verb = verb, .owner = owner };

    like.kind =
        owner.kind == RN_KIND_ACCOUNT ? RN_KIND_DATABASE : RN_KIND_CONTAINER;
    if (id)
        like.id = rn_view_text(id);
    if (body)
        like.body = rn_view_text(body);
    return change_like(d, &like, out);
}

struct rn_rid make_database(struct database *d, const char *id)
{
    struct rn_object *o = NULL;
    struct rn_rid rid;
    char body[200];

    snprintf(body, sizeof(body), "{\"id\":\"%s\"}", id);
    assert_int_equal(
        change(d, RN_CATALOG_CREATE, (struct rn_rid){ 0 }, NULL, body, &o),
        RN_OK);
    rid = o->rid;
    rn_object_release(o);
    return rid;
}

struct rn_object *make_container(struct database *d, struct rn_rid owner,
                                 const char *body)
{
    struct rn_object *o = NULL;

    assert_int_equal(change(d, RN_CATALOG_CREATE, owner, NULL, body, &o),
                     RN_OK);
    return o;
}

/* ---- documents ----------------------------------------------------------- */

void document_clear(struct document *doc)
{
    free(doc->body);
    memset(doc, 0, sizeof(*doc));
}

static void keep(struct document *doc, struct rn_view body)
{
    struct rn_view text;
    struct rn_rid rid;
    struct rn_json j;

    rn_etag_print(doc->place.etag, doc->etag);
    if (!body.len)
        return;
    doc->body = strndup(body.at, body.len);
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, body, NULL), RN_OK);
    assert_true(
        rn_json_int64(&j, rn_json_find(&j, 0, RN_LIT("_ts")), &doc->ts));
    text = rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("_rid")));
    assert_true(rn_rid_parse(text, &rid));
    doc->rid = rid.number;
    rn_json_release(&j);
}

static struct rn_view view_or_none(const char *text)
{
    return text ? rn_view_text(text) : (struct rn_view){ 0 };
}

enum rn_code write_document(struct database *d, const struct rn_object *c,
                            enum rn_document_verb verb, const char *body,
                            const struct asked *asked, struct document *out)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA);
    struct asked none = { 0 };
    struct rn_pk pk;
    struct order o = { .of.write = { .verb = verb,
                                     .container = c->container,
                                     .body = view_or_none(body) } };
    struct rn_document_write *w = &o.of.write;

    document_clear(out);
    asked = asked ? asked : &none;
    w->id = view_or_none(asked->id);
    w->conditions.if_match = view_or_none(asked->if_match);
    w->conditions.if_none_match = view_or_none(asked->if_none_match);
    if (asked->pk) {
        assert_int_equal(
            rn_pk_parse(rn_view_text(asked->pk), &arena, &pk, NULL), RN_OK);
        w->pk = &pk;
    }
    order_begin(&o);
    out->rc = rn_document_write_start(d->engine, w, &out->err);
    if (out->rc) {
        wait_end(d, &o.wait, out->rc);
    } else {
        out->rc = wait_end(d, &o.wait, RN_OK);
        out->err = o.wait.err;
        out->created = w->created;
        out->place = w->place;
        if (!out->rc)
            keep(out, w->stored);
        rn_document_write_release(w);
    }
    rn_arena_release(&arena);
    return out->rc;
}

static void batch_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    struct rn_batch *b = RN_CONTAINER_OF(done, struct rn_batch, done);

    wait_finish(b->owner, rc, err);
}

enum rn_code run_batch(struct database *d, struct rn_batch *b,
                       struct rn_err *err)
{
    struct wait w;
    enum rn_code rc;

    b->done.call = batch_done;
    b->owner = &w;
    do {
        wait_begin(&w);
        rc = b->engine ? rn_batch_resume(b, &w.err)
                       : rn_batch_start(d->engine, b, &w.err);
        rc = wait_end(d, &w, rc);
    } while (!rc && b->is_unfinished);
    *err = w.err;
    return rc;
}

enum rn_code read_document(struct database *d, const struct rn_object *c,
                           const char *pk_text, const char *id,
                           struct document *out)
{
    struct rn_arena arena = RN_ARENA_INIT(ARENA);
    struct rn_snapshot r = { 0 };
    struct rn_view body;
    struct rn_pk pk;

    document_clear(out);
    assert_int_equal(rn_pk_parse(rn_view_text(pk_text), &arena, &pk, NULL),
                     RN_OK);
    out->rc = rn_snapshot_begin(&r, d->engine, c->container, &out->err);
    if (!out->rc)
        out->rc =
            rn_document_read(&r, &pk, rn_view_text(id), &body, &out->place);
    if (!out->rc)
        keep(out, body);
    rn_snapshot_end(&r);
    rn_arena_release(&arena);
    return out->rc;
}

enum rn_code read_document_rid(struct database *d, const struct rn_object *c,
                               uint64_t rid, struct document *out)
{
    struct rn_snapshot r = { 0 };
    struct rn_view body;

    document_clear(out);
    out->rc = rn_snapshot_begin(&r, d->engine, c->container, &out->err);
    if (!out->rc)
        out->rc = rn_document_read_rid(&r, rid, &body, &out->place);
    if (!out->rc)
        keep(out, body);
    rn_snapshot_end(&r);
    return out->rc;
}

/* ---- keys, ranges and indexes -------------------------------------------- */

enum rn_code run_delete_partition(struct database *d, const struct rn_object *c,
                                  const struct rn_pk *pk)
{
    struct order o = {
        .of.delete_partition = { .container = c->container, .pk = pk },
    };

    order_begin(&o);
    return wait_end(
        d, &o.wait,
        rn_delete_partition_start(d->engine, &o.of.delete_partition, NULL));
}

enum rn_code run_split_merge(struct database *d, const struct rn_object *c,
                             const struct rn_split_merge *like)
{
    struct order o = { .of.split_merge = *like };
    enum rn_code rc;

    order_begin(&o);
    o.of.split_merge.container = c->container;
    rc = rn_split_merge_start(d->engine, &o.of.split_merge, NULL);
    rc = wait_end(d, &o.wait, rc);
    rn_split_merge_release(&o.of.split_merge);
    return rc;
}

enum rn_code run_index_change(struct database *d, const struct rn_object *c,
                              const struct rn_index_change *like)
{
    struct order o = { .of.index = *like };

    order_begin(&o);
    o.of.index.container = c->container;
    return wait_end(d, &o.wait,
                    rn_index_change_start(d->engine, &o.of.index, NULL));
}

/* ---- rows ---------------------------------------------------------------- */

size_t count_between(struct database *d, const struct rn_key *from,
                     const struct rn_key *before)
{
    struct rn_key_interval range = { .from = rn_key_view(from),
                                     .before = rn_key_view(before) };
    struct rn_cursor *cursor = NULL;
    struct rn_txn *txn = NULL;
    struct rn_view key, value;
    size_t count = 0;

    assert_int_equal(
        rn_txn_begin(d->store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(rn_txn_scan(txn, &range, &cursor), RN_OK);
    while (!rn_cursor_next(cursor, &key, &value))
        count++;
    rn_cursor_end(cursor);
    rn_txn_abort(txn);
    return count;
}

size_t count_rows(struct database *d, const struct rn_object *c, char tag)
{
    struct rn_key from, before;

    rn_key_span_tag(c->number, tag, &from, &before);
    return count_between(d, &from, &before);
}

struct rn_row_range range_of(struct database *d, const struct rn_object *c,
                             uint32_t range)
{
    struct rn_row_range row;
    struct rn_snapshot r = { 0 };

    assert_int_equal(rn_snapshot_begin(&r, d->engine, c->container, NULL),
                     RN_OK);
    assert_int_equal(rn_range_read(r.txn, c->container, range, &row), RN_OK);
    rn_snapshot_end(&r);
    return row;
}

uint64_t lsn_of(struct database *d, const struct rn_object *c, uint32_t range)
{
    return range_of(d, c, range).lsn;
}
