/* client_call_test.c -- a call: signed, sent, judged, sent again.
 *
 * Goal: the table of client/http/retry.h, the clock, tokens, regions and
 * sessions.  Method: a network whose answers are written here, in virtual time;
 * what was sent is looked at, and how long the call took.
 */
#include "client/account/call.h"
#include "client/account/container.h"
#include "client/canned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct rn_link link_a = { .kind = RN_KIND_DATABASE,
                                       .depth = 1,
                                       .ids = { { "a", 1 } } };

/* ---- the table ----------------------------------------------------------- */

/* Answers of one call, in turn; the last is repeated. */
struct script {
    struct {
        runnel_code code; /* no answer, sent or not */
        bool was_sent;
        int status, sub_status;
        const char *headers;
    } of[4];
    int count;
};

static void play(struct canned *c, struct rn_exchange *x, int n)
{
    const struct script *s = c->context;
    int at = n < s->count ? n : s->count - 1;

    if (s->of[at].code)
        canned_fail(x, s->of[at].code, s->of[at].was_sent);
    else
        canned_reply(x, s->of[at].status, s->of[at].sub_status,
                     s->of[at].headers ? s->of[at].headers : "",
                     "{\"message\":\"said so\\nand more\"}");
}

#define LOST(sent)                                                             \
    {                                                                          \
        .code = RUNNEL_BUSY, .was_sent = (sent)                                \
    }
#define SAYS(status_, sub)                                                     \
    {                                                                          \
        .status = (status_), .sub_status = (sub)                               \
    }

static const struct {
    const char *name;
    enum rn_effect effect;
    bool is_ranged;
    struct script script;
    runnel_code code;
    int requests;
    int64_t pause_ms; /* all together */
} table[] = {
    { "200", RN_EFFECT_READ, false, { { SAYS(200, 0) }, 1 }, RUNNEL_OK, 1, 0 },
    { "304", RN_EFFECT_READ, false, { { SAYS(304, 0) }, 1 }, RUNNEL_OK, 1, 0 },
    { "no connection, read",
      RN_EFFECT_READ,
      false,
      { { { .code = RUNNEL_UNREACHABLE }, SAYS(200, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "no connection, write",
      RN_EFFECT_WRITE,
      false,
      { { { .code = RUNNEL_UNREACHABLE }, SAYS(201, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "never a connection",
      RN_EFFECT_WRITE,
      false,
      { { { .code = RUNNEL_UNREACHABLE } }, 1 },
      RUNNEL_UNREACHABLE,
      10,
      10 + 20 + 40 + 80 + 160 + 320 + 640 + 2000 },
    { "lost, read",
      RN_EFFECT_READ,
      false,
      { { LOST(true), SAYS(200, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "timeout, read",
      RN_EFFECT_READ,
      false,
      { { { .code = RUNNEL_TIMEOUT, .was_sent = true }, SAYS(200, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "lost, write",
      RN_EFFECT_WRITE,
      false,
      { { LOST(true), SAYS(201, 0) }, 2 },
      RUNNEL_UNCERTAIN,
      1,
      0 },
    { "lost before it was sent, write",
      RN_EFFECT_WRITE,
      false,
      { { LOST(false), SAYS(201, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "lost, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true), SAYS(200, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "lost twice, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true) }, 1 },
      RUNNEL_UNCERTAIN,
      2,
      10 },
    { "lost and then 412, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true), SAYS(412, 0) }, 2 },
      RUNNEL_UNCERTAIN,
      2,
      10 },
    { "lost and then 404, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true), SAYS(404, 0) }, 2 },
      RUNNEL_UNCERTAIN,
      2,
      10 },
    { "lost and then no connection, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true), { .code = RUNNEL_UNREACHABLE } }, 2 },
      RUNNEL_UNCERTAIN,
      10,
      10 + 20 + 40 + 80 + 160 + 320 + 640 + 2000 },
    { "lost and then 429 for too long, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true),
          { .status = 429, .headers = "x-ms-retry-after-ms: 30001" } },
        2 },
      RUNNEL_UNCERTAIN,
      2,
      10 },
    { "lost and then 400, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { LOST(true), SAYS(400, 0) }, 2 },
      RUNNEL_BAD_REQUEST,
      2,
      10 },
    { "412, guarded",
      RN_EFFECT_GUARDED,
      false,
      { { SAYS(412, 0) }, 1 },
      RUNNEL_PRECONDITION,
      1,
      0 },
    { "500, read",
      RN_EFFECT_READ,
      false,
      { { SAYS(500, 0), SAYS(502, 0), SAYS(504, 0), SAYS(200, 0) }, 4 },
      RUNNEL_OK,
      4,
      70 },
    { "408, read",
      RN_EFFECT_READ,
      false,
      { { SAYS(408, 0), SAYS(200, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "500, write",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(500, 0) }, 1 },
      RUNNEL_UNCERTAIN,
      1,
      0 },
    { "502, write",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(502, 0) }, 1 },
      RUNNEL_UNCERTAIN,
      1,
      0 },
    { "429, write",
      RN_EFFECT_WRITE,
      false,
      { { { .status = 429, .headers = "x-ms-retry-after-ms: 77" },
          SAYS(201, 0) },
        2 },
      RUNNEL_OK,
      2,
      77 },
    { "429 for longer than may be waited",
      RN_EFFECT_READ,
      false,
      { { { .status = 429, .headers = "x-ms-retry-after-ms: 30001" } }, 1 },
      RUNNEL_THROTTLED,
      1,
      0 },
    { "449, write",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(449, 0), SAYS(201, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "503, write",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(503, 0), SAYS(201, 0) }, 2 },
      RUNNEL_OK,
      2,
      10 },
    { "410/1000, 410/1008, 404/1013",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(410, 1000), SAYS(410, 1008), SAYS(404, 1013), SAYS(201, 0) },
        4 },
      RUNNEL_OK,
      4,
      70 },
    { "410/1002, 410/1007",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(410, 1002), SAYS(410, 1007), SAYS(201, 0) }, 3 },
      RUNNEL_OK,
      3,
      30 },
    { "410/1002, of a range",
      RN_EFFECT_READ,
      true,
      { { SAYS(410, 1002) }, 1 },
      RUNNEL_GONE,
      1,
      0 },
    { "404/1002",
      RN_EFFECT_READ,
      false,
      { { SAYS(404, 1002) }, 1 },
      RUNNEL_BUSY,
      4,
      65 },
    { "404/1003",
      RN_EFFECT_READ,
      false,
      { { SAYS(404, 1003) }, 1 },
      RUNNEL_NOT_FOUND,
      2,
      0 },
    { "400/1024",
      RN_EFFECT_READ,
      false,
      { { SAYS(400, 1024), SAYS(200, 0) }, 2 },
      RUNNEL_OK,
      2,
      0 },
    { "404",
      RN_EFFECT_READ,
      false,
      { { SAYS(404, 0) }, 1 },
      RUNNEL_NOT_FOUND,
      1,
      0 },
    { "409",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(409, 0) }, 1 },
      RUNNEL_CONFLICT,
      1,
      0 },
    { "413",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(413, 0) }, 1 },
      RUNNEL_TOO_LARGE,
      1,
      0 },
    { "401",
      RN_EFFECT_READ,
      false,
      { { SAYS(401, 0) }, 1 },
      RUNNEL_UNAUTHORIZED,
      1,
      0 },
    { "403",
      RN_EFFECT_READ,
      false,
      { { SAYS(403, 0) }, 1 },
      RUNNEL_FORBIDDEN,
      1,
      0 },
    { "a redirect",
      RN_EFFECT_READ,
      false,
      { { SAYS(302, 0) }, 1 },
      RUNNEL_PROTOCOL,
      1,
      0 },
    { "a redirect of a write",
      RN_EFFECT_WRITE,
      false,
      { { SAYS(307, 0) }, 1 },
      RUNNEL_UNCERTAIN,
      1,
      0 },
    { "a status of no meaning",
      RN_EFFECT_READ,
      false,
      { { SAYS(799, 0) }, 1 },
      RUNNEL_BUSY,
      10,
      10 + 20 + 40 + 80 + 160 + 320 + 640 + 2000 },
    { "an answer too large, write",
      RN_EFFECT_WRITE,
      false,
      { { { .code = RUNNEL_TOO_LARGE, .was_sent = true } }, 1 },
      RUNNEL_UNCERTAIN,
      1,
      0 },
};

static void every_outcome_is_judged_as_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rn_account *account = NULL;
        runnel_error error = { 0 };
        struct canned net;
        struct rn_client_call call;
        int64_t begun;
        runnel_code rc;

        canned_init(&net, play, (void *)(uintptr_t)&table[i].script);
        assert_int_equal(canned_open(&net, NULL, &account, &error), RUNNEL_OK);
        begun = net.mono_ns;
        rn_client_call_init(&call, account, "GET", table[i].effect, &link_a);
        call.request.range = table[i].is_ranged ? "0" : NULL;
        rc = rn_client_call_run(&call, &error);
        if (rc != table[i].code || net.requests != table[i].requests)
            fail_msg("%s: %s after %d requests", table[i].name,
                     runnel_code_name(rc), net.requests);
        assert_true(
            llabs((net.mono_ns - begun) / 1000000 - table[i].pause_ms) <= 1);
        assert_int_equal(error.code, rc);
        if (rc && table[i].script.of[0].status)
            assert_string_equal(error.message, "said so");
        rn_client_call_release(&call);
        rn_account_unref(account);
    }
}

static void a_write_that_was_lost_is_uncertain_when_cancelled(void **state)
{
    struct script script = { { LOST(true) }, 1 };
    struct rn_account *account = NULL;
    struct rn_transport *t = NULL;
    runnel_error error = { 0 };
    struct rn_client_call call;
    struct canned net;

    (void)state;
    canned_init(&net, play, &script);
    assert_int_equal(canned_open(&net, NULL, &account, &error), RUNNEL_OK);
    assert_int_equal(rn_pool_take_own(rn_account_pool(account), &t, &error),
                     RUNNEL_OK);
    rn_client_call_init(&call, account, "PUT", RN_EFFECT_GUARDED, &link_a);
    rn_client_call_begin(&call, t);
    (void)t->ops->step(t, 0);
    assert_int_equal(net.requests, 1);
    /* Now it pauses before the second attempt. */
    assert_true(rn_client_call_step(&call) > 0);
    rn_client_call_cancel(&call);
    assert_int_equal(call.code, RUNNEL_UNCERTAIN);
    assert_int_equal(call.error.code, RUNNEL_UNCERTAIN);
    rn_client_call_release(&call);
    rn_pool_give(rn_account_pool(account), t);
    rn_account_unref(account);
}

/* ---- the clock ----------------------------------------------------------- */

static char dates[3][40];

static void refuse_the_date(struct canned *c, struct rn_exchange *x, int n)
{
    (void)c;
    snprintf(dates[n], sizeof(dates[n]), "%s",
             rn_headers_find(&x->headers, "x-ms-date").at);
    if (n == 0)
        canned_reply(x, 403, 0, "date: Fri, 15 Jan 2027 12:00:00 GMT", "");
    else
        canned_reply(x, 200, 0, "", "{}");
}

static void a_clock_that_is_far_off_is_corrected_once(void **state)
{
    struct rn_account *account = NULL;
    runnel_error error = { 0 };
    struct canned net;
    struct rn_client_call call;

    (void)state;
    canned_init(&net, refuse_the_date, NULL);
    assert_int_equal(canned_open(&net, NULL, &account, &error), RUNNEL_OK);
    for (int i = 0; i < 2; i++) {
        rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &link_a);
        assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_OK);
        rn_client_call_release(&call);
    }
    assert_int_equal(net.requests, 3);
    assert_string_equal(dates[0], "Fri, 15 Jan 2027 08:00:00 GMT");
    assert_string_equal(dates[1], "Fri, 15 Jan 2027 12:00:00 GMT");
    assert_string_equal(dates[2], "Fri, 15 Jan 2027 12:00:00 GMT");
    rn_account_unref(account);
}

/* ---- tokens -------------------------------------------------------------- */

struct giver {
    int asked;
    bool fails;
    char text[40];
};

static runnel_code give_token(void *context, runnel_token *out,
                              runnel_error *error)
{
    struct giver *g = context;

    g->asked++;
    snprintf(g->text, sizeof(g->text), "sesame/%d", g->asked);
    out->text = g->text;
    out->expires_ms = INT64_C(1800000000000) + 20 * 60 * 1000;
    if (g->fails) {
        snprintf(error->message, sizeof(error->message), "no login");
        return RUNNEL_UNREACHABLE;
    }
    return RUNNEL_OK;
}

static void take_the_second(struct canned *c, struct rn_exchange *x, int n)
{
    struct rn_view sent = rn_headers_find(&x->headers, "authorization");
    const char *second = "type%3daad%26ver%3d1.0%26sig%3dsesame%2f2";

    (void)c;
    (void)n;
    if (rn_view_eq(sent, rn_view_text(second)))
        canned_reply(x, 200, 0, "", "{}");
    else
        canned_reply(x, 401, 0, "", "{\"message\":\"no\"}");
}

static void a_bearer_token_is_got_when_it_is_needed(void **state)
{
    struct giver giver = { 0 };
    runnel_client_options o = { RUNNEL_CLIENT_INIT,
                                .endpoint = "https://example.org:443/",
                                .token = give_token, .token_context = &giver };
    struct rn_account *account = NULL;
    runnel_error error = { 0 };
    struct canned net;
    struct rn_client_call call;

    (void)state;
    canned_init(&net, take_the_second, NULL);
    assert_int_equal(canned_open(&net, &o, &account, &error), RUNNEL_OK);
    for (int i = 0; i < 2; i++) {
        rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &link_a);
        assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_OK);
        rn_client_call_release(&call);
        assert_int_equal(giver.asked, 2); /* a 401 asks again, once */
    }
    net.mono_ns += INT64_C(16) * 60 * 1000 * 1000 * 1000;
    rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &link_a);
    assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_UNAUTHORIZED);
    assert_int_equal(giver.asked, 4); /* near its end, and after the 401 */
    assert_null(strstr(error.message, "sesame"));
    rn_client_call_release(&call);
    giver.fails = true;
    rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &link_a);
    assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_UNREACHABLE);
    assert_string_equal(error.message, "no login");
    rn_client_call_release(&call);
    rn_account_unref(account);
}

static void check_resource_token(struct canned *c, struct rn_exchange *x, int n)
{
    (void)c;
    (void)n;
    assert_string_equal(
        rn_headers_find(&x->headers, "authorization").at,
        "type%3dresource%26ver%3d1%26sig%3dab%2b%2f%3d%3d%3bcd");
    canned_reply(x, 200, 0, "", "{}");
}

static void a_resource_token_is_sent_escaped(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT,
                                .endpoint = "https://example.org",
                                .resource_token =
                                    "type=resource&ver=1&sig=ab+/==;cd" };
    struct rn_account *account = NULL;
    runnel_error error = { 0 };
    struct canned net;
    struct rn_client_call call;

    (void)state;
    canned_init(&net, check_resource_token, NULL);
    assert_int_equal(canned_open(&net, &o, &account, &error), RUNNEL_OK);
    rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &link_a);
    assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_OK);
    rn_client_call_release(&call);
    rn_account_unref(account);
}

/* ---- regions ------------------------------------------------------------- */

static const char account_body[] =
    "{\"writableLocations\":[{\"name\":\"West Europe\","
    "\"databaseAccountEndpoint\":\"https://we:443/\"}],"
    "\"readableLocations\":[{\"name\":\"West Europe\","
    "\"databaseAccountEndpoint\":\"https://we:443/\"},"
    "{\"name\":\"North Europe\",\"databaseAccountEndpoint\":\"https://ne:443\"}"
    "],\"userConsistencyPolicy\":{\"defaultConsistencyLevel\":\"Session\"}}";

struct world {
    bool north_is_down;
    char asked[20][64];
    int count;
};

static void be_a_region(struct canned *c, struct rn_exchange *x, int n)
{
    struct world *w = c->context;

    (void)n;
    snprintf(w->asked[w->count++ % 20], 64, "%s", x->url.at);
    if (strcmp(x->url.at, "http://localhost:1/") == 0 ||
        strcmp(x->url.at, "https://ne:443/") == 0 ||
        strcmp(x->url.at, "https://we:443/") == 0)
        canned_reply(x, 200, 0, "", account_body);
    else if (w->north_is_down && strstr(x->url.at, "//ne:"))
        canned_fail(x, RUNNEL_UNREACHABLE, false);
    else
        canned_reply(x, 200, 0, "", "{}");
}

static void ask(struct rn_account *account, enum rn_effect effect)
{
    runnel_error error = { 0 };
    struct rn_client_call call;

    rn_client_call_init(&call, account,
                        effect == RN_EFFECT_READ ? "GET" : "DELETE", effect,
                        &link_a);
    assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_OK);
    rn_client_call_release(&call);
}

static void
reads_go_to_the_preferred_region_and_past_one_that_is_down(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT,
                                .preferred_regions =
                                    "northeurope,West Europe" };
    struct world w = { 0 };
    struct rn_account *account = NULL;
    runnel_error error = { 0 };
    struct canned net;

    (void)state;
    canned_init(&net, be_a_region, &w);
    assert_int_equal(canned_open(&net, &o, &account, &error), RUNNEL_OK);
    ask(account, RN_EFFECT_READ);
    assert_int_equal(w.count, 2);
    assert_string_equal(w.asked[0], "http://localhost:1/");
    assert_string_equal(w.asked[1], "https://ne:443/dbs/a");
    ask(account, RN_EFFECT_WRITE);
    assert_string_equal(w.asked[2], "https://we:443/dbs/a");
    w.north_is_down = true;
    ask(account, RN_EFFECT_READ);
    assert_string_equal(w.asked[3], "https://ne:443/dbs/a");
    assert_string_equal(w.asked[w.count - 1], "https://we:443/dbs/a");
    ask(account, RN_EFFECT_READ); /* passed over from now on */
    assert_string_equal(w.asked[w.count - 1], "https://we:443/dbs/a");
    w.north_is_down = false;
    net.mono_ns += INT64_C(6) * 60 * 1000 * 1000 * 1000;
    ask(account, RN_EFFECT_READ);
    assert_string_equal(w.asked[w.count - 1], "https://ne:443/dbs/a");
    rn_account_unref(account);
}

/* ---- sessions ------------------------------------------------------------ */

static char sent_token[3][80];

static void keep_session(struct canned *c, struct rn_exchange *x, int n)
{
    struct rn_view sent = rn_headers_find(&x->headers, "x-ms-session-token");

    (void)c;
    snprintf(sent_token[n % 3], 80, "%s", sent.at ? sent.at : "");
    if (n == 0)
        canned_reply(x, 201, 0,
                     "x-ms-session-token: 0:-1#15\n"
                     "x-ms-content-path: AbcdAKzQ9AY=",
                     "{}");
    else
        canned_reply(x, 200, 0, "x-ms-session-token: 1:-1#9", "{}");
}

static void what_was_written_is_asked_for(void **state)
{
    struct rn_account *account = NULL;
    struct rn_client_container *c = NULL, *other = NULL;
    runnel_error error = { 0 };
    struct canned net;
    struct rn_client_call call;
    struct rn_link link;

    (void)state;
    canned_init(&net, keep_session, NULL);
    assert_int_equal(canned_open(&net, NULL, &account, &error), RUNNEL_OK);
    assert_int_equal(rn_client_container_open(account, "d", "c", &c, &error),
                     RUNNEL_OK);
    assert_int_equal(
        rn_client_container_open(account, "d", "o", &other, &error), RUNNEL_OK);
    for (int i = 0; i < 3; i++) {
        struct rn_client_container *of = i == 2 ? other : c;
        link = rn_client_container_item(of, "1");
        rn_client_call_init(&call, account, i == 0 ? "PUT" : "GET",
                            i == 0 ? RN_EFFECT_WRITE : RN_EFFECT_READ, &link);
        call.request.container = of;
        assert_int_equal(rn_client_call_run(&call, &error), RUNNEL_OK);
        rn_client_call_release(&call);
    }
    assert_string_equal(sent_token[0], "");
    assert_string_equal(sent_token[1], "0:-1#15");
    assert_string_equal(sent_token[2], ""); /* another container's */
    rn_client_container_unref(c);
    rn_client_container_unref(other);
    rn_account_unref(account);
}

static void a_child_range_inherits_the_token_of_its_parents(void **state)
{
    struct rn_sessions *s = NULL;
    const char *parents[] = { "0", "1" };
    struct rn_range_route route = { .id = "7",
                                    .parents = parents,
                                    .parent_count = 2 };
    struct rn_buf out = RN_BUF_INIT(1000);
    runnel_error error = { 0 };

    (void)state;
    assert_int_equal(rn_sessions_new(&s, &error), RUNNEL_OK);
    assert_int_equal(rn_sessions_note(s, RN_LIT("c"), RN_LIT("rid1"),
                                      RN_LIT("0:-1#15,1:-1#30,2:-1#99")),
                     RN_OK);
    assert_int_equal(rn_sessions_print(s, RN_LIT("c"), &route, &out), RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&out), RN_LIT("7:-1#30")));
    rn_buf_clear(&out);
    /* Its own is newer than any of theirs. */
    assert_int_equal(
        rn_sessions_note(s, RN_LIT("c"), RN_LIT("rid1"), RN_LIT("7:-1#31")),
        RN_OK);
    assert_int_equal(rn_sessions_print(s, RN_LIT("c"), &route, &out), RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&out), RN_LIT("7:-1#31")));
    rn_buf_clear(&out);
    /* A container of another rid is another. */
    assert_int_equal(
        rn_sessions_note(s, RN_LIT("c"), RN_LIT("rid2"), RN_LIT("0:-1#1")),
        RN_OK);
    assert_int_equal(rn_sessions_print(s, RN_LIT("c"), NULL, &out), RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&out), RN_LIT("0:-1#1")));
    rn_buf_release(&out);
    rn_sessions_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome_is_judged_as_the_table_says),
        cmocka_unit_test(a_write_that_was_lost_is_uncertain_when_cancelled),
        cmocka_unit_test(a_clock_that_is_far_off_is_corrected_once),
        cmocka_unit_test(a_bearer_token_is_got_when_it_is_needed),
        cmocka_unit_test(a_resource_token_is_sent_escaped),
        cmocka_unit_test(
            reads_go_to_the_preferred_region_and_past_one_that_is_down),
        cmocka_unit_test(what_was_written_is_asked_for),
        cmocka_unit_test(a_child_range_inherits_the_token_of_its_parents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
