/* parse.c -- see parse.h.
 *
 * The layout of `in`, and how the body leaves it:
 *
 *   in   | answered | head ........ | consumed | not yet looked at |  room
 *        0        start        start+kept   start+at              len
 *
 * `kept`, `at` and `scanned` count from `start`.  While the head is read all of
 * it is kept, so kept == at, the start of the current line, and `scanned` is
 * how far that line was searched for its end.  Fields are stored as offsets in
 * the head, so `in` may move until the request is complete.
 *
 *   HEAD --no body----------------------------------> WHOLE
 *    |---- fits into the room behind the head: BEHIND --^
 *    |---- Content-Length: LENGTH, collected in `body` -^
 *    +---- chunked: CHUNKED, collected in `body` -------^
 *
 * In LENGTH and CHUNKED everything in `in` is consumed at once, so that the
 * bytes of a body can be read directly into `body`.  The same holds in PREFACE,
 * which ends in a refusal.
 */
#include "http/parse.h"

#include "http/token.h"

#include <assert.h>

enum state { HEAD, BEHIND, LENGTH, CHUNKED, PREFACE, WHOLE, REFUSED };

enum {
    READ_MIN = 1024, /* make room rather than read less at once */
    READ = 4096,     /* holds a typical request with its document */
    IN_SLACK = 8192, /* beyond the longest head, to continue reading */
    BODY_READ = 16384,
    MANY_BYTES = 32 << 20, /* of all bodies: worth returning to the system */
    IN_KEPT = 16384,       /* an emptied buffer with more memory is freed, */
    BODY_KEPT = 16384,     /* since 64 KiB per idle connection is too much */
};

/* The longest field is a continuation over all ranges of a container, 1,024 of
 * them, which a client returns unchanged. */
const struct rn_http_limits rn_http_limits_default = {
    .request_line_bytes_max = 8192,
    .field_line_bytes_max = 32768,
    .fields_bytes_max = 65536,
    .fields_max = 100,
    .chunk_ext_bytes_max = 1024,
    .body_bytes_max = 4 << 20,
};

static void begin(struct rn_http_reader *r)
{
    r->state = HEAD;
    r->kept = r->at = r->scanned = 0;
    r->fields_bytes_left = r->limits->fields_bytes_max;
    r->head = (struct rn_http_head){ 0 };
    r->request.field_count = 0;
    r->request.keys = 0;
    r->request.body = (struct rn_view){ 0 };
    r->skipped_line = r->wants_continue = false;
}

void rn_http_reader_init(struct rn_http_reader *r,
                         const struct rn_http_limits *limits)
{
    assert(limits->fields_max <= RN_HTTP_FIELDS_MAX);
    assert(limits->field_line_bytes_max <= UINT16_MAX);
    *r = (struct rn_http_reader){
        .limits = limits,
        .in = RN_BUF_INIT(limits->request_line_bytes_max +
                          limits->fields_bytes_max + IN_SLACK),
        .body = RN_BUF_INIT(limits->body_bytes_max + 1),
    };
    assert(r->in.ceiling <= UINT32_MAX); /* offsets in the head are 32 bits */
    begin(r);
}

/* The allocator keeps the memory of a flood of bodies, fragmented among other
 * allocations.  So when the last of many bodies is freed, the free memory is
 * returned to the system.  With a few bodies at a time it is reused. */
static void note_total(size_t total)
{
    static atomic_bool had_many;

    if (total >= MANY_BYTES)
        atomic_store_explicit(&had_many, true, memory_order_relaxed);
    else if (total == 0 &&
             atomic_load_explicit(&had_many, memory_order_relaxed) &&
             atomic_exchange(&had_many, false))
        rn_trim();
}

/* Call it when the body's memory has changed. */
static void count_body(struct rn_http_reader *r)
{
    size_t now = r->body.room > BODY_READ ? r->body.room : 0;
    size_t more = now - r->counted;

    if (!r->limits->bodies_bytes || more == 0)
        return;
    r->counted = now;
    note_total(atomic_fetch_add(r->limits->bodies_bytes, more) + more);
}

/* Whether `more` bytes for a body would exceed the limit for all bodies. */
static bool is_crowded(const struct rn_http_reader *r, size_t more)
{
    const struct rn_http_limits *l = r->limits;

    return l->bodies_bytes && r->body.len + more > BODY_READ &&
           atomic_load_explicit(l->bodies_bytes, memory_order_relaxed) + more >
               l->bodies_bytes_max;
}

void rn_http_reader_release(struct rn_http_reader *r)
{
    rn_buf_release(&r->in);
    rn_buf_release(&r->body);
    count_body(r);
}

/* ---- buffer space -------------------------------------------------------- */

static size_t unread(const struct rn_http_reader *r)
{
    return r->in.len - r->start - r->at;
}

/* The number of bytes that may be read directly into `body`, bypassing `in`. */
static size_t direct(const struct rn_http_reader *r)
{
    if (r->state == LENGTH)
        return (size_t)r->body_left;
    if (r->state == CHUNKED) {
        uint64_t n = rn_http_chunked_data_next(&r->chunked);
        return n < READ ? 0 : (size_t)n; /* no system call for a few bytes */
    }
    return 0;
}

/* The body's memory grows with the bytes received, not with the announced
 * length, which costs a client nothing. */
static enum rn_code space_in_body(struct rn_http_reader *r, size_t left,
                                  char **at, size_t *len)
{
    size_t want = r->body.len > BODY_READ ? r->body.len : BODY_READ;
    enum rn_code rc;

    if (want > left)
        want = left;
    /* The next bytes are then refused; they must be read before the answer. */
    if (want > BODY_READ && r->body.room - r->body.len < want &&
        is_crowded(r, want))
        want = BODY_READ;
    rc = rn_buf_reserve(&r->body, want);
    if (rc)
        return rc;
    count_body(r);
    *at = r->body.at + r->body.len;
    *len = want;
    return RN_OK;
}

/* Moves the needed bytes to the front of `in`: while a head is read all of it,
 * later only the head. */
static void compact(struct rn_http_reader *r)
{
    size_t n = r->state == HEAD ? r->in.len - r->start : r->kept;

    if (r->start > 0 && n > 0)
        memmove(r->in.at, r->in.at + r->start, n);
    r->in.len = n;
    r->start = 0;
    r->at = r->kept;
}

enum rn_code rn_http_reader_buffer(struct rn_http_reader *r, char **at,
                                   size_t *len)
{
    size_t left = direct(r);

    assert(r->state != WHOLE && r->state != REFUSED);
    if (left > 0)
        return space_in_body(r, left, at, len);
    /* A body collected after its head has its room, and does not move. */
    if (r->state != BEHIND && r->in.room - r->in.len < READ_MIN) {
        enum rn_code rc;
        compact(r);
        rc = rn_buf_reserve(&r->in, READ);
        if (rc)
            return rc;
    }
    *at = r->in.at + r->in.len;
    *len = r->in.room - r->in.len;
    return RN_OK;
}

/* ---- the head ------------------------------------------------------------ */

static enum rn_http_step refuse(struct rn_http_reader *r, int status,
                                const char *why)
{
    rn_http_refuse(&r->refusal, status, why);
    r->state = REFUSED;
    return RN_HTTP_REFUSED;
}

/* Finds the end of the line that starts at r->at.  The first error in byte
 * order counts; otherwise the result would depend on how the bytes were cut. */
static enum rn_http_step find_line(struct rn_http_reader *r, size_t max,
                                   struct rn_view *line)
{
    const char *base = r->in.at + r->start, *begin = base + r->at;
    const char *end = r->in.at + r->in.len, *stop = end, *found;

    if ((size_t)(end - begin) > max)
        stop = begin + max + 1;
    found = rn_http_find_control(base + r->scanned, stop);
    r->scanned = (size_t)(found - base);
    if (found == stop) {
        if (stop - begin <= (ptrdiff_t)max)
            return RN_HTTP_MORE;
        if (r->head.target.len == 0)
            return refuse(r, 414, "the request line is too long");
        return refuse(r, 431, "the header is too long");
    }
    if (*found != '\r')
        return refuse(r, 400, "there is a control byte in the header");
    if (found + 1 == end)
        return RN_HTTP_MORE;
    if (found[1] != '\n')
        return refuse(r, 400, "there is a control byte in the header");
    *line = rn_view_of(begin, (size_t)(found - begin));
    r->at = r->kept = r->scanned = (size_t)(found + 2 - base);
    return RN_HTTP_DONE;
}

static bool take_field(struct rn_http_reader *r, struct rn_view line)
{
    if (r->request.field_count == r->limits->fields_max)
        return rn_http_refuse(&r->refusal, 431, "there are too many headers");
    r->fields_bytes_left -= line.len + 2;
    return rn_http_head_parse_field(&r->head, &r->request, line, &r->refusal);
}

static size_t line_max(const struct rn_http_reader *r)
{
    size_t left = r->fields_bytes_left;

    if (r->head.target.len == 0)
        return r->limits->request_line_bytes_max;
    left = left > 2 ? left - 2 : 0; /* without the CRLF */
    return left < r->limits->field_line_bytes_max
               ? left
               : r->limits->field_line_bytes_max;
}

/* Handles one line other than the empty one at the end. */
static bool take_line(struct rn_http_reader *r, struct rn_view line)
{
    r->request.head = r->in.at + r->start;
    if (r->head.target.len > 0)
        return take_field(r, line);
    if (line.len > 0 || r->skipped_line)
        return rn_http_head_parse_line(&r->head, &r->request, line,
                                       &r->refusal);
    r->skipped_line = true;
    r->start += r->at;
    r->at = r->kept = r->scanned = 0;
    return true;
}

/* ---- the body ------------------------------------------------------------ */

static void begin_chunked(struct rn_http_reader *r)
{
    const struct rn_http_limits *l = r->limits;
    bool may = rn_http_may_have_body(&r->request);

    r->state = CHUNKED;
    r->chunked = (struct rn_http_chunked){
        .data_left = may ? l->body_bytes_max : 0,
        .ext_left = l->chunk_ext_bytes_max,
        .line_max = l->field_line_bytes_max,
        .trailer_left = r->fields_bytes_left,
        .fields_left = l->fields_max - r->request.field_count,
    };
}

static bool end_head(struct rn_http_reader *r)
{
    uint64_t n;

    r->request.head = r->in.at + r->start;
    if (!rn_http_head_judge(&r->head, &r->request, &r->refusal))
        return false;
    n = r->head.content_length;
    if (n > r->limits->body_bytes_max)
        return rn_http_refuse(&r->refusal, 413, "the body is too large");
    r->wants_continue = r->head.expects_continue && !r->request.is_1_0;
    r->body_left = n;
    if (r->head.is_chunked)
        begin_chunked(r);
    else
        r->state = n <= r->in.room - r->start - r->kept ? BEHIND : LENGTH;
    return true;
}

static enum rn_http_step read_head(struct rn_http_reader *r)
{
    struct rn_view line;

    while (r->state == HEAD) {
        enum rn_http_step step = find_line(r, line_max(r), &line);
        bool ok;

        if (step != RN_HTTP_DONE)
            return step;
        if (line.len == 0 && r->head.target.len > 0)
            ok = end_head(r);
        else
            ok = take_line(r, line);
        if (!ok) {
            r->state = REFUSED;
            return RN_HTTP_REFUSED;
        }
    }
    return RN_HTTP_DONE;
}

static enum rn_http_step whole(struct rn_http_reader *r, struct rn_view body)
{
    r->state = WHOLE;
    r->request.head = r->in.at + r->start;
    rn_http_head_place(&r->head, &r->request);
    r->request.body = body;
    return RN_HTTP_DONE;
}

static enum rn_http_step read_behind(struct rn_http_reader *r)
{
    const char *body = r->in.at + r->start + r->kept;

    if (unread(r) < r->body_left)
        return RN_HTTP_MORE;
    r->at += (size_t)r->body_left;
    return whole(r, rn_view_of(body, (size_t)r->body_left));
}

static enum rn_http_step read_length(struct rn_http_reader *r)
{
    size_t n = unread(r) < r->body_left ? unread(r) : (size_t)r->body_left;
    const char *from = r->in.at + r->start + r->at;

    if (rn_buf_add(&r->body, rn_view_of(from, n)) != RN_OK)
        return refuse(r, 503, "out of memory");
    r->at += n;
    r->body_left -= n;
    return r->body_left ? RN_HTTP_MORE : whole(r, rn_buf_view(&r->body));
}

static enum rn_http_step read_chunked(struct rn_http_reader *r)
{
    struct rn_view rest = rn_view_of(r->in.at + r->start + r->at, unread(r));
    enum rn_http_step step =
        rn_http_chunked_decode(&r->chunked, &rest, &r->body, &r->refusal);

    r->at = r->in.len - r->start - rest.len;
    if (step == RN_HTTP_DONE)
        return whole(r, rn_buf_view(&r->body));
    if (step == RN_HTTP_REFUSED) {
        r->state = REFUSED;
        if (r->refusal.status == 413 && !rn_http_may_have_body(&r->request))
            return refuse(r, 400, "GET and HEAD have no body");
    }
    return step;
}

static enum rn_http_step read_body(struct rn_http_reader *r)
{
    enum rn_http_step step;

    if (r->state == BEHIND)
        return read_behind(r);
    if (unread(r) > 0)
        r->wants_continue = false; /* it did not wait */
    step = r->state == LENGTH ? read_length(r) : read_chunked(r);
    count_body(r);
    if (step == RN_HTTP_MORE && is_crowded(r, 0)) {
        return refuse(r, 503,
                      "too much is being sent to the server at once "
                      "(--bodies-bytes-max)");
    }
    return step;
}

/* ---- HTTP/2 -------------------------------------------------------------- */

/* Only the first bytes of a connection can be the preface.  True if more bytes
 * are needed to decide, or if PREFACE has begun. */
static bool find_preface(struct rn_http_reader *r)
{
    size_t len = r->in.len - r->start;
    size_t n;

    if (r->is_later || r->state != HEAD || r->at > 0 || r->skipped_line)
        return r->state == PREFACE;
    n = rn_http_preface_match(rn_view_of(r->in.at + r->start, len));
    if (n == RN_HTTP_PREFACE_BYTES) {
        r->state = PREFACE;
        r->at = n;
        r->preface = (struct rn_http_preface){ 0 };
    }
    return n > 0;
}

static enum rn_http_step read_preface(struct rn_http_reader *r)
{
    struct rn_view rest = rn_view_of(r->in.at + r->start + r->at, unread(r));

    if (r->state != PREFACE)
        return RN_HTTP_MORE;
    r->at += rest.len;
    if (!rn_http_preface_take(&r->preface, rest, &r->refusal))
        return RN_HTTP_MORE;
    r->state = REFUSED;
    return RN_HTTP_REFUSED;
}

/* ---- the reader ---------------------------------------------------------- */

static enum rn_http_step advance(struct rn_http_reader *r)
{
    enum rn_http_step step;

    if (rn_http_reader_is_idle(r))
        return RN_HTTP_MORE;
    if (find_preface(r))
        return read_preface(r);
    step = read_head(r);
    return step == RN_HTTP_DONE ? read_body(r) : step;
}

enum rn_http_step rn_http_reader_received(struct rn_http_reader *r, size_t n)
{
    size_t left = direct(r);
    struct rn_buf *into = left ? &r->body : &r->in;

    assert(r->state != WHOLE && r->state != REFUSED);
    assert(n <= into->room - into->len && (!left || n <= left));
    into->len += n;
    if (left && n > 0) {
        r->wants_continue = false;
        if (r->state == LENGTH)
            r->body_left -= n;
        else
            rn_http_chunked_data_taken(&r->chunked, n);
    }
    return advance(r);
}

enum rn_http_step rn_http_reader_next(struct rn_http_reader *r)
{
    assert(r->state == WHOLE);
    r->start += r->at;
    if (r->start == r->in.len)
        r->start = r->in.len = 0;
    rn_buf_clear(&r->body);
    if (r->body.room > BODY_KEPT)
        rn_buf_release(&r->body);
    count_body(r);
    if (r->in.len == 0 && r->in.room > IN_KEPT)
        rn_buf_release(&r->in);
    r->is_later = true;
    begin(r);
    return advance(r);
}

bool rn_http_reader_wants_continue(struct rn_http_reader *r)
{
    bool wanted = r->wants_continue && r->state != WHOLE &&
                  r->state != REFUSED && unread(r) == 0;

    r->wants_continue = false;
    return wanted;
}

bool rn_http_reader_is_idle(const struct rn_http_reader *r)
{
    return r->state == HEAD && r->start == r->in.len;
}

bool rn_http_reader_in_body(const struct rn_http_reader *r, size_t *len)
{
    *len = r->body.len + unread(r);
    return r->state == BEHIND || r->state == LENGTH || r->state == CHUNKED;
}

void rn_http_reader_give_up(struct rn_http_reader *r)
{
    (void)refuse(r, 408, "the request came too slowly");
}

void rn_http_reader_trim(struct rn_http_reader *r)
{
    if (!rn_http_reader_is_idle(r))
        return;
    r->start = 0;
    rn_http_reader_release(r);
}
