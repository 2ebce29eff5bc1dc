/* http_fuzz.c -- how bytes are cut must not change what is read from them.
 *
 * Of the input, the first three bytes choose the cut and the limits; the rest
 * is fed to a reader whole and cut, and all that comes out must be the same.
 * The same bytes are then taken apart as a target.
 */
#include "http/target.h"
#include "lib/http_feed.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* So low that a fuzzer reaches them. */
static const struct rn_http_limits low = {
    .request_line_bytes_max = 40,
    .field_line_bytes_max = 40,
    .fields_bytes_max = 200,
    .fields_max = 8,
    .chunk_ext_bytes_max = 8,
    .body_bytes_max = 64,
};

static void try_cut(struct rn_view bytes, const struct rn_http_limits *limits,
                    struct feed_cut cut)
{
    struct feed_result whole, other;

    feed_result_init(&whole);
    feed_result_init(&other);
    feed(bytes, limits, (struct feed_cut){ .is_exact = true }, &whole);
    feed(bytes, limits, cut, &other);
    if (!rn_view_eq(rn_buf_view(&whole.text), rn_buf_view(&other.text)))
        abort();
    feed_result_release(&whole);
    feed_result_release(&other);
}

static void try_target(struct rn_view bytes, enum rn_http_question question)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_http_target t;
    size_t sum = 0;

    if (rn_http_target_parse(bytes, question, &arena, &t, NULL) == RN_OK) {
        for (size_t i = 0; i < t.segment_count; i++)
            sum += t.segments[i].len;
        for (size_t i = 0; i < t.param_count; i++)
            sum += t.params[i].name.len + t.params[i].value.len;
        if (sum > bytes.len)
            abort();
    }
    rn_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed_cut cut = { 0 };
    struct rn_view bytes;

    if (size < 4)
        return 0;
    bytes = rn_view_of(data + 3, size - 3);
    cut.is_exact = data[0] & 1;
    if (data[0] & 2)
        cut.first = 1 + (data[1] | (size_t)data[2] << 8) % bytes.len;
    else if (data[0] & 4)
        cut.every = 1 + data[1];
    else
        cut.seed = 1 + (data[1] | (uint64_t)data[2] << 8) * 0x9e3779b97f4a7c15;
    try_cut(bytes, data[0] & 8 ? &low : &rn_http_limits_default, cut);
    try_target(bytes, data[0] & 16 ? RN_HTTP_QUESTION_IS_NAME
                                   : RN_HTTP_QUESTION_SPLITS);
    return 0;
}
