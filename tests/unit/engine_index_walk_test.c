/* engine_index_walk_test.c -- whatever happens to documents, ranges and the
 * engine, indexes are exact.
 *
 * An engine over `mem` in the simulation.  A long walk does everything to
 * documents that can be done, splits, merges and reopens in between, while
 * indexes come and go; after each step every index is held against the
 * documents (lib/indexes.h).
 */
#include "lib/indexes.h"

#include "base/prng.h"
#include "engine/engine_state.h"

#include <stdio.h>

#define DEFINITION                                                             \
    CONTAINER(",\"defaultTtl\":-1,\"indexingPolicy\":{\"compositeIndexes\":"   \
              "[[{\"path\":\"/a\",\"order\":\"ascending\"},{\"path\":\"/b\","  \
              "\"order\":\"descending\"}]]},\"uniqueKeyPolicy\":"              \
              "{\"uniqueKeys\":[{\"paths\":[\"/u\"]}]}")

enum { KEYS = 4 };

static int setup(void **state)
{
    (void)state;
    return indexes_open(DEFINITION);
}

static void draw_value(struct rn_prng *c, char *out, size_t room)
{
    static const char *const values[] = {
        "null",      "true", "false",        "[1,2]",
        "{\"x\":1}", "\"\"", "\"\\u0000b\"", "\"\xee\x80\x80\"",
    };

    switch (rn_prng_below(c, 4)) {
    case 0:
        snprintf(out, room, "%s", values[rn_prng_below(c, 8)]);
        break;
    case 1:
        snprintf(out, room, "%d", (int)rn_prng_below(c, 5));
        break;
    case 2:
        snprintf(out, room, "\"%0*d\"", rn_prng_percent(c, 20) ? 300 : 3,
                 (int)rn_prng_below(c, 5));
        break;
    default:
        snprintf(out, room, "%d.5e%d", (int)rn_prng_below(c, 3),
                 (int)rn_prng_below(c, 40));
        break;
    }
}

static void draw_body(struct rn_prng *c, char *out, size_t room)
{
    char a[400], b[400];
    size_t len = 0;

    out[0] = '\0';
    draw_value(c, a, sizeof(a));
    draw_value(c, b, sizeof(b));
    if (rn_prng_percent(c, 80))
        len += (size_t)snprintf(out, room, ",\"a\":%s", a);
    if (rn_prng_percent(c, 80))
        len += (size_t)snprintf(out + len, room - len, ",\"b\":%s", b);
    if (rn_prng_percent(c, 50))
        len += (size_t)snprintf(out + len, room - len, ",\"x\":{\"y\":%s}", a);
    if (rn_prng_percent(c, 20))
        snprintf(out + len, room - len, ",\"ttl\":%d",
                 1 + (int)rn_prng_below(c, 50));
}

/* Several writes as one, of which some are refused. */
static void batch_something(struct rn_prng *c)
{
    struct rn_pk_value value = { .type = RN_PK_NUMBER,
                                 .number = (double)rn_prng_below(c, KEYS) };
    struct rn_pk pk = { .count = 1, .values = { value } };
    struct rn_batch_operation list[4] = { 0 };
    char bodies[4][1400], more[1200], ids[4][12];
    struct rn_batch b = { .mode = rn_prng_percent(c, 70) ? RN_BATCH_ATOMIC
                                                         : RN_BATCH_EACH,
                          .container = one_container->container,
                          .pk = &pk,
                          .operations = list,
                          .count = 4 };
    struct rn_err err;

    for (int i = 0; i < 4; i++) {
        static const enum rn_document_verb verbs[] = {
            RN_DOCUMENT_CREATE, RN_DOCUMENT_UPSERT, RN_DOCUMENT_PATCH,
            RN_DOCUMENT_DELETE, RN_DOCUMENT_UPSERT, RN_DOCUMENT_UPSERT,
        };

        list[i].verb = verbs[rn_prng_below(c, 6)];
        list[i].pk = &pk;
        draw_body(c, more, sizeof(more));
        snprintf(ids[i], sizeof(ids[i]), "%d", (int)rn_prng_below(c, 30));
        if (list[i].verb == RN_DOCUMENT_PATCH)
            snprintf(bodies[i], sizeof(bodies[i]),
                     "{\"operations\":[{\"op\":\"set\",\"path\":\"/a\","
                     "\"value\":%d}]}",
                     (int)rn_prng_below(c, 9));
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

static void purge_something(struct rn_prng *c)
{
    struct rn_pk_value value = { .type = RN_PK_NUMBER,
                                 .number = (double)rn_prng_below(c, KEYS) };
    struct rn_pk pk = { .count = 1, .values = { value } };

    assert_int_equal(run_delete_partition(&db, one_container, &pk), RN_OK);
}

static void split_or_merge_something(struct rn_prng *c)
{
    const struct rn_container *now = one_container->container;
    size_t at = rn_prng_below(c, now->range_count);
    struct rn_split_merge like = { .verb = RN_SPLIT_MERGE_SPLIT,
                                   .range = now->ranges[at].id };

    if (now->range_count > 3) {
        at = at ? at : 1;
        like = (struct rn_split_merge){ .verb = RN_SPLIT_MERGE_MERGE,
                                        .range = now->ranges[at - 1].id,
                                        .with = now->ranges[at].id };
    }
    assert_int_equal(one_container_split_merge(&like), RN_OK);
}

static void write_something(struct rn_prng *c)
{
    char id[12], old[12], pk[12], more[1200], body[1400];
    int key = (int)rn_prng_below(c, KEYS);

    snprintf(id, sizeof(id), "%d", (int)rn_prng_below(c, 30));
    snprintf(old, sizeof(old), "%d", (int)rn_prng_below(c, 30));
    snprintf(pk, sizeof(pk), "[%d]", key);
    draw_body(c, more, sizeof(more));
    switch (rn_prng_below(c, 5)) {
    case 0:
        (void)put_indexed(RN_DOCUMENT_CREATE, id, key, more);
        break;
    case 1:
        (void)put_indexed(RN_DOCUMENT_REPLACE, id, key, more);
        break;
    case 2:
        assert_int_equal(put_indexed(RN_DOCUMENT_UPSERT, id, key, more), RN_OK);
        break;
    case 3: /* under another id */
        snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d,\"u\":\"%s\"%s}",
                 id, key, id, more);
        (void)one_container_write(RN_DOCUMENT_REPLACE, pk, old, body);
        break;
    default:
        (void)one_container_write(RN_DOCUMENT_DELETE, pk, id, NULL);
        break;
    }
}

static void do_something(struct rn_prng *c)
{
    static const char *const indexes[] = { "/a", "/b", "/a -/b", "/x/y" };
    uint64_t what = rn_prng_below(c, 100);

    if (what < 60)
        write_something(c);
    else if (what < 80)
        batch_something(c);
    else if (what < 83)
        purge_something(c);
    else if (what < 86)
        turn_clock((int64_t)rn_prng_below(c, 20));
    else if (what < 88)
        split_or_merge_something(c);
    else if (what < 90)
        one_container_reopen();
    else if (what < 95)
        assert_int_equal(change_index(indexes[rn_prng_below(c, 4)], what < 91),
                         RN_OK);
}

static void whatever_happens_indexes_are_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct rn_prng c;

        rn_prng_init(&c, seed);
        for (int i = 0; i < 300; i++) {
            db.engine->indexer.fill_batch = 1 + (uint32_t)rn_prng_below(&c, 9);
            do_something(&c);
            look();
        }
        indexes_settle();
        assert_null(strstr(look(), "building"));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, indexes_close)
    static const struct CMUnitTest tests[] = {
        CASE(whatever_happens_indexes_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
