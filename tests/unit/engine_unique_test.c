/* engine_unique_test.c -- no two documents of a partition key value share the
 * values of a unique key.
 *
 * An engine over `mem` in the simulation.  Tables say which values are equal;
 * a long walk of random writes is held against a plain list of what must be
 * there; and the rows that stand for the values are counted, so that none is
 * left behind.
 */
#include "engine/document/snapshot.h"
#include "lib/one_container.h"

#include "base/prng.h"
#include "engine/engine_state.h"

#include <stdio.h>
#include <stdlib.h>

#define UNIQUE(keys)                                                           \
    ",\"defaultTtl\":-1,\"uniqueKeyPolicy\":{\"uniqueKeys\":[" keys "]}"
#define ONE_KEY UNIQUE("{\"paths\":[\"/u\"]}")

static int setup(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(ONE_KEY), 1);
}

static enum rn_code put(enum rn_document_verb verb, const char *id,
                        const char *more)
{
    char body[1000];

    snprintf(body, sizeof(body), "{\"id\":\"%s\"%s}", id, more);
    return one_container_write(verb, NULL,
                               verb == RN_DOCUMENT_REPLACE ? id : NULL, body);
}

/* ---- values -------------------------------------------------------------- */

static void a_value_is_taken_once_in_a_partition_key_value(void **state)
{
    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":\"x\""),
                     RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":\"x\""),
                     RN_CONFLICT);
    assert_string_equal(doc.err.text,
                        "Message: {\"Errors\":[\"Unique index constraint "
                        "violation.\"]}");
    assert_int_equal(doc.place.lsn, 1); /* nothing was written */
    assert_int_equal(put(RN_DOCUMENT_UPSERT, "b", ",\"pk\":1,\"u\":\"x\""),
                     RN_CONFLICT);
    assert_int_equal(read_document(&db, one_container, "[1]", "b", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":2,\"u\":\"x\""),
                     RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "c", ",\"pk\":1,\"u\":\"y\""),
                     RN_OK);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 3);
}

/* What was accepted can be read again, with what is added to it: the text of a
 * document is as dense as its size lets it be. */
static void the_densest_documents_are_written_again_and_deleted(void **state)
{
    static const char head[] = "{\"id\":\"a\",\"pk\":1,\"u\":1,\"x\":";
    char *body = malloc(RN_DOCUMENT_MAX + 1);
    struct asked asked = { .id = "a", .pk = "[1]" };

    (void)state;
    for (int names = 0; names < 2; names++) {
        size_t len = sizeof(head) - 1;

        memcpy(body, head, len);
        body[len] = names ? '{' : '[';
        for (int i = 0; len + 12 < RN_DOCUMENT_MAX; i++)
            len += (size_t)snprintf(body + len + 1, 12,
                                    names ? "\"%x\":0," : "0,", (unsigned)i);
        body[len] = names ? '}' : ']';
        memcpy(body + len + 1, "}", 2);
        one_container_put(body);
        assert_int_equal(write_document(&db, one_container, RN_DOCUMENT_REPLACE,
                                        body, &asked, &doc),
                         RN_OK);
        one_container_del("[1]", "a");
        assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 0);
    }
    free(body);
}

static enum rn_code replace_as(const char *id, const char *body)
{
    return one_container_write(RN_DOCUMENT_REPLACE, "[1]", id, body);
}

static void a_document_keeps_its_values_under_another_id(void **state)
{
    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":2"), RN_OK);
    assert_int_equal(replace_as("a", "{\"id\":\"c\",\"pk\":1,\"u\":2}"),
                     RN_CONFLICT);
    assert_int_equal(lsn_of(&db, one_container, 0), 2);
    assert_int_equal(replace_as("a", "{\"id\":\"c\",\"pk\":1,\"u\":1}"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"),
                     RN_CONFLICT);
    assert_int_equal(replace_as("c", "{\"id\":\"d\",\"pk\":1,\"u\":3}"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 3);
}

static void values_are_equal_as_a_query_finds_them(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        { ",\"u\":1", ",\"u\":1.0", true },
        { ",\"u\":1", ",\"u\":\"1\"", false },
        { ",\"u\":0", ",\"u\":-0.0", true },
        { ",\"u\":1", ",\"u\":true", false },
        { ",\"u\":9007199254740993", ",\"u\":9007199254740992", false },
        { ",\"u\":\"a\"", ",\"u\":\"A\"", false },
        { ",\"u\":\"a\"", ",\"u\":\"\\u0061\"", true },
        { ",\"u\":\"a\"", ",\"u\":\"a \"", false },
        { ",\"u\":\"\"", ",\"u\":null", false },
        { ",\"u\":false", ",\"u\":null", false },
        { "", ",\"u\":null", true },
        { "", "", true },
        { ",\"u\":[1,2]", ",\"u\":[ 1.0, 2 ]", true },
        { ",\"u\":[1,2]", ",\"u\":[2,1]", false },
        { ",\"u\":{\"a\":1,\"b\":2}", ",\"u\":{\"b\":2,\"a\":1}", true },
        { ",\"u\":{\"a\":1}", ",\"u\":{\"a\":null}", false },
    };
    char more[100];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum rn_code want = rows[i].equal ? RN_CONFLICT : RN_OK;

        snprintf(more, sizeof(more), ",\"pk\":%zu%s", i, rows[i].a);
        assert_int_equal(put(RN_DOCUMENT_CREATE, "a", more), RN_OK);
        snprintf(more, sizeof(more), ",\"pk\":%zu%s", i, rows[i].b);
        if (put(RN_DOCUMENT_CREATE, "b", more) != want)
            fail_msg("%s and %s: %d", rows[i].a, rows[i].b, doc.rc);
    }
}

static void several_paths_make_one_key(void **state)
{
    static const struct {
        const char *more;
        enum rn_code rc;
    } rows[] = {
        { ",\"a\":1,\"b\":{\"c\":1},\"d\":1", RN_OK },
        { ",\"a\":1,\"b\":{\"c\":2},\"d\":2", RN_OK },
        { ",\"a\":2,\"b\":{\"c\":1},\"d\":3", RN_OK },
        { ",\"a\":2,\"b\":{\"c\":1},\"d\":4", RN_CONFLICT }, /* the first */
        { ",\"a\":3,\"b\":{\"c\":3},\"d\":1", RN_CONFLICT }, /* the second */
        { ",\"a\":5,\"d\":5", RN_OK },
        { ",\"a\":5,\"b\":{\"c\":null},\"d\":6", RN_CONFLICT },
        { ",\"a\":5,\"b\":7,\"d\":7", RN_CONFLICT }, /* no such member */
    };
    char id[8];

    (void)state;
    one_container_use(CONTAINER_HASHED(
        "two", "2",
        UNIQUE("{\"paths\":[\"/a\",\"/b/c\"]},{\"paths\":[\"/d\"]}")));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(id, sizeof(id), "%zu", i);
        if (put(RN_DOCUMENT_CREATE, id, rows[i].more) != rows[i].rc)
            fail_msg("%s: %d", rows[i].more, doc.rc);
    }
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 8);
}

static void two_key_values_with_one_epk_do_not_meet(void **state)
{
    char more[300], text[160];

    (void)state;
    one_container_use(CONTAINER_V1(ONE_KEY));
    memset(text, 'k', sizeof(text));
    text[150] = '\0';
    snprintf(more, sizeof(more), ",\"pk\":\"%s1\",\"u\":1", text);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", more), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", more), RN_CONFLICT);
    snprintf(more, sizeof(more), ",\"pk\":\"%s2\",\"u\":1", text);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", more), RN_OK);
}

/* ---- a document's life --------------------------------------------------- */

static void a_replaced_value_is_free_and_a_new_one_taken(void **state)
{
    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":2"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "b", ",\"pk\":1,\"u\":1"),
                     RN_CONFLICT);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "b", ",\"pk\":1,\"u\":2,\"x\":1"),
                     RN_OK); /* its own */
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "a", ",\"pk\":1,\"u\":3"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "b", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "c", ",\"pk\":1,\"u\":2"), RN_OK);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 3);
}

static void a_deleted_value_is_free(void **state)
{
    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    one_container_del("[1]", "a");
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 0);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":1"), RN_OK);
}

static void values_are_taken_after_a_restart(void **state)
{
    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    one_container_reopen();
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":1"),
                     RN_CONFLICT);
    one_container_del("[1]", "a");
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":1"), RN_OK);
}

/* A row may stand for other values that have the same hash. */
static void only_the_hash_being_the_same_is_no_conflict(void **state)
{
    struct rn_unique_hashes hashes;
    struct rn_row_document row;
    struct rn_row_feed feed;
    struct rn_txn *txn = NULL;
    struct rn_key key;
    struct rn_view bytes;

    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(rn_unique_hash_stored(one_container->container,
                                           RN_LIT("{\"pk\":1,\"u\":2}"),
                                           &hashes),
                     RN_OK);
    assert_int_equal(
        rn_txn_begin(db.store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(
        rn_document_key_of(txn, one_container->container, doc.rid, &key),
        RN_OK);
    assert_int_equal(rn_txn_get(txn, rn_key_view(&key), &bytes), RN_OK);
    assert_int_equal(rn_row_document_decode(bytes, &row), RN_OK);
    assert_int_equal(
        rn_document_follow(txn, one_container->container, &row, &feed), RN_OK);
    rn_key_unique(one_container->number, feed.epk, 0, hashes.of[0], &key);
    rn_key_add_rid(&key, doc.rid);
    assert_int_equal(rn_txn_put(txn, rn_key_view(&key), RN_LIT("")), RN_OK);
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);

    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":2"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "c", ",\"pk\":1,\"u\":2"),
                     RN_CONFLICT);
}

/* ---- random writes ------------------------------------------------------- */

enum { IDS = 8, VALUES = 6, KEYS = 2, STEPS = 4000 };

static bool is_taken(int held[KEYS][IDS], int pk, int id, int value)
{
    for (int i = 0; i < IDS; i++)
        if (i != id && held[pk][i] == value)
            return true;
    return false;
}

static void random_writes_never_make_two_of_a_value(void **state)
{
    struct rn_prng *prng = rn_sim_prng(db.sim);
    int held[KEYS][IDS] = { 0 }; /* 0: no document */
    size_t count = 0;
    char id[8], pk[8], more[60];

    (void)state;
    for (int step = 0; step < STEPS; step++) {
        int k = (int)rn_prng_below(prng, KEYS);
        int i = (int)rn_prng_below(prng, IDS);
        int u = 1 + (int)rn_prng_below(prng, VALUES);
        enum rn_code want;

        snprintf(id, sizeof(id), "%d", i);
        snprintf(pk, sizeof(pk), "[%d]", k);
        snprintf(more, sizeof(more), ",\"pk\":%d,\"u\":%d", k, u);
        if (rn_prng_below(prng, 4) == 0) {
            want = held[k][i] ? RN_OK : RN_NOT_FOUND;
            assert_int_equal(
                one_container_write(RN_DOCUMENT_DELETE, pk, id, NULL), want);
            held[k][i] = 0;
            continue;
        }
        want = is_taken(held, k, i, u) ? RN_CONFLICT : RN_OK;
        assert_int_equal(put(RN_DOCUMENT_UPSERT, id, more), want);
        if (!want)
            held[k][i] = u;
    }
    for (int i = 0; i < KEYS * IDS; i++)
        count += held[i / IDS][i % IDS] != 0;
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), count);
}

/* ---- policies ------------------------------------------------------------ */

static void a_policy_that_is_none_is_refused(void **state)
{
    static const char *const policies[] = {
        "1",
        "[]",
        "{\"uniqueKeys\":{}}",
        "{\"uniqueKeys\":[1]}",
        "{\"uniqueKeys\":[{}]}",
        "{\"uniqueKeys\":[{\"paths\":[]}]}",
        "{\"uniqueKeys\":[{\"paths\":[1]}]}",
        "{\"uniqueKeys\":[{\"paths\":[\"a\"]}]}",
        "{\"uniqueKeys\":[{\"paths\":[\"/a/*\"]}]}",
        "{\"uniqueKeys\":[{\"paths\":[\"/a\",\"/a\",\"/a\",\"/a\",\"/a\","
        "\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\","
        "\"/a\",\"/a\",\"/a\"]}]}",
    };
    char body[500];

    (void)state;
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        snprintf(body, sizeof(body),
                 CONTAINER_HASHED("bad", "2", ",\"uniqueKeyPolicy\":%s"),
                 policies[i]);
        if (change(&db, RN_CATALOG_CREATE, owner, NULL, body, NULL) !=
            RN_BAD_REQUEST)
            fail_msg("%s", policies[i]);
    }
}

static void a_policy_cannot_be_replaced(void **state)
{
    static const struct {
        const char *policy;
        enum rn_code rc;
    } rows[] = {
        { ",\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/u\"]}]}",
          RN_OK },
        { ",\"uniqueKeyPolicy\":{\"uniqueKeys\":[]}", RN_BAD_REQUEST },
        { ",\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/v\"]}]}",
          RN_BAD_REQUEST },
        { ",\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/u\",\"/v\"]}]}",
          RN_BAD_REQUEST },
        { "", RN_OK },
    };
    char body[300];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(body, sizeof(body), CONTAINER("%s"), rows[i].policy);
        if (change(&db, RN_CATALOG_REPLACE, owner, "c", body, NULL) !=
            rows[i].rc)
            fail_msg("%s", rows[i].policy);
    }
    one_container_refresh();
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"u\":1"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"u\":1"), RN_CONFLICT);
}

/* ---- expiry -------------------------------------------------------------- */

static void an_expired_document_holds_no_value(void **state)
{
    (void)state;
    assert_int_equal(
        put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1,\"ttl\":5"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":1"),
                     RN_CONFLICT);
    turn_clock(6);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(doc.place.lsn, 3); /* the delete has one of its own */
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 1);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 1);
}

static void a_create_over_an_expired_document_takes_its_value(void **state)
{
    (void)state;
    assert_int_equal(
        put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1,\"ttl\":5"), RN_OK);
    turn_clock(6);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "a", ",\"pk\":1,\"u\":1"), RN_OK);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_UNIQUE), 1);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "b", ",\"pk\":1,\"u\":1"),
                     RN_CONFLICT);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_value_is_taken_once_in_a_partition_key_value),
        CASE(the_densest_documents_are_written_again_and_deleted),
        CASE(a_document_keeps_its_values_under_another_id),
        CASE(values_are_equal_as_a_query_finds_them),
        CASE(several_paths_make_one_key),
        CASE(two_key_values_with_one_epk_do_not_meet),
        CASE(a_replaced_value_is_free_and_a_new_one_taken),
        CASE(a_deleted_value_is_free),
        CASE(values_are_taken_after_a_restart),
        CASE(only_the_hash_being_the_same_is_no_conflict),
        CASE(random_writes_never_make_two_of_a_value),
        CASE(a_policy_that_is_none_is_refused),
        CASE(a_policy_cannot_be_replaced),
        CASE(an_expired_document_holds_no_value),
        CASE(a_create_over_an_expired_document_takes_its_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
