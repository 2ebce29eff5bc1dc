/* server_process.c -- see server_process.h. */
#include "history/server_process.h"

#include "base/base64.h"
#include "base/clock.h"
#include "cosmos/auth.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_MAX = 16 << 20, HEAD_MAX = 16384 };

/* The emulators' key; every client of the service knows it. */
static const char well_known[] =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEc"
    "aGQy67XIw/Jw==";

struct server_process server_process;

/* ---- requests ------------------------------------------------------------ */

void server_process_print_request(struct client *c, const struct request *r)
{
    char date[RN_DATE_TEXT_MAX], auth[RN_AUTH_TEXT_MAX];
    unsigned char signature[RN_SIGNATURE_LEN];
    struct rn_buf string = RN_BUF_INIT(4096);
    struct rn_view d = rn_date_print(server_process_wall_s(), date), a;
    struct rn_sign_parts parts = { .verb = rn_view_text(r->verb),
                                   .word = rn_view_text(r->word),
                                   .link = rn_view_text(r->link),
                                   .x_date = d };
    int len;

    if (rn_sign_print(&parts, &string) ||
        rn_signer_sign(c->signer, rn_buf_view(&string), signature))
        abort();
    rn_buf_release(&string);
    a = rn_auth_print(signature, auth);
    rn_buf_clear(&c->out);
    if (rn_buf_reserve(&c->out, HEAD_MAX))
        abort();
    len = snprintf(
        c->out.at, HEAD_MAX,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nx-ms-version: 2018-12-31\r\n"
        "x-ms-date: %.*s\r\nAuthorization: %.*s\r\nContent-Length: %zu\r\n"
        "%s\r\n",
        r->verb, r->path, RN_FMT(d), RN_FMT(a), r->body.len,
        r->more ? r->more : "");
    if (len < 0 || len >= HEAD_MAX)
        abort();
    c->out.len = (size_t)len;
    if (rn_buf_add(&c->out, r->body))
        abort();
}

static struct rn_view header(struct rn_view head, const char *name)
{
    const char *end = head.at + head.len, *line = head.at;
    size_t len = strlen(name);

    while ((line = memchr(line, '\n', (size_t)(end - line))) &&
           (size_t)(end - ++line) > len) {
        const char *value = line + len + 1;

        if (line[len] != ':' || strncasecmp(line, name, len) != 0)
            continue;
        while (value < end && *value == ' ')
            value++;
        line = memchr(value, '\r', (size_t)(end - value));
        return rn_view_of(value, (size_t)((line ? line : end) - value));
    }
    return (struct rn_view){ 0 };
}

bool server_process_read_answer(struct client *c, struct answer *out)
{
    struct rn_view head, length, token, reason;
    const char *end =
        c->in.len ? memmem(c->in.at, c->in.len, "\r\n\r\n", 4) : NULL;
    size_t body;

    if (!end)
        return false;
    head = rn_view_of(c->in.at, (size_t)(end - c->in.at) + 2);
    length = header(head, "content-length");
    body = length.len ? strtoul(length.at, NULL, 10) : 0;
    if (c->in.len < head.len + 2 + body)
        return false;
    *out = (struct answer){ .status = (int)strtol(head.at + 9, NULL, 10),
                            .etag = header(head, "etag"),
                            .session = header(head, "x-ms-session-token"),
                            .body = rn_view_of(head.at + head.len + 2, body) };
    reason = header(head, "x-ms-substatus");
    out->reason = reason.len ? (int)strtol(reason.at, NULL, 10) : 0;
    token = out->session;
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] == '#')
            out->lsn = strtoull(token.at + i + 1, NULL, 10);
    if (token.len)
        out->range = (uint32_t)strtoul(token.at, NULL, 10);
    return true;
}

/* ---- what they note ------------------------------------------------------ */

struct history_entry *client_note(struct client *c,
                                  const struct history_entry *e)
{
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 1024;
        void *log = realloc(c->log, room * sizeof(*c->log));
        if (!log)
            abort();
        c->log = log;
        c->room = room;
    }
    c->log[c->count] = *e;
    return &c->log[c->count++];
}

void client_note_start(struct client *c)
{
    uint64_t now = server_process_now_ns();

    client_note(c, &(struct history_entry){ .client = c->number,
                                            .op = HISTORY_START,
                                            .t0 = now,
                                            .t1 = now });
}

bool server_process_read_etag(const struct rn_json *j, uint32_t value,
                              struct rn_etag *out)
{
    struct rn_view tag = rn_json_text(j, value);
    char text[64];
    size_t n = 0;

    for (size_t i = 0; i < tag.len && n < sizeof(text); i++)
        if (tag.at[i] != '\\' && tag.at[i] != '"')
            text[n++] = tag.at[i];
    return rn_etag_parse(rn_view_of(text, n), out);
}

bool server_process_read_document(const struct rn_json *j, uint32_t at,
                                  struct history_entry *e)
{
    struct rn_view id = rn_json_text(j, rn_json_find(j, at, RN_LIT("id")));
    uint32_t n = rn_json_find(j, at, RN_LIT("n"));
    struct rn_etag etag;
    int64_t token = 0, count = 0;

    if (id.len < 2 ||
        !server_process_read_etag(j, rn_json_find(j, at, RN_LIT("_etag")),
                                  &etag) ||
        !rn_json_int64(j, rn_json_find(j, at, RN_LIT("w")), &token))
        return false;
    e->document = (uint32_t)strtoul(id.at + 1, NULL, 10);
    e->key = e->document % server_process.keys;
    e->token = (uint64_t)token;
    if (n != RN_JSON_NONE && rn_json_int64(j, n, &count)) /* not all have one */
        e->count = (uint32_t)count;
    e->version = etag.lsn;
    e->n = etag.n;
    if (e->op == HISTORY_ITEM)
        e->range = etag.range; /* where it was written */
    return true;
}

/* ---- life ---------------------------------------------------------------- */

void client_init(struct client *c, uint32_t number, uint64_t seed)
{
    char key[64];
    size_t len = 0;

    *c = (struct client){ .number = number,
                          .fd = -1,
                          .in = RN_BUF_INIT(ANSWER_MAX),
                          .out = RN_BUF_INIT(ANSWER_MAX) };
    rn_prng_init(&c->prng, seed * 1000 + number);
    if (rn_base64_decode(rn_view_text(well_known), RN_BASE64_STANDARD, key,
                         sizeof(key), &len) ||
        rn_signer_new(rn_view_of(key, len), &c->signer))
        abort();
}

void client_release(struct client *c)
{
    client_hang_up(c);
    rn_signer_free(c->signer);
    rn_buf_release(&c->in);
    rn_buf_release(&c->out);
    free(c->log);
}
