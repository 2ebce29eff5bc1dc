/* engine_memory_test.c -- the catalog and the indexes when memory is short.
 *
 * Goal: whichever allocation fails on the way of a change, nothing that is gone
 * is touched again, what is reported as done is there, and indexes that queries
 * use are kept.  Method: each change again and again, the n-th allocation
 * failing for n = 1, 2, ..., until one needs fewer; then everything in the
 * catalog is looked at, documents are written, indexes are held against them,
 * and the engine is opened anew.  The sanitizers look on.
 */
#include "engine/catalog/object.h"
#include "lib/indexes.h"
#include "lib/oom.h"

#include <stdio.h>

enum { TRIES_MAX = 500 };

#define TIMED CONTAINER(",\"defaultTtl\":3600")
#define OTHER CONTAINER_HASHED("other", "2", ",\"defaultTtl\":3600")
#define USER "{\"id\":\"u\"}"

static const struct rn_rid account;

static enum rn_code change_object(enum rn_catalog_verb verb, enum rn_kind kind,
                                  struct rn_rid in, const char *id,
                                  const char *body)
{
    struct rn_catalog_change like = { .verb = verb, .kind = kind, .owner = in };

    if (id)
        like.id = rn_view_text(id);
    if (body)
        like.body = rn_view_text(body);
    return change_like(&db, &like, NULL);
}

/* ---- what is done -------------------------------------------------------- */

static enum rn_code create(void)
{
    return change_object(RN_CATALOG_CREATE, RN_KIND_CONTAINER, owner, NULL,
                         "{\"id\":\"new\",\"partitionKey\":{\"paths\":[\"/pk\"]"
                         "},\"defaultTtl\":3600}");
}

static enum rn_code redefine(void)
{
    return change_object(RN_CATALOG_REPLACE, RN_KIND_CONTAINER, owner, "c",
                         CONTAINER(",\"defaultTtl\":60"));
}

static enum rn_code rename_user(void)
{
    return change_object(RN_CATALOG_REPLACE, RN_KIND_USER, owner, "u",
                         "{\"id\":\"v\"}");
}

static enum rn_code delete_user(void)
{
    return change_object(RN_CATALOG_DELETE, RN_KIND_USER, owner, "u", NULL);
}

static enum rn_code delete_container(void)
{
    return change_object(RN_CATALOG_DELETE, RN_KIND_CONTAINER, owner, "c",
                         NULL);
}

/* Its time comes when it is no more. */
static enum rn_code delete_and_wait(void)
{
    enum rn_code rc = delete_container();

    turn_clock(2 * 3600);
    return rc;
}

static enum rn_code delete_database(void)
{
    struct rn_object *o = rn_catalog_find_rid(db.engine, owner);
    char id[64];

    assert_non_null(o);
    snprintf(id, sizeof(id), "%.*s", RN_FMT(o->id));
    rn_object_release(o);
    return change_object(RN_CATALOG_DELETE, RN_KIND_DATABASE, account, id,
                         NULL);
}

static enum rn_code make_index(void)
{
    enum rn_code rc = change_index("/b", false);

    indexes_settle();
    return rc;
}

static enum rn_code drop_index(void)
{
    enum rn_code rc = change_index("/a", true);

    indexes_settle();
    return rc;
}

static enum rn_code split(void)
{
    enum rn_code rc = run_split_merge(
        &db, one_container,
        &(struct rn_split_merge){ .verb = RN_SPLIT_MERGE_SPLIT });

    indexes_settle();
    return rc;
}

/* ---- what must hold ------------------------------------------------------ */

static void look_at_list(enum rn_kind kind, struct rn_rid in)
{
    struct rn_object *all[16];
    size_t n = rn_catalog_list(db.engine, kind, in, NULL, all, 16);

    for (size_t i = 0; i < n; i++) {
        struct rn_object *named =
            rn_catalog_find(db.engine, kind, in, all[i]->id);

        assert_ptr_equal(named, all[i]);
        rn_object_release(named);
        rn_object_release(all[i]);
    }
}

/* A name leads to what the list has, or nowhere. */
static void look_at_name(enum rn_kind kind, const char *id)
{
    struct rn_object *o =
        rn_catalog_find(db.engine, kind, owner, rn_view_text(id));
    struct rn_object *same = o ? rn_catalog_find_rid(db.engine, o->rid) : NULL;

    assert_ptr_equal(o, same);
    rn_object_release(same);
    rn_object_release(o);
}

static void look_at_all(void)
{
    look_at_list(RN_KIND_DATABASE, account);
    look_at_list(RN_KIND_CONTAINER, owner);
    look_at_list(RN_KIND_USER, owner);
    look_at_list(RN_KIND_OFFER, account);
    look_at_name(RN_KIND_CONTAINER, "c");
    look_at_name(RN_KIND_CONTAINER, "new");
    look_at_name(RN_KIND_USER, "u");
    look_at_name(RN_KIND_USER, "v");
}

static bool container_exists(void)
{
    struct rn_object *o = rn_catalog_find_rid(db.engine, one_container->rid);

    rn_object_release(o);
    return o;
}

/* What is there can be written to, and its indexes go along. */
static void write_and_look(const char *id)
{
    enum rn_code rc;

    look_at_all();
    if (container_exists())
        one_container_refresh();
    rc = put_indexed(RN_DOCUMENT_CREATE, id, 1, ",\"a\":1,\"b\":2");
    assert_true(rc == RN_OK || rc == RN_NOT_FOUND || rc == RN_GONE);
    indexes_settle();
    if (rc == RN_OK)
        look();
    turn_clock(86400);
    look_at_all();
}

/* Returns false when the change needs fewer than `n` allocations. */
static bool try_once(enum rn_code (*change_it)(void), unsigned n)
{
    enum rn_code rc;
    bool was_short;

    assert_int_equal(indexes_open(TIMED), 0);
    assert_int_equal(
        change_object(RN_CATALOG_CREATE, RN_KIND_USER, owner, NULL, USER),
        RN_OK);
    rn_object_release(make_container(&db, owner, OTHER));
    assert_int_equal(put_indexed(RN_DOCUMENT_CREATE, "1", 1, ",\"a\":1"),
                     RN_OK);
    assert_int_equal(change_index("/a", false), RN_OK);
    indexes_settle();
    oom_in = n;
    rc = change_it();
    was_short = oom_in == 0;
    oom_in = 0;
    if (!was_short)
        assert_int_equal(rc, RN_OK);
    write_and_look("2");
    database_reopen(&db);
    write_and_look("3");
    indexes_close(NULL);
    return was_short;
}

static void no_failed_allocation_breaks_a_change(void **state)
{
    static const struct {
        const char *what;
        enum rn_code (*change_it)(void);
    } rows[] = {
        { "create", create },
        { "redefine", redefine },
        { "rename", rename_user },
        { "delete a user", delete_user },
        { "delete a container", delete_container },
        { "delete a container and wait", delete_and_wait },
        { "delete a database", delete_database },
        { "make an index", make_index },
        { "drop an index", drop_index },
        { "split", split },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned n = 1;

        while (n < TRIES_MAX && try_once(rows[i].change_it, n))
            n++;
        print_message("%s: %u allocations\n", rows[i].what, n - 1);
        assert_in_range(n, 5, TRIES_MAX - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_failed_allocation_breaks_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
