/* engine_catalog_test.c -- offers, users, permissions, client keys: what is
 * made with what, what goes with it, and that disk and memory agree.
 *
 * Method: an engine over `mem` in simulated time.  After each change the
 * catalog is looked at in memory and again after the engine was opened anew.
 */
#include "lib/database.h"

#include "base/bytes.h"
#include "engine/catalog/object.h"
#include "engine/catalog/offer.h"
#include "engine/key.h"

#include <stdio.h>

static struct database db;
static const struct rn_rid account;

static int setup(void **state)
{
    (void)state;
    database_open(&db, true, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    database_close(&db);
    return 0;
}

/* ---- shorter ------------------------------------------------------------- */

static enum rn_code make(enum rn_kind kind, struct rn_rid owner,
                         const char *body, struct rn_offer_terms terms,
                         struct rn_object **out)
{
    struct rn_catalog_change like = { .verb = RN_CATALOG_CREATE,
                                      .kind = kind,
                                      .owner = owner,
                                      .body = rn_view_text(body),
                                      .terms = terms };

    return change_like(&db, &like, out);
}

static enum rn_code put(enum rn_catalog_verb verb, enum rn_kind kind,
                        struct rn_rid owner, const char *id, const char *body)
{
    struct rn_catalog_change like = { .verb = verb,
                                      .kind = kind,
                                      .owner = owner,
                                      .id = rn_view_text(id),
                                      .body = rn_view_text(body) };

    return change_like(&db, &like, NULL);
}

static struct rn_rid made(enum rn_kind kind, struct rn_rid owner,
                          const char *body, uint32_t units)
{
    struct rn_object *o = NULL;
    struct rn_rid rid;

    assert_int_equal(
        make(kind, owner, body, (struct rn_offer_terms){ .manual = units }, &o),
        RN_OK);
    rid = o->rid;
    rn_object_release(o);
    return rid;
}

static size_t count(enum rn_kind kind, struct rn_rid owner)
{
    struct rn_object *all[64];
    size_t n = rn_catalog_list(db.engine, kind, owner, NULL, all, 64);

    for (size_t i = 0; i < n; i++)
        rn_object_release(all[i]);
    return n;
}

static bool is_there(enum rn_kind kind, struct rn_rid owner, const char *id)
{
    struct rn_object *o =
        rn_catalog_find(db.engine, kind, owner, rn_view_text(id));

    rn_object_release(o);
    return o;
}

/* The RU/s of its offer; 0 if it has none. */
static uint32_t units_of(struct rn_rid rid)
{
    struct rn_object *o = rn_catalog_find_offer(db.engine, rid);
    uint32_t units = o ? o->throughput + o->autoscale : 0;

    rn_object_release(o);
    return units;
}

#define CONTAINER(id)                                                          \
    "{\"id\":\"" id "\",\"partitionKey\":{\"paths\":[\"/pk\"]}}"
#define PERMISSION(id, resource)                                               \
    "{\"id\":\"" id "\",\"permissionMode\":\"All\",\"resource\":\"" resource   \
    "\"}"
#define CLIENT_KEY(id)                                                         \
    "{\"id\":\"" id "\",\"encryptionAlgorithm\":\"a\","                        \
    "\"wrappedDataEncryptionKey\":\"b\",\"keyWrapMetadata\":{}}"

/* ---- offers -------------------------------------------------------------- */

static void
a_container_has_an_offer_unless_its_database_shares_one(void **state)
{
    struct rn_rid plain = made(RN_KIND_DATABASE, account, "{\"id\":\"p\"}", 0);
    struct rn_rid shared =
        made(RN_KIND_DATABASE, account, "{\"id\":\"s\"}", 600);
    struct rn_rid a = made(RN_KIND_CONTAINER, plain, CONTAINER("a"), 0);
    struct rn_rid b = made(RN_KIND_CONTAINER, shared, CONTAINER("b"), 0);
    struct rn_rid c = made(RN_KIND_CONTAINER, shared, CONTAINER("c"), 25000);

    (void)state;
    for (int round = 0; round < 2; round++) {
        struct rn_object *o = rn_catalog_find_rid(db.engine, c);
        assert_int_equal(o->container->range_count, 3);
        rn_object_release(o);
        assert_int_equal(units_of(plain), 0);
        assert_int_equal(units_of(shared), 600);
        assert_int_equal(units_of(a), 400);
        assert_int_equal(units_of(b), 0);
        assert_int_equal(units_of(c), 25000);
        assert_int_equal(count(RN_KIND_OFFER, account), 3);
        database_reopen(&db);
    }
}

static void an_offer_goes_with_what_it_is_of(void **state)
{
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 600);
    struct rn_rid c = made(RN_KIND_CONTAINER, d, CONTAINER("c"), 700);

    (void)state;
    assert_int_equal(put(RN_CATALOG_DELETE, RN_KIND_CONTAINER, d, "c", ""),
                     RN_OK);
    assert_int_equal(units_of(c), 0);
    assert_int_equal(count(RN_KIND_OFFER, account), 1);
    made(RN_KIND_CONTAINER, d, CONTAINER("c"), 800);
    assert_int_equal(put(RN_CATALOG_DELETE, RN_KIND_DATABASE, account, "d", ""),
                     RN_OK);
    assert_int_equal(count(RN_KIND_OFFER, account), 0);
    database_reopen(&db);
    assert_int_equal(count(RN_KIND_OFFER, account), 0);
}

static void an_offer_is_replaced_within_its_bounds(void **state)
{
    static const struct {
        enum rn_offer_move move;
        const char *content;
        enum rn_code rc;
        uint32_t manual, autoscale, minimum;
    } steps[] = {
        /* From 400; a hundredth of the most that ever was is the least. */
        { 0, "{\"offerThroughput\":300}", RN_BAD_REQUEST, 400, 0, 400 },
        { 0, "{\"offerThroughput\":450}", RN_BAD_REQUEST, 400, 0, 400 },
        { 0, "{\"offerThroughput\":1e9}", RN_BAD_REQUEST, 400, 0, 400 },
        { 0, "{\"offerThroughput\":\"500\"}", RN_BAD_REQUEST, 400, 0, 400 },
        { 0, "{}", RN_BAD_REQUEST, 400, 0, 400 },
        { 0, "7", RN_BAD_REQUEST, 400, 0, 400 },
        { 0, "{\"offerThroughput\":500}", RN_OK, 500, 0, 400 },
        { 0, "{\"offerThroughput\":100000}", RN_OK, 100000, 0, 1000 },
        { 0, "{\"offerThroughput\":900}", RN_BAD_REQUEST, 100000, 0, 1000 },
        { 0, "{\"offerThroughput\":1500}", RN_OK, 1500, 0, 1000 },
        { 0, "{\"offerAutopilotSettings\":{\"maxThroughput\":2000}}",
          RN_BAD_REQUEST, 1500, 0, 1000 },
        { RN_OFFER_TO_AUTOSCALE,
          "{\"offerAutopilotSettings\":{\"maxThroughput\":9000}}",
          RN_BAD_REQUEST, 1500, 0, 1000 },
        { RN_OFFER_TO_AUTOSCALE, "{\"offerThroughput\":-1}", RN_OK, 0, 10000,
          10000 },
        { 0, "{\"offerThroughput\":500}", RN_BAD_REQUEST, 0, 10000, 10000 },
        { 0, "{\"offerAutopilotSettings\":{\"maxThroughput\":9000}}",
          RN_BAD_REQUEST, 0, 10000, 10000 },
        { 0, "{\"offerAutopilotSettings\":{\"maxThroughput\":12000}}", RN_OK, 0,
          12000, 10000 },
        { RN_OFFER_TO_MANUAL, "{\"offerThroughput\":-1}", RN_OK, 12000, 0,
          1000 },
    };
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    struct rn_rid c = made(RN_KIND_CONTAINER, d, CONTAINER("c"), 0);
    char id[RN_RID_TEXT_MAX], body[200];

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct rn_catalog_change like = { .verb = RN_CATALOG_REPLACE,
                                          .kind = RN_KIND_OFFER,
                                          .id = rn_rid_print(c, id),
                                          .move = steps[i].move };
        struct rn_object *o;

        snprintf(body, sizeof(body), "{\"content\":%s}", steps[i].content);
        like.body = rn_view_text(body);
        assert_int_equal(change_like(&db, &like, NULL), steps[i].rc);
        if (i % 2)
            database_reopen(&db);
        o = rn_catalog_find_offer(db.engine, c);
        assert_int_equal(o->throughput, steps[i].manual);
        assert_int_equal(o->autoscale, steps[i].autoscale);
        assert_int_equal(rn_offer_minimum(o), steps[i].minimum);
        rn_object_release(o);
    }
}

static void terms_are_read_strictly(void **state)
{
    static const char *const manual[] = {
        "",     "x",   "4e2", " 400", "+400",
        "400 ", "399", "450", "-400", "99999999999999999999"
    };
    static const char *const autoscale[] = { "",
                                             "{}",
                                             "4000",
                                             "{\"maxThroughput\":\"4000\"}",
                                             "{\"maxThroughput\":900}",
                                             "{\"maxThroughput\":1500}",
                                             "{\"maxThroughput\":-200}",
                                             "{\"maxThroughput\":1e30}" };
    struct rn_offer_terms t = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(manual) / sizeof(manual[0]); i++)
        assert_int_equal(
            rn_offer_terms_parse_manual(rn_view_text(manual[i]), &t, NULL),
            RN_BAD_REQUEST);
    for (size_t i = 0; i < sizeof(autoscale) / sizeof(autoscale[0]); i++)
        assert_int_equal(rn_offer_terms_parse_autoscale(
                             rn_view_text(autoscale[i]), &t, NULL),
                         RN_BAD_REQUEST);
    assert_int_equal(rn_offer_terms_parse_manual(RN_LIT("400"), &t, NULL),
                     RN_OK);
    assert_int_equal(t.manual, 400);
    assert_int_equal(rn_offer_terms_parse_autoscale(
                         RN_LIT("{\"maxThroughput\":4000,\"autoUpgradePolicy\":"
                                "{\"a\":1}}"),
                         &t, NULL),
                     RN_OK);
    assert_int_equal(t.autoscale, 4000);
    assert_true(rn_view_eq(t.upgrade, RN_LIT("{\"a\":1}")));
}

/* A store from before there were offers has a shorter row of counters. */
static void a_catalog_without_offers_is_carried_on(void **state)
{
    char bytes[20] = { 0 };
    struct rn_txn *txn = NULL;
    struct rn_key key;
    struct rn_rid d, c;

    (void)state;
    rn_key_counters(&key);
    rn_put_u32_be(bytes, 100);
    assert_int_equal(
        rn_txn_begin(db.store, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(
        rn_txn_put(txn, rn_key_view(&key), rn_view_of(bytes, sizeof(bytes))),
        RN_OK);
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
    d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    assert_int_equal(d.database, 101);
    c = made(RN_KIND_CONTAINER, d, CONTAINER("c"), 500);
    assert_int_equal(units_of(c), 500);
}

/* ---- users and what they may --------------------------------------------- */

static void users_and_permissions_can_be_renamed(void **state)
{
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    struct rn_rid u = made(RN_KIND_USER, d, "{\"id\":\"u\"}", 0);
    struct rn_rid p =
        made(RN_KIND_PERMISSION, u, PERMISSION("p", "dbs/d/colls/c"), 0);

    (void)state;
    assert_int_equal(
        put(RN_CATALOG_REPLACE, RN_KIND_USER, d, "u", "{\"id\":\"v\"}"), RN_OK);
    assert_int_equal(put(RN_CATALOG_REPLACE, RN_KIND_PERMISSION, u, "p",
                         PERMISSION("q", "dbs/d/colls/e")),
                     RN_OK);
    for (int round = 0; round < 2; round++) {
        struct rn_object *o = rn_catalog_find_rid(db.engine, p);
        assert_true(rn_view_eq(o->id, RN_LIT("q")));
        rn_object_release(o);
        assert_true(is_there(RN_KIND_USER, d, "v"));
        assert_false(is_there(RN_KIND_USER, d, "u"));
        assert_true(is_there(RN_KIND_PERMISSION, u, "q"));
        assert_false(is_there(RN_KIND_PERMISSION, u, "p"));
        database_reopen(&db);
    }
    made(RN_KIND_USER, d, "{\"id\":\"u\"}", 0); /* the name is free again */
    assert_int_equal(
        put(RN_CATALOG_REPLACE, RN_KIND_USER, d, "u", "{\"id\":\"v\"}"),
        RN_CONFLICT);
    made(RN_KIND_PERMISSION, u, PERMISSION("p", "dbs/d/colls/c"), 0);
}

/* Another may have its name by the time that its turn comes. */
static void what_is_named_by_its_rid_is_that_and_no_other(void **state)
{
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    struct rn_catalog_change by_rid = {
        .owner = d,
        .id = RN_LIT("a"),
        .body = RN_LIT("{\"id\":\"c\"}"),
    };

    (void)state;
    by_rid.kind = RN_KIND_USER;
    by_rid.rid = made(RN_KIND_USER, d, "{\"id\":\"a\"}", 0);
    assert_int_equal(
        put(RN_CATALOG_REPLACE, RN_KIND_USER, d, "a", "{\"id\":\"b\"}"), RN_OK);
    made(RN_KIND_USER, d, "{\"id\":\"a\"}", 0);
    by_rid.verb = RN_CATALOG_REPLACE;
    assert_int_equal(change_like(&db, &by_rid, NULL), RN_OK);
    assert_true(is_there(RN_KIND_USER, d, "a"));
    assert_false(is_there(RN_KIND_USER, d, "b"));
    assert_true(is_there(RN_KIND_USER, d, "c"));
    by_rid.verb = RN_CATALOG_DELETE;
    assert_int_equal(change_like(&db, &by_rid, NULL), RN_OK);
    assert_int_equal(change_like(&db, &by_rid, NULL), RN_NOT_FOUND);
    assert_true(is_there(RN_KIND_USER, d, "a"));
    by_rid.kind = RN_KIND_CONTAINER;
    by_rid.rid = made(RN_KIND_CONTAINER, d, CONTAINER("a"), 0);
    assert_int_equal(put(RN_CATALOG_DELETE, RN_KIND_CONTAINER, d, "a", ""),
                     RN_OK);
    made(RN_KIND_CONTAINER, d, CONTAINER("a"), 0);
    assert_int_equal(change_like(&db, &by_rid, NULL), RN_NOT_FOUND);
    assert_true(is_there(RN_KIND_CONTAINER, d, "a"));
}

static void a_user_has_one_permission_for_a_resource(void **state)
{
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    struct rn_rid u = made(RN_KIND_USER, d, "{\"id\":\"u\"}", 0);
    struct rn_rid v = made(RN_KIND_USER, d, "{\"id\":\"v\"}", 0);
    const struct rn_offer_terms none = { 0 };

    (void)state;
    made(RN_KIND_PERMISSION, u, PERMISSION("p", "dbs/d/colls/c"), 0);
    made(RN_KIND_PERMISSION, v, PERMISSION("p", "dbs/d/colls/c"), 0);
    assert_int_equal(make(RN_KIND_PERMISSION, u,
                          PERMISSION("q", "/dbs/d/colls/c/"), none, NULL),
                     RN_CONFLICT);
    assert_false(is_there(RN_KIND_PERMISSION, u, "q"));
    made(RN_KIND_PERMISSION, u, PERMISSION("q", "dbs/d/colls/e"), 0);
    assert_int_equal(put(RN_CATALOG_REPLACE, RN_KIND_PERMISSION, u, "q",
                         PERMISSION("q", "dbs/d/colls/c")),
                     RN_CONFLICT);
    assert_int_equal(put(RN_CATALOG_UPSERT, RN_KIND_PERMISSION, u, "",
                         PERMISSION("q", "dbs/d/colls/e")),
                     RN_OK);
    assert_int_equal(put(RN_CATALOG_DELETE, RN_KIND_PERMISSION, u, "p", ""),
                     RN_OK);
    made(RN_KIND_PERMISSION, u, PERMISSION("p", "dbs/d/colls/c"), 0);
}

static void what_lies_in_a_database_or_a_user_goes_with_it(void **state)
{
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    struct rn_rid u = made(RN_KIND_USER, d, "{\"id\":\"u\"}", 0);
    struct rn_rid v = made(RN_KIND_USER, d, "{\"id\":\"v\"}", 0);

    (void)state;
    made(RN_KIND_PERMISSION, u, PERMISSION("p", "dbs/d/colls/c"), 0);
    made(RN_KIND_PERMISSION, u, PERMISSION("q", "dbs/d/colls/e"), 0);
    made(RN_KIND_PERMISSION, v, PERMISSION("p", "dbs/d/colls/c"), 0);
    made(RN_KIND_CLIENT_KEY, d, CLIENT_KEY("k"), 0);
    assert_int_equal(put(RN_CATALOG_DELETE, RN_KIND_USER, d, "u", ""), RN_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(count(RN_KIND_PERMISSION, u), 0);
        assert_int_equal(count(RN_KIND_PERMISSION, v), 1);
        assert_int_equal(count(RN_KIND_USER, d), 1);
        database_reopen(&db);
    }
    assert_int_equal(put(RN_CATALOG_DELETE, RN_KIND_DATABASE, account, "d", ""),
                     RN_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(count(RN_KIND_PERMISSION, v), 0);
        assert_int_equal(count(RN_KIND_USER, d), 0);
        assert_int_equal(count(RN_KIND_CLIENT_KEY, d), 0);
        database_reopen(&db);
    }
}

static void what_is_made_in_nothing_is_refused(void **state)
{
    const struct rn_offer_terms none = { 0 };
    struct rn_rid gone = rn_rid_database(77);

    (void)state;
    assert_int_equal(make(RN_KIND_USER, gone, "{\"id\":\"u\"}", none, NULL),
                     RN_NOT_FOUND);
    assert_int_equal(make(RN_KIND_PERMISSION, rn_rid_user(77, 1),
                          PERMISSION("p", "dbs/d/colls/c"), none, NULL),
                     RN_NOT_FOUND);
    assert_int_equal(
        make(RN_KIND_CLIENT_KEY, gone, CLIENT_KEY("k"), none, NULL),
        RN_NOT_FOUND);
}

static void a_client_key_is_whole_and_keeps_its_id(void **state)
{
    static const char *const bad[] = {
        "{\"id\":\"k\"}",
        "{\"id\":\"k\",\"encryptionAlgorithm\":\"a\"}",
        "{\"id\":\"k\",\"encryptionAlgorithm\":\"a\","
        "\"wrappedDataEncryptionKey\":\"b\"}",
        "{\"id\":\"k\",\"encryptionAlgorithm\":1,"
        "\"wrappedDataEncryptionKey\":\"b\",\"keyWrapMetadata\":{}}",
        "{\"id\":\"k\",\"encryptionAlgorithm\":\"a\","
        "\"wrappedDataEncryptionKey\":\"b\",\"keyWrapMetadata\":[]}",
    };
    struct rn_rid d = made(RN_KIND_DATABASE, account, "{\"id\":\"d\"}", 0);
    const struct rn_offer_terms none = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(make(RN_KIND_CLIENT_KEY, d, bad[i], none, NULL),
                         RN_BAD_REQUEST);
    made(RN_KIND_CLIENT_KEY, d, CLIENT_KEY("k"), 0);
    assert_int_equal(make(RN_KIND_CLIENT_KEY, d, CLIENT_KEY("k"), none, NULL),
                     RN_CONFLICT);
    assert_int_equal(
        put(RN_CATALOG_REPLACE, RN_KIND_CLIENT_KEY, d, "k", CLIENT_KEY("k")),
        RN_OK);
    assert_int_equal(
        put(RN_CATALOG_REPLACE, RN_KIND_CLIENT_KEY, d, "k", CLIENT_KEY("l")),
        RN_BAD_REQUEST);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_container_has_an_offer_unless_its_database_shares_one),
        TEST(an_offer_goes_with_what_it_is_of),
        TEST(an_offer_is_replaced_within_its_bounds),
        TEST(terms_are_read_strictly),
        TEST(a_catalog_without_offers_is_carried_on),
        TEST(users_and_permissions_can_be_renamed),
        TEST(what_is_named_by_its_rid_is_that_and_no_other),
        TEST(a_user_has_one_permission_for_a_resource),
        TEST(what_lies_in_a_database_or_a_user_goes_with_it),
        TEST(what_is_made_in_nothing_is_refused),
        TEST(a_client_key_is_whole_and_keeps_its_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
