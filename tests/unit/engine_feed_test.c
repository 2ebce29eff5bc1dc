/* engine_feed_test.c -- the change feed out of the store.
 *
 * An engine over `mem` in the simulation.  A model beside it keeps what the
 * last change of each document was; a feed must give just those, in order,
 * whatever part of the container, place and budget it is read with.
 */
#include "lib/one_container.h"

#include "base/prng.h"
#include "engine/document/snapshot.h"
#include "engine/engine.h"
#include "engine/feed/feed.h"

#include <stdio.h>
#include <stdlib.h>

enum { LARGE = 1 << 20, KEYS = 8, IDS = 12 };

/* ---- reading ------------------------------------------------------------- */

struct read {
    char ids[2000]; /* each followed by a blank */
    size_t count;
    uint64_t lsns[2000];
    uint64_t seen;
    uint32_t entries; /* looked at */
};

static struct rn_feed_scan whole(void)
{
    return (struct rn_feed_scan){ .epks = rn_epk_all,
                                  .upto = UINT64_MAX,
                                  .since = INT64_MIN,
                                  .entries_max = LARGE,
                                  .bytes_max = SIZE_MAX };
}

static void add_id(struct read *out, struct rn_view json)
{
    const char *end;
    struct rn_json j;
    struct rn_view id;

    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, json, NULL), RN_OK);
    id = rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("id")));
    end = out->ids + strlen(out->ids);
    snprintf((char *)(uintptr_t)end,
             (size_t)(out->ids + sizeof(out->ids) - end), "%.*s ", RN_FMT(id));
    rn_json_release(&j);
}

/* One slice. */
static enum rn_code read_once(struct rn_feed_scan scan, struct read *out)
{
    struct rn_snapshot r = { 0 };
    struct rn_feed f = { 0 };
    struct rn_row_range row;
    struct rn_change change;
    enum rn_code rc =
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL);

    memset(out, 0, sizeof(*out));
    assert_int_equal(rc, RN_OK);
    rc = rn_feed_range(&r, scan.range, &row, NULL);
    if (!rc && scan.upto == UINT64_MAX)
        scan.upto = row.lsn;
    if (!rc)
        rc = rn_feed_open(&f, &r, &scan, NULL);
    while (!rc && !(rc = rn_feed_next(&f, &change))) {
        out->lsns[out->count++] = change.place.lsn;
        add_id(out, change.json);
    }
    out->seen = f.seen;
    out->entries = f.entries;
    rn_feed_close(&f);
    rn_snapshot_end(&r);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static void assert_ids(struct rn_feed_scan scan, const char *ids)
{
    struct read *out = calloc(1, sizeof(*out));

    assert_int_equal(read_once(scan, out), RN_OK);
    assert_string_equal(out->ids, ids);
    free(out);
}

/* ---- order --------------------------------------------------------------- */

static void documents_come_in_the_order_of_their_last_change(void **state)
{
    struct rn_feed_scan scan = whole();

    (void)state;
    assert_ids(scan, "");
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    one_container_put("{\"id\":\"b\",\"pk\":2}");
    one_container_put("{\"id\":\"c\",\"pk\":1}");
    assert_ids(scan, "a b c ");
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    assert_ids(scan, "b c a ");
    one_container_del("[2]", "b");
    assert_ids(scan, "c a ");
    scan.after = 3;
    assert_ids(scan, "a ");
    scan.after = 5;
    assert_ids(scan, "");
    scan.after = 0;
    scan.upto = 3;
    assert_ids(scan, "c ");
}

static void an_expired_document_is_not_there(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1,\"ttl\":10}");
    one_container_put("{\"id\":\"b\",\"pk\":1}");
    assert_ids(whole(), "a b ");
    rn_sim_wall_jump(db.sim, 9000);
    assert_ids(whole(), "a b ");
    rn_sim_wall_jump(db.sim, 1000);
    assert_ids(whole(), "b ");
}

static void a_range_that_is_not_there_is_gone(void **state)
{
    struct read *out = calloc(1, sizeof(*out));
    struct rn_feed_scan scan = whole();

    (void)state;
    scan.range = 7;
    assert_int_equal(read_once(scan, out), RN_GONE);
    free(out);
}

/* ---- time ---------------------------------------------------------------- */

static uint64_t before_time(int64_t ts)
{
    struct rn_snapshot r = { 0 };
    uint64_t lsn = 0;

    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(rn_feed_find_time(&r, 0, ts, &lsn), RN_OK);
    rn_snapshot_end(&r);
    return lsn;
}

static void a_place_is_found_by_time(void **state)
{
    int64_t begin = rn_engine_now(db.engine);
    char body[64];

    (void)state;
    assert_int_equal(before_time(begin), 0);
    for (int i = 0; i < 200; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"d%d\",\"pk\":%d}", i, i % 3);
        one_container_put(body);
        if (i % 2)
            rn_sim_wall_jump(db.sim, 3000);
    }
    /* Two a second at 0, 3, 6 ...; every third is deleted again. */
    for (int i = 0; i < 200; i += 3) {
        snprintf(body, sizeof(body), "d%d", i);
        one_container_del(i % 3 ? "[1]" : "[0]", body);
    }
    for (int64_t at = -2; at < 310; at++) {
        uint64_t lsn = before_time(begin + at);
        uint64_t first = at <= 0 ? 1 : 1 + 2 * (uint64_t)((at + 2) / 3);

        while (first <= 200 && (first - 1) % 3 == 0)
            first++;
        if (first > 200)
            assert_int_equal(lsn, 267);
        else
            assert_int_equal(lsn, first - 1);
    }
}

static void only_what_is_late_enough_is_given(void **state)
{
    struct rn_feed_scan scan = whole();

    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    rn_sim_wall_jump(db.sim, 5000);
    one_container_put("{\"id\":\"b\",\"pk\":1}");
    scan.since = rn_engine_now(db.engine);
    scan.since_upto = UINT64_MAX;
    assert_ids(scan, "b ");
    scan.since -= 4;
    assert_ids(scan, "b ");
    scan.since -= 1;
    assert_ids(scan, "a b ");
}

/* ---- parts --------------------------------------------------------------- */

static void pk_scan(struct rn_feed_scan *scan, const char *text,
                    struct rn_pk *pk, struct rn_arena *arena)
{
    assert_int_equal(rn_pk_parse(rn_view_text(text), arena, pk, NULL), RN_OK);
    rn_epk_range_of(&one_container->container->pkdef, pk, &scan->epks);
    scan->pk = pk;
}

static void a_key_costs_no_more_than_its_documents(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(LARGE);
    struct rn_feed_scan scan = whole();
    struct read *out = calloc(1, sizeof(*out));
    struct rn_pk pk;
    char body[64];

    (void)state;
    one_container_put("{\"id\":\"first\",\"pk\":\"rare\"}");
    for (int i = 0; i < 1000; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"d%d\",\"pk\":\"often\"}", i);
        one_container_put(body);
        if (i == 500)
            one_container_put("{\"id\":\"second\",\"pk\":\"rare\"}");
    }
    one_container_put("{\"id\":\"first\",\"pk\":\"rare\"}");
    pk_scan(&scan, "[\"rare\"]", &pk, &arena);
    assert_int_equal(read_once(scan, out), RN_OK);
    assert_string_equal(out->ids, "second first ");
    assert_int_equal(out->seen, 1003);
    assert_true(out->entries < 10);
    scan.after = 503;
    assert_int_equal(read_once(scan, out), RN_OK);
    assert_string_equal(out->ids, "first ");
    pk_scan(&scan, "[\"nobody's\"]", &pk, &arena);
    scan.after = 0;
    assert_int_equal(read_once(scan, out), RN_OK);
    assert_string_equal(out->ids, "");
    assert_true(out->entries < 10);
    rn_arena_release(&arena);
    free(out);
}

/* Of hash version 1: both keys have one EPK. */
static void keys_of_one_epk_are_distinguished(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(LARGE);
    struct rn_feed_scan scan = whole();
    struct rn_pk pk;
    char long_text[200], body[400], key[300];

    (void)state;
    one_container_use(CONTAINER_V1(""));
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = 0;
    for (int i = 0; i < 6; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"d%d\",\"pk\":\"%s%d\"}", i,
                 long_text, i % 2);
        one_container_put(body);
    }
    snprintf(key, sizeof(key), "[\"%s1\"]", long_text);
    pk_scan(&scan, key, &pk, &arena);
    assert_ids(scan, "d1 d3 d5 ");
    snprintf(key, sizeof(key), "[\"%s2\"]", long_text);
    pk_scan(&scan, key, &pk, &arena);
    assert_ids(scan, "");
    rn_arena_release(&arena);
}

/* ---- against the model --------------------------------------------------- */

struct model {
    uint64_t lsn[KEYS][IDS]; /* of the last change; 0: not there */
};

static void change_at_random(struct rn_prng *prng, struct model *m)
{
    uint32_t k = (uint32_t)rn_prng_below(prng, KEYS);
    uint32_t i = (uint32_t)rn_prng_below(prng, IDS);
    char body[64], pk[16], id[16];

    /* Half of all goes to one key. */
    if (rn_prng_below(prng, 2))
        k = 0;
    if (m->lsn[k][i] && rn_prng_below(prng, 4) == 0) {
        snprintf(pk, sizeof(pk), "[%u]", k);
        snprintf(id, sizeof(id), "%u-%u", k, i);
        one_container_del(pk, id);
        m->lsn[k][i] = 0;
        return;
    }
    snprintf(body, sizeof(body), "{\"id\":\"%u-%u\",\"pk\":%u}", k, i, k);
    one_container_put(body);
    m->lsn[k][i] = doc.place.etag.lsn;
}

/* What the model says lies after a place, of one key or of all. */
static void expect(const struct model *m, int key, uint64_t after, char *out,
                   size_t size)
{
    size_t at = 0;

    out[0] = 0;
    for (;;) {
        uint64_t next = UINT64_MAX;
        int k0 = 0, i0 = 0;

        for (int k = 0; k < KEYS; k++) {
            for (int i = 0; i < IDS; i++) {
                if ((key < 0 || k == key) && m->lsn[k][i] > after &&
                    m->lsn[k][i] < next) {
                    next = m->lsn[k][i];
                    k0 = k;
                    i0 = i;
                }
            }
        }
        if (next == UINT64_MAX)
            return;
        at += (size_t)snprintf(out + at, size - at, "%d-%d ", k0, i0);
        after = next;
    }
}

/* From a place to the end, slice by slice with a small budget. */
static void read_slices(struct rn_feed_scan scan, struct read *all)
{
    struct read *part = calloc(1, sizeof(*part));
    uint64_t end = 0;
    size_t at;

    memset(all, 0, sizeof(*all));
    for (int slices = 0;; slices++) {
        assert_true(slices < 1000);
        assert_int_equal(read_once(scan, part), RN_OK);
        at = strlen(all->ids);
        snprintf(all->ids + at, sizeof(all->ids) - at, "%s", part->ids);
        assert_true(part->seen >= scan.after);
        if (slices && part->seen == scan.after)
            break; /* nothing is left */
        assert_true(part->seen >= end);
        end = part->seen;
        scan.after = part->seen;
    }
    all->seen = end;
    free(part);
}

static void every_part_and_budget_gives_what_the_model_has(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(LARGE);
    struct read *out = calloc(1, sizeof(*out));
    struct rn_prng prng;
    struct model m = { 0 };
    char want[2000], text[16];
    struct rn_pk pk;

    (void)state;
    rn_prng_init(&prng, 4);
    for (int round = 0; round < 400; round++) {
        struct rn_feed_scan scan = whole();
        int key = (int)rn_prng_below(&prng, KEYS + 1) - 1;

        change_at_random(&prng, &m);
        if (key >= 0) {
            snprintf(text, sizeof(text), "[%d]", key);
            pk_scan(&scan, text, &pk, &arena);
        }
        scan.after = rn_prng_below(&prng, (uint64_t)round + 2);
        if (scan.after > doc.place.lsn)
            scan.after = doc.place.lsn;
        if (rn_prng_below(&prng, 2)) /* by the feed, not by keys */
            scan.pk = NULL;
        scan.entries_max = 1 + (uint32_t)rn_prng_below(&prng, 20);
        if (rn_prng_below(&prng, 3) == 0)
            scan.entries_max = LARGE;
        expect(&m, key, scan.after, want, sizeof(want));
        read_slices(scan, out);
        assert_string_equal(out->ids, want);
    }
    rn_arena_release(&arena);
    free(out);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, one_container_setup,                 \
                                    one_container_close)
    const struct CMUnitTest tests[] = {
        CASE(documents_come_in_the_order_of_their_last_change),
        CASE(an_expired_document_is_not_there),
        CASE(a_range_that_is_not_there_is_gone),
        CASE(a_place_is_found_by_time),
        CASE(only_what_is_late_enough_is_given),
        CASE(a_key_costs_no_more_than_its_documents),
        CASE(keys_of_one_epk_are_distinguished),
        CASE(every_part_and_budget_gives_what_the_model_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
