/* client_lease_stores_test.c -- the stores in memory and in a file.
 *
 * Both pass the same cases: records are compared and swapped by etag.  The file
 * must survive, and two stores of one file must see each other's writes.
 */
#include "client/lease/store_file.h"
#include "client/lease/store_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static char path[96];

static runnel_lease_store *open_file(void)
{
    runnel_lease_store *store = NULL;
    runnel_error error;

    assert_int_equal(
        rn_lease_store_file_open(rn_env_real(), path, &store, &error),
        RUNNEL_OK);
    return store;
}

static runnel_lease_store *open_memory(const char *json)
{
    struct rn_view text = { json, json ? strlen(json) : 0 };
    runnel_lease_store *store = NULL;
    runnel_error error;

    assert_int_equal(
        rn_lease_store_memory_open(rn_env_real(), text, &store, &error),
        RUNNEL_OK);
    return store;
}

static void close_store(runnel_lease_store *store)
{
    struct rn_own_store *own = (struct rn_own_store *)store;

    own->close(own);
}

struct listing {
    size_t count;
    char ids[256];
    char json[256];
};

static bool add(void *context, const runnel_lease_record *record)
{
    struct listing *l = context;
    size_t used = strlen(l->ids);

    l->count++;
    snprintf(l->ids + used, sizeof(l->ids) - used, "%s ", record->id);
    snprintf(l->json, sizeof(l->json), "%.*s", (int)record->json.len,
             record->json.at);
    assert_true(record->written_ms > 0);
    return true;
}

static struct listing list(runnel_lease_store *s, const char *prefix)
{
    struct listing l = { 0 };
    int64_t now_ms = 0;
    runnel_error error;

    assert_int_equal(s->list(s->context, prefix, add, &l, &now_ms, &error),
                     RUNNEL_OK);
    assert_true(now_ms > 0);
    return l;
}

static runnel_code create(runnel_lease_store *s, const char *id,
                          const char *json, char etag[64])
{
    runnel_lease_record record = { .id = id, .json = runnel_text(json) };
    runnel_error error;

    return s->create(s->context, &record, etag, &error);
}

static runnel_code replace(runnel_lease_store *s, const char *id,
                           const char *json, char etag[64])
{
    runnel_lease_record record = { .id = id,
                                   .etag = etag,
                                   .json = runnel_text(json) };
    runnel_error error;

    return s->replace(s->context, NULL, &record, etag, &error);
}

static void swap_records(runnel_lease_store *s)
{
    char etag[64];
    char old[64];
    runnel_error error;

    assert_int_equal(create(s, "a..1", "{\"x\":1}", etag), RUNNEL_OK);
    assert_int_equal(create(s, "a..1", "{}", old), RUNNEL_CONFLICT);
    assert_int_equal(create(s, "a..0", "{}", old), RUNNEL_OK);
    assert_int_equal(create(s, "b..0", "{}", old), RUNNEL_OK);
    snprintf(old, sizeof(old), "%s", etag);
    assert_int_equal(replace(s, "a..1", "{\"x\":2}", etag), RUNNEL_OK);
    assert_string_not_equal(old, etag);
    assert_int_equal(replace(s, "a..1", "{\"x\":3}", old), RUNNEL_PRECONDITION);
    assert_int_equal(replace(s, "a..9", "{}", old), RUNNEL_NOT_FOUND);
    assert_string_equal(list(s, "a..").ids, "a..0 a..1 ");
    assert_string_equal(list(s, "a..").json, "{\"x\":2}");
    assert_int_equal(s->remove(s->context, "a..1", "\"999\"", &error),
                     RUNNEL_PRECONDITION);
    assert_int_equal(s->remove(s->context, "a..1", etag, &error), RUNNEL_OK);
    assert_int_equal(s->remove(s->context, "a..1", NULL, &error),
                     RUNNEL_NOT_FOUND);
    assert_int_equal(list(s, "").count, 2);
}

static void records_in_memory_are_swapped_by_etag(void **state)
{
    runnel_lease_store *s = open_memory(NULL);

    (void)state;
    swap_records(s);
    close_store(s);
}

static void records_in_a_file_are_swapped_by_etag_and_stay(void **state)
{
    runnel_lease_store *s = open_file();
    runnel_lease_store *other;
    char etag[64];

    (void)state;
    swap_records(s);
    other = open_file();
    assert_string_equal(list(other, "").ids, "a..0 b..0 ");
    assert_int_equal(create(other, "c", "{}", etag), RUNNEL_OK);
    assert_int_equal(list(s, "c").count, 1);
    assert_int_equal(replace(s, "c", "{\"y\":1}", etag), RUNNEL_OK);
    close_store(s);
    close_store(other);
}

static void memory_begins_with_an_array_of_leases(void **state)
{
    runnel_lease_store *s = open_memory(
        "[{\"id\":\"p..0\",\"LeaseToken\":\"0\"},{\"id\":\"p..1\"}]");
    runnel_lease_store *none = NULL;
    runnel_error error;
    char etag[64];

    (void)state;
    assert_int_equal(create(s, "p..0", "{}", etag), RUNNEL_CONFLICT);
    assert_int_equal(create(s, "p..1", "{}", etag), RUNNEL_CONFLICT);
    assert_int_equal(create(s, "p..2", "{}", etag), RUNNEL_OK);
    close_store(s);
    assert_int_equal(
        rn_lease_store_memory_open(rn_env_real(), RN_LIT("{}"), &none, &error),
        RUNNEL_PROTOCOL);
    assert_int_equal(rn_lease_store_memory_open(rn_env_real(), RN_LIT("[{}]"),
                                                &none, &error),
                     RUNNEL_PROTOCOL);
}

static void a_damaged_file_is_refused(void **state)
{
    runnel_lease_store *store = NULL;
    runnel_error error = { 0 };
    FILE *file = fopen(path, "w");

    (void)state;
    assert_non_null(file);
    fputs("[{\"id\":", file);
    fclose(file);
    assert_int_equal(
        rn_lease_store_file_open(rn_env_real(), path, &store, &error),
        RUNNEL_PROTOCOL);
    assert_non_null(strstr(error.message, "leases.json"));
    assert_int_equal(remove(path), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/runnel-leases-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/leases.json", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove(path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_in_memory_are_swapped_by_etag),
        cmocka_unit_test(memory_begins_with_an_array_of_leases),
        cmocka_unit_test_setup_teardown(
            records_in_a_file_are_swapped_by_etag_and_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_refused, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
