/* client_service_test.c -- the fake service and the scripted network keep the
 * protocol's promises, so that tests of the client may rest on them.
 *
 * Requests go through a transport of the scripted network, in virtual time;
 * each case is a short dialogue. */
#include "base/sim.h"
#include "client/scripted.h"
#include "cosmos/header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define DOCS "/dbs/d/colls/c/docs"

struct world {
    struct rn_sim *sim;
    struct service service;
    struct scripted wire;
    struct rn_network *network;
    struct rn_transport *transport;
    struct service_box *box;
    struct rn_exchange x;
    bool is_done;
};

static void world_open(struct world *w, const struct service_definition *d)
{
    memset(w, 0, sizeof(*w));
    w->sim = rn_sim_new(1);
    service_init(&w->service, rn_sim_env(w->sim));
    scripted_init(&w->wire, &w->service, 1);
    w->network = scripted_network(&w->wire, rn_sim_env(w->sim));
    assert_int_equal(w->network->ops->open(w->network, &w->transport, NULL), 0);
    w->box = service_add(&w->service, d);
    rn_exchange_init(&w->x, 1 << 20);
}

static void world_close(struct world *w)
{
    rn_exchange_release(&w->x);
    w->transport->ops->close(w->transport);
    w->network->ops->close(w->network);
    scripted_release(&w->wire);
    service_release(&w->service);
    rn_sim_free(w->sim);
}

static void is_done(struct rn_exchange *x)
{
    *(bool *)x->context = true;
}

static void send(struct world *w, const char *method, const char *path,
                 const char *const *headers, const char *body)
{
    struct rn_exchange *x = &w->x;

    rn_exchange_reset(x);
    rn_headers_clear(&x->headers);
    rn_buf_clear(&x->url);
    x->method = method;
    assert_int_equal(rn_buf_printf(&x->url, "http://h:1%s", path), 0);
    for (; headers && headers[0]; headers += 2)
        assert_int_equal(rn_headers_add(&x->headers, headers[0],
                                        rn_view_text(headers[1]), NULL),
                         0);
    x->body = rn_view_text(body);
    x->timeout_ms = 60000;
    x->done = is_done;
    x->context = &w->is_done;
    w->is_done = false;
    w->transport->ops->start(w->transport, x);
}

static int ask(struct world *w, const char *method, const char *path,
               const char *const *headers, const char *body)
{
    send(w, method, path, headers, body);
    while (!w->is_done)
        w->transport->ops->wait(w->transport, INT64_MAX);
    return w->x.status;
}

static const char *header(struct world *w, const char *name)
{
    const char *at = rn_headers_find(&w->x.answer_headers, name).at;

    return at ? at : "";
}

static bool body_has(struct world *w, const char *text)
{
    struct rn_view body = rn_buf_view(&w->x.answer);

    return body.len && memmem(body.at, body.len, text, strlen(text));
}

static const struct service_definition plain = {
    .db = "d", .name = "c", .key = "/pk", .default_ttl = -1
};

static void documents_are_compared_and_swapped_by_etag(void **state)
{
    const char *key[] = { RN_HEADER_PARTITION_KEY, "[\"p\"]", NULL };
    const char *stale[] = { RN_HEADER_PARTITION_KEY, "[\"p\"]",
                            RN_HEADER_IF_MATCH, "\"x\"", NULL };
    const char *fresh[] = { RN_HEADER_PARTITION_KEY, "[\"p\"]",
                            RN_HEADER_IF_MATCH, NULL, NULL };
    struct world w;
    char etag[64];

    (void)state;
    world_open(&w, &plain);
    assert_int_equal(
        ask(&w, "POST", DOCS, key, "{\"id\":\"a b\",\"pk\":\"p\"}"), 201);
    snprintf(etag, sizeof(etag), "%s", header(&w, RN_HEADER_ETAG));
    fresh[3] = etag;
    assert_int_equal(
        ask(&w, "POST", DOCS, key, "{\"id\":\"a b\",\"pk\":\"p\"}"), 409);
    assert_int_equal(ask(&w, "GET", DOCS "/a%20b", key, ""), 200);
    assert_true(body_has(&w, "\"_ts\""));
    assert_int_equal(
        ask(&w, "PUT", DOCS "/a%20b", stale, "{\"id\":\"a b\",\"pk\":\"p\"}"),
        412);
    assert_int_equal(ask(&w, "PUT", DOCS "/a%20b", fresh,
                         "{\"id\":\"a b\",\"pk\":\"p\",\"n\":2}"),
                     200);
    assert_string_not_equal(header(&w, RN_HEADER_ETAG), etag);
    assert_int_equal(ask(&w, "DELETE", DOCS "/a%20b", fresh, ""), 412);
    assert_int_equal(ask(&w, "DELETE", DOCS "/a%20b", key, ""), 204);
    assert_int_equal(ask(&w, "GET", DOCS "/a%20b", key, ""), 404);
    world_close(&w);
}

static void a_document_expires_with_the_virtual_clock(void **state)
{
    const char *key[] = { RN_HEADER_PARTITION_KEY, "[\"p\"]", NULL };
    struct world w;

    (void)state;
    world_open(&w, &plain);
    assert_int_equal(
        ask(&w, "POST", DOCS, key, "{\"id\":\"l\",\"pk\":\"p\",\"ttl\":30}"),
        201);
    rn_sim_run(w.sim, 29LL * 1000000000);
    assert_int_equal(ask(&w, "GET", DOCS "/l", key, ""), 200);
    rn_sim_run(w.sim, 1LL * 1000000000);
    assert_int_equal(ask(&w, "GET", DOCS "/l", key, ""), 404);
    world_close(&w);
}

static void leases_are_found_by_the_beginning_of_their_id(void **state)
{
    const char *query[] = { RN_HEADER_IS_QUERY,
                            "True",
                            RN_HEADER_MAX_ITEM_COUNT,
                            "1",
                            NULL,
                            NULL,
                            NULL };
    struct world w;

    (void)state;
    world_open(&w, &plain);
    service_upsert(w.box, "{\"id\":\"x..0\",\"pk\":1}");
    service_upsert(w.box, "{\"id\":\"x..1\",\"pk\":2}");
    service_upsert(w.box, "{\"id\":\"y..0\",\"pk\":3}");
    assert_int_equal(
        ask(&w, "POST", DOCS, query,
            "{\"query\":\"SELECT * FROM c WHERE STARTSWITH(c.id, @p)\","
            "\"parameters\":[{\"name\":\"@p\",\"value\":\"x..\"}]}"),
        200);
    assert_true(body_has(&w, "x..0"));
    query[4] = RN_HEADER_CONTINUATION;
    query[5] = "1";
    assert_string_equal(header(&w, RN_HEADER_CONTINUATION), "1");
    assert_int_equal(
        ask(&w, "POST", DOCS, query,
            "{\"query\":\"SELECT * FROM c WHERE STARTSWITH(c.id, 'x..')\"}"),
        200);
    assert_true(body_has(&w, "x..1"));
    assert_string_equal(header(&w, RN_HEADER_CONTINUATION), "");
    assert_int_equal(ask(&w, "GET", DOCS, NULL, ""), 200);
    assert_true(body_has(&w, "\"_count\":3"));
    world_close(&w);
}

static void the_feed_goes_on_after_an_etag_and_through_a_split(void **state)
{
    const char *feed[] = { RN_HEADER_A_IM,
                           "Incremental Feed",
                           RN_HEADER_RANGE_ID,
                           "0",
                           RN_HEADER_MAX_ITEM_COUNT,
                           "1",
                           RN_HEADER_IF_NONE_MATCH,
                           "\"1\"",
                           NULL };
    const char *ranges[] = { RN_HEADER_A_IM, "Incremental Feed",
                             RN_HEADER_IF_NONE_MATCH, "\"1\"", NULL };
    const char *batch[] = { "{\"id\":\"b\",\"pk\":1}",
                            "{\"id\":\"c\",\"pk\":1}" };
    struct world w;

    (void)state;
    world_open(&w, &plain);
    service_upsert(w.box, "{\"id\":\"a\",\"pk\":1}");
    service_batch(w.box, batch, 2);
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 200);
    assert_true(body_has(&w, "\"_lsn\":2}],\"_count\":2}"));
    assert_string_equal(header(&w, RN_HEADER_ETAG), "\"2\"");
    assert_int_equal(ask(&w, "GET", "/dbs/d/colls/c/pkranges", ranges, ""),
                     304);
    assert_true(service_split(w.box, 0, 1000));
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 410);
    assert_string_equal(header(&w, RN_HEADER_SUB_STATUS), "1007");
    rn_sim_run(w.sim, 1000000000);
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 410);
    assert_string_equal(header(&w, RN_HEADER_SUB_STATUS), "1002");
    assert_int_equal(ask(&w, "GET", "/dbs/d/colls/c/pkranges", ranges, ""),
                     200);
    assert_true(body_has(&w, "\"parents\":[\"0\"]"));
    feed[3] = "1";
    feed[7] = "*";
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 304);
    assert_string_equal(header(&w, RN_HEADER_ETAG), "\"2\"");
    assert_true(service_merge(w.box, 1, 2, 0));
    assert_int_equal(w.box->ranges[3].lsn, 3);
    world_close(&w);
}

static void a_held_read_is_answered_by_the_change_or_in_the_end(void **state)
{
    const char *feed[] = { RN_HEADER_A_IM,
                           "Incremental Feed",
                           RN_HEADER_RANGE_ID,
                           "0",
                           RN_HEADER_IF_NONE_MATCH,
                           "\"0\"",
                           RN_HEADER_PREFER,
                           "wait=20",
                           NULL };
    struct world w;
    int64_t start;

    (void)state;
    world_open(&w, &plain);
    start = rn_mono_ns(rn_sim_env(w.sim));
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 304);
    assert_string_equal(header(&w, RN_HEADER_PREFERENCE_APPLIED), "wait=20");
    assert_in_range(rn_mono_ns(rn_sim_env(w.sim)) - start, 20000000000LL,
                    20100000000LL);
    send(&w, "GET", DOCS, feed, "");
    w.transport->ops->wait(w.transport, 5000000000LL);
    assert_false(w.is_done);
    service_upsert(w.box, "{\"id\":\"a\",\"pk\":1}");
    w.transport->ops->wait(w.transport, INT64_MAX);
    assert_true(w.is_done);
    assert_int_equal(w.x.status, 200);
    w.service.cannot_wait = true;
    feed[5] = "\"1\"";
    start = rn_mono_ns(rn_sim_env(w.sim));
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 304);
    assert_true(rn_mono_ns(rn_sim_env(w.sim)) - start < 1000000000);
    world_close(&w);
}

static void all_versions_have_envelopes_and_a_retention(void **state)
{
    const struct service_definition d = { .db = "d",
                                          .name = "c",
                                          .key = "/pk",
                                          .retention_min = 10,
                                          .has_previous = true };
    const char *feed[] = { RN_HEADER_A_IM,
                           "Full-Fidelity Feed",
                           RN_HEADER_RANGE_ID,
                           "0",
                           RN_HEADER_IF_NONE_MATCH,
                           "\"0\"",
                           NULL };
    struct world w;

    (void)state;
    world_open(&w, &d);
    service_upsert(w.box, "{\"id\":\"a\",\"pk\":1}");
    service_upsert(w.box, "{\"id\":\"a\",\"pk\":1,\"n\":2}");
    service_delete(w.box, "a", "[1]");
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 200);
    assert_true(body_has(&w, "\"operationType\":\"create\""));
    assert_true(body_has(&w, "\"operationType\":\"replace\","
                             "\"previousImageLSN\":1"));
    assert_true(body_has(&w, "\"current\":{},\"previous\":{\"id\":\"a\""));
    assert_true(body_has(&w, "\"partitionKey\":{\"pk\":1}"));
    rn_sim_run(w.sim, 601LL * 1000000000);
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 400);
    feed[5] = "\"3\"";
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 304);
    feed[4] = NULL;
    assert_int_equal(ask(&w, "GET", DOCS, feed, ""), 400);
    world_close(&w);
}

static void a_request_that_was_given_up_still_arrives(void **state)
{
    const char *key[] = { RN_HEADER_PARTITION_KEY, "[1]", NULL };
    struct world w;

    (void)state;
    world_open(&w, &plain);
    send(&w, "POST", DOCS, key, "{\"id\":\"a\",\"pk\":1}");
    w.transport->ops->cancel(w.transport, &w.x);
    assert_true(w.x.was_sent);
    rn_sim_run(w.sim, 1000000000);
    (void)scripted_step(&w.wire);
    assert_int_equal(w.box->entry_count, 1);
    world_close(&w);
}

/* Of many writes under every fault: what was answered is there, what could not
 * connect is not, and each kind of end occurs. */
static void faults_are_drawn_and_reported_truthfully(void **state)
{
    const char *key[] = { RN_HEADER_PARTITION_KEY, "[1]", NULL };
    unsigned seen[RUNNEL_NO_MEMORY + 1] = { 0 };
    struct world w;

    (void)state;
    world_open(&w, &plain);
    w.wire.faults =
        (struct scripted_faults){ 100, 100, 100, 100, 100, 100, 5000 };
    for (int i = 0; i < 500; i++) {
        const struct service_entry *e;
        char body[64], id[16];
        int status;

        snprintf(id, sizeof(id), "d%d", i);
        snprintf(body, sizeof(body), "{\"id\":\"%s\",\"pk\":1}", id);
        status = ask(&w, "POST", DOCS, key, body);
        e = service_live(w.box, id, "[1]");
        seen[w.x.code]++;
        if (w.x.code == RUNNEL_OK && status == 201)
            assert_non_null(e);
        if (w.x.code == RUNNEL_UNREACHABLE)
            assert_false(w.x.was_sent);
    }
    assert_true(seen[RUNNEL_OK] > 200 && seen[RUNNEL_UNREACHABLE] > 5 &&
                seen[RUNNEL_TIMEOUT] > 5 && seen[RUNNEL_BUSY] > 20);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_compared_and_swapped_by_etag),
        cmocka_unit_test(a_document_expires_with_the_virtual_clock),
        cmocka_unit_test(leases_are_found_by_the_beginning_of_their_id),
        cmocka_unit_test(the_feed_goes_on_after_an_etag_and_through_a_split),
        cmocka_unit_test(a_held_read_is_answered_by_the_change_or_in_the_end),
        cmocka_unit_test(all_versions_have_envelopes_and_a_retention),
        cmocka_unit_test(a_request_that_was_given_up_still_arrives),
        cmocka_unit_test(faults_are_drawn_and_reported_truthfully),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
