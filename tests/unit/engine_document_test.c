/* engine_document_test.c -- documents, one at a time.
 *
 * An engine over `mem` in the simulation: each write has ended when it returns,
 * and the test turns the clock.
 */
#include "lib/faulty.h"
#include "lib/one_container.h"

#include "cosmos/status.h"
#include "engine/catalog/object.h"
#include "engine/document/bloom.h"
#include "engine/document/snapshot.h"
#include "engine/engine_state.h"

#include <stdio.h>
#include <stdlib.h>

static int setup_ranges(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(",\"defaultTtl\":-1"), 5);
}

static enum rn_code put(enum rn_document_verb verb, const char *body)
{
    return one_container_write(verb, NULL,
                               verb == RN_DOCUMENT_REPLACE ? "a" : NULL, body);
}

static enum rn_code del(const char *pk, const char *id)
{
    return one_container_write(RN_DOCUMENT_DELETE, pk, id, NULL);
}

static void assert_has(const char *text)
{
    assert_non_null(doc.body);
    if (!strstr(doc.body, text))
        fail_msg("%s does not have %s", doc.body, text);
}

/* ---- one at a time ------------------------------------------------------- */

/* Two key values of version 1 that have one EPK and one hash. */
#define X10 "xxxxxxxxxx"
#define SAME                                                                   \
    X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 "xxxxxxxx" /* 108 of them */
#define ONE SAME "9c696c5b620ee2e8"
#define TWO SAME "09d8b22e9abb2b16"

static size_t count_of(const char *pk, bool no_bodies)
{
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    struct rn_snapshot r = { 0 };
    struct rn_documents list = { 0 };
    struct rn_pk key;
    struct rn_documents_scan scan = { .epks = rn_epk_all,
                                      .pk = &key,
                                      .no_bodies = no_bodies };
    struct rn_view body;
    size_t count = 0;

    assert_int_equal(rn_pk_parse(rn_view_text(pk), &arena, &key, NULL), RN_OK);
    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(rn_documents_open(&list, &r, &scan), RN_OK);
    while (!rn_documents_next(&list, &body))
        count++;
    rn_documents_close(&list);
    rn_snapshot_end(&r);
    rn_arena_release(&arena);
    return count;
}

static void keys_with_one_hash_do_not_have_each_others_documents(void **state)
{
    static const char one[] = "[\"" ONE "\"]", two[] = "[\"" TWO "\"]";
    static const char body[] = "{\"id\":\"a\",\"pk\":\"" TWO "\"}";

    (void)state;
    one_container_use(CONTAINER_V1(",\"defaultTtl\":-1"));
    one_container_put("{\"id\":\"a\",\"pk\":\"" ONE "\"}");
    assert_int_equal(read_document(&db, one_container, two, "a", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(one_container_write(RN_DOCUMENT_CREATE, NULL, NULL, body),
                     RN_CONFLICT);
    assert_non_null(strstr(doc.err.text, "another partition key value"));
    assert_int_equal(one_container_write(RN_DOCUMENT_UPSERT, two, NULL, body),
                     RN_CONFLICT);
    assert_int_equal(one_container_write(RN_DOCUMENT_REPLACE, two, "a", body),
                     RN_NOT_FOUND);
    assert_int_equal(del(two, "a"), RN_NOT_FOUND);
    one_container_put("{\"id\":\"b\",\"pk\":\"" TWO "\"}");
    assert_int_equal(one_container_write(RN_DOCUMENT_REPLACE, two, "b", body),
                     RN_CONFLICT); /* to move it there */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count_of(one, i), 1);
        assert_int_equal(count_of(two, i), 1);
    }
    assert_int_equal(read_document(&db, one_container, one, "a", &doc), RN_OK);
    assert_int_equal(del(one, "a"), RN_OK);
    assert_int_equal(one_container_write(RN_DOCUMENT_CREATE, NULL, NULL, body),
                     RN_OK);
    assert_int_equal(read_document(&db, one_container, one, "a", &doc),
                     RN_NOT_FOUND);
}

static void a_document_is_read_as_it_was_stored(void **state)
{
    char *stored;

    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":\"p\","
                                             "\"x\":1.50}"),
                     RN_OK);
    assert_true(doc.created);
    assert_has("{\"id\":\"a\",\"pk\":\"p\",\"x\":1.50,\"_rid\":\"");
    assert_has("\"_attachments\":\"attachments/\"");
    stored = strdup(doc.body);
    assert_int_equal(read_document(&db, one_container, "[\"p\"]", "a", &doc),
                     RN_OK);
    assert_string_equal(doc.body, stored);
    free(stored);
    assert_int_equal(read_document(&db, one_container, "[\"q\"]", "a", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(read_document(&db, one_container, "[\"p\"]", "b", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(doc.place.lsn, 1);
}

static void each_verb_minds_whether_there_is_one(void **state)
{
    static const char body[] = "{\"id\":\"a\",\"pk\":1}";
    uint64_t rid;

    (void)state;
    assert_int_equal(put(RN_DOCUMENT_REPLACE, body), RN_NOT_FOUND);
    assert_int_equal(del("[1]", "a"), RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_UPSERT, body), RN_OK);
    assert_true(doc.created);
    rid = doc.rid;
    assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_CONFLICT);
    assert_int_equal(put(RN_DOCUMENT_UPSERT, body), RN_OK);
    assert_false(doc.created);
    assert_int_equal(doc.rid, rid);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, body), RN_OK);
    assert_int_equal(doc.rid, rid);
    assert_int_equal(del("[1]", "a"), RN_OK);
    assert_null(doc.body);
    assert_int_equal(del("[1]", "a"), RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_OK);
    assert_int_not_equal(doc.rid, rid);
}

static enum rn_code replace_as(const char *id, const char *body)
{
    return one_container_write(RN_DOCUMENT_REPLACE, "[1]", id, body);
}

static void a_replacement_may_have_another_id_and_is_the_same_document(void **s)
{
    static const char tags[] = { 'd', 'f', 'i', 't' };
    uint64_t rid;

    (void)s;
    assert_int_equal(
        put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1,\"ttl\":500}"), RN_OK);
    rid = doc.rid;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"b\",\"pk\":1}"), RN_OK);
    assert_int_equal(replace_as("a", "{\"id\":\"b\",\"pk\":1}"), RN_CONFLICT);
    assert_int_equal(replace_as("none", "{\"id\":\"c\",\"pk\":1}"),
                     RN_NOT_FOUND);
    assert_int_equal(lsn_of(&db, one_container, 0), 2);
    assert_int_equal(replace_as("a", "{\"id\":\"c\",\"pk\":1,\"ttl\":900}"),
                     RN_OK);
    assert_false(doc.created);
    assert_int_equal(doc.rid, rid);
    assert_int_equal(doc.place.lsn, 3);
    assert_int_equal(read_document(&db, one_container, "[1]", "a", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(read_document_rid(&db, one_container, rid, &doc), RN_OK);
    assert_has("{\"id\":\"c\",");
    assert_int_equal(read_document(&db, one_container, "[1]", "c", &doc),
                     RN_OK);
    for (size_t i = 0; i < sizeof(tags); i++)
        assert_int_equal(count_rows(&db, one_container, tags[i]),
                         i < 3 ? 2 : 1);
    assert_int_equal(del("[1]", "c"), RN_OK);
    for (size_t i = 0; i < sizeof(tags); i++)
        assert_int_equal(count_rows(&db, one_container, tags[i]),
                         i < 3 ? 1 : 0);
}

static void an_id_whose_document_has_expired_is_free_for_a_replacement(void **s)
{
    (void)s;
    assert_int_equal(
        put(RN_DOCUMENT_CREATE, "{\"id\":\"b\",\"pk\":1,\"ttl\":5}"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}"), RN_OK);
    rn_sim_wall_jump(db.sim, 6000);
    assert_int_equal(replace_as("a", "{\"id\":\"b\",\"pk\":1}"), RN_OK);
    assert_int_equal(doc.place.lsn, 4); /* the burial has one of its own */
    assert_int_equal(count_rows(&db, one_container, 'd'), 1);
    assert_int_equal(count_rows(&db, one_container, 'f'), 1);
    assert_int_equal(count_rows(&db, one_container, 't'), 0);
}

static void one_id_under_two_keys_is_two_documents(void **state)
{
    static const char *const keys[] = { "\"1\"", "1",    "null", "true",
                                        "false", "\"\"", "-0",   "1e300" };
    char body[100], key[40];

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        snprintf(body, sizeof(body), "{\"id\":\"a\",\"pk\":%s}", keys[i]);
        assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_OK);
    }
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\"}"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":{}}"),
                     RN_CONFLICT); /* undefined, too */
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        snprintf(key, sizeof(key), "[%s]", keys[i]);
        assert_int_equal(read_document(&db, one_container, key, "a", &doc),
                         RN_OK);
        snprintf(body, sizeof(body), "\"pk\":%s,", keys[i]);
        assert_has(body);
    }
}

static void properties_of_the_system_are_the_systems(void **state)
{
    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE,
                         "{\"_ts\":7,\"id\":\"a\",\"_etag\":\"mine\",\"pk\":1,"
                         "\"_r\\u0069d\":\"mine\",\"_self\":1,\"_lsn\":9,"
                         "\"_attachments\":[],\"_mine\":2}"),
                     RN_OK);
    assert_has("{\"id\":\"a\",\"pk\":1,\"_mine\":2,\"_rid\":\"");
    assert_null(strstr(doc.body, "\"mine\""));
    assert_has("\"_etag\":\"\\\"");
}

static void bad_documents_are_refused_and_leave_nothing(void **state)
{
    static const struct {
        enum rn_document_verb verb;
        const char *body, *pk;
        int reason;
    } rows[] = {
        { RN_DOCUMENT_CREATE, "", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{", NULL, 0 },
        { RN_DOCUMENT_CREATE, "[]", NULL, 0 },
        { RN_DOCUMENT_CREATE, "\"id\"", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":1}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":null}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"\"}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a/b\"}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"ttl\":0}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"ttl\":-2}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"ttl\":\"9\"}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"ttl\":1.5}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"ttl\":2147483648}", NULL, 0 },
        { RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}", "[2]",
          RN_REASON_KEY_MISMATCH },
        { RN_DOCUMENT_UPSERT, "{\"id\":\"a\",\"pk\":1}", "[\"1\"]",
          RN_REASON_KEY_MISMATCH },
        { RN_DOCUMENT_UPSERT, "{\"id\":\"a\"}", "[null]",
          RN_REASON_KEY_MISMATCH },
        { RN_DOCUMENT_REPLACE, "{\"id\":\"b/c\",\"pk\":1}", "[1]", 0 },
        { RN_DOCUMENT_REPLACE, "{\"id\":\"b\",\"pk\":1}", "[2]",
          RN_REASON_KEY_MISMATCH },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asked asked = { .pk = rows[i].pk, .id = "a" };

        if (write_document(&db, one_container, rows[i].verb, rows[i].body,
                           &asked, &doc) != RN_BAD_REQUEST)
            fail_msg("%s: %d", rows[i].body, doc.rc);
        assert_int_equal(doc.err.reason, rows[i].reason);
        assert_true(doc.err.text[0] != '\0');
    }
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"z\"}"), RN_OK);
    assert_int_equal(doc.place.lsn, 1);
}

static void a_document_may_have_two_megabytes_and_no_more(void **state)
{
    static const char head[] = "{\"id\":\"a\",\"x\":\"";
    char *body = malloc(RN_DOCUMENT_MAX + 2);

    (void)state;
    assert_non_null(body);
    memset(body, 'x', RN_DOCUMENT_MAX + 1);
    memcpy(body, head, strlen(head));
    memcpy(body + RN_DOCUMENT_MAX - 1, "\"}", 3);
    assert_int_equal(strlen(body), RN_DOCUMENT_MAX + 1);
    assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_TOO_LARGE);
    memcpy(body + RN_DOCUMENT_MAX - 2, "\"}", 3);
    assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_OK);
    assert_int_equal(read_document(&db, one_container, "[{}]", "a", &doc),
                     RN_OK);
    free(body);
    body = strdup(doc.body); /* with what was added to it */
    assert_int_equal(put(RN_DOCUMENT_REPLACE, body), RN_OK);
    free(body);
}

/* ---- conditions ---------------------------------------------------------- */

static void conditions_are_upon_what_is_there(void **state)
{
    static const char body[] = "{\"id\":\"a\",\"pk\":1}";
    char old[RN_ETAG_LEN + 1], now[RN_ETAG_LEN + 1];
    const struct {
        enum rn_document_verb verb;
        const char *if_match, *if_none_match;
        enum rn_code rc;
    } rows[] = {
        { RN_DOCUMENT_REPLACE, old, NULL, RN_PRECONDITION },
        { RN_DOCUMENT_REPLACE, "\"nonsense\"", NULL, RN_PRECONDITION },
        { RN_DOCUMENT_UPSERT, old, NULL, RN_PRECONDITION },
        { RN_DOCUMENT_DELETE, old, NULL, RN_PRECONDITION },
        { RN_DOCUMENT_REPLACE, NULL, now, RN_PRECONDITION },
        { RN_DOCUMENT_UPSERT, NULL, "*", RN_PRECONDITION },
        { RN_DOCUMENT_CREATE, old, NULL, RN_CONFLICT }, /* decided first */
        { RN_DOCUMENT_REPLACE, now, NULL, RN_OK },
        { RN_DOCUMENT_REPLACE, "", "", RN_OK },
    };

    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_OK);
    memcpy(old, doc.etag, sizeof(old));
    assert_int_equal(put(RN_DOCUMENT_REPLACE, body), RN_OK);
    memcpy(now, doc.etag, sizeof(now));
    assert_string_not_equal(old, now);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asked asked = { .pk = "[1]",
                               .id = "a",
                               .if_match = rows[i].if_match,
                               .if_none_match = rows[i].if_none_match };

        write_document(&db, one_container, rows[i].verb,
                       rows[i].verb == RN_DOCUMENT_DELETE ? NULL : body, &asked,
                       &doc);
        assert_int_equal(doc.rc, rows[i].rc);
    }
    assert_int_equal(doc.place.lsn, 4); /* refusals took none */
}

static void a_condition_on_nothing_lets_an_upsert_create(void **state)
{
    struct asked asked = { .pk = "[1]", .id = "a", .if_match = "\"x\"" };

    (void)state;
    assert_int_equal(write_document(&db, one_container, RN_DOCUMENT_REPLACE,
                                    "{\"id\":\"a\",\"pk\":1}", &asked, &doc),
                     RN_NOT_FOUND);
    assert_int_equal(write_document(&db, one_container, RN_DOCUMENT_UPSERT,
                                    "{\"id\":\"a\",\"pk\":1}", &asked, &doc),
                     RN_OK);
    assert_true(doc.created);
}

/* ---- order and time ------------------------------------------------------ */

static void every_write_takes_the_next_lsn_and_refusals_none(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 50; i++) {
        assert_int_equal(put(RN_DOCUMENT_UPSERT, "{\"id\":\"a\",\"pk\":1}"),
                         RN_OK);
        assert_int_equal(doc.place.lsn, i);
        assert_int_equal(doc.place.etag.lsn, i);
        assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}"),
                         RN_CONFLICT);
        assert_int_equal(doc.place.lsn, i);
    }
    assert_int_equal(del("[1]", "a"), RN_OK);
    assert_int_equal(doc.place.lsn, 51);
}

static void the_timestamp_never_goes_back_when_the_clock_does(void **state)
{
    static const int64_t jumps[] = { 5000, -3600000, 1000, -86400000,
                                     90000000 };
    int64_t last = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        rn_sim_wall_jump(db.sim, jumps[i]);
        assert_int_equal(put(RN_DOCUMENT_UPSERT, "{\"id\":\"a\",\"pk\":1}"),
                         RN_OK);
        assert_true(doc.ts >= last);
        last = doc.ts;
    }
    assert_int_equal(last, rn_wall_ms(db.env) / 1000);
}

static void a_document_past_its_time_is_not_there(void **state)
{
    uint64_t rid;

    (void)state;
    assert_int_equal(
        put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1,\"ttl\":10}"), RN_OK);
    rid = doc.rid;
    rn_sim_wall_jump(db.sim, 9000);
    assert_int_equal(read_document(&db, one_container, "[1]", "a", &doc),
                     RN_OK);
    rn_sim_wall_jump(db.sim, 1000);
    assert_int_equal(read_document(&db, one_container, "[1]", "a", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(read_document_rid(&db, one_container, rid, &doc),
                     RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "{\"id\":\"a\",\"pk\":1}"),
                     RN_NOT_FOUND);
    assert_int_equal(del("[1]", "a"), RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}"), RN_OK);
    assert_true(doc.created);
    assert_int_not_equal(doc.rid, rid);
    assert_int_equal(doc.place.lsn, 3); /* the old one's end took one */
    assert_int_equal(read_document_rid(&db, one_container, rid, &doc),
                     RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "{\"id\":\"a\",\"pk\":1}"),
                     RN_OK);
}

static void the_containers_default_holds_for_those_without_their_own(void **s)
{
    static const struct {
        const char *more, *ttl;
        int64_t after_s;
        enum rn_code rc;
    } rows[] = {
        { "", "", 999999, RN_OK },
        { "", ",\"ttl\":1", 999999, RN_OK }, /* expiry is off */
        { ",\"defaultTtl\":-1", "", 999999, RN_OK },
        { ",\"defaultTtl\":-1", ",\"ttl\":5", 4, RN_OK },
        { ",\"defaultTtl\":-1", ",\"ttl\":5", 5, RN_NOT_FOUND },
        { ",\"defaultTtl\":5", "", 4, RN_OK },
        { ",\"defaultTtl\":5", "", 5, RN_NOT_FOUND },
        { ",\"defaultTtl\":5", ",\"ttl\":-1", 999999, RN_OK },
        { ",\"defaultTtl\":5", ",\"ttl\":9", 8, RN_OK },
        { ",\"defaultTtl\":5", ",\"ttl\":9", 9, RN_NOT_FOUND },
    };

    (void)s;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[300];

        snprintf(text, sizeof(text), CONTAINER_HASHED("t%zu", "2", "%s"), i,
                 rows[i].more);
        one_container_use(text);
        snprintf(text, sizeof(text), "{\"id\":\"a\",\"pk\":1%s}", rows[i].ttl);
        assert_int_equal(put(RN_DOCUMENT_CREATE, text), RN_OK);
        rn_sim_wall_jump(db.sim, rows[i].after_s * 1000);
        if (read_document(&db, one_container, "[1]", "a", &doc) != rows[i].rc)
            fail_msg("%s %s after %d s: %d", rows[i].more, rows[i].ttl,
                     (int)rows[i].after_s, doc.rc);
    }
}

static void a_document_is_found_by_its_rid_where_it_lies(void **state)
{
    uint64_t rids[40];
    char body[60], key[20];

    (void)state;
    for (int i = 0; i < 40; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"a\",\"pk\":%d}", i);
        assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_OK);
        rids[i] = doc.rid;
    }
    for (int i = 0; i < 40; i++) {
        struct document by_rid = { 0 };

        snprintf(key, sizeof(key), "[%d]", i);
        assert_int_equal(read_document(&db, one_container, key, "a", &doc),
                         RN_OK);
        assert_int_equal(
            read_document_rid(&db, one_container, rids[i], &by_rid), RN_OK);
        assert_string_equal(doc.body, by_rid.body);
        assert_int_equal(doc.place.range, by_rid.place.range);
        assert_int_equal(doc.place.lsn, by_rid.place.lsn);
        assert_string_equal(doc.etag, by_rid.etag);
        document_clear(&by_rid);
    }
    assert_int_equal(del("[7]", "a"), RN_OK);
    assert_int_equal(read_document_rid(&db, one_container, rids[7], &doc),
                     RN_NOT_FOUND);
    assert_int_equal(read_document_rid(&db, one_container, 0, &doc),
                     RN_NOT_FOUND);
}

/* ---- ids that are new -----------------------------------------------------
 */

static enum rn_code create(unsigned n)
{
    char body[64];

    snprintf(body, sizeof(body), "{\"id\":\"%u\",\"pk\":%u}", n, n % 10);
    return put(RN_DOCUMENT_CREATE, body);
}

/* How often creating `count` of them looks into the store. */
static unsigned looks_of(unsigned first, unsigned count)
{
    unsigned before = faulty_count(db.store, FAULTY_GET);

    for (unsigned i = first; i < first + count; i++)
        assert_int_equal(create(i), RN_OK);
    return faulty_count(db.store, FAULTY_GET) - before;
}

static bool is_partial(void)
{
    return rn_bloom_is_partial(&db.engine->blooms, one_container->number);
}

/* After a restart the first one is, and the filter is filled. */
static void a_new_id_is_not_looked_for_where_all_are_known(void **state)
{
    unsigned known, again;

    (void)state;
    known = looks_of(0, 1000);
    one_container_reopen();
    assert_true(looks_of(1000, 1) > 0);
    assert_true(is_partial());
    database_settle(&db);
    assert_false(is_partial());
    again = looks_of(1001, 1000);
    assert_true(again < known + 100);
}

/* Slices go along with the writes: before, between and behind them. */
static void every_id_is_found_while_a_filter_is_filled(void **state)
{
    unsigned partial = 0;

    (void)state;
    (void)looks_of(0, 3000);
    one_container_reopen();
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(create(i * 30), RN_CONFLICT);
        assert_int_equal(create(3000 + i), RN_OK);
        assert_int_equal(create(3000 + i), RN_CONFLICT);
        partial += is_partial();
    }
    assert_in_range(partial, 1, 97);
    for (unsigned i = 0; i < 3100; i++)
        assert_int_equal(create(i), RN_CONFLICT);
}

static void keys_that_cannot_be_read_end_a_filter(void **state)
{
    (void)state;
    (void)looks_of(0, 1000);
    one_container_reopen();
    assert_int_equal(create(1000), RN_OK);
    assert_true(is_partial());
    faulty_fail(db.store, FAULTY_NEXT, 1, 1, RN_CORRUPT);
    database_settle(&db);
    assert_false(is_partial());
    assert_true(looks_of(1001, 1000) >= 1000);
    for (unsigned i = 0; i < 2000; i += 7)
        assert_int_equal(create(i), RN_CONFLICT);
}

static void a_container_may_go_while_its_filter_is_filled(void **state)
{
    (void)state;
    (void)looks_of(0, 1000);
    one_container_reopen();
    assert_int_equal(create(1000), RN_OK);
    assert_true(is_partial());
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    database_settle(&db);
    assert_int_equal(db.engine->blooms.len, 0);
    assert_int_equal(db.engine->bloom_fill.container, 0);
}

/* And deleted between, or undone. */
static void an_id_that_was_there_is_found_however_many_came_since(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(create(i), RN_OK);
    for (unsigned i = 0; i < 5000; i += 7)
        assert_int_equal(create(i), RN_CONFLICT);
    assert_int_equal(del("[3]", "13"), RN_OK);
    assert_int_equal(create(13), RN_OK);
    assert_int_equal(create(13), RN_CONFLICT);
    faulty_fail(db.store, FAULTY_COMMIT, 1, 2, RN_IO);
    assert_int_equal(create(6000), RN_IO);
    assert_int_equal(create(6000), RN_OK);
    assert_int_equal(create(6000), RN_CONFLICT);
    one_container_reopen();
    for (unsigned i = 0; i < 5000; i += 7)
        assert_int_equal(create(i), RN_CONFLICT);
}

/* ---- restarts ------------------------------------------------------------ */

static void everything_is_there_after_a_restart(void **state)
{
    struct rn_object *old = rn_object_share(one_container);
    char *before;

    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}"), RN_OK);
    before = strdup(doc.body);
    one_container_reopen();
    assert_true(rn_view_eq(one_container->body, old->body));
    assert_int_equal(read_document(&db, one_container, "[1]", "a", &doc),
                     RN_OK);
    assert_string_equal(doc.body, before);
    one_container_put("{\"id\":\"b\",\"pk\":1}");
    assert_int_equal(doc.place.lsn, 2);
    free(before);
    rn_object_release(old);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, one_container_setup,                 \
                                    one_container_close)
#define SPREAD(name)                                                           \
    cmocka_unit_test_setup_teardown(name, setup_ranges, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_document_is_read_as_it_was_stored),
        CASE(keys_with_one_hash_do_not_have_each_others_documents),
        CASE(each_verb_minds_whether_there_is_one),
        CASE(a_replacement_may_have_another_id_and_is_the_same_document),
        CASE(an_id_whose_document_has_expired_is_free_for_a_replacement),
        CASE(one_id_under_two_keys_is_two_documents),
        CASE(properties_of_the_system_are_the_systems),
        CASE(bad_documents_are_refused_and_leave_nothing),
        CASE(a_document_may_have_two_megabytes_and_no_more),
        CASE(conditions_are_upon_what_is_there),
        CASE(a_condition_on_nothing_lets_an_upsert_create),
        CASE(every_write_takes_the_next_lsn_and_refusals_none),
        CASE(the_timestamp_never_goes_back_when_the_clock_does),
        CASE(a_document_past_its_time_is_not_there),
        CASE(the_containers_default_holds_for_those_without_their_own),
        SPREAD(a_document_is_found_by_its_rid_where_it_lies),
        CASE(a_new_id_is_not_looked_for_where_all_are_known),
        CASE(every_id_is_found_while_a_filter_is_filled),
        CASE(keys_that_cannot_be_read_end_a_filter),
        CASE(a_container_may_go_while_its_filter_is_filled),
        CASE(an_id_that_was_there_is_found_however_many_came_since),
        CASE(everything_is_there_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
