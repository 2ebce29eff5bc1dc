/* engine_history_test.c -- all versions and deletes: each change leaves one
 * entry, as long as the container's policy says, and a gap is reported.
 *
 * An engine over `mem` in the simulation.  What the history says is printed in
 * short, a letter for the operation and what else it has, and compared with
 * what was done.
 */
#include "lib/batches.h"

#include "base/prng.h"
#include "engine/document/snapshot.h"
#include "engine/feed/feed.h"

#include <stdio.h>
#include <stdlib.h>

#define KEPT ",\"changeFeedPolicy\":{\"retentionDuration\":10}"
#define FOR_EVER ",\"changeFeedPolicy\":{\"retentionDuration\":-1}"
#define PREVIOUS                                                               \
    ",\"changeFeedPolicy\":{\"retentionDuration\":-1,\"previousImages\":true}"

static char story[100000];

static int setup(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(KEPT ",\"defaultTtl\":-1"), 1);
}

/* ---- what the history says ----------------------------------------------- */

static struct rn_view value_of(struct rn_view json, const char *name,
                               struct rn_json *j)
{
    if (!json.len)
        return RN_LIT("-");
    assert_int_equal(rn_json_parse(j, json, NULL), RN_OK);
    return rn_json_text(j, rn_json_find(j, 0, rn_view_text(name)));
}

/* Like "c1:a=1 r2<1:a=2 d3<2:a!": operation, LSN, the previous one's, id, the
 * value of x; ! if it had expired, (x) of the previous image if any. */
static void print_change(const struct rn_change *c, struct rn_buf *out)
{
    const struct rn_row_history *v = &c->version;
    struct rn_json j;
    struct rn_view whole = v->current.len ? v->current : v->previous;

    rn_json_init(&j, NULL);
    assert_int_equal(rn_buf_printf(out, "%s%c%llu", out->len ? " " : "",
                                   "crd"[v->operation],
                                   (unsigned long long)c -> place.lsn),
                     RN_OK);
    if (v->previous_lsn)
        assert_int_equal(
            rn_buf_printf(out, "<%llu", (unsigned long long)v->previous_lsn),
            RN_OK);
    assert_int_equal(
        rn_buf_printf(out, ":%.*s", RN_FMT(value_of(whole, "id", &j))), RN_OK);
    if (v->current.len)
        assert_int_equal(
            rn_buf_printf(out, "=%.*s", RN_FMT(value_of(v->current, "x", &j))),
            RN_OK);
    if (v->is_expired)
        assert_int_equal(rn_buf_printf(out, "!"), RN_OK);
    if (v->tells_previous && v->previous.len)
        assert_int_equal(rn_buf_printf(out, "(%.*s)",
                                       RN_FMT(value_of(v->previous, "x", &j))),
                         RN_OK);
    rn_json_release(&j);
}

static const char *history_of(uint32_t range, uint64_t after)
{
    struct rn_buf out = RN_BUF_INIT(sizeof(story) - 1);
    struct rn_feed_scan scan = {
        .range = range,
        .epks = rn_container_range(one_container->container, range)->epks,
        .after = after,
        .upto = lsn_of(&db, one_container, range),
        .since = INT64_MIN,
        .all_versions = true,
        .entries_max = 100000,
        .bytes_max = 1 << 30
    };
    struct rn_snapshot r = { 0 };
    struct rn_feed feed = { 0 };
    struct rn_change c;

    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(rn_feed_open(&feed, &r, &scan, NULL), RN_OK);
    while (!rn_feed_next(&feed, &c))
        print_change(&c, &out);
    assert_int_equal(feed.seen, scan.upto);
    rn_feed_close(&feed);
    rn_snapshot_end(&r);
    memcpy(story, out.at ? out.at : "", out.len);
    story[out.len] = '\0';
    rn_buf_release(&out);
    return story;
}

static uint64_t lost_of(uint32_t range, const struct rn_epk_range *epks)
{
    struct rn_snapshot r = { 0 };
    uint64_t lsn = 0;

    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(rn_history_lost(&r, range, epks, &lsn), RN_OK);
    rn_snapshot_end(&r);
    return lsn;
}

static uint64_t lost(void)
{
    return lost_of(0, &rn_epk_all);
}

/* ---- entries ------------------------------------------------------------- */

static void each_change_leaves_an_entry(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    one_container_put("{\"id\":\"b\",\"pk\":2,\"x\":1}");
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":2}");
    one_container_put(
        "{\"id\":\"a\",\"pk\":1,\"x\":2}"); /* the same is a change, too */
    one_container_del("[1]", "a");
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":3}");
    assert_string_equal(history_of(0, 0), "c1:a=1 c2:b=1 r3<1:a=2 r4<3:a=2 "
                                          "d5<4:a c6:a=3");
    assert_string_equal(history_of(0, 4), "d5<4:a c6:a=3");
    assert_string_equal(history_of(0, 6), "");
    assert_int_equal(lost(), 0);
}

static void what_is_refused_leaves_none(void **state)
{
    struct asked asked = { .pk = "[1]", .id = "a", .if_match = "\"no\"" };

    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    assert_int_equal(write_document(&db, one_container, RN_DOCUMENT_CREATE,
                                    "{\"id\":\"a\",\"pk\":1,\"x\":2}", NULL,
                                    &doc),
                     RN_CONFLICT);
    assert_int_equal(write_document(&db, one_container, RN_DOCUMENT_DELETE,
                                    NULL, &asked, &doc),
                     RN_PRECONDITION);
    assert_string_equal(history_of(0, 0), "c1:a=1");
}

static void an_end_by_time_differs_from_a_delete(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1,\"ttl\":5}");
    one_container_put("{\"id\":\"b\",\"pk\":1,\"x\":1,\"ttl\":5}");
    one_container_del("[1]", "b");
    turn_clock(6);
    assert_string_equal(history_of(0, 0), "c1:a=1 c2:b=1 d3<2:b d4<1:a!");
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":2,\"ttl\":5}");
    database_settle(&db);
    rn_sim_wall_jump(db.sim, 10000);
    one_container_put(
        "{\"id\":\"a\",\"pk\":1,\"x\":3,\"ttl\":5}"); /* over the expired one */
    assert_string_equal(history_of(0, 4), "c5:a=2 d6<5:a! c7:a=3");
}

static void previous_images_are_there_if_asked_for(void **state)
{
    (void)state;
    one_container_redefine(CONTAINER(PREVIOUS));
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":2}");
    one_container_del("[1]", "a");
    assert_string_equal(history_of(0, 0), "c1:a=1 r2<1:a=2(1) d3<2:a(2)");
}

static void envelopes_are_as_clients_expect(void **state)
{
    static const char want[] =
        "{\"current\":{},\"metadata\":{\"lsn\":9,\"crts\":7,\"operationType\":"
        "\"delete\",\"previousImageLSN\":8,\"timeToLiveExpired\":true,\"id\":"
        "\"a\\\"b\",\"partitionKey\":{\"pk\":[1,2]}}}";
    struct rn_row_history h = {
        .operation = RN_HISTORY_DELETE,
        .is_expired = true,
        .ts = 7,
        .previous_lsn = 8,
        .previous = RN_LIT("{\"id\":\"a\\\"b\",\"pk\":[1, 2]}"),
    };
    struct rn_buf out = RN_BUF_INIT(1000);

    (void)state;
    assert_int_equal(
        rn_history_print(&h, 9, &one_container->container->pkdef, &out), RN_OK);
    assert_int_equal(rn_buf_add(&out, rn_view_of("", 1)), RN_OK);
    assert_string_equal(out.at, want);
    rn_buf_clear(&out);
    h = (struct rn_row_history){ .operation = RN_HISTORY_REPLACE,
                                 .tells_previous = true,
                                 .ts = 7,
                                 .previous_lsn = 8,
                                 .current = RN_LIT("{\"x\":2}"),
                                 .previous = RN_LIT("{\"x\":1}") };
    assert_int_equal(
        rn_history_print(&h, 9, &one_container->container->pkdef, &out), RN_OK);
    assert_int_equal(rn_buf_add(&out, rn_view_of("", 1)), RN_OK);
    assert_string_equal(out.at,
                        "{\"current\":{\"x\":2},\"previous\":{\"x\":1},"
                        "\"metadata\":{\"lsn\":9,\"crts\":7,\"operationType\":"
                        "\"replace\",\"previousImageLSN\":8}}");
    rn_buf_release(&out);
}

/* ---- how long ------------------------------------------------------------ */

static void entries_go_when_they_are_too_old(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    turn_clock(300);
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":2}");
    turn_clock(299);
    assert_string_equal(history_of(0, 0), "c1:a=1 r2<1:a=2");
    turn_clock(2);
    assert_string_equal(history_of(0, 0), "r2<1:a=2");
    assert_int_equal(lost(), 1);
    one_container_del("[1]", "a");
    turn_clock(1000);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY), 0);
    assert_int_equal(lost(), 3);
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":3}");
    assert_string_equal(history_of(0, 3), "c4:a=3");
    assert_int_equal(lost(), 3);
}

static void many_entries_go_in_slices(void **state)
{
    char body[60];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":1}", i);
        one_container_put(body);
    }
    turn_clock(601);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY), 0);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_DOCUMENT), 1000);
    assert_int_equal(lost(), 1000);
    assert_int_equal(lsn_of(&db, one_container, 0),
                     1000); /* nothing was written */
}

static void entries_kept_for_ever_stay(void **state)
{
    (void)state;
    one_container_redefine(CONTAINER(FOR_EVER));
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    turn_clock(100000000);
    assert_string_equal(history_of(0, 0), "c1:a=1");
    assert_int_equal(lost(), 0);
}

static void a_longer_or_shorter_time_counts_at_once(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    one_container_redefine(
        CONTAINER(",\"changeFeedPolicy\":{\"retentionDuration\":1000}"));
    turn_clock(1000);
    assert_string_equal(history_of(0, 0), "c1:a=1");
    one_container_redefine(CONTAINER(KEPT));
    database_settle(&db);
    assert_string_equal(history_of(0, 0), "");
    assert_int_equal(lost(), 1);
}

static void a_restart_goes_on_with_it(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    turn_clock(400);
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":2}");
    one_container_reopen();
    assert_string_equal(history_of(0, 0), "c1:a=1 r2<1:a=2");
    turn_clock(201);
    assert_string_equal(history_of(0, 0), "r2<1:a=2");
}

/* ---- splits and merges --------------------------------------------------- */

static void split(uint32_t range)
{
    assert_int_equal(
        one_container_split_merge(&(struct rn_split_merge){ .range = range }),
        RN_OK);
}

static void merge(uint32_t range, uint32_t with)
{
    struct rn_split_merge like = { .verb = RN_SPLIT_MERGE_MERGE,
                                   .range = range,
                                   .with = with };

    assert_int_equal(one_container_split_merge(&like), RN_OK);
}

static size_t entries_of(uint32_t range, uint64_t after)
{
    const char *text = history_of(range, after);
    size_t count = *text != '\0';

    for (; *text; text++)
        count += *text == ' ';
    return count;
}

static void descendants_have_the_history_of_their_ancestors(void **state)
{
    char body[60], pk[12], id[12];

    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d}", i, i);
        one_container_put(body);
    }
    split(0);
    database_settle(&db); /* documents are at home by then */
    assert_int_equal(entries_of(1, 0) + entries_of(2, 0), 20);
    assert_int_equal(entries_of(1, 20) + entries_of(2, 20), 0);
    for (int i = 0; i < 20; i++) {
        snprintf(pk, sizeof(pk), "[%d]", i);
        snprintf(id, sizeof(id), "%d", i);
        one_container_del(pk, id);
    }
    assert_int_equal(entries_of(1, 0) + entries_of(2, 0), 40);
    merge(1, 2);
    database_settle(&db);
    assert_int_equal(entries_of(3, 0), 40);
    assert_int_equal(entries_of(3, 20), 20);
}

static void versions_come_home_and_are_complete_on_the_way(void **state)
{
    char body[60];

    (void)state;
    for (int i = 0; i < 200; i++) { /* more than a slice */
        snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d}", i % 20,
                 i % 20);
        one_container_put(body);
    }
    split(0);
    assert_int_equal(range_of(&db, one_container, 0).state, RN_RANGE_DEAD);
    for (int i = 0;
         i < 100 && range_of(&db, one_container, 0).state != RN_RANGE_BARE;
         i++) {
        assert_int_equal(entries_of(1, 0) + entries_of(2, 0), 200);
        assert_true(rn_sim_step(db.sim));
    }
    assert_int_equal(range_of(&db, one_container, 0).state, RN_RANGE_BARE);
    assert_int_equal(entries_of(1, 0) + entries_of(2, 0), 200);
    merge(1, 2);
    database_settle(&db);
    assert_int_equal(range_of(&db, one_container, 1).state, RN_RANGE_BARE);
    assert_int_equal(range_of(&db, one_container, 2).state, RN_RANGE_BARE);
    assert_int_equal(entries_of(3, 0), 200);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY), 200);
}

static int setup_batches(void **state)
{
    int rc = batches_open(1);

    (void)state;
    one_container_redefine(CONTAINER(FOR_EVER));
    return rc;
}

/* A batch writes one document more often than a slice moves entries. */
static void versions_of_one_lsn_stay_in_order_on_the_way(void **state)
{
    static char bodies[RN_BATCH_MAX][60], before[sizeof(story)];
    uint32_t range;

    (void)state;
    batch_begin(RN_BATCH_ATOMIC, "[1]");
    for (int i = 0; i < RN_BATCH_MAX; i++) {
        snprintf(bodies[i], sizeof(bodies[i]), DOC("a", ",\"x\":%d"), i);
        batch_add(RN_DOCUMENT_UPSERT, NULL, bodies[i]);
    }
    assert_int_equal(batch_run(), RN_OK);
    rn_batch_release(&batch);
    memcpy(before, history_of(0, 0), sizeof(before));
    split(0);
    range = entries_of(1, 0) ? 1 : 2;
    for (int i = 0;
         i < 100 && range_of(&db, one_container, 0).state != RN_RANGE_BARE;
         i++) {
        assert_string_equal(history_of(range, 0), before);
        assert_true(rn_sim_step(db.sim));
    }
    assert_string_equal(history_of(range, 0), before);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY),
                     RN_BATCH_MAX);
}

/* ---- gaps ---------------------------------------------------------------- */

static void put_key(int pk)
{
    char body[60];

    snprintf(body, sizeof(body), "{\"id\":\"a\",\"pk\":%d}", pk);
    one_container_put(body);
}

/* A key that lies in the range; it and others are written to find it. */
static int key_in(uint32_t range)
{
    uint64_t before = lsn_of(&db, one_container, range);
    int pk = 0;

    for (put_key(pk); lsn_of(&db, one_container, range) == before; put_key(pk))
        pk++;
    return pk;
}

static void what_one_of_merged_ranges_lost_the_other_has(void **state)
{
    struct rn_epk_range low, high;
    uint64_t few, many;
    int keys[2];

    (void)state;
    split(0);
    low = range_of(&db, one_container, 1).epks;
    high = range_of(&db, one_container, 2).epks;
    keys[0] = key_in(1);
    keys[1] = key_in(2);
    for (int i = 0; i < 50; i++)
        put_key(keys[1]);
    few = lsn_of(&db, one_container, 1);
    many = lsn_of(&db, one_container, 2);
    turn_clock(1000);
    put_key(keys[0]);
    put_key(keys[1]);
    merge(1, 2);
    database_settle(&db);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY), 2);
    assert_int_equal(lost_of(3, &low), few);
    assert_int_equal(lost_of(3, &high), many);
    assert_int_equal(lost_of(3, &rn_epk_all), many);
    turn_clock(1000); /* they lie in the merged range by now */
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY), 0);
    assert_int_equal(lost_of(3, &low), few + 1);
    assert_int_equal(lost_of(3, &high), many + 1);
}

static void what_happened_without_a_policy_is_reported_as_lost(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    one_container_redefine(CONTAINER(""));
    assert_int_equal(lost(), 0); /* so far nothing is */
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":2}");
    assert_int_equal(lost(), 2);
    one_container_redefine(CONTAINER(FOR_EVER));
    assert_int_equal(lost(), 2);
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":3}");
    assert_string_equal(history_of(0, 2), "r3<2:a=3");
    assert_int_equal(lost(), 2);
    one_container_reopen();
    assert_int_equal(lost(), 2);
}

static void a_policy_taken_away_takes_its_entries(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"x\":1}");
    one_container_redefine(CONTAINER(""));
    database_settle(&db);
    assert_int_equal(count_rows(&db, one_container, RN_TAG_HISTORY), 0);
    assert_int_equal(lost(), 1);
}

static void a_row_says_what_is_lost_only_where_it_must(void **state)
{
    struct rn_row_range row = { .lsn = 9, .lost = 9, .epks = rn_epk_all }, read;
    char bytes[RN_ROW_RANGE_MAX];
    size_t plain = rn_row_range_encode(&row, bytes);

    (void)state;
    assert_int_equal(rn_row_range_decode(rn_view_of(bytes, plain), &read),
                     RN_OK);
    assert_int_equal(read.lost, 9);
    for (uint64_t n = 0; n < 9; n++) {
        size_t len;

        row.lost = n;
        len = rn_row_range_encode(&row, bytes);
        assert_true(len > plain && len <= sizeof(bytes));
        assert_int_equal(rn_row_range_decode(rn_view_of(bytes, len), &read),
                         RN_OK);
        assert_int_equal(read.lost, n);
        assert_int_equal(rn_row_range_decode(rn_view_of(bytes, len - 1), &read),
                         RN_CORRUPT);
    }
}

static void damaged_entries_are_reported(void **state)
{
    struct rn_row_history h = { .operation = RN_HISTORY_REPLACE,
                                .epk = RN_LIT("epk"),
                                .current = RN_LIT("{\"x\":2}"),
                                .previous = RN_LIT("{\"x\":1}") };
    struct rn_row_history read;
    struct rn_buf row = RN_BUF_INIT(1000);

    (void)state;
    assert_int_equal(rn_row_history_encode(&h, &row), RN_OK);
    assert_int_equal(rn_row_history_decode(rn_buf_view(&row), &read), RN_OK);
    assert_true(rn_view_eq(read.current, h.current));
    assert_true(rn_view_eq(read.previous, h.previous));
    for (size_t len = 0; len < 24 + 3 + h.current.len; len++) {
        char *cut = malloc(len + 1);

        memcpy(cut, row.at, len);
        assert_int_equal(rn_row_history_decode(rn_view_of(cut, len), &read),
                         RN_CORRUPT);
        free(cut);
    }
    row.at[1] = 3;
    assert_int_equal(rn_row_history_decode(rn_buf_view(&row), &read),
                     RN_CORRUPT);
    rn_buf_release(&row);
}

static void a_deletion_that_does_not_say_of_what_is_damaged(void **state)
{
    static const char *const images[] = {
        "", "{", "{}", "[]", "7", "{\"id\":1}", "{\"pk\":1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        struct rn_row_history h = { .operation = RN_HISTORY_DELETE,
                                    .previous = rn_view_text(images[i]) };
        struct rn_buf out = RN_BUF_INIT(1000);

        assert_int_equal(
            rn_history_print(&h, 9, &one_container->container->pkdef, &out),
            RN_CORRUPT);
        rn_buf_release(&out);
    }
}

static void a_policy_that_is_none_is_refused(void **state)
{
    static const char *const policies[] = {
        "1",
        "[]",
        "\"on\"",
        "{\"retentionDuration\":-2}",
        "{\"retentionDuration\":1.5}",
        "{\"retentionDuration\":\"5\"}",
        "{\"retentionDuration\":null}",
        "{\"retentionDuration\":2147483648}",
        "{\"retentionDuration\":5,\"previousImages\":1}",
    };
    char body[300];

    (void)state;
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        snprintf(body, sizeof(body), CONTAINER(",\"changeFeedPolicy\":%s"),
                 policies[i]);
        if (change(&db, RN_CATALOG_REPLACE, owner, "c", body, NULL) !=
            RN_BAD_REQUEST)
            fail_msg("%s", policies[i]);
    }
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(each_change_leaves_an_entry),
        CASE(what_is_refused_leaves_none),
        CASE(an_end_by_time_differs_from_a_delete),
        CASE(previous_images_are_there_if_asked_for),
        CASE(envelopes_are_as_clients_expect),
        CASE(entries_go_when_they_are_too_old),
        CASE(many_entries_go_in_slices),
        CASE(entries_kept_for_ever_stay),
        CASE(a_longer_or_shorter_time_counts_at_once),
        CASE(a_restart_goes_on_with_it),
        CASE(descendants_have_the_history_of_their_ancestors),
        CASE(versions_come_home_and_are_complete_on_the_way),
        cmocka_unit_test_setup_teardown(
            versions_of_one_lsn_stay_in_order_on_the_way, setup_batches,
            batches_close),
        CASE(what_one_of_merged_ranges_lost_the_other_has),
        CASE(what_happened_without_a_policy_is_reported_as_lost),
        CASE(a_policy_taken_away_takes_its_entries),
        CASE(a_row_says_what_is_lost_only_where_it_must),
        CASE(damaged_entries_are_reported),
        CASE(a_deletion_that_does_not_say_of_what_is_damaged),
        CASE(a_policy_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
