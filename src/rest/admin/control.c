/* control.c -- the control routes under /_runnel/, for operators and tests.
 *
 * Paths are matched exactly.  The routes need a read-write account key, whose
 * signature is over an empty resource type and the path without its first
 * slash.  They exist for clients on loopback, or for all with --admin; for
 * others they are 404.  Rows marked `test` need --test-mode.
 *
 * Bodies are JSON objects; an unknown member is refused, so that a misspelt one
 * does not silently get its default.
 */
#include "rest/admin/control.h"

#include "rest/admin/fault_injection.h"
#include "rest/admin/fixture.h"
#include "rest/admin/split_merge.h"
#include "rest/admin/wait.h"
#include "rest/auth.h"
#include "rest/context.h"
#include "rest/objects.h"
#include "rest/query/explain.h"
#include "rest/reply.h"

#include "base/shifted_clock.h"
#include "engine/range/lsn_bump.h"
#include "json/json.h"
#include "json/print.h"

#include <stdio.h>

static rn_handler_fn read_clock, turn_clock;
static rn_handler_fn read_faults, order_fault, clear_faults;
static rn_handler_fn advance_lsn;

/* clang-format off */
static const struct control {
    enum rn_http_method method;
    bool test; /* needs --test-mode */
    const char *path;
    rn_handler_fn *run;
} table[] = {
    { RN_HTTP_GET,    true, "/_runnel/clock", read_clock },
    { RN_HTTP_POST,   true, "/_runnel/clock", turn_clock },
    { RN_HTTP_GET,    true, "/_runnel/fault", read_faults },
    { RN_HTTP_POST,   true, "/_runnel/fault", order_fault },
    { RN_HTTP_DELETE, true, "/_runnel/fault", clear_faults },
    { RN_HTTP_POST,   true, "/_runnel/lsn",   advance_lsn },
    { RN_HTTP_POST,   true, "/_runnel/index", rn_rest_index },
    { RN_HTTP_POST,   true, "/_runnel/snapshot", rn_rest_take_fixture },
    { RN_HTTP_DELETE, true, "/_runnel/snapshot", rn_rest_drop_fixtures },
    { RN_HTTP_POST,   true, "/_runnel/reset", rn_rest_reset },
    { RN_HTTP_POST,   false, "/_runnel/wait", rn_rest_wait },
    { RN_HTTP_POST,   false, "/_runnel/explain", rn_rest_explain },
    { RN_HTTP_POST,   false, "/_runnel/split", rn_rest_split },
    { RN_HTTP_POST,   false, "/_runnel/merge", rn_rest_merge },
};
/* clang-format on */

enum { ROWS = sizeof(table) / sizeof(table[0]), COUNT_MAX = 1000000 };

#define CLOCK_MS_MAX (INT64_C(100) * 366 * 86400 * 1000)

/* ---- which --------------------------------------------------------------- */

bool rn_control_is(const struct rn_context *x)
{
    return rn_view_starts(x->call->req->target, RN_LIT("/_runnel/"));
}

static bool is_there(const struct rn_context *x, const struct control *c)
{
    return (x->call->is_loopback || x->rest->opts.admin) &&
           (!c->test || x->rest->opts.clock) &&
           rn_view_eq(x->call->req->target, rn_view_text(c->path));
}

enum rn_rest_step rn_rest_control(struct rn_context *x)
{
    bool is_path = false;
    enum rn_code rc;

    x->is_control = true;
    rc = rn_rest_authorize(x);
    if (!rc && !(x->rights & RN_MAY_WRITE))
        rc = rn_fail(&x->err, RN_FORBIDDEN,
                     "The given request requires a read-write key");
    if (rc)
        return rn_reply_fail(x, rc);
    for (size_t i = 0; i < ROWS; i++) {
        if (!is_there(x, &table[i]))
            continue;
        is_path = true;
        if (table[i].method == x->call->req->method)
            return table[i].run(x);
    }
    if (is_path) {
        return rn_reply_fail(
            x, rn_fail_reason(&x->err, RN_REASON_METHOD,
                              "Operation is not allowed on this resource"));
    }
    return rn_reply_fail(
        x, rn_fail(&x->err, RN_NOT_FOUND, "There is no such control route"));
}

/* ---- bodies -------------------------------------------------------------- */

enum rn_code rn_control_body(struct rn_context *x, struct rn_json *j,
                             const char *const *known)
{
    struct rn_json_walk w;
    enum rn_code rc = rn_json_parse(j, x->call->req->body, &x->err);

    if (rc)
        return rc;
    if (rn_json_kind(j, 0) != RN_JSON_OBJECT)
        return rn_fail(&x->err, RN_BAD_REQUEST, "the body is not an object");
    w = rn_json_walk_begin(j, 0);
    while (rn_json_walk_next(&w)) {
        size_t i = 0;
        while (known[i] &&
               !rn_json_string_is(j, w.name, rn_view_text(known[i])))
            i++;
        if (!known[i])
            return rn_fail(&x->err, RN_BAD_REQUEST, "there is no member '%.*s'",
                           RN_FMT(rn_json_text(j, w.name)));
    }
    return RN_OK;
}

enum rn_code rn_control_number(struct rn_context *x, const struct rn_json *j,
                               const char *name, int64_t most, int64_t *out)
{
    uint32_t value = rn_json_find(j, 0, rn_view_text(name));
    int64_t n = -1;

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED)
        return RN_OK;
    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, &n) || n < 0 || n > most) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "%s is a whole number from 0 to %lld", name,
                       (long long)most);
    }
    *out = n;
    return RN_OK;
}

enum rn_code rn_control_text(struct rn_context *x, const struct rn_json *j,
                             const char *name, char *out, size_t room)
{
    uint32_t value = rn_json_find(j, 0, rn_view_text(name));
    struct rn_view text = { 0 };
    enum rn_code rc;

    out[0] = '\0';
    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED)
        return RN_OK;
    rc = rn_json_kind(j, value) == RN_JSON_STRING
             ? rn_json_string_get(j, value, &x->call->arena, &text)
             : RN_BAD_REQUEST;
    if (rc || text.len >= room || memchr(text.at, '\0', text.len))
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "%s is a string of at most %zu bytes", name, room - 1);
    memcpy(out, text.at, text.len);
    out[text.len] = '\0';
    return RN_OK;
}

enum rn_code rn_control_link(struct rn_context *x, const struct rn_json *j,
                             const char *name)
{
    uint32_t value = rn_json_find(j, 0, rn_view_text(name));
    struct rn_http_target path;
    struct rn_view text = { 0 };
    enum rn_code rc = RN_BAD_REQUEST;

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        rc = rn_json_string_copy(j, value, &x->call->arena, &text);
    if (!rc)
        rc = rn_http_target_parse(text, RN_HTTP_QUESTION_IS_NAME,
                                  &x->call->arena, &path, &x->err);
    if (!rc)
        rc =
            rn_link_parse(path.segments, path.segment_count, &x->link, &x->err);
    if (rc || x->link.kind != RN_KIND_CONTAINER || x->link.is_list)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "%s is a path like \"dbs/a/colls/b\"", name);
    return RN_OK;
}

enum rn_code rn_control_container(struct rn_context *x, const struct rn_json *j)
{
    enum rn_code rc = rn_control_link(x, j, "container");

    return rc ? rc : rn_context_find_container(x);
}

/* ---- the clock ----------------------------------------------------------- */

static enum rn_rest_step answer_clock(struct rn_context *x, int64_t ahead_ms)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("now"));
    rn_json_out_int(&o, rn_engine_now(x->rest->engine));
    rn_json_out_key(&o, RN_LIT("aheadMs"));
    rn_json_out_int(&o, ahead_ms);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o) ? rn_reply_fail(x, RN_NOMEM)
                                  : rn_reply_json(x, RN_STATUS_OK);
}

static enum rn_rest_step read_clock(struct rn_context *x)
{
    return answer_clock(x, rn_shifted_clock_advance(x->rest->opts.clock, 0));
}

/* {"advanceMs": 5000} */
static enum rn_rest_step turn_clock(struct rn_context *x)
{
    static const char *const known[] = { "advanceMs", NULL };
    struct rn_json j;
    int64_t ms = -1;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = rn_control_number(x, &j, known[0], CLOCK_MS_MAX, &ms);
    if (!rc && ms < 0)
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "advanceMs is missing");
    rn_json_release(&j);
    if (rc)
        return rn_reply_fail(x, rc);
    ms = rn_shifted_clock_advance(x->rest->opts.clock, ms);
    rn_engine_clock_turned(x->rest->engine);
    return answer_clock(x, ms);
}

/* ---- faults -------------------------------------------------------------- */

static enum rn_rest_step read_faults(struct rn_context *x)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    uint64_t taken = 0;

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("waiting"));
    rn_json_out_uint(&o, rn_injected_fault_waiting(x->rest, &taken));
    rn_json_out_key(&o, RN_LIT("taken"));
    rn_json_out_uint(&o, taken);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o) ? rn_reply_fail(x, RN_NOMEM)
                                  : rn_reply_json(x, RN_STATUS_OK);
}

static enum rn_rest_step clear_faults(struct rn_context *x)
{
    rn_injected_fault_clear(x->rest);
    return rn_reply_empty(x, RN_STATUS_NO_CONTENT);
}

/* "status" with "subStatus" and "after", or "lose", which is "request" or
 * "answer". */
static enum rn_code read_blow(struct rn_context *x, const struct rn_json *j,
                              struct rn_injected_fault *out)
{
    uint32_t after = rn_json_find(j, 0, RN_LIT("after"));
    uint32_t lose = rn_json_find(j, 0, RN_LIT("lose"));
    int64_t status = 0, sub = -1; /* absent: the usual one */
    enum rn_code rc = rn_control_number(x, j, "status", 599, &status);

    if (!rc)
        rc = rn_control_number(x, j, "subStatus", 99999, &sub);
    if (rc)
        return rc;
    out->after = rn_json_kind(j, after) == RN_JSON_TRUE;
    if (!status) {
        out->blow.loses = true;
        out->after = rn_json_string_is(j, lose, RN_LIT("answer"));
        if (out->after || rn_json_string_is(j, lose, RN_LIT("request")))
            return RN_OK;
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "status is missing; or give lose, which is \"request\" "
                       "or \"answer\"");
    }
    out->blow.status = rn_status_read((int)status, (int)sub);
    if (status >= 400 && out->blow.status->http == status &&
        (sub <= 0 || out->blow.status->sub == sub))
        return RN_OK;
    return rn_fail(&x->err, RN_BAD_REQUEST,
                   "%lld with sub-status %lld is no fault that is known",
                   (long long)status, sub < 0 ? 0LL : (long long)sub);
}

static enum rn_code read_order(struct rn_context *x, const struct rn_json *j,
                               struct rn_injected_fault *out)
{
    int64_t count = 1, skip = 0;
    enum rn_code rc = read_blow(x, j, out);

    if (!rc)
        rc = rn_control_number(x, j, "count", COUNT_MAX, &count);
    if (!rc)
        rc = rn_control_number(x, j, "skip", COUNT_MAX, &skip);
    if (!rc)
        rc = rn_control_text(x, j, "method", out->method, sizeof(out->method));
    if (!rc)
        rc = rn_control_text(x, j, "path", out->path, sizeof(out->path));
    if (!rc)
        rc = rn_control_text(x, j, "header", out->header, sizeof(out->header));
    if (!rc && count < 1)
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "count is at least 1");
    out->count = (uint32_t)count;
    out->skip = (uint32_t)skip;
    return rc;
}

/* {"status": 429, "count": 2, "method": "POST", "path": "/dbs/a/"} */
static enum rn_rest_step order_fault(struct rn_context *x)
{
    static const char *const known[] = { "status", "subStatus", "after",
                                         "lose",   "count",     "skip",
                                         "method", "path",      "header",
                                         NULL };
    struct rn_injected_fault order = { 0 };
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = read_order(x, &j, &order);
    rn_json_release(&j);
    if (!rc)
        rc = rn_injected_fault_add(x->rest, &order, &x->err);
    return rc ? rn_reply_fail(x, rc) : read_faults(x);
}

/* ---- LSNs ---------------------------------------------------------------- */

static enum rn_rest_step lsn_advanced(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct rn_json_out o = RN_JSON_OUT_INIT(&call->body);
    char range[16];

    if (x->rc)
        return rn_reply_fail(x, x->rc);
    snprintf(range, sizeof(range), "%u", x->advance.range);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("range"));
    rn_json_out_string(&o, rn_view_text(range));
    rn_json_out_key(&o, RN_LIT("lsn"));
    rn_json_out_uint(&o, x->advance.lsn);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o) ? rn_reply_fail(x, RN_NOMEM)
                                  : rn_reply_json(x, RN_STATUS_OK);
}

/* Thread: committer. */
static void advance_done(struct rn_done *done, enum rn_code rc,
                         const struct rn_err *err)
{
    struct rn_context *x =
        RN_CONTAINER_OF(done, struct rn_context, advance.done);

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

/* {"container": "dbs/a/colls/b", "range": 0, "lsn": 28534} */
static enum rn_rest_step advance_lsn(struct rn_context *x)
{
    static const char *const known[] = { "container", "range", "lsn", NULL };
    struct rn_lsn_bump *a = &x->advance;
    int64_t range = 0, lsn = -1;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = rn_control_number(x, &j, "range", UINT32_MAX, &range);
    if (!rc)
        rc = rn_control_number(x, &j, "lsn", INT64_MAX, &lsn);
    if (!rc && lsn < 0)
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "lsn is missing");
    if (!rc)
        rc = rn_control_container(x, &j);
    rn_json_release(&j);
    if (rc)
        return rn_reply_fail(x, rc);
    a->done.call = advance_done;
    a->container = x->container->container;
    a->range = (uint32_t)range;
    a->lsn = (uint64_t)lsn;
    x->call->next = lsn_advanced;
    rc = rn_lsn_bump_start(x->rest->engine, a, &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}
