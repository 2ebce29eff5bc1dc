/* engine_split_merge_test.c -- splits and merges, and what readers see of them.
 *
 * An engine over `mem` in the simulation.  The checker writes at random while
 * ranges are split, merged and brought home at random, and readers of a key, of
 * intervals and of all read some and stop, over and over, holding tokens across
 * all of it as clients do: a token belongs to an interval, and is used in
 * whatever ranges hold that interval now.  In the end every reader must have
 * been given the latest change of every document of its interval, no change
 * twice, each in order.
 */
#include "lib/one_container.h"

#include "base/prng.h"
#include "engine/catalog/object.h"
#include "engine/document/snapshot.h"
#include "engine/engine.h"
#include "engine/engine_state.h"
#include "engine/feed/feed.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 24, IDS = 3, READERS = 12, PIECES_MAX = 256 };

static int growths; /* that have ended */

static int setup(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(""), 1);
}

/* ---- reshaping ----------------------------------------------------------- */

static enum rn_code split(uint32_t range)
{
    return one_container_split_merge(
        &(struct rn_split_merge){ .range = range });
}

static enum rn_code merge(uint32_t range, uint32_t with)
{
    return one_container_split_merge(&(struct rn_split_merge){
        .verb = RN_SPLIT_MERGE_MERGE, .range = range, .with = with });
}

static void children_take_over_where_their_parent_ended(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        one_container_put("{\"id\":\"a\",\"pk\":1}");
    assert_int_equal(split(0), RN_OK);
    assert_int_equal(one_container->container->range_count, 2);
    assert_int_equal(one_container->container->ranges[0].id, 1);
    assert_int_equal(one_container->container->ranges[1].id, 2);
    assert_int_equal(range_of(&db, one_container, 1).lsn, 5);
    assert_int_equal(range_of(&db, one_container, 2).lsn, 5);
    assert_int_equal(split(0), RN_GONE);
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    assert_int_equal(doc.place.lsn, 6);
    assert_int_equal(range_of(&db, one_container, 1).lsn +
                         range_of(&db, one_container, 2).lsn,
                     11);
    assert_int_equal(merge(2, 1), RN_OK);
    assert_int_equal(one_container->container->range_count, 1);
    assert_int_equal(range_of(&db, one_container, 3).lsn, 7);
    assert_int_equal(split(3), RN_OK);
    assert_int_equal(one_container->container->ranges[0].ancestor_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(one_container->container->ranges[0].ancestors[i], i);
}

static void what_cannot_be_is_refused_and_changes_nothing(void **state)
{
    struct rn_split_merge outside = { .range = 1, .has_at = true };

    (void)state;
    assert_int_equal(split(7), RN_GONE);
    assert_int_equal(merge(0, 0), RN_BAD_REQUEST);
    assert_int_equal(split(0), RN_OK);
    assert_int_equal(split(2), RN_OK);
    assert_int_equal(merge(1, 4), RN_BAD_REQUEST);
    assert_int_equal(merge(1, 2), RN_GONE);
    outside.at = one_container->container->ranges[0].epks.max;
    assert_int_equal(one_container_split_merge(&outside), RN_BAD_REQUEST);
    outside.at.len = 0;
    assert_int_equal(one_container_split_merge(&outside), RN_BAD_REQUEST);
    assert_int_equal(one_container->container->range_count, 3);
    assert_int_equal(one_container->container->next_range, 5);
}

static void a_container_grows_evenly(void **state)
{
    (void)state;
    assert_int_equal(one_container_split_merge(&(struct rn_split_merge){
                         .verb = RN_SPLIT_MERGE_GROW, .want = 8 }),
                     RN_OK);
    assert_int_equal(one_container->container->range_count, 8);
    assert_int_equal(one_container->container->next_range, 15);
    for (size_t i = 1; i < 8; i++)
        assert_int_equal(one_container->container->ranges[i].epks.min.bytes[0],
                         8 * i - 1);
    assert_int_equal(one_container_split_merge(&(struct rn_split_merge){
                         .verb = RN_SPLIT_MERGE_GROW, .want = 4 }),
                     RN_OK);
    assert_int_equal(one_container->container->range_count, 8);
}

static void note_growth(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    (void)done;
    (void)err;
    assert_int_equal(rc, RN_OK);
    growths++;
}

/* What writers wait for is a slice of the splits, not all of them. */
static void a_write_comes_between_the_splits_of_one_growth(void **state)
{
    struct rn_done then = { .call = note_growth };
    struct queued write;
    size_t after[3];

    (void)state;
    growths = 0;
    assert_true(rn_container_grow(db.engine, one_container, 1000, &then));
    for (size_t i = 0; i < 3; i++) {
        queue_write(&write, "{\"id\":\"a\",\"pk\":1}");
        while (!write.is_done)
            assert_true(rn_sim_step(db.sim));
        end_write(&write);
        one_container_refresh();
        after[i] = one_container->container->range_count;
        assert_true(after[i] < 200);
    }
    assert_true(after[2] > after[0]);
    assert_int_equal(growths, 0);
    database_settle(&db);
    assert_int_equal(growths, 1);
    one_container_refresh();
    assert_int_equal(one_container->container->range_count, 1000);
    assert_int_equal(one_container->container->next_range, 1999);
}

static enum rn_code write_nothing(struct rn_operation *op, struct rn_txn *txn)
{
    (void)op;
    (void)txn;
    return RN_OK;
}

static void count_down(struct rn_operation *op, enum rn_code rc,
                       const struct rn_err *err)
{
    (void)op;
    (void)err;
    assert_int_equal(rc, RN_OK);
}

static void a_full_queue_keeps_no_container_from_growing(void **state)
{
    static struct rn_operation writes[RN_COMMITTER_QUEUE_MAX + 1];
    struct rn_done then = { .call = note_growth };
    struct rn_split_merge refused = { .container = one_container->container };
    size_t n = 0;

    (void)state;
    growths = 0;
    for (; n <= RN_COMMITTER_QUEUE_MAX; n++) {
        writes[n] =
            (struct rn_operation){ .run = write_nothing, .done = count_down };
        if (rn_committer_queue(db.engine->committer, &writes[n]))
            break;
    }
    assert_int_equal(n, RN_COMMITTER_QUEUE_MAX);
    assert_int_equal(rn_split_merge_start(db.engine, &refused, NULL),
                     RN_THROTTLED);
    assert_true(rn_container_grow(db.engine, one_container, 4, &then));
    database_settle(&db);
    assert_int_equal(growths, 1);
    one_container_refresh();
    assert_int_equal(one_container->container->range_count, 4);
}

/* How many entries lie under a range. */
static size_t entries_of(uint32_t range)
{
    struct rn_key from, before;

    rn_key_feed(one_container->number, range, 0, 0, &from);
    rn_key_feed(one_container->number, range, UINT64_MAX, 0, &before);
    return count_between(&db, &from, &before);
}

static void entries_come_home_and_keep_their_etags(void **state)
{
    char etags[300][RN_ETAG_LEN + 1], body[64], pk[16], id[16];

    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"d%d\",\"pk\":%d}", i, i);
        one_container_put(body);
        memcpy(etags[i], doc.etag, sizeof(etags[i]));
    }
    assert_int_equal(split(0), RN_OK);
    assert_int_equal(merge(1, 2), RN_OK);
    database_settle(&db);
    assert_int_equal(range_of(&db, one_container, 0).state, RN_RANGE_BARE);
    assert_int_equal(range_of(&db, one_container, 1).state, RN_RANGE_BARE);
    assert_int_equal(entries_of(0) + entries_of(1) + entries_of(2), 0);
    assert_int_equal(entries_of(3), 300);
    for (int i = 0; i < 300; i++) {
        struct asked asked = { .pk = pk, .id = id, .if_match = etags[i] };

        snprintf(pk, sizeof(pk), "[%d]", i);
        snprintf(id, sizeof(id), "d%d", i);
        assert_int_equal(read_document(&db, one_container, pk, id, &doc),
                         RN_OK);
        assert_string_equal(doc.etag, etags[i]);
        if (i % 3 == 0)
            assert_int_equal(write_document(&db, one_container,
                                            RN_DOCUMENT_DELETE, NULL, &asked,
                                            &doc),
                             RN_OK);
    }
    assert_int_equal(entries_of(3), 200);
}

static void a_restart_goes_on_bringing_home(void **state)
{
    char body[64];

    (void)state;
    for (int i = 0; i < 300; i++) {
        snprintf(body, sizeof(body), "{\"id\":\"d%d\",\"pk\":%d}", i, i);
        one_container_put(body);
    }
    assert_int_equal(split(0), RN_OK);
    one_container_reopen();
    assert_int_equal(one_container->container->range_count, 2);
    database_settle(&db);
    assert_int_equal(entries_of(0), 0);
    assert_int_equal(entries_of(1) + entries_of(2), 300);
}

/* ---- the checker --------------------------------------------------------- */

struct model {
    uint64_t lsn[KEYS][IDS];   /* of the last change; 0: not there */
    uint32_t range[KEYS][IDS]; /* where it was made */
    struct rn_epk epk[KEYS];
};

/* A token, and the interval it belongs to. */
struct piece {
    struct rn_epk_range epks;
    uint64_t after;
};

struct reader {
    struct rn_epk_range epks;
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
    uint64_t seen[KEYS][IDS];       /* the LSN last given */
    uint32_t seen_range[KEYS][IDS]; /* and its range, by the etag */
    size_t given;
};

static struct model model;
static struct reader readers[READERS];

static void change_something(struct rn_prng *prng)
{
    uint32_t k = (uint32_t)rn_prng_below(prng, KEYS);
    uint32_t i = (uint32_t)rn_prng_below(prng, IDS);
    char body[64], pk[16], id[16];

    if (model.lsn[k][i] && rn_prng_below(prng, 5) == 0) {
        snprintf(pk, sizeof(pk), "[%u]", k);
        snprintf(id, sizeof(id), "%u", i);
        one_container_del(pk, id);
        model.lsn[k][i] = 0;
        return;
    }
    snprintf(body, sizeof(body), "{\"id\":\"%u\",\"pk\":%u}", i, k);
    one_container_put(body);
    model.lsn[k][i] = doc.place.etag.lsn;
    model.range[k][i] = doc.place.etag.range;
}

/* The caller may hold a container as it was before: writers find their way. */
static void change_with_old_ranges(struct rn_prng *prng, struct rn_object *old)
{
    struct rn_object *now = one_container;

    one_container = old;
    change_something(prng);
    one_container = now;
}

static void split_or_merge_something(struct rn_prng *prng)
{
    const struct rn_container *c = one_container->container;
    size_t at = (size_t)rn_prng_below(prng, c->range_count);

    if (c->range_count > 1 && rn_prng_below(prng, c->range_count) >= 3) {
        at = at ? at : 1;
        assert_int_equal(merge(c->ranges[at].id, c->ranges[at - 1].id), RN_OK);
    } else {
        struct rn_split_merge ask = { .range = c->ranges[at].id };
        uint32_t k = (uint32_t)rn_prng_below(prng, KEYS);

        /* At a key, so that the bound is met, or in the middle. */
        ask.at = model.epk[k];
        ask.has_at =
            rn_epk_range_has(&c->ranges[at].epks, rn_epk_view(&model.epk[k])) &&
            rn_epk_compare(&c->ranges[at].epks.min, &ask.at) < 0;
        assert_int_equal(one_container_split_merge(&ask), RN_OK);
    }
}

static void take(struct reader *reader, const struct rn_change *change,
                 const struct piece *p)
{
    struct rn_json j;
    int64_t k = -1;
    struct rn_view id;
    struct rn_etag etag;
    uint32_t i;

    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, change->json, NULL), RN_OK);
    assert_true(rn_json_int64(&j, rn_json_find(&j, 0, RN_LIT("pk")), &k));
    id = rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("id")));
    i = (uint32_t)(id.at[0] - '0');
    {
        struct rn_view text =
            rn_json_text(&j, rn_json_find(&j, 0, RN_LIT("_etag")));
        /* As JSON text: \"...\" */
        assert_true(
            rn_etag_parse(rn_view_of(text.at + 2, text.len - 4), &etag));
    }
    rn_json_release(&j);
    assert_true(rn_epk_range_has(&p->epks, rn_epk_view(&model.epk[k])));
    assert_true(change->place.lsn > p->after);
    /* Later than what it had of this document, so never the same twice. */
    assert_true(change->place.lsn > reader->seen[k][i]);
    reader->seen[k][i] = change->place.lsn;
    reader->seen_range[k][i] = etag.range;
    reader->given++;
}

/* Reads up to `max` changes of one piece that lies in one range; LSNs are not
 * divided. */
static void read_piece(struct reader *reader, struct piece *p, uint32_t range,
                       size_t max, uint32_t entries)
{
    struct rn_snapshot r = { 0 };
    struct rn_feed f = { 0 };
    struct rn_row_range row;
    struct rn_change change;
    struct rn_feed_scan scan = { .range = range,
                                 .epks = p->epks,
                                 .after = p->after,
                                 .since = INT64_MIN,
                                 .entries_max = entries,
                                 .bytes_max = SIZE_MAX };
    uint64_t last = p->after;
    size_t count = 0;
    enum rn_code rc;

    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(rn_feed_range(&r, range, &row, NULL), RN_OK);
    assert_true(p->after <= row.lsn);
    scan.upto = row.lsn;
    assert_int_equal(rn_feed_open(&f, &r, &scan, NULL), RN_OK);
    while ((rc = rn_feed_next(&f, &change)) == RN_OK) {
        if (count >= max && change.place.lsn != last)
            break;
        assert_true(change.place.lsn >= last);
        take(reader, &change, p);
        last = change.place.lsn;
        count++;
    }
    if (rc)
        assert_int_equal(rc, RN_NOT_FOUND);
    p->after = rc ? f.seen : last;
    rn_feed_close(&f);
    rn_snapshot_end(&r);
}

/* As clients do: a piece that several ranges hold becomes several pieces. */
static void read_some(struct reader *reader, size_t at, size_t max,
                      uint32_t entries)
{
    struct piece p = reader->pieces[at];
    const struct rn_container *c = one_container->container;
    bool first = true;

    for (size_t i = 0; i < c->range_count; i++) {
        struct rn_epk_range both;
        struct piece *to = &reader->pieces[at];

        if (!rn_epk_range_meet(&c->ranges[i].epks, &p.epks, &both))
            continue;
        if (!first) {
            assert_true(reader->piece_count < PIECES_MAX);
            to = &reader->pieces[reader->piece_count++];
        }
        *to = (struct piece){ .epks = both, .after = p.after };
        read_piece(reader, to, c->ranges[i].id, max, entries);
        first = false;
    }
    assert_false(first);
}

static void read_at_random(struct rn_prng *prng)
{
    struct reader *r = &readers[rn_prng_below(prng, READERS)];
    size_t at = (size_t)rn_prng_below(prng, r->piece_count);
    size_t max = 1 + (size_t)rn_prng_below(prng, 4);

    read_some(r, at, max, 1 + (uint32_t)rn_prng_below(prng, 30));
}

static void begin_readers(struct rn_prng *prng)
{
    for (uint32_t i = 0; i < READERS; i++) {
        struct reader *r = &readers[i];
        struct rn_epk *a = &model.epk[rn_prng_below(prng, KEYS)];

        memset(r, 0, sizeof(*r));
        r->epks = rn_epk_all;
        if (i % 3 == 1) { /* one key */
            r->epks.min = r->epks.max = *a;
            r->epks.max.bytes[r->epks.max.len++] = 0;
        } else if (i % 3 == 2) {
            r->epks.min = *a;
        }
        r->piece_count = 1;
        r->pieces[0] = (struct piece){ .epks = r->epks };
    }
}

static void finish_readers(void)
{
    for (uint32_t n = 0; n < READERS; n++) {
        struct reader *r = &readers[n];

        for (size_t i = r->piece_count; i-- > 0;)
            read_some(r, i, SIZE_MAX, 1 << 20);
        for (uint32_t k = 0; k < KEYS; k++) {
            for (uint32_t i = 0; i < IDS; i++) {
                if (!model.lsn[k][i] ||
                    !rn_epk_range_has(&r->epks, rn_epk_view(&model.epk[k])))
                    continue;
                assert_true(r->seen[k][i] == model.lsn[k][i]);
                assert_int_equal(r->seen_range[k][i], model.range[k][i]);
            }
        }
        assert_true(r->given > 0 || n % 3 == 1);
    }
}

static void run_checker(uint64_t seed, int rounds)
{
    struct rn_object *old;
    struct rn_prng prng;

    memset(&model, 0, sizeof(model));
    rn_prng_init(&prng, seed);
    for (uint32_t k = 0; k < KEYS; k++) {
        struct rn_arena arena = RN_ARENA_INIT(1 << 16);
        struct rn_pk pk;
        char text[16];

        snprintf(text, sizeof(text), "[%u]", k);
        assert_int_equal(rn_pk_parse(rn_view_text(text), &arena, &pk, NULL),
                         RN_OK);
        rn_epk_of(&one_container->container->pkdef, &pk, &model.epk[k]);
        rn_arena_release(&arena);
    }
    begin_readers(&prng);
    old = rn_object_share(one_container);
    for (int round = 0; round < rounds; round++) {
        uint64_t dice = rn_prng_below(&prng, 100);

        if (dice < 50)
            change_something(&prng);
        else if (dice < 55)
            change_with_old_ranges(&prng, old);
        else if (dice < 58)
            split_or_merge_something(&prng);
        else if (dice < 65)
            (void)rn_sim_step(db.sim); /* perhaps a slice comes home */
        else
            read_at_random(&prng);
        if (dice == 99) {
            rn_object_release(old);
            old = rn_object_share(one_container);
        }
    }
    finish_readers();
    database_settle(&db);
    finish_readers();
    rn_object_release(old);
}

/* Pages as their reader sees them: what is given counts, or else what was
 * looked at. */
static size_t read_by_budget(uint32_t range, uint32_t entries)
{
    struct rn_feed_scan scan = { .range = range,
                                 .epks = rn_epk_all,
                                 .upto =
                                     range_of(&db, one_container, range).lsn,
                                 .since = INT64_MIN,
                                 .entries_max = entries,
                                 .bytes_max = SIZE_MAX };
    size_t count = 0;

    for (int i = 0; i < 100 && scan.after < scan.upto; i++) {
        struct rn_snapshot r = { 0 };
        struct rn_feed f = { 0 };
        struct rn_change change = { 0 };

        assert_int_equal(
            rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
            RN_OK);
        assert_int_equal(rn_feed_open(&f, &r, &scan, NULL), RN_OK);
        while (!rn_feed_next(&f, &change))
            count++;
        assert_true(f.seen > scan.after && f.seen >= change.place.lsn);
        scan.after = change.place.lsn ? change.place.lsn : f.seen;
        rn_feed_close(&f);
        rn_snapshot_end(&r);
    }
    assert_int_equal(scan.after, scan.upto);
    return count;
}

static void a_budget_ends_a_page_between_LSNs_of_all_ancestors(void **state)
{
    char body[64];

    (void)state;
    assert_int_equal(split(0), RN_OK);
    for (int i = 0; i < 20; i++) { /* the two have equal LSNs */
        snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d}", i, i);
        one_container_put(body);
    }
    assert_true(range_of(&db, one_container, 1).lsn > 3 &&
                range_of(&db, one_container, 2).lsn > 3);
    assert_int_equal(merge(1, 2), RN_OK);
    for (uint32_t entries = 1; entries < 30; entries++)
        assert_int_equal(read_by_budget(3, entries), 20);
    database_settle(&db); /* and at home */
    for (uint32_t entries = 1; entries < 30; entries++)
        assert_int_equal(read_by_budget(3, entries), 20);
}

static void readers_miss_nothing_and_get_nothing_twice(void **state)
{
    int seeds = getenv("RUNNEL_PROVE") ? 2000 : 60;

    (void)state;
    for (int seed = 1; seed <= seeds; seed++) {
        if (seed > 1) {
            one_container_close(NULL);
            setup(NULL);
        }
        run_checker((uint64_t)seed, 600);
    }
    print_message("%d seeds\n", seeds);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, setup, one_container_close)
    const struct CMUnitTest tests[] = {
        CASE(children_take_over_where_their_parent_ended),
        CASE(what_cannot_be_is_refused_and_changes_nothing),
        CASE(a_container_grows_evenly),
        CASE(a_write_comes_between_the_splits_of_one_growth),
        CASE(a_full_queue_keeps_no_container_from_growing),
        CASE(entries_come_home_and_keep_their_etags),
        CASE(a_restart_goes_on_bringing_home),
        CASE(a_budget_ends_a_page_between_LSNs_of_all_ancestors),
        CASE(readers_miss_nothing_and_get_nothing_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
