/* patch_fuzz.c -- any bytes as a patch, upon a document of many shapes or upon
 * one that the input brings.
 *
 * Behind a zero byte the input is the document.  What a patch makes of it must
 * be JSON, with the id and the key it had; what it refuses it must refuse in
 * words.
 */
#include "fuzz/fuzz.h"

#include "engine/document/patch.h"
#include "engine/document/patch_apply.h"

static const char shapes[] =
    "{\"id\":\"i\",\"pk\":{\"k\":1},\"n\":1,\"s\":\"x\\u0041\",\"l\":[1,[2],{}]"
    ","
    "\"o\":{\"a\":{\"b\":null}},\"\":0,\"a/b\":1,\"m~n\":2,\"big\":1e300,"
    "\"_rid\":\"r\",\"_self\":\"s\",\"_etag\":\"e\",\"_ts\":      1000}";

static void must_be_same(const struct rn_json *a, const struct rn_json *b,
                         const struct rn_json_path *path)
{
    uint32_t x = rn_json_path_find(path, a, 0);
    uint32_t y = rn_json_path_find(path, b, 0);

    must(rn_json_kind(a, x) == rn_json_kind(b, y));
    if (rn_json_kind(a, x) < RN_JSON_ARRAY)
        must(rn_view_eq(rn_json_text(a, x), rn_json_text(b, y)));
}

static void check(struct rn_view document, struct rn_view made)
{
    static const struct rn_view id = { "id", 2 };
    const struct rn_json_path path = { .names = &id, .count = 1 };
    struct rn_json before, after;

    rn_json_init(&before, NULL);
    rn_json_init(&after, NULL);
    must(!rn_json_parse(&before, document, NULL));
    must(!rn_json_parse(&after, made, NULL));
    must(rn_json_kind(&after, 0) == rn_json_kind(&before, 0));
    /* What the engine stores ends with the system's properties. */
    if (document.at == shapes ||
        rn_json_find(&before, 0, RN_LIT("_rid")) == RN_JSON_NONE)
        must_be_same(&before, &after, &path);
    rn_json_release(&before);
    rn_json_release(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rn_view names[] = { { "pk", 2 }, { "k", 1 } };
    const struct rn_pkdef def = { .kind = RN_PKDEF_HASH,
                                  .version = 2,
                                  .count = 1,
                                  .paths = { { .names = names, .count = 2 } } };
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    struct rn_view document = rn_view_of(shapes, sizeof(shapes) - 1);
    struct rn_arena arena = RN_ARENA_INIT(8 << 20);
    struct rn_buf out = RN_BUF_INIT(8 << 20);
    struct rn_err err = { 0 };
    struct rn_patch p;
    enum rn_code rc;

    if (zero)
        document = rn_view_of(zero + 1, size - (size_t)(zero + 1 - data));
    rc = rn_patch_read(rn_view_of(data, zero ? (size_t)(zero - data) : size),
                       &def, &arena, &p, &err);
    if (!rc)
        rc = rn_patch_apply(&p, document, 1000, &out, &err);
    if (!rc)
        check(document, rn_buf_view(&out));
    else
        must(rc == RN_NOMEM || rc == RN_TOO_LARGE || err.text[0]);
    rn_buf_release(&out);
    rn_arena_release(&arena);
    return 0;
}
