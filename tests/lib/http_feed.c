/* http_feed.c -- see http_feed.h. */
#include "lib/http_feed.h"

#include "lib/evil.h"

#include <assert.h>
#include <stdlib.h>

void feed_result_init(struct feed_result *out)
{
    *out = (struct feed_result){
        .text = RN_BUF_INIT(64 << 20),
        .events = RN_BUF_INIT(64 << 20),
    };
}

void feed_result_release(struct feed_result *out)
{
    rn_buf_release(&out->text);
    rn_buf_release(&out->events);
}

static void must(enum rn_code rc)
{
    if (rc)
        abort();
}

static void add_event(struct feed_result *out, int status, size_t body_bytes)
{
    struct feed_event e = { status, body_bytes };

    must(rn_buf_add(&out->events, rn_view_of(&e, sizeof(e))));
}

static void note_request(struct feed_result *out,
                         const struct rn_http_request *req)
{
    add_event(out, 0, req->body.len);
    must(rn_buf_printf(&out->text, "%s '%.*s' host '%.*s' 1.%d %s\n",
                       rn_http_method_name(req->method), RN_FMT(req->target),
                       RN_FMT(req->host), !req->is_1_0,
                       req->keep_alive ? "keep" : "close"));
    for (unsigned i = 0; i < req->field_count; i++) {
        must(rn_buf_add(&out->text, rn_http_field_name(req, i)));
        must(rn_buf_add(&out->text, RN_LIT("=")));
        must(rn_buf_add(&out->text, rn_http_field_value(req, i)));
        must(rn_buf_add(&out->text, RN_LIT("\n")));
    }
    must(rn_buf_printf(&out->text, "body %zu:", req->body.len));
    must(rn_buf_add(&out->text, req->body));
    must(rn_buf_add(&out->text, RN_LIT("\n")));
}

/* ---- pieces -------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static size_t piece_len(struct feed_cut *cut, size_t left)
{
    size_t n = left;

    if (cut->first) {
        n = cut->first;
        cut->first = 0;
    } else if (cut->every) {
        n = cut->every;
    } else if (cut->seed) {
        uint64_t bits = draw(&cut->seed);
        n = 1 + (size_t)((bits >> 8) & ((1u << (bits & 7)) - 1));
        if ((bits >> 60) == 0)
            n += 4000;
    }
    return n < left ? n : left;
}

/* Moves `in` to a block of its own that ends with `piece`. */
static void put_exactly(struct rn_buf *in, struct rn_view piece)
{
    char *at = malloc(in->len + piece.len);

    if (!at)
        abort();
    if (in->len)
        memcpy(at, in->at, in->len);
    memcpy(at + in->len, piece.at, piece.len);
    rn_free(in->at);
    in->at = at;
    in->room = in->len + piece.len;
}

/* Puts as much of `piece` as the reader has room for, and passes it on. */
static enum rn_http_step put_some(struct rn_http_reader *r,
                                  struct rn_view *piece, bool is_exact)
{
    size_t room;
    char *at;

    must(rn_http_reader_buffer(r, &at, &room));
    assert(room > 0);
    if (is_exact && at == r->in.at + r->in.len) {
        put_exactly(&r->in, *piece);
        room = piece->len;
    } else {
        if (room > piece->len)
            room = piece->len;
        memcpy(at, piece->at, room);
    }
    piece->at += room;
    piece->len -= room;
    return rn_http_reader_received(r, room);
}

/* False once the connection is to be closed. */
static bool note(struct rn_http_reader *r, enum rn_http_step step,
                 struct feed_result *out)
{
    while (step == RN_HTTP_DONE) {
        note_request(out, &r->request);
        if (!r->request.keep_alive)
            return false;
        step = rn_http_reader_next(r);
    }
    if (step == RN_HTTP_REFUSED) {
        add_event(out, r->refusal.raw.len ? EVIL_GOAWAY : r->refusal.status, 0);
        must(rn_buf_printf(&out->text, "refused %d %s\n", r->refusal.status,
                           r->refusal.why));
        return false;
    }
    return true;
}

void feed(struct rn_view bytes, const struct rn_http_limits *limits,
          struct feed_cut cut, struct feed_result *out)
{
    struct rn_http_reader r;
    bool open = true;

    rn_buf_clear(&out->text);
    rn_buf_clear(&out->events);
    rn_http_reader_init(&r, limits);
    while (open && bytes.len > 0) {
        struct rn_view piece = rn_view_of(bytes.at, piece_len(&cut, bytes.len));

        bytes.at += piece.len;
        bytes.len -= piece.len;
        while (open && piece.len > 0)
            open = note(&r, put_some(&r, &piece, cut.is_exact), out);
    }
    if (!open)
        out->end = FEED_CLOSE;
    else
        out->end = rn_http_reader_is_idle(&r) ? FEED_OPEN : FEED_WAIT;
    must(rn_buf_printf(&out->text, "end %d\n", (int)out->end));
    rn_http_reader_release(&r);
}
