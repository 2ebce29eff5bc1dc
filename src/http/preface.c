/* preface.c -- see preface.h. */
#include "http/preface.h"

enum {
    FRAME_HEAD = 9,
    FRAME_MAX = 16384, /* unless the server allows more */
    HEADERS = 1,
    SETTINGS = 4,
};

/* SETTINGS without parameters; GOAWAY: no stream was served,
 * HTTP_1_1_REQUIRED. */
static const char answer[] = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
                             "\x00\x00\x08\x07\x00\x00\x00\x00\x00"
                             "\x00\x00\x00\x00\x00\x00\x00\x0d";

size_t rn_http_preface_match(struct rn_view bytes)
{
    static const char all[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    size_t len =
        bytes.len < RN_HTTP_PREFACE_BYTES ? bytes.len : RN_HTTP_PREFACE_BYTES;

    return len && memcmp(bytes.at, all, len) == 0 ? len : 0;
}

static uint32_t frame_len(const struct rn_http_preface *p)
{
    return (uint32_t)p->head[0] << 16 | (uint32_t)p->head[1] << 8 | p->head[2];
}

/* The header of a frame is complete: whether to answer now. */
static bool is_time(const struct rn_http_preface *p)
{
    bool is_first = p->taken == 0;

    if (is_first && p->head[3] != SETTINGS)
        return true;
    return p->head[3] == HEADERS || frame_len(p) > FRAME_MAX ||
           p->taken + FRAME_HEAD + frame_len(p) > RN_HTTP_PREFACE_MAX;
}

bool rn_http_preface_take(struct rn_http_preface *p, struct rn_view bytes,
                          struct rn_http_refusal *no)
{
    while (bytes.len > 0) {
        size_t n = p->left ? p->left : FRAME_HEAD - p->have;

        n = n < bytes.len ? n : bytes.len;
        if (p->left) {
            p->left -= (uint32_t)n;
        } else {
            memcpy(p->head + p->have, bytes.at, n);
            p->have += (unsigned)n;
        }
        bytes = rn_view_of(bytes.at + n, bytes.len - n);
        if (p->have < FRAME_HEAD)
            continue;
        if (is_time(p)) {
            rn_http_refuse(no, 505, "HTTP/2 is not spoken here");
            no->raw = rn_view_of(answer, sizeof(answer) - 1);
            return true;
        }
        p->left = frame_len(p);
        p->taken += FRAME_HEAD + p->left;
        p->have = 0;
    }
    return false;
}
