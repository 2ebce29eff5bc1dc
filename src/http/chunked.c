/* chunked.c -- see chunked.h.
 *
 *   SIZE --;--> EXT
 *    | CR        | CR
 *    +-----------+--> SIZE_LF --0--> TRAILER --CR--> END_LF --> DONE
 *                        | n           | name           ^
 *                        v             v                |
 *       SIZE <-- DATA_LF <-- DATA_CR <-- DATA   NAME -> VALUE -> VALUE_LF
 *                                                          (to TRAILER)
 */
#include "http/chunked.h"

#include "base/hex.h"
#include "http/token.h"

#include <assert.h>

enum state {
    SIZE, /* the start */
    EXT,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,
    NAME,
    VALUE,
    VALUE_LF,
    END_LF,
    DONE,
};

enum { DIGITS_MAX = 16 }; /* of 64 bits, so the size cannot overflow */

static bool bad_chunk(struct rn_http_refusal *no)
{
    return rn_http_refuse(no, 400, "a chunk is malformed");
}

static bool take_size(struct rn_http_chunked *c, char byte,
                      struct rn_http_refusal *no)
{
    int digit = rn_hex_digit(byte);

    if (digit >= 0) {
        if (c->digits++ == DIGITS_MAX)
            return bad_chunk(no);
        c->left = c->left << 4 | (uint64_t)digit;
        return true;
    }
    if (c->digits == 0 || (byte != ';' && byte != '\r'))
        return bad_chunk(no);
    if (c->left > c->data_left)
        return rn_http_refuse(no, 413, "the body is too large");
    c->data_left -= (size_t)c->left;
    c->state = byte == ';' ? EXT : SIZE_LF;
    return true;
}

static bool take_extension(struct rn_http_chunked *c, char byte,
                           struct rn_http_refusal *no)
{
    if (byte == '\r') {
        c->state = SIZE_LF;
        return true;
    }
    if (!rn_http_is_visible(byte) && byte != ' ' && byte != '\t')
        return bad_chunk(no);
    if (c->ext_left == 0)
        return rn_http_refuse(no, 400, "chunk extensions are too long");
    c->ext_left--;
    return true;
}

/* Counts a byte of a trailer line: both limits of the head apply here as
 * well. */
static bool count_trailer(struct rn_http_chunked *c, struct rn_http_refusal *no)
{
    if (c->trailer_left == 0 || c->line_len == c->line_max)
        return rn_http_refuse(no, 431, "the trailers are too long");
    c->trailer_left--;
    c->line_len++;
    return true;
}

static bool begin_trailer(struct rn_http_chunked *c, char byte,
                          struct rn_http_refusal *no)
{
    if (byte == '\r') {
        c->state = END_LF;
        return true;
    }
    if (!rn_http_token_byte(byte))
        return rn_http_refuse(no, 400, "a trailer line is malformed");
    if (c->fields_left == 0)
        return rn_http_refuse(no, 431, "there are too many trailers");
    c->fields_left--;
    c->line_len = 0;
    c->state = NAME;
    return count_trailer(c, no);
}

static bool take_trailer(struct rn_http_chunked *c, char byte,
                         struct rn_http_refusal *no)
{
    if (c->state == VALUE && byte == '\r') {
        c->state = VALUE_LF;
        return true;
    }
    if (c->state == NAME && byte == ':')
        c->state = VALUE;
    else if (c->state == NAME ? !rn_http_token_byte(byte)
                              : rn_http_is_control(byte))
        return rn_http_refuse(no, 400, "a trailer line is malformed");
    return count_trailer(c, no);
}

static bool take_exactly(struct rn_http_chunked *c, char byte, char wanted,
                         enum state next, struct rn_http_refusal *no)
{
    if (byte != wanted)
        return bad_chunk(no);
    c->state = (unsigned char)next;
    return true;
}

static bool take(struct rn_http_chunked *c, char byte,
                 struct rn_http_refusal *no)
{
    switch ((enum state)c->state) {
    case SIZE:
        return take_size(c, byte, no);
    case EXT:
        return take_extension(c, byte, no);
    case SIZE_LF:
        return take_exactly(c, byte, '\n', c->left ? DATA : TRAILER, no);
    case DATA_CR:
        return take_exactly(c, byte, '\r', DATA_LF, no);
    case DATA_LF:
        c->digits = 0;
        return take_exactly(c, byte, '\n', SIZE, no);
    case TRAILER:
        return begin_trailer(c, byte, no);
    case NAME:
    case VALUE:
        return take_trailer(c, byte, no);
    case VALUE_LF:
        return take_exactly(c, byte, '\n', TRAILER, no);
    case END_LF:
        return take_exactly(c, byte, '\n', DONE, no);
    case DATA:
    case DONE:
        break;
    }
    assert(false); /* data and the end are not processed bytewise */
    return false;
}

static bool take_data(struct rn_http_chunked *c, struct rn_view *in,
                      struct rn_buf *out, struct rn_http_refusal *no)
{
    size_t n = in->len < c->left ? in->len : (size_t)c->left;

    if (rn_buf_add(out, rn_view_of(in->at, n)) != RN_OK)
        return rn_http_refuse(no, 503, "out of memory");
    in->at += n;
    in->len -= n;
    rn_http_chunked_data_taken(c, n);
    return true;
}

enum rn_http_step rn_http_chunked_decode(struct rn_http_chunked *c,
                                         struct rn_view *in, struct rn_buf *out,
                                         struct rn_http_refusal *no)
{
    while (c->state != DONE && in->len > 0) {
        bool ok;

        if (c->state == DATA) {
            ok = take_data(c, in, out, no);
        } else {
            ok = take(c, *in->at, no);
            in->at++;
            in->len--;
        }
        if (!ok)
            return RN_HTTP_REFUSED;
    }
    return c->state == DONE ? RN_HTTP_DONE : RN_HTTP_MORE;
}

uint64_t rn_http_chunked_data_next(const struct rn_http_chunked *c)
{
    return c->state == DATA ? c->left : 0;
}

void rn_http_chunked_data_taken(struct rn_http_chunked *c, size_t n)
{
    assert(c->state == DATA && n <= c->left);
    c->left -= n;
    if (c->left == 0)
        c->state = DATA_CR;
}
