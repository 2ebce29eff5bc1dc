/* dotnet_call.c -- a request of the .NET host, and how its SDK tries again; see
 * dotnet_own.h. */
#include "client/dotnet_own.h"

#include "cosmos/header.h"
#include "cosmos/status.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    THROTTLED_MAX = 9,
    RETRY_WITH_MAX = 15,
    UNANSWERED_MAX = 3,
    TIMEOUT_MS = 6000,
};

static void must(int failed)
{
    if (failed)
        abort();
}

static void on_done(struct rn_exchange *x)
{
    struct dotnet_call *c = x->context;

    c->has_answer = true;
}

void dotnet_call_init(struct dotnet_call *c, struct dotnet_peer *peer)
{
    *c = (struct dotnet_call){ .peer = peer };
    rn_exchange_init(&c->x, DOTNET_BODY_MAX);
    c->x.done = on_done;
    c->x.context = c;
    c->body = RN_BUF_INIT(DOTNET_BODY_MAX);
}

void dotnet_call_cancel(struct dotnet_call *c)
{
    struct rn_transport *t = c->peer->transport;

    if (c->state == CALL_SENT && !c->has_answer)
        t->ops->cancel(t, &c->x);
    c->state = CALL_IDLE;
}

void dotnet_call_release(struct dotnet_call *c)
{
    dotnet_call_cancel(c);
    rn_exchange_release(&c->x);
    rn_buf_release(&c->body);
}

void dotnet_call_begin(struct dotnet_call *c, const char *method,
                       const char *path)
{
    if (c->state != CALL_IDLE)
        abort();
    rn_headers_clear(&c->x.headers);
    rn_buf_clear(&c->x.url);
    rn_buf_clear(&c->body);
    must(rn_buf_printf(&c->x.url, "http://%s:1%s", c->peer->o.account, path) ||
         rn_buf_add(&c->x.url, RN_LIT("\0")));
    c->x.method = method;
    c->x.timeout_ms = TIMEOUT_MS;
    c->is_feed = false;
    c->is_read = strcmp(method, "GET") == 0;
    c->tries = 0;
}

void dotnet_call_header(struct dotnet_call *c, const char *name,
                        const char *value)
{
    must(rn_headers_add(&c->x.headers, name, rn_view_text(value), NULL) != 0);
}

static void start(struct dotnet_call *c)
{
    struct rn_transport *t = c->peer->transport;

    c->x.body = rn_buf_view(&c->body);
    c->state = CALL_SENT;
    c->has_answer = false;
    c->tries++;
    t->ops->start(t, &c->x);
}

void dotnet_call_send(struct dotnet_call *c)
{
    start(c);
}

const char *dotnet_call_etag(const struct dotnet_call *c)
{
    struct rn_view etag = rn_headers_find(&c->x.answer_headers, RN_HEADER_ETAG);

    return etag.at ? etag.at : "";
}

/* Milliseconds until the SDK tries again; -1: it does not. */
static int64_t retry_ms(const struct dotnet_call *c)
{
    struct rn_view after =
        rn_headers_find(&c->x.answer_headers, RN_HEADER_RETRY_AFTER_MS);

    if (c->x.code)
        return (c->is_read || !c->x.was_sent) && c->tries < UNANSWERED_MAX ? 500
                                                                           : -1;
    if (c->x.status == 429 && c->tries <= THROTTLED_MAX)
        return after.at ? strtol(after.at, NULL, 10) : 100;
    if (c->x.status == 449 && c->tries <= RETRY_WITH_MAX &&
        !dotnet_is_v2(c->peer))
        return 10 * (int64_t)c->tries;
    if (c->x.status == 410 && !c->is_feed && c->tries < UNANSWERED_MAX)
        return 100;
    return -1;
}

bool dotnet_call_take(struct dotnet_call *c, int *status)
{
    int64_t now = rn_mono_ns(c->peer->env);
    int64_t pause;

    if (c->state == CALL_PAUSED && c->due_ns <= now)
        start(c);
    if (c->state != CALL_SENT || !c->has_answer)
        return false;
    pause = retry_ms(c);
    if (pause >= 0) {
        c->state = CALL_PAUSED;
        c->due_ns = now + pause * 1000000;
        return false;
    }
    c->state = CALL_IDLE;
    *status = c->x.code ? 0 : c->x.status;
    return true;
}

/* ---- requests of the lease container ------------------------------------- */

static void key_header(struct dotnet_call *c, const char *key)
{
    char text[DOTNET_ID_MAX + 8];

    snprintf(text, sizeof(text), "[\"%s\"]", key);
    dotnet_call_header(c, RN_HEADER_PARTITION_KEY, text);
}

void dotnet_call_lease(struct dotnet_call *c, const char *method,
                       const char *id, const char *key)
{
    const struct dotnet_options *o = &c->peer->o;
    char path[DOTNET_PATH_MAX + DOTNET_ID_MAX];

    snprintf(path, sizeof(path), "/dbs/%s/colls/%s/docs/%s", o->db, o->leases,
             id);
    dotnet_call_begin(c, method, path);
    key_header(c, key);
}

void dotnet_leases_path(const struct dotnet_peer *p, char *out)
{
    bool is_v2 = dotnet_is_v2(p);

    snprintf(out, DOTNET_PATH_MAX, "/dbs/%s/colls/%s/docs",
             is_v2 ? p->db_rid : p->o.db, is_v2 ? p->leases_rid : p->o.leases);
}

void dotnet_call_create(struct dotnet_call *c, const char *key, bool is_minimal)
{
    char path[DOTNET_PATH_MAX];

    dotnet_leases_path(c->peer, path);
    dotnet_call_begin(c, "POST", path);
    key_header(c, key);
    if (is_minimal && !dotnet_is_v2(c->peer))
        dotnet_call_header(c, RN_HEADER_PREFER, "return=minimal");
}
