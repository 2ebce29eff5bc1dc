/* box.c -- see box.h. */
#include "lib/box.h"

#include "base/queue.h"

struct database db;
struct rn_rid owner;
struct rn_object *box;
struct document doc;

static int open_with(const char *definition, bool is_simulated, uint32_t ranges)
{
    database_open(&db, is_simulated, ranges);
    owner = make_database(&db, "d");
    box = make_container(&db, owner, definition);
    return 0;
}

int box_open(const char *definition, uint32_t ranges)
{
    return open_with(definition, true, ranges);
}

int box_setup(void **state)
{
    (void)state;
    return box_open(CONTAINER(",\"defaultTtl\":-1"), 1);
}

int box_open_real(const char *definition)
{
    return open_with(definition, false, 1);
}

int box_close(void **state)
{
    (void)state;
    document_clear(&doc);
    rn_object_release(box);
    box = NULL;
    database_close(&db);
    return 0;
}

void box_refresh(void)
{
    struct rn_object *now = rn_catalog_find_rid(db.engine, box->rid);

    assert_non_null(now);
    rn_object_release(box);
    box = now;
}

void box_reopen(void)
{
    database_reopen(&db);
    box_refresh();
}

void box_use(const char *definition)
{
    rn_object_release(box);
    box = make_container(&db, owner, definition);
}

void box_redefine(const char *definition)
{
    rn_object_release(box);
    box = NULL;
    assert_int_equal(
        change(&db, RN_CATALOG_REPLACE, owner, "c", definition, &box), RN_OK);
}

enum rn_code box_reshape(const struct rn_split_merge *like)
{
    enum rn_code rc = run_reshape(&db, box, like);

    box_refresh();
    return rc;
}

enum rn_code box_write(enum rn_document_verb verb, const char *pk,
                       const char *id, const char *body)
{
    struct asked asked = { .pk = pk, .id = id };

    return write_document(&db, box, verb, body, &asked, &doc);
}

void box_put(const char *body)
{
    assert_int_equal(box_write(RN_DOCUMENT_UPSERT, NULL, NULL, body), RN_OK);
}

void box_del(const char *pk, const char *id)
{
    assert_int_equal(box_write(RN_DOCUMENT_DELETE, pk, id, NULL), RN_OK);
}

static void queued_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *why)
{
    struct rn_document_write *w =
        RN_CONTAINER_OF(done, struct rn_document_write, done);
    struct queued *q = RN_CONTAINER_OF(w, struct queued, write);

    (void)why;
    q->rc = rc;
    q->is_done = true;
}

void box_damage(const char *pk, const char *id)
{
    struct rn_txn *txn = NULL;
    struct rn_key key;

    assert_int_equal(read_document(&db, box, pk, id, &doc), RN_OK);
    rn_key_feed(box->number, doc.place.etag.range, doc.place.etag.lsn,
                doc.place.etag.n, &key);
    assert_int_equal(rn_txn_begin(db.store, RN_TXN_WRITE,
                                  (struct rn_lock){ .container = box->number },
                                  &txn, NULL),
                     RN_OK);
    assert_int_equal(rn_txn_del(txn, rn_key_view(&key)), RN_OK);
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
}

void queue_write(struct queued *q, const char *body)
{
    *q = (struct queued){ .write = { .done.call = queued_done,
                                     .verb = RN_DOCUMENT_UPSERT,
                                     .container = box->container,
                                     .body = rn_view_text(body) } };
    assert_int_equal(rn_document_write_start(db.engine, &q->write, NULL),
                     RN_OK);
}

void end_write_as(struct queued *q, enum rn_code rc)
{
    assert_true(q->is_done);
    assert_int_equal(q->rc, rc);
    rn_document_write_release(&q->write);
}

void end_write(struct queued *q)
{
    end_write_as(q, RN_OK);
}

void turn_clock(int64_t seconds)
{
    rn_sim_run(db.sim, seconds * 1000000000);
}
