/* canned.c -- see canned.h. */
#include "client/canned.h"

#include <stdio.h>

static struct canned *of_env(struct rn_env *env)
{
    return (struct canned *)(void *)((char *)env -
                                     offsetof(struct canned, env));
}

static int64_t mono_ns(struct rn_env *env)
{
    return of_env(env)->mono_ns;
}

static int64_t wall_ms(struct rn_env *env)
{
    return of_env(env)->wall_ms + of_env(env)->mono_ns / 1000000;
}

static void pass(struct rn_env *env, int64_t ns)
{
    of_env(env)->mono_ns += ns;
}

/* ---- the transport ------------------------------------------------------- */

/* All transports of a network are one: there is one thread. */
static struct {
    struct rn_transport base;
    struct canned *canned;
} only;

static void start(struct rn_transport *t, struct rn_exchange *x)
{
    (void)t;
    rn_exchange_reset(x);
    x->running = &only;
    x->next = only.canned->waiting;
    only.canned->waiting = x;
}

static void cancel(struct rn_transport *t, struct rn_exchange *x)
{
    struct rn_exchange **at = &only.canned->waiting;

    (void)t;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    x->running = NULL;
}

static int64_t step(struct rn_transport *t, int64_t wait_ns)
{
    struct canned *c = only.canned;

    (void)t;
    if (!c->waiting && wait_ns < RN_TASK_IDLE)
        c->mono_ns += wait_ns;
    while (c->waiting) {
        struct rn_exchange *x = c->waiting;
        c->waiting = x->next;
        x->running = NULL;
        x->was_sent = true;
        c->answer(c, x, c->requests++);
        x->done(x);
    }
    return 0;
}

static void wait_for(struct rn_transport *t, int64_t wait_ns)
{
    step(t, wait_ns);
}

static void nothing(struct rn_transport *t)
{
    (void)t;
}

static const struct rn_transport_ops transport_ops = {
    .name = "canned",
    .start = start,
    .cancel = cancel,
    .step = step,
    .wait = wait_for,
    .wake = nothing,
    .close = nothing,
};

static runnel_code open_transport(struct rn_network *n,
                                  struct rn_transport **out,
                                  runnel_error *error)
{
    (void)error;
    only.base.ops = &transport_ops;
    only.canned = (struct canned *)(void *)n;
    *out = &only.base;
    return RUNNEL_OK;
}

static void close_network(struct rn_network *n)
{
    (void)n;
}

static const struct rn_network_ops network_ops = {
    .open = open_transport,
    .close = close_network,
};

void canned_init(struct canned *c, canned_fn *answer, void *context)
{
    *c = (struct canned){ .answer = answer, .context = context };
    c->ops = *rn_env_real()->ops;
    c->ops.mono_ns = mono_ns;
    c->ops.wall_ms = wall_ms;
    c->ops.sleep = pass;
    c->env.ops = &c->ops;
    c->mono_ns = 1;
    c->wall_ms = INT64_C(1800000000000);
    c->network.ops = &network_ops;
    c->network.env = &c->env;
}

runnel_code canned_open(struct canned *c, const runnel_client_options *options,
                        struct rn_account **out, runnel_error *error)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };

    if (options)
        o = *options;
    if (!o.endpoint && !o.connection_string)
        o.endpoint = "http://localhost:1";
    return rn_account_open(&o, &c->network, out, error);
}

/* ---- answers ------------------------------------------------------------- */

void canned_fail(struct rn_exchange *x, runnel_code code, bool was_sent)
{
    x->code = code;
    x->was_sent = was_sent;
    snprintf(x->why, sizeof(x->why), "canned");
}

static runnel_code add_headers(struct rn_exchange *x, const char *headers)
{
    runnel_code rc = RUNNEL_OK;

    while (!rc && *headers) {
        size_t len = strcspn(headers, "\n");
        const char *colon = memchr(headers, ':', len);
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)(colon - headers), headers);
        rc = rn_headers_add(
            &x->answer_headers, name,
            rn_view_of(colon + 2, len - (size_t)(colon + 2 - headers)), NULL);
        headers += len + (headers[len] == '\n');
    }
    return rc;
}

void canned_reply(struct rn_exchange *x, int status, int sub_status,
                  const char *headers, const char *body)
{
    x->status = status;
    x->sub_status = sub_status;
    if (add_headers(x, headers) || rn_buf_add(&x->answer, rn_view_text(body)))
        canned_fail(x, RUNNEL_NO_MEMORY, true);
}
