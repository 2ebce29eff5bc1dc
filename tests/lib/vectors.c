/* vectors.c -- see vectors.h. */
#include "lib/vectors.h"

#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void read_file(const char *path, struct rn_buf *out)
{
    FILE *file = fopen(path, "rb");
    size_t got = 1;

    if (!file)
        fail_msg("cannot open %s", path);
    while (got > 0) {
        assert_int_equal(rn_buf_reserve(out, 65536), RN_OK);
        got = fread(out->at + out->len, 1, 65536, file);
        out->len += got;
    }
    fclose(file);
}

void vectors_load(struct vectors *v, const char *file)
{
    struct rn_err err = { 0 };
    char path[512];

    *v = (struct vectors){ .text = RN_BUF_INIT(4 << 20),
                           .arena = RN_ARENA_INIT(4 << 20) };
    snprintf(path, sizeof(path), "%s/%s", VECTORS_DIR, file);
    read_file(path, &v->text);
    rn_json_init(&v->json, NULL);
    if (rn_json_parse(&v->json, rn_buf_view(&v->text), &err))
        fail_msg("%s: %s", path, err.text);
}

void vectors_release(struct vectors *v)
{
    rn_json_release(&v->json);
    rn_buf_release(&v->text);
    rn_arena_release(&v->arena);
}

uint32_t vectors_member(const struct vectors *v, uint32_t object,
                        const char *name)
{
    uint32_t value = rn_json_find(&v->json, object, rn_view_text(name));

    if (value == RN_JSON_NONE)
        fail_msg("no member '%s' in %.*s", name,
                 RN_FMT(rn_json_text(&v->json, object)));
    return value;
}

struct rn_view vectors_string_or_none(struct vectors *v, uint32_t object,
                                      const char *name)
{
    uint32_t value = rn_json_find(&v->json, object, rn_view_text(name));
    struct rn_view text = RN_LIT("");

    if (value == RN_JSON_NONE)
        return text;
    assert_int_equal(rn_json_kind(&v->json, value), RN_JSON_STRING);
    assert_int_equal(rn_json_string_get(&v->json, value, &v->arena, &text),
                     RN_OK);
    return text;
}

struct rn_view vectors_string(struct vectors *v, uint32_t object,
                              const char *name)
{
    vectors_member(v, object, name);
    return vectors_string_or_none(v, object, name);
}

static struct rn_view decode_segment(struct vectors *v, struct rn_view raw)
{
    char *out = rn_arena_alloc(&v->arena, raw.len);
    size_t n = 0;

    assert_non_null(out);
    for (size_t i = 0; i < raw.len; i++) {
        if (raw.at[i] == '%') {
            out[n++] = (char)(rn_hex_digit(raw.at[i + 1]) << 4 |
                              rn_hex_digit(raw.at[i + 2]));
            i += 2;
        } else {
            out[n++] = raw.at[i];
        }
    }
    return rn_view_of(out, n);
}

size_t vectors_segments(struct vectors *v, struct rn_view path,
                        struct rn_view out[VECTORS_SEGMENTS_MAX])
{
    size_t count = 0, begin = 0;

    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.at[i] != '/')
            continue;
        if (i > begin) {
            assert_true(count < VECTORS_SEGMENTS_MAX);
            out[count++] =
                decode_segment(v, rn_view_of(path.at + begin, i - begin));
        }
        begin = i + 1;
    }
    return count;
}

struct rn_view vectors_bytes(struct vectors *v, struct rn_view hex)
{
    char *out = rn_arena_alloc(&v->arena, hex.len / 2);

    assert_non_null(out);
    for (size_t i = 0; i < hex.len / 2; i++)
        out[i] = (char)(rn_hex_digit(hex.at[2 * i]) << 4 |
                        rn_hex_digit(hex.at[2 * i + 1]));
    return rn_view_of(out, hex.len / 2);
}
