/* rest_continuation_test.c -- continuations of readers that name no range,
 * through splits and merges.
 *
 * A generator writes, deletes, splits at random bounds, merges and reads pages
 * at random, by the REST side itself, and a model knows every change there was.
 * Readers follow the whole container, an interval of EPKs or a prefix of a
 * hierarchical key, in both modes, and have nothing but the etag of their last
 * answer.  Each change is given exactly once, those of a key in order; a 304
 * means that the reader has all, and its etag has one place for each range.
 */
#include "lib/one_container.h"
#include "lib/rest_client.h"

#include "base/prng.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEYS = 16,
    IDS = 3,
    READERS = 10,
    CHANGES_MAX = 4096,
    TOKEN_MAX = 2048,
    RETENTION_S = 600,
};

#define POLICY ",\"changeFeedPolicy\":{\"retentionDuration\":10}"
#define HIERARCHY                                                              \
    "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\",\"/sub\"],"            \
    "\"kind\":\"MultiHash\",\"version\":2}" POLICY "}"

struct change {
    uint32_t k, i;
    uint64_t lsn;
};

static struct model {
    uint64_t lsn[KEYS][IDS]; /* of the last change; 0: not there */
    struct rn_epk epk[KEYS][IDS];
    struct change changes[CHANGES_MAX];
    size_t change_count;
    bool is_hierarchy;
} model;

static struct reader {
    bool all_versions;
    struct rn_epk_range epks;
    int prefix; /* the key, or -1 */
    char token[TOKEN_MAX];
    uint64_t seen[KEYS][IDS]; /* the LSN last given */
    bool given[CHANGES_MAX];
    size_t from; /* all versions: the first change after its start */
} readers[READERS];

static struct rest_client rest_client;

/* ---- the container ------------------------------------------------------- */

static void open_container(bool is_hierarchy)
{
    one_container_open(is_hierarchy ? HIERARCHY : CONTAINER(POLICY), 1);
    rest_client_open(&rest_client, db.env, db.engine);
    memset(&model, 0, sizeof(model));
    model.is_hierarchy = is_hierarchy;
    for (uint32_t k = 0; k < KEYS; k++) {
        for (uint32_t i = 0; i < IDS; i++) {
            struct rn_arena arena = RN_ARENA_INIT(1 << 16);
            struct rn_pk pk;
            char text[32];

            snprintf(text, sizeof(text), is_hierarchy ? "[%u,%u]" : "[%u]", k,
                     i);
            assert_int_equal(rn_pk_parse(rn_view_text(text), &arena, &pk, NULL),
                             RN_OK);
            rn_epk_of(&one_container->container->pkdef, &pk, &model.epk[k][i]);
            rn_arena_release(&arena);
        }
    }
}

static void close_container(void)
{
    rn_rest_quiesce(rest_client.rest);
    one_container_close(NULL);
    rest_client_close(&rest_client);
}

static int setup(void **state)
{
    (void)state;
    open_container(false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close_container();
    return 0;
}

static void write_change(uint32_t k, uint32_t i, bool is_delete)
{
    char text[64], id[16];

    if (is_delete) {
        snprintf(text, sizeof(text), model.is_hierarchy ? "[%u,%u]" : "[%u]", k,
                 i);
        snprintf(id, sizeof(id), "%u", i);
        one_container_del(text, id);
    } else {
        snprintf(text, sizeof(text), "{\"id\":\"%u\",\"pk\":%u,\"sub\":%u}", i,
                 k, i);
        one_container_put(text);
    }
    assert_true(model.change_count < CHANGES_MAX);
    model.changes[model.change_count++] =
        (struct change){ .k = k, .i = i, .lsn = doc.place.lsn };
    model.lsn[k][i] = is_delete ? 0 : doc.place.lsn;
}

static void split(size_t at, const struct rn_epk *bound)
{
    const struct rn_range_span *span = &one_container->container->ranges[at];
    struct rn_split_merge ask = { .range = span->id };

    ask.has_at = rn_epk_range_has(&span->epks, rn_epk_view(bound)) &&
                 rn_epk_compare(&span->epks.min, bound) < 0;
    ask.at = *bound;
    assert_int_equal(one_container_split_merge(&ask), RN_OK);
}

static void merge(size_t at)
{
    const struct rn_range_span *ranges = one_container->container->ranges;

    assert_int_equal(one_container_split_merge(
                         &(struct rn_split_merge){ .verb = RN_SPLIT_MERGE_MERGE,
                                                   .range = ranges[at].id,
                                                   .with = ranges[at + 1].id }),
                     RN_OK);
}

/* ---- a reader ------------------------------------------------------------ */

static bool is_read(const struct reader *r, uint32_t k, uint32_t i)
{
    return (r->prefix < 0 || r->prefix == (int)k) &&
           rn_epk_range_has(&r->epks, rn_epk_view(&model.epk[k][i]));
}

static void take_latest(struct reader *r, uint32_t k, uint32_t i, uint64_t lsn)
{
    assert_true(lsn > r->seen[k][i]);
    r->seen[k][i] = lsn;
}

static void take_version(struct reader *r, uint32_t k, uint32_t i, uint64_t lsn)
{
    size_t at = r->from;

    while (at < model.change_count &&
           (model.changes[at].k != k || model.changes[at].i != i ||
            model.changes[at].lsn != lsn))
        at++;
    assert_true(at < model.change_count); /* it was made, and since the start */
    assert_false(r->given[at]);
    for (size_t n = at + 1; n < model.change_count; n++)
        assert_false(r->given[n] && model.changes[n].k == k &&
                     (!model.is_hierarchy || model.changes[n].i == i));
    r->given[at] = true;
}

static uint64_t number_at(const struct rn_json *j, uint32_t at,
                          const char *name)
{
    uint32_t value = rn_json_find(j, at, rn_view_text(name));
    int64_t number = -1;

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        return (uint64_t)(rn_json_text(j, value).at[0] - '0');
    assert_true(rn_json_int64(j, value, &number));
    return (uint64_t)number;
}

static void take(struct reader *r, const struct rn_json *j, uint32_t item)
{
    uint32_t document = item, tail = item, keys = item;
    uint32_t k, i;

    if (r->all_versions) {
        document = rn_json_find(j, item, RN_LIT("current"));
        tail = rn_json_find(j, item, RN_LIT("metadata"));
        keys = rn_json_find(j, tail, RN_LIT("partitionKey"));
        if (rn_json_kind(j, keys) == RN_JSON_UNDEFINED)
            keys = document;
        else
            document = tail;
    }
    k = (uint32_t)number_at(j, keys, "pk");
    i = (uint32_t)number_at(j, document, "id");
    assert_true(k < KEYS && i < IDS && is_read(r, k, i));
    if (r->all_versions)
        take_version(r, k, i, number_at(j, tail, "lsn"));
    else
        take_latest(r, k, i, number_at(j, tail, "_lsn"));
}

static void take_page(struct reader *r)
{
    struct rn_json_walk w;
    struct rn_json j;

    rn_json_init(&j, NULL);
    assert_int_equal(
        rn_json_parse(&j, rn_buf_view(&rest_client.call.body), NULL), RN_OK);
    w = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
    while (rn_json_walk_next(&w))
        take(r, &j, w.value);
    rn_json_release(&j);
}

/* A 304: the reader has all there is, and one place for each range. */
static void check_end(const struct reader *r)
{
    struct rn_epk_range both;
    size_t places = 1, ranges = 0;

    for (const char *at = r->token; *at; at++)
        places += *at == ',';
    for (size_t i = 0; i < one_container->container->range_count; i++)
        ranges += rn_epk_range_meet(&one_container->container->ranges[i].epks,
                                    &r->epks, &both);
    assert_true(r->prefix >= 0 || places == ranges);
    for (size_t n = r->from; r->all_versions && n < model.change_count; n++) {
        const struct change *c = &model.changes[n];
        assert_true(r->given[n] == is_read(r, c->k, c->i));
    }
    for (uint32_t k = 0; !r->all_versions && k < KEYS; k++) {
        for (uint32_t i = 0; i < IDS; i++) {
            assert_true(!model.lsn[k][i] || !is_read(r, k, i) ||
                        r->seen[k][i] == model.lsn[k][i]);
        }
    }
}

/* One request with the reader's token; its status. */
static int ask(struct reader *r, const char *token, unsigned max)
{
    char more[TOKEN_MAX + 1024], min[RN_EPK_TEXT_MAX], end[RN_EPK_TEXT_MAX];
    char place[TOKEN_MAX + 32] = "", scope[2 * RN_EPK_TEXT_MAX + 64];
    int status;

    if (*token)
        snprintf(place, sizeof(place), "If-None-Match: %s\r\n", token);
    if (r->prefix >= 0) {
        snprintf(scope, sizeof(scope), "x-ms-documentdb-partitionkey: [%d]",
                 r->prefix);
    } else {
        snprintf(scope, sizeof(scope),
                 "x-ms-start-epk: %.*s\r\nx-ms-end-epk: %.*s",
                 RN_FMT(rn_epk_print(&r->epks.min, min)),
                 RN_FMT(rn_epk_print(&r->epks.max, end)));
    }
    snprintf(more, sizeof(more),
             "A-IM: %s\r\n%sx-ms-max-item-count: %u\r\n%s\r\n",
             r->all_versions ? "Full-Fidelity Feed" : "Incremental Feed", place,
             max, scope);
    assert_int_equal(
        rest_client_begin(&rest_client,
                          &(struct rest_request){ .verb = "GET",
                                                  .link = "dbs/d/colls/c",
                                                  .more = more }),
        RN_REST_DONE);
    status = rest_client.call.res.status;
    if (status == 200)
        take_page(r);
    else if (status != 304)
        print_error("%.*s\n", RN_FMT(rn_buf_view(&rest_client.call.body)));
    rest_client_header(&rest_client, "etag", r->token, sizeof(r->token));
    rest_client_end(&rest_client);
    return status;
}

static bool read_page(struct reader *r, unsigned max)
{
    int status = ask(r, r->token, max);

    if (status == 304)
        check_end(r);
    else
        assert_int_equal(status, 200);
    return status == 200;
}

static void drain(struct reader *r, unsigned max)
{
    for (size_t n = 0; read_page(r, max); n++)
        assert_true(n < CHANGES_MAX);
}

/* From now, or the latest versions from the beginning. */
static void begin_reader(struct reader *r, bool all_versions, bool is_now)
{
    memset(r, 0, sizeof(*r));
    r->all_versions = all_versions;
    r->epks = rn_epk_all;
    r->prefix = -1;
    if (!is_now)
        return;
    r->from = model.change_count;
    memcpy(r->seen, model.lsn, sizeof(r->seen));
    assert_int_equal(ask(r, "*", 1), 304);
}

/* ---- the generator ------------------------------------------------------- */

static void begin_readers(struct rn_prng *prng)
{
    for (int n = 0; n < READERS; n++) {
        struct reader *r = &readers[n];
        uint32_t k = (uint32_t)rn_prng_below(prng, KEYS);

        begin_reader(r, n % 2, false);
        if (n % 4 >= 2 && model.is_hierarchy)
            r->prefix = (int)k;
        else if (n % 4 >= 2)
            r->epks.min = model.epk[k][0];
        r->from = model.change_count;
        if (r->all_versions)
            assert_int_equal(ask(r, "*", 1), 304);
    }
}

static void split_or_merge_something(struct rn_prng *prng)
{
    size_t count = one_container->container->range_count;
    uint64_t k = rn_prng_below(prng, KEYS);
    uint64_t i = rn_prng_below(prng, IDS);

    if (count > 1 && rn_prng_below(prng, count) >= 2)
        merge((size_t)rn_prng_below(prng, count - 1));
    else
        split((size_t)rn_prng_below(prng, count), &model.epk[k][i]);
}

/* All versions are kept for a while.  A reader that has all of them
 * then continues, whatever becomes of the ranges meanwhile. */
static void let_history_end(struct rn_prng *prng)
{
    for (int n = 0; n < READERS; n++)
        drain(&readers[n], 5);
    if (rn_prng_below(prng, 2))
        split_or_merge_something(prng);
    turn_clock(2 * RETENTION_S);
    if (rn_prng_below(prng, 2))
        split_or_merge_something(prng);
}

static void run_round(struct rn_prng *prng)
{
    uint64_t dice = rn_prng_below(prng, 100);
    uint32_t k = (uint32_t)rn_prng_below(prng, KEYS);
    uint32_t i = (uint32_t)rn_prng_below(prng, IDS);

    if (dice < 50)
        write_change(k, i, model.lsn[k][i] && rn_prng_below(prng, 4) == 0);
    else if (dice < 56)
        split_or_merge_something(prng);
    else if (dice < 60)
        rn_sim_run(db.sim, 1000000); /* a slice comes home */
    else if (dice == 60)
        let_history_end(prng);
    else
        (void)read_page(&readers[rn_prng_below(prng, READERS)],
                        1 + (unsigned)rn_prng_below(prng, 4));
}

static void readers_get_each_change_exactly_once(void **state)
{
    int seeds = getenv("RUNNEL_PROVE") ? 2000 : 24;

    (void)state;
    for (int seed = 1; seed <= seeds; seed++) {
        struct rn_prng prng;

        close_container();
        open_container(seed % 3 == 0);
        rn_prng_init(&prng, (uint64_t)seed);
        begin_readers(&prng);
        for (int round = 0; round < 400; round++)
            run_round(&prng);
        for (int n = 0; n < READERS; n++)
            drain(&readers[n], 3);
    }
    print_message("%d seeds\n", seeds);
}

/* ---- by hand ------------------------------------------------------------- */

/* Two ranges that have come to different LSNs. */
static void write_unevenly(void)
{
    uint32_t in_first = 0, in_last = 0;

    split(0, &model.epk[0][0]);
    for (uint32_t n = 0; n < 20; n++) {
        for (uint32_t k = 0; k < KEYS; k++) {
            bool is_first =
                rn_epk_range_has(&one_container->container->ranges[0].epks,
                                 rn_epk_view(&model.epk[k][0]));
            uint32_t *count = is_first ? &in_first : &in_last;

            if (is_first || *count < 2) {
                write_change(k, 0, false);
                *count += 1;
            }
        }
    }
    assert_true(in_first > 20 && in_last == 2);
}

static void a_reader_that_has_all_is_given_nothing_by_a_merge(void **state)
{
    struct reader *r = &readers[0];

    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        close_container();
        open_container(false);
        begin_reader(r, mode == 1, mode == 1);
        write_unevenly();
        drain(r, 1000);
        merge(0);
        assert_int_equal(ask(r, r->token, 1000), 304);
        check_end(r);
    }
}

static void nor_is_it_refused_when_the_history_has_ended(void **state)
{
    struct reader *r = &readers[0];

    (void)state;
    begin_reader(r, true, true);
    write_unevenly();
    drain(r, 1000);
    merge(0);
    turn_clock(2 * RETENTION_S);
    write_change(1, 1, false);
    assert_true(read_page(r, 10));
    drain(r, 10);
}

/* The page of one: both merged ranges are read in the order of LSNs, and the
 * token names the dead ones until they have met. */
static void a_reader_in_the_middle_goes_on_in_both_halves(void **state)
{
    struct reader *r = &readers[0];

    (void)state;
    begin_reader(r, true, true);
    write_unevenly();
    for (int i = 0; i < 9; i++)
        assert_true(read_page(r, 1));
    merge(0);
    assert_true(read_page(r, 1));
    assert_non_null(strchr(r->token, ','));
    drain(r, 1);
    assert_null(strchr(r->token, ','));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_reader_that_has_all_is_given_nothing_by_a_merge),
        CASE(nor_is_it_refused_when_the_history_has_ended),
        CASE(a_reader_in_the_middle_goes_on_in_both_halves),
        CASE(readers_get_each_change_exactly_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
