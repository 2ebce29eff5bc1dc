/* definition_search.c -- validates the vector and full-text policies of a
 * container's definition.
 *
 *   vectorEmbeddingPolicy   {"vectorEmbeddings":[{"path":"/v","dataType":
 *                           "float32","dimensions":3,"distanceFunction":
 *                           "cosine"}]}
 *   fullTextPolicy          {"defaultLanguage":"en-US","fullTextPaths":
 *                           [{"path":"/t","language":"en-US"}]}
 *   indexingPolicy          {"vectorIndexes":[{"path":"/v","type":"flat"}],
 *                           "fullTextIndexes":[{"path":"/t"}]}
 *
 * They are kept as they were sent.  The checks and messages are the service's,
 * because the SDKs' own tests compare them.
 */
#include "engine/catalog/definition_search.h"

#include "engine/engine_state.h"

#include "query/check/policy.h"

enum {
    DIMENSIONS_MAX = 4096,
    FLAT_DIMENSIONS_MAX = 505,
    QUANTIZATION_MAX = 512,
    SEARCH_LIST_MIN = 25,
    SEARCH_LIST_MAX = 500,
    SHARD_PATHS_MAX = 1,
};

/* ---- members ------------------------------------------------------------- */

static uint32_t member(const struct rn_json *j, uint32_t object,
                       const char *name)
{
    return rn_json_find(j, object, rn_view_text(name));
}

static struct rn_view text_of(const struct rn_json *j, uint32_t object,
                              const char *name)
{
    return rn_json_text(j, member(j, object, name));
}

static bool is_given(const struct rn_json *j, uint32_t object, const char *name)
{
    enum rn_json_kind kind = rn_json_kind(j, member(j, object, name));

    return kind != RN_JSON_UNDEFINED && kind != RN_JSON_NULL;
}

static bool is_path(const struct rn_json *j, uint32_t value)
{
    return rn_json_kind(j, value) == RN_JSON_STRING &&
           rn_view_starts(rn_json_text(j, value), RN_LIT("/"));
}

/* The first element of `list` that has this path, or RN_JSON_NONE. */
static uint32_t find_path(const struct rn_json *j, uint32_t list,
                          struct rn_view path)
{
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    while (rn_json_walk_next(&w)) {
        if (rn_view_eq(text_of(j, w.value, "path"), path))
            return w.value;
    }
    return RN_JSON_NONE;
}

/* An absent list counts as empty. */
static enum rn_code check_list(const struct rn_json *j, uint32_t owner,
                               const char *name, uint32_t *out,
                               struct rn_err *err)
{
    *out = member(j, owner, name);
    if (!is_given(j, owner, name) || rn_json_kind(j, *out) == RN_JSON_ARRAY)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "One of the specified inputs is invalid: %s must be an "
                   "array",
                   name);
}

/* Each path occurs once, and begins with a slash. */
static enum rn_code check_path(const struct rn_json *j, uint32_t list,
                               uint32_t one, const char *policy,
                               struct rn_err *err)
{
    struct rn_view path = text_of(j, one, "path");

    if (!is_path(j, member(j, one, "path"))) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The %s Policy contains an invalid Path: %.*s", policy,
                       RN_FMT(path));
    }
    if (find_path(j, list, path) != one) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Duplicate Path :%.*s found in %s Policy.", RN_FMT(path),
                       policy);
    }
    return RN_OK;
}

/* Is the member, if present, one of these words? */
static bool has_word(const struct rn_json *j, uint32_t one, const char *name,
                     const char *const words[])
{
    uint32_t value = member(j, one, name);

    if (!is_given(j, one, name))
        return true;
    for (size_t i = 0; words[i]; i++) {
        if (rn_json_string_is(j, value, rn_view_text(words[i])))
            return true;
    }
    return false;
}

/* ---- vectors ------------------------------------------------------------- */

static enum rn_code check_dimensions(const struct rn_json *j, uint32_t one,
                                     struct rn_err *err)
{
    uint32_t value = member(j, one, "dimensions");
    struct rn_view text = rn_json_text(j, value);
    int64_t count = 0;

    if (!is_given(j, one, "dimensions"))
        return RN_OK;
    if (rn_json_kind(j, value) != RN_JSON_NUMBER ||
        !rn_json_int64(j, value, &count) || count < 1) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The Vector Embedding Policy has Dimensions:%.*s, and "
                       "it must be a positive integer",
                       RN_FMT(text));
    }
    if (count > DIMENSIONS_MAX) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The Vector Embedding Policy has Dimensions:%.*s which "
                       "is more than the maximum supported value %d",
                       RN_FMT(text), DIMENSIONS_MAX);
    }
    return RN_OK;
}

static enum rn_code check_distance(const struct rn_json *j, uint32_t one,
                                   struct rn_err *err)
{
    struct rn_view name = text_of(j, one, "distanceFunction");
    enum rn_distance distance;

    if (!is_given(j, one, "distanceFunction") ||
        rn_distance_named(name, &distance))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The Vector Embedding Policy has an invalid "
                   "DistanceFunction:%.*s",
                   RN_FMT(name));
}

static enum rn_code check_data_type(const struct rn_json *j, uint32_t one,
                                    struct rn_err *err)
{
    static const char *const types[] = { "float32", "float16", "int8", "uint8",
                                         NULL };

    if (has_word(j, one, "dataType", types))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The Vector Embedding Policy has an invalid DataType:%.*s",
                   RN_FMT(text_of(j, one, "dataType")));
}

static enum rn_code check_embeddings(const struct rn_json *j, uint32_t *out,
                                     struct rn_err *err)
{
    uint32_t policy = member(j, 0, "vectorEmbeddingPolicy");
    enum rn_code rc = check_list(j, policy, "vectorEmbeddings", out, err);
    struct rn_json_walk w = rn_json_walk_begin(j, *out);

    while (!rc && rn_json_walk_next(&w)) {
        rc = check_path(j, *out, w.value, "Vector Embedding", err);
        if (!rc)
            rc = check_data_type(j, w.value, err);
        if (!rc)
            rc = check_dimensions(j, w.value, err);
        if (!rc)
            rc = check_distance(j, w.value, err);
    }
    return rc;
}

/* The bounds of a number, and its name in messages. */
struct bounds {
    const char *name, *shown;
    int64_t least, most;
};

static enum rn_code check_range(const struct rn_json *j, uint32_t one,
                                const struct bounds *b, struct rn_err *err)
{
    uint32_t value = member(j, one, b->name);
    int64_t count = 0;

    if (!is_given(j, one, b->name))
        return RN_OK;
    if (rn_json_kind(j, value) == RN_JSON_NUMBER &&
        rn_json_int64(j, value, &count) && count >= b->least &&
        count <= b->most)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The Vector Indexing Policy parameter %s value :: %.*s is "
                   "out of range. The allowed range is between %lld and %lld.",
                   b->shown, RN_FMT(rn_json_text(j, value)),
                   (long long)b->least, (long long)b->most);
}

static enum rn_code check_shards(const struct rn_json *j, uint32_t index,
                                 struct rn_err *err)
{
    uint32_t list;
    enum rn_code rc = check_list(j, index, "vectorIndexShardKey", &list, err);
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    if (!rc && rn_json_count(j, list) > SHARD_PATHS_MAX) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The number of shard paths defined in the Vector Indexing "
                     "Policy: %u exceeds the maximum: %d.",
                     (unsigned)rn_json_count(j, list), SHARD_PATHS_MAX);
    }
    while (!rc && rn_json_walk_next(&w)) {
        if (!is_path(j, w.value)) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "The Vector Indexing Policy has an invalid Shard "
                         "Path: %.*s.",
                         RN_FMT(rn_json_text(j, w.value)));
        }
    }
    return rc;
}

static enum rn_code check_index_type(const struct rn_json *j, uint32_t index,
                                     struct rn_err *err)
{
    static const char *const types[] = { "flat", "quantizedFlat", "diskANN",
                                         NULL };

    if (has_word(j, index, "type", types))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The Vector Indexing Policy's Index Type::%.*s is invalid.",
                   RN_FMT(text_of(j, index, "type")));
}

/* Only a flat index stores the full vectors. */
static enum rn_code check_flat(const struct rn_json *j, uint32_t index,
                               int64_t dimensions, struct rn_err *err)
{
    if (!rn_json_string_is(j, member(j, index, "type"), RN_LIT("flat")) ||
        dimensions <= FLAT_DIMENSIONS_MAX)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The Vector Indexing Policy's Index Type::flat supports at "
                   "most %d dimensions, and path::%.*s has %lld.",
                   FLAT_DIMENSIONS_MAX, RN_FMT(text_of(j, index, "path")),
                   (long long)dimensions);
}

/* A vector index needs an embedding for its path. */
static enum rn_code check_vector_index(const struct rn_json *j, uint32_t index,
                                       uint32_t embeddings, struct rn_err *err)
{
    struct rn_view path = text_of(j, index, "path");
    uint32_t embedding = find_path(j, embeddings, path), value;
    struct bounds bounds[] = {
        { "quantizationByteSize", "QuantizationByteSize", 1, QUANTIZATION_MAX },
        { "indexingSearchListSize", "IndexingSearchListSize", SEARCH_LIST_MIN,
          SEARCH_LIST_MAX },
    };
    int64_t dimensions = 0;
    enum rn_code rc;

    if (embedding == RN_JSON_NONE) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The Vector Indexing Policy's path::%.*s not matching "
                       "in Embedding's path.",
                       RN_FMT(path));
    }
    value = member(j, embedding, "dimensions");
    if (rn_json_kind(j, value) == RN_JSON_NUMBER &&
        rn_json_int64(j, value, &dimensions) && dimensions < bounds[0].most)
        bounds[0].most = dimensions;
    rc = check_index_type(j, index, err);
    if (!rc)
        rc = check_flat(j, index, dimensions, err);
    for (int i = 0; !rc && i < 2; i++)
        rc = check_range(j, index, &bounds[i], err);
    return rc ? rc : check_shards(j, index, err);
}

static enum rn_code check_vector_indexes(const struct rn_json *j,
                                         uint32_t embeddings,
                                         struct rn_err *err)
{
    uint32_t policy = member(j, 0, "indexingPolicy"), list;
    enum rn_code rc = check_list(j, policy, "vectorIndexes", &list, err);
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    while (!rc && rn_json_walk_next(&w)) {
        rc = check_path(j, list, w.value, "Vector Indexing", err);
        if (!rc)
            rc = check_vector_index(j, w.value, embeddings, err);
    }
    return rc;
}

/* ---- full text ----------------------------------------------------------- */

/* 1033 is the Windows locale id of en-US, which the JavaScript SDK's tests use.
 */
static enum rn_code check_language(const struct rn_json *j, uint32_t owner,
                                   const char *name, struct rn_err *err)
{
    static const char *const names[] = { "en-US", "fr-FR", "de-DE",
                                         "es-ES", "it-IT", "pt-PT",
                                         "pt-BR", "1033",  NULL };

    if (has_word(j, owner, name, names))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The Full Text Policy contains an unsupported language "
                   "%.*s. Supported languages are: \"en-US\", "
                   "\"fr-FR\", \"de-DE\", \"es-ES\", \"it-IT\", \"pt-PT\", "
                   "\"pt-BR\"",
                   RN_FMT(text_of(j, owner, name)));
}

static enum rn_code check_full_text(const struct rn_json *j, struct rn_err *err)
{
    uint32_t policy = member(j, 0, "fullTextPolicy"), list;
    enum rn_code rc = check_list(j, policy, "fullTextPaths", &list, err);
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    if (!rc)
        rc = check_language(j, policy, "defaultLanguage", err);
    while (!rc && rn_json_walk_next(&w)) {
        rc = check_path(j, list, w.value, "Full Text", err);
        if (!rc)
            rc = check_language(j, w.value, "language", err);
    }
    return rc;
}

static enum rn_code check_full_text_indexes(const struct rn_json *j,
                                            struct rn_err *err)
{
    uint32_t policy = member(j, 0, "indexingPolicy"), list;
    uint32_t paths = member(j, member(j, 0, "fullTextPolicy"), "fullTextPaths");
    enum rn_code rc = check_list(j, policy, "fullTextIndexes", &list, err);
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    while (!rc && rn_json_walk_next(&w)) {
        rc = check_path(j, list, w.value, "Full Text Indexing", err);
        if (!rc &&
            find_path(j, paths, text_of(j, w.value, "path")) == RN_JSON_NONE) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "The path of the Full Text Index %.*s does not match "
                         "the path specified in the Full Text Policy",
                         RN_FMT(text_of(j, w.value, "path")));
        }
    }
    return rc;
}

enum rn_code rn_definition_search_check(const struct rn_json *j,
                                        struct rn_err *err)
{
    uint32_t embeddings;
    enum rn_code rc = check_embeddings(j, &embeddings, err);

    if (!rc)
        rc = check_vector_indexes(j, embeddings, err);
    if (!rc)
        rc = check_full_text(j, err);
    return rc ? rc : check_full_text_indexes(j, err);
}

/* ---- replacing ----------------------------------------------------------- */

static bool is_same(const struct rn_json *was, uint32_t a,
                    const struct rn_json *now, uint32_t b,
                    const char *const names[])
{
    for (size_t i = 0; names[i]; i++) {
        if (!rn_view_eq(text_of(was, a, names[i]), text_of(now, b, names[i])))
            return false;
    }
    return true;
}

/* Do paths that are in both lists have the same members in both? */
static bool is_kept(const struct rn_json *was, uint32_t old_list,
                    const struct rn_json *now, uint32_t list,
                    const char *const names[])
{
    struct rn_json_walk w = rn_json_walk_begin(was, old_list);

    while (rn_json_walk_next(&w)) {
        uint32_t one = find_path(now, list, text_of(was, w.value, "path"));
        if (one != RN_JSON_NONE && !is_same(was, w.value, now, one, names))
            return false;
    }
    return true;
}

enum rn_code rn_definition_search_check_replaced(const struct rn_json *was,
                                                 const struct rn_json *now,
                                                 struct rn_err *err)
{
    static const struct {
        const char *outer, *inner, *named;
        const char *members[4];
    } lists[] = {
        { "indexingPolicy", "vectorIndexes", "vector indexing", { "type" } },
        { "vectorEmbeddingPolicy",
          "vectorEmbeddings",
          "embedding",
          { "dataType", "dimensions", "distanceFunction" } },
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        uint32_t before = member(was, 0, lists[i].outer);
        uint32_t after = member(now, 0, lists[i].outer);
        if (!is_kept(was, member(was, before, lists[i].inner), now,
                     member(now, after, lists[i].inner), lists[i].members)) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "Paths in existing %s policy cannot be modified in "
                           "Collection Replace",
                           lists[i].named);
        }
    }
    return RN_OK;
}
