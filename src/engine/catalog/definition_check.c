/* definition_check.c -- validates a container's definition, with the service's
 * messages where they are known.
 *
 * Clients send an empty list instead of omitting it, so an empty list counts as
 * absent.
 */
#include "engine/catalog/definition_check.h"

#include "engine/catalog/catalog_rows.h"
#include "engine/engine_state.h"

#include <strings.h>

enum { COMPUTED_MAX = 20 };

static uint32_t member(const struct rn_json *j, uint32_t owner,
                       const char *name)
{
    return rn_json_find(j, owner, rn_view_text(name));
}

static bool is_given(const struct rn_json *j, uint32_t value)
{
    return rn_json_kind(j, value) != RN_JSON_UNDEFINED &&
           rn_json_kind(j, value) != RN_JSON_NULL;
}

/* Is it one of these words, in any case? */
static bool is_word(const struct rn_json *j, uint32_t value,
                    const char *const words[])
{
    struct rn_view text = rn_json_text(j, value);

    for (size_t i = 0; words[i]; i++) {
        if (rn_json_kind(j, value) == RN_JSON_STRING &&
            text.len == strlen(words[i]) &&
            strncasecmp(text.at, words[i], text.len) == 0)
            return true;
    }
    return false;
}

/* ---- index paths --------------------------------------------------------- */

static struct rn_view path_of(const struct rn_json *j, uint32_t one)
{
    return rn_json_text(j, member(j, one, "path"));
}

static bool is_root(struct rn_view path)
{
    return rn_view_eq(path, RN_LIT("/")) || rn_view_eq(path, RN_LIT("/*"));
}

/* The position of a syntax error in an indexing path; its length if there is
 * none.  A path ends with a slash and a ? or a star, which occur nowhere else
 * except in quotes. */
static size_t fault_of(struct rn_view path)
{
    bool is_quoted = false;

    if (is_root(path))
        return path.len;
    for (size_t i = 0; i + 1 < path.len; i++) {
        if (path.at[i] == '"')
            is_quoted = !is_quoted;
        if (is_quoted || path.at[i] != '/' ||
            (path.at[i + 1] != '?' && path.at[i + 1] != '*'))
            continue;
        if (i + 2 == path.len)
            return path.len;
        if (path.at[i + 2] == '/')
            return i + 1;
    }
    return path.len - 1;
}

static enum rn_code check_paths(const struct rn_json *j, uint32_t list,
                                bool *has_root, struct rn_err *err)
{
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    *has_root = false;
    while (rn_json_walk_next(&w)) {
        struct rn_view path = path_of(j, w.value);
        size_t at = fault_of(path);

        if (at < path.len) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "The indexing path '%.*s' could not be accepted, "
                           "failed near position '%zu'. Please ensure that the "
                           "path is a valid path. Common errors include "
                           "invalid characters or absence of quotes around "
                           "labels.",
                           path.len > 80 ? 80 : (int)path.len, path.at, at);
        }
        *has_root |= is_root(path);
    }
    return RN_OK;
}

static enum rn_code check_index_paths(const struct rn_json *j, uint32_t policy,
                                      struct rn_err *err)
{
    static const char *const none[] = { "none", NULL };
    uint32_t included = member(j, policy, "includedPaths");
    bool in, out;
    enum rn_code rc = check_paths(j, included, &in, err);

    if (!rc)
        rc = check_paths(j, member(j, policy, "excludedPaths"), &out, err);
    if (rc || is_word(j, member(j, policy, "indexingMode"), none))
        return rc;
    if (in && out) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The indexing path '/*' cannot be both included and "
                       "excluded.");
    }
    if (rn_json_count(j, included) && !in && !out) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The special mandatory indexing path \"/\" is not "
                       "provided in any of the path type sets. Please provide "
                       "this path in one of the sets.");
    }
    return RN_OK;
}

/* A composite path names a value: with a wildcard at its end it would serve no
 * order, and the client would not notice. */
static enum rn_code check_composite_path(struct rn_view path,
                                         struct rn_err *err)
{
    const char *end = path.at + path.len;

    if (path.len < 2 || end[-2] != '/' || (end[-1] != '?' && end[-1] != '*'))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The composite index path '%.*s' could not be accepted: it "
                   "must not end with /? or /*",
                   path.len > 80 ? 80 : (int)path.len, path.at);
}

static enum rn_code check_composites(const struct rn_json *j, uint32_t policy,
                                     struct rn_err *err)
{
    struct rn_json_walk list =
        rn_json_walk_begin(j, member(j, policy, "compositeIndexes"));
    enum rn_code rc = RN_OK;

    while (!rc && rn_json_walk_next(&list)) {
        struct rn_json_walk w = rn_json_walk_begin(j, list.value);
        while (!rc && rn_json_walk_next(&w))
            rc = check_composite_path(path_of(j, w.value), err);
    }
    return rc;
}

static bool is_spatial(const struct rn_json *j, uint32_t one)
{
    static const char *const shapes[] = { "Point", "LineString", "Polygon",
                                          "MultiPolygon", NULL };
    uint32_t types = member(j, one, "types");
    struct rn_json_walk w = rn_json_walk_begin(j, types);

    if (!rn_view_starts(path_of(j, one), RN_LIT("/")) ||
        rn_json_kind(j, types) != RN_JSON_ARRAY || rn_json_count(j, types) == 0)
        return false;
    while (rn_json_walk_next(&w)) {
        if (!is_word(j, w.value, shapes))
            return false;
    }
    return true;
}

static enum rn_code check_spatial(const struct rn_json *j, uint32_t policy,
                                  struct rn_err *err)
{
    struct rn_json_walk w =
        rn_json_walk_begin(j, member(j, policy, "spatialIndexes"));

    while (rn_json_walk_next(&w)) {
        if (!is_spatial(j, w.value)) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "A spatial index has a path and types, of Point, "
                           "LineString, Polygon and MultiPolygon.");
        }
    }
    return RN_OK;
}

static bool is_planar(const struct rn_json *j)
{
    static const char *const planar[] = { "Geometry", NULL };

    return is_word(j, member(j, member(j, 0, "geospatialConfig"), "type"),
                   planar);
}

/* A planar index needs a bounding box; the earth is bounded. */
static enum rn_code check_boxes(const struct rn_json *j, uint32_t policy,
                                struct rn_err *err)
{
    struct rn_json_walk w =
        rn_json_walk_begin(j, member(j, policy, "spatialIndexes"));
    bool needs_box = is_planar(j);

    while (rn_json_walk_next(&w)) {
        uint32_t box = member(j, w.value, "boundingBox");
        bool has_box = rn_json_kind(j, box) == RN_JSON_OBJECT;
        if (has_box != needs_box) {
            return rn_fail(err, RN_BAD_REQUEST,
                           needs_box ? "A spatial index needs a boundingBox in "
                                       "a container of type Geometry"
                                     : "A spatial index has no boundingBox in "
                                       "a container of type Geography");
        }
    }
    return RN_OK;
}

/* ---- the rest ------------------------------------------------------------ */

static enum rn_code check_conflicts(const struct rn_json *j, struct rn_err *err)
{
    static const char *const modes[] = { "LastWriterWins", "Custom", NULL };
    uint32_t policy = member(j, 0, "conflictResolutionPolicy");
    uint32_t mode = member(j, policy, "mode");
    uint32_t path = member(j, policy, "conflictResolutionPath");
    struct rn_view text = rn_json_text(j, path);

    if (is_given(j, mode) && !is_word(j, mode, modes)) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The mode of conflict resolution must be "
                       "LastWriterWins or Custom.");
    }
    if (is_given(j, path) &&
        (rn_json_kind(j, path) != RN_JSON_STRING ||
         (text.len && !rn_view_starts(text, RN_LIT("/"))))) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The path of conflict resolution must begin with /.");
    }
    return RN_OK;
}

static enum rn_code check_shape(const struct rn_json *j, struct rn_err *err)
{
    static const char *const types[] = { "Geography", "Geometry", NULL };
    uint32_t type = member(j, member(j, 0, "geospatialConfig"), "type");

    if (!is_given(j, type) || is_word(j, type, types))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The type of geospatialConfig must be Geography or "
                   "Geometry.");
}

static enum rn_code check_analytical(const struct rn_json *j,
                                     struct rn_err *err)
{
    uint32_t ttl = member(j, 0, "analyticalStorageTtl");
    int64_t seconds = 0;

    if (!is_given(j, ttl) || (rn_json_kind(j, ttl) == RN_JSON_NUMBER &&
                              rn_json_int64(j, ttl, &seconds) &&
                              seconds >= -1 && seconds <= INT32_MAX))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "The value of analyticalStorageTtl must be -1 or a 32-bit "
                   "integer that is not negative.");
}

static enum rn_code check_encryption(const struct rn_json *j,
                                     struct rn_err *err)
{
    uint32_t policy = member(j, 0, "clientEncryptionPolicy");

    if (!is_given(j, policy) || rn_json_kind(j, policy) == RN_JSON_OBJECT)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "clientEncryptionPolicy must be an object.");
}

/* With this path each document has its own start of the ttl, if it has a value
 * there. */
static enum rn_code check_ttl_path(const struct rn_json *j, struct rn_err *err)
{
    uint32_t path = member(j, 0, "ttlPropertyPath");

    if (!is_given(j, path))
        return RN_OK;
    if (rn_json_kind(j, path) != RN_JSON_STRING ||
        !rn_view_starts(rn_json_text(j, path), RN_LIT("/"))) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "ttlPropertyPath must be a path that begins with /.");
    }
    return is_given(j, member(j, 0, "defaultTtl"))
               ? RN_OK
               : rn_fail(err, RN_BAD_REQUEST,
                         "ttlPropertyPath needs a defaultTtl.");
}

static bool has_spatial_index(const struct rn_json *j, struct rn_view name)
{
    struct rn_json_walk w = rn_json_walk_begin(
        j, member(j, member(j, 0, "indexingPolicy"), "spatialIndexes"));

    while (rn_json_walk_next(&w)) {
        struct rn_view path = path_of(j, w.value);
        if (path.len >= name.len + 2 && path.at[name.len + 1] == '/' &&
            rn_view_eq(rn_view_of(path.at + 1, name.len), name))
            return true;
    }
    return false;
}

/* `what` is a member of a computed property. */
static enum rn_code check_part(const struct rn_json *j, uint32_t one,
                               const char *what, struct rn_err *err)
{
    uint32_t part = member(j, one, what);

    if (rn_json_kind(j, part) != RN_JSON_STRING) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Message: {\"Errors\":[\"One of the specified inputs "
                       "is invalid\"]}");
    }
    if (rn_json_text(j, part).len == 0) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "Message: {\"Errors\":[\"Computed property '%s' is "
                       "either empty or unspecified.\"]}",
                       what);
    }
    return RN_OK;
}

/* The names and queries themselves are checked with the policy (query.h). */
static enum rn_code check_computed(const struct rn_json *j, struct rn_err *err)
{
    uint32_t list = member(j, 0, "computedProperties");
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    enum rn_code rc = RN_OK;

    if (rn_json_count(j, list) > COMPUTED_MAX) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "A container may have at most %d computed properties.",
                       COMPUTED_MAX);
    }
    for (uint32_t i = 0; !rc && rn_json_walk_next(&w); i++) {
        struct rn_view name = rn_json_text(j, member(j, w.value, "name"));
        rc = check_part(j, w.value, "name", err);
        if (!rc)
            rc = check_part(j, w.value, "query", err);
        if (!rc && has_spatial_index(j, name)) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "Message: {\"Errors\":[\"Computed property '%.*s' at "
                         "index (%u) has a spatial index. Remove the spatial "
                         "index on this path.\"]}",
                         RN_FMT(name), i);
        }
    }
    return rc;
}

enum rn_code rn_definition_check(const struct rn_json *j, struct rn_err *err)
{
    uint32_t policy = member(j, 0, "indexingPolicy");
    enum rn_code rc = check_index_paths(j, policy, err);

    if (!rc)
        rc = check_composites(j, policy, err);
    if (!rc)
        rc = check_spatial(j, policy, err);
    if (!rc)
        rc = check_boxes(j, policy, err);
    if (!rc)
        rc = check_conflicts(j, err);
    if (!rc)
        rc = check_shape(j, err);
    if (!rc)
        rc = check_analytical(j, err);
    if (!rc)
        rc = check_ttl_path(j, err);
    if (!rc)
        rc = check_encryption(j, err);
    return rc ? rc : check_computed(j, err);
}

/* ---- client encryption keys ---------------------------------------------- */

static enum rn_code check_key(struct rn_txn *txn, struct rn_rid database,
                              const struct rn_json *j, uint32_t id,
                              struct rn_err *err)
{
    struct rn_view text = rn_json_text(j, id);
    struct rn_rid found;
    enum rn_code rc =
        rn_json_kind(j, id) == RN_JSON_STRING
            ? rn_name_get(txn, RN_KIND_CLIENT_KEY, database, text, &found)
            : RN_NOT_FOUND;

    if (rc != RN_NOT_FOUND)
        return rc;
    return rn_fail(err, RN_BAD_REQUEST,
                   "ClientEncryptionKey with id '[%.*s]' does not exist.",
                   text.len > 80 ? 80 : (int)text.len, text.at);
}

enum rn_code rn_definition_check_keys(struct rn_txn *txn,
                                      struct rn_rid database,
                                      struct rn_view json, struct rn_err *err)
{
    struct rn_json_walk w;
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, err);
    w = rn_json_walk_begin(
        &j,
        member(&j, member(&j, 0, "clientEncryptionPolicy"), "includedPaths"));
    while (!rc && rn_json_walk_next(&w)) {
        rc = check_key(txn, database, &j,
                       member(&j, w.value, "clientEncryptionKeyId"), err);
    }
    rn_json_release(&j);
    return rc;
}

/* ---- replacing ----------------------------------------------------------- */

static bool is_same(const struct rn_json *was, uint32_t a,
                    const struct rn_json *now, uint32_t b,
                    const char *const names[])
{
    for (size_t i = 0; names[i]; i++) {
        if (!rn_view_eq(rn_json_text(was, member(was, a, names[i])),
                        rn_json_text(now, member(now, b, names[i]))))
            return false;
    }
    return true;
}

static bool is_same_encryption(const struct rn_json *was, uint32_t a,
                               const struct rn_json *now, uint32_t b)
{
    static const char *const of_policy[] = { "policyFormatVersion", NULL };
    static const char *const of_path[] = { "path", "clientEncryptionKeyId",
                                           "encryptionType",
                                           "encryptionAlgorithm", NULL };
    uint32_t old_paths = member(was, a, "includedPaths");
    uint32_t paths = member(now, b, "includedPaths");
    struct rn_json_walk v = rn_json_walk_begin(was, old_paths);
    struct rn_json_walk w = rn_json_walk_begin(now, paths);

    if (is_given(was, a) != is_given(now, b) ||
        !is_same(was, a, now, b, of_policy) ||
        rn_json_count(was, old_paths) != rn_json_count(now, paths))
        return false;
    while (rn_json_walk_next(&v) && rn_json_walk_next(&w)) {
        if (!is_same(was, v.value, now, w.value, of_path))
            return false;
    }
    return true;
}

/* Clients encrypt by this policy, and could not read their data without it. */
enum rn_code rn_definition_check_replaced(const struct rn_json *was,
                                          const struct rn_json *now,
                                          struct rn_err *err)
{
    static const char name[] = "clientEncryptionPolicy";

    if (is_same_encryption(was, member(was, 0, name), now,
                           member(now, 0, name)))
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "'%s' cannot be changed as part of collection replace "
                   "operation.",
                   name);
}
