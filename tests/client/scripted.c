/* scripted.c -- see scripted.h. */
#include "client/scripted.h"

#include "cosmos/header.h"

#include <stdio.h>
#include <stdlib.h>

struct end {                   /* a client's network */
    struct rn_network network; /* first */
    struct scripted *wire;
    bool is_cut;
    int sender;
    void (*wake)(void *context);
    void *context;
};

struct carrier {                   /* a transport */
    struct rn_transport transport; /* first */
    struct end *end;
    bool is_woken;
};

enum flight_state {
    FLIGHT_OUT,  /* on its way to the service */
    FLIGHT_HELD, /* the service waits for a change */
    FLIGHT_BACK, /* on its way to the client */
};

enum flight_fate {
    FATE_NONE,
    FATE_UNREACHABLE, /* no connection */
    FATE_LOST,        /* the request vanishes */
    FATE_UNANSWERED,  /* the answer vanishes */
    FATE_TRUNCATED,
    FATE_REFUSED, /* the service is not asked */
};

struct scripted_flight {
    struct scripted_flight *next;
    struct carrier *carrier; /* NULL: nobody waits for the answer */
    struct rn_exchange *x;
    enum flight_state state;
    enum flight_fate fate;
    int refusal; /* REFUSED: the status */
    int sender;
    int64_t sent_ns;
    int64_t due_ns;      /* when it leaves its state */
    int64_t deadline_ns; /* of the client */
    uint64_t version;    /* HELD: of the service */
    struct rn_buf lines, path, body;
    struct service_header headers[SERVICE_HEADERS_MAX];
    struct service_request q;
    struct service_answer a;
};

static void guard(struct scripted *w, bool is_inside)
{
    if (w->guard)
        w->guard(is_inside);
}

static int64_t now_of(const struct scripted *w)
{
    return rn_mono_ns(w->service->env);
}

static int64_t latency(struct scripted *w)
{
    return 1 + (int64_t)rn_prng_below(&w->prng, (uint64_t)w->latency_ns);
}

static bool happens(struct scripted *w, unsigned per_mille)
{
    return per_mille && rn_prng_below(&w->prng, 1000) < per_mille;
}

/* ---- flights ------------------------------------------------------------- */

static void must(enum rn_code rc)
{
    if (rc)
        abort();
}

/* Copies the request: the client may forget it while it is under way. */
static void flight_fill(struct scripted_flight *f, const struct rn_exchange *x)
{
    const char *host = strstr(x->url.at, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    struct rn_view rest;
    const char *line;

    must(rn_buf_add(&f->lines, rn_buf_view(&x->headers.lines)));
    must(rn_buf_add(&f->body, x->body));
    must(rn_buf_add(&f->path, rn_view_text(path ? path : "/")));
    f->q = (struct service_request){
        .method = rn_view_text(x->method),
        .path = rn_buf_view(&f->path),
        .headers = f->headers,
        .body = rn_buf_view(&f->body),
    };
    rest = rn_buf_view(&f->lines);
    while ((line = rn_headers_next(&rest)) != NULL) {
        const char *colon = strchr(line, ':');
        struct service_header *h = &f->headers[f->q.header_count];

        if (!colon || f->q.header_count == SERVICE_HEADERS_MAX)
            abort();
        h->name = rn_view_of(line, (size_t)(colon - line));
        h->value = rn_view_text(colon + 1 + (colon[1] == ' '));
        f->q.header_count++;
    }
}

static struct scripted_flight *flight_new(struct scripted *w,
                                          const struct rn_exchange *x)
{
    struct scripted_flight *f = rn_new(sizeof(*f));
    struct scripted_flight **end = &w->flights;

    if (!f)
        abort();
    f->lines = RN_BUF_INIT(RN_HEADERS_MAX);
    f->path = RN_BUF_INIT(1 << 16);
    f->body = RN_BUF_INIT(SERVICE_BODY_MAX);
    f->a = SERVICE_ANSWER_INIT;
    f->sent_ns = now_of(w);
    f->due_ns = f->sent_ns + latency(w);
    flight_fill(f, x);
    while (*end)
        end = &(*end)->next;
    *end = f;
    return f;
}

static void flight_free(struct scripted *w, struct scripted_flight *f)
{
    struct scripted_flight **at = &w->flights;

    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    rn_buf_release(&f->lines);
    rn_buf_release(&f->path);
    rn_buf_release(&f->body);
    service_answer_release(&f->a);
    rn_free(f);
}

static void fate_draw(struct scripted *w, struct scripted_flight *f)
{
    static const int statuses[] = { 408, 410, 429, 449, 503 };
    const struct scripted_faults *faults = &w->faults;

    if (happens(w, faults->lose_request))
        f->fate = rn_prng_percent(&w->prng, 50) ? FATE_UNREACHABLE : FATE_LOST;
    else if (happens(w, faults->lose_answer))
        f->fate = FATE_UNANSWERED;
    else if (happens(w, faults->truncate))
        f->fate = FATE_TRUNCATED;
    else if (happens(w, faults->refuse)) {
        f->fate = FATE_REFUSED;
        f->refusal = statuses[rn_prng_below(&w->prng, 5)];
    }
    if (happens(w, faults->delay))
        f->due_ns +=
            (int64_t)rn_prng_below(&w->prng, faults->delay_ms + 1) * 1000000;
}

/* What a gateway says of itself.  A 408 may hide that the service did it. */
static void refuse(struct scripted *w, struct scripted_flight *f)
{
    if (f->refusal == 408 && rn_prng_percent(&w->prng, 50))
        service_handle(w->service, &f->q, false, &f->a);
    f->a.header_count = 0;
    service_refuse(&f->a, f->refusal,
                   f->refusal == 410   ? 1002
                   : f->refusal == 429 ? 3200
                                       : 0,
                   "Not now.");
    if (f->refusal == 429)
        service_say(&f->a, RN_HEADER_RETRY_AFTER_MS, "%lu",
                    (unsigned long)rn_prng_below(&w->prng, 100));
}

static void wake(struct scripted_flight *f)
{
    struct end *end = f->carrier ? f->carrier->end : NULL;

    if (end && end->wake)
        end->wake(end->context);
}

/* The request reaches the service, or is looked at again there. */
static void arrive(struct scripted *w, struct scripted_flight *f, bool may_hold)
{
    bool is_answered;

    w->sender = f->sender;
    w->sent_ns = f->sent_ns;
    if (f->fate == FATE_REFUSED) {
        refuse(w, f);
    } else {
        is_answered = w->before && w->before(w->context, &f->q, &f->a);
        if (!is_answered)
            service_handle(w->service, &f->q, may_hold, &f->a);
        if (w->after && f->a.status)
            w->after(w->context, &f->q, &f->a);
    }
    if (f->a.status == 0) {
        if (f->state != FLIGHT_HELD)
            f->due_ns = now_of(w) + f->a.held_ms * 1000000;
        f->state = FLIGHT_HELD;
        f->version = w->service->version;
        return;
    }
    f->state = FLIGHT_BACK;
    f->due_ns = now_of(w) + latency(w);
    wake(f);
}

/* Is there anything that the wire itself has to do with it now? */
static bool is_ripe(const struct scripted *w, const struct scripted_flight *f)
{
    if (f->state == FLIGHT_HELD && f->version != w->service->version)
        return true;
    return f->state != FLIGHT_BACK && f->due_ns <= now_of(w);
}

/* Moves one flight; true if it moved or ended. */
static bool flight_run(struct scripted *w, struct scripted_flight *f)
{
    if (!f->carrier && f->state != FLIGHT_OUT) {
        flight_free(w, f);
        return true;
    }
    if (!is_ripe(w, f))
        return false;
    if (f->state == FLIGHT_OUT &&
        (f->fate == FATE_LOST || f->fate == FATE_UNREACHABLE)) {
        f->state = FLIGHT_BACK;
        f->due_ns = f->fate == FATE_LOST ? f->deadline_ns : f->due_ns;
        wake(f);
    } else {
        arrive(w, f,
               f->carrier &&
                   !(f->state == FLIGHT_HELD && f->due_ns <= now_of(w)));
    }
    return true;
}

int64_t scripted_step(struct scripted *w)
{
    int64_t now = now_of(w), next = RN_TASK_IDLE;
    bool moved = true;

    guard(w, true);
    while (moved) {
        moved = false;
        for (struct scripted_flight *f = w->flights, *after; f; f = after) {
            after = f->next;
            moved |= flight_run(w, f);
        }
    }
    for (struct scripted_flight *f = w->flights; f; f = f->next) {
        if (f->state != FLIGHT_BACK && f->due_ns - now < next)
            next = f->due_ns - now;
    }
    guard(w, false);
    return next;
}

/* ---- the client's side --------------------------------------------------- */

/* Copies an answer as a transport would: what fails here is the client's. */
static runnel_code hand_over(struct rn_exchange *x,
                             const struct service_answer *a, bool is_cut)
{
    runnel_code code = RUNNEL_OK;
    struct rn_view body = rn_buf_view(&a->body);
    struct rn_view sub = { 0 };

    for (size_t i = 0; !code && i < a->header_count; i++)
        code = rn_headers_add(&x->answer_headers, a->headers[i].name,
                              rn_view_text(a->headers[i].value), NULL);
    if (is_cut)
        body.len /= 2;
    if (!code)
        code = rn_error_code(rn_buf_add(&x->answer, body));
    if (code)
        return code;
    x->status = a->status;
    sub = rn_headers_find(&x->answer_headers, RN_HEADER_SUB_STATUS);
    x->sub_status = sub.at ? (int)strtol(sub.at, NULL, 10) : 0;
    return is_cut ? RUNNEL_BUSY : RUNNEL_OK;
}

/* Is the exchange over, and how? */
static bool ended(const struct scripted_flight *f, int64_t now,
                  runnel_code *code)
{
    *code = RUNNEL_OK;
    if (f->state == FLIGHT_BACK && f->due_ns <= now) {
        if (f->fate == FATE_UNREACHABLE)
            *code = RUNNEL_UNREACHABLE;
        else if (f->fate == FATE_LOST)
            *code = RUNNEL_TIMEOUT;
        else if (f->fate == FATE_UNANSWERED)
            *code = RUNNEL_BUSY;
        return true;
    }
    *code = RUNNEL_TIMEOUT;
    return f->deadline_ns <= now;
}

static void finish(struct scripted *w, struct scripted_flight *f,
                   runnel_code code)
{
    struct rn_exchange *x = f->x;

    x->running = NULL;
    x->was_sent = code != RUNNEL_UNREACHABLE;
    x->code = code ? code : hand_over(x, &f->a, f->fate == FATE_TRUNCATED);
    if (x->code)
        snprintf(x->why, sizeof(x->why), "scripted");
    f->carrier = NULL;
    f->x = NULL;
    if (f->state == FLIGHT_BACK) {
        guard(w, true);
        flight_free(w, f);
        guard(w, false);
    }
    x->done(x);
}

static int64_t carrier_step(struct rn_transport *t, int64_t wait_ns)
{
    struct carrier *c = (struct carrier *)t;
    struct scripted *w = c->end->wire;
    struct scripted_flight *f;
    int64_t now = now_of(w), next = RN_TASK_IDLE;
    bool some = true, any = false;

    (void)wait_ns;
    c->is_woken = false;
    (void)scripted_step(w);
    while (some) {
        runnel_code code;

        some = false;
        /* `done` may start others: look from the beginning each time. */
        for (f = w->flights; f && !some; f = f->next) {
            if (f->carrier == c && ended(f, now, &code)) {
                finish(w, f, code);
                some = any = true;
                break;
            }
        }
    }
    for (f = w->flights; f; f = f->next) {
        int64_t due = f->due_ns < f->deadline_ns ? f->due_ns : f->deadline_ns;

        if (f->carrier == c && due - now < next)
            next = due - now;
    }
    /* A caller whose request has ended has something to do. */
    return next < 0 || any ? 0 : next;
}

static bool has_ended(const struct carrier *c)
{
    const struct scripted *w = c->end->wire;
    runnel_code code;

    for (const struct scripted_flight *f = w->flights; f; f = f->next) {
        if (f->carrier == c && ended(f, now_of(w), &code))
            return true;
    }
    return false;
}

/* Tasks may wake the one that waits: they get a millisecond at a time. */
static void time_pass(struct scripted *w, int64_t ns)
{
    struct rn_env *env = w->service->env;

    if (w->pass)
        w->pass(w->pass_context, ns < 1000000 ? ns : 1000000);
    else
        env->ops->sleep(env, ns);
}

static void carrier_wait(struct rn_transport *t, int64_t wait_ns)
{
    struct carrier *c = (struct carrier *)t;
    struct scripted *w = c->end->wire;
    int64_t until =
        wait_ns > INT64_MAX - now_of(w) ? INT64_MAX : now_of(w) + wait_ns;

    for (;;) {
        int64_t left = until - now_of(w);
        int64_t next = scripted_step(w);
        bool is_due = has_ended(c) || c->is_woken || left <= 0;
        int64_t due = carrier_step(t, 0);

        if (is_due)
            return;
        if (due < next)
            next = due;
        if (next == RN_TASK_IDLE && until == INT64_MAX)
            abort(); /* it would wait for ever */
        time_pass(w, next < left ? next : left);
    }
}

static void carrier_start(struct rn_transport *t, struct rn_exchange *x)
{
    struct carrier *c = (struct carrier *)t;
    struct scripted *w = c->end->wire;
    struct scripted_flight *f;

    rn_exchange_reset(x);
    guard(w, true);
    f = flight_new(w, x);
    f->carrier = c;
    f->x = x;
    f->sender = c->end->sender;
    f->deadline_ns = now_of(w) + (int64_t)x->timeout_ms * 1000000;
    x->running = f;
    w->sent++;
    if (c->end->is_cut)
        f->fate = FATE_UNREACHABLE;
    else
        fate_draw(w, f);
    if (!c->end->is_cut && happens(w, w->faults.repeat)) {
        struct scripted_flight *twin = flight_new(w, x);

        twin->sender = c->end->sender;
        twin->due_ns += latency(w);
    }
    guard(w, false);
}

static void carrier_cancel(struct rn_transport *t, struct rn_exchange *x)
{
    struct scripted_flight *f = x->running;

    (void)t;
    x->running = NULL;
    x->was_sent = f->fate != FATE_UNREACHABLE;
    f->carrier = NULL;
    f->x = NULL;
}

static void carrier_wake(struct rn_transport *t)
{
    struct carrier *c = (struct carrier *)t;

    c->is_woken = true;
    if (c->end->wake)
        c->end->wake(c->end->context);
}

static void carrier_close(struct rn_transport *t)
{
    struct carrier *c = (struct carrier *)t;

    for (struct scripted_flight *f = c->end->wire->flights; f; f = f->next) {
        if (f->carrier == c)
            carrier_cancel(t, f->x);
    }
    rn_free(c);
}

static const struct rn_transport_ops carrier_ops = {
    .name = "scripted",
    .start = carrier_start,
    .cancel = carrier_cancel,
    .step = carrier_step,
    .wait = carrier_wait,
    .wake = carrier_wake,
    .close = carrier_close,
};

static runnel_code end_open(struct rn_network *n, struct rn_transport **out,
                            runnel_error *error)
{
    struct carrier *c = rn_new(sizeof(*c));

    if (!c)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    c->transport.ops = &carrier_ops;
    c->end = (struct end *)n;
    *out = &c->transport;
    return RUNNEL_OK;
}

static void end_close(struct rn_network *n)
{
    rn_free(n);
}

static const struct rn_network_ops end_ops = { .open = end_open,
                                               .close = end_close };

/* ---- the wire ------------------------------------------------------------ */

void scripted_init(struct scripted *w, struct service *service, uint64_t seed)
{
    *w = (struct scripted){ .service = service, .latency_ns = 2000000 };
    rn_prng_init(&w->prng, seed);
}

void scripted_release(struct scripted *w)
{
    while (w->flights)
        flight_free(w, w->flights);
}

void scripted_heal(struct scripted *w)
{
    w->faults = (struct scripted_faults){ 0 };
    for (struct scripted_flight *f = w->flights; f; f = f->next) {
        if (f->fate == FATE_LOST)
            f->deadline_ns = now_of(w);
        if (f->state != FLIGHT_HELD)
            f->due_ns = now_of(w) + latency(w);
        wake(f);
    }
}

struct rn_network *scripted_network(struct scripted *w, struct rn_env *env)
{
    struct end *end = rn_new(sizeof(*end));

    if (!end)
        abort();
    end->network = (struct rn_network){ .ops = &end_ops, .env = env };
    end->wire = w;
    return &end->network;
}

void scripted_on_wake(struct rn_network *n, void (*wake_fn)(void *context),
                      void *context)
{
    struct end *end = (struct end *)n;

    end->wake = wake_fn;
    end->context = context;
}

void scripted_name(struct rn_network *n, int sender)
{
    ((struct end *)n)->sender = sender;
}

void scripted_cut(struct rn_network *n, bool is_cut)
{
    ((struct end *)n)->is_cut = is_cut;
}
