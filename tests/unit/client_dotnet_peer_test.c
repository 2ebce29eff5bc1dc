/* client_dotnet_peer_test.c -- the .NET host of the simulation sends what the
 * real one sent.
 *
 * Traces recorded from versions 3 and 2 of the .NET library are replayed: the
 * state machine (client/dotnet_peer.h) gets the recorded answers and must ask
 * every recorded request, with its conditions and its bodies, and write nothing
 * else.  What no trace shows is in the cases below.
 */
#include "client/dotnet_own.h"
#include "client/hosts.h"
#include "client/replay.h"
#include "client/world.h"
#include "cosmos/header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HALF "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"

static const struct dotnet_range whole[] = { { "0", "", "FF", "" } };
static const struct dotnet_range halves[] = { { "0", "", HALF, "" },
                                              { "1", HALF, "FF", "" } };
static const struct dotnet_range thirds[] = { { "1", "", HALF, "" },
                                              { "2", HALF, "FF", "" } };
static const struct dotnet_range later[] = {
    { "6", "", "2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "" },
    { "7", "2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "FF", "" }
};

#define KNOWN(rid, etag, ranges)                                               \
    {                                                                          \
        rid, etag, ranges, sizeof(ranges) / sizeof((ranges)[0])                \
    }
#define LEASES KNOWN("M2V2Zbs9Vsg=", "\"1\"", whole)
#define FACTS KNOWN("M2V2aLs9VuE=", "\"1\"", whole)

#define HOST(d, s, l, p, i)                                                    \
    .db = (d), .source = (s), .leases = (l), .processor = (p), .instance = (i)

struct recording {
    const char *files[REPLAY_FILES_MAX];
    const char *phases; /* of a trace of version 2; NULL: of version 3 */
    const char *db, *source, *leases, *processor, *instance;
    enum dotnet_start start;
    bool fails_first;       /* the first call of the delegate throws */
    const char *running[4]; /* leases that it has when the trace begins */
    size_t stopping; /* so many requests at the end are those of StopAsync */
    size_t strange;  /* so many behind them are another program's */
    bool has_no_limit;
    const char *mode;
    struct dotnet_known known_source, known_leases;
};

static const struct recording recordings[] = {
    { .files = { "bootstrap-acquire", "checkpoint" },
      HOST("samples", "orders", "leases", "proc1", "host-a") },
    { .files = { "restart-other-instance", "split", "merge",
                 "merge-of-epk-leases", "split-of-epk-lease" },
      HOST("samples", "orders", "leases", "proc1", "host-b"),
      .known_source = KNOWN("M2V2Zbs9Vsc=", "\"2\"", halves),
      .known_leases = LEASES },
    { .files = { "expired-takeover" },
      HOST("samples", "two", "leases", "steal", "host-c") },
    { .files = { "adopt" },
      HOST("samples", "two", "leases", "steal", "host-d") },
    { .files = { "foreign" },
      HOST("samples", "two", "leases", "steal", "host-e") },
    { .files = { "handler-error" },
      HOST("samples", "starts", "leases", "fail", "host-a"),
      .fails_first = true,
      .known_source = KNOWN("M2V2Zbs9Vsw=", "\"1\"", whole),
      .known_leases = LEASES },
    { .files = { "lock-held" },
      HOST("samples", "starts", "leases", "locked", "host-a"),
      .known_source = KNOWN("M2V2Zbs9Vsw=", "\"1\"", whole),
      .known_leases = LEASES },
    { .files = { "bootstrap-after-split" },
      HOST("samples", "orders2", "leases", "proc2", "host-c"),
      .stopping = 4 },
    { .files = { "start-beginning" },
      HOST("samples", "starts", "leases", "start-beginning", "host-a"),
      .known_leases = LEASES },
    { .files = { "start-time" },
      HOST("samples", "starts", "leases", "start-time", "host-a"),
      .start = DOTNET_FROM_TIME,
      .known_source = KNOWN("M2V2Zbs9Vsw=", "\"1\"", whole),
      .known_leases = LEASES },
    { .files = { "start-default" },
      HOST("samples", "starts", "leases", "start-default", "host-a"),
      .start = DOTNET_FROM_TIME,
      .known_source = KNOWN("M2V2Zbs9Vsw=", "\"1\"", whole),
      .known_leases = LEASES },
    { .files = { "bypk-bootstrap" },
      HOST("samples", "orders", "leasesbypk", "proc3", "host-a"),
      .known_source = KNOWN("M2V2Zbs9Vsc=", "\"8\"", later) },
    { .files = { "avad" },
      HOST("samples", "audit", "leases", "proc4", "host-a"),
      .start = DOTNET_FROM_NOW,
      .mode = "Full-Fidelity Feed",
      .known_leases = LEASES },
    { .files = { "java-epk-lease" },
      HOST("facts", "java", "leases", "jav", "a"),
      .has_no_limit = true },
    { .files = { "checkpoint-of-stolen-lease" },
      HOST("facts", "nozombie", "leases", "noz", "host-a"),
      .running = { "0" },
      .has_no_limit = true,
      .known_source = KNOWN("M2V2aLs9VuY=", "\"1\"", whole),
      .known_leases = FACTS },
    { .files = { "checkpoint-after-split-unconditional" },
      HOST("facts", "zombie", "leases", "zom", "host-a"),
      .running = { "1", "2" },
      .has_no_limit = true,
      .known_source = KNOWN("M2V2aLs9VuI=", "\"3\"", thirds),
      .known_leases = FACTS },
    { .files = { "renew" },
      HOST("samples", "orders", "leases", "proc1", "host-a"),
      .running = { "0", "1" },
      .known_source = KNOWN("M2V2Zbs9Vsc=", "\"2\"", halves),
      .known_leases = LEASES },
    { .files = { "release" },
      HOST("samples", "orders", "leases", "proc1", "host-a"),
      .running = { "0", "1" },
      .stopping = 4,
      .known_source = KNOWN("M2V2Zbs9Vsc=", "\"2\"", halves),
      .known_leases = LEASES },
    { .files = { "v1host" },
      .phases = "bootstrap started checkpoint renew release",
      HOST("v1db", "monitored", "leases", "", "host1"),
      .has_no_limit = true,
      .stopping = 2 },
    { .files = { "v1host" },
      .phases = "restart",
      HOST("v1db", "monitored", "leases", "", "host2"),
      .has_no_limit = true,
      .stopping = 2 },
    { .files = { "builder" },
      .phases = "build bootstrap started checkpoint renew split",
      HOST("v2db", "monitored", "leases", "MyPrefix.", "hostA"),
      .has_no_limit = true },
    { .files = { "builder" },
      .phases = "split-stopped",
      HOST("v2db", "monitored", "leases", "MyPrefix.", "hostA"),
      .has_no_limit = true,
      .strange = 6,
      .stopping = 8 },
};

enum { RECORDINGS = sizeof(recordings) / sizeof(recordings[0]) };

static unsigned calls;

static int64_t begin(void *context, const char *token,
                     const struct dotnet_change *changes, size_t count)
{
    (void)context;
    (void)token;
    (void)changes;
    (void)count;
    return 0;
}

static bool end(void *context, const char *token,
                const struct dotnet_change *changes, size_t count)
{
    const struct recording *rec = context;

    (void)token;
    (void)changes;
    (void)count;
    return calls++ > 0 || !rec->fails_first;
}

static struct dotnet_options options_of(const struct recording *rec)
{
    return (struct dotnet_options){
        .version = rec->phases ? 2 : 3,
        .db = rec->db,
        .source = rec->source,
        .leases = rec->leases,
        .account = "127.0.0.1",
        .processor = rec->processor,
        .instance = rec->instance,
        .mode = rec->mode,
        .acquire_ms = 2000,
        .expire_ms = 10000,
        .renew_ms = 4000,
        .poll_ms = 500,
        .page_limit = rec->has_no_limit ? 0 : 10,
        .start = rec->start,
        .start_s = 1794968455,
        .known_source = rec->known_source,
        .known_leases = rec->known_leases,
        .begin = begin,
        .end = end,
        .context = (void *)(uintptr_t)rec,
    };
}

/* The clock of the recording: that of the first lease that was written. */
static void set_clock(struct world *w, const struct replay *r)
{
    struct dotnet_lease lease;

    for (size_t i = 0; i < r->count; i++) {
        const struct replay_entry *e = &r->entries[i];
        uint32_t body = rn_json_find(e->json, e->at, RN_LIT("requestBody"));

        if (dotnet_lease_read(e->json, body, &lease) && lease.timestamp[0]) {
            rn_sim_wall_jump(w->sim, dotnet_lease_time_ms(&lease) -
                                         rn_wall_ms(rn_sim_env(w->sim)));
            return;
        }
    }
}

static uint32_t part(const struct replay_entry *e, const char *name)
{
    return rn_json_find(e->json, e->at, rn_view_text(name));
}

/* The position from which a range is read first. */
static void find_position(const struct replay *r, struct dotnet_lease *lease)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct replay_entry *e = &r->entries[i];
        uint32_t headers = part(e, "requestHeaders");
        struct rn_view text = rn_json_text(
            e->json, rn_json_find(e->json, headers, RN_LIT("if-none-match")));

        if (!rn_json_string_is(
                e->json,
                rn_json_find(e->json, headers, RN_LIT(RN_HEADER_RANGE_ID)),
                rn_view_text(lease->token)))
            continue;
        lease->continuation[rn_json_unescape(text, lease->continuation)] = '\0';
        return;
    }
}

/* A lease as the host has it in memory when a trace begins: as it writes it
 * first, but for the position. */
static void find_running(const struct replay *r, const struct recording *rec,
                         size_t n, struct dotnet_lease *lease)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct replay_entry *e = &r->entries[i];

        if (!dotnet_lease_read(e->json, part(e, "requestBody"), lease) ||
            strcmp(lease->token, rec->running[n]) != 0)
            continue;
        find_position(r, lease);
        dotnet_copy(lease->owner, sizeof(lease->owner),
                    rn_view_text(rec->instance));
        return;
    }
    fail_msg("no lease %s", rec->running[n]);
}

static void replay(const struct recording *rec)
{
    struct dotnet_lease running[4];
    const struct service_definition d = { .db = "d", .name = "c", .key = "/k" };
    struct dotnet_options options = options_of(rec);
    struct replay *r = calloc(1, sizeof(*r));
    struct dotnet_peer *peer;
    struct rn_network *network;
    struct world w;
    char next[400];

    assert_non_null(r);
    calls = 0;
    for (size_t i = 0; i < REPLAY_FILES_MAX && rec->files[i]; i++) {
        char path[512];

        snprintf(path, sizeof(path), "%s/v%d-trace-%s.json", GOLDEN_DIR,
                 rec->phases ? 2 : 3, rec->files[i]);
        replay_add(r, path, rec->phases);
    }
    r->count -= rec->strange;
    world_open(&w, 1, &d);
    replay_begin(r, &w.wire);
    set_clock(&w, r);
    for (size_t i = 0; i < 4 && rec->running[i]; i++) {
        find_running(r, rec, i, &running[i]);
        options.running_count++;
    }
    options.running = running;
    network = scripted_network(&w.wire, rn_sim_env(w.sim));
    peer = dotnet_peer_start(&options, network, rn_sim_env(w.sim));
    for (int i = 0; i < 300 && !replay_is_over(r) && !r->strange[0]; i++) {
        if (rec->stopping && r->first + rec->stopping >= r->count)
            dotnet_peer_stop(peer);
        rn_sim_run(w.sim, 100 * 1000000);
    }
    if (r->strange[0])
        fail_msg("%s: not recorded: %s", rec->files[0], r->strange);
    if (!replay_is_over(r)) {
        replay_next(r, next, sizeof(next));
        fail_msg("%s: not sent: number %zu, %s", rec->files[0], r->first, next);
    }
    dotnet_peer_free(peer);
    network->ops->close(network);
    world_close(&w);
    replay_release(r);
    free(r);
}

static void the_recorded_requests_are_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECORDINGS; i++)
        replay(&recordings[i]);
}

/* ---- what no trace shows ------------------------------------------------- */

/* The owners: one letter a lease, '-' for none, capital: expired. */
static void leases_are_shared_equally(void **state)
{
    static const struct {
        const char *owners;
        const char *picks; /* of the host "m" */
    } cases[] = {
        { "", "" },        { "a", "" },     { "-", "0" },
        { "aaaa", "0" },   { "maaa", "1" }, { "mmaa", "" },
        { "aabb", "2" },   { "maabb", "" }, { "AAAAAAAAAAb", "012345" },
        { "m-A", "12" },   { "mM", "1" },   { "aaabbb", "3" },
        { "maab--", "4" },
    };
    struct dotnet_lease leases[16] = { 0 };
    size_t picks[16];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t count = strlen(cases[i].owners);
        size_t n;
        for (size_t k = 0; k < count; k++) {
            char owner = cases[i].owners[k];
            leases[k].owner[0] = owner == '-' ? '\0' : (char)(owner | 0x20);
            leases[k].ts = owner >= 'A' && owner <= 'Z' ? 939 : 940;
        }
        n = dotnet_balance(leases, count, "m", 1000000, 60000, picks);
        assert_int_equal(n, strlen(cases[i].picks));
        for (size_t k = 0; k < n; k++)
            assert_int_equal(picks[k], cases[i].picks[k] - '0');
    }
}

/* A host on a service, whose answers a case may change. */
struct fixture {
    struct world w;
    struct service_box *leases;
    struct rn_network *network;
    struct dotnet_peer *peer;
    unsigned gone;     /* so many reads of the feed are answered 410 */
    bool has_marked;   /* a marker was put in before the lock */
    bool wants_marker; /* ... shall be */
};

static bool fixture_before(void *context, const struct service_request *q,
                           struct service_answer *a)
{
    struct fixture *l = context;

    if (service_header(q, RN_HEADER_A_IM).at && l->gone > 0 &&
        q->path.at[q->path.len - 1] == 's' &&
        q->path.at[q->path.len - 2] == 'c') {
        l->gone--;
        service_refuse(a, 410, 1002, "Not here.");
        return true;
    }
    if (l->wants_marker && rn_view_eq(q->method, RN_LIT("POST")) &&
        service_header(q, RN_HEADER_PREFER).at && !l->has_marked) {
        char json[DOTNET_ID_MAX], rid[RN_RID_TEXT_MAX];
        struct rn_view db =
            rn_rid_print(rn_rid_database(l->w.box->rid.database), rid);

        snprintf(json, sizeof(json), "{\"id\":\"pfake_%.*s_%s.info\"}",
                 RN_FMT(db), l->w.box->rid_text);
        (void)service_upsert(l->leases, json);
        l->has_marked = true;
    }
    return false;
}

static const struct recording fixture_recording = { .db = NULL };

static void fixture_open(struct fixture *l)
{
    const struct service_definition source = { .db = "d",
                                               .name = "c",
                                               .key = "/k" };
    const struct service_definition leases = {
        .db = "d", .name = "leases", .key = "/id", .default_ttl = -1
    };
    struct dotnet_options o = options_of(&fixture_recording);

    world_open(&l->w, 1, &source);
    l->leases = service_add(&l->w.service, &leases);
    l->w.wire.before = fixture_before;
    l->w.wire.context = l;
    l->network = scripted_network(&l->w.wire, rn_sim_env(l->w.sim));
    o.db = "d";
    o.source = "c";
    o.leases = "leases";
    o.account = "fake";
    o.processor = "p";
    o.instance = "m";
    l->peer = dotnet_peer_start(&o, l->network, rn_sim_env(l->w.sim));
    rn_sim_run(l->w.sim, 1000000000);
}

static void fixture_close(struct fixture *l)
{
    dotnet_peer_free(l->peer);
    l->network->ops->close(l->network);
    world_close(&l->w);
}

/* The lease of a token, or NULL. */
static const char *fixture_lease(const struct fixture *l, const char *token)
{
    char end[DOTNET_TOKEN_MAX];

    snprintf(end, sizeof(end), "..%s", token);
    for (size_t i = 0; i < l->leases->entry_count; i++) {
        const struct service_entry *e = l->leases->entries[i];
        size_t len = strlen(e->id), tail = strlen(end);

        if (e->is_live && len > tail && strcmp(e->id + len - tail, end) == 0)
            return e->json;
    }
    return NULL;
}

static void a_stray_410_makes_an_epk_lease(void **state)
{
    struct fixture l = { 0 };
    struct dotnet_lease lease;

    (void)state;
    fixture_open(&l);
    assert_non_null(fixture_lease(&l, "0"));
    l.gone = 1;
    rn_sim_run(l.w.sim, 1000000000);
    assert_null(fixture_lease(&l, "0"));
    assert_true(
        dotnet_lease_parse(rn_view_text(fixture_lease(&l, "-FF")), &lease));
    assert_int_equal(lease.version, 1);
    assert_string_equal(lease.owner, "m");
    l.gone = 1; /* the next one: it is released, and taken again */
    rn_sim_run(l.w.sim, 600000000);
    assert_true(
        dotnet_lease_parse(rn_view_text(fixture_lease(&l, "-FF")), &lease));
    assert_string_equal(lease.owner, "");
    rn_sim_run(l.w.sim, 2500000000);
    assert_true(
        dotnet_lease_parse(rn_view_text(fixture_lease(&l, "-FF")), &lease));
    assert_string_equal(lease.owner, "m");
    fixture_close(&l);
}

static void
a_marker_that_came_before_the_lock_makes_the_start_fail(void **state)
{
    struct fixture l = { .wants_marker = true };

    (void)state;
    fixture_open(&l);
    assert_true(l.has_marked);
    assert_int_equal(dotnet_peer_state(l.peer), DOTNET_FAILED);
    assert_null(fixture_lease(&l, "lock"));
    fixture_close(&l);
}

/* ---- beside a C host with several leases for each range ------------------ */

static struct hosts h;

static int64_t begin_shared(void *context, const char *token,
                            const struct dotnet_change *changes, size_t count)
{
    (void)context;
    (void)token;
    for (size_t i = 0; i < count; i++) {
        int id = (int)strtol(changes[i].id, NULL, 10);

        h.deliveries++;
        h.delivered[id]++;
        h.seen[id] = h.written[id];
    }
    return 0;
}

static bool end_shared(void *context, const char *token,
                       const struct dotnet_change *changes, size_t count)
{
    (void)context;
    (void)token;
    (void)changes;
    (void)count;
    return true;
}

static unsigned owned_by_peer(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < h.leases->entry_count; i++)
        count += h.leases->entries[i]->is_live &&
                 strstr(h.leases->entries[i]->json, "\"Owner\":\"net\"");
    return count;
}

/* Without the marker it makes what it misses: a range without a lease that
 * shares a bound with it. */
static void it_shares_leases_of_parts_of_ranges_and_makes_none(void **state)
{
    const char marker[] = "plocalhost_AAAAAQ==_AAAAAYAAAAE=.info";
    struct dotnet_options o = options_of(&fixture_recording);
    runnel_processor_options options = hosts_options();
    struct dotnet_peer *peer;
    struct rn_network *network;

    (void)state;
    hosts_open(&h, 1, 2);
    options.leases_per_range = 3;
    hosts_put(&h, 0, 300);
    hosts_start(&h, 0, &options);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(hosts_leases(&h), 6);
    assert_non_null(service_delete(
        h.leases, marker, "[\"plocalhost_AAAAAQ==_AAAAAYAAAAE=.info\"]"));
    o.db = "db";
    o.source = "source";
    o.leases = "leases";
    o.account = "localhost";
    o.processor = "p";
    o.instance = "net";
    o.begin = begin_shared;
    o.end = end_shared;
    network = scripted_network(&h.world.wire, rn_sim_env(h.world.sim));
    peer = dotnet_peer_start(&o, network, rn_sim_env(h.world.sim));
    hosts_run(&h, 40000);
    assert_int_equal(owned_by_peer(), 3);
    assert_int_equal(hosts_owned(&h, 0), 3);
    h.deliveries = 0;
    memset(h.delivered, 0, sizeof(h.delivered));
    hosts_put(&h, 0, 300);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 20000);
    assert_int_equal(h.deliveries, 300);
    for (int i = 0; i < 300; i++)
        assert_int_equal(h.delivered[i], 1);
    assert_int_equal(hosts_leases(&h), 6);
    dotnet_peer_free(peer);
    hosts_stop(&h, 0);
    network->ops->close(network);
    hosts_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_requests_are_sent),
        cmocka_unit_test(leases_are_shared_equally),
        cmocka_unit_test(a_stray_410_makes_an_epk_lease),
        cmocka_unit_test(it_shares_leases_of_parts_of_ranges_and_makes_none),
        cmocka_unit_test(
            a_marker_that_came_before_the_lock_makes_the_start_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
