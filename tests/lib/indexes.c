/* indexes.c -- see indexes.h. */
#include "lib/indexes.h"
#include "engine/document/snapshot.h"

#include "engine/index/index.h"

#include <stdio.h>
#include <stdlib.h>

static struct rn_arena arena;

int indexes_open(const char *definition)
{
    arena = RN_ARENA_INIT(64 << 20);
    return one_container_open(definition, 1);
}

int indexes_close(void **state)
{
    rn_arena_release(&arena);
    return one_container_close(state);
}

void indexes_settle(void)
{
    rn_sim_run(db.sim, 100000000);
}

enum rn_code put_indexed(enum rn_document_verb verb, const char *id, int pk,
                         const char *more)
{
    char body[2000];

    snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":%d,\"u\":\"%s\"%s}", id,
             pk, id, more);
    return one_container_write(verb, NULL,
                               verb == RN_DOCUMENT_REPLACE ? id : NULL, body);
}

uint32_t read_keys(const char *paths, struct rn_index_key *out)
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

enum rn_code change_index(const char *paths, bool is_drop)
{
    struct rn_index_key keys[40];
    struct rn_index_change like = { .keys = keys, .is_drop = is_drop };

    like.count = read_keys(paths, keys);
    return run_index_change(&db, one_container, &like);
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
    struct rn_key_interval range;
    struct rn_cursor *c = NULL;
    struct rn_view key, value;
    struct rn_json j;

    rn_json_init(&j, NULL);
    rn_key_span_tag(one_container->number, RN_TAG_DOCUMENT, &from, &before);
    range = (struct rn_key_interval){ .from = rn_key_view(&from),
                                      .before = rn_key_view(&before) };
    assert_int_equal(rn_txn_scan(txn, &range, &c), RN_OK);
    while (!rn_cursor_next(c, &key, &value)) {
        struct rn_row_document row;
        struct rn_row_feed feed;

        assert_int_equal(rn_row_document_decode(value, &row), RN_OK);
        assert_int_equal(
            rn_document_follow(txn, one_container->container, &row, &feed),
            RN_OK);
        assert_int_equal(rn_json_parse(&j, feed.json, NULL), RN_OK);
        assert_int_equal(
            rn_index_key_of(one_container->number, x, &j, row.rid, add(out)),
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
    rc = rn_index_walk_open(&w, txn, one_container->number, x, &all);
    while (!rc && !(rc = rn_index_walk_next(&w))) {
        struct rn_key key, document;
        struct rn_view value;
        struct rn_row_document row;

        rn_key_index(one_container->number, x->number, &key);
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
        rn_key_span_tag(one_container->number, RN_TAG_DOCUMENT, &document,
                        &key);
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

const char *look(void)
{
    static char text[2000];
    struct rn_snapshot r;
    struct rn_indexes all;
    size_t rows = 0, len = 0;

    text[0] = '\0';
    assert_int_equal(
        rn_snapshot_begin(&r, db.engine, one_container->container, NULL),
        RN_OK);
    assert_int_equal(
        rn_indexes_read(r.txn, one_container->number, &arena, &all), RN_OK);
    for (uint32_t i = 0; i < all.count; i++) {
        struct rn_index *x = &all.list[i];

        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d:%s",
                                i ? " " : "", x->number,
                                rn_index_state_name(x->state));
        if (x->state != RN_INDEX_DROPPING)
            rows += check_rows(r.txn, x);
    }
    rn_snapshot_end(&r);
    if (!strstr(text, "dropping"))
        assert_int_equal(count_rows(&db, one_container, RN_TAG_INDEX), rows);
    return text;
}

size_t rows_now(void)
{
    return count_rows(&db, one_container, RN_TAG_INDEX);
}
