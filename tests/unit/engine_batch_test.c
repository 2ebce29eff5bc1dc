/* engine_batch_test.c -- batches and bulks, decided in the committer.
 *
 * Goal: an atomic batch happens in whole, with one LSN, or not at all; the
 * operations of a bulk by themselves, each with its own.  Method: a database
 * over `mem` with a simulated clock and committer, in which a write can be
 * queued before a batch that was prepared without knowing it.
 */
#include "lib/batches.h"

#include "cosmos/status.h"
#include "engine/catalog/object.h"
#include "lib/faulty.h"

#include <stdio.h>
#include <stdlib.h>

static int setup(void **state)
{
    (void)state;
    return batches_open(1);
}

static int setup_ranges(void **state)
{
    (void)state;
    return batches_open(4);
}

/* ---- atomic batches ------------------------------------------------------ */

static void a_batch_has_one_lsn_and_an_etag_for_each(void **state)
{
    (void)state;
    one_container_put(DOC("r", ",\"n\":1"));
    one_container_put(DOC("d", ""));
    one_container_put(DOC("p", ",\"n\":7"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("c", ""));
    batch_add(RN_DOCUMENT_UPSERT, NULL, DOC("u", ""));
    batch_add(RN_DOCUMENT_REPLACE, "r", DOC("r", ",\"n\":2"));
    batch_add(RN_DOCUMENT_DELETE, "d", NULL);
    batch_add(RN_DOCUMENT_PATCH, "p", INCR);
    batch_add(RN_DOCUMENT_READ, "r", NULL);
    assert_int_equal(batch_run(), RN_OK);
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
    one_container_put(DOC("a", ",\"n\":1"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    batch_add(RN_DOCUMENT_DELETE, "none", NULL);
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("c", ""));
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_CONFLICT, RN_CONFLICT, RN_NOT_FOUND, RN_CONFLICT);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ops[i].err.reason, i == 2 ? 0 : RN_REASON_DEPENDENCY);
    assert_int_equal(batch.place.lsn, 1); /* for the session token */
    for (int i = 0; i < 3; i++)
        assert_int_equal(ops[i].place.lsn, 1);
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
        { RN_DOCUMENT_REPLACE, "a", DOC("x/y", ""), NULL, NULL,
          RN_BAD_REQUEST },
        { RN_DOCUMENT_REPLACE, "x", DOC("a", ""), NULL, NULL, RN_NOT_FOUND },
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
    one_container_put(DOC("a", ",\"n\":1"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rn_batch_operation *op;

        batch_begin(RN_BATCH_ATOMIC, "[1]");
        op = batch_add(rows[i].verb, rows[i].id, rows[i].body);
        if (rows[i].if_match)
            op->conditions.if_match = rn_view_text(rows[i].if_match);
        if (rows[i].if_none_match)
            op->conditions.if_none_match = rn_view_text(rows[i].if_none_match);
        batch_add(RN_DOCUMENT_READ, "a", NULL);
        assert_int_equal(batch_run(), RN_OK);
        if (op->code != rows[i].rc)
            fail_msg("%zu: %s", i, rn_code_name(op->code));
        rn_batch_release(&batch);
        assert_int_equal(lsn_now(), 1);
    }
}

static void operations_see_those_before_them(void **state)
{
    (void)state;
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("a", ",\"n\":1"));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    batch_add(RN_DOCUMENT_PATCH, "a",
              "{\"condition\":\"from c where c.n = 2\",\"operations\":" INCR
              "}");
    batch_add(RN_DOCUMENT_READ, "a", NULL);
    batch_add(RN_DOCUMENT_DELETE, "a", NULL);
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("a", ",\"n\":5"));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK, RN_OK, RN_OK, RN_OK, RN_OK);
    assert_non_null(memmem(ops[3].stored.at, ops[3].stored.len, "\"n\":3", 5));
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":6");
    assert_int_equal(lsn_now(), 1);
}

static void operations_see_what_those_before_them_renamed(void **state)
{
    (void)state;
    one_container_put(DOC("a", ",\"n\":1"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_REPLACE, "a", DOC("b", ",\"n\":5"));
    batch_add(RN_DOCUMENT_PATCH, "b", INCR);
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("a", ",\"n\":7"));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK, RN_OK);
    rn_batch_release(&batch);
    assert_stored("b", "\"n\":6");
    assert_stored("a", "\"n\":8");
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_REPLACE, "a", DOC("c", ""));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_CONFLICT, RN_NOT_FOUND);
    rn_batch_release(&batch);
    batch_begin(RN_BATCH_EACH, NULL);
    batch_add_keyed(RN_DOCUMENT_REPLACE, "[1]", "a", DOC("b", ""));
    batch_add_keyed(RN_DOCUMENT_REPLACE, "[1]", "a", DOC("c", ""));
    batch_add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_CONFLICT, RN_OK, RN_NOT_FOUND);
    rn_batch_release(&batch);
    assert_absent("a");
    assert_stored("c", "\"c\"");
    assert_int_equal(lsn_now(), 3);
}

static void a_patch_after_a_delete_finds_nothing(void **state)
{
    (void)state;
    one_container_put(DOC("a", ",\"n\":1"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_DELETE, "a", NULL);
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_CONFLICT, RN_NOT_FOUND);
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":1");
}

static void a_batch_is_prepared_again_as_a_whole(void **state)
{
    struct queued other;

    (void)state;
    one_container_put(large(",\"n\":1"));
    queue_write(&other, large(",\"n\":10"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_OK, RN_OK, RN_OK);
    assert_int_equal(batch.tries, 2);
    rn_batch_release(&batch);
    end_write(&other);
    assert_stored("a", "\"n\":12");
    assert_stored("b", "\"b\"");
    assert_int_equal(lsn_now(), 3);
}

/* Another's write, in the same group, is why it is refused; but whether that is
 * there nobody knows. */
static void a_refusal_is_not_returned_when_its_reason_may_be_lost(void **state)
{
    struct queued other;

    (void)state;
    queue_write(&other, DOC("a", ""));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("a", ""));
    faulty_fail(db.store, FAULTY_COMMIT, 1, 1, RN_UNKNOWN);
    assert_int_equal(batch_run(), RN_UNKNOWN);
    rn_batch_release(&batch);
    end_write_as(&other, RN_UNKNOWN);
}

#define IF(what, part)                                                         \
    "{\"condition\":\"from c where " what "\",\"operations\":" part "}"
#define ADD(name)                                                              \
    "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1},"                          \
    "{\"op\":\"set\",\"path\":\"/" name "\",\"value\":1}]"

/* What several operations leave of one document that another has written since
 * they were prepared: {n:1} before, {n:10, o:1} then. */
static void nothing_of_another_writer_is_lost_between_patches(void **state)
{
    static const struct {
        const char *bodies[4]; /* a document: REPLACE; else PATCH */
        enum rn_code codes[4]; /* of a bulk */
        const char *stored;
    } rows[] = {
        { { ADD("x"), ADD("y") },
          { RN_OK, RN_OK },
          "\"n\":12,\"o\":1,\"x\":1,\"y\":1," },
        { { ADD("x"), ADD("y"), ADD("z") },
          { RN_OK, RN_OK, RN_OK },
          "\"n\":13,\"o\":1,\"x\":1,\"y\":1,\"z\":1," },
        { { DOC("a", ",\"n\":5"), ADD("y"), ADD("z") },
          { RN_OK, RN_OK, RN_OK },
          "\"n\":7,\"y\":1,\"z\":1," },
        { { ADD("x"), DOC("a", ",\"n\":5"), ADD("z") },
          { RN_OK, RN_OK, RN_OK },
          "\"n\":6,\"z\":1," },
        { { ADD("x"), IF("c.n = 11", ADD("y")), ADD("z") },
          { RN_OK, RN_OK, RN_OK },
          "\"n\":13,\"o\":1,\"x\":1,\"y\":1,\"z\":1," },
        { { ADD("x"), ADD("y"), IF("c.n = 12", ADD("z")) },
          { RN_OK, RN_OK, RN_OK },
          "\"n\":13,\"o\":1,\"x\":1,\"y\":1,\"z\":1," },
        { { ADD("x"), IF("c.n = 2", ADD("y")), ADD("z") },
          { RN_OK, RN_PRECONDITION, RN_OK },
          "\"n\":12,\"o\":1,\"x\":1,\"z\":1," },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) * 2; i++) {
        enum rn_batch_mode mode = i % 2 ? RN_BATCH_EACH : RN_BATCH_ATOMIC;
        bool refused = false;
        struct queued other;

        one_container_put(DOC("a", ",\"n\":1"));
        queue_write(&other, DOC("a", ",\"n\":10,\"o\":1"));
        batch_begin(mode, "[1]");
        for (int k = 0; k < 4 && rows[i / 2].bodies[k]; k++) {
            const char *body = rows[i / 2].bodies[k];

            refused |= rows[i / 2].codes[k] != RN_OK;
            batch_add(strstr(body, "\"id\"") ? RN_DOCUMENT_REPLACE
                                             : RN_DOCUMENT_PATCH,
                      "a", body);
        }
        assert_int_equal(batch_run(), RN_OK);
        if (mode == RN_BATCH_EACH)
            assert_codes(rows[i / 2].codes);
        rn_batch_release(&batch);
        end_write(&other);
        if (mode == RN_BATCH_ATOMIC && refused)
            assert_stored("a", "\"n\":10,\"o\":1,\"_rid\"");
        else
            assert_stored("a", rows[i / 2].stored);
    }
}

static void patches_build_upon_what_a_refused_create_left(void **state)
{
    (void)state;
    one_container_put(DOC("a", ",\"n\":10"));
    batch_begin(RN_BATCH_EACH, "[1]");
    batch_add(RN_DOCUMENT_CREATE, NULL, DOC("a", ",\"n\":1"));
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_CONFLICT, RN_OK, RN_OK);
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":12");
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
        one_container_put(big);
    }
    for (int reads = 0; reads < 2; reads++) {
        batch_begin(RN_BATCH_ATOMIC, "[1]");
        for (int i = 0; i < 5; i++) {
            if (reads)
                batch_add(RN_DOCUMENT_READ, NULL, NULL)->id =
                    rn_view_of(ids + i, 1);
            else
                batch_add(RN_DOCUMENT_PATCH, NULL, INCR)->id =
                    rn_view_of(ids + i, 1);
        }
        assert_int_equal(batch_run(), RN_OK);
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
    one_container_put(DOC("a", ",\"n\":1"));
    batch_begin(RN_BATCH_EACH, NULL);
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("a", ""));
    batch_add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    batch_add_keyed(RN_DOCUMENT_DELETE, "[1]", "none", NULL);
    batch_add_keyed(RN_DOCUMENT_PATCH, "[1]", "b", INCR);
    batch_add_keyed(RN_DOCUMENT_CREATE, NULL, NULL, "{\"id\":\"k\",\"pk\":7}");
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, "{\"id\":\"k\",\"pk\":7}");
    batch_add_keyed(RN_DOCUMENT_READ, "[7]", "k", NULL);
    assert_int_equal(batch_run(), RN_OK);
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
    batch_begin(RN_BATCH_UNTIL_FAILURE, NULL);
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("a", ""));
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("a", ""));
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    assert_int_equal(batch_run(), RN_OK);
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
    one_container_put(large(",\"n\":1"));
    queue_write(&other, large(",\"n\":10"));
    batch_begin(RN_BATCH_EACH, NULL);
    batch_add_keyed(RN_DOCUMENT_READ, "[1]", "a", NULL);
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    batch_add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    batch_add_keyed(RN_DOCUMENT_READ, "[1]", "a", NULL);
    batch_add_keyed(RN_DOCUMENT_DELETE, "[1]", "a", NULL);
    assert_int_equal(batch_run(), RN_OK);
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

/* The patch behind one that was too much has to be prepared again, of what is
 * there. */
static void a_bulk_has_its_limit_however_often_it_is_resumed(void **state)
{
    enum { PATCHES = 20, FIT = 4 };
    char *big = malloc(RN_DOCUMENT_MAX);

    (void)state;
    snprintf(big, RN_DOCUMENT_MAX,
             "{\"id\":\"a\",\"pk\":1,\"n\":0,\"f\":\"%0*d\"}",
             RN_DOCUMENT_MAX - 4000, 0);
    one_container_put(big);
    batch_begin(RN_BATCH_EACH, NULL);
    for (int i = 0; i < PATCHES; i++)
        batch_add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    assert_int_equal(batch_run(), RN_OK);
    assert_true(batch.tries > 1);
    for (int i = 0; i < PATCHES; i++) {
        assert_int_equal(ops[i].code, i < FIT ? RN_OK : RN_TOO_LARGE);
        assert_int_equal(ops[i].err.reason, i < FIT ? 0 : RN_REASON_SPLIT_BULK);
    }
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":4,");
    free(big);
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
        rn_epk_of(&one_container->container->pkdef, key_of(pks[found]), &epk);
        span =
            rn_container_range_of(one_container->container, rn_epk_view(&epk));
        of[found] = span->id;
        found += found == 0 || of[0] != of[1];
    }
    for (int wrong = 1; wrong >= 0; wrong--) {
        batch_begin(RN_BATCH_EACH, NULL);
        batch.has_range = true;
        batch.range = of[0];
        batch_add_keyed(RN_DOCUMENT_CREATE, pks[0], NULL, bodies[0]);
        if (wrong)
            batch_add_keyed(RN_DOCUMENT_CREATE, pks[1], NULL, bodies[1]);
        assert_int_equal(batch_run(), wrong ? RN_GONE : RN_OK);
        rn_batch_release(&batch);
        assert_int_equal(read_document(&db, one_container, pks[0], "x", &doc),
                         wrong ? RN_NOT_FOUND : RN_OK);
    }
    batch_begin(RN_BATCH_EACH, NULL);
    batch_add_keyed(RN_DOCUMENT_UPSERT, pks[0], NULL, bodies[0]);
    batch_add_keyed(RN_DOCUMENT_UPSERT, pks[1], NULL, bodies[1]);
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_OK, RN_OK);
    assert_int_equal(ops[0].place.range, of[0]);
    assert_int_equal(ops[1].place.range, of[1]);
    rn_batch_release(&batch);
}

static void is_done(struct rn_done *done, enum rn_code rc,
                    const struct rn_err *error)
{
    (void)done;
    (void)error;
    assert_int_equal(rc, RN_OK);
}

static void
a_bulk_that_has_begun_goes_on_although_its_range_splits(void **state)
{
    struct rn_object *old = rn_object_share(one_container);
    struct queued other;

    (void)state;
    one_container_put(large(",\"n\":1"));
    queue_write(&other, large(",\"n\":10"));
    batch_begin(RN_BATCH_EACH, NULL);
    batch.has_range = true;
    batch.done.call = is_done;
    batch_add_keyed(RN_DOCUMENT_CREATE, "[1]", NULL, DOC("b", ""));
    batch_add_keyed(RN_DOCUMENT_PATCH, "[1]", "a", INCR);
    assert_int_equal(rn_batch_start(db.engine, &batch, &err), RN_OK);
    assert_int_equal(
        one_container_split_merge(&(struct rn_split_merge){ .range = 0 }),
        RN_OK);
    end_write(&other);
    assert_true(batch.is_unfinished);
    /* What is done can be returned, if there is no room to resume it. */
    assert_non_null(memmem(ops[0].stored.at, ops[0].stored.len, "\"b\"", 3));
    assert_int_equal(batch_run(), RN_OK);
    CODES(RN_OK, RN_OK);
    assert_int_equal(ops[0].place.range, 0);
    assert_int_not_equal(ops[1].place.range, 0);
    rn_batch_release(&batch);
    rn_object_release(old);
    assert_stored("a", "\"n\":11");
    assert_stored("b", "\"b\"");
}

static void a_batch_for_a_deleted_container_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    for (int mode = RN_BATCH_ATOMIC; mode <= RN_BATCH_EACH; mode++) {
        batch_begin((enum rn_batch_mode)mode, "[1]");
        batch_add(RN_DOCUMENT_CREATE, NULL, DOC("a", ""));
        batch_add(RN_DOCUMENT_CREATE, NULL, DOC("b", ""));
        assert_int_equal(batch_run(), RN_NOT_FOUND);
        assert_int_equal(err.reason, RN_REASON_OWNER);
        rn_batch_release(&batch);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, batches_close)
#define SPREAD(name)                                                           \
    cmocka_unit_test_setup_teardown(name, setup_ranges, batches_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_batch_has_one_lsn_and_an_etag_for_each),
        CASE(one_refusal_undoes_all),
        CASE(each_refusal_has_its_own_code),
        CASE(operations_see_those_before_them),
        CASE(operations_see_what_those_before_them_renamed),
        CASE(a_patch_after_a_delete_finds_nothing),
        CASE(a_batch_is_prepared_again_as_a_whole),
        CASE(a_refusal_is_not_returned_when_its_reason_may_be_lost),
        CASE(nothing_of_another_writer_is_lost_between_patches),
        CASE(patches_build_upon_what_a_refused_create_left),
        CASE(a_batch_has_a_limit_to_what_it_writes_and_reads),
        CASE(each_operation_of_a_bulk_has_its_own_lsn),
        CASE(a_bulk_may_end_at_its_first_failure),
        CASE(a_bulk_keeps_its_order_when_it_is_resumed),
        CASE(a_bulk_has_its_limit_however_often_it_is_resumed),
        SPREAD(a_bulk_of_another_range_is_gone_and_writes_nothing),
        CASE(a_bulk_that_has_begun_goes_on_although_its_range_splits),
        CASE(a_batch_for_a_deleted_container_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
