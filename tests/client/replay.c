/* replay.c -- see replay.h. */
#include "client/replay.h"

#include "cosmos/header.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>

enum { AHEAD_MAX = 10, HELD_MS = 3600000 };

static const char *const compared[] = {
    RN_HEADER_A_IM,          RN_HEADER_IF_MATCH,
    RN_HEADER_IF_NONE_MATCH, RN_HEADER_PREFER,
    RN_HEADER_PARTITION_KEY, RN_HEADER_RANGE_ID,
    RN_HEADER_START_EPK,     RN_HEADER_END_EPK,
    RN_HEADER_READ_KEY_TYPE, RN_HEADER_WIRE_FORMAT,
    RN_HEADER_IS_QUERY,      RN_HEADER_MAX_ITEM_COUNT,
    RN_HEADER_IS_QUERY_PLAN, RN_HEADER_CROSS_PARTITION,
};

/* ---- reading ------------------------------------------------------------- */

static uint32_t part(const struct replay_entry *e, const char *name)
{
    return rn_json_find(e->json, e->at, rn_view_text(name));
}

static bool is_in_phase(struct rn_view phase, const char *phases)
{
    for (const char *at = phases; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strcspn(at, " ") == phase.len &&
            memcmp(at, phase.at, phase.len) == 0)
            return true;
    }
    return !phases;
}

/* A request of the processor, not of the account below it. */
static bool is_counted(const struct rn_json *j, uint32_t at, const char *phases)
{
    struct rn_view path = rn_json_text(j, rn_json_find(j, at, RN_LIT("path")));
    struct rn_view phase =
        rn_json_text(j, rn_json_find(j, at, RN_LIT("phase")));

    return path.len > 1 && is_in_phase(phase, phases);
}

void replay_add(struct replay *r, const char *path, const char *phases)
{
    struct rn_buf *text = &r->texts[r->file_count];
    struct rn_json *j = &r->jsons[r->file_count++];
    FILE *file = fopen(path, "r");
    struct rn_json_walk w;

    if (!file || r->file_count > REPLAY_FILES_MAX)
        abort();
    *text = RN_BUF_INIT(1 << 20);
    if (rn_buf_reserve(text, 1 << 19))
        abort();
    text->len = fread(text->at, 1, 1 << 19, file);
    fclose(file);
    rn_json_init(j, NULL);
    if (rn_json_parse(j, rn_buf_view(text), NULL))
        abort();
    w = rn_json_walk_begin(j, 0);
    while (rn_json_walk_next(&w)) {
        struct replay_entry *e = &r->entries[r->count];

        if (!is_counted(j, w.value, phases))
            continue;
        if (++r->count == REPLAY_ENTRIES_MAX)
            abort();
        *e = (struct replay_entry){ .json = j, .at = w.value };
        if (part(e, "repeated") != RN_JSON_NONE)
            (void)rn_json_int64(j, part(e, "repeated"), &e->repeated);
        e->repeated--;
    }
}

void replay_release(struct replay *r)
{
    for (size_t i = 0; i < r->file_count; i++) {
        rn_json_release(&r->jsons[i]);
        rn_buf_release(&r->texts[i]);
    }
}

/* ---- is it the recorded request? ----------------------------------------- */

static bool is_same_header(const struct replay_entry *e,
                           const struct service_request *q, const char *name)
{
    uint32_t at =
        rn_json_find(e->json, part(e, "requestHeaders"), rn_view_text(name));
    struct rn_view is = service_header(q, name);

    if (at == RN_JSON_NONE || !is.at)
        return at == RN_JSON_NONE && !is.at;
    return rn_json_string_is(e->json, at, is);
}

static bool is_same_value(const struct rn_json *a, uint32_t x,
                          const struct rn_json *b, uint32_t y)
{
    struct rn_json_walk w = rn_json_walk_begin(a, x);
    struct rn_json_walk v = rn_json_walk_begin(b, y);

    if (rn_json_kind(a, x) != rn_json_kind(b, y) ||
        rn_json_count(a, x) != rn_json_count(b, y))
        return false;
    if (rn_json_kind(a, x) < RN_JSON_ARRAY)
        return rn_view_eq(rn_json_text(a, x), rn_json_text(b, y));
    while (rn_json_walk_next(&w) && rn_json_walk_next(&v)) {
        bool is_time =
            w.is_object && rn_json_string_is(a, w.name, RN_LIT("timestamp"));

        if (w.is_object &&
            !rn_view_eq(rn_json_text(a, w.name), rn_json_text(b, v.name)))
            return false;
        if (is_time ? rn_json_kind(a, w.value) != rn_json_kind(b, v.value)
                    : !is_same_value(a, w.value, b, v.value))
            return false;
    }
    return true;
}

static bool is_same_body(const struct replay_entry *e, struct rn_view body)
{
    uint32_t at = part(e, "requestBody");
    struct rn_json j;
    bool ok;

    if (at == RN_JSON_NONE || body.len == 0)
        return at == RN_JSON_NONE && body.len == 0;
    rn_json_init(&j, NULL);
    ok = !rn_json_parse(&j, body, NULL) && is_same_value(e->json, at, &j, 0);
    rn_json_release(&j);
    return ok;
}

static bool is_same(const struct replay_entry *e,
                    const struct service_request *q)
{
    if (!rn_json_string_is(e->json, part(e, "method"), q->method) ||
        !rn_json_string_is(e->json, part(e, "path"), q->path))
        return false;
    for (size_t i = 0; i < sizeof(compared) / sizeof(*compared); i++) {
        if (!is_same_header(e, q, compared[i]))
            return false;
    }
    return is_same_body(e, q->body);
}

/* ---- answers ------------------------------------------------------------- */

static int64_t status_of(const struct replay_entry *e)
{
    int64_t status = 0;

    (void)rn_json_int64(e->json, part(e, "status"), &status);
    return status;
}

static void answer(struct replay_entry *e, struct service_answer *a)
{
    const struct rn_json *j = e->json;
    struct rn_json_walk w = rn_json_walk_begin(j, part(e, "responseHeaders"));
    struct rn_json_out o = RN_JSON_OUT_INIT(&a->body);
    char text[512];

    a->header_count = 0;
    a->status = (int)status_of(e);
    rn_buf_clear(&a->body);
    while (rn_json_walk_next(&w)) {
        struct rn_view raw = rn_json_text(j, w.value);

        if (raw.len >= sizeof(text))
            abort();
        text[rn_json_unescape(raw, text)] = '\0';
        if (rn_json_string_is(j, w.name, RN_LIT(RN_HEADER_ETAG)))
            service_say(a, RN_HEADER_ETAG, "%s", text);
        else if (rn_json_string_is(j, w.name, RN_LIT(RN_HEADER_SUB_STATUS)))
            service_say(a, RN_HEADER_SUB_STATUS, "%s", text);
    }
    if (part(e, "responseBody") != RN_JSON_NONE)
        rn_json_out_value(&o, j, part(e, "responseBody"));
    if (rn_json_out_finish(&o))
        abort();
    e->was_asked = true;
}

static bool path_ends(const struct replay_entry *e, const char *end)
{
    struct rn_view path = rn_json_text(e->json, part(e, "path"));
    size_t len = strlen(end);

    return path.len > len && memcmp(path.at + path.len - len, end, len) == 0;
}

/* May it be asked now?  What the process knows of the ranges decides what it
 * asks next, so that its map changes exactly in its turn. */
static bool is_in_turn(const struct replay *r, size_t i)
{
    const struct replay_entry *e = &r->entries[i];
    bool is_map = path_ends(e, "/pkranges") || status_of(e) == 410;

    return i <= r->first + (is_map ? 0 : AHEAD_MAX);
}

/* An entry in its turn, or a poll that is repeated; NULL: neither.
 * `is_early`: its turn comes later. */
static struct replay_entry *
find(struct replay *r, const struct service_request *q, bool *is_early)
{
    struct replay_entry *poll = NULL;

    *is_early = false;
    for (size_t i = 0; i < r->count; i++) {
        struct replay_entry *e = &r->entries[i];

        if (!is_same(e, q))
            continue;
        if (!e->was_asked && is_in_turn(r, i))
            return poll && poll->repeated > 0 ? poll : e;
        *is_early |= !e->was_asked;
        if (e->was_asked && status_of(e) == 304 && path_ends(e, "/docs"))
            poll = e;
    }
    return poll;
}

static bool is_write(const struct service_request *q)
{
    return !rn_view_eq(q->method, RN_LIT("GET")) &&
           !service_header(q, RN_HEADER_IS_QUERY).at &&
           !service_header(q, RN_HEADER_IS_QUERY_PLAN).at;
}

static bool before(void *context, const struct service_request *q,
                   struct service_answer *a)
{
    struct replay *r = context;
    bool is_early;
    struct replay_entry *e = find(r, q, &is_early);

    if (!e) {
        a->status = 0;
        a->held_ms = HELD_MS;
        if (is_write(q) && !is_early && r->first < r->count)
            snprintf(r->strange, sizeof(r->strange), "%.*s %.*s %.*s",
                     RN_FMT(q->method), RN_FMT(q->path), RN_FMT(q->body));
        return true;
    }
    if (e->was_asked)
        e->repeated--;
    answer(e, a);
    while (r->first < r->count && r->entries[r->first].was_asked)
        r->first++;
    r->wire->service->version++; /* looks at those that are held again */
    return true;
}

void replay_begin(struct replay *r, struct scripted *wire)
{
    r->wire = wire;
    wire->before = before;
    wire->context = r;
}

bool replay_is_over(const struct replay *r)
{
    return r->first == r->count;
}

void replay_next(const struct replay *r, char *out, size_t room)
{
    const struct replay_entry *e = &r->entries[r->first];
    struct rn_view method = rn_json_text(e->json, part(e, "method"));
    struct rn_view path = rn_json_text(e->json, part(e, "path"));

    snprintf(out, room, "%.*s %.*s", RN_FMT(method), RN_FMT(path));
}
