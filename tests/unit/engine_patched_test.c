/* engine_patched_test.c -- patches, decided in the committer.
 *
 * Goal: a patch is applied to the version that is there when its turn comes,
 * whatever was written since it was prepared.  Method: a database over `mem`
 * with a simulated clock and committer, in which a write can be queued before a
 * patch that was prepared without knowing it; and threads that patch one
 * document.  What a patch does to a text is in engine_patch_test.c.
 */
#include "lib/batches.h"

#include "cosmos/status.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int setup(void **state)
{
    (void)state;
    return batches_open(1);
}

static int setup_real(void **state)
{
    (void)state;
    return batches_open_real();
}

static void a_patch_makes_the_next_version(void **state)
{
    uint64_t rid, lsn;

    (void)state;
    one_container_put(DOC("a", ",\"n\":1"));
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
    one_container_put(DOC("a", ",\"n\":1"));
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
    one_container_put(DOC("a", ""));
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
    one_container_put(DOC("a", ",\"n\":1"));
    memcpy(etag, doc.etag, sizeof(etag));
    one_container_put(DOC("a", ",\"n\":5"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_PATCH, "a", INCR)->conditions.if_match =
        rn_view_text(etag);
    assert_int_equal(batch_run(), RN_OK);
    assert_int_equal(ops[0].code, RN_PRECONDITION);
    rn_batch_release(&batch);
    assert_stored("a", "\"n\":5");
}

static void a_small_document_is_patched_as_it_is_found(void **state)
{
    struct queued other;

    (void)state;
    one_container_put(DOC("a", ",\"n\":1"));
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
    one_container_put(large(",\"n\":1"));
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
    one_container_put(DOC("a", ",\"n\":1"));
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

static void a_patch_that_is_always_late_is_refused(void **state)
{
    struct queued other;
    int rounds = 0;

    (void)state;
    one_container_put(large(",\"n\":1"));
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    batch_add(RN_DOCUMENT_PATCH, "a", INCR);
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
    one_container_put(DOC("a", ""));
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
                              .container = one_container->container,
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

    one_container_put(document);
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

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, batches_close)
#define REAL(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup_real, batches_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_patch_makes_the_next_version),
        CASE(a_refused_patch_changes_nothing),
        CASE(a_ttl_is_patched_like_any_property),
        CASE(a_patch_minds_the_etag),
        CASE(a_small_document_is_patched_as_it_is_found),
        CASE(a_document_that_comes_just_before_is_patched),
        CASE(a_large_document_is_patched_again_outside),
        CASE(a_condition_holds_when_the_patch_is_made),
        CASE(a_patch_that_is_always_late_is_refused),
        CASE(patched_documents_keep_the_limit),
        REAL(no_patch_of_many_threads_is_lost),
        REAL(no_patch_of_a_large_document_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
