/* request_log.c -- the request lines of the server log; see request_log.h. */
#include "server/request_log.h"

#include "base/hash.h"

enum {
    SLOW_EVERY_MS = 100,
    REST_EVERY_MS = 1000,
    TARGET_MAX = 512,
    SLOW_DOCUMENTS =
        10000, /* documents read that make a query slow, however quick */
};

void rn_request_log_init(struct rn_request_log *j, struct rn_log *log, bool all,
                         uint64_t slow_ms)
{
    *j = (struct rn_request_log){
        .log = log,
        .all = all,
        .slow_ns = (int64_t)slow_ms * 1000000,
        .slow = RN_LOG_LIMIT_INIT(SLOW_EVERY_MS),
        .failed = RN_LOG_LIMIT_INIT(REST_EVERY_MS),
        .foreign = RN_LOG_LIMIT_INIT(REST_EVERY_MS),
    };
    for (size_t i = 0; i < RN_REQUEST_LOG_PEERS; i++)
        j->refused[i] = (struct rn_log_limit)RN_LOG_LIMIT_INIT(REST_EVERY_MS);
}

static struct rn_view target_of(const struct rn_call *call)
{
    struct rn_view target =
        call->req ? call->req->target : (struct rn_view){ "", 0 };

    if (target.len > TARGET_MAX)
        target.len = TARGET_MAX;
    return target;
}

/* `limit` is NULL for a line that is never rate-limited. */
static void write_line(struct rn_request_log *j, struct rn_log_limit *limit,
                       enum rn_log_level level, const char *message,
                       const struct rn_call *call)
{
    const struct rn_call_note *n = &call->note;
    const struct rn_field fields[] = {
        { .key = message },
        RN_TEXT("activity_id", n->activity),
        RN_TEXT("op", call->req ? rn_http_method_name(call->req->method) : ""),
        RN_STR("resource", n->resource),
        RN_STR("path", target_of(call)),
        RN_I64("status", call->res.status),
        RN_I64("substatus", n->sub),
        RN_F64("dur_ms", (double)n->ns / 1e6),
        RN_TEXT("waited_for", n->waited_for ? n->waited_for : "nothing"),
        RN_U64("examined", n->query.examined),
        RN_F64("ru", n->charge),
        RN_U64("req_bytes", call->req ? call->req->body.len : 0),
        RN_U64("resp_bytes", call->res.body.len),
        RN_TEXT("client", call->peer ? call->peer : ""),
        RN_TEXT("key", n->key ? n->key : "none"),
        RN_U64("range", n->range),
        RN_U64("lsn", n->lsn),
        RN_TEXT("err", n->err ? n->err : ""),
        { .key = NULL },
    };

    if (limit)
        rn_log_at_seldom(j->log, limit, level, fields);
    else
        rn_log_at(j->log, level, fields);
}

/* The server's fault, not the client's. */
static bool is_fault(enum rn_code code)
{
    return code == RN_IO || code == RN_CORRUPT || code == RN_NOMEM ||
           code == RN_FULL || code == RN_READ_ONLY || code == RN_UNKNOWN;
}

static struct rn_log_limit *refused_of(struct rn_request_log *j,
                                       const struct rn_call *call)
{
    const char *peer = call->peer ? call->peer : "";
    const char *port = strrchr(peer, ':');
    struct rn_view host =
        rn_view_of(peer, port ? (size_t)(port - peer) : strlen(peer));

    return &j->refused[rn_hash64(host, 0) % RN_REQUEST_LOG_PEERS];
}

void rn_request_log_call(struct rn_request_log *j, const struct rn_call *call)
{
    const struct rn_call_note *n = &call->note;

    if (n->jump_ms)
        rn_log_warn(j->log, "the wall clock has jumped",
                    RN_I64("by_ms", n->jump_ms));
    if (j->all)
        write_line(j, NULL, RN_LOG_INFO, "request", call);
    if (is_fault(n->code))
        write_line(j, &j->failed, RN_LOG_ERROR, "request failed", call);
    else if (n->code == RN_UNAUTHORIZED)
        write_line(j, refused_of(j, call), RN_LOG_WARN, "not authorized", call);
    if (j->slow_ns &&
        (n->ns > j->slow_ns || n->query.examined >= SLOW_DOCUMENTS))
        write_line(j, &j->slow, RN_LOG_WARN, "slow request", call);
}

void rn_request_log_foreign(struct rn_request_log *j, const char *peer)
{
    rn_log_seldom(
        j->log, &j->foreign, RN_LOG_WARN,
        "a client started TLS, but the server has no certificate; see "
        "'runnel tls init'",
        RN_TEXT("client", peer));
}
