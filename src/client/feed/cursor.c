/* cursor.c -- the pull model of the change feed; see cursor.h. */
#include "client/feed/cursor.h"

#include "client/feed/cursor_parts.h"
#include "client/feed/position.h"
#include "client/feed/reader.h"
#include "client/feed/scope.h"

enum {
    OPTIONS_MAX = 64 << 10, /* bytes of all strings but the token */
    POLL_MS = 1000,
    PARALLEL = 4,
    WAITS_MAX = 64, /* requests that the server may hold at once */
};

#define NS_PER_MS INT64_C(1000000)

/* ---- open ---------------------------------------------------------------- */

static bool text_keep(struct rn_feed_cursor *c, const char **text)
{
    struct rn_view copy;

    if (!*text)
        return true;
    copy = rn_arena_copy(&c->arena, rn_view_of(*text, strlen(*text) + 1));
    *text = copy.at;
    return copy.at != NULL;
}

static bool options_keep(struct rn_feed_cursor *c)
{
    runnel_feed_options *o = &c->options;

    if (o->token && o->token[0] == '\0')
        o->token = NULL; /* of a feed that had read nothing */
    if (!o->poll_ms)
        o->poll_ms = POLL_MS;
    if (!o->parallel)
        o->parallel = PARALLEL;
    return text_keep(c, &o->token) && text_keep(c, &o->range) &&
           text_keep(c, &o->partition_key) && text_keep(c, &o->session_token);
}

static size_t bytes_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static runnel_code options_check(const runnel_feed_options *o,
                                 runnel_error *error)
{
    if (o->mode != RUNNEL_FEED_LATEST && o->mode != RUNNEL_FEED_ALL)
        return rn_error_set(error, RUNNEL_BAD_REQUEST, "mode is unknown");
    if (o->range && o->partition_key)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "range and partition_key exclude each other");
    if (o->token && strlen(o->token) > (size_t)2 * RN_TOKEN_MAX)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "token: it is longer than one of a feed can be");
    if (bytes_of(o->range) + bytes_of(o->partition_key) +
            bytes_of(o->session_token) >
        OPTIONS_MAX) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "range, partition_key or session_token is too "
                            "long");
    }
    return RUNNEL_OK;
}

runnel_code rn_feed_cursor_open(struct rn_client_container *container,
                                const runnel_feed_options *options,
                                struct rn_feed_cursor **out,
                                runnel_error *error)
{
    struct rn_feed_cursor *c = rn_new(sizeof(*c));
    bool is_resumed = options->token && options->token[0];
    runnel_code code = RUNNEL_OK;

    if (!c)
        return rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    c->container = rn_client_container_ref(container);
    c->cancel.parent = rn_client_container_cancel(container);
    c->arena = RN_ARENA_INIT((size_t)2 * (OPTIONS_MAX + RN_TOKEN_MAX));
    c->scope = RN_SCOPE_INIT;
    c->token = RN_BUF_INIT((size_t)2 * RN_TOKEN_MAX);
    c->options = *options;
    code = options_check(options, error);
    if (!code && !is_resumed)
        code = rn_position_start(options, RUNNEL_START_BEGINNING, &c->start,
                                 error);
    if (!code && !options_keep(c))
        code = rn_error_set(error, RUNNEL_NO_MEMORY, "out of memory");
    if (code)
        rn_feed_cursor_close(c);
    else
        *out = c;
    return code;
}

void rn_feed_cursor_close(struct rn_feed_cursor *c)
{
    if (!c)
        return;
    rn_feed_cursor_drop(c);
    if (c->transport)
        rn_pool_give(rn_account_pool(rn_client_container_account(c->container)),
                     c->transport);
    rn_change_page_unref(c->nothing);
    rn_buf_release(&c->token);
    rn_scope_release(&c->scope);
    rn_routing_unref(c->map);
    rn_definition_unref(c->definition);
    rn_arena_release(&c->arena);
    rn_client_container_unref(c->container);
    rn_free(c);
}

void rn_feed_cursor_cancel(struct rn_feed_cursor *c)
{
    rn_pool_cancel(rn_account_pool(rn_client_container_account(c->container)),
                   &c->cancel);
}

const char *rn_feed_cursor_token(const struct rn_feed_cursor *c)
{
    if (c->token.len)
        return c->token.at;
    return c->options.token ? c->options.token : "";
}

/* ---- asking -------------------------------------------------------------- */

static int64_t now_of(const struct rn_feed_cursor *c)
{
    return rn_mono_ns(
        rn_account_env(rn_client_container_account(c->container)));
}

static size_t asking(const struct rn_feed_cursor *c, bool is_held)
{
    size_t n = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct rn_reader *r = &c->parts[i]->reader;

        n += r->is_asking && (r->wait_s > 0) == is_held;
    }
    return n;
}

/* How long the server may hold a request of this part sent now, or -1 if none
 * is to be sent now.  A part that is not known to be drained is held only if no
 * other has to wait for it. */
static int64_t hold_ms(const struct rn_feed_cursor *c,
                       const struct rn_part *part, int64_t left_ms)
{
    bool may_hold = !c->cannot_wait && left_ms >= 1000 &&
                    part->delivered.kind == RN_POSITION_ETAG;

    if (part->is_drained) {
        if (may_hold && asking(c, true) < WAITS_MAX)
            return left_ms;
        return part->due_ns <= now_of(c) && left_ms > 0 ? 0 : -1;
    }
    if (may_hold && c->count <= c->options.parallel)
        return left_ms;
    return asking(c, false) < c->options.parallel ? 0 : -1;
}

static runnel_code parts_ask(struct rn_feed_cursor *c, int64_t left_ms,
                             runnel_error *error)
{
    runnel_code code = RUNNEL_OK;

    for (size_t i = 0; !code && i < c->count; i++) {
        struct rn_part *part = c->parts[i];
        int64_t now = now_of(c), hold;

        if (part->reader.is_asking || part->is_ready)
            continue;
        if (part->reader.range_id[0] == '\0')
            code = rn_feed_cursor_route(c, i, error);
        if (code || (!part->is_drained && part->due_ns > now))
            continue;
        hold = hold_ms(c, part, left_ms);
        if (hold < 0)
            continue;
        if (hold > UINT32_MAX)
            hold = UINT32_MAX;
        rn_reader_ask(&part->reader, c->transport, (uint32_t)hold);
        part->asked_by = c->calls;
        part->held_until_ns =
            now + (int64_t)part->reader.wait_s * 1000 * NS_PER_MS;
    }
    return code;
}

/* A new call: every part must be asked, and requests that the server may hold
 * beyond the deadline are sent anew. */
static void parts_recall(struct rn_feed_cursor *c, int64_t deadline_ns)
{
    for (size_t i = 0; i < c->count; i++) {
        struct rn_part *part = c->parts[i];

        if (part->is_drained)
            part->due_ns = 0;
        part->is_drained = false;
        if (part->reader.is_asking && part->held_until_ns > deadline_ns)
            rn_reader_seek(&part->reader, &part->delivered);
    }
}

/* ---- answers ------------------------------------------------------------- */

static runnel_code part_nothing(struct rn_feed_cursor *c, struct rn_part *part,
                                runnel_error *error)
{
    struct rn_reader *r = &part->reader;
    runnel_code code = rn_feed_cursor_check_rid(c, "", error);

    if (code)
        return code;
    if (r->wait_s && !r->was_applied)
        c->cannot_wait = true;
    rn_change_page_unref(c->nothing);
    c->nothing = r->page;
    c->nothing_part = part;
    r->page = NULL;
    part->delivered = r->at;
    /* An answer to an earlier call may be older than this one. */
    part->is_drained = part->asked_by == c->calls;
    if (part->is_drained)
        part->due_ns = now_of(c) + c->options.poll_ms * NS_PER_MS;
    return RUNNEL_OK;
}

/* Takes what has been answered.  `*next_ns`: when to look again. */
static runnel_code parts_step(struct rn_feed_cursor *c, int64_t *next_ns,
                              runnel_error *error)
{
    runnel_code code = RUNNEL_OK;

    *next_ns = RN_TASK_IDLE;
    for (size_t i = 0; !code && i < c->count; i++) {
        struct rn_part *part = c->parts[i];
        int64_t next = RN_TASK_IDLE;

        if (!part->reader.is_asking)
            continue;
        switch (rn_reader_step(&part->reader, &next)) {
        case RN_READER_NONE:
            break;
        case RN_READER_PAGE:
            code = rn_feed_cursor_check_rid(c, part->reader.page->rid, error);
            part->is_ready = !code;
            break;
        case RN_READER_NOTHING:
            code = part_nothing(c, part, error);
            break;
        case RN_READER_MORE:
            part->delivered = part->reader.at;
            break;
        case RN_READER_GONE:
            c->is_map_stale = true;
            break;
        case RN_READER_FAILED:
            code = part->reader.code;
            if (error)
                *error = part->reader.error;
            break;
        }
        if (next < *next_ns)
            *next_ns = next;
    }
    return code;
}

/* ---- next ---------------------------------------------------------------- */

/* The batch of a page.  Its token, of what was delivered, becomes the cursor's
 * together with it: a token must not be beyond what was returned. */
static runnel_code batch_make(struct rn_feed_cursor *c,
                              const struct rn_part *part,
                              struct rn_change_page *page, runnel_batch **out,
                              runnel_error *error)
{
    struct rn_buf token = RN_BUF_INIT(c->token.ceiling);
    struct rn_batch_options options = {
        .page = page,
        .rid = c->definition->rid,
        .range_id = part->reader.range_id,
        .keys = &part->reader.keys,
    };
    runnel_code code = rn_feed_cursor_print(c, &token, error);

    options.token = token.at;
    if (!code)
        code = rn_batch_new(&options, out, error);
    rn_buf_release(code ? &token : &c->token);
    if (!code)
        c->token = token;
    return code;
}

/* Returns a page; if memory is short the next call returns it. */
static runnel_code deliver(struct rn_feed_cursor *c, struct rn_part *part,
                           runnel_batch **out, runnel_error *error)
{
    struct rn_position before = part->delivered;
    runnel_code code;

    part->delivered = part->reader.at;
    code = batch_make(c, part, part->reader.page, out, error);
    if (code) {
        part->delivered = before;
        return code;
    }
    rn_change_page_unref(part->reader.page);
    part->reader.page = NULL;
    part->is_ready = false;
    return RUNNEL_OK;
}

/* The next part, in turn, whose page may be returned.  A feed from now returns
 * nothing until all its parts know when that was. */
static struct rn_part *ready_part(struct rn_feed_cursor *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->parts[i]->delivered.kind == RN_POSITION_NOW)
            return NULL;
    }
    for (size_t i = 0; i < c->count; i++) {
        size_t at = (c->turn + i) % c->count;

        if (c->parts[at]->is_ready) {
            c->turn = at + 1;
            return c->parts[at];
        }
    }
    return NULL;
}

static bool is_drained(const struct rn_feed_cursor *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!c->parts[i]->is_drained)
            return false;
    }
    return true;
}

/* When the next part that is not being asked is due, or has failed at once. */
static int64_t next_due(const struct rn_feed_cursor *c, int64_t now)
{
    int64_t next = RN_TASK_IDLE;

    for (size_t i = 0; i < c->count; i++) {
        const struct rn_part *part = c->parts[i];

        if (rn_reader_is_unsent(&part->reader))
            return 0;
        if (!part->reader.is_asking && part->due_ns > now &&
            part->due_ns - now < next)
            next = part->due_ns - now;
    }
    return next;
}

static runnel_code look(struct rn_feed_cursor *c, int64_t deadline_ns,
                        runnel_batch **out, runnel_error *error)
{
    for (;;) {
        int64_t next_ns, left_ns;
        struct rn_part *part;
        runnel_code code;

        if (rn_cancel_is_set(&c->cancel))
            return rn_error_set(error, RUNNEL_CANCELLED,
                                "the feed was cancelled");
        code = parts_step(c, &next_ns, error);
        if (code)
            return code;
        part = ready_part(c);
        if (part)
            return deliver(c, part, out, error);
        left_ns = deadline_ns - now_of(c);
        if (left_ns <= 0 && is_drained(c))
            return batch_make(c, c->nothing_part, c->nothing, out, error);
        code = parts_ask(c, left_ns > 0 ? left_ns / NS_PER_MS : 0, error);
        if (code)
            return code;
        if (next_due(c, now_of(c)) < next_ns)
            next_ns = next_due(c, now_of(c));
        if (left_ns > 0 && left_ns < next_ns)
            next_ns = left_ns;
        c->transport->ops->wait(c->transport, next_ns);
    }
}

runnel_code rn_feed_cursor_next(struct rn_feed_cursor *c, uint32_t wait_ms,
                                runnel_batch **out, runnel_error *error)
{
    int64_t deadline_ns = now_of(c) + wait_ms * NS_PER_MS, next_ns;
    runnel_code code;

    if (rn_cancel_is_set(&c->cancel))
        return rn_error_set(error, RUNNEL_CANCELLED, "the feed was cancelled");
    code = rn_feed_cursor_prepare(c, error);
    if (code)
        return code;
    /* Changes that have arrived meanwhile count; an earlier empty answer does
     * not mean that there are none now. */
    (void)c->transport->ops->step(c->transport, 0);
    code = parts_step(c, &next_ns, error);
    if (code)
        return code;
    c->calls++;
    parts_recall(c, deadline_ns);
    return look(c, deadline_ns, out, error);
}
