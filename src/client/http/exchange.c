/* exchange.c -- one HTTP request and its answer; see exchange.h. */
#include "client/http/exchange.h"

#include "cosmos/header.h"
#include "cosmos/status.h"
#include "json/json.h"
#include "json/number.h"

#include <stdio.h>
#include <strings.h>

/* ---- headers ------------------------------------------------------------- */

static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (const char *at = name; *at; at++) {
        bool is_letter = (*at >= 'a' && *at <= 'z') ||
                         (*at >= 'A' && *at <= 'Z') ||
                         (*at >= '0' && *at <= '9');
        if (!is_letter && !strchr(others, *at))
            return false;
    }
    return name[0] != '\0';
}

static bool is_one_line(struct rn_view value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.at[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

runnel_code rn_headers_add(struct rn_headers *h, const char *name,
                           struct rn_view value, runnel_error *error)
{
    size_t before = h->lines.len;
    enum rn_code rc;

    /* The value may be a secret, so the message has only the name. */
    if (!is_token(name))
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a header's name is not one");
    if (!is_one_line(value))
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the header %s has a control character", name);
    rc = rn_buf_add(&h->lines, rn_view_text(name));
    if (!rc)
        rc = rn_buf_add(&h->lines, RN_LIT(": "));
    if (!rc)
        rc = rn_buf_add(&h->lines, value);
    if (!rc)
        rc = rn_buf_add(&h->lines, rn_view_of("", 1));
    if (rc)
        h->lines.len = before;
    return rn_error_take(error, rc, NULL);
}

const char *rn_headers_next(struct rn_view *rest)
{
    const char *line = rest->at;
    size_t len;

    if (rest->len == 0)
        return NULL;
    len = strlen(line) + 1;
    *rest = rn_view_of(line + len, rest->len - len);
    return line;
}

struct rn_view rn_headers_find(const struct rn_headers *h, const char *name)
{
    struct rn_view rest = rn_buf_view(&h->lines);
    size_t len = strlen(name);
    const char *line;

    while ((line = rn_headers_next(&rest)) != NULL) {
        if (strncasecmp(line, name, len) == 0 && line[len] == ':')
            return rn_view_text(line + len + 2);
    }
    return (struct rn_view){ 0 };
}

double rn_headers_charge(const struct rn_headers *h)
{
    struct rn_view text = rn_headers_find(h, RN_HEADER_CHARGE);
    size_t points = 0;

    for (size_t i = 0; i < text.len; i++) {
        points += text.at[i] == '.';
        if ((text.at[i] < '0' || text.at[i] > '9') && text.at[i] != '.')
            return 0;
    }
    if (text.len == 0 || text.len > 32 || points > 1 || text.at[0] == '.')
        return 0;
    return rn_number_double(text);
}

void rn_headers_clear(struct rn_headers *h)
{
    rn_buf_clear(&h->lines);
}

void rn_headers_release(struct rn_headers *h)
{
    rn_buf_release(&h->lines);
}

/* ---- the exchange -------------------------------------------------------- */

enum { URL_MAX = 64 << 10 };

void rn_exchange_init(struct rn_exchange *x, size_t answer_max)
{
    *x = (struct rn_exchange){ .method = "GET",
                               .url = RN_BUF_INIT(URL_MAX),
                               .headers = RN_HEADERS_INIT,
                               .answer_headers = RN_HEADERS_INIT,
                               .answer = RN_BUF_INIT(answer_max) };
}

void rn_exchange_reset(struct rn_exchange *x)
{
    x->code = RUNNEL_OK;
    x->status = x->sub_status = 0;
    x->was_sent = false;
    x->why[0] = '\0';
    rn_headers_clear(&x->answer_headers);
    rn_buf_clear(&x->answer);
}

void rn_exchange_release(struct rn_exchange *x)
{
    rn_buf_release(&x->url);
    rn_headers_release(&x->headers);
    rn_headers_release(&x->answer_headers);
    rn_buf_release(&x->answer);
}

/* ---- failures ------------------------------------------------------------ */

/* The server's message: "message" of a JSON body.  Only its first line: the
 * rest is the activity id and the server's own diagnostics. */
static void copy_message(const struct rn_exchange *x, char *out, size_t size)
{
    struct rn_arena arena = RN_ARENA_INIT(64 << 10);
    struct rn_view text = { 0 };
    struct rn_json j;
    uint32_t value;

    rn_json_init(&j, NULL);
    if (rn_json_parse(&j, rn_buf_view(&x->answer), NULL) == RN_OK) {
        value = rn_json_find(&j, 0, RN_LIT("message"));
        if (rn_json_kind(&j, value) == RN_JSON_STRING &&
            rn_json_string_get(&j, value, &arena, &text) == RN_OK) {
            size_t len = 0;
            while (len < text.len && (unsigned char)text.at[len] >= ' ')
                len++;
            snprintf(out, size, "%.*s", (int)len, text.at);
        }
    }
    rn_json_release(&j);
    rn_arena_release(&arena);
}

bool rn_exchange_is_explained(const struct rn_exchange *x)
{
    struct rn_json j;
    bool is_explained;

    rn_json_init(&j, NULL);
    is_explained = rn_json_parse(&j, rn_buf_view(&x->answer), NULL) == RN_OK &&
                   (rn_json_find(&j, 0, RN_LIT("code")) != RN_JSON_NONE ||
                    rn_json_find(&j, 0, RN_LIT("message")) != RN_JSON_NONE);
    rn_json_release(&j);
    return is_explained;
}

static uint32_t retry_after(const struct rn_exchange *x)
{
    struct rn_view text =
        rn_headers_find(&x->answer_headers, RN_HEADER_RETRY_AFTER_MS);
    uint64_t ms = 0;

    for (size_t i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9' &&
                       ms < UINT32_MAX;
         i++)
        ms = ms * 10 + (uint64_t)(text.at[i] - '0');
    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX - 1;
}

/* The code for no answer, or for an answer that leaves the outcome of a write
 * open. */
static runnel_code lost_code(const struct rn_exchange *x, runnel_code code)
{
    bool is_write = x->effect != RN_EFFECT_READ;

    return is_write && x->was_sent ? RUNNEL_UNCERTAIN : code;
}

static runnel_code answer_code(const struct rn_exchange *x)
{
    const struct rn_status *s = rn_status_read(x->status, x->sub_status);

    if (s->reason == RN_REASON_SESSION || s->reason == RN_REASON_RETRY_WITH)
        return RUNNEL_BUSY;
    /* A redirect leads away from the account, so none is followed. */
    if (s->code == RN_BAD_REQUEST && x->status / 100 != 4)
        return lost_code(x, RUNNEL_PROTOCOL);
    if (s->code == RN_IO || s->code == RN_TIMEOUT)
        return lost_code(x, rn_error_code(s->code));
    return rn_error_code(s->code);
}

runnel_code rn_exchange_error(const struct rn_exchange *x, runnel_error *error)
{
    runnel_code code;
    struct rn_view id;

    if (x->code != RUNNEL_OK) {
        code = lost_code(x, x->code);
        return rn_error_set(error, code, "%s",
                            x->why[0] ? x->why : runnel_code_name(code));
    }
    code = answer_code(x);
    if (code == RUNNEL_OK || !error)
        return code;
    rn_error_set(error, code,
                 "%s: HTTP status %d without a message of the service; is the "
                 "endpoint that of an account?",
                 runnel_code_name(code), x->status);
    copy_message(x, error->message, sizeof(error->message));
    error->http_status = x->status;
    error->sub_status = x->sub_status;
    error->retry_after_ms = retry_after(x);
    id = rn_headers_find(&x->answer_headers, RN_HEADER_ACTIVITY_ID);
    snprintf(error->activity_id, sizeof(error->activity_id), "%.*s",
             (int)(id.len < 39 ? id.len : 39), id.at ? id.at : "");
    return code;
}
