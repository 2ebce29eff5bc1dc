/* engine_index_test.c -- an index has a row for each document, the right one,
 * whatever happens to documents, ranges and the engine.
 *
 * An engine over `mem` in the simulation.  After whatever was done the rows of
 * every index are held against the documents themselves: each is read, its
 * values are encoded anew, and what that gives must be just what lies in the
 * store; of an index that is being built, nothing that should not be there.  A
 * long walk does everything to documents that can be done, splits, merges and
 * reopens in between, while indexes come and go.
 */
#include "lib/database.h"
#include "lib/faulty.h"

#include "base/chance.h"
#include "engine/own.h"
#include "engine/purge.h"
#include "engine/reshape.h"

#include <stdio.h>
#include <stdlib.h>

#define PK                                                                     \
    "\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}"
#define COMPOSITE                                                              \
    "\"compositeIndexes\":[[{\"path\":\"/a\",\"order\":\"ascending\"},"        \
    "{\"path\":\"/b\",\"order\":\"descending\"}]]"
#define DEFINITION(policy)                                                     \
    "{\"id\":\"c\"," PK ",\"defaultTtl\":-1,\"indexingPolicy\":{" policy       \
    "},\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/u\"]}]}}"

enum { DAY = 86400, KEYS = 4 };

static struct database db;
static struct rn_rid owner;
static struct rn_object *box;
static struct document doc;
static struct rn_arena arena;

/* Slices wait until nobody has written for a while. */
static void settle(void)
{
    rn_sim_run(db.sim, 100000000);
}

static int setup(void **state)
{
    (void)state;
    database_open(&db, true, 1);
    owner = make_database(&db, "d");
    box = make_container(&db, owner, DEFINITION(COMPOSITE));
    arena = RN_ARENA_INIT(64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    document_clear(&doc);
    rn_object_release(box);
    database_close(&db);
    rn_arena_release(&arena);
    return 0;
}

/* The container as it is after a split or a reopening. */
static void refresh(void)
{
    struct rn_object *now = rn_catalog_find_rid(db.engine, box->rid);

    assert_non_null(now);
    rn_object_release(box);
    box = now;
}

static void turn_clock(int64_t seconds)
{
    rn_sim_run(db.sim, seconds * 1000000000);
}

/* ---- changing ------------------------------------------------------------ */

struct ended {
    struct rn_index_change change;
    struct rn_purge purge;
    struct rn_reshape reshape;
    bool is_ended;
    enum rn_code rc;
};

static struct ended *waiting;

static void on_done(struct rn_done *done, enum rn_code rc,
                    const struct rn_err *err)
{
    (void)done;
    (void)err;
    waiting->is_ended = true;
    waiting->rc = rc;
}

static enum rn_code wait_for(struct ended *e, enum rn_code rc)
{
    waiting = e;
    while (!rc && !e->is_ended)
        assert_true(rn_sim_step(db.sim));
    waiting = NULL; /* it is the caller's, and gone with him */
    return rc ? rc : e->rc;
}

/* Paths apart by blanks; one that begins with - descends. */
static uint32_t read_keys(const char *paths, struct rn_index_key *out)
{
    uint32_t count = 0;
    size_t len;

    for (; *paths; paths += len + (paths[len] == ' ')) {
        bool is_descending = *paths == '-';

        len = strcspn(paths, " ");
        out[count].is_descending = is_descending;
        assert_int_equal(rn_json_path_parse(rn_view_of(paths + is_descending,
                                                       len - is_descending),
                                            &arena, &out[count].path, NULL),
                         RN_OK);
        count++;
    }
    return count;
}

static enum rn_code change_index(const char *paths, bool is_drop)
{
    struct rn_index_key keys[40];
    struct ended e = { .change = { .done.call = on_done,
                                   .container = box->container,
                                   .keys = keys,
                                   .is_drop = is_drop } };

    e.change.count = read_keys(paths, keys);
    return wait_for(&e, rn_index_change_start(db.engine, &e.change, NULL));
}

static enum rn_code put(enum rn_document_verb verb, const char *id, int pk,
                        const char *more)
{
    struct asked asked = { .id = verb == RN_DOCUMENT_REPLACE ? id : NULL };
    char body[2000];

    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d,\"u\":\"%s\"%s}", id,
             pk, id, more);
    return write_document(&db, box, verb, body, &asked, &doc);
}

static void fill(int count)
{
    for (int i = 0; i < count; i++) {
        char id[12], more[40];

        snprintf(id, sizeof(id), "%d", i);
        snprintf(more, sizeof(more), ",\"a\":%d", i % 10);
        assert_int_equal(put(RN_DOCUMENT_CREATE, id, i % KEYS, more), RN_OK);
    }
}

/* ---- looking ------------------------------------------------------------- */

struct rows {
    struct rn_key *list;
    size_t count, room;
};

static struct rn_key *add(struct rows *r)
{
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->list = realloc(r->list, r->room * sizeof(*r->list));
        assert_non_null(r->list);
    }
    return &r->list[r->count++];
}

static int by_key(const void *a, const void *b)
{
    return rn_view_compare(rn_key_view(a), rn_key_view(b));
}

/* The rows that an index should have. */
static void expect_rows(struct rn_txn *txn, const struct rn_index *x,
                        struct rows *out)
{
    struct rn_key from, before;
    struct rn_range range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    struct rn_json j;

    rn_json_init(&j, NULL);
    rn_key_span_tag(box->number, RN_TAG_DOCUMENT, &from, &before);
    range = (struct rn_range){ .from = rn_key_view(&from),
                               .before = rn_key_view(&before) };
    assert_int_equal(rn_txn_scan(txn, &range, &c), RN_OK);
    while (!rn_cursor_next(c, &key, &value)) {
        struct rn_row_document row;
        struct rn_row_feed feed;

        assert_int_equal(rn_row_document_decode(value, &row), RN_OK);
        assert_int_equal(rn_document_follow(txn, box->container, &row, &feed),
                         RN_OK);
        assert_int_equal(rn_json_parse(&j, feed.json, NULL), RN_OK);
        assert_int_equal(rn_index_key_of(box->number, x, &j, row.rid, add(out)),
                         RN_OK);
    }
    rn_cursor_end(c);
    rn_json_release(&j);
    if (out->count)
        qsort(out->list, out->count, sizeof(*out->list), by_key);
}

static size_t check_rows(struct rn_txn *txn, const struct rn_index *x)
{
    struct rows expected = { 0 };
    struct rn_index_walk w;
    struct rn_index_span all = { 0 };
    size_t found = 0, at = 0;
    enum rn_code rc;

    expect_rows(txn, x, &expected);
    rc = rn_index_walk_open(&w, txn, box->number, x, &all);
    while (!rc && !(rc = rn_index_walk_next(&w))) {
        struct rn_key key, document;
        struct rn_view value;
        struct rn_row_document row;

        rn_key_index(box->number, x->number, &key);
        memcpy(key.bytes + key.len, w.key.at, w.key.len);
        key.len += w.key.len;
        rn_key_add_rid(&key, w.rid);
        while (x->state == RN_INDEX_BUILDING && at < expected.count &&
               by_key(&expected.list[at], &key) < 0)
            at++;
        assert_true(at < expected.count);
        assert_int_equal(by_key(&expected.list[at], &key), 0);
        at++;
        found++;
        rn_key_span_tag(box->number, RN_TAG_DOCUMENT, &document, &key);
        memcpy(document.bytes + document.len, w.place.at, w.place.len);
        document.len += w.place.len;
        assert_int_equal(rn_txn_get(txn, rn_key_view(&document), &value),
                         RN_OK);
        assert_int_equal(rn_row_document_decode(value, &row), RN_OK);
        assert_int_equal(row.rid, w.rid);
    }
    assert_int_equal(rc, RN_NOT_FOUND);
    if (x->state == RN_INDEX_COMPLETE)
        assert_int_equal(found, expected.count);
    rn_index_walk_close(&w);
    free(expected.list);
    return found;
}

/* Holds every index against the documents; its states as one text. */
static const char *look(void)
{
    static char text[2000];
    struct rn_reading r;
    struct rn_indexes all;
    size_t rows = 0, len = 0;

    text[0] = '\0';
    assert_int_equal(rn_reading_begin(&r, db.engine, box->container, NULL),
                     RN_OK);
    assert_int_equal(rn_indexes_read(r.txn, box->number, &arena, &all), RN_OK);
    for (uint32_t i = 0; i < all.count; i++) {
        struct rn_index *x = &all.list[i];

        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d:%s",
                                i ? " " : "", x->number,
                                rn_index_state_name(x->state));
        if (x->state != RN_INDEX_DROPPING)
            rows += check_rows(r.txn, x);
    }
    rn_reading_end(&r);
    if (!strstr(text, "dropping"))
        assert_int_equal(count_rows(&db, box, RN_TAG_INDEX), rows);
    return text;
}

static size_t rows_now(void)
{
    return count_rows(&db, box, RN_TAG_INDEX);
}

/* ---- life ---------------------------------------------------------------- */

static void an_index_has_every_document(void **state)
{
    (void)state;
    fill(1000);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/a -/b", false), RN_OK);
    assert_int_equal(change_index("/x/y", false), RN_OK);
    settle();
    assert_string_equal(look(), "0:complete 1:complete 2:complete");
    assert_int_equal(rows_now(), 3000);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "5", 1, ",\"a\":\"x\""), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "5", 2, ",\"a\":[1]"), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_CREATE, "6", 2, ""), RN_CONFLICT);
    look();
    assert_int_equal(rows_now(), 3003);
}

static void making_it_twice_makes_one(void **state)
{
    (void)state;
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/b", true), RN_OK);
    settle();
    assert_string_equal(look(), "0:complete");
}

static void what_is_no_index_is_refused(void **state)
{
    static const struct {
        const char *why, *paths;
    } bad[] = {
        { "no path", "" },
        { "the first descends", "-/a" },
        { "too many paths", "/a /b /c /d /e /f /g /h /i" },
    };
    char name[5000], path[5000];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("%s\n", bad[i].why);
        assert_int_equal(change_index(bad[i].paths, false), RN_BAD_REQUEST);
    }
    memset(name, 'n', sizeof(name));
    snprintf(path, sizeof(path), "/%.4500s", name);
    assert_int_equal(change_index(path, false), RN_BAD_REQUEST);
    for (int i = 0; i < RN_INDEXES_MAX; i++) {
        snprintf(path, sizeof(path), "/p%d", i);
        assert_int_equal(change_index(path, false), RN_OK);
    }
    assert_int_equal(change_index("/more", false), RN_BAD_REQUEST);
    settle();
    assert_int_equal(change_index("/p3", true), RN_OK);
    settle();
    assert_int_equal(change_index("/more", false), RN_OK);
    settle();
    assert_non_null(strstr(look(), "3:complete"));
}

static void a_dropped_index_leaves_nothing(void **state)
{
    (void)state;
    fill(700);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/b", false), RN_OK);
    settle();
    assert_int_equal(change_index("/a", true), RN_OK);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "5", 1, ",\"a\":77"), RN_OK);
    settle();
    assert_string_equal(look(), "1:complete");
    assert_int_equal(rows_now(), 700);
    assert_int_equal(change_index("/b", true), RN_OK);
    settle();
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
    assert_int_equal(put(RN_DOCUMENT_REPLACE, "5", 1, ",\"a\":78"), RN_OK);
    assert_int_equal(rows_now(), 0);
}

static void a_reopened_engine_goes_on_building(void **state)
{
    bool was_building = false;

    (void)state;
    fill(1500);
    assert_int_equal(change_index("/a", false), RN_OK);
    for (int i = 0; i < 20; i++) {
        database_reopen(&db);
        refresh();
        (void)rn_sim_step(db.sim);
        (void)rn_sim_step(db.sim);
        was_building |= strstr(look(), "building") && rows_now() > 0;
        assert_int_equal(put(RN_DOCUMENT_UPSERT, "5", i % KEYS, ",\"a\":0.5"),
                         RN_OK);
        look();
    }
    settle();
    assert_true(was_building);
    assert_string_equal(look(), "0:complete");
    assert_int_equal(change_index("/a", true), RN_OK);
    database_reopen(&db);
    refresh();
    assert_int_equal(put(RN_DOCUMENT_UPSERT, "5", 1, ",\"a\":99"), RN_OK);
    settle();
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
}

/* A write that was queued with the index, by one who did not know of it. */
struct raced {
    struct rn_document_write write;
    bool is_ended;
    enum rn_code rc;
};

static void raced_done(struct rn_done *done, enum rn_code rc,
                       const struct rn_err *err)
{
    struct raced *r = (struct raced *)(void *)done;

    (void)err;
    r->is_ended = true;
    r->rc = rc;
}

static void a_write_in_the_group_that_makes_it_is_not_missed(void **state)
{
    struct rn_index_key keys[2];
    struct ended e = { .change = { .done.call = on_done,
                                   .container = box->container,
                                   .keys = keys } };
    struct raced writes[8];

    (void)state;
    fill(20);
    e.change.count = read_keys("/a", keys);
    for (int i = 0; i < 8; i++) {
        static const char *const bodies[] = {
            "{\"id\":\"n0\",\"pk\":1,\"u\":\"n0\",\"a\":1}",
            "{\"id\":\"5\",\"pk\":1,\"u\":\"5\",\"a\":\"late\"}",
            "{\"id\":\"n2\",\"pk\":1,\"u\":\"n2\",\"a\":1}",
            "{\"id\":\"6\",\"pk\":2,\"u\":\"6\"}",
        };

        if (i == 4)
            assert_int_equal(rn_index_change_start(db.engine, &e.change, NULL),
                             RN_OK);
        writes[i] = (struct raced){
            .write = { .done.call = raced_done,
                       .verb = RN_DOCUMENT_UPSERT,
                       .container = box->container,
                       .body = rn_view_text(bodies[i % 4]) },
        };
        assert_int_equal(
            rn_document_write_start(db.engine, &writes[i].write, NULL), RN_OK);
    }
    assert_int_equal(wait_for(&e, RN_OK), RN_OK);
    settle();
    for (int i = 0; i < 8; i++) {
        assert_true(writes[i].is_ended);
        assert_int_equal(writes[i].rc, RN_OK);
        rn_document_write_release(&writes[i].write);
    }
    assert_string_equal(look(), "0:complete");
}

static void a_policy_without_the_path_drops_it(void **state)
{
    static const char *const policies[] = {
        "\"indexingMode\":\"none\",\"automatic\":false",
        "\"excludedPaths\":[{\"path\":\"/a/*\"}]",
        ("\"includedPaths\":[{\"path\":\"/b/*\"}],\"excludedPaths\":"
         "[{\"path\":\"/*\"}]"),
    };

    (void)state;
    fill(300);
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        char body[1000];

        print_message("%s\n", policies[i]);
        rn_object_release(box);
        assert_int_equal(change(&db, RN_CATALOG_REPLACE, owner, "c",
                                DEFINITION(COMPOSITE), &box),
                         RN_OK);
        assert_int_equal(change_index("/a", false), RN_OK);
        assert_int_equal(change_index("/a -/b", false), RN_OK);
        settle();
        assert_string_equal(look(), "0:complete 1:complete");
        snprintf(body, sizeof(body), DEFINITION("%s"), policies[i]);
        rn_object_release(box);
        assert_int_equal(
            change(&db, RN_CATALOG_REPLACE, owner, "c", body, &box), RN_OK);
        settle();
        assert_string_equal(look(), "");
        assert_int_equal(rows_now(), 0);
    }
}

static void a_container_takes_its_indexes_with_it(void **state)
{
    struct rn_object *old = box;
    struct rn_txn *txn = NULL;
    struct rn_indexes all;

    (void)state;
    fill(300);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change(&db, RN_CATALOG_DELETE, owner, "c", NULL, NULL),
                     RN_OK);
    settle();
    box = make_container(&db, owner, DEFINITION(COMPOSITE));
    assert_int_equal(count_rows(&db, old, RN_TAG_INDEX), 0);
    assert_int_equal(
        rn_txn_begin(db.store, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(rn_indexes_read(txn, old->number, &arena, &all), RN_OK);
    assert_int_equal(all.count, 0);
    rn_txn_abort(txn);
    rn_object_release(old);
    fill(10);
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
}

static void an_index_that_nobody_uses_goes_after_a_week(void **state)
{
    (void)state;
    fill(10);
    assert_int_equal(change_index("/a", false), RN_OK);
    assert_int_equal(change_index("/b", false), RN_OK);
    settle();
    for (int day = 0; day < 6; day++) {
        rn_index_note_used(db.engine, box->number, 1);
        turn_clock(DAY + 60);
        assert_string_equal(look(), "0:complete 1:complete");
        if (day == 3) { /* it is remembered */
            database_reopen(&db);
            refresh();
        }
    }
    rn_index_note_used(db.engine, box->number, 1);
    turn_clock(2 * DAY);
    assert_string_equal(look(), "1:complete");
    turn_clock(8 * DAY);
    assert_string_equal(look(), "");
    assert_int_equal(rows_now(), 0);
}

static void enough_misses_make_an_index(void **state)
{
    struct rn_index_key keys[2];
    uint32_t count = read_keys("/a", keys);

    (void)state;
    fill(20);
    for (int i = 0; i < 3; i++)
        rn_index_note_missed(db.engine, box, keys, count, 1999, 2000);
    settle();
    assert_string_equal(look(), "");
    for (int i = 0; i < 2; i++)
        rn_index_note_missed(db.engine, box, keys, count, 1002, 2000);
    settle();
    assert_string_equal(look(), "0:complete");
}

static void a_store_that_fails_leaves_an_index_exact(void **state)
{
    static const struct {
        enum faulty_call call;
        unsigned nth;
    } faults[] = {
        { FAULTY_COMMIT, 1 }, { FAULTY_COMMIT, 2 }, { FAULTY_PUT, 1 },
        { FAULTY_PUT, 300 },  { FAULTY_GET, 50 },   { FAULTY_NEXT, 400 },
        { FAULTY_SCAN, 2 },   { FAULTY_DEL, 100 },
    };

    (void)state;
    rn_engine_close(db.engine);
    db.engine = NULL;
    db.store = faulty_new(db.store);
    assert_non_null(db.store);
    database_reopen(&db);
    refresh();
    fill(1500);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        bool is_drop = faults[i].call == FAULTY_DEL;

        assert_int_equal(change_index("/a", false), RN_OK);
        if (is_drop) {
            settle();
            assert_int_equal(change_index("/a", true), RN_OK);
        }
        faulty_fail(db.store, faults[i].call, faults[i].nth, 3, RN_IO);
        for (int k = 0; k < 5; k++) {
            (void)put(RN_DOCUMENT_UPSERT, "7", 3, k % 2 ? "" : ",\"a\":5");
            settle();
        }
        turn_clock(200); /* what failed is tried again */
        assert_string_equal(look(), is_drop ? "" : "0:complete");
        assert_int_equal(change_index("/a", true), RN_OK);
        turn_clock(200);
        assert_string_equal(look(), "");
    }
}

/* ---- the walk ------------------------------------------------------------ */

static void draw_value(struct rn_chance *c, char *out, size_t room)
{
    static const char *const values[] = {
        "null",      "true", "false",        "[1,2]",
        "{\"x\":1}", "\"\"", "\"\\u0000b\"", "\"\xee\x80\x80\"",
    };

    switch (rn_chance_below(c, 4)) {
    case 0:
        snprintf(out, room, "%s", values[rn_chance_below(c, 8)]);
        break;
    case 1:
        snprintf(out, room, "%d", (int)rn_chance_below(c, 5));
        break;
    case 2:
        snprintf(out, room, "\"%0*d\"", rn_chance_percent(c, 20) ? 300 : 3,
                 (int)rn_chance_below(c, 5));
        break;
    default:
        snprintf(out, room, "%d.5e%d", (int)rn_chance_below(c, 3),
                 (int)rn_chance_below(c, 40));
        break;
    }
}

static void draw_body(struct rn_chance *c, char *out, size_t room)
{
    char a[400], b[400];
    size_t len = 0;

    out[0] = '\0';
    draw_value(c, a, sizeof(a));
    draw_value(c, b, sizeof(b));
    if (rn_chance_percent(c, 80))
        len += (size_t)snprintf(out, room, ",\"a\":%s", a);
    if (rn_chance_percent(c, 80))
        len += (size_t)snprintf(out + len, room - len, ",\"b\":%s", b);
    if (rn_chance_percent(c, 50))
        len += (size_t)snprintf(out + len, room - len, ",\"x\":{\"y\":%s}", a);
    if (rn_chance_percent(c, 20))
        snprintf(out + len, room - len, ",\"ttl\":%d",
                 1 + (int)rn_chance_below(c, 50));
}

/* Several writes as one, of which some are refused. */
static void batch_something(struct rn_chance *c)
{
    struct rn_pk_value value = { .type = RN_PK_NUMBER,
                                 .number = (double)rn_chance_below(c, KEYS) };
    struct rn_pk pk = { .count = 1, .values = { value } };
    struct rn_batch_operation list[4] = { 0 };
    char bodies[4][1200], more[900], ids[4][12];
    struct rn_batch b = { .mode = rn_chance_percent(c, 70) ? RN_BATCH_ATOMIC
                                                           : RN_BATCH_EACH,
                          .container = box->container,
                          .pk = &pk,
                          .operations = list,
                          .count = 4 };
    struct rn_err err;

    for (int i = 0; i < 4; i++) {
        static const enum rn_document_verb verbs[] = {
            RN_DOCUMENT_CREATE, RN_DOCUMENT_UPSERT, RN_DOCUMENT_PATCH,
            RN_DOCUMENT_DELETE, RN_DOCUMENT_UPSERT, RN_DOCUMENT_UPSERT,
        };

        list[i].verb = verbs[rn_chance_below(c, 6)];
        list[i].pk = &pk;
        draw_body(c, more, sizeof(more));
        snprintf(ids[i], sizeof(ids[i]), "%d", (int)rn_chance_below(c, 30));
        if (list[i].verb == RN_DOCUMENT_PATCH)
            snprintf(bodies[i], sizeof(bodies[i]),
                     "{\"operations\":[{\"op\":\"set\",\"path\":\"/a\","
                     "\"value\":%d}]}",
                     (int)rn_chance_below(c, 9));
        else
            snprintf(bodies[i], sizeof(bodies[i]),
                     "{\"id\":\"%s\",\"pk\":%d,\"u\":\"%s\"%s}", ids[i],
                     (int)value.number, ids[i], more);
        list[i].body = rn_view_text(bodies[i]);
        if (list[i].verb == RN_DOCUMENT_PATCH ||
            list[i].verb == RN_DOCUMENT_DELETE)
            list[i].id = rn_view_text(ids[i]);
    }
    assert_int_equal(run_batch(&db, &b, &err), RN_OK);
    rn_batch_release(&b);
}

static void purge_something(struct rn_chance *c)
{
    struct rn_pk_value value = { .type = RN_PK_NUMBER,
                                 .number = (double)rn_chance_below(c, KEYS) };
    struct rn_pk pk = { .count = 1, .values = { value } };
    struct ended e = { .purge = { .done.call = on_done,
                                  .container = box->container,
                                  .pk = &pk } };

    assert_int_equal(wait_for(&e, rn_purge_start(db.engine, &e.purge, NULL)),
                     RN_OK);
}

static void reshape_something(struct rn_chance *c)
{
    const struct rn_container *now = box->container;
    size_t at = rn_chance_below(c, now->range_count);
    struct ended e = { .reshape = { .done.call = on_done,
                                    .container = now,
                                    .verb = RN_RESHAPE_SPLIT,
                                    .range = now->ranges[at].id } };

    if (now->range_count > 3) {
        at = at ? at : 1;
        e.reshape.verb = RN_RESHAPE_MERGE;
        e.reshape.range = now->ranges[at - 1].id;
        e.reshape.with = now->ranges[at].id;
    }
    assert_int_equal(
        wait_for(&e, rn_reshape_start(db.engine, &e.reshape, NULL)), RN_OK);
    rn_reshape_release(&e.reshape);
    refresh();
}

static void write_something(struct rn_chance *c)
{
    char id[12], pk[12], more[1000];
    int key = (int)rn_chance_below(c, KEYS);
    struct asked asked = { .pk = pk, .id = id };

    snprintf(id, sizeof(id), "%d", (int)rn_chance_below(c, 30));
    snprintf(pk, sizeof(pk), "[%d]", key);
    draw_body(c, more, sizeof(more));
    switch (rn_chance_below(c, 4)) {
    case 0:
        (void)put(RN_DOCUMENT_CREATE, id, key, more);
        break;
    case 1:
        (void)put(RN_DOCUMENT_REPLACE, id, key, more);
        break;
    case 2:
        assert_int_equal(put(RN_DOCUMENT_UPSERT, id, key, more), RN_OK);
        break;
    default:
        (void)write_document(&db, box, RN_DOCUMENT_DELETE, NULL, &asked, &doc);
        break;
    }
}

static void do_something(struct rn_chance *c)
{
    static const char *const indexes[] = { "/a", "/b", "/a -/b", "/x/y" };
    uint64_t what = rn_chance_below(c, 100);

    if (what < 60)
        write_something(c);
    else if (what < 80)
        batch_something(c);
    else if (what < 83)
        purge_something(c);
    else if (what < 86)
        turn_clock((int64_t)rn_chance_below(c, 20));
    else if (what < 88)
        reshape_something(c);
    else if (what < 90) {
        database_reopen(&db);
        refresh();
    } else if (what < 95)
        assert_int_equal(
            change_index(indexes[rn_chance_below(c, 4)], what < 91), RN_OK);
}

static void whatever_happens_indexes_are_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct rn_chance c;

        rn_chance_init(&c, seed);
        for (int i = 0; i < 300; i++) {
            do_something(&c);
            look();
        }
        settle();
        assert_null(strstr(look(), "building"));
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_index_has_every_document),
        TEST(making_it_twice_makes_one),
        TEST(what_is_no_index_is_refused),
        TEST(a_dropped_index_leaves_nothing),
        TEST(a_reopened_engine_goes_on_building),
        TEST(a_write_in_the_group_that_makes_it_is_not_missed),
        TEST(a_policy_without_the_path_drops_it),
        TEST(a_container_takes_its_indexes_with_it),
        TEST(an_index_that_nobody_uses_goes_after_a_week),
        TEST(enough_misses_make_an_index),
        TEST(a_store_that_fails_leaves_an_index_exact),
        TEST(whatever_happens_indexes_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
