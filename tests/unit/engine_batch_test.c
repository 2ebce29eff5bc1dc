/* engine_batch_test.c -- batches, bulk and patches, decided in the committer.
 *
 * Goal: an atomic batch happens in whole, with one LSN, or not at all; the
 * operations of a bulk by themselves, each with its own; a patch is applied to
 * the version that is there when its turn comes, whatever was written since it
 * was prepared.  Method: a database over `mem` with a simulated clock and
 * committer, in which a write can be queued before a batch that was prepared
 * without knowing it; and threads that patch one document.
 */
#include "base/queue.h"
#include "cosmos/status.h"
#include "lib/database.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct database db;
static struct rn_rid owner;
static struct rn_object *box;
static struct document doc;
static struct rn_arena arena;
static struct rn_err err;

static struct rn_batch_operation ops[RN_BATCH_MAX];
static struct rn_batch batch;

#define DEFINITION                                                             \
    "{\"id\":\"c\",\"defaultTtl\":-1,"                                         \
    "\"partitionKey\":{\"paths\":[\"/pk\"],\"version\":2}}"

static int open_with(uint32_t ranges, bool is_simulated)
{
    database_open(&db, is_simulated, ranges);
    owner = make_database(&db, "d");
    box = make_container(&db, owner, DEFINITION);
    arena = RN_ARENA_INIT(64 << 20);
    memset(&doc, 0, sizeof(doc));
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return open_with(1, true);
}

static int setup_many_ranges(void **state)
{
    (void)state;
    return open_with(4, true);
}

static int setup_real(void **state)
{
    (void)state;
    return open_with(1, false);
}

static int teardown(void **state)
{
    (void)state;
    rn_arena_release(&arena);
    document_clear(&doc);
    rn_object_release(box);
    database_close(&db);
    return 0;
}

/* ---- making -------------------------------------------------------------- */

static struct rn_pk *key_of(const char *text)
{
    struct rn_pk *pk = rn_arena_alloc(&arena, sizeof(*pk));

    assert_int_equal(rn_pk_parse(rn_view_text(text), &arena, pk, NULL), RN_OK);
    return pk;
}

static void begin(enum rn_batch_mode mode, const char *pk)
{
    memset(ops, 0, sizeof(ops));
    batch = (struct rn_batch){ .mode = mode,
                               .container = box->container,
                               .pk = pk ? key_of(pk) : NULL,
                               .operations = ops };
}

static struct rn_batch_operation *add_keyed(enum rn_document_verb verb,
                                            const char *pk, const char *id,
                                            const char *body)
{
    struct rn_batch_operation *op = &ops[batch.count++];

    op->verb = verb;
    op->pk = pk ? key_of(pk) : batch.pk;
    if (id)
        op->id = rn_view_text(id);
    if (body)
        op->body = rn_view_text(body);
    return op;
}

static struct rn_batch_operation *add(enum rn_document_verb verb,
                                      const char *id, const char *body)
{
    return add_keyed(verb, NULL, id, body);
}

static enum rn_code run(void)
{
    return run_batch(&db, &batch, &err);
}

static void assert_codes(const enum rn_code *codes)
{
    for (size_t i = 0; i < batch.count; i++)
        if (ops[i].code != codes[i])
            fail_msg("operation %zu: %s: %s", i, rn_code_name(ops[i].code),
                     ops[i].err.text);
}

#define CODES(...) assert_codes((enum rn_code[]){ __VA_ARGS__ })

static void put(const char *body)
{
    assert_int_equal(
        write_document(&db, box, RN_DOCUMENT_UPSERT, body, NULL, &doc), RN_OK);
}

static enum rn_code patch(const char *id, const char *body)
{
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_PATCH, id, body);
    assert_int_equal(run(), RN_OK);
    rn_batch_release(&batch);
    return ops[0].code;
}

static uint64_t lsn_now(void)
{
    struct document probe = { 0 };
    uint64_t lsn;

    (void)!read_document(&db, box, "[1]", "nobody", &probe);
    lsn = probe.place.lsn;
    document_clear(&probe);
    return lsn;
}

static void assert_stored(const char *id, const char *part)
{
    assert_int_equal(read_document(&db, box, "[1]", id, &doc), RN_OK);
    if (!strstr(doc.body, part))
        fail_msg("no %s in %.200s", part, doc.body);
}

static void assert_absent(const char *id)
{
    assert_int_equal(read_document(&db, box, "[1]", id, &doc), RN_NOT_FOUND);
}

#define INCR "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}]"
#define DOC(id, rest) "{\"id\":\"" id "\",\"pk\":1" rest "}"

/* A write that is queued and not yet run. */
struct queued {
    struct rn_document_write write;
    bool is_done;
};

static void queued_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *why)
{
    struct rn_document_write *w =
        RN_QUEUED(done, struct rn_document_write, done);

    (void)why;
    assert_int_equal(rc, RN_OK);
    RN_QUEUED(w, struct queued, write)->is_done = true;
}

static void queue_write(struct queued *q, const char *body)
{
    *q = (struct queued){ .write = { .done.call = queued_done,
                                     .verb = RN_DOCUMENT_UPSERT,
                                     .container = box->container,
                                     .body = rn_view_text(body) } };
    assert_int_equal(rn_document_write_start(db.engine, &q->write, &err),
                     RN_OK);
}

static void end_write(struct queued *q)
{
    assert_true(q->is_done);
    rn_document_write_release(&q->write);
}

/* A document too large to be patched in the committer. */
static const char *large(const char *rest)
{
    static char text[40 << 10];
    static char filler[32 << 10];

    memset(filler, 'x', sizeof(filler) - 1);
    snprintf(text, sizeof(text), "{\"id\":\"a\",\"pk\":1,\"f\":\"%s\"%s}",
             filler, rest);
    return text;
}

/* ---- patches ------------------------------------------------------------- */

static void a_patch_makes_the_next_version(void **state)
{
    uint64_t rid, lsn;

    (void)state;
    put(DOC("a", ",\"n\":1"));
    rid = doc.rid;
    lsn = doc.place.lsn;
    assert_int_equal(patch("a", INCR), RN_OK);
    assert_int_equal(ops[0].place.lsn, lsn + 1);
    assert_stored("a", "\"n\":2");
    assert_int_equal(doc.rid, rid);
    assert_int_equal(doc.place.etag.lsn, lsn + 1);
}

static void a_refused_patch_changes_nothing(void **state)
{
    static const struct {
        const char *patch;
        enum rn_code rc;
    } rows[] = {
        { "[{\"op\":\"remove\",\"path\":\"/none\"}]", RN_BAD_REQUEST },
        { "[{\"op\":\"set\",\"path\":\"/ttl\",\"value\":0}]", RN_BAD_REQUEST },
        { "[{\"op\":\"set\",\"path\":\"/id\",\"value\":\"b\"}]",
          RN_BAD_REQUEST },
        { "[{\"op\":\"set\",\"path\":\"/pk\",\"value\":1}]", RN_BAD_REQUEST },
        { "{\"condition\":\"from c where c.n > 1\",\"operations\":" INCR "}",
          RN_PRECONDITION },
        { "nonsense", RN_BAD_REQUEST },
    };

    (void)state;
    put(DOC("a", ",\"n\":1"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(patch("a", rows[i].patch), rows[i].rc);
        assert_true(ops[0].err.text[0] != '\0');
        assert_int_equal(lsn_now(), 1);
        assert_stored("a", "\"n\":1");
    }
    assert_int_equal(patch("none", INCR), RN_NOT_FOUND);
}

static void a_ttl_is_patched_like_any_property(void **state)
{
    (void)state;
    put(DOC("a", ""));
    assert_int_equal(
        patch("a", "[{\"op\":\"set\",\"path\":\"/ttl\",\"value\":3}]"), RN_OK);
    assert_stored("a", "\"ttl\":3");
    rn_sim_wall_jump(db.sim, 3000);
    assert_absent("a");
    assert_int_equal(patch("a", INCR), RN_NOT_FOUND);
}

static void a_patch_minds_the_etag(void **state)
{
    char etag[RN_ETAG_LEN + 1];

    (void)state;
    put(DOC("a", ",\"n\":1"));
    memcpy(etag, doc.etag, sizeof(etag));
    put(DOC("a", ",\"n\":5"));
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_PATCH, "a", INCR)->conditions.if_match = rn_view_text(etag);
    assert_int_equal(run(), RN_OK);
    assert_int_equal(ops[0].code, RN_PRECONDITION);
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":5");
}

static void a_small_document_is_patched_as_it_is_found(void **state)
{
    struct queued other;

    (void)state;
    put(DOC("a", ",\"n\":1"));
    queue_write(&other, DOC("a", ",\"n\":10"));
    assert_int_equal(patch("a", INCR), RN_OK);
    end_write(&other);
    assert_int_equal(batch.tries, 1);
    assert_stored("a", "\"n\":11");
}

static void a_document_that_comes_just_before_is_patched(void **state)
{
    struct queued other;

    (void)state;
    queue_write(&other, DOC("a", ",\"n\":10"));
    assert_int_equal(patch("a", INCR), RN_OK);
    end_write(&other);
    assert_stored("a", "\"n\":11");
}

static void a_large_document_is_patched_again_outside(void **state)
{
    struct queued other;

    (void)state;
    put(large(",\"n\":1"));
    queue_write(&other, large(",\"n\":10"));
    assert_int_equal(patch("a", INCR), RN_OK);
    end_write(&other);
    assert_int_equal(batch.tries, 2);
    assert_stored("a", "\"n\":11");
}

static void a_condition_holds_when_the_patch_is_made(void **state)
{
    static const char text[] =
        "{\"condition\":\"from c where c.n = 1\",\"operations\":" INCR "}";
    struct queued other;

    (void)state;
    put(DOC("a", ",\"n\":1"));
    queue_write(&other, DOC("a", ",\"n\":10"));
    assert_int_equal(patch("a", text), RN_PRECONDITION);
    end_write(&other);
    assert_stored("a", "\"n\":10");
    queue_write(&other, DOC("a", ",\"n\":1"));
    assert_int_equal(patch("a", text), RN_OK);
    end_write(&other);
    assert_stored("a", "\"n\":2");
}

static void round_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *why)
{
    (void)done;
    (void)why;
    assert_int_equal(rc, RN_OK);
}

static void a_patch_that_is_always_late_is_told_so(void **state)
{
    struct queued other;
    int rounds = 0;

    (void)state;
    put(large(",\"n\":1"));
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_PATCH, "a", INCR);
    batch.done.call = round_done;
    do {
        char rest[40];
        enum rn_code rc;

        snprintf(rest, sizeof(rest), ",\"n\":%d", 10 * ++rounds);
        queue_write(&other, large(rest));
        /* One round of it, by hand: the other write is in its way. */
        rc = batch.engine ? rn_batch_resume(&batch, &err)
                          : rn_batch_start(db.engine, &batch, &err);
        assert_int_equal(rc, RN_OK);
        database_settle(&db);
        end_write(&other);
    } while (batch.is_unfinished && rounds < 100);
    assert_int_equal(ops[0].code, RN_CONFLICT);
    assert_int_equal(ops[0].err.reason, RN_REASON_RETRY_WITH);
    assert_int_equal(rounds, 32);
    rn_batch_release(&batch);
}

static void patched_documents_keep_the_limit(void **state)
{
    char *text = malloc(RN_DOCUMENT_MAX);

    (void)state;
    put(DOC("a", ""));
    for (int i = 0; i < 2; i++) {
        snprintf(text, RN_DOCUMENT_MAX,
                 "[{\"op\":\"add\",\"path\":\"/%d\",\"value\":\"%0*d\"}]", i,
                 RN_DOCUMENT_MAX - 100, 0);
        assert_int_equal(patch("a", text), i ? RN_TOO_LARGE : RN_OK);
    }
    free(text);
}

enum { THREADS = 6, PATCHES = 60 };

static void *patch_often(void *argument)
{
    (void)argument;
    for (int i = 0; i < PATCHES; i++) {
        struct rn_pk pk = {
            .count = 1, .values = { { .type = RN_PK_NUMBER, .number = 1 } }
        };
        struct rn_batch_operation op = { .verb = RN_DOCUMENT_PATCH,
                                         .pk = &pk,
                                         .id = RN_LIT("a"),
                                         .body = RN_LIT(INCR) };
        struct rn_batch b = { .mode = RN_BATCH_ATOMIC,
                              .container = box->container,
                              .pk = &pk,
                              .operations = &op,
                              .count = 1 };
        struct rn_err why;

        assert_int_equal(run_batch(&db, &b, &why), RN_OK);
        if (op.code)
            i--; /* always too late: the client tries again */
        rn_batch_release(&b);
    }
    return NULL;
}

static void count_from_many_threads(const char *document)
{
    pthread_t threads[THREADS];
    char part[40];

    put(document);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, patch_often, NULL),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    snprintf(part, sizeof(part), "\"n\":%d", THREADS * PATCHES);
    assert_stored("a", part);
    assert_int_equal(lsn_now(), 1 + THREADS * PATCHES);
}

static void no_patch_of_many_threads_is_lost(void **state)
{
    (void)state;
    count_from_many_threads(DOC("a", ",\"n\":0"));
}

static void no_patch_of_a_large_document_is_lost(void **state)
{
    (void)state;
    count_from_many_threads(large(",\"n\":0"));
}

/* ---- atomic batches ------------------------------------------------------ */

static void a_batch_has_one_lsn_and_an_etag_for_each(void **state)
{
    (void)state;
    put(DOC("r", ",\"n\":1"));
    put(DOC("d", ""));
    put(DOC("p", ",\"n\":7"));
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_CREATE, NULL, DOC("c", ""));
    add(RN_DOCUMENT_UPSERT, NULL, DOC("u", ""));
    add(RN_DOCUMENT_REPLACE, "r", DOC("r", ",\"n\":2"));
    add(RN_DOCUMENT_DELETE, "d", NULL);
    add(RN_DOCUMENT_PATCH, "p", INCR);
    add(RN_DOCUMENT_READ, "r", NULL);
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK, RN_OK, RN_OK, RN_OK);
    assert_true(ops[0].created && ops[1].created && !ops[2].created);
    for (int i = 0; i < 6; i++)
        assert_int_equal(ops[i].place.lsn, 4);
    for (int i = 0; i < 5; i++)
        if (i != 3)
            assert_int_equal(ops[i].place.etag.n, i);
    assert_non_null(memmem(ops[5].stored.at, ops[5].stored.len, "\"n\":2", 5));
    assert_int_equal(ops[3].stored.len, 0);
    rn_batch_release(&batch);
    assert_int_equal(lsn_now(), 4);
    assert_stored("c", "\"c\"");
    assert_stored("u", "\"u\"");
    assert_stored("r", "\"n\":2");
    assert_stored("p", "\"n\":8");
    assert_absent("d");
}

static void one_refusal_undoes_all(void **state)
{
    (void)state;
    put(DOC("a", ",\"n\":1"));
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
    add(RN_DOCUMENT_PATCH, "a", INCR);
    add(RN_DOCUMENT_DELETE, "none", NULL);
    add(RN_DOCUMENT_CREATE, NULL, DOC("c", ""));
    assert_int_equal(run(), RN_OK);
    CODES(RN_CONFLICT, RN_CONFLICT, RN_NOT_FOUND, RN_CONFLICT);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ops[i].err.reason, i == 2 ? 0 : RN_REASON_DEPENDENCY);
    rn_batch_release(&batch);
    assert_int_equal(lsn_now(), 1);
    assert_stored("a", "\"n\":1");
    assert_absent("b");
}

static void each_refusal_has_its_own_code(void **state)
{
    static const struct {
        enum rn_document_verb verb;
        const char *id, *body, *if_match, *if_none_match;
        enum rn_code rc;
    } rows[] = {
        { RN_DOCUMENT_CREATE, NULL, DOC("a", ""), NULL, NULL, RN_CONFLICT },
        { RN_DOCUMENT_CREATE, NULL, "{\"pk\":1}", NULL, NULL, RN_BAD_REQUEST },
        { RN_DOCUMENT_CREATE, NULL, "{", NULL, NULL, RN_BAD_REQUEST },
        { RN_DOCUMENT_CREATE, NULL, "{\"id\":\"x\",\"pk\":2}", NULL, NULL,
          RN_BAD_REQUEST },
        { RN_DOCUMENT_REPLACE, "x", DOC("x", ""), NULL, NULL, RN_NOT_FOUND },
        { RN_DOCUMENT_REPLACE, "a", DOC("x", ""), NULL, NULL, RN_BAD_REQUEST },
        { RN_DOCUMENT_REPLACE, "a", DOC("a", ""), "\"no\"", NULL,
          RN_PRECONDITION },
        { RN_DOCUMENT_UPSERT, NULL, DOC("a", ""), "\"no\"", NULL,
          RN_PRECONDITION },
        { RN_DOCUMENT_DELETE, "a", NULL, "\"no\"", NULL, RN_PRECONDITION },
        { RN_DOCUMENT_DELETE, "a", NULL, NULL, "*", RN_PRECONDITION },
        { RN_DOCUMENT_READ, "x", NULL, NULL, NULL, RN_NOT_FOUND },
        { RN_DOCUMENT_READ, "a", NULL, NULL, "*", RN_NOT_MODIFIED },
        { RN_DOCUMENT_PATCH, "x", INCR, NULL, NULL, RN_NOT_FOUND },
        { RN_DOCUMENT_PATCH, "a", "[]", NULL, NULL, RN_BAD_REQUEST },
        { RN_DOCUMENT_PATCH, "a", INCR, "\"no\"", NULL, RN_PRECONDITION },
    };

    (void)state;
    put(DOC("a", ",\"n\":1"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rn_batch_operation *op;

        begin(RN_BATCH_ATOMIC, "[1]");
        op = add(rows[i].verb, rows[i].id, rows[i].body);
        if (rows[i].if_match)
            op->conditions.if_match = rn_view_text(rows[i].if_match);
        if (rows[i].if_none_match)
            op->conditions.if_none_match = rn_view_text(rows[i].if_none_match);
        add(RN_DOCUMENT_READ, "a", NULL);
        assert_int_equal(run(), RN_OK);
        if (op->code != rows[i].rc)
            fail_msg("%zu: %s", i, rn_code_name(op->code));
        rn_batch_release(&batch);
        assert_int_equal(lsn_now(), 1);
    }
}

static void operations_see_those_before_them(void **state)
{
    (void)state;
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_CREATE, NULL, DOC("a", ",\"n\":1"));
    add(RN_DOCUMENT_PATCH, "a", INCR);
    add(RN_DOCUMENT_PATCH, "a",
        "{\"condition\":\"from c where c.n = 2\",\"operations\":" INCR "}");
    add(RN_DOCUMENT_READ, "a", NULL);
    add(RN_DOCUMENT_DELETE, "a", NULL);
    add(RN_DOCUMENT_CREATE, NULL, DOC("a", ",\"n\":5"));
    add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK, RN_OK, RN_OK, RN_OK, RN_OK);
    assert_non_null(memmem(ops[3].stored.at, ops[3].stored.len, "\"n\":3", 5));
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":6");
    assert_int_equal(lsn_now(), 1);
}

static void a_patch_after_a_delete_finds_nothing(void **state)
{
    (void)state;
    put(DOC("a", ",\"n\":1"));
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_DELETE, "a", NULL);
    add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(run(), RN_OK);
    CODES(RN_CONFLICT, RN_NOT_FOUND);
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":1");
}

static void a_batch_is_prepared_again_as_a_whole(void **state)
{
    struct queued other;

    (void)state;
    put(large(",\"n\":1"));
    queue_write(&other, large(",\"n\":10"));
    begin(RN_BATCH_ATOMIC, "[1]");
    add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
    add(RN_DOCUMENT_PATCH, "a", INCR);
    add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK);
    assert_int_equal(batch.tries, 2);
    rn_batch_release(&batch);
    end_write(&other);
    assert_stored("a", "\"n\":12");
    assert_stored("b", "\"b\"");
    assert_int_equal(lsn_now(), 3);
}

static void a_batch_has_a_limit_to_what_it_writes_and_reads(void **state)
{
    char *big = malloc(RN_DOCUMENT_MAX);
    static const char ids[] = "abcde";

    (void)state;
    for (int i = 0; i < 5; i++) {
        snprintf(big, RN_DOCUMENT_MAX,
                 "{\"id\":\"%c\",\"pk\":1,\"f\":\"%0*d\"}", ids[i],
                 RN_DOCUMENT_MAX - 4000, 0);
        put(big);
    }
    for (int reads = 0; reads < 2; reads++) {
        begin(RN_BATCH_ATOMIC, "[1]");
        for (int i = 0; i < 5; i++) {
            if (reads)
                add(RN_DOCUMENT_READ, NULL, NULL)->id = rn_view_of(ids + i, 1);
            else
                add(RN_DOCUMENT_PATCH, NULL, INCR)->id = rn_view_of(ids + i, 1);
        }
        assert_int_equal(run(), RN_OK);
        assert_int_equal(ops[4].code, RN_TOO_LARGE);
        assert_int_equal(ops[0].code, RN_CONFLICT);
        rn_batch_release(&batch);
        assert_int_equal(lsn_now(), 5);
    }
    free(big);
}

/* ---- bulk ---------------------------------------------------------------- */

static void each_operation_of_a_bulk_has_its_own_lsn(void **state)
{
    (void)state;
    put(DOC("a", ",\"n\":1"));
    begin(RN_BATCH_EACH, NULL);
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("a", ""));
    add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    add_keyed(RN_DOCUMENT_DELETE, "[1]", "none", NULL);
    add_keyed(RN_DOCUMENT_PATCH, "[1]", "b", INCR);
    add_keyed(RN_DOCUMENT_CREATE, NULL, NULL, "{\"id\":\"k\",\"pk\":7}");
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, "{\"id\":\"k\",\"pk\":7}");
    add_keyed(RN_DOCUMENT_READ, "[7]", "k", NULL);
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_CONFLICT, RN_OK, RN_NOT_FOUND, RN_OK, RN_OK, RN_BAD_REQUEST,
          RN_OK);
    assert_int_equal(ops[0].place.lsn, 2);
    assert_int_equal(ops[2].place.lsn, 3);
    assert_int_equal(ops[4].place.lsn, 4);
    assert_int_equal(ops[5].place.lsn, 5);
    assert_int_equal(ops[6].err.reason, RN_REASON_KEY_MISMATCH);
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":2");
    assert_stored("b", "\"n\":1");
    assert_int_equal(lsn_now(), 5);
}

static void a_bulk_may_end_at_its_first_failure(void **state)
{
    (void)state;
    begin(RN_BATCH_UNTIL_FAILURE, NULL);
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("a", ""));
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("a", ""));
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_CONFLICT, RN_CONFLICT);
    assert_int_equal(ops[1].err.reason, 0);
    assert_int_equal(ops[2].err.reason, RN_REASON_DEPENDENCY);
    rn_batch_release(&batch);
    assert_stored("a", "\"a\"");
    assert_absent("b");
}

static void a_bulk_keeps_its_order_when_it_is_resumed(void **state)
{
    struct queued other;

    (void)state;
    put(large(",\"n\":1"));
    queue_write(&other, large(",\"n\":10"));
    begin(RN_BATCH_EACH, NULL);
    add_keyed(RN_DOCUMENT_READ, "[1]", "a", NULL);
    add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    add_keyed(RN_DOCUMENT_READ, "[1]", "a", NULL);
    add_keyed(RN_DOCUMENT_DELETE, "[1]", "a", NULL);
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK, RN_OK, RN_OK);
    assert_int_equal(batch.tries, 2);
    assert_non_null(memmem(ops[0].stored.at, ops[0].stored.len, "\"n\":10", 6));
    assert_non_null(memmem(ops[3].stored.at, ops[3].stored.len, "\"n\":11", 6));
    rn_batch_release(&batch);
    end_write(&other);
    assert_absent("a");
    assert_stored("b", "\"b\"");
    assert_int_equal(lsn_now(), 5);
}

static void a_bulk_of_another_range_is_gone_and_writes_nothing(void **state)
{
    uint32_t of[2] = { 0 };
    char pks[2][8], bodies[2][64];
    int found = 0;

    (void)state;
    /* Two keys of different ranges. */
    for (int k = 0; found < 2; k++) {
        const struct rn_range_span *span;
        struct rn_epk epk;

        snprintf(pks[found], sizeof(pks[0]), "[%d]", k);
        snprintf(bodies[found], sizeof(bodies[0]), "{\"id\":\"x\",\"pk\":%d}",
                 k);
        rn_epk_of(&box->container->pkdef, key_of(pks[found]), &epk);
        span = rn_container_range_of(box->container, rn_epk_view(&epk));
        of[found] = span->id;
        found += found == 0 || of[0] != of[1];
    }
    for (int wrong = 1; wrong >= 0; wrong--) {
        begin(RN_BATCH_EACH, NULL);
        batch.has_range = true;
        batch.range = of[0];
        add_keyed(RN_DOCUMENT_CREATE, pks[0], NULL, bodies[0]);
        if (wrong)
            add_keyed(RN_DOCUMENT_CREATE, pks[1], NULL, bodies[1]);
        assert_int_equal(run(), wrong ? RN_GONE : RN_OK);
        rn_batch_release(&batch);
        assert_int_equal(read_document(&db, box, pks[0], "x", &doc),
                         wrong ? RN_NOT_FOUND : RN_OK);
    }
    begin(RN_BATCH_EACH, NULL);
    add_keyed(RN_DOCUMENT_UPSERT, pks[0], NULL, bodies[0]);
    add_keyed(RN_DOCUMENT_UPSERT, pks[1], NULL, bodies[1]);
    assert_int_equal(run(), RN_OK);
    CODES(RN_OK, RN_OK);
    assert_int_equal(ops[0].place.range, of[0]);
    assert_int_equal(ops[1].place.range, of[1]);
    rn_batch_release(&batch);
}

static void a_batch_for_a_deleted_container_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    for (int mode = RN_BATCH_ATOMIC; mode <= RN_BATCH_EACH; mode++) {
        begin((enum rn_batch_mode)mode, "[1]");
        add(RN_DOCUMENT_CREATE, NULL, DOC("a", ""));
        add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
        assert_int_equal(run(), RN_NOT_FOUND);
        assert_int_equal(err.reason, RN_REASON_OWNER);
        rn_batch_release(&batch);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_REAL(f) cmocka_unit_test_setup_teardown(f, setup_real, teardown)
#define TEST_MANY(f)                                                           \
    cmocka_unit_test_setup_teardown(f, setup_many_ranges, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_patch_makes_the_next_version),
        TEST(a_refused_patch_changes_nothing),
        TEST(a_ttl_is_patched_like_any_property),
        TEST(a_patch_minds_the_etag),
        TEST(a_small_document_is_patched_as_it_is_found),
        TEST(a_document_that_comes_just_before_is_patched),
        TEST(a_large_document_is_patched_again_outside),
        TEST(a_condition_holds_when_the_patch_is_made),
        TEST(a_patch_that_is_always_late_is_told_so),
        TEST(patched_documents_keep_the_limit),
        TEST_REAL(no_patch_of_many_threads_is_lost),
        TEST_REAL(no_patch_of_a_large_document_is_lost),
        TEST(a_batch_has_one_lsn_and_an_etag_for_each),
        TEST(one_refusal_undoes_all),
        TEST(each_refusal_has_its_own_code),
        TEST(operations_see_those_before_them),
        TEST(a_patch_after_a_delete_finds_nothing),
        TEST(a_batch_is_prepared_again_as_a_whole),
        TEST(a_batch_has_a_limit_to_what_it_writes_and_reads),
        TEST(each_operation_of_a_bulk_has_its_own_lsn),
        TEST(a_bulk_may_end_at_its_first_failure),
        TEST(a_bulk_keeps_its_order_when_it_is_resumed),
        TEST_MANY(a_bulk_of_another_range_is_gone_and_writes_nothing),
        TEST(a_batch_for_a_deleted_container_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
