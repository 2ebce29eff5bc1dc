/* valuekey.c -- a bounded key for a row of values: equal rows have equal keys,
 * and the keys of scalars compare as ORDER BY compares the values.
 *
 *   scalar   its sort key (sortkey.h)
 *   array    07 | the keys of its elements | 00
 *   object   08 | name and value of its members by name | 00
 *
 * A key that exceeds the prefix, or whose string the sort key truncates, ends
 * there and is followed by a 128-bit hash of the whole values.
 */
#include "query/run/valuekey.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/run/encode.h"
#include "query/run/run.h"

enum { PREFIX_MAX = RN_VALUEKEY_MAX - RN_VALUES_HASH_LEN };

struct writer {
    struct rn_valuekey *out;
    struct rn_arena *arena;
    bool is_cut;
};

static void put_bytes(struct writer *w, const char *at, size_t len)
{
    size_t room = PREFIX_MAX - w->out->len;

    if (len > room) {
        w->is_cut = true;
        len = room;
    }
    memcpy(w->out->bytes + w->out->len, at, len);
    w->out->len += len;
}

static void put_scalar(struct writer *w, const struct rn_value *v)
{
    const struct rn_sortkey_form form = { .text_max = RN_SORTKEY_TEXT_MAX };
    char key[RN_SORTKEY_MAX];
    bool is_cut;
    size_t len = rn_sortkey_encode(v, &form, key, &is_cut);

    put_bytes(w, key, len);
    w->is_cut = w->is_cut || is_cut;
}

static enum rn_code put(struct writer *w, const struct rn_value *v);

static enum rn_code put_array(struct writer *w, const struct rn_value *v)
{
    struct rn_value_walk walk = rn_value_walk_begin(v, w->arena);
    enum rn_code rc = RN_OK;

    put_bytes(w, &(char){ RN_SORTKEY_ARRAY }, 1);
    while (!rc && !w->is_cut && rn_value_walk_next(&walk))
        rc = put(w, &walk.value);
    put_bytes(w, "", 1);
    return rc ? rc : walk.rc;
}

static enum rn_code put_object(struct writer *w, const struct rn_value *v)
{
    struct rn_member *members;
    uint32_t count = 0;
    enum rn_code rc = rn_value_sort_members(v, w->arena, &members, &count);

    put_bytes(w, &(char){ RN_SORTKEY_OBJECT }, 1);
    for (uint32_t i = 0; i < count && !rc && !w->is_cut; i++) {
        struct rn_value name = rn_value_string(members[i].name);

        put_scalar(w, &name);
        rc = put(w, &members[i].value);
    }
    put_bytes(w, "", 1);
    return rc;
}

static enum rn_code put(struct writer *w, const struct rn_value *v)
{
    if (w->is_cut)
        return RN_OK;
    if (v->kind == RN_VALUE_ARRAY)
        return put_array(w, v);
    if (v->kind == RN_VALUE_OBJECT)
        return put_object(w, v);
    put_scalar(w, v);
    return RN_OK;
}

enum rn_code rn_values_hash(const struct rn_value *values, uint32_t count,
                            struct rn_run *r, char out[RN_VALUES_HASH_LEN])
{
    struct rn_buf bytes = RN_BUF_INIT(r->limits.memory_bytes);
    struct rn_hash128 hash = { 0 };
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < count && !rc; i++) {
        bool is_hash =
            values[i].kind >= RN_VALUE_ARRAY && values[i].form == RN_FORM_HASH;
        rc = is_hash ? rn_buf_add(&bytes, values[i].text)
                     : rn_value_encode(&values[i], r->arena, &bytes);
    }
    if (!rc)
        hash = rn_hash128(rn_buf_view(&bytes), 0);
    rn_put_u64_be(out, hash.high);
    rn_put_u64_be(out + 8, hash.low);
    rn_buf_release(&bytes);
    return rc;
}

enum rn_code rn_valuekey_make(const struct rn_value *values, uint32_t count,
                              struct rn_run *r, struct rn_valuekey *out)
{
    struct writer w = { .out = out, .arena = r->arena };
    enum rn_code rc = RN_OK;

    out->len = 0;
    for (uint32_t i = 0; i < count && !rc; i++)
        rc = put(&w, &values[i]);
    if (rc || !w.is_cut)
        return rc;
    rc = rn_values_hash(values, count, r, out->bytes + out->len);
    out->len += RN_VALUES_HASH_LEN;
    return rc;
}
