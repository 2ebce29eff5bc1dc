/* engine_document_test.c -- documents, one at a time and in lists.
 *
 * An engine over `mem` in the simulation: each write has ended when it returns,
 * and the test turns the clock.  Containers whose matter is the catalog's
 * (their deletion, a restart) are here where documents show it.
 */
#include "engine/whole.h"
#include "lib/database.h"

#include "base/chance.h"
#include "cosmos/status.h"
#include "engine/own.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFINITION(id, more)                                                   \
    "{\"id\":\"" id "\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":"       \
    "\"Hash\",\"version\":2}" more "}"

static struct database db;
static struct rn_rid owner;
static struct rn_object *box; /* the container most tests use */
static struct document doc;

static int setup_ranges(uint32_t ranges)
{
    database_open(&db, true, ranges);
    owner = make_database(&db, "d");
    box = make_container(&db, owner, DEFINITION("c", ",\"defaultTtl\":-1"));
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_ranges(1);
}

static int setup_many_ranges(void **state)
{
    (void)state;
    return setup_ranges(5);
}

static int teardown(void **state)
{
    (void)state;
    document_clear(&doc);
    rn_object_release(box);
    database_close(&db);
    return 0;
}

static enum rn_code put(enum rn_document_verb verb, const char *body)
{
    struct asked asked = { .id = verb == RN_DOCUMENT_REPLACE ? "a" : NULL };

    return write_document(&db, box, verb, body, &asked, &doc);
}

static enum rn_code del(const char *pk, const char *id)
{
    struct asked asked = { .pk = pk, .id = id };

    return write_document(&db, box, RN_DOCUMENT_DELETE, NULL, &asked, &doc);
}

static void assert_has(const char *text)
{
    assert_non_null(doc.body);
    if (!strstr(doc.body, text))
        fail_msg("%s does not have %s", doc.body, text);
}

/* ---- one at a time ------------------------------------------------------- */

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
    assert_int_equal(read_document(&db, box, "[\"p\"]", "a", &doc), RN_OK);
    assert_string_equal(doc.body, stored);
    free(stored);
    assert_int_equal(read_document(&db, box, "[\"q\"]", "a", &doc),
                     RN_NOT_FOUND);
    assert_int_equal(read_document(&db, box, "[\"p\"]", "b", &doc),
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
        assert_int_equal(read_document(&db, box, key, "a", &doc), RN_OK);
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
        { RN_DOCUMENT_REPLACE, "{\"id\":\"b\",\"pk\":1}", "[1]", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct asked asked = { .pk = rows[i].pk, .id = "a" };

        if (write_document(&db, box, rows[i].verb, rows[i].body, &asked,
                           &doc) != RN_BAD_REQUEST)
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
    assert_int_equal(read_document(&db, box, "[{}]", "a", &doc), RN_OK);
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
        { RN_DOCUMENT_REPLACE, "", NULL, RN_PRECONDITION },
        { RN_DOCUMENT_UPSERT, old, NULL, RN_PRECONDITION },
        { RN_DOCUMENT_DELETE, old, NULL, RN_PRECONDITION },
        { RN_DOCUMENT_REPLACE, NULL, now, RN_PRECONDITION },
        { RN_DOCUMENT_UPSERT, NULL, "*", RN_PRECONDITION },
        { RN_DOCUMENT_CREATE, old, NULL, RN_CONFLICT }, /* decided first */
        { RN_DOCUMENT_REPLACE, now, NULL, RN_OK },
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

        write_document(&db, box, rows[i].verb,
                       rows[i].verb == RN_DOCUMENT_DELETE ? NULL : body, &asked,
                       &doc);
        assert_int_equal(doc.rc, rows[i].rc);
    }
    assert_int_equal(doc.place.lsn, 3); /* refusals took none */
}

static void a_condition_on_nothing_lets_an_upsert_create(void **state)
{
    struct asked asked = { .pk = "[1]", .id = "a", .if_match = "\"x\"" };

    (void)state;
    assert_int_equal(write_document(&db, box, RN_DOCUMENT_REPLACE,
                                    "{\"id\":\"a\",\"pk\":1}", &asked, &doc),
                     RN_NOT_FOUND);
    assert_int_equal(write_document(&db, box, RN_DOCUMENT_UPSERT,
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
    assert_int_equal(read_document(&db, box, "[1]", "a", &doc), RN_OK);
    rn_sim_wall_jump(db.sim, 1000);
    assert_int_equal(read_document(&db, box, "[1]", "a", &doc), RN_NOT_FOUND);
    assert_int_equal(read_document_rid(&db, box, rid, &doc), RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "{\"id\":\"a\",\"pk\":1}"),
                     RN_NOT_FOUND);
    assert_int_equal(del("[1]", "a"), RN_NOT_FOUND);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}"), RN_OK);
    assert_true(doc.created);
    assert_int_not_equal(doc.rid, rid);
    assert_int_equal(doc.place.lsn, 3); /* the old one's end took one */
    assert_int_equal(read_document_rid(&db, box, rid, &doc), RN_NOT_FOUND);
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
        struct rn_object *c;

        snprintf(text, sizeof(text),
                 "{\"id\":\"t%zu\",\"partitionKey\":{\"paths\":[\"/pk\"]}%s}",
                 i, rows[i].more);
        c = make_container(&db, owner, text);
        snprintf(text, sizeof(text), "{\"id\":\"a\",\"pk\":1%s}", rows[i].ttl);
        assert_int_equal(
            write_document(&db, c, RN_DOCUMENT_CREATE, text, NULL, &doc),
            RN_OK);
        rn_sim_wall_jump(db.sim, rows[i].after_s * 1000);
        if (read_document(&db, c, "[1]", "a", &doc) != rows[i].rc)
            fail_msg("%s %s after %d s: %d", rows[i].more, rows[i].ttl,
                     (int)rows[i].after_s, doc.rc);
        rn_object_release(c);
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
        assert_int_equal(read_document(&db, box, key, "a", &doc), RN_OK);
        assert_int_equal(read_document_rid(&db, box, rids[i], &by_rid), RN_OK);
        assert_string_equal(doc.body, by_rid.body);
        assert_int_equal(doc.place.range, by_rid.place.range);
        assert_int_equal(doc.place.lsn, by_rid.place.lsn);
        assert_string_equal(doc.etag, by_rid.etag);
        document_clear(&by_rid);
    }
    assert_int_equal(del("[7]", "a"), RN_OK);
    assert_int_equal(read_document_rid(&db, box, rids[7], &doc), RN_NOT_FOUND);
    assert_int_equal(read_document_rid(&db, box, 0, &doc), RN_NOT_FOUND);
}

/* ---- lists --------------------------------------------------------------- */

enum { LISTED = 300, PAGE = 7 };

struct listing {
    struct rn_epk_range epks;
    const struct rn_pk *pk;
    char place[RN_PLACE_MAX];
    size_t place_len;
    int seen[LISTED]; /* how often the document n was there */
    int strangers;
};

/* Reads a page and notes its documents, which have their number as "n"; false
 * at the end. */
static bool list_page(struct listing *l, const struct rn_object *c, int max)
{
    struct rn_documents_scan scan = {
        .epks = l->epks,
        .pk = l->pk,
        .after = rn_view_of(l->place, l->place_len),
    };
    struct rn_documents d = { 0 };
    struct rn_reading r = { 0 };
    struct rn_view body;
    enum rn_code rc = rn_reading_begin(&r, db.engine, c->container, NULL);

    assert_int_equal(rc, RN_OK);
    rc = rn_documents_open(&d, &r, &scan);
    for (int i = 0; !rc && i < max; i++) {
        const char *at;
        long n = -1;

        rc = rn_documents_next(&d, &body);
        if (rc)
            break;
        at = memmem(body.at, body.len, "\"n\":", 4);
        if (at)
            n = strtol(at + 4, NULL, 10);
        if (n >= 0 && n < LISTED)
            l->seen[n]++;
        else
            l->strangers++;
        assert_true(rn_view_compare(rn_view_of(l->place, l->place_len), d.at) <
                    0);
        memcpy(l->place, d.at.at, d.at.len);
        l->place_len = d.at.len;
    }
    rn_documents_close(&d);
    rn_reading_end(&r);
    assert_true(rc == RN_OK || rc == RN_NOT_FOUND);
    return rc == RN_OK;
}

static void put_listed(enum rn_document_verb verb, int n)
{
    struct asked asked = { 0 };
    char body[100], id[20];

    snprintf(id, sizeof(id), "i%d", n);
    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d,\"n\":%d}", id,
             n / 4, n);
    asked.id = id;
    assert_int_equal(write_document(&db, box, verb, body, &asked, &doc), RN_OK);
}

static void disturb(struct rn_chance *dice, int round)
{
    char body[100], id[20], key[20];
    int n = (int)rn_chance_below(dice, LISTED);

    put_listed(RN_DOCUMENT_REPLACE, n);
    put_listed(RN_DOCUMENT_UPSERT, (n + 1) % LISTED);
    snprintf(id, sizeof(id), "s%d", round);
    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d}", id, round);
    assert_int_equal(put(RN_DOCUMENT_CREATE, body), RN_OK);
    if (round % 2 == 0)
        return;
    snprintf(key, sizeof(key), "[%d]", round);
    assert_int_equal(del(key, id), RN_OK);
}

static void a_list_has_each_document_once_whatever_is_written(void **state)
{
    struct listing l = { .epks = rn_epk_all };
    int round = 0;

    (void)state;
    for (int n = 0; n < LISTED; n++)
        put_listed(RN_DOCUMENT_CREATE, n);
    while (list_page(&l, box, PAGE)) {
        disturb(rn_sim_chance(db.sim), round++);
        assert_true(round < LISTED);
    }
    for (int n = 0; n < LISTED; n++)
        assert_int_equal(l.seen[n], 1);
}

/* The other way to all of them: once each too, and none that is gone. */
static void all_come_as_they_lie(void **state)
{
    struct rn_whole w = { 0 };
    struct rn_reading r = { 0 };
    struct rn_view body;
    int seen[LISTED] = { 0 }, strangers = 0;

    (void)state;
    for (int n = 0; n < LISTED; n++)
        put_listed(RN_DOCUMENT_CREATE, n);
    for (int round = 0; round < 100; round++)
        disturb(rn_sim_chance(db.sim), round);
    assert_int_equal(rn_reading_begin(&r, db.engine, box->container, NULL),
                     RN_OK);
    assert_int_equal(rn_whole_open(&w, &r), RN_OK);
    while (rn_whole_next(&w, &body) == RN_OK) {
        const char *at = memmem(body.at, body.len, "\"n\":", 4);
        if (at)
            seen[strtol(at + 4, NULL, 10)]++;
        else
            strangers++;
    }
    rn_whole_close(&w);
    rn_reading_end(&r);
    for (int n = 0; n < LISTED; n++)
        assert_int_equal(seen[n], 1);
    assert_int_equal(strangers, 50); /* every other one was deleted */
}

static void the_ranges_share_the_documents_out(void **state)
{
    struct listing all = { 0 };
    size_t with_some = 0;

    (void)state;
    for (int n = 0; n < LISTED; n++)
        put_listed(RN_DOCUMENT_CREATE, n);
    assert_int_equal(box->container->range_count, 5);
    for (size_t i = 0; i < 5; i++) {
        struct listing l = { .epks = box->container->ranges[i].epks };
        int some = 0;

        while (list_page(&l, box, PAGE))
            ;
        for (int n = 0; n < LISTED; n++) {
            all.seen[n] += l.seen[n];
            some += l.seen[n];
        }
        with_some += some > 0;
    }
    for (int n = 0; n < LISTED; n++)
        assert_int_equal(all.seen[n], 1);
    assert_int_equal(with_some, 5);
}

static void a_list_leaves_out_what_has_expired(void **state)
{
    struct listing l = { .epks = rn_epk_all };

    (void)state;
    assert_int_equal(
        put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1,\"n\":0,\"ttl\":3}"),
        RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"b\",\"pk\":1,\"n\":1}"),
                     RN_OK);
    rn_sim_wall_jump(db.sim, 3000);
    assert_false(list_page(&l, box, PAGE));
    assert_int_equal(l.seen[0], 0);
    assert_int_equal(l.seen[1], 1);
}

/* Two keys, as JSON strings, that have one EPK. */
static void assert_apart(const char *definition, const char *const texts[2])
{
    struct rn_object *c = make_container(&db, owner, definition);
    char key[2][160], body[300];
    struct rn_epk epks[2];
    struct rn_pk pks[2];
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);

    for (int i = 0; i < 2; i++) {
        snprintf(key[i], sizeof(key[i]), "[%s]", texts[i]);
        assert_int_equal(
            rn_pk_parse(rn_view_text(key[i]), &arena, &pks[i], NULL), RN_OK);
        rn_epk_of(&c->container->pkdef, &pks[i], &epks[i]);
        snprintf(body, sizeof(body), "{\"id\":\"a\",\"pk\":%s,\"n\":%d}",
                 texts[i], i);
        assert_int_equal(
            write_document(&db, c, RN_DOCUMENT_CREATE, body, NULL, &doc),
            RN_OK);
    }
    assert_int_equal(rn_epk_compare(&epks[0], &epks[1]), 0);
    for (int i = 0; i < 2; i++) {
        struct listing l = { .pk = &pks[i] };

        assert_int_equal(read_document(&db, c, key[i], "a", &doc), RN_OK);
        snprintf(body, sizeof(body), "\"n\":%d", i);
        assert_has(body);
        rn_epk_range_of(&c->container->pkdef, &pks[i], &l.epks);
        assert_false(list_page(&l, c, PAGE));
        assert_int_equal(l.seen[i], 1);
        assert_int_equal(l.seen[1 - i], 0);
    }
    rn_arena_release(&arena);
    rn_object_release(c);
}

/* Version 1 cuts strings. */
static void long_keys_of_version_1_stay_apart(void **state)
{
    char text[2][160];

    (void)state;
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof(text[i]), "\"%0140d%d\"", 0, i);
    assert_apart("{\"id\":\"v1\",\"partitionKey\":{\"paths\":[\"/pk\"]}}",
                 (const char *const[]){ text[0], text[1] });
}

/* MurmurHash3 can be calculated backwards: the second was made for the first.
 */
static void keys_of_version_2_made_to_hash_alike_stay_apart(void **state)
{
    static const char *const texts[] = {
        "\"aaaaaaaaaaaaaaabbbbbbbbbbbbbbbb\"",
        "\"8:A>CI28MLPDOEFs1h0TX[xlf(k*2#U\""
    };

    (void)state;
    assert_apart("{\"id\":\"v2\",\"partitionKey\":{\"paths\":[\"/pk\"],"
                 "\"version\":2}}",
                 texts);
    assert_apart("{\"id\":\"tree\",\"partitionKey\":{\"paths\":[\"/pk\"],"
                 "\"kind\":\"MultiHash\",\"version\":2}}",
                 texts);
}

/* ---- containers ---------------------------------------------------------- */

static size_t keys_of(uint32_t number)
{
    struct rn_key from, before;
    struct rn_range range;
    struct rn_cursor *c = NULL;
    struct rn_txn *txn = NULL;
    struct rn_view key, value;
    size_t count = 0;

    rn_key_span_container(number, &from, &before);
    range = (struct rn_range){ .from = rn_key_view(&from),
                               .before = rn_key_view(&before) };
    assert_int_equal(
        rn_txn_begin(db.store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(rn_txn_scan(txn, &range, &c), RN_OK);
    while (rn_cursor_next(c, &key, &value) == RN_OK)
        count++;
    rn_cursor_end(c);
    rn_txn_abort(txn);
    return count;
}

static void a_deleted_container_leaves_no_key_and_no_number(void **state)
{
    struct rn_object *again;

    (void)state;
    for (int n = 0; n < LISTED; n++)
        put_listed(RN_DOCUMENT_CREATE, n);
    assert_true(keys_of(box->number) >= 3 * LISTED);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    assert_null(
        rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("c")));
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"late\"}"),
                     RN_NOT_FOUND);
    assert_int_equal(doc.err.reason, RN_REASON_OWNER);
    again = make_container(&db, owner, DEFINITION("c", ""));
    database_settle(&db);
    assert_int_equal(keys_of(box->number), 0);
    assert_true(again->number > box->number);
    assert_false(rn_rid_eq(again->rid, box->rid));
    assert_int_equal(read_document(&db, again, "[1]", "i4", &doc),
                     RN_NOT_FOUND);
    rn_object_release(again);
}

static void sweeping_goes_on_after_a_restart(void **state)
{
    (void)state;
    for (int n = 0; n < LISTED; n++)
        put_listed(RN_DOCUMENT_CREATE, n);
    assert_int_equal(
        change(&db, RN_CATALOG_DELETE, (struct rn_rid){ 0 }, "d", NULL, NULL),
        RN_OK);
    database_reopen(&db);
    database_settle(&db);
    assert_int_equal(keys_of(box->number), 0);
    assert_null(rn_catalog_find_rid(db.engine, box->rid));
}

static void everything_is_there_after_a_restart(void **state)
{
    struct rn_object *c;
    char *before;

    (void)state;
    assert_int_equal(put(RN_DOCUMENT_CREATE, "{\"id\":\"a\",\"pk\":1}"), RN_OK);
    before = strdup(doc.body);
    database_reopen(&db);
    c = rn_catalog_find(db.engine, RN_KIND_CONTAINER, owner, RN_LIT("c"));
    assert_non_null(c);
    assert_true(rn_view_eq(c->body, box->body));
    assert_int_equal(read_document(&db, c, "[1]", "a", &doc), RN_OK);
    assert_string_equal(doc.body, before);
    assert_int_equal(write_document(&db, c, RN_DOCUMENT_UPSERT,
                                    "{\"id\":\"b\",\"pk\":1}", NULL, &doc),
                     RN_OK);
    assert_int_equal(doc.place.lsn, 2);
    free(before);
    rn_object_release(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_MANY(f)                                                           \
    cmocka_unit_test_setup_teardown(f, setup_many_ranges, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_document_is_read_as_it_was_stored),
        TEST(each_verb_minds_whether_there_is_one),
        TEST(one_id_under_two_keys_is_two_documents),
        TEST(properties_of_the_system_are_the_systems),
        TEST(bad_documents_are_refused_and_leave_nothing),
        TEST(a_document_may_have_two_megabytes_and_no_more),
        TEST(conditions_are_upon_what_is_there),
        TEST(a_condition_on_nothing_lets_an_upsert_create),
        TEST(every_write_takes_the_next_lsn_and_refusals_none),
        TEST(the_timestamp_never_goes_back_when_the_clock_does),
        TEST(a_document_past_its_time_is_not_there),
        TEST(the_containers_default_holds_for_those_without_their_own),
        TEST_MANY(a_document_is_found_by_its_rid_where_it_lies),
        TEST(a_list_has_each_document_once_whatever_is_written),
        TEST_MANY(all_come_as_they_lie),
        TEST_MANY(the_ranges_share_the_documents_out),
        TEST(a_list_leaves_out_what_has_expired),
        TEST(long_keys_of_version_1_stay_apart),
        TEST(keys_of_version_2_made_to_hash_alike_stay_apart),
        TEST(a_deleted_container_leaves_no_key_and_no_number),
        TEST(sweeping_goes_on_after_a_restart),
        TEST(everything_is_there_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
