/* cosmos_permission_test.c -- permissions and the tokens that name them.
 *
 * Goal: what is no permission is refused; a holder of the key reads from a
 * token what was put into it, and no byte of it can be changed.  Method: tables
 * of JSON; of a token every letter is changed in turn.
 */
#include "cosmos/permission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct rn_arena arena;

static int setup(void **state)
{
    (void)state;
    arena = RN_ARENA_INIT(1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rn_arena_release(&arena);
    return 0;
}

static void a_permission_says_mode_resource_and_key(void **state)
{
    static const struct {
        const char *json;
        enum rn_permission_mode mode;
        enum rn_kind kind;
        const char *claim;
    } cases[] = {
        { "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/colls/b\"}",
          RN_PERMISSION_ALL, RN_KIND_CONTAINER, "dbs/a/colls/b" },
        { "{\"permissionMode\":\"read\",\"resource\":\"/dbs/a b/colls/b/\"}",
          RN_PERMISSION_READ, RN_KIND_CONTAINER, "dbs/a b/colls/b" },
        { "{\"permissionMode\":\"NONE\",\"resource\":\"dbs/a/colls/b/docs/c\"}",
          RN_PERMISSION_NONE, RN_KIND_DOCUMENT, "dbs/a/colls/b/docs/c" },
        { "{\"permissionMode\":\"Read\",\"resource\":\"dbs/a/colls/b/sprocs/"
          "c\",\"resourcePartitionKey\":null}",
          RN_PERMISSION_READ, RN_KIND_PROCEDURE, "dbs/a/colls/b/sprocs/c" },
        { "{\"permissionMode\":\"Read\",\"resource\":\"dbs/a/colls/b\","
          "\"resourcePartitionKey\":[\"x\", 1]}",
          RN_PERMISSION_READ, RN_KIND_CONTAINER, "dbs/a/colls/b[\"x\",1]" },
        { "{\"permissionMode\":\"\\u0061ll\",\"resource\":"
          "\"dbs\\/a\\/colls\\/b\"}",
          RN_PERMISSION_ALL, RN_KIND_CONTAINER, "dbs/a/colls/b" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_buf claim = RN_BUF_INIT(RN_PERMISSION_CLAIM_MAX);
        struct rn_permission p;

        assert_int_equal(
            rn_permission_parse(rn_view_text(cases[i].json), &arena, &p, NULL),
            RN_OK);
        assert_int_equal(p.mode, cases[i].mode);
        assert_int_equal(p.resource.kind, cases[i].kind);
        assert_int_equal(rn_permission_print_claim(&p, &claim), RN_OK);
        assert_true(
            rn_view_eq(rn_buf_view(&claim), rn_view_text(cases[i].claim)));
        rn_buf_release(&claim);
    }
}

static void what_is_no_permission_is_refused(void **state)
{
    static const char *const cases[] = {
        "{}",
        "[]",
        "",
        "{\"permissionMode\":\"All\"}",
        "{\"resource\":\"dbs/a/colls/b\"}",
        "{\"permissionMode\":\"some\",\"resource\":\"dbs/a/colls/b\"}",
        "{\"permissionMode\":true,\"resource\":\"dbs/a/colls/b\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"/\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/colls\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/colls/b/docs\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/users/b\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"offers/abcd\"}",
        "{\"permissionMode\":\"All\",\"resource\":"
        "\"dbs/a/colls/b/operations/partitionkeydelete\"}",
        "{\"permissionMode\":\"All\",\"resource\":"
        "\"dbs/a/colls/b/docs/c/attachments/d\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/colls/b\","
        "\"resourcePartitionKey\":\"x\"}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/colls/b\","
        "\"resourcePartitionKey\":[]}",
        "{\"permissionMode\":\"All\",\"resource\":\"dbs/a/colls/b\","
        "\"resourcePartitionKey\":[[1]]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_permission p;
        struct rn_err err;
        assert_int_equal(
            rn_permission_parse(rn_view_text(cases[i]), &arena, &p, &err),
            RN_BAD_REQUEST);
    }
}

/* ---- tokens -------------------------------------------------------------- */

static struct rn_grant sample(void)
{
    struct rn_rid user = rn_rid_user(7, 9);

    return (struct rn_grant){
        .permission = rn_rid_child(user, RN_KIND_PERMISSION, 11),
        .lsn = 13,
        .container = rn_rid_container(7, 17),
        .until = 1800000000,
    };
}

static struct rn_view print(struct rn_signer *s, char out[RN_GRANT_TEXT_MAX])
{
    struct rn_grant g = sample();
    struct rn_view text;

    assert_int_equal(rn_grant_print(&g, s, out, &text), RN_OK);
    assert_true(rn_view_starts(text, RN_LIT("type=resource&ver=1&sig=")));
    return rn_view_of(text.at + 24, text.len - 24);
}

static void a_token_says_what_was_put_into_it(void **state)
{
    struct rn_signer *signers[2];
    char text[RN_GRANT_TEXT_MAX];
    struct rn_grant g, want = sample();
    struct rn_view token;
    size_t which = 9;

    (void)state;
    assert_int_equal(rn_signer_new(RN_LIT("other"), &signers[0]), RN_OK);
    assert_int_equal(rn_signer_new(RN_LIT("key"), &signers[1]), RN_OK);
    token = print(signers[1], text);
    for (size_t cut = 0; cut < 2; cut++) { /* the last semicolon is optional */
        token.len -= cut;
        assert_int_equal(rn_grant_parse(token, signers, 2, &g, &which, NULL),
                         RN_OK);
        assert_int_equal(which, 1);
        assert_true(rn_rid_eq(g.permission, want.permission));
        assert_true(rn_rid_eq(g.container, want.container));
        assert_int_equal(g.lsn, want.lsn);
        assert_int_equal(g.until, want.until);
    }
    assert_int_equal(rn_grant_parse(token, signers, 1, &g, &which, NULL),
                     RN_UNAUTHORIZED);
    rn_signer_free(signers[0]);
    rn_signer_free(signers[1]);
}

static void no_letter_of_a_token_can_be_changed(void **state)
{
    struct rn_signer *signer;
    char text[RN_GRANT_TEXT_MAX], copy[RN_GRANT_TEXT_MAX];
    struct rn_view token;
    struct rn_grant g;
    struct rn_err err;
    size_t which;

    (void)state;
    assert_int_equal(rn_signer_new(RN_LIT("key"), &signer), RN_OK);
    token = print(signer, text);
    for (size_t i = 0; i < token.len; i++) {
        memcpy(copy, token.at, token.len);
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        assert_int_equal(rn_grant_parse(rn_view_of(copy, token.len), &signer, 1,
                                        &g, &which, &err),
                         RN_UNAUTHORIZED);
        if (i + 1 == token.len)
            break;
        assert_int_equal(rn_grant_parse(rn_view_of(token.at, i), &signer, 1, &g,
                                        &which, &err),
                         RN_UNAUTHORIZED);
    }
    rn_signer_free(signer);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_permission_says_mode_resource_and_key),
        TEST(what_is_no_permission_is_refused),
        TEST(a_token_says_what_was_put_into_it),
        TEST(no_letter_of_a_token_can_be_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
