/* sim_server.c -- see sim_server.h. */
#include "sim_server.h"

#include "map_tree.h"

#include "base/prng.h"
#include "http/parse.h"
#include "rest/rest.h"
#include "rest/serve.h"
#include "store/local/local.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
/* Calls that were under way when the power was cut are not finished, and what
 * they held is lost, as it is with a process. */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#else
#define __sanitizer_start_switch_fiber(save, bottom, size) ((void)(save))
#define __sanitizer_finish_switch_fiber(fake, bottom, size) ((void)(fake))
#endif

enum { STACK_BYTES = 512 << 10, HOME_ENTRIES = 3 };

struct fiber {
    struct rn_call call; /* first: wake gets this */
    struct client *client;
    void (*run)(struct client *c);
    enum { ENDED, READY, ASKING, SLEEPING, DOWN } state;
    int64_t until_ns;
    bool has_call, is_woken, is_lost;
    struct rn_http_reader reader;
    ucontext_t context;
    char *stack;
    void *fake;
};

static struct {
    struct rn_sim *sim;
    struct rn_env *env;
    struct rn_store *store;
    struct rn_engine *engine;
    struct rn_rest *rest;
    struct rn_task task;
    struct fiber fibers[SIM_WEB_CLIENTS_MAX], *running;
    size_t count;
    ucontext_t main;
    void *fake;
    const void *bottom; /* of the main stack */
    size_t size;
    uint64_t now;
} world;

/* Never the same twice, so that what comes later is later. */
uint64_t server_process_now_ns(void)
{
    uint64_t now = (uint64_t)rn_mono_ns(world.env);

    world.now = now > world.now ? now : world.now + 1;
    return world.now;
}

int64_t server_process_wall_s(void)
{
    return rn_wall_ms(world.env) / 1000;
}

/* ---- stacks -------------------------------------------------------------- */

static void yield(struct fiber *f)
{
    __sanitizer_start_switch_fiber(f->state == ENDED ? NULL : &f->fake,
                                   world.bottom, world.size);
    swapcontext(&f->context, &world.main);
    __sanitizer_finish_switch_fiber(f->fake, &world.bottom, &world.size);
}

static void begin(void)
{
    struct fiber *f = world.running;

    __sanitizer_finish_switch_fiber(NULL, &world.bottom, &world.size);
    f->run(f->client);
    f->state = ENDED;
    yield(f);
}

static void enter(struct fiber *f)
{
    world.running = f;
    __sanitizer_start_switch_fiber(&world.fake, f->stack, STACK_BYTES);
    swapcontext(&world.main, &f->context);
    __sanitizer_finish_switch_fiber(world.fake, NULL, NULL);
    world.running = NULL;
}

static bool is_ready(struct fiber *f)
{
    if (f->state == SLEEPING && f->until_ns <= rn_mono_ns(world.env))
        f->state = READY;
    if (f->state == DOWN && world.rest)
        f->state = READY;
    return f->state == READY;
}

/* One client goes on. */
static int64_t step(void *context)
{
    struct fiber *ready[SIM_WEB_CLIENTS_MAX];
    int64_t next = RN_TASK_IDLE, now;
    size_t n = 0;

    (void)context;
    for (size_t i = 0; i < world.count; i++)
        if (is_ready(&world.fibers[i]))
            ready[n++] = &world.fibers[i];
    if (n)
        enter(ready[rn_prng_below(rn_sim_prng(world.sim), n)]);
    now = rn_mono_ns(world.env);
    for (size_t i = 0; i < world.count; i++) {
        struct fiber *f = &world.fibers[i];
        if (is_ready(f))
            return RN_TASK_NOW;
        if (f->state == SLEEPING && f->until_ns - now < next)
            next = f->until_ns - now;
    }
    return next;
}

/* ---- clients ------------------------------------------------------------- */

void sim_server_run(struct client *c, void (*run)(struct client *c))
{
    struct fiber *f = &world.fibers[world.count++];
    char *stack = f->stack ? f->stack : malloc(STACK_BYTES);

    if (!stack)
        abort();
    *f = (struct fiber){
        .client = c, .run = run, .state = READY, .stack = stack
    };
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->context, begin, 0);
    world.env->ops->task_wake(world.env, &world.task);
}

bool sim_server_has_ended(void)
{
    for (size_t i = 0; i < world.count; i++)
        if (world.fibers[i].state != ENDED)
            return false;
    return true;
}

void sim_server_sleep(int64_t ns)
{
    struct fiber *f = world.running;

    f->state = SLEEPING;
    f->until_ns = rn_mono_ns(world.env) + ns;
    yield(f);
}

void client_reach(struct client *c)
{
    (void)c;
    while (!world.rest) {
        world.running->state = DOWN;
        yield(world.running);
    }
}

void client_hang_up(struct client *c)
{
    (void)c;
}

static void wake(struct rn_call *call)
{
    struct fiber *f = (struct fiber *)call;

    if (f->state == ASKING)
        f->state = READY;
    else
        f->is_woken = true; /* it is not asleep yet */
    world.env->ops->task_wake(world.env, &world.task);
}

static void feed(struct fiber *f, struct rn_view text)
{
    enum rn_http_step got = RN_HTTP_MORE;

    rn_http_reader_init(&f->reader, &rn_http_limits_default);
    while (got == RN_HTTP_MORE && text.len) {
        char *at;
        size_t len;

        if (rn_http_reader_buffer(&f->reader, &at, &len))
            abort();
        len = len < text.len ? len : text.len;
        memcpy(at, text.at, len);
        text.at += len;
        text.len -= len;
        got = rn_http_reader_received(&f->reader, len);
    }
    if (got != RN_HTTP_DONE)
        abort();
}

static void forget_call(struct fiber *f)
{
    rn_call_release(&f->call);
    rn_http_reader_release(&f->reader);
    f->has_call = false;
}

/* Once begun it goes on whenever somebody wakes it, or a worker would take it;
 * false if there is no server any more. */
static bool finish_call(struct fiber *f)
{
    enum rn_rest_step at = rn_rest_serve(&f->call);

    while (at != RN_REST_DONE) {
        f->state = at == RN_REST_WORK || f->is_woken ? READY : ASKING;
        f->is_woken = false;
        yield(f);
        if (f->is_lost)
            return false;
        at = rn_rest_resume(&f->call);
    }
    return true;
}

bool client_ask(struct client *c, const struct request *r, struct answer *out)
{
    struct fiber *f = world.running;
    bool is_good;

    client_reach(c);
    server_process_print_request(c, r);
    feed(f, rn_buf_view(&c->out));
    rn_call_init(&f->call, world.rest, &f->reader.request);
    f->call.is_loopback = true;
    f->call.peer = "127.0.0.1";
    f->call.begun_ns = rn_mono_ns(world.env);
    f->call.wake = wake;
    rn_http_response_init(&f->call.res, f->call.req);
    f->has_call = true;
    f->is_lost = f->is_woken = false;
    if (!finish_call(f))
        return false;
    c->in.len = 0;
    is_good = !rn_http_response_print(&f->call.res, &c->in);
    forget_call(f);
    if (!is_good || !server_process_read_answer(c, out))
        abort();
    f->state = READY; /* others may come first */
    yield(f);
    return true;
}

/* ---- the server ---------------------------------------------------------- */

void sim_server_begin(struct rn_sim *sim)
{
    world.sim = sim;
    world.env = rn_sim_env(sim);
    world.count = 0;
    world.now = 0;
    world.task = (struct rn_task){ .name = "clients", .step = step };
}

void sim_server_end(void)
{
    sim_server_close();
    world.count = 0;
}

static enum rn_code open_store(struct rn_err *err)
{
    struct rn_store_opts opts = {
        .env = world.env,
        .where = "/data",
        .busy_ms = 1, /* of real time, while no task can make room */
        .readers_max = 32,
        .reader_ms_max = 1000,
        .segment_bytes = 64 << 10,
        .wal_bytes = 4 * (64 << 10),
        .memtable_bytes = 12 << 10,
        .checkpoint_bytes = 100 << 10,
        .checkpoint_ms = 50,
        .throttle_bytes = 800 << 10,
        .reserve_bytes = 32 << 10,
        .ahead_bytes = 256 << 10, /* 16 rows at a time into the map */
    };

    return rn_local_open_with(&rn_map_tree, &opts, &world.store, err);
}

enum rn_code sim_server_open(struct rn_err *err)
{
    enum rn_code rc = open_store(err);

    if (!rc)
        rc = rn_engine_open(
            &(struct rn_engine_opts){ .env = world.env,
                                      .store = world.store,
                                      .ranges_default = 1,
                                      .home_entries = HOME_ENTRIES },
            &world.engine, err);
    if (!rc)
        rc = rn_rest_open(&(struct rn_rest_opts){ .env = world.env,
                                                  .engine = world.engine,
                                                  .consistency = "Session",
                                                  .well_known_key = true },
                          &world.rest, err);
    if (!rc && world.env->ops->task_start(world.env, &world.task))
        rc = RN_IO;
    if (rc)
        sim_server_close();
    return rc;
}

/* As a stop would, but nobody is answered. */
void sim_server_close(void)
{
    if (world.rest) {
        world.env->ops->task_stop(world.env, &world.task);
        rn_rest_quiesce(world.rest);
    }
    rn_engine_close(world.engine);
    for (size_t i = 0; i < world.count; i++) {
        struct fiber *f = &world.fibers[i];
        if (!f->has_call)
            continue;
        forget_call(f);
        f->is_lost = true;
        f->state = READY;
    }
    rn_rest_close(world.rest);
    rn_store_close(world.store);
    world.engine = NULL;
    world.rest = NULL;
    world.store = NULL;
}
