/* reply.c -- responses: common headers, error bodies, request charges. */
#include "rest/reply.h"

#include "rest/budget.h"
#include "rest/context.h"
#include "rest/sessions.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "json/print.h"

#include <stdio.h>

enum { SMALL = 64 };

#define LINE(name, value) name ": " value "\r\n"

void rn_reply_header(struct rn_context *x, const char *name,
                     struct rn_view value)
{
    rn_http_response_add(&x->call->res, rn_view_text(name), value);
}

void rn_reply_text(struct rn_context *x, const char *name, const char *value)
{
    rn_reply_header(x, name, rn_view_text(value));
}

void rn_reply_number(struct rn_context *x, const char *name, uint64_t value)
{
    rn_http_response_add_number(&x->call->res, rn_view_text(name), value);
}

/* Adds a value that the server made itself, which needs no validation. */
static void add_own(struct rn_context *x, struct rn_view name,
                    struct rn_view value)
{
    rn_http_response_add_own(&x->call->res, name, value);
}

/* Activity ids are unique, not secret.  They are drawn 32 at a time, because
 * each draw is a system call, a third of those of a read.  None is carried over
 * to another instance: a simulated run would depend on the runs before it. */
static struct rn_uuid new_activity(const struct rn_rest *rest)
{
    static _Thread_local unsigned char drawn[32 * 16];
    static _Thread_local size_t left;
    static _Thread_local uint64_t life;
    struct rn_uuid id;

    if (left == 0 || life != rest->life) {
        rn_random(rest->opts.env, drawn, sizeof(drawn));
        left = sizeof(drawn);
        life = rest->life;
    }
    left -= sizeof(id.bytes);
    memcpy(id.bytes, drawn + left, sizeof(id.bytes));
    id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x40); /* version 4 */
    id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
    return id;
}

/* Echoes the client's activity id, if it is valid. */
static void add_activity(struct rn_context *x)
{
    struct rn_view sent = rn_context_header(x, RN_HEADER_ACTIVITY_ID);
    char text[RN_UUID_TEXT_MAX];
    struct rn_uuid id;

    if (!rn_uuid_parse(sent, &id))
        id = new_activity(x->rest);
    add_own(x, RN_LIT(RN_HEADER_ACTIVITY_ID), rn_uuid_print(id, text));
    memcpy(x->call->note.activity, text, RN_UUID_TEXT_MAX);
}

void rn_reply_common(struct rn_context *x)
{
    char date[RN_DATE_TEXT_MAX];

    x->now_s = rn_wall_ms(x->rest->opts.env) / 1000;
    rn_http_response_add_lines(
        &x->call->res,
        RN_LIT(LINE(RN_HEADER_SERVER, "runnel")
                   LINE(RN_HEADER_GATEWAY_VERSION, RN_GATEWAY_VERSION)
                       LINE(RN_HEADER_SERVICE_VERSION, "version=2.14.0.0")));
    add_own(x, RN_LIT(RN_HEADER_DATE), rn_date_print(x->now_s, date));
    add_activity(x);
}

/* A number with as many decimals as `parts` has zeros; inline, so that the
 * divisor is a constant. */
static inline void add_decimals(struct rn_context *x, struct rn_view name,
                                uint64_t number, uint64_t parts)
{
    char text[RN_DECIMAL_MAX + 4], *end = text + sizeof(text), *at;

    at = end - rn_decimal_print(number % parts + parts, end).len;
    *at = '.'; /* replaces the leading 1, which kept the zeros */
    at -= rn_decimal_print(number / parts, at).len;
    add_own(x, name, rn_view_of(at, (size_t)(end - at)));
}

void rn_reply_charge(struct rn_context *x, double units)
{
    x->call->note.charge = units;
    add_decimals(x, RN_LIT(RN_HEADER_CHARGE), (uint64_t)(units * 100 + 0.5),
                 100);
    rn_budget_spend(x, units);
}

void rn_reply_duration(struct rn_context *x, int64_t ns)
{
    add_decimals(x, RN_LIT(RN_HEADER_DURATION_MS),
                 ns > 0 ? (uint64_t)ns / 1000 : 0, 1000);
}

void rn_reply_etag(struct rn_context *x, struct rn_etag etag)
{
    char text[RN_ETAG_LEN];

    rn_etag_print(etag, text);
    add_own(x, RN_LIT(RN_HEADER_ETAG), rn_view_of(text, RN_ETAG_LEN));
}

/* LSN headers for clients that compare replicas: all that is committed here is
 * committed on all replicas. */
static void add_replicas(struct rn_context *x, uint64_t item_lsn,
                         struct rn_view lsn)
{
    char text[RN_DECIMAL_MAX];
    struct rn_view item = rn_decimal_print(item_lsn, text + sizeof(text));

    add_own(x, RN_LIT(RN_HEADER_LOCAL_LSN), lsn);
    add_own(x, RN_LIT(RN_HEADER_COMMITTED_LSN), lsn);
    add_own(x, RN_LIT(RN_HEADER_ACKED_LSN), lsn);
    add_own(x, RN_LIT(RN_HEADER_ACKED_LOCAL_LSN), lsn);
    if (item_lsn) {
        add_own(x, RN_LIT(RN_HEADER_ITEM_LSN), item);
        add_own(x, RN_LIT(RN_HEADER_ITEM_LOCAL_LSN), item);
    }
    add_own(x, RN_LIT(RN_HEADER_READ_REGIONS), RN_LIT("0"));
}

void rn_reply_schema(struct rn_context *x)
{
    add_own(x, RN_LIT(RN_HEADER_SCHEMA_VERSION), RN_LIT("1.18"));
}

void rn_reply_place(struct rn_context *x, const struct rn_document_place *p)
{
    char text[RN_SESSION_LSN_TEXT_MAX], digits[RN_DECIMAL_MAX];
    struct rn_view lsn = rn_decimal_print(p->lsn, digits + sizeof(digits));

    x->call->note.range = p->range;
    x->call->note.lsn = p->lsn;
    add_own(x, RN_LIT(RN_HEADER_SESSION_TOKEN),
            rn_session_print_for(x, p->range, p->lsn, text));
    add_own(x, RN_LIT(RN_HEADER_LSN), lsn);
    rn_reply_number(x, RN_HEADER_RANGE_ID, p->range);
    add_replicas(x, p->etag.lsn, lsn);
    rn_reply_schema(x);
}

static bool is_plain(struct rn_view name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.at[i] < ' ' || name.at[i] >= 0x7f)
            return false;
    }
    return true;
}

static char *put(char *at, struct rn_view text)
{
    memcpy(at, text.at, text.len);
    return at + text.len;
}

static bool is_kept(unsigned char c)
{
    return c > ' ' && c < 0x7f && !strchr("\"%<>[\\]^`{|}", c);
}

/* Writes a name, escaped like JavaScript's encodeURI, which the JavaScript
 * client uses for the names under which it keeps session tokens.  Returns the
 * position behind it. */
static char *put_name(char *at, struct rn_view name, bool is_escaped)
{
    if (!is_escaped)
        return put(at, name);
    for (size_t i = 0; i < name.len; i++) {
        if (is_kept((unsigned char)name.at[i]))
            *at++ = name.at[i];
        else
            at += snprintf(at, 4, "%%%02X", (unsigned char)name.at[i]);
    }
    return at;
}

/* The owner of the requested resource. */
static const struct rn_object *owner_of(const struct rn_context *x)
{
    if (x->link.is_key_delete)
        return x->container;
    switch (x->link.kind) {
    case RN_KIND_ACCOUNT:
    case RN_KIND_DATABASE:
    case RN_KIND_OFFER:
        return NULL;
    case RN_KIND_CONTAINER:
    case RN_KIND_USER:
    case RN_KIND_CLIENT_KEY:
        return x->database;
    case RN_KIND_PERMISSION:
        return x->user;
    default:
        return x->container;
    }
}

/* For a deleted container it is the container's own rid: under that rid clients
 * drop their session tokens. */
static struct rn_rid owner_rid(const struct rn_context *x,
                               const struct rn_object *owner)
{
    return x->container && x->link.kind == RN_KIND_CONTAINER &&
                   x->call->req->method == RN_HTTP_DELETE
               ? x->container->rid
               : owner->rid;
}

/* Was a document missing?  The service leaves out the rid then, so that clients
 * do not keep the session token. */
static bool is_missing(const struct rn_context *x)
{
    const struct rn_batch *b = x->batch;

    if (x->rc || !b || b->mode != RN_BATCH_ATOMIC)
        return x->rc == RN_NOT_FOUND;
    for (size_t i = 0; i < b->count; i++) {
        if (b->operations[i].code == RN_NOT_FOUND)
            return true;
    }
    return false;
}

/* Clients keep session tokens under this name, and parse the rid. */
void rn_reply_owner(struct rn_context *x)
{
    const struct rn_object *owner = owner_of(x);
    char rid[RN_RID_TEXT_MAX], *path, *at;
    bool is_escaped; /* headers are ASCII */

    if (!owner || !x->database || x->has_owner)
        return;
    x->has_owner = true;
    is_escaped = !is_plain(x->database->id) || !is_plain(owner->id);
    path = rn_arena_alloc(&x->call->arena,
                          12 + 3 * (x->database->id.len + owner->id.len));
    if (!path)
        return;
    at = put(path, RN_LIT("dbs/"));
    at = put_name(at, x->database->id, is_escaped);
    if (owner != x->database) {
        at = put(at, owner == x->user ? RN_LIT("/users/") : RN_LIT("/colls/"));
        at = put_name(at, owner->id, is_escaped);
    }
    add_own(x, RN_LIT(RN_HEADER_ALT_CONTENT_PATH),
            rn_view_of(path, (size_t)(at - path)));
    if (x->rest->opts.strict && is_missing(x))
        return;
    add_own(x, RN_LIT(RN_HEADER_CONTENT_PATH),
            rn_rid_print(owner_rid(x, owner), rid));
}

/* ---- ends ---------------------------------------------------------------- */

enum rn_rest_step rn_reply_empty(struct rn_context *x, int status)
{
    x->call->res.status = status;
    return RN_REST_DONE;
}

enum rn_rest_step rn_reply_json(struct rn_context *x, int status)
{
    x->call->res.status = status;
    x->call->res.body = rn_buf_view(&x->call->body);
    add_own(x, RN_LIT(RN_HEADER_CONTENT_TYPE), RN_LIT("application/json"));
    return RN_REST_DONE;
}

/* The body is JSON with a message, because clients parse it in any case.  As in
 * the service it ends with the activity id, which users quote when they ask for
 * help, and which is in the server log. */
void rn_reply_print_error(struct rn_call *call, const char *word,
                          const char *why)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&call->body);
    char text[sizeof(((struct rn_err *)0)->text) + SMALL];

    snprintf(text, sizeof(text), "%s\r\nActivityId: %s", why,
             call->note.activity);
    rn_buf_clear(&call->body);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("code"));
    rn_json_out_string(&o, rn_view_text(word));
    rn_json_out_key(&o, RN_LIT("message"));
    rn_json_out_string(&o, rn_view_text(text));
    rn_json_out_object_end(&o);
    (void)!rn_json_out_finish(&o);
}

/* The server log has the details of internal errors, with file names; a client
 * gets only what concerns it. */
static void print_error(struct rn_context *x, const struct rn_status *status)
{
    bool is_ours = status->http >= 500;

    rn_reply_print_error(x->call, status->word,
                         x->err.text[0] && !is_ours ? x->err.text
                         : status->text             ? status->text
                                                    : status->word);
}

void rn_reply_blame(struct rn_context *x, const struct rn_snapshot *r,
                    enum rn_code rc)
{
    if (r->txn && !x->err.text[0] && (rc == RN_CORRUPT || rc == RN_IO))
        rn_fail(&x->err, rc, "%s", rn_txn_why(r->txn, rc));
}

enum rn_rest_step rn_reply_fail(struct rn_context *x, enum rn_code rc)
{
    const struct rn_status *status =
        rn_status_of(rc, (enum rn_reason)x->err.reason);

    x->err.code = rc;
    if (status->reason == RN_REASON_SESSION)
        rn_reply_owner(x); /* under this name a client drops its token */
    if (status->sub)
        rn_reply_number(x, RN_HEADER_SUB_STATUS, (uint64_t)status->sub);
    if (rc == RN_THROTTLED)
        rn_reply_number(x, RN_HEADER_RETRY_AFTER_MS,
                        x->retry_ms ? x->retry_ms : RN_RETRY_AFTER_MS);
    rn_reply_charge(x, rc == RN_THROTTLED ? RN_CHARGE_THROTTLED
                                          : RN_CHARGE_METADATA);
    if (rc == RN_NOT_MODIFIED)
        return rn_reply_empty(x, status->http);
    print_error(x, status);
    return rn_reply_json(x, status->http);
}

/* ---- charges ------------------------------------------------------------- */

double rn_charge_read(size_t bytes)
{
    size_t kilobytes = (bytes + 1023) / 1024;

    return kilobytes ? (double)kilobytes : 1;
}

double rn_charge_write(size_t bytes)
{
    return 1.29 + 5 * rn_charge_read(bytes);
}

/* Many documents in a row cost less than single reads.  Clients with a rate
 * limit of their own wait accordingly between pages.  The charge is fractional:
 * when exactly 0 units are left of its rate, the Java client retries at once
 * and gives up. */
double rn_charge_page(size_t bytes)
{
    return 1 + 0.05 * (double)bytes / 1024;
}

double rn_charge_query(size_t bytes)
{
    return 2 + rn_charge_read(bytes / 10);
}
