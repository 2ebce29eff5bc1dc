/* engine_race_test.c -- many threads at one engine, on the machine's own.
 *
 * All begin together; their answers are counted, and compared with what is
 * there afterwards.
 */
#include "engine/catalog/object.h"
#include "lib/database.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 64, ROUNDS = 20 };

static struct database db;
static struct rn_rid owner;

static int setup(void **state)
{
    (void)state;
    database_open(&db, false, 2);
    owner = make_database(&db, "d");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    database_close(&db);
    return 0;
}

/* ---- threads ------------------------------------------------------------- */

struct runner {
    pthread_t thread;
    int number;
    atomic_int answers[RN_CODES];
    void (*run)(struct runner *r);
    struct rn_object *container;
    uint64_t *lsns; /* of each write, in order */
};

static pthread_barrier_t barrier;

static void *begin(void *context)
{
    struct runner *r = context;

    pthread_barrier_wait(&barrier);
    r->run(r);
    return NULL;
}

/* The same by all; how often each code came. */
static void run_all(void (*run)(struct runner *r), struct rn_object *container,
                    uint64_t *lsns, int answers[RN_CODES])
{
    static struct runner runners[THREADS];

    memset(answers, 0, RN_CODES * sizeof(answers[0]));
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        runners[i] = (struct runner){ .number = i,
                                      .run = run,
                                      .container = container,
                                      .lsns = lsns ? lsns + i * ROUNDS : NULL };
        assert_int_equal(
            pthread_create(&runners[i].thread, NULL, begin, &runners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(runners[i].thread, NULL);
        for (int code = 0; code < RN_CODES; code++)
            answers[code] += runners[i].answers[code];
    }
    pthread_barrier_destroy(&barrier);
}

static void create_container(struct runner *r)
{
    enum rn_code rc =
        change(&db, RN_CATALOG_CREATE, owner, NULL,
               "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}", NULL);

    r->answers[rc]++;
}

static void delete_container(struct runner *r)
{
    r->answers[change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL)]++;
}

static void upsert_one(struct runner *r)
{
    struct document doc = { 0 };

    for (int i = 0; i < ROUNDS; i++) {
        r->answers[write_document(&db, r->container, RN_DOCUMENT_UPSERT,
                                  "{\"id\":\"a\",\"pk\":1}", NULL, &doc)]++;
        r->lsns[i] = doc.place.lsn;
    }
    document_clear(&doc);
}

/* Each adds one to the counter, by its etag, until it has. */
static void count_up(struct runner *r)
{
    struct document doc = { 0 };
    enum rn_code rc = RN_PRECONDITION;

    while (rc == RN_PRECONDITION) {
        struct asked asked = { .id = "a" };
        char body[80], etag[RN_ETAG_LEN + 1];
        const char *at;

        rc = read_document(&db, r->container, "[1]", "a", &doc);
        if (rc)
            break;
        at = strstr(doc.body, "\"n\":");
        snprintf(body, sizeof(body), "{\"id\":\"a\",\"pk\":1,\"n\":%ld}",
                 at ? strtol(at + 4, NULL, 10) + 1 : -1);
        memcpy(etag, doc.etag, sizeof(etag));
        asked.if_match = etag;
        rc = write_document(&db, r->container, RN_DOCUMENT_REPLACE, body,
                            &asked, &doc);
        r->answers[rc]++;
    }
    document_clear(&doc);
}

/* Two patches of the counter in one request, atomic or bulk, or one alone. */
static void patch_up(struct runner *r)
{
    static const char patch[] =
        "[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}]";
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    struct rn_pk pk;

    if (rn_pk_parse(RN_LIT("[1]"), &arena, &pk, NULL))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        struct rn_batch_operation ops[2] = { { .verb = RN_DOCUMENT_PATCH } };
        struct rn_batch batch = { .mode =
                                      i % 2 ? RN_BATCH_EACH : RN_BATCH_ATOMIC,
                                  .container = r->container->container,
                                  .pk = &pk,
                                  .operations = ops,
                                  .count = r->number % 2 ? 1 : 2 };
        struct rn_err err;
        enum rn_code rc;

        ops[0].pk = &pk;
        ops[0].id = RN_LIT("a");
        ops[0].body = rn_view_text(patch);
        ops[1] = ops[0];
        rc = run_batch(&db, &batch, &err);
        for (size_t k = 0; k < batch.count; k++)
            r->answers[rc ? rc : ops[k].code]++;
        rn_batch_release(&batch);
    }
    rn_arena_release(&arena);
}

/* ---- what must come out -------------------------------------------------- */

static void of_many_that_create_one_container_one_succeeds(void **state)
{
    int answers[RN_CODES];
    struct rn_object *found[4] = { NULL };

    (void)state;
    run_all(create_container, NULL, NULL, answers);
    assert_int_equal(answers[RN_OK], 1);
    assert_int_equal(answers[RN_CONFLICT], THREADS - 1);
    assert_int_equal(
        rn_catalog_list(db.engine, RN_KIND_CONTAINER, owner, NULL, found, 4),
        1);
    rn_object_release(found[0]);
    run_all(delete_container, NULL, NULL, answers);
    assert_int_equal(answers[RN_OK], 1);
    assert_int_equal(answers[RN_NOT_FOUND], THREADS - 1);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void every_write_has_an_lsn_of_its_own_and_none_is_left_out(void **state)
{
    static uint64_t lsns[THREADS * ROUNDS];
    int answers[RN_CODES];
    struct rn_object *c = make_container(
        &db, owner, "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}");

    (void)state;
    run_all(upsert_one, c, lsns, answers);
    assert_int_equal(answers[RN_OK], THREADS * ROUNDS);
    for (int i = 1; i < THREADS * ROUNDS; i++)
        assert_true(i % ROUNDS == 0 || lsns[i] > lsns[i - 1]);
    qsort(lsns, THREADS * ROUNDS, sizeof(lsns[0]), by_value);
    for (int i = 0; i < THREADS * ROUNDS; i++)
        assert_int_equal(lsns[i], i + 1);
    rn_object_release(c);
}

static void no_update_under_a_condition_is_lost(void **state)
{
    struct document doc = { 0 };
    int answers[RN_CODES];
    char text[30];
    struct rn_object *c = make_container(
        &db, owner, "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}");

    (void)state;
    assert_int_equal(write_document(&db, c, RN_DOCUMENT_CREATE,
                                    "{\"id\":\"a\",\"pk\":1,\"n\":0}", NULL,
                                    &doc),
                     RN_OK);
    run_all(count_up, c, NULL, answers);
    assert_int_equal(answers[RN_OK], THREADS);
    assert_int_equal(read_document(&db, c, "[1]", "a", &doc), RN_OK);
    snprintf(text, sizeof(text), "\"n\":%d,", THREADS);
    assert_non_null(strstr(doc.body, text));
    document_clear(&doc);
    rn_object_release(c);
}

static void no_patch_of_several_in_one_request_is_lost(void **state)
{
    struct document doc = { 0 };
    int answers[RN_CODES];
    char text[30];
    struct rn_object *c = make_container(
        &db, owner, "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}");

    (void)state;
    assert_int_equal(write_document(&db, c, RN_DOCUMENT_CREATE,
                                    "{\"id\":\"a\",\"pk\":1,\"n\":0}", NULL,
                                    &doc),
                     RN_OK);
    run_all(patch_up, c, NULL, answers);
    assert_int_equal(answers[RN_OK], THREADS / 2 * 3 * ROUNDS);
    assert_int_equal(read_document(&db, c, "[1]", "a", &doc), RN_OK);
    snprintf(text, sizeof(text), "\"n\":%d,", THREADS / 2 * 3 * ROUNDS);
    assert_non_null(strstr(doc.body, text));
    document_clear(&doc);
    rn_object_release(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_many_that_create_one_container_one_succeeds),
        TEST(every_write_has_an_lsn_of_its_own_and_none_is_left_out),
        TEST(no_update_under_a_condition_is_lost),
        TEST(no_patch_of_several_in_one_request_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
