/* pkdef.c -- see pkdef.h. */
#include "cosmos/pkdef.h"

#include "cosmos/status.h"
#include "json/print.h"

#include <strings.h>

static const char *const kinds[] = {
    [RN_PKDEF_HASH] = "Hash",
    [RN_PKDEF_MULTIHASH] = "MultiHash",
    [RN_PKDEF_RANGE] = "Range",
};

static enum rn_code parse_kind(const struct rn_json *j, uint32_t value,
                               struct rn_pkdef *out, struct rn_err *err)
{
    struct rn_view text = rn_json_text(j, value);

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED)
        return RN_OK;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (rn_json_kind(j, value) == RN_JSON_STRING &&
            text.len == strlen(kinds[i]) &&
            strncasecmp(text.at, kinds[i], text.len) == 0) {
            out->kind = (enum rn_pkdef_kind)i;
            return RN_OK;
        }
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "The partition key kind must be Hash or MultiHash.");
}

/* A number, or the name that the Java client sends for it; 0 if invalid. */
static int64_t version_of(const struct rn_json *j, uint32_t value)
{
    int64_t version = 0;

    if (rn_json_kind(j, value) == RN_JSON_STRING) {
        return rn_json_string_is(j, value, RN_LIT("V1"))   ? 1
               : rn_json_string_is(j, value, RN_LIT("V2")) ? 2
                                                           : 0;
    }
    return rn_json_kind(j, value) == RN_JSON_NUMBER &&
                   rn_json_int64(j, value, &version)
               ? version
               : 0;
}

/* Hierarchical keys exist only with version 2. */
static enum rn_code parse_version(const struct rn_json *j, uint32_t value,
                                  struct rn_pkdef *out, struct rn_err *err)
{
    enum rn_json_kind kind = rn_json_kind(j, value);
    int64_t version;

    if (kind == RN_JSON_UNDEFINED || kind == RN_JSON_NULL)
        return RN_OK;
    version = version_of(j, value);
    if (version < 1 || version > 2 ||
        (version == 1 && out->kind == RN_PKDEF_MULTIHASH)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The partition key version must be 1 or 2, and 2 for "
                       "a hierarchical key.");
    }
    out->version = (uint32_t)version;
    return RN_OK;
}

/* The service's message; clients' tests look for both halves of it. */
static enum rn_code refuse_path(struct rn_view path, struct rn_err *err)
{
    return rn_fail(err, RN_BAD_REQUEST,
                   "The partition key component definition path '%.*s' could "
                   "not be accepted. Partition key paths must contain only "
                   "valid characters and not contain a trailing slash or "
                   "wildcard character.",
                   path.len > 60 ? 60 : (int)path.len, path.at);
}

static enum rn_code parse_path(const struct rn_json *j, uint32_t value,
                               struct rn_arena *arena, struct rn_pkdef *out,
                               struct rn_err *err)
{
    struct rn_view *text = &out->texts[out->count];
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return refuse_path(rn_json_text(j, value), err);
    rc = rn_json_string_copy(j, value, arena, text);
    if (rc == RN_TOO_LARGE)
        return refuse_path(rn_json_text(j, value), err);
    if (rc)
        return rn_fail(err, rc, "no memory for a partition key path");
    rc = rn_json_path_parse(*text, arena, &out->paths[out->count], err);
    if (rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE)
        return refuse_path(*text, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < out->count; i++) {
        if (rn_view_eq(*text, out->texts[i]))
            return rn_fail(err, RN_BAD_REQUEST,
                           "A partition key path is given twice.");
    }
    out->count++;
    return RN_OK;
}

static enum rn_code parse_paths(const struct rn_json *j, uint32_t value,
                                struct rn_arena *arena, struct rn_pkdef *out,
                                struct rn_err *err)
{
    uint32_t most = out->kind == RN_PKDEF_MULTIHASH ? RN_PK_MAX : 1;
    struct rn_json_walk w = rn_json_walk_begin(j, value);
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_ARRAY || rn_json_count(j, value) == 0)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The partition key definition has no paths.");
    if (rn_json_count(j, value) > most) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Too many partition key paths (%u) specified. A maximum "
                       "of %u is allowed.",
                       rn_json_count(j, value), most);
    }
    while (rn_json_walk_next(&w)) {
        rc = parse_path(j, w.value, arena, out, err);
        if (rc)
            return rc;
    }
    return RN_OK;
}

enum rn_code rn_pkdef_parse(const struct rn_json *j, uint32_t value,
                            struct rn_arena *arena, struct rn_pkdef *out,
                            struct rn_err *err)
{
    struct rn_pkdef def = { .kind = RN_PKDEF_HASH };
    uint32_t system = rn_json_find(j, value, RN_LIT("systemKey"));
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_OBJECT)
        return rn_fail(err, RN_BAD_REQUEST,
                       "The partition key definition must be an object.");
    def.is_system = rn_json_kind(j, system) == RN_JSON_TRUE;
    rc = parse_kind(j, rn_json_find(j, value, RN_LIT("kind")), &def, err);
    if (!rc)
        rc = parse_version(j, rn_json_find(j, value, RN_LIT("version")), &def,
                           err);
    if (!rc)
        rc = parse_paths(j, rn_json_find(j, value, RN_LIT("paths")), arena,
                         &def, err);
    if (!rc)
        *out = def;
    return rc;
}

enum rn_code rn_pkdef_print(const struct rn_pkdef *def, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("paths"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < def->count; i++)
        rn_json_out_string(&o, def->texts[i]);
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("kind"));
    rn_json_out_string(&o, rn_view_text(kinds[def->kind]));
    if (def->version) {
        rn_json_out_key(&o, RN_LIT("version"));
        rn_json_out_uint(&o, def->version);
    }
    if (def->is_system) {
        rn_json_out_key(&o, RN_LIT("systemKey"));
        rn_json_out_bool(&o, true);
    }
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}

uint32_t rn_pkdef_version(const struct rn_pkdef *def)
{
    return def->kind == RN_PKDEF_MULTIHASH || def->version == 2 ? 2 : 1;
}

bool rn_pkdef_eq(const struct rn_pkdef *a, const struct rn_pkdef *b)
{
    if (a->kind != b->kind || a->count != b->count ||
        a->is_system != b->is_system ||
        rn_pkdef_version(a) != rn_pkdef_version(b))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (!rn_view_eq(a->texts[i], b->texts[i]))
            return false;
    }
    return true;
}

/* ---- keys of the container ----------------------------------------------- */

static enum rn_code read_value(const struct rn_json *j, uint32_t value,
                               struct rn_arena *arena, struct rn_pk_value *out)
{
    *out = (struct rn_pk_value){ .type = RN_PK_UNDEFINED };
    switch (rn_json_kind(j, value)) {
    case RN_JSON_NULL:
        out->type = RN_PK_NULL;
        return RN_OK;
    case RN_JSON_FALSE:
        out->type = RN_PK_FALSE;
        return RN_OK;
    case RN_JSON_TRUE:
        out->type = RN_PK_TRUE;
        return RN_OK;
    case RN_JSON_NUMBER:
        out->type = RN_PK_NUMBER;
        out->number = rn_json_double(j, value);
        return RN_OK;
    case RN_JSON_STRING:
        out->type = RN_PK_STRING;
        return rn_json_string_get(j, value, arena, &out->text);
    case RN_JSON_UNDEFINED:
    case RN_JSON_ARRAY:
    case RN_JSON_OBJECT:
        break;
    }
    return RN_OK;
}

enum rn_code rn_pkdef_extract(const struct rn_pkdef *def,
                              const struct rn_json *j, uint32_t document,
                              struct rn_arena *arena, struct rn_pk *out,
                              struct rn_err *err)
{
    struct rn_pk pk = { .count = def->count };
    enum rn_code rc;

    for (size_t i = 0; i < def->count; i++) {
        uint32_t value = rn_json_path_find(&def->paths[i], j, document);
        rc = read_value(j, value, arena, &pk.values[i]);
        if (rc)
            return rn_fail(err, rc, "no memory for a partition key");
    }
    rc = rn_pk_check_size(&pk, err);
    if (!rc)
        *out = pk;
    return rc;
}

enum rn_code rn_pkdef_fit_prefix(const struct rn_pkdef *def, struct rn_pk *pk,
                                 struct rn_err *err)
{
    if (pk->count == 0 && def->is_system) {
        pk->count = 1;
        pk->values[0] = (struct rn_pk_value){ .type = RN_PK_UNDEFINED };
    }
    if (pk->count > def->count) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The partition key supplied in x-ms-partitionkey header "
                       "has more components than defined in the collection.");
    }
    if (pk->count == 0) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "PartitionKey value must be supplied for this "
                       "operation. Cross partition query is required but "
                       "disabled.");
    }
    return RN_OK;
}

enum rn_code rn_pkdef_fit(const struct rn_pkdef *def, struct rn_pk *pk,
                          struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    if (pk->count > 0 || def->is_system)
        rc = rn_pkdef_fit_prefix(def, pk, err);
    if (!rc && pk->count < def->count) {
        rc = rn_fail_reason(err, RN_REASON_KEY_MISMATCH,
                            "The partition key supplied in x-ms-partitionkey "
                            "header has fewer components than defined in the "
                            "the collection. Partition key provided either "
                            "doesn't correspond to definition in the "
                            "collection or doesn't match partition key field "
                            "values specified in the document.");
    }
    return rc;
}
