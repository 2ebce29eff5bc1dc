/* server.c -- starts, reloads and stops the server; see server.h.
 *
 * Order of opening: data, engine, REST, workers, loops, listener.  Stopping
 * goes the other way, so that no part is used after it is closed: first no new
 * connections, then no requests, then no writes, then the data.
 */
#include "server/server.h"

#include "cosmos/account.h"
#include "server/connections.h"
#include "server/data.h"
#include "server/reload.h"
#include "server/sandbox.h"
#include "server/server_state.h"
#include "server/trim_memory.h"
#include "json/json.h"

#include <stdio.h>
#include <strings.h>
#include <unistd.h>

enum {
    SLICE_MS = 100, /* time slice of a query while others wait */
    DRAIN_STEP_NS = 5000000,
    CONFIG_BYTES = 4096,
};

/* ---- starting ------------------------------------------------------------ */

/* `localhost` means both loopback addresses, whatever /etc/hosts says. */
static enum rn_code open_listeners(struct rn_server *s, struct rn_err *err)
{
    const char *where = s->options->listen;
    struct rn_view name = RN_LIT("localhost:");
    enum rn_code rc;

    if (strncasecmp(where, name.at, name.len) != 0)
        return rn_listener_open(where, &s->listeners[0], err);
    rc = rn_listener_open_localhost(where + name.len, s->listeners, err);
    if (!rc && !s->listeners[1])
        rn_log_info(s->log, "there is no IPv6: ::1 is not served");
    return rc;
}

/* For the metrics.  It is not called before the loops exist. */
static void tell_vitals(void *of, struct rn_rest_vitals *out)
{
    const struct rn_server *s = of;

    *out = (struct rn_rest_vitals){ .unsent_bytes = rn_conn_unsent_bytes() };
    for (unsigned i = 0; i < s->loop_count; i++)
        rn_loop_add_turns(s->loops[i], &out->turns);
    if (s->workers)
        rn_workers_add_waits(s->workers, &out->waits);
}

static enum rn_code open_rest(struct rn_server *s, struct rn_err *err)
{
    const struct rn_options *o = s->options;
    struct rn_rest_opts opts = {
        .env = s->env,
        .engine = s->engine,
        .log = s->log,
        .data_dir = rn_data_is_in_memory(o) ? NULL : o->data,
        .authority_file = s->certificate.ca_file,
        .authority = &s->certificate.ca,
        .metrics_token_file = o->metrics_token_file,
        .advertise = o->advertise,
        .host = o->advertised_host[0] ? o->advertised_host : NULL,
        .consistency = o->consistency,
        .config = rn_buf_view(&s->config),
        .query_ms = o->query_ms,
        .any_order = o->any_order,
        .strict = o->strict,
        .admin = o->admin,
        .clock = o->test_mode ? &s->turned : NULL,
        .well_known_key =
            rn_listener_is_loopback(s->listeners[0]) || o->allow_well_known_key,
        .loopback_only = rn_listener_is_loopback(s->listeners[0]),
        .has_127 =
            rn_view_starts(rn_view_text(rn_listener_address(s->listeners[0])),
                           RN_LIT("127.0.0.1:")),
        .tls_has_127 = &s->certificate.is_loopback,
        .tls_only = !o->allow_plain_http,
        .tls_not_after = &s->certificate.not_after,
        .connections = &s->open,
        .vitals = tell_vitals,
        .vitals_of = s,
        .enforce_throughput = o->enforce_throughput,
        .auth_delay_ms = o->auth_delay_ms,
    };

    return rn_rest_open(&opts, &s->rest, err);
}

static enum rn_code describe_config(struct rn_server *s, struct rn_err *err)
{
    s->config = RN_BUF_INIT(CONFIG_BYTES);
    return rn_options_print_labels(s->options, &s->config)
               ? rn_fail(err, RN_NOMEM, "out of memory")
               : RN_OK;
}

/* One core is left to the committer and the maintenance thread, which all
 * writers wait for.  With as many loops as cores each had less work at a time
 * and was woken more often: a tenth more processor time for a read or a
 * write. */
static uint64_t loops_wanted(const struct rn_options *o)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (o->loops)
        return o->loops;
    return cores > 2 ? (uint64_t)cores - 1 : 1;
}

static enum rn_code start_loops(struct rn_server *s, struct rn_err *err)
{
    uint64_t want = loops_wanted(s->options);
    struct rn_workers_opts opts = {
        .env = s->env,
        .permits = (unsigned)s->options->workers,
        .runs_max = (unsigned)s->options->queries_max,
        .waiting_max = (unsigned)s->options->queries_waiting_max,
        .slice_ns = SLICE_MS * INT64_C(1000000),
    };
    enum rn_code rc = rn_workers_new(&opts, &s->workers, err);

    for (; !rc && s->loop_count < want && s->loop_count < RN_SERVER_LOOPS_MAX;
         s->loop_count += !rc)
        rc = rn_loop_new(s->env, "loop", &s->loops[s->loop_count], err);
    return rc;
}

static void describe_exchanges(struct rn_server *s)
{
    const struct rn_options *o = s->options;

    rn_request_log_init(&s->request_log, s->log, o->log_requests, o->slow_ms);
    s->limits = rn_http_limits_default;
    s->limits.body_bytes_max = (size_t)o->body_bytes_max;
    s->limits.bodies_bytes = &s->bodies_bytes;
    s->limits.bodies_bytes_max =
        (size_t)(o->bodies_bytes_max > 2 * o->body_bytes_max
                     ? o->bodies_bytes_max
                     : 2 * o->body_bytes_max);
    s->exchange = (struct rn_exchange_opts){
        .rest = s->rest,
        .workers = s->workers,
        .request_log = &s->request_log,
        .env = s->env,
        .limits = &s->limits,
        .head_ms = (uint32_t)o->head_ms,
        .latency_ms = (uint32_t)o->latency_ms,
        .idle_ms = (uint32_t)o->idle_ms,
        .stall_ms = (uint32_t)o->stall_ms,
        .requests_max = (uint32_t)o->requests_max,
        .client_limits = s->client_limits,
        .open = &s->open,
        .draining = &s->draining,
    };
}

static enum rn_code start_listening(struct rn_server *s, struct rn_err *err)
{
    enum rn_code rc;

    s->client_limits = rn_client_limits_new();
    if (!s->client_limits)
        return rn_fail(err, RN_NOMEM, "out of memory");
    describe_exchanges(s);
    for (; s->listening < 2 && s->listeners[s->listening]; s->listening++) {
        rc = rn_listener_start(s->listeners[s->listening], s->loops[0],
                               rn_connections_accept, s, err);
        if (rc)
            return rc;
    }
    for (unsigned i = 0; i < s->loop_count; i++) {
        rc = rn_loop_start(s->loops[i], err);
        if (rc)
            return rc;
    }
    s->serving = true;
    return RN_OK;
}

/* Secure by default: off loopback, a publicly known key, plain HTTP, or running
 * as root must be enabled by name. */
static enum rn_code check_exposure(struct rn_server *s, struct rn_err *err)
{
    if (rn_listener_is_loopback(s->listeners[0]))
        return RN_OK;
    if ((!rn_server_has_tls(s) || s->certificate.is_automatic) &&
        !s->options->allow_plain_http) {
        return rn_fail(err, RN_FORBIDDEN,
                       "%s is not loopback: make a certificate with 'runnel "
                       "tls init', or give "
                       "--allow-plain-http-on-network",
                       rn_listener_address(s->listeners[0]));
    }
    if (geteuid() == 0 && !s->options->allow_root) {
        return rn_fail(err, RN_FORBIDDEN,
                       "%s is not loopback, and root should not serve a "
                       "network: give --user NAME, or --allow-root",
                       rn_listener_address(s->listeners[0]));
    }
    return RN_OK;
}

/* The first lines of the server log: what an operator wants to know about a
 * start. */
static void tell_start(struct rn_server *s)
{
    const struct rn_options *o = s->options;
    bool exposed = !rn_listener_is_loopback(s->listeners[0]);
    const struct rn_listener *also = s->listeners[1];
    struct rn_store_status store;
    char listen[2 * RN_ADDRESS_TEXT_MAX];

    snprintf(listen, sizeof(listen), "%s%s%s", rn_server_address(s),
             also ? " " : "", also ? rn_listener_address(also) : "");
    rn_store_status(s->store, &store);
    rn_log_info(s->log, "started", RN_TEXT("version", RUNNEL_VERSION),
                RN_TEXT("listen", listen), RN_BOOL("tls", rn_server_has_tls(s)),
                RN_TEXT("data", o->data), RN_TEXT("store", o->store),
                RN_U64("recovered_records", store.recovered_records),
                RN_I64("recovery_ms", store.recovery_ms));
    if (store.full) {
        rn_log_warn(s->log, "writes are refused because disk space is low",
                    RN_TEXT("err", store.reason),
                    RN_U64("free_bytes", store.disk_free_bytes),
                    RN_U64("reserve_bytes", store.reserve_bytes));
    }
    if (exposed && o->allow_well_known_key) {
        rn_log_warn(
            s->log,
            "everyone on the network can use the emulator's well-known key, "
            "which is valid");
    }
    if (exposed && o->allow_plain_http)
        rn_log_warn(s->log, "plain HTTP is open to the network");
    if (exposed && geteuid() == 0)
        rn_log_warn(s->log, "the server runs as root and serves a network");
    if (exposed && o->admin)
        rn_log_warn(s->log, "the control routes are open to the network");
    if (o->test_mode)
        rn_log_warn(s->log, "test mode is on: clients can inject faults");
}

enum rn_code rn_server_start(const struct rn_options *options,
                             struct rn_log *log, struct rn_server **out,
                             struct rn_err *err)
{
    struct rn_server *s = rn_new(sizeof(*s));
    bool had_keys = rn_reload_has_keys(options);
    uint64_t seed = 0;
    enum rn_code rc;

    if (!s)
        return rn_fail(err, RN_NOMEM, "out of memory");
    s->options = options;
    s->log = log;
    s->env = rn_env_real();
    rn_shifted_clock_init(&s->turned);
    rn_file_watch_init(&s->watched);
    rn_certificate_init(&s->certificate, s->options);
    rn_random(s->env, &seed, sizeof(seed));
    rn_json_seed_set(seed);
    rc = open_listeners(s, err);
    if (!rc && options->user)
        rc = rn_sandbox_drop_privileges(options->user, err);
    if (!rc)
        rc = rn_data_check_directory(options, err);
    rn_reload_note_files(s, 0);
    if (!rc)
        rc = rn_reload_certificate(s, err);
    if (!rc)
        rc = check_exposure(s, err);
    if (!rc)
        rc = rn_data_open(s, err);
    if (!rc)
        rc = rn_data_seed(s, err);
    if (!rc)
        rn_reload_ensure_certificate(s);
    rn_reload_note_files(
        s, rn_server_has_automatic_tls(s) ? 0 : RN_RELOAD_FILES - 1);
    if (!rc)
        rc = describe_config(s, err);
    if (!rc)
        rc = open_rest(s, err);
    if (!rc)
        rc = start_loops(s, err);
    if (!rc)
        rc = start_listening(s, err);
    if (rc) {
        rn_server_stop(s);
        return rc;
    }
    tell_start(s);
    rn_reload_log_keys(s, had_keys);
    rn_trim_memory();
    *out = s;
    return RN_OK;
}

const char *rn_server_address(const struct rn_server *s)
{
    return rn_listener_address(s->listeners[0]);
}

bool rn_server_is_lost(const struct rn_server *s)
{
    return atomic_load(&s->lost);
}

bool rn_server_has_tls(const struct rn_server *s)
{
    return rn_certificate_is_there(&s->certificate);
}

const char *rn_server_public_key(const struct rn_server *s)
{
    return rn_listener_is_loopback(s->listeners[0]) ? RN_ACCOUNT_EMULATOR_KEY
                                                    : NULL;
}

bool rn_server_has_automatic_tls(const struct rn_server *s)
{
    return s->certificate.is_automatic;
}

/* ---- stopping ------------------------------------------------------------ */

struct stop_post {
    struct rn_post post;
    struct rn_server *server;
    struct rn_loop *loop;
    atomic_bool done;
};

static void stop_listening(struct rn_post *post)
{
    struct stop_post *p = (struct stop_post *)post;

    for (unsigned i = 0; i < p->server->listening; i++)
        rn_listener_stop(p->server->listeners[i]);
    atomic_store(&p->done, true);
}

static void hurry(struct rn_post *post)
{
    struct stop_post *p = (struct stop_post *)post;

    rn_loop_hurry(p->loop);
    atomic_store(&p->done, true);
}

/* Runs it in a loop's thread, and waits until it is done. */
static void run_in(struct rn_server *s, struct rn_loop *loop,
                   void (*run)(struct rn_post *post))
{
    struct stop_post p = { .post.run = run, .server = s, .loop = loop };

    rn_loop_post(loop, &p.post);
    while (!atomic_load(&p.done))
        s->env->ops->sleep(s->env, DRAIN_STEP_NS);
}

/* Readiness ends before the listeners close: a probe with an open connection
 * learns that the server is stopping, not merely that it is unreachable.  Idle
 * connections are dropped with the loops; those with a request get their
 * time. */
static void drain(struct rn_server *s)
{
    uint64_t ms = s->options->drain_ms + s->options->latency_ms;
    int64_t until = rn_mono_ns(s->env) + (int64_t)ms * 1000000;

    rn_rest_quiesce(s->rest);
    run_in(s, s->loops[0], stop_listening);
    atomic_store(&s->draining, true);
    for (unsigned i = 0; i < s->loop_count; i++)
        run_in(s, s->loops[i], hurry);
    while ((rn_rest_calls(s->rest) > 0 || rn_conn_sending_count() > 0) &&
           rn_mono_ns(s->env) < until)
        s->env->ops->sleep(s->env, DRAIN_STEP_NS);
}

void rn_server_stop(struct rn_server *s)
{
    if (!s)
        return;
    if (s->serving)
        drain(s);
    for (unsigned i = s->listening; i < 2; i++)
        rn_listener_close(s->listeners[i]);
    /* The loops accept nothing from now on, but the engine's last completions
     * are posted to them: they are freed after it. */
    for (unsigned i = 0; i < s->loop_count; i++)
        rn_loop_halt(s->loops[i]);
    rn_workers_free(s->workers);
    if (s->rest)
        rn_rest_quiesce(s->rest);
    rn_engine_close(s->engine);
    for (unsigned i = 0; i < s->loop_count; i++)
        rn_loop_free(s->loops[i]);
    rn_client_limits_free(s->client_limits);
    rn_rest_close(s->rest);
    rn_buf_release(&s->config);
    rn_store_close(s->store);
    rn_file_watch_close(&s->watched);
    rn_certificate_close(&s->certificate);
    rn_free(s);
}
