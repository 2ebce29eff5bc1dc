/* client_dotnet_v2_test.c -- leases go from a host of version 2 of the .NET
 * library to ours, and back.
 *
 * The host of version 2 is a script: it sends what golden/v2-trace-* show that
 * the library sends to list, acquire, read, checkpoint, renew and release, and
 * of a lease it knows no more than what its class has (dotnet_lease.h).
 */
#include "client/dotnet_lease.h"
#include "client/hosts.h"
#include "client/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE "plocalhost_AAAAAQ==_AAAAAYAAAAE="

enum { RANGES = 2, EXPIRE_MS = 10000 };

static struct hosts h;
static struct dotnet_lease mine[RANGES]; /* as the script has them */

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

/* ---- the requests of version 2 ------------------------------------------- */

static void ask(const char *method, const char *path,
                const struct service_header *headers, size_t count,
                struct rn_view body, struct service_answer *a)
{
    struct service_request q = { .method = rn_view_text(method),
                                 .path = rn_view_text(path),
                                 .headers = headers,
                                 .header_count = count,
                                 .body = body };

    *a = SERVICE_ANSWER_INIT;
    service_handle(&h.world.service, &q, false, a);
}

static const char *said(const struct service_answer *a, const char *name)
{
    for (size_t i = 0; i < a->header_count; i++)
        if (strcasecmp(a->headers[i].name, name) == 0)
            return a->headers[i].value;
    return "";
}

/* "/dbs/DB/colls/NAME/docs", and "/ID" if there is one. */
static const char *path_of(const struct service_box *box, const char *id)
{
    static char path[600];

    snprintf(path, sizeof(path), "/dbs/%s/colls/%s/docs%s%s", box->db,
             box->name, *id ? "/" : "", id);
    return path;
}

/* All leases, in the order of their ranges. */
static void list(void)
{
    const struct service_header headers[] = {
        { RN_LIT("x-ms-documentdb-isquery"), RN_LIT("True") },
        { RN_LIT("x-ms-documentdb-query-enablecrosspartition"),
          RN_LIT("True") },
        { RN_LIT("Content-Type"), RN_LIT("application/query+json") },
    };
    struct service_answer a;
    struct rn_json j;
    uint32_t all;

    ask("POST", path_of(h.leases, ""), headers, 3,
        RN_LIT("{\"query\":\"SELECT * FROM c WHERE STARTSWITH(c.id, "
               "@PartitionLeasePrefix)\",\"parameters\":[{\"name\":"
               "\"@PartitionLeasePrefix\",\"value\":\"" BASE "..\"}]}"),
        &a);
    assert_int_equal(a.status, 200);
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, rn_buf_view(&a.body), NULL), RN_OK);
    all = rn_json_find(&j, 0, RN_LIT("Documents"));
    assert_int_equal(rn_json_count(&j, all), RANGES);
    for (uint32_t i = 0; i < RANGES; i++) {
        struct dotnet_lease l;
        assert_true(dotnet_lease_read(&j, rn_json_at(&j, all, i), &l));
        /* All that it knows of the lease's range. */
        assert_true(strlen(l.partition_id) == 1);
        assert_in_range(l.partition_id[0], '0', '0' + RANGES - 1);
        assert_true(l.timestamp[0] || !l.owner[0]);
        dotnet_copy(l.token, sizeof(l.token), rn_view_text(l.partition_id));
        mine[l.token[0] - '0'] = l;
    }
    rn_json_release(&j);
    service_answer_release(&a);
}

static int64_t now_ms(void)
{
    return rn_wall_ms(rn_sim_env(h.world.sim));
}

/* The lease as the script has it, on the condition of its etag. */
static int put(struct dotnet_lease *l)
{
    struct rn_buf body = RN_BUF_INIT(1 << 16);
    struct service_answer a;
    char key[DOTNET_ID_MAX + 8];
    int status;

    dotnet_lease_stamp(l, now_ms());
    dotnet_lease_print_v2(l, &body);
    snprintf(key, sizeof(key), "[\"%s\"]", l->id);
    ask("PUT", path_of(h.leases, l->id),
        (const struct service_header[]){
            { RN_LIT("If-Match"), rn_view_text(l->etag) },
            { RN_LIT("x-ms-documentdb-partitionkey"), rn_view_text(key) } },
        2, rn_buf_view(&body), &a);
    status = a.status;
    if (status == 200)
        dotnet_copy(l->etag, sizeof(l->etag), rn_view_text(said(&a, "etag")));
    service_answer_release(&a);
    rn_buf_release(&body);
    return status;
}

/* Takes it as the last listing has it. */
static void acquire(size_t i)
{
    dotnet_copy(mine[i].owner, sizeof(mine[i].owner), RN_LIT("version-2"));
    assert_int_equal(put(&mine[i]), 200);
}

/* Renewing and releasing read first. */
static void renew(size_t i, const char *owner)
{
    list();
    assert_string_equal(mine[i].owner, "version-2");
    dotnet_copy(mine[i].owner, sizeof(mine[i].owner), rn_view_text(owner));
    assert_int_equal(put(&mine[i]), 200);
}

static void handle_page(const struct rn_buf *body)
{
    struct rn_json j;
    struct rn_json_walk walk;

    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, rn_buf_view(body), NULL), RN_OK);
    walk = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
    while (rn_json_walk_next(&walk)) {
        struct rn_view id =
            rn_json_text(&j, rn_json_find(&j, walk.value, RN_LIT("id")));
        int64_t version = -1;
        long n = strtol(id.at, NULL, 10);
        assert_true(rn_json_int64(&j, rn_json_find(&j, walk.value, RN_LIT("v")),
                                  &version));
        h.disorder += version < h.seen[n];
        h.seen[n] = (int)version;
        h.deliveries++;
    }
    rn_json_release(&j);
}

/* Handles what is new, with a checkpoint after each page: one PUT, which never
 * fails while it owns the lease. */
static void work(size_t i)
{
    struct dotnet_lease *l = &mine[i];
    struct service_answer a;
    int status;

    do {
        struct service_header headers[] = {
            { RN_LIT("A-IM"), RN_LIT("Incremental Feed") },
            { RN_LIT("x-ms-documentdb-partitionkeyrangeid"),
              rn_view_text(l->token) },
            { RN_LIT("x-ms-max-item-count"), RN_LIT("10") },
            { RN_LIT("If-None-Match"), rn_view_text(l->continuation) },
        };
        ask("GET", path_of(h.world.box, ""), headers,
            l->continuation[0] ? 4 : 3, (struct rn_view){ 0 }, &a);
        status = a.status;
        if (status == 200) {
            handle_page(&a.body);
            dotnet_copy(l->continuation, sizeof(l->continuation),
                        rn_view_text(said(&a, "etag")));
            assert_int_equal(put(l), 200);
        }
        service_answer_release(&a);
    } while (status == 200);
    assert_int_equal(status, 304);
}

/* Leases and marker as it makes them. */
static void begin(void)
{
    char json[200];

    hosts_open(&h, 1, RANGES);
    for (int i = 0; i < RANGES; i++) {
        snprintf(json, sizeof(json),
                 "{\"id\":\"" BASE "..%d\",\"_etag\":null,\"PartitionId\":"
                 "\"%d\",\"Owner\":null,\"ContinuationToken\":null,"
                 "\"properties\":{},\"timestamp\":null,\"_ts\":0}",
                 i, i);
        assert_non_null(service_upsert(h.leases, json));
    }
    assert_non_null(service_upsert(h.leases, "{\"id\":\"" BASE ".info\"}"));
}

static void acquire_and_work(void)
{
    list();
    for (size_t i = 0; i < RANGES; i++) {
        acquire(i);
        work(i);
    }
}

static void assert_has_range(const char *token, bool has)
{
    const char *json = hosts_lease(&h, token)->json;
    char member[40];

    snprintf(member, sizeof(member), "\"PartitionId\":\"%s\"", token);
    assert_non_null(strstr(json, member));
    snprintf(member, sizeof(member), "\"LeaseToken\":\"%s\"", token);
    assert_int_equal(strstr(json, member) != NULL, has);
    assert_int_equal(strstr(json, "\"FeedRange\"") != NULL, has);
}

/* ---- the script against the recordings ----------------------------------- */

static const char *const recordings[] = {
    "builder", "builder-partitionkey", "builder-unpartitioned",
    "v1host",  "v1host-unpartitioned",
};

/* A write of a lease, byte for byte as the script would send it. */
static bool check_write(const struct rn_json *j, uint32_t entry)
{
    uint32_t body = rn_json_find(j, entry, RN_LIT("requestBody"));
    struct rn_view recorded = rn_json_text(j, body);
    struct rn_buf written = RN_BUF_INIT(1 << 16);
    struct dotnet_lease lease;

    if (!dotnet_lease_read(j, body, &lease))
        return false;
    dotnet_copy(lease.token, sizeof(lease.token),
                rn_view_text(lease.partition_id));
    dotnet_lease_print_v2(&lease, &written);
    if (!rn_view_eq(rn_buf_view(&written), recorded))
        fail_msg("%.*s instead of %.*s", (int)written.len, written.at,
                 RN_FMT(recorded));
    rn_buf_release(&written);
    return true;
}

static void the_script_writes_what_version_2_wrote(void **state)
{
    (void)state;
    hosts_open(&h, 1, 1); /* for the tear-down */
    for (size_t i = 0; i < sizeof(recordings) / sizeof(recordings[0]); i++) {
        struct replay r = { 0 };
        char path[512];
        unsigned writes = 0;
        snprintf(path, sizeof(path), GOLDEN_DIR "/v2-trace-%s.json",
                 recordings[i]);
        replay_add(&r, path, NULL);
        for (size_t k = 0; k < r.count; k++)
            writes += check_write(r.entries[k].json, r.entries[k].at);
        assert_true(writes >= 7);
        replay_release(&r);
    }
}

/* ---- the cases ----------------------------------------------------------- */

static void released_leases_go_to_and_fro_and_nothing_comes_twice(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    begin();
    hosts_put(&h, 0, 40);
    acquire_and_work();
    assert_int_equal(h.deliveries, 40);
    for (size_t i = 0; i < RANGES; i++)
        renew(i, "");
    for (int round = 0; round < 2; round++) {
        unsigned before = h.deliveries;
        hosts_start(&h, round, &o);
        hosts_put(&h, 20, 80);
        hosts_until(&h, hosts_all_seen, 10000);
        hosts_run(&h, 1000);
        assert_int_equal(h.deliveries, before + 60);
        assert_has_range("0", true);
        assert_has_range("1", true);
        hosts_stop(&h, round);
        hosts_put(&h, 0, 30);
        acquire_and_work();
        assert_int_equal(h.deliveries, before + 90);
        assert_true(hosts_all_seen(&h));
        assert_has_range("0", false);
        for (size_t i = 0; i < RANGES; i++) {
            renew(i, "version-2");
            renew(i, "");
        }
    }
    assert_int_equal(hosts_leases(&h), RANGES);
    hosts_check(&h);
}

static bool has_both(struct hosts *all)
{
    return hosts_owned(all, 0) == RANGES;
}

/* By the rule of version 2: by its own clock. */
static bool is_expired(size_t i)
{
    return dotnet_lease_time_ms(&mine[i]) + EXPIRE_MS < now_ms();
}

static void leases_of_the_dead_are_taken_by_either(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    begin();
    hosts_put(&h, 0, 40);
    acquire_and_work(); /* and is not heard of again */
    hosts_start(&h, 0, &o);
    hosts_run(&h, EXPIRE_MS - 2000);
    assert_int_equal(hosts_owned(&h, 0), 1); /* its share */
    hosts_until(&h, has_both, 10000);
    hosts_put(&h, 20, 60);
    hosts_until(&h, hosts_all_seen, 10000);
    /* What lives is renewed. */
    for (int i = 0; i < 30; i++) {
        hosts_run(&h, 1000);
        list();
        assert_false(is_expired(0) || is_expired(1));
    }
    hosts_kill(&h, 0);
    hosts_run(&h, EXPIRE_MS + 1000);
    list();
    assert_true(is_expired(0) && is_expired(1));
    hosts_put(&h, 0, 10);
    acquire_and_work();
    assert_int_equal(h.deliveries, 40 + 40 + 10);
    hosts_check(&h);
}

static void a_lease_that_version_2_takes_is_left_to_it(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    begin();
    hosts_put(&h, 0, 40);
    hosts_start(&h, 0, &o);
    hosts_until(&h, has_both, 10000);
    hosts_until(&h, hosts_all_seen, 10000);
    list();
    acquire(0); /* one lease a pass, of the host that has the most */
    hosts_run(&h, 4000);
    assert_int_equal(hosts_owned(&h, 0), 1);
    assert_int_equal(h.hosts[0].closed, 1);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_LEASE_LOST);
    for (int i = 0; i < 20; i++) {
        hosts_put(&h, i, i + 20);
        hosts_run(&h, 1000);
        work(0); /* its own etag is current: nobody else writes the lease */
        if (i % 4 == 3)
            renew(0, "version-2");
        assert_true(hosts_all_seen(&h));
    }
    assert_int_equal(h.deliveries, 40 + 20 * 20);
    assert_int_equal(hosts_owned(&h, 0), 1);
    renew(0, "");
    hosts_until(&h, has_both, 10000);
    hosts_put(&h, 0, 40);
    hosts_until(&h, hosts_all_seen, 10000);
    assert_int_equal(h.deliveries, 40 + 20 * 20 + 40);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_script_writes_what_version_2_wrote),
        CASE(released_leases_go_to_and_fro_and_nothing_comes_twice),
        CASE(leases_of_the_dead_are_taken_by_either),
        CASE(a_lease_that_version_2_takes_is_left_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
