/* cosmos_link_test.c -- a path means one resource, however it is written.
 *
 * Routes and ids come from a table for each rule, refused ones with one flaw
 * each; the JavaScript SDK's captured targets from tests/vectors.  Generated
 * links are printed as a client does and read as a server does.
 */
#include "cosmos/link.h"

#include "base/prng.h"
#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct vectors vectors;

static int load(void **state)
{
    (void)state;
    vectors_load(&vectors, "rest-vectors.json");
    return 0;
}

static int release(void **state)
{
    (void)state;
    vectors_release(&vectors);
    return 0;
}

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static enum rn_code parse(struct rn_view path, struct rn_link *out)
{
    struct rn_view segments[VECTORS_SEGMENTS_MAX];
    size_t count = vectors_segments(&vectors, path, segments);
    struct rn_err err = { 0 };
    enum rn_code rc = rn_link_parse(segments, count, out, &err);

    assert_int_equal(err.code, rc);
    return rc;
}

static void assert_form(const struct rn_link *l, enum rn_link_form form,
                        const char *wire, const char *want)
{
    struct rn_buf out = RN_BUF_INIT(8192);
    enum rn_code rc = rn_link_print(l, form, rn_view_text(wire), &out);

    assert_int_equal(rc, want ? RN_OK : RN_NOT_FOUND);
    assert_view(rn_buf_view(&out), rn_view_text(want ? want : ""));
    rn_buf_release(&out);
}

#define DB "sbNTAA=="
#define CO "sbNTAL0kkgA="
#define DOC "sbNTAL0kkgABAAAAAAAAAA=="

static void every_route_is_known(void **state)
{
    static const struct {
        const char *path;
        enum rn_kind kind;
        bool is_list;
        const char *link, *rid, *sent;
    } routes[] = {
        /* clang-format off */
        { "/", RN_KIND_ACCOUNT, false, "", NULL, NULL },
        { "", RN_KIND_ACCOUNT, false, "", NULL, NULL },
        { "/dbs", RN_KIND_DATABASE, true, "", NULL, NULL },
        { "//dbs//", RN_KIND_DATABASE, true, "", NULL, NULL },
        { "/dbs/A", RN_KIND_DATABASE, false, "dbs/A", NULL, NULL },
        { "/dbs/A/", RN_KIND_DATABASE, false, "dbs/A", NULL, NULL },
        { "/dbs/A%20b", RN_KIND_DATABASE, false, "dbs/A b", NULL, "dbs/A%20b" },
        { "/dbs/A/colls", RN_KIND_CONTAINER, true, "dbs/A", NULL, NULL },
        { "/dbs/A/colls/B", RN_KIND_CONTAINER, false, "dbs/A/colls/B", NULL, NULL },
        { "/dbs/A/colls/B/docs", RN_KIND_DOCUMENT, true, "dbs/A/colls/B", NULL, NULL },
        { "/dbs/A%20b/colls/B/docs/", RN_KIND_DOCUMENT, true, "dbs/A b/colls/B", NULL, "dbs/A%20b/colls/B" },
        { "/dbs/A/colls/B/docs/C", RN_KIND_DOCUMENT, false, "dbs/A/colls/B/docs/C", NULL, NULL },
        { "/dbs/A//colls/B/docs/%43", RN_KIND_DOCUMENT, false, "dbs/A/colls/B/docs/C", NULL, "dbs/A/colls/B/docs/%43" },
        { "/dbs/A/colls/B/pkranges", RN_KIND_RANGE, true, "dbs/A/colls/B", NULL, NULL },
        { "/dbs/A/colls/B/pkranges/0", RN_KIND_RANGE, false, "dbs/A/colls/B/pkranges/0", NULL, NULL },
        { "/dbs/A/colls/B/sprocs", RN_KIND_PROCEDURE, true, "dbs/A/colls/B", NULL, NULL },
        { "/dbs/A/colls/B/sprocs/S", RN_KIND_PROCEDURE, false, "dbs/A/colls/B/sprocs/S", NULL, NULL },
        { "/dbs/A/colls/B/triggers/T", RN_KIND_TRIGGER, false, "dbs/A/colls/B/triggers/T", NULL, NULL },
        { "/dbs/A/colls/B/udfs/U", RN_KIND_FUNCTION, false, "dbs/A/colls/B/udfs/U", NULL, NULL },
        { "/dbs/A/colls/B/conflicts/X", RN_KIND_CONFLICT, false, "dbs/A/colls/B/conflicts/X", NULL, NULL },
        { "/dbs/A/users", RN_KIND_USER, true, "dbs/A", NULL, NULL },
        { "/dbs/A/users/U", RN_KIND_USER, false, "dbs/A/users/U", NULL, NULL },
        { "/dbs/A/users/U/permissions", RN_KIND_PERMISSION, true, "dbs/A/users/U", NULL, NULL },
        { "/dbs/A/users/U/permissions/P", RN_KIND_PERMISSION, false, "dbs/A/users/U/permissions/P", NULL, NULL },
        { "/dbs/A/clientencryptionkeys", RN_KIND_CLIENT_KEY, true, "dbs/A", NULL, NULL },
        { "/dbs/A/clientencryptionkeys/K", RN_KIND_CLIENT_KEY, false, "dbs/A/clientencryptionkeys/K", NULL, NULL },
        { "/offers", RN_KIND_OFFER, true, "", NULL, NULL },
        { "/offers/FyUD", RN_KIND_OFFER, false, "offers/FyUD", "fyud", NULL },
        { "/offers/FyUD/", RN_KIND_OFFER, false, "offers/FyUD", "fyud", NULL },

        { "/dbs/" DB, RN_KIND_DATABASE, false, "dbs/" DB, "sbntaa==", NULL },
        { "/dbs/" DB "/colls", RN_KIND_CONTAINER, true, "dbs/" DB, "sbntaa==", NULL },
        { "/dbs/" DB "/colls/" CO, RN_KIND_CONTAINER, false, "dbs/" DB "/colls/" CO, "sbntal0kkga=", NULL },
        { "/dbs/sbNTAA%3D%3D/colls", RN_KIND_CONTAINER, true, "dbs/" DB, "sbntaa==", "dbs/sbNTAA%3D%3D" },
        { "/dbs/" DB "/colls/" CO "/pkranges", RN_KIND_RANGE, true, "dbs/" DB "/colls/" CO, "sbntal0kkga=", NULL },
        { "/dbs/" DB "/colls/" CO "/docs/" DOC, RN_KIND_DOCUMENT, false, "dbs/" DB "/colls/" CO "/docs/" DOC, "sbntal0kkgabaaaaaaaaaa==", NULL },
        /* clang-format on */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        struct rn_link l;
        print_message("# %s\n", routes[i].path);
        assert_int_equal(parse(rn_view_text(routes[i].path), &l), RN_OK);
        assert_int_equal(l.kind, routes[i].kind);
        assert_int_equal(l.is_list, routes[i].is_list);
        assert_int_equal(l.is_rid, routes[i].rid != NULL);
        assert_false(l.is_key_delete);
        assert_form(&l, RN_LINK_BY_NAME, routes[i].path, routes[i].link);
        assert_form(&l, RN_LINK_BY_RID, routes[i].path, routes[i].rid);
        assert_form(&l, RN_LINK_AS_SENT, routes[i].path, routes[i].sent);
    }
}

static void ids_are_found_in_their_order(void **state)
{
    struct rn_link l;

    (void)state;
    assert_int_equal(parse(RN_LIT("/dbs/A/users/B/permissions/C"), &l), RN_OK);
    assert_int_equal(l.depth, 3);
    assert_view(l.ids[0], RN_LIT("A"));
    assert_view(l.ids[1], RN_LIT("B"));
    assert_view(l.ids[2], RN_LIT("C"));
}

static void deleting_by_key_is_an_operation_on_the_container(void **state)
{
    const char *path = "/dbs/A/colls/B/operations/partitionkeydelete/";
    struct rn_link l;

    (void)state;
    assert_int_equal(parse(rn_view_text(path), &l), RN_OK);
    assert_true(l.is_key_delete);
    assert_false(l.is_list);
    assert_int_equal(l.kind, RN_KIND_CONTAINER);
    assert_form(&l, RN_LINK_BY_NAME, path, "dbs/A/colls/B");
    assert_int_equal(
        parse(RN_LIT("/dbs/" DB "/colls/" CO "/operations/partitionkeydelete"),
              &l),
        RN_OK);
    assert_form(&l, RN_LINK_BY_RID, "", "sbntal0kkga=");
}

static void attachments_are_signed_for_their_document(void **state)
{
    const char *path = "/dbs/A/colls/B/docs/C/attachments/";
    struct rn_link l;

    (void)state;
    assert_int_equal(parse(rn_view_text(path), &l), RN_OK);
    assert_true(l.is_attachments);
    assert_int_equal(l.kind, RN_KIND_DOCUMENT);
    assert_view(rn_link_word(&l), RN_LIT("attachments"));
    assert_form(&l, RN_LINK_BY_NAME, path, "dbs/A/colls/B/docs/C");
    assert_int_equal(parse(RN_LIT("/dbs/A/colls/B/docs/attachments"), &l),
                     RN_OK);
    assert_false(l.is_attachments);
    assert_view(rn_link_word(&l), RN_LIT("docs"));
}

static void other_paths_are_not_found(void **state)
{
    static const char *const paths[] = {
        "/colls",
        "/docs",
        "/DBS",
        "/dbs/A/docs",
        "/dbs/A/Colls",
        "/dbs/A/colls/B/docs/C/attachments/D",
        "/dbs/A/colls/B/docs/C/Attachments",
        "/dbs/A/colls/B/attachments",
        "/dbs/A/colls/B/docs/C/docs/D",
        "/dbs/A/colls/B/users",
        "/dbs/A/colls/B/colls/C",
        "/dbs/A/permissions",
        "/dbs/A/operations/partitionkeydelete",
        "/dbs/A/colls/B/operations",
        "/dbs/A/colls/B/operations/other",
        "/dbs/A/colls/B/operations/partitionkeydelete/more",
        "/addresses",
        "/media/x",
        "/_runnel/split",
        "/dbs/x/colls/y/docs/z/../../w",
    };
    struct rn_link l;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        print_message("# %s\n", paths[i]);
        assert_int_equal(parse(rn_view_text(paths[i]), &l), RN_NOT_FOUND);
    }
}

/* An id with an encoded slash would sign like a longer path. */
static void paths_with_illegal_ids_are_refused(void **state)
{
    static const char *const paths[] = {
        "/dbs/A%2Fcolls%2FB",
        "/dbs/A%5CB",
        "/dbs/A%23",
        "/dbs/A?x=1",
        "/dbs/A%20",
        "/dbs/A/colls/B/docs/C%2FD",
        "/dbs/A/colls/B/docs/%ff",
        "/dbs/A/colls/B/docs/%00",
        "/dbs/A/colls/B/docs/%c0%80",
        "/offers/FyUD/dbs",
        "/offers/offers/FyUD",
    };
    struct rn_link l;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        print_message("# %s\n", paths[i]);
        assert_int_equal(parse(rn_view_text(paths[i]), &l), RN_BAD_REQUEST);
    }
}

/* What only looks like a path of rids is one of names. */
static void rids_must_belong_together(void **state)
{
    static const struct {
        const char *flaw, *path;
    } cases[] = {
        { "a name after a rid", "/dbs/" DB "/colls/Orders" },
        { "a rid after a name", "/dbs/shop/colls/" CO },
        { "a container of another database", "/dbs/sbNTAQ==/colls/" CO },
        { "a container for a database", "/dbs/" CO },
        { "a user for a container", "/dbs/" DB "/colls/sbNTAAChsgA=" },
        { "a trigger for a document",
          "/dbs/" DB "/colls/" CO "/docs/sbNTAL0kkgACAAAAAAAAcA==" },
        { "a document of another container",
          "/dbs/" DB "/colls/" CO "/docs/sbNTAL0kkgEBAAAAAAAAAA==" },
        { "an offer that is too long", "/offers/FyUDFyUD" },
    };
    struct rn_link l;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("# %s\n", cases[i].flaw);
        assert_int_equal(parse(rn_view_text(cases[i].path), &l), RN_OK);
        assert_false(l.is_rid);
    }
}

static void the_last_rid_names_them_all(void **state)
{
    struct rn_link l;
    struct rn_rid rid;

    (void)state;
    assert_int_equal(parse(RN_LIT("/dbs/" DB "/colls/" CO "/docs"), &l), RN_OK);
    rid = rn_link_rid(&l);
    assert_int_equal(rid.kind, RN_KIND_CONTAINER);
    assert_int_equal(rid.database, 0xb1b35300);
    assert_int_equal(rid.parent, 0x3d249200);
}

/* ---- ids ----------------------------------------------------------------- */

static struct rn_view repeat(const char *text, size_t times)
{
    size_t len = strlen(text);
    char *out = rn_arena_alloc(&vectors.arena, len * times + 1);

    assert_non_null(out);
    for (size_t i = 0; i < times; i++)
        memcpy(out + i * len, text, len);
    return rn_view_of(out, len * times);
}

static void ids_are_judged_by_their_kind(void **state)
{
    const struct {
        struct rn_view id;
        bool database, document;
    } cases[] = {
        { RN_LIT(""), false, false },
        { RN_LIT("Test"), true, true },
        { RN_LIT("This is a test"), true, true },
        { RN_LIT(" Test"), true, true },
        { RN_LIT("   Test"), true, true },
        { RN_LIT("Test "), false, true },
        { RN_LIT("Test   "), false, true },
        { RN_LIT("WithUnicode鱀"), true, true },
        { RN_LIT("WithAllowedSpecial,=.:~+-@()^${}[]!_Chars"), true, true },
        { RN_LIT("Disallowed?Chars"), false, true },
        { RN_LIT("Disallowed/Chars"), false, false },
        { RN_LIT("Disallowed\\Chars"), false, false },
        { RN_LIT("Disallowed#Chars"), false, true },
        { RN_LIT("With\rReturn"), true, true },
        { RN_LIT("With\tTab"), true, true },
        { RN_LIT("With\nNewline"), true, true },
        { RN_LIT("With%20Percent"), true, true },
        { RN_LIT("With%E9%B1%80"), true, true },
        { RN_LIT("With\0Nul"), false, false },
        { RN_LIT(".."), true, true },
        { RN_LIT("\xff"), false, false },
        { RN_LIT("\xc0\xaf"), false, false },
        { RN_LIT("\xed\xa0\x80"), false, false },
        { repeat("a", 255), true, true },
        { repeat("a", 256), false, true },
        { repeat("a", 1023), false, true },
        { repeat("a", 1024), false, false },
        { repeat("é", 255), true, true },
        { repeat("é", 256), false, true },
        { repeat("鱀", 255), true, true },
        { repeat("鱀", 341), false, true },
        { repeat("鱀", 342), false, false },
        { repeat("😀", 127), true, true },
        { repeat("😀", 128), false, true },
        { repeat("😀", 256), false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_err err = { 0 };
        enum rn_code rc = rn_id_check(RN_KIND_DOCUMENT, cases[i].id, &err);
        print_message("# %zu\n", i);
        assert_int_equal(rc, cases[i].document ? RN_OK : RN_BAD_REQUEST);
        for (unsigned kind = RN_KIND_DATABASE; kind < RN_KINDS; kind++) {
            if (kind == RN_KIND_DOCUMENT)
                continue;
            rc = rn_id_check((enum rn_kind)kind, cases[i].id, &err);
            assert_int_equal(rc, cases[i].database ? RN_OK : RN_BAD_REQUEST);
        }
    }
}

static void captured_targets_name_their_ids(void **state)
{
    uint32_t list = vectors_member(&vectors, 0, "raw_request_targets_js");
    struct rn_json_walk w = rn_json_walk_begin(&vectors.json, list);

    (void)state;
    assert_int_equal(rn_json_count(&vectors.json, list), 9);
    while (rn_json_walk_next(&w)) {
        struct rn_link l;
        assert_int_equal(parse(vectors_string(&vectors, w.value, "target"), &l),
                         RN_OK);
        assert_int_equal(l.depth, 3);
        assert_view(l.ids[2], vectors_string(&vectors, w.value, "id"));
    }
}

/* ---- both ends ----------------------------------------------------------- */

static struct rn_view random_id(struct rn_prng *c, enum rn_kind kind)
{
    static const char *const pieces[] = {
        "a", "Z",  "0", " ", "+", "%",   "&",  "=", "é", "鱀", "😀",
        "?", "\n", ".", "~", "-", "%2F", "\"", "'", ";", "@",  "|",
    };
    struct rn_buf id = RN_BUF_INIT(1024);
    struct rn_view kept;

    do {
        rn_buf_clear(&id);
        for (uint64_t i = rn_prng_below(c, 12) + 1; i > 0; i--) {
            const char *piece =
                pieces[rn_prng_below(c, sizeof(pieces) / sizeof(pieces[0]))];
            assert_int_equal(rn_buf_add(&id, rn_view_text(piece)), RN_OK);
        }
    } while (rn_id_check(kind, rn_buf_view(&id), NULL));
    kept = rn_arena_copy(&vectors.arena, rn_buf_view(&id));
    rn_buf_release(&id);
    return kept;
}

static void what_a_client_asks_for_a_server_reads(void **state)
{
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 99);
    for (int i = 0; i < 2000; i++) {
        enum rn_kind kind = (enum rn_kind)(rn_prng_below(&prng, RN_KINDS));
        struct rn_link l = { .kind = kind }, back;
        struct rn_buf target = RN_BUF_INIT(16 << 10);
        enum rn_kind k;
        l.is_list = kind != RN_KIND_ACCOUNT && rn_prng_percent(&prng, 40);
        l.is_key_delete = kind == RN_KIND_CONTAINER && !l.is_list &&
                          rn_prng_percent(&prng, 30);
        l.is_attachments = kind == RN_KIND_DOCUMENT && !l.is_list &&
                           rn_prng_percent(&prng, 30);
        l.depth = rn_kind_depth(kind) - l.is_list;
        k = l.is_list ? rn_kind_owner(kind) : kind;
        for (size_t d = l.depth; d-- > 0; k = rn_kind_owner(k))
            l.ids[d] = random_id(&prng, k);
        assert_int_equal(rn_link_print_target(&l, &target), RN_OK);
        assert_int_equal(parse(rn_buf_view(&target), &back), RN_OK);
        assert_int_equal(back.kind, l.kind);
        assert_int_equal(back.is_list, l.is_list);
        assert_int_equal(back.is_key_delete, l.is_key_delete);
        assert_int_equal(back.depth, l.depth);
        for (size_t d = 0; d < l.depth; d++)
            assert_view(back.ids[d], l.ids[d]);
        rn_buf_release(&target);
    }
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
    struct rn_view wire = RN_LIT("/dbs/A%20b/colls/B/docs/C");
    struct rn_link l;

    (void)state;
    assert_int_equal(parse(wire, &l), RN_OK);
    for (size_t room = 1; room < 20; room++) {
        struct rn_buf out = RN_BUF_INIT(room);
        assert_int_equal(rn_link_print(&l, RN_LINK_BY_NAME, wire, &out),
                         RN_TOO_LARGE);
        assert_int_equal(rn_link_print(&l, RN_LINK_AS_SENT, wire, &out),
                         RN_TOO_LARGE);
        assert_int_equal(rn_link_print_target(&l, &out), RN_TOO_LARGE);
        assert_int_equal(out.len, 0);
        rn_buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_known),
        cmocka_unit_test(ids_are_found_in_their_order),
        cmocka_unit_test(deleting_by_key_is_an_operation_on_the_container),
        cmocka_unit_test(attachments_are_signed_for_their_document),
        cmocka_unit_test(other_paths_are_not_found),
        cmocka_unit_test(paths_with_illegal_ids_are_refused),
        cmocka_unit_test(rids_must_belong_together),
        cmocka_unit_test(the_last_rid_names_them_all),
        cmocka_unit_test(ids_are_judged_by_their_kind),
        cmocka_unit_test(captured_targets_name_their_ids),
        cmocka_unit_test(what_a_client_asks_for_a_server_reads),
        cmocka_unit_test(a_full_buffer_is_left_as_it_was),
    };

    return cmocka_run_group_tests(tests, load, release);
}
