/* exchange.c -- HTTP on one connection; see exchange.h.
 *
 * The states of an exchange, in addition to those of its connection:
 *
 *   reading   bytes go to the reader                       [received]
 *   serving   a call is in progress; nothing is read       [serve]
 *   held      the call is done, but its answer is delayed; nothing is read
 *                                                        [hold, let_go]
 *   blocked   the client accepts its answer slowly; nothing is read, so that
 *             at most one answer is buffered     [proceed, on_flushed]
 *   orphaned  the connection is closed while a call is in progress: freed when
 *             the call comes back                          [closed, come_back]
 */
#include "server/exchange.h"

#include "rest/rest.h"
#include "rest/serve.h"

#include <assert.h>
#include <stdio.h>

struct exchange {
    struct rn_call call; /* first member: `wake` casts it back */
    const struct rn_exchange_opts *opts;
    struct rn_conn *conn; /* NULL once it is closed */
    struct rn_loop *loop;
    struct rn_http_reader reader;
    struct rn_post back; /* posted by another thread */
    struct rn_work work;
    uint32_t requests;
    size_t body_seen; /* bytes of the body at the last check of its rate */
    uint32_t pace_ms; /* between two checks */
    char address[RN_CONN_ADDRESS_MAX]; /* logged after conn is closed */
    struct rn_peer *peer;
    struct rn_timer timer;
    bool serving, is_loopback;
    bool held;       /* the timer is set; `serving` is true as well */
    bool blocked;    /* the next request waits until the answer is sent */
    bool is_trimmed; /* it has released the memory kept for the next request */
};

enum {
    QUIET_MS = 1000,  /* of idleness, after which memory is released */
    BODY_RATE = 1024, /* minimum rate of a body, in bytes a second */
    PACE_MS = 5000,   /* the interval over which it is measured */
};

static void give_place(const struct rn_exchange_opts *opts,
                       struct rn_peer *peer)
{
    rn_client_limits_leave(opts->client_limits, peer);
    atomic_fetch_sub(opts->open, 1);
}

static void exchange_free(struct exchange *x)
{
    rn_call_release(&x->call);
    rn_http_reader_release(&x->reader);
    give_place(x->opts, x->peer);
    rn_free(x);
}

/* ---- answering ----------------------------------------------------------- */

/* Sends the answer; returns how the connection continues. */
static enum rn_conn_next send_answer(struct exchange *x)
{
    struct rn_http_response *res = &x->call.res;
    struct rn_view head, body;
    bool keep = res->keep_alive && x->requests < x->opts->requests_max &&
                !atomic_load_explicit(x->opts->draining, memory_order_relaxed);

    if (x->call.is_lost)
        return RN_CONN_CLOSE;
    res->keep_alive = keep;
    if (rn_http_response_parts(res, &head, &body) ||
        rn_conn_send(x->conn, head, body))
        return RN_CONN_CLOSE;
    return keep ? RN_CONN_MORE : RN_CONN_CLOSE;
}

static void refuse(struct exchange *x, enum rn_reject reason)
{
    const struct rn_http_refusal *no = &x->reader.refusal;
    struct rn_call *call = &x->call;

    rn_call_clear(call);
    call->req = NULL;
    call->peer = x->address;
    rn_rest_reject(x->opts->rest, reason);
    rn_rest_refuse(call, no->status, no->why);
    rn_request_log_call(x->opts->request_log, call);
    if (rn_conn_wants_tls(x->conn))
        rn_request_log_foreign(x->opts->request_log, x->address);
    if (no->raw.len)
        (void)!rn_conn_send(x->conn, no->raw, (struct rn_view){ 0 });
    else
        (void)send_answer(x);
}

static bool to_worker(struct exchange *x);

static enum rn_conn_next serve(struct exchange *x);
static enum rn_conn_next go_on(struct exchange *x);

static enum rn_conn_next answer(struct exchange *x)
{
    enum rn_conn_next next = send_answer(x);

    x->serving = false;
    rn_call_clear(&x->call);
    if (next != RN_CONN_MORE)
        return next;
    x->blocked = rn_conn_is_sending(x->conn);
    return x->blocked ? RN_CONN_WAIT : go_on(x);
}

static void let_go(struct rn_timer *timer);

/* When the answer may be sent; 0: at once.  The delay of a refusal is skipped
 * when the server shuts down. */
static int64_t told_at(const struct exchange *x, bool *may_hurry)
{
    int64_t at = x->opts->latency_ms
                     ? x->call.begun_ns + x->opts->latency_ms * INT64_C(1000000)
                     : 0;

    *may_hurry = x->call.held_until_ns > at &&
                 !atomic_load_explicit(x->opts->draining, memory_order_relaxed);
    return *may_hurry ? x->call.held_until_ns : at;
}

/* False if the answer is due. */
static bool hold(struct exchange *x)
{
    x->timer.at_ns = told_at(x, &x->timer.may_hurry);
    if (!x->timer.at_ns || x->timer.at_ns <= rn_mono_ns(x->opts->env))
        return false;
    x->timer.run = let_go;
    x->held = true;
    rn_loop_add_timer(x->loop, &x->timer);
    return true;
}

static void let_go(struct rn_timer *timer)
{
    struct exchange *x = RN_CONTAINER_OF(timer, struct exchange, timer);
    enum rn_conn_next next;

    x->held = false;
    if (hold(x))
        return; /* released early, but the latency still applies */
    next = answer(x);
    if (next != RN_CONN_WAIT)
        rn_conn_resume(x->conn, next);
}

/* After a step of the call: WAIT while it is not done. */
static enum rn_conn_next proceed(struct exchange *x, enum rn_rest_step step)
{
    if (step == RN_REST_WORK && !to_worker(x))
        step = rn_rest_shed(&x->call);
    if (step != RN_REST_DONE)
        return RN_CONN_WAIT;
    rn_request_log_call(x->opts->request_log, &x->call);
    if (x->conn)
        return hold(x) ? RN_CONN_WAIT : answer(x);
    x->serving = false;
    return RN_CONN_CLOSE;
}

/* The first bytes of a request have arrived. */
static void begin_request(struct exchange *x)
{
    x->body_seen = 0;
    x->pace_ms = x->opts->head_ms;
    rn_conn_deadline(x->conn, x->pace_ms);
}

/* A body may take long as long as it keeps its rate: checked when the time for
 * the head is over, and every few seconds after that.  False: too slow. */
static bool keeps_pace(struct exchange *x)
{
    size_t len = 0;

    if (!rn_http_reader_in_body(&x->reader, &len) ||
        (len - x->body_seen) * 1000 < (size_t)BODY_RATE * x->pace_ms)
        return false;
    x->body_seen = len;
    x->pace_ms = PACE_MS;
    rn_conn_deadline(x->conn, x->pace_ms);
    return true;
}

/* Sends "100 Continue" to a client that waits for it before its body. */
static enum rn_conn_next invite(struct exchange *x)
{
    if (rn_http_reader_wants_continue(&x->reader) &&
        rn_conn_send(x->conn, RN_HTTP_CONTINUE, (struct rn_view){ 0 }))
        return RN_CONN_CLOSE;
    return RN_CONN_MORE;
}

/* Continues with the bytes behind the request that has been answered. */
static enum rn_conn_next go_on(struct exchange *x)
{
    switch (rn_http_reader_next(&x->reader)) {
    case RN_HTTP_DONE:
        return serve(x);
    case RN_HTTP_REFUSED:
        refuse(x, RN_REJECT_MALFORMED);
        return RN_CONN_CLOSE;
    case RN_HTTP_MORE:
        break;
    }
    x->is_trimmed = x->opts->idle_ms <= QUIET_MS;
    if (rn_http_reader_is_idle(&x->reader)) {
        rn_conn_deadline(x->conn, x->is_trimmed ? x->opts->idle_ms : QUIET_MS);
        return RN_CONN_MORE;
    }
    begin_request(x);
    return invite(x);
}

/* HTTP/1.0 has no Host, but clients need the endpoint in the account
 * document. */
static const char *find_own_address(struct exchange *x)
{
    char *out = x->call.req->host.len
                    ? NULL
                    : rn_arena_alloc(&x->call.arena, RN_CONN_ADDRESS_MAX);

    if (out)
        rn_conn_print_own(x->conn, out);
    return out;
}

static enum rn_conn_next serve(struct exchange *x)
{
    struct rn_call *call = &x->call;

    x->serving = true;
    x->requests++;
    rn_conn_deadline(x->conn, 0); /* the request is complete */
    call->req = &x->reader.request;
    call->is_tls = rn_conn_is_tls(x->conn);
    call->is_loopback = x->is_loopback;
    call->peer = x->address;
    call->own = find_own_address(x);
    call->begun_ns = rn_loop_now_ns(x->loop);
    call->queued_ns = 0;
    x->work.is_long = false;
    rn_http_response_init(&call->res, call->req);
    return proceed(x, rn_rest_serve(call));
}

/* ---- other threads ------------------------------------------------------- */

/* Thread: loop.  The call was woken, or a worker is finished with it. */
static void come_back(struct rn_post *post)
{
    struct exchange *x = RN_CONTAINER_OF(post, struct exchange, back);
    enum rn_conn_next next = proceed(x, rn_rest_resume(&x->call));

    if (next == RN_CONN_WAIT)
        return;
    if (x->conn)
        rn_conn_resume(x->conn, next);
    else
        exchange_free(x);
}

static void wake(struct rn_call *call)
{
    struct exchange *x = (struct exchange *)call;

    x->back.run = come_back;
    rn_loop_post(x->loop, &x->back);
}

static void come_back_done(struct rn_post *post)
{
    struct exchange *x = RN_CONTAINER_OF(post, struct exchange, back);
    enum rn_conn_next next = proceed(x, RN_REST_DONE);

    if (x->conn && next != RN_CONN_WAIT)
        rn_conn_resume(x->conn, next);
    else if (!x->conn && !x->serving)
        exchange_free(x);
}

/* Thread: worker. */
static void run_work(struct rn_work *work)
{
    struct exchange *x = RN_CONTAINER_OF(work, struct exchange, work);
    enum rn_rest_step step;

    x->call.queued_ns += work->waited_ns;
    work->is_long = false;
    do
        step = rn_rest_resume(&x->call);
    while (step == RN_REST_WORK && !work->is_long);
    if (step == RN_REST_WORK && to_worker(x))
        return; /* preempted; queued again */
    if (step == RN_REST_WORK)
        step = rn_rest_shed(&x->call);
    if (step == RN_REST_PENDING)
        return; /* wake brings it back */
    x->back.run = come_back_done;
    rn_loop_post(x->loop, &x->back);
}

/* Thread: worker. */
static bool pause(struct rn_call *call)
{
    struct exchange *x = (struct exchange *)call;
    int64_t before = x->work.waited_ns;

    x->work.is_long = rn_workers_pause(x->opts->workers, &x->work);
    call->queued_ns += x->work.waited_ns - before;
    return x->work.is_long;
}

static bool to_worker(struct exchange *x)
{
    x->work.run = run_work;
    x->work.principal = x->call.principal;
    x->work.is_limited = x->call.may_shed;
    return rn_workers_add(x->opts->workers, &x->work);
}

/* ---- the connection's user ----------------------------------------------- */

static enum rn_code on_buffer(void *user, char **at, size_t *len)
{
    struct exchange *x = user;

    return rn_http_reader_buffer(&x->reader, at, len);
}

static enum rn_conn_next on_received(void *user, size_t len)
{
    struct exchange *x = user;
    bool was_idle = rn_http_reader_is_idle(&x->reader);

    switch (rn_http_reader_received(&x->reader, len)) {
    case RN_HTTP_DONE:
        return serve(x);
    case RN_HTTP_REFUSED:
        refuse(x, RN_REJECT_MALFORMED);
        return RN_CONN_CLOSE;
    case RN_HTTP_MORE:
        break;
    }
    if (was_idle)
        begin_request(x);
    return invite(x);
}

static enum rn_conn_next on_flushed(void *user)
{
    struct exchange *x = user;

    if (!x->blocked)
        return x->serving ? RN_CONN_WAIT : RN_CONN_MORE;
    x->blocked = false;
    return go_on(x);
}

/* A write is finished even if its client has left, and the answer is sent in
 * case the client still reads.  A call parked for a change is ended: otherwise
 * it would be kept for minutes for no reader. */
static bool on_peer_ended(void *user)
{
    struct exchange *x = user;

    if (x->serving && x->call.on_half_close)
        x->call.on_half_close(&x->call);
    return x->serving && !x->held && x->call.on_disconnect;
}

static void on_timed_out(void *user)
{
    struct exchange *x = user;
    bool is_idle = rn_http_reader_is_idle(&x->reader);

    if (is_idle && !x->is_trimmed) {
        x->is_trimmed = true;
        rn_http_reader_trim(&x->reader);
        rn_call_release(&x->call);
        rn_conn_deadline(x->conn, x->opts->idle_ms - QUIET_MS);
        return;
    }
    if (is_idle) {
        rn_conn_drop(x->conn);
        return;
    }
    if (keeps_pace(x))
        return;
    rn_http_reader_give_up(&x->reader);
    refuse(x, RN_REJECT_TIMEOUT);
    rn_conn_resume(x->conn, RN_CONN_CLOSE);
}

static void on_closed(void *user)
{
    struct exchange *x = user;

    x->conn = NULL;
    if (x->held)
        rn_loop_remove_timer(x->loop, &x->timer);
    if (!x->serving || x->held)
        exchange_free(x);
    else if (x->call.on_disconnect)
        x->call.on_disconnect(&x->call);
    else if (x->call.on_half_close)
        x->call.on_half_close(&x->call);
}

static const struct rn_conn_user conn_user = {
    .buffer = on_buffer,
    .received = on_received,
    .flushed = on_flushed,
    .peer_ended = on_peer_ended,
    .timed_out = on_timed_out,
    .closed = on_closed,
};

void rn_exchange_begin(const struct rn_exchange_opts *opts,
                       struct rn_loop *loop, struct rn_tls *tls,
                       const struct rn_exchange_client *client)
{
    struct exchange *x = rn_new(sizeof(*x));
    struct rn_conn_opts conn = {
        .loop = loop,
        .fd = client->fd,
        .tls = tls,
        .ops = &conn_user,
        .user = x,
        .write_stall_ms = opts->stall_ms,
        .address = client->address,
    };

    if (x) {
        x->opts = opts;
        x->loop = loop;
        x->peer = client->peer;
        x->is_loopback = client->is_loopback;
        x->is_trimmed = true;
        snprintf(x->address, sizeof(x->address), "%s", client->address);
        rn_http_reader_init(&x->reader, opts->limits);
        rn_call_init(&x->call, opts->rest, NULL);
        x->call.wake = wake;
        x->call.pause = pause;
    }
    if (!x || rn_conn_new(&conn, &x->conn)) {
        if (x)
            exchange_free(x);
        else
            give_place(opts, client->peer);
        return;
    }
    rn_conn_deadline(x->conn, opts->head_ms);
}
