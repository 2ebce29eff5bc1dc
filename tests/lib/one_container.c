/* one_container.c -- see one_container.h. */
#include "lib/one_container.h"

#include "engine/catalog/object.h"

struct database db;
struct rn_rid owner;
struct rn_object *one_container;
struct document doc;

static int open_with(const char *definition, bool is_simulated, uint32_t ranges)
{
    database_open(&db, is_simulated, ranges);
    owner = make_database(&db, "d");
    one_container = make_container(&db, owner, definition);
    return 0;
}

int one_container_open(const char *definition, uint32_t ranges)
{
    return open_with(definition, true, ranges);
}

int one_container_setup(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(",\"defaultTtl\":-1"), 1);
}

int one_container_open_real(const char *definition)
{
    return open_with(definition, false, 1);
}

int one_container_close(void **state)
{
    (void)state;
    document_clear(&doc);
    rn_object_release(one_container);
    one_container = NULL;
    database_close(&db);
    return 0;
}

void one_container_refresh(void)
{
    struct rn_object *now = rn_catalog_find_rid(db.engine, one_container->rid);

    assert_non_null(now);
    rn_object_release(one_container);
    one_container = now;
}

void one_container_reopen(void)
{
    database_reopen(&db);
    one_container_refresh();
}

void one_container_use(const char *definition)
{
    rn_object_release(one_container);
    one_container = make_container(&db, owner, definition);
}

void one_container_redefine(const char *definition)
{
    rn_object_release(one_container);
    one_container = NULL;
    assert_int_equal(
        change(&db, RN_CATALOG_REPLACE, owner, "c", definition, &one_container),
        RN_OK);
}

enum rn_code one_container_split_merge(const struct rn_split_merge *like)
{
    enum rn_code rc = run_split_merge(&db, one_container, like);

    one_container_refresh();
    return rc;
}

enum rn_code one_container_write(enum rn_document_verb verb, const char *pk,
                                 const char *id, const char *body)
{
    struct asked asked = { .pk = pk, .id = id };

    return write_document(&db, one_container, verb, body, &asked, &doc);
}

void one_container_put(const char *body)
{
    assert_int_equal(one_container_write(RN_DOCUMENT_UPSERT, NULL, NULL, body),
                     RN_OK);
}

void one_container_del(const char *pk, const char *id)
{
    assert_int_equal(one_container_write(RN_DOCUMENT_DELETE, pk, id, NULL),
                     RN_OK);
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

void one_container_damage(const char *pk, const char *id)
{
    struct rn_txn *txn = NULL;
    struct rn_key key;

    assert_int_equal(read_document(&db, one_container, pk, id, &doc), RN_OK);
    rn_key_feed(one_container->number, doc.place.etag.range, doc.place.etag.lsn,
                doc.place.etag.n, &key);
    assert_int_equal(
        rn_txn_begin(db.store, RN_TXN_WRITE,
                     (struct rn_lock){ .container = one_container->number },
                     &txn, NULL),
        RN_OK);
    assert_int_equal(rn_txn_del(txn, rn_key_view(&key)), RN_OK);
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
}

void queue_write(struct queued *q, const char *body)
{
    *q = (struct queued){ .write = { .done.call = queued_done,
                                     .verb = RN_DOCUMENT_UPSERT,
                                     .container = one_container->container,
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
