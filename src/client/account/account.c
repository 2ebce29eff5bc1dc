/* account.c -- see account.h. */
#include "client/account/account.h"

#include "base/clock.h"
#include "client/account/call.h"
#include "client/account/endpoint.h"
#include "client/http/curl.h"
#include "client/http/options.h"
#include "cosmos/account.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    TIMEOUT_MS = 10000,
    RETRY_LIMIT = 9,
    RETRY_WAIT_MS = 30000,
    CONNECTION_LIMIT = 16,
    CLOCK_OFF_MS = 5 * 60 * 1000,
    USER_AGENT_MAX = 256,
};

struct rn_account {
    atomic_uint refs;
    struct rn_pool *pool;
    struct rn_credential *credential;
    struct rn_regions *regions;
    struct rn_sessions *sessions;
    struct rn_cancel cancel;
    struct rn_retry_policy retry;
    uint32_t timeout_ms;
    char user_agent[USER_AGENT_MAX];
    char consistency[24]; /* "": the account's */
    bool is_weak;         /* that level needs no session tokens */
    bool without_session;
    atomic_bool account_is_weak; /* the account's level needs none */
    _Atomic int64_t clock_ahead_ms;
};

/* ---- opening ------------------------------------------------------------- */

/* The endpoint and, without another credential, the key. */
struct named {
    char endpoint[RN_REGION_URL_MAX];
    struct rn_view key;
    bool insecure_tls;
};

static runnel_code find_key(const runnel_client_options *o, bool is_loopback,
                            struct rn_view given, struct named *out,
                            runnel_error *error)
{
    int count =
        (given.len > 0) + (o->resource_token != NULL) + (o->token != NULL);

    if (count > 1) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "more than one of key, resource_token and token "
                            "is given");
    }
    if (count == 0 && !is_loopback)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "none of key, resource_token and token is given");
    if (o->resource_token && !o->resource_token[0])
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the resource token is empty");
    out->key = count == 0 ? RN_LIT(RN_ACCOUNT_EMULATOR_KEY) : given;
    return RUNNEL_OK;
}

static runnel_code read_names(const runnel_client_options *o, struct named *out,
                              runnel_error *error)
{
    struct rn_connection connection = { 0 };
    struct rn_view key = rn_view_text(o->key ? o->key : "");
    struct rn_view endpoint = rn_view_text(o->endpoint ? o->endpoint : "");
    bool is_loopback = false;
    runnel_code rc = RUNNEL_OK;

    if (o->connection_string) {
        if (o->endpoint || o->key || o->resource_token || o->token) {
            return rn_error_set(error, RUNNEL_BAD_REQUEST,
                                "connection_string is given beside endpoint, "
                                "key, resource_token or token");
        }
        rc = rn_connection_parse(o->connection_string, &connection, error);
        key = connection.key;
        endpoint = connection.endpoint;
    } else if (!o->endpoint) {
        rc = rn_error_set(error, RUNNEL_BAD_REQUEST,
                          "neither endpoint nor connection_string is given");
    }
    if (!rc)
        rc = rn_endpoint_parse(endpoint, out->endpoint, &is_loopback, error);
    out->insecure_tls = o->insecure_tls || connection.insecure_tls;
    return rc ? rc : find_key(o, is_loopback, key, out, error);
}

static runnel_code set_consistency(struct rn_account *a, const char *name,
                                   runnel_error *error)
{
    enum rn_consistency level;

    if (!name)
        return RUNNEL_OK;
    if (rn_consistency_parse(rn_view_text(name), &level, NULL) != RN_OK)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "consistency is not the name of a level");
    snprintf(a->consistency, sizeof(a->consistency), "%s",
             rn_consistency_name(level));
    a->is_weak = level < RN_CONSISTENCY_SESSION;
    return RUNNEL_OK;
}

static void set_numbers(struct rn_account *a, const runnel_client_options *o)
{
    a->timeout_ms = rn_option_or(o->timeout_ms, TIMEOUT_MS);
    a->retry.limit = o->retry_limit == RUNNEL_OFF
                         ? 0
                         : rn_option_or(o->retry_limit, RETRY_LIMIT);
    a->retry.wait_ms = rn_option_or(o->retry_wait_ms, RETRY_WAIT_MS);
    a->without_session = o->without_session;
    snprintf(a->user_agent, sizeof(a->user_agent), "librunnel/%s%s%s",
             RUNNEL_VERSION, o->user_agent ? " " : "",
             o->user_agent ? o->user_agent : "");
}

static runnel_code open_network(const runnel_client_options *o,
                                bool insecure_tls, struct rn_network **out,
                                runnel_error *error)
{
    struct rn_curl_options curl = {
        .ca_file = o->ca_file,
        .insecure_tls = insecure_tls,
        .proxy = o->proxy,
        .connect_timeout_ms =
            rn_option_or(o->connect_timeout_ms, CONNECT_TIMEOUT_MS),
    };

    return rn_curl_network_open(&curl, rn_env_real(), out, error);
}

static runnel_code fill(struct rn_account *a, const runnel_client_options *o,
                        const struct named *named, struct rn_network *network,
                        runnel_error *error)
{
    struct rn_credential_options by = { .key = named->key,
                                        .resource_token = o->resource_token,
                                        .token = o->token,
                                        .token_context = o->token_context };
    uint32_t limit = rn_option_or(o->connection_limit, CONNECTION_LIMIT);
    runnel_code rc = RUNNEL_OK;

    if (!network)
        rc = open_network(o, named->insecure_tls, &network, error);
    if (!rc)
        rc = rn_pool_new(network, limit, &a->pool, error);
    if (!rc)
        rc = rn_credential_new(&by, &a->credential, error);
    if (!rc)
        rc = rn_regions_new(named->endpoint, o->preferred_regions, &a->regions,
                            error);
    if (!rc)
        rc = rn_sessions_new(&a->sessions, error);
    return rc;
}

runnel_code rn_account_open(const runnel_client_options *options,
                            struct rn_network *network, struct rn_account **out,
                            runnel_error *error)
{
    runnel_client_options o;
    struct named named = { 0 };
    struct rn_account *a = NULL;
    runnel_code rc = rn_options_copy(&o, sizeof(o), options, error);

    if (!rc)
        rc = read_names(&o, &named, error);
    if (!rc) {
        a = rn_new(sizeof(*a));
        rc = a ? RUNNEL_OK : rn_error_no_memory(error);
    }
    if (!rc) {
        atomic_init(&a->refs, 1);
        set_numbers(a, &o);
        rc = set_consistency(a, o.consistency, error);
    }
    if (!rc)
        rc = fill(a, &o, &named, network, error);
    else if (network)
        network->ops->close(network);
    if (rc)
        rn_account_unref(a);
    else
        *out = a;
    return rc;
}

struct rn_account *rn_account_ref(struct rn_account *a)
{
    atomic_fetch_add(&a->refs, 1);
    return a;
}

void rn_account_unref(struct rn_account *a)
{
    if (!a || atomic_fetch_sub(&a->refs, 1) != 1)
        return;
    rn_pool_free(a->pool);
    rn_credential_free(a->credential);
    rn_regions_free(a->regions);
    rn_sessions_free(a->sessions);
    rn_free(a);
}

/* ---- the account's own answer -------------------------------------------- */

static void learn_level(struct rn_account *a, const struct rn_json *j)
{
    uint32_t policy = rn_json_find(j, 0, RN_LIT("userConsistencyPolicy"));
    uint32_t name = rn_json_find(j, policy, RN_LIT("defaultConsistencyLevel"));
    enum rn_consistency level;

    if (rn_consistency_parse(rn_json_text(j, name), &level, NULL) == RN_OK)
        atomic_store(&a->account_is_weak, level < RN_CONSISTENCY_SESSION);
}

static runnel_code learn(struct rn_account *a, struct rn_view body,
                         runnel_error *error)
{
    struct rn_err err = { 0 };
    struct rn_json j;
    runnel_code rc;

    rn_json_init(&j, NULL);
    rc = rn_error_take(error, rn_json_parse(&j, body, &err), &err);
    if (!rc) {
        learn_level(a, &j);
        rc = rn_regions_learn(a->regions, &j, error);
    }
    rn_json_release(&j);
    return rc;
}

runnel_code rn_account_prepare(struct rn_account *a,
                               const struct rn_cancel *cancel,
                               runnel_error *error)
{
    struct rn_link link = { .kind = RN_KIND_ACCOUNT };
    struct rn_client_call call;
    runnel_code rc;

    if (!rn_regions_want(a->regions, rn_mono_ns(rn_account_env(a))))
        return RUNNEL_OK;
    rn_client_call_init(&call, a, "GET", RN_EFFECT_READ, &link);
    call.cancel = cancel;
    rc = rn_client_call_run(&call, error);
    if (!rc)
        rc = learn(a, rn_buf_view(&call.exchange.answer), error);
    rn_client_call_release(&call);
    return rc == RUNNEL_CANCELLED || rc == RUNNEL_NO_MEMORY ? rc : RUNNEL_OK;
}

/* ---- the clock ----------------------------------------------------------- */

static bool read_date(const struct rn_exchange *x, int64_t *ms)
{
    struct rn_view date = rn_headers_find(&x->answer_headers, RN_HEADER_DATE);
    int64_t seconds;

    if (date.len == 0 || rn_date_parse(date, &seconds, NULL) != RN_OK)
        return false;
    *ms = seconds * 1000;
    return true;
}

int64_t rn_account_wall_ms(const struct rn_account *a)
{
    return rn_wall_ms(rn_account_env(a)) + atomic_load(&a->clock_ahead_ms);
}

bool rn_account_is_clock_off(const struct rn_account *a,
                             const struct rn_exchange *x)
{
    int64_t date_ms;

    return read_date(x, &date_ms) &&
           llabs(date_ms - rn_account_wall_ms(a)) > CLOCK_OFF_MS;
}

void rn_account_set_clock(struct rn_account *a, const struct rn_exchange *x)
{
    int64_t date_ms;

    if (read_date(x, &date_ms))
        atomic_store(&a->clock_ahead_ms,
                     date_ms - rn_wall_ms(rn_account_env(a)));
}

/* ---- parts --------------------------------------------------------------- */

struct rn_env *rn_account_env(const struct rn_account *a)
{
    return rn_pool_env(a->pool);
}

struct rn_pool *rn_account_pool(const struct rn_account *a)
{
    return a->pool;
}

struct rn_retry_policy rn_account_retry(const struct rn_account *a)
{
    return a->retry;
}

struct rn_cancel *rn_account_cancel(struct rn_account *a)
{
    return &a->cancel;
}

struct rn_credential *rn_account_credential(const struct rn_account *a)
{
    return a->credential;
}

struct rn_regions *rn_account_regions(const struct rn_account *a)
{
    return a->regions;
}

struct rn_sessions *rn_account_sessions(const struct rn_account *a)
{
    return a->sessions;
}

const char *rn_account_user_agent(const struct rn_account *a)
{
    return a->user_agent;
}

const char *rn_account_consistency(const struct rn_account *a)
{
    return a->consistency[0] ? a->consistency : NULL;
}

uint32_t rn_account_timeout_ms(const struct rn_account *a)
{
    return a->timeout_ms;
}

bool rn_account_has_session(const struct rn_account *a)
{
    bool is_weak =
        a->consistency[0] ? a->is_weak : atomic_load(&a->account_is_weak);

    return !a->without_session && !is_weak;
}
