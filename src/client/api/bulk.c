/* bulk.c -- bulk operations: grouped by range, sent in parallel, retried if
 * throttled.
 *
 * An operation is waiting, in flight in a group, or done.  Groups of one range
 * have at most 100 operations and about 220 kB, the service's limit.  All
 * groups are in flight on one transport, on the caller's thread.
 */
#include "client/account/account.h"
#include "client/account/call.h"
#include "client/account/routing.h"
#include "client/api/container.h"
#include "client/api/key.h"
#include "client/api/operations.h"
#include "client/http/exchange.h"
#include "client/http/pool.h"
#include "client/query/source.h"
#include "cosmos/status.h"

#include <stdio.h>

enum {
    FLIGHTS_MAX = 8,
    GROUP_BYTES_MAX = 220000,
};

#define NS_PER_MS INT64_C(1000000)

enum state { WAITS, FLIES, DONE };

struct task {
    enum state state;
    struct rn_view key; /* header text, in the bulk's arena */
    struct rn_epk epk;
    uint32_t attempts;
    int64_t due_ns;
};

/* A group under way. */
struct flight {
    bool is_flying;
    struct rn_client_call call;
    struct rn_buf body;
    size_t tasks[RN_BATCH_OPERATIONS_MAX];
    size_t count;
    char range[32];
};

struct bulk {
    struct rn_client_container *container;
    const runnel_operation *operations;
    size_t count, done, first; /* none before `first` waits */
    struct task *tasks;
    struct rn_arena arena;
    struct rn_json scratch;
    struct rn_definition *definition;
    struct rn_routing *map;
    runnel_results *results;
    struct flight *flights;
    struct rn_transport *transport;
};

/* ---- before the first group ---------------------------------------------- */

/* The key's text and place. */
static runnel_code place(struct bulk *b, size_t i, runnel_error *error)
{
    const runnel_operation *op = &b->operations[i];
    struct rn_buf text = RN_BUF_INIT(RN_KEY_TEXT_MAX);
    struct rn_pk pk = { 0 };
    struct rn_err err = { 0 };
    bool has_item = op->kind == RUNNEL_CREATE || op->kind == RUNNEL_UPSERT ||
                    op->kind == RUNNEL_REPLACE;
    enum rn_code code;
    runnel_code rc = rn_operation_check(op, &b->scratch, error);

    if (!rc) {
        rc = has_item ? rn_key_extract(b->definition, &b->scratch, &text, error)
                      : rn_key_print(b->container, op->key.partition_key, &text,
                                     error);
    }
    if (!rc) {
        b->tasks[i].key = rn_arena_copy(&b->arena, rn_buf_view(&text));
        code = b->tasks[i].key.at
                   ? rn_pk_parse(b->tasks[i].key, &b->arena, &pk, &err)
                   : RN_NOMEM;
        if (!code)
            code = rn_pkdef_fit(&b->definition->key, &pk, &err);
        rc = rn_error_take(error, code, &err);
    }
    if (!rc)
        rn_epk_of(&b->definition->key, &pk, &b->tasks[i].epk);
    rn_buf_release(&text);
    return rc;
}

static runnel_code begin(struct bulk *b, runnel_error *error)
{
    runnel_code rc;

    b->arena = RN_ARENA_INIT((size_t)1 << 31);
    rn_json_init(&b->scratch, NULL);
    b->tasks = rn_new((b->count + 1) * sizeof(*b->tasks));
    b->flights = rn_new(FLIGHTS_MAX * sizeof(*b->flights));
    if (!b->tasks || !b->flights)
        return rn_error_no_memory(error);
    rc = rn_results_new(b->count, &b->results, error);
    if (!rc)
        rc = rn_client_container_define(b->container, NULL, &b->definition,
                                        error);
    if (!rc)
        rc =
            rn_client_container_route(b->container, NULL, NULL, &b->map, error);
    for (size_t i = 0; !rc && i < b->count; i++) {
        rc = place(b, i, error);
        if (rc)
            rn_error_during(error, "operation %zu", i);
    }
    if (!rc) {
        rc = rn_pool_take_own(
            rn_account_pool(rn_client_container_account(b->container)),
            &b->transport, error);
    }
    return rc;
}

static void release_flight(struct flight *f)
{
    rn_client_call_release(&f->call);
    rn_buf_release(&f->body);
    *f = (struct flight){ 0 };
}

static void end(struct bulk *b)
{
    for (size_t i = 0; b->flights && i < FLIGHTS_MAX; i++) {
        if (b->flights[i].is_flying)
            release_flight(&b->flights[i]);
    }
    if (b->transport)
        rn_pool_give(rn_account_pool(rn_client_container_account(b->container)),
                     b->transport);
    rn_definition_unref(b->definition);
    rn_routing_unref(b->map);
    rn_json_release(&b->scratch);
    rn_arena_release(&b->arena);
    rn_free(b->tasks);
    rn_free(b->flights);
}

/* ---- outcomes ------------------------------------------------------------ */

static void finish(struct bulk *b, size_t i)
{
    b->tasks[i].state = DONE;
    b->done++;
}

/* A read leaves nothing uncertain. */
static void fail(struct bulk *b, size_t i, runnel_code code,
                 const runnel_error *error)
{
    if (code == RUNNEL_UNCERTAIN && b->operations[i].kind == RUNNEL_READ)
        code = RUNNEL_BUSY;
    b->results->of[i].code = code;
    b->results->of[i].http_status = error->http_status;
    b->results->of[i].sub_status = error->sub_status;
    finish(b, i);
}

static void repeat(struct bulk *b, size_t i, int64_t due_ns)
{
    b->tasks[i].state = WAITS;
    b->tasks[i].attempts++;
    b->tasks[i].due_ns = due_ns;
    if (i < b->first)
        b->first = i;
}

/* May the operation be sent in another request? */
static bool may_repeat(const struct bulk *b, size_t i,
                       const struct rn_status *s)
{
    struct rn_retry_policy policy =
        rn_account_retry(rn_client_container_account(b->container));

    return b->tasks[i].attempts < policy.limit &&
           (s->code == RN_THROTTLED || s->reason == RN_REASON_RETRY_WITH ||
            s->reason == RN_REASON_SPLIT_BULK || s->code == RN_GONE);
}

/* What had no more room in an answer comes earlier in the next one, so that is
 * no attempt unless it was the first. */
static enum rn_code take_result(struct bulk *b, size_t i, bool is_first,
                                const struct rn_operation_answer *a,
                                int64_t now_ns)
{
    const struct rn_status *s = rn_status_read(a->status, a->sub_status);
    bool had_no_room = !is_first && s->reason == RN_REASON_SPLIT_BULK;
    enum rn_code rc;

    if (had_no_room || may_repeat(b, i, s)) {
        if (s->code == RN_GONE)
            rn_client_container_reroute(b->container);
        repeat(b, i, now_ns + (int64_t)a->retry_ms * NS_PER_MS);
        if (had_no_room)
            b->tasks[i].attempts--;
        return RN_OK;
    }
    rc = rn_results_set(b->results, i, a);
    finish(b, i);
    if (rc) {
        b->results->of[i].code = b->operations[i].kind == RUNNEL_READ
                                     ? RUNNEL_NO_MEMORY
                                     : RUNNEL_UNCERTAIN;
    }
    return rc;
}

/* Takes each operation's result, or that the answer is invalid. */
static void take_answer(struct bulk *b, struct flight *f, int64_t now_ns)
{
    struct rn_view body = rn_buf_view(&f->call.exchange.answer);
    struct rn_operation_answer a;
    runnel_error error;
    struct rn_json j;
    bool is_array;

    rn_error_set(&error, RUNNEL_UNCERTAIN, "the answer cannot be read");
    rn_json_init(&j, &rn_page_limits);
    is_array = rn_json_parse(&j, body, NULL) == RN_OK &&
               rn_json_kind(&j, 0) == RN_JSON_ARRAY &&
               rn_json_count(&j, 0) == f->count;
    for (size_t i = 0; i < f->count; i++) {
        if (is_array &&
            rn_operation_parse(&j, (uint32_t)i, &b->results->arena, &a))
            (void)take_result(b, f->tasks[i], i == 0, &a, now_ns);
        else
            fail(b, f->tasks[i], RUNNEL_UNCERTAIN, &error);
    }
    rn_json_release(&j);
}

/* May an operation whose group failed be sent in another one?  If the range is
 * gone, or if the answer was lost and it only reads. */
static bool may_regroup(const struct bulk *b, size_t i, runnel_code code)
{
    struct rn_retry_policy policy =
        rn_account_retry(rn_client_container_account(b->container));
    bool is_read = b->operations[i].kind == RUNNEL_READ;

    return b->tasks[i].attempts < policy.limit &&
           (code == RUNNEL_GONE || (code == RUNNEL_UNCERTAIN && is_read));
}

/* Other failures are those of all operations of the group. */
static void land(struct bulk *b, struct flight *f, int64_t now_ns)
{
    if (f->call.code == RUNNEL_OK) {
        take_answer(b, f, now_ns);
    } else {
        for (size_t i = 0; i < f->count; i++) {
            size_t one = f->tasks[i];
            if (may_regroup(b, one, f->call.code))
                repeat(b, one, now_ns);
            else
                fail(b, one, f->call.code, &f->call.error);
        }
    }
    release_flight(f);
}

/* ---- groups -------------------------------------------------------------- */

static runnel_code prepare_call(struct bulk *b, struct flight *f)
{
    struct rn_link link =
        rn_client_container_list(b->container, RN_KIND_DOCUMENT);
    struct rn_headers *h = &f->call.request.headers;
    runnel_code rc;

    rn_client_call_init(&f->call, rn_client_container_account(b->container),
                        "POST", RN_EFFECT_WRITE, &link);
    f->call.request.container = b->container;
    f->call.request.range = f->range;
    f->call.request.body = rn_buf_view(&f->body);
    rc = rn_headers_add(h, RN_HEADER_BATCH, RN_LIT("True"), &f->call.error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_BATCH_ATOMIC, RN_LIT("False"),
                            &f->call.error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_BATCH_CONTINUE, RN_LIT("True"),
                            &f->call.error);
    /* No bodies in the answer: the caller has the documents that it writes. */
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_PREFER, RN_LIT("return=minimal"),
                            &f->call.error);
    return rc;
}

/* Adds operations of one range to the group, from the first that waits. */
static enum rn_code fill(struct bulk *b, struct flight *f, size_t from,
                         int64_t now_ns)
{
    const struct rn_range_route *route =
        rn_routing_find(b->map, &b->tasks[from].epk);
    struct rn_json_out o = RN_JSON_OUT_INIT(&f->body);

    snprintf(f->range, sizeof(f->range), "%s", route->id);
    rn_json_out_array_begin(&o);
    for (size_t i = from; i < b->count && f->count < RN_BATCH_OPERATIONS_MAX;
         i++) {
        struct task *t = &b->tasks[i];
        size_t size = b->operations[i].json.len + t->key.len + 200;

        if (t->state != WAITS || t->due_ns > now_ns ||
            !rn_epk_range_has(&route->range, rn_epk_view(&t->epk)))
            continue;
        if (f->count > 0 && f->body.len + size > GROUP_BYTES_MAX)
            break;
        /* It was checked before the first group was sent. */
        if (rn_operation_check(&b->operations[i], &b->scratch, NULL))
            return RN_NOMEM;
        rn_operation_print(&b->operations[i], &b->scratch, t->key, &o);
        t->state = FLIES;
        f->tasks[f->count++] = i;
    }
    rn_json_out_array_end(&o);
    return rn_json_out_finish(&o);
}

static void launch(struct bulk *b, struct flight *f, size_t from,
                   int64_t now_ns)
{
    enum rn_code code;
    runnel_code rc;

    f->is_flying = true;
    f->body = RN_BUF_INIT(RN_BATCH_BYTES_MAX);
    code = fill(b, f, from, now_ns);
    rc = prepare_call(b, f);
    if (code)
        rc = rn_error_take(&f->call.error, code, NULL);
    if (rc) {
        f->call.code = rc;
        f->call.is_over = true;
        return;
    }
    rn_client_call_begin(&f->call, b->transport);
}

/* The first operation that may be sent now, or count; `*wait_ns` becomes the
 * time until the next may. */
static size_t find_waiting(struct bulk *b, int64_t now_ns, int64_t *wait_ns)
{
    bool is_first = true;

    for (size_t i = b->first; i < b->count; i++) {
        struct task *t = &b->tasks[i];
        if (t->state != WAITS)
            continue;
        if (is_first)
            b->first = i;
        is_first = false;
        if (t->due_ns <= now_ns)
            return i;
        if (t->due_ns - now_ns < *wait_ns)
            *wait_ns = t->due_ns - now_ns;
    }
    if (is_first)
        b->first = b->count;
    return b->count;
}

/* Sends what may be sent, takes answers.  Returns how long to wait, or 0. */
static int64_t step(struct bulk *b, int64_t now_ns)
{
    int64_t wait_ns = RN_TASK_IDLE;

    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *f = &b->flights[i];
        int64_t due_ns;

        if (!f->is_flying) {
            size_t from = find_waiting(b, now_ns, &wait_ns);
            if (from == b->count)
                continue;
            launch(b, f, from, now_ns);
        }
        due_ns = rn_client_call_step(&f->call);
        if (f->call.is_over) {
            land(b, f, now_ns);
            wait_ns = 0;
        } else if (due_ns < wait_ns) {
            wait_ns = due_ns;
        }
    }
    return wait_ns;
}

/* Fails the operations that are not done. */
static void give_up(struct bulk *b, const runnel_error *error)
{
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *f = &b->flights[i];
        if (!f->is_flying)
            continue;
        rn_client_call_cancel(&f->call);
        land(b, f, 0);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (b->tasks[i].state != DONE)
            fail(b, i, error->code, error);
    }
}

static runnel_code run(struct bulk *b, runnel_error *error)
{
    struct rn_env *env =
        rn_account_env(rn_client_container_account(b->container));
    runnel_code rc = RUNNEL_OK;

    while (!rc && b->done < b->count) {
        struct rn_routing *map = NULL;
        int64_t wait_ns;

        if (rn_cancel_is_set(rn_client_container_cancel(b->container))) {
            rc =
                rn_error_set(error, RUNNEL_CANCELLED, "the call was cancelled");
        } else {
            rc = rn_client_container_route(b->container, NULL, NULL, &map,
                                           error);
        }
        if (rc)
            break;
        rn_routing_unref(b->map);
        b->map = map;
        wait_ns = step(b, rn_mono_ns(env));
        if (wait_ns > 0 && b->done < b->count)
            b->transport->ops->wait(b->transport, wait_ns);
    }
    if (rc)
        give_up(b, error);
    return rc;
}

runnel_code runnel_items_bulk(runnel_container *container,
                              const runnel_operation *operations, size_t count,
                              runnel_results **out, runnel_error *error)
{
    struct bulk b = { .container = container->inner,
                      .operations = operations,
                      .count = count };
    runnel_error own;
    bool was_sent;
    runnel_code rc;

    error = error ? error : &own;
    rc = begin(&b, error);
    was_sent = !rc;
    if (!rc)
        rc = run(&b, error);
    end(&b);
    if (was_sent && out)
        *out = b.results;
    else
        runnel_results_close(b.results);
    return rc;
}
