/* engine_list_test.c -- documents in lists: each that stays, once.
 *
 * An engine over `mem` in the simulation.  Documents have numbers; a list of
 * them, page by page while others are written, must have each once, whatever
 * part of the container it is of.
 */
#include "lib/one_container.h"

#include "base/prng.h"
#include "engine/document/full_scan.h"
#include "engine/document/snapshot.h"

#include <stdio.h>
#include <stdlib.h>

static int setup_ranges(void **state)
{
    (void)state;
    return one_container_open(CONTAINER(",\"defaultTtl\":-1"), 5);
}

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
static bool list_page(struct listing *l)
{
    struct rn_documents_scan scan = {
        .epks = l->epks,
        .pk = l->pk,
        .after = rn_view_of(l->place, l->place_len),
    };
    struct rn_documents d = { 0 };
    struct rn_snapshot r = { 0 };
    struct rn_view body;
    enum rn_code rc =
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL);

    assert_int_equal(rc, RN_OK);
    rc = rn_documents_open(&d, &r, &scan);
    for (int i = 0; !rc && i < PAGE; i++) {
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
    rn_snapshot_end(&r);
    assert_true(rc == RN_OK || rc == RN_NOT_FOUND);
    return rc == RN_OK;
}

static void put_listed(enum rn_document_verb verb, int n)
{
    char body[100], id[20];

    snprintf(id, sizeof(id), "i%d", n);
    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d,\"n\":%d}", id,
             n / 4, n);
    assert_int_equal(one_container_write(verb, NULL, id, body), RN_OK);
}

static void fill(void)
{
    for (int n = 0; n < LISTED; n++)
        put_listed(RN_DOCUMENT_UPSERT, n);
}

static void disturb(struct rn_prng *dice, int round)
{
    char body[100], id[20], key[20];
    int n = (int)rn_prng_below(dice, LISTED);

    put_listed(RN_DOCUMENT_REPLACE, n);
    put_listed(RN_DOCUMENT_UPSERT, (n + 1) % LISTED);
    snprintf(id, sizeof(id), "s%d", round);
    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d}", id, round);
    one_container_put(body);
    if (round % 2 == 0)
        return;
    snprintf(key, sizeof(key), "[%d]", round);
    one_container_del(key, id);
}

static void a_list_has_each_document_once_whatever_is_written(void **state)
{
    struct listing l = { .epks = rn_epk_all };
    int round = 0;

    (void)state;
    fill();
    while (list_page(&l)) {
        disturb(rn_sim_prng(db.sim), round++);
        assert_true(round < LISTED);
    }
    for (int n = 0; n < LISTED; n++)
        assert_int_equal(l.seen[n], 1);
}

/* The other way to all of them: once each too, and none that is gone. */
static void all_come_as_they_lie(void **state)
{
    struct rn_full_scan w = { 0 };
    struct rn_snapshot r = { 0 };
    struct rn_view body;
    int seen[LISTED] = { 0 }, strangers = 0;

    (void)state;
    fill();
    for (int round = 0; round < 100; round++)
        disturb(rn_sim_prng(db.sim), round);
    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(rn_full_scan_open(&w, &r), RN_OK);
    while (rn_full_scan_next(&w, &body) == RN_OK) {
        const char *at = memmem(body.at, body.len, "\"n\":", 4);
        if (at)
            seen[strtol(at + 4, NULL, 10)]++;
        else
            strangers++;
    }
    rn_full_scan_close(&w);
    rn_snapshot_end(&r);
    for (int n = 0; n < LISTED; n++)
        assert_int_equal(seen[n], 1);
    assert_int_equal(strangers, 50); /* every other one was deleted */
}

static void the_ranges_share_the_documents_out(void **state)
{
    struct listing all = { 0 };
    size_t with_some = 0;

    (void)state;
    fill();
    assert_int_equal(one_container->container->range_count, 5);
    for (size_t i = 0; i < 5; i++) {
        struct listing l = { .epks = one_container->container->ranges[i].epks };
        int some = 0;

        while (list_page(&l))
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
    one_container_put("{\"id\":\"a\",\"pk\":1,\"n\":0,\"ttl\":3}");
    one_container_put("{\"id\":\"b\",\"pk\":1,\"n\":1}");
    rn_sim_wall_jump(db.sim, 3000);
    assert_false(list_page(&l));
    assert_int_equal(l.seen[0], 0);
    assert_int_equal(l.seen[1], 1);
}

/* Two keys, as JSON strings, that have one EPK. */
static void assert_apart(const char *definition, const char *const texts[2])
{
    char key[2][160], body[300];
    struct rn_epk epks[2];
    struct rn_pk pks[2];
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);

    one_container_use(definition);
    for (int i = 0; i < 2; i++) {
        snprintf(key[i], sizeof(key[i]), "[%s]", texts[i]);
        assert_int_equal(
            rn_pk_parse(rn_view_text(key[i]), &arena, &pks[i], NULL), RN_OK);
        rn_epk_of(&one_container->container->pkdef, &pks[i], &epks[i]);
        snprintf(body, sizeof(body), "{\"id\":\"a\",\"pk\":%s,\"n\":%d}",
                 texts[i], i);
        one_container_put(body);
    }
    assert_int_equal(rn_epk_compare(&epks[0], &epks[1]), 0);
    for (int i = 0; i < 2; i++) {
        struct listing l = { .pk = &pks[i] };

        assert_int_equal(read_document(&db, one_container, key[i], "a", &doc),
                         RN_OK);
        snprintf(body, sizeof(body), "\"n\":%d", i);
        assert_non_null(strstr(doc.body, body));
        rn_epk_range_of(&one_container->container->pkdef, &pks[i], &l.epks);
        assert_false(list_page(&l));
        assert_int_equal(l.seen[i], 1);
        assert_int_equal(l.seen[1 - i], 0);
    }
    rn_arena_release(&arena);
}

static void long_keys_of_version_1_stay_apart(void **state)
{
    char text[2][160];

    (void)state;
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof(text[i]), "\"%0140d%d\"", 0, i);
    assert_apart(CONTAINER_V1(""), (const char *const[]){ text[0], text[1] });
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
    assert_apart(CONTAINER_HASHED("v2", "2", ""), texts);
    assert_apart("{\"id\":\"tree\",\"partitionKey\":{\"paths\":[\"/pk\"],"
                 "\"kind\":\"MultiHash\",\"version\":2}}",
                 texts);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, one_container_setup,                 \
                                    one_container_close)
#define SPREAD(name)                                                           \
    cmocka_unit_test_setup_teardown(name, setup_ranges, one_container_close)
    static const struct CMUnitTest tests[] = {
        CASE(a_list_has_each_document_once_whatever_is_written),
        SPREAD(all_come_as_they_lie),
        SPREAD(the_ranges_share_the_documents_out),
        CASE(a_list_leaves_out_what_has_expired),
        CASE(long_keys_of_version_1_stay_apart),
        CASE(keys_of_version_2_made_to_hash_alike_stay_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
