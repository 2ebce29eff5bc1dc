/* chunked_fuzz.c -- the decoder against a second opinion, and against itself.
 *
 * The second opinion looks at the whole input at once, with the grammar written
 * out line by line; it must accept the same bodies and see the same data.  The
 * first two bytes say where the decoder's input is cut.
 */
#include "http/chunked.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rn_http_chunked fresh = {
    .data_left = 64,
    .ext_left = 8,
    .line_max = 16,
    .trailer_left = 24,
    .fields_left = 3,
};

/* ---- the second opinion -------------------------------------------------- */

/* The line up to the next LF, which must follow a CR; NULL if there is none. */
static const char *line_end(const char *at, const char *end)
{
    const char *lf = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;

    return lf && lf > at && lf[-1] == '\r' ? lf - 1 : NULL;
}

static bool all(const char *at, const char *end, bool (*is)(unsigned char))
{
    while (at < end) {
        if (!is((unsigned char)*at++))
            return false;
    }
    return true;
}

static bool is_ext(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c < 127);
}

static bool is_value(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 127);
}

static bool is_name(unsigned char c)
{
    return c > ' ' && c < 127 && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

static const char *trailers(const char *at, const char *end)
{
    size_t bytes = 0, fields = 0;

    for (;;) {
        const char *stop = line_end(at, end), *colon;

        if (!stop)
            return NULL;
        if (stop == at)
            return stop + 2;
        colon = memchr(at, ':', (size_t)(stop - at));
        bytes += (size_t)(stop - at);
        if (!colon || colon == at || !all(at, colon, is_name) ||
            !all(colon, stop, is_value) || stop - at > 16 || bytes > 24 ||
            ++fields > 3)
            return NULL;
        at = stop + 2;
    }
}

/* Where the body ends, or NULL if it is bad or unfinished. */
static const char *reference(const char *at, const char *end,
                             struct rn_buf *out)
{
    size_t ext = 0;

    for (;;) {
        const char *stop = line_end(at, end), *digits = at;
        uint64_t n = 0;

        if (!stop)
            return NULL;
        while (at < stop && strchr("0123456789abcdefABCDEF", *at) && *at)
            n = n * 16 + (uint64_t)strtol((char[]){ *at++, 0 }, NULL, 16);
        if (at == digits || at - digits > 16 || (at < stop && *at != ';'))
            return NULL;
        ext += at < stop ? (size_t)(stop - at - 1) : 0;
        if (!all(at, stop, is_ext) || ext > 8 || n > 64 - out->len)
            return NULL;
        at = stop + 2;
        if (n == 0)
            return trailers(at, end);
        if ((uint64_t)(end - at) < n + 2 || memcmp(at + n, "\r\n", 2) != 0)
            return NULL;
        if (rn_buf_add(out, rn_view_of(at, (size_t)n)) != RN_OK)
            abort();
        at += n + 2;
    }
}

/* ---- the decoder --------------------------------------------------------- */

/* How many bytes were left over, or -1. */
static ptrdiff_t decode(struct rn_view bytes, size_t cut, struct rn_buf *out)
{
    struct rn_http_chunked c = fresh;
    struct rn_http_refusal no;
    struct rn_view in = rn_view_of(bytes.at, cut);
    enum rn_http_step step = rn_http_chunked_decode(&c, &in, out, &no);

    if (step == RN_HTTP_DONE)
        return (ptrdiff_t)(in.len + bytes.len - cut);
    if (step == RN_HTTP_REFUSED)
        return -1;
    if (in.len != 0)
        abort();
    in = rn_view_of(bytes.at + cut, bytes.len - cut);
    step = rn_http_chunked_decode(&c, &in, out, &no);
    return step == RN_HTTP_DONE ? (ptrdiff_t)in.len : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rn_buf got = RN_BUF_INIT(64), wanted = RN_BUF_INIT(64);
    const char *stop;
    struct rn_view bytes;
    ptrdiff_t left;
    size_t cut;

    if (size < 3)
        return 0;
    bytes = rn_view_of(data + 2, size - 2);
    cut = (data[0] | (size_t)data[1] << 8) % (bytes.len + 1);
    left = decode(bytes, cut, &got);
    stop = reference(bytes.at, bytes.at + bytes.len, &wanted);
    if ((left >= 0) != (stop != NULL))
        abort();
    if (stop && (bytes.at + bytes.len - stop != left ||
                 !rn_view_eq(rn_buf_view(&got), rn_buf_view(&wanted))))
        abort();
    rn_buf_release(&got);
    rn_buf_release(&wanted);
    return 0;
}
