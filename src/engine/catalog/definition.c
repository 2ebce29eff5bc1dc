/* definition.c -- validates and prints a container's definition as the service
 * answers it.
 *
 * Clients compare the answer with what they sent, and rely on defaults that
 * they did not send, so these are filled in exactly:
 *
 *   indexingPolicy   consistent, automatic, everything included, the etag
 *                    excluded; that is added to a policy that lacks it
 *   partitionKey     kind Hash; an absent version stays absent, because
 *                    clients hash accordingly
 *   uniqueKeyPolicy, conflictResolutionPolicy, geospatialConfig
 *
 * Everything else is kept as it was sent, except unnecessary escapes.
 */
#include "engine/catalog/definition.h"

#include "engine/catalog/definition_check.h"
#include "engine/catalog/definition_search.h"
#include "engine/engine_state.h"

#include "cosmos/link.h"
#include "engine/document/version.h"
#include "query/check/check_computed.h"
#include "query/query.h"
#include "json/print.h"

#include <assert.h>
#include <strings.h>

static const char etag_path[] = "/\"_etag\"/?";

/* Some clients write a slash as "\/".  Without unnecessary escapes a string can
 * be compared as it is, here and in every check.  `plain` owns the text. */
static enum rn_code parse_plain(struct rn_json *j, struct rn_view json,
                                struct rn_buf *plain, struct rn_err *err)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(plain);
    enum rn_code rc = rn_json_parse(j, json, err);

    if (rc)
        return rc;
    *plain = RN_BUF_INIT(json.len);
    rn_json_out_plain(&o, json);
    rc = rn_json_out_finish(&o);
    if (rc)
        return rn_fail(err, rc, "the definition of a container: %s",
                       rn_code_name(rc));
    return rn_json_parse(j, rn_buf_view(plain), err);
}

/* ---- checks -------------------------------------------------------------- */

static enum rn_code check_ttl(const struct rn_json *j, uint32_t ttl,
                              struct rn_err *err)
{
    int64_t seconds = 0;

    if (rn_json_kind(j, ttl) == RN_JSON_UNDEFINED)
        return RN_OK;
    if (rn_json_kind(j, ttl) != RN_JSON_NUMBER ||
        !rn_json_int64(j, ttl, &seconds) || seconds == 0 || seconds < -1 ||
        seconds > INT32_MAX) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "The value of defaultTtl must be -1 or a positive "
                       "32-bit integer");
    }
    return RN_OK;
}

enum mode { MODE_CONSISTENT, MODE_LAZY, MODE_NONE, MODES };
static const char *const modes[] = { "consistent", "lazy", "none" };

/* MODES if there is no mode of that name; names are case-insensitive.  Lazy
 * indexing no longer exists: it becomes consistent, and the answer says so, as
 * in the service. */
static enum mode mode_of(const struct rn_json *j, uint32_t policy)
{
    uint32_t value = rn_json_find(j, policy, RN_LIT("indexingMode"));
    struct rn_view text = rn_json_text(j, value);
    enum mode mode = MODE_CONSISTENT;

    if (rn_json_kind(j, value) == RN_JSON_UNDEFINED)
        return mode;
    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return MODES;
    while (mode < MODES && (strlen(modes[mode]) != text.len ||
                            strncasecmp(modes[mode], text.at, text.len) != 0))
        mode++;
    return mode == MODE_LAZY ? MODE_CONSISTENT : mode;
}

static bool is_given(const struct rn_json *j, uint32_t value)
{
    return rn_json_kind(j, value) != RN_JSON_UNDEFINED &&
           rn_json_kind(j, value) != RN_JSON_NULL;
}

/* Checks the type of a member, if it is present. */
static enum rn_code check_kind(const struct rn_json *j, uint32_t owner,
                               const char *name, enum rn_json_kind kind,
                               struct rn_err *err)
{
    uint32_t value = rn_json_find(j, owner, rn_view_text(name));

    if (!is_given(j, value) || rn_json_kind(j, value) == kind)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST,
                   "One of the specified inputs is invalid: %s must be %s",
                   name, kind == RN_JSON_ARRAY ? "an array" : "an object");
}

/* Is it a non-empty string that begins with `begin`? */
static bool has_text(const struct rn_json *j, uint32_t object, const char *name,
                     const char *begin)
{
    uint32_t value = rn_json_find(j, object, rn_view_text(name));
    struct rn_view text = rn_json_text(j, value);

    return rn_json_kind(j, value) == RN_JSON_STRING && text.len > 0 &&
           rn_view_starts(text, rn_view_text(begin));
}

static enum rn_code check_paths(const struct rn_json *j, uint32_t policy,
                                const char *name, struct rn_err *err)
{
    uint32_t list = rn_json_find(j, policy, rn_view_text(name));
    enum rn_json_kind kind = rn_json_kind(j, list);
    struct rn_json_walk w;

    if (kind == RN_JSON_UNDEFINED)
        return RN_OK;
    if (kind != RN_JSON_ARRAY)
        return rn_fail(err, RN_BAD_REQUEST, "%s must be an array", name);
    w = rn_json_walk_begin(j, list);
    while (rn_json_walk_next(&w)) {
        if (!has_text(j, w.value, "path", "/")) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "%s must hold objects whose path begins with /",
                           name);
        }
    }
    return RN_OK;
}

static enum rn_code check_automatic(const struct rn_json *j, uint32_t policy,
                                    struct rn_err *err)
{
    uint32_t value = rn_json_find(j, policy, RN_LIT("automatic"));
    enum rn_json_kind kind = rn_json_kind(j, value);

    if (!is_given(j, value) || kind == RN_JSON_TRUE || kind == RN_JSON_FALSE)
        return RN_OK;
    return rn_fail(err, RN_BAD_REQUEST, "automatic must be true or false");
}

static bool is_order(const struct rn_json *j, uint32_t value)
{
    struct rn_view text = rn_json_text(j, value);

    if (!is_given(j, value))
        return true; /* the default: ascending */
    return rn_json_kind(j, value) == RN_JSON_STRING &&
           ((text.len == 9 && strncasecmp(text.at, "ascending", 9) == 0) ||
            (text.len == 10 && strncasecmp(text.at, "descending", 10) == 0));
}

static bool is_composite(const struct rn_json *j, uint32_t list)
{
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    if (rn_json_kind(j, list) != RN_JSON_ARRAY || rn_json_count(j, list) < 2)
        return false;
    while (rn_json_walk_next(&w)) {
        if (!has_text(j, w.value, "path", "/") ||
            !is_order(j, rn_json_find(j, w.value, RN_LIT("order"))))
            return false;
    }
    return true;
}

static enum rn_code check_composites(const struct rn_json *j, uint32_t policy,
                                     struct rn_err *err)
{
    uint32_t list = rn_json_find(j, policy, RN_LIT("compositeIndexes"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    enum rn_code rc =
        check_kind(j, policy, "compositeIndexes", RN_JSON_ARRAY, err);

    while (!rc && rn_json_walk_next(&w)) {
        if (!is_composite(j, w.value)) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "A composite index is a list of two paths or more, "
                         "each ascending or descending");
        }
    }
    return rc;
}

static enum rn_code check_indexing(const struct rn_json *j, uint32_t policy,
                                   struct rn_err *err)
{
    enum rn_code rc;

    if (!is_given(j, policy))
        return RN_OK;
    if (rn_json_kind(j, policy) != RN_JSON_OBJECT)
        return rn_fail(err, RN_BAD_REQUEST, "indexingPolicy is not an object");
    if (mode_of(j, policy) == MODES)
        return rn_fail(err, RN_BAD_REQUEST,
                       "indexingMode must be consistent, lazy or none");
    rc = check_automatic(j, policy, err);
    if (!rc)
        rc = check_paths(j, policy, "includedPaths", err);
    if (!rc)
        rc = check_paths(j, policy, "excludedPaths", err);
    if (!rc)
        rc = check_composites(j, policy, err);
    return rc ? rc
              : check_kind(j, policy, "spatialIndexes", RN_JSON_ARRAY, err);
}

/* Checks the types of members that are otherwise kept as they were sent. */
static enum rn_code check_others(const struct rn_json *j, struct rn_err *err)
{
    enum rn_code rc =
        check_kind(j, 0, "conflictResolutionPolicy", RN_JSON_OBJECT, err);

    if (!rc)
        rc = check_kind(j, 0, "geospatialConfig", RN_JSON_OBJECT, err);
    if (!rc)
        rc = check_kind(j, 0, "fullTextPolicy", RN_JSON_OBJECT, err);
    if (!rc)
        rc = check_kind(j, 0, "computedProperties", RN_JSON_ARRAY, err);
    return rc ? rc
              : check_kind(j, 0, "vectorEmbeddingPolicy", RN_JSON_OBJECT, err);
}

/* System properties are made when the document is written, and a client's
 * values for them are dropped: the key and the unique values would not match
 * the stored document.  Containers from before this check stay as they are. */
static enum rn_code refuse_system(struct rn_view name, const char *what,
                                  struct rn_err *err)
{
    return rn_fail(err, RN_BAD_REQUEST,
                   "The %s path '/%.*s' could not be accepted: it is a system "
                   "property.",
                   what, RN_FMT(name));
}

static enum rn_code check_key_paths(const struct rn_pkdef *def,
                                    const struct rn_object *old,
                                    struct rn_err *err)
{
    for (size_t i = 0; !old && i < def->count; i++) {
        if (rn_name_is_system(def->paths[i].names[0]))
            return refuse_system(def->paths[i].names[0], "partition key", err);
    }
    return RN_OK;
}

static enum rn_code check_unique_paths(const struct rn_unique *unique,
                                       struct rn_err *err)
{
    for (uint32_t i = 0; i < unique->count; i++) {
        for (uint32_t n = 0; n < unique->keys[i].count; n++) {
            struct rn_view name = unique->keys[i].paths[n].names[0];
            if (rn_name_is_system(name))
                return refuse_system(name, "unique key", err);
        }
    }
    return RN_OK;
}

/* A replacement without unique keys keeps the old ones. */
static enum rn_code check_unique(const struct rn_json *j,
                                 const struct rn_object *old,
                                 struct rn_arena *arena, struct rn_err *err)
{
    uint32_t policy = rn_json_find(j, 0, RN_LIT("uniqueKeyPolicy"));
    struct rn_unique unique;
    enum rn_code rc = rn_unique_parse(j, policy, arena, &unique, err);

    if (!rc && old && is_given(j, policy) &&
        !rn_unique_eq(&unique, &old->container->unique)) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The unique key policy of a container cannot be "
                     "replaced");
    }
    return rc || old ? rc : check_unique_paths(&unique, err);
}

static enum rn_code check_computed(const struct rn_json *j, struct rn_arena *a,
                                   struct rn_err *err)
{
    struct rn_policy policy;
    enum rn_code rc = rn_policy_read(j, a, &policy);

    return rc ? rc : rn_query_check_policy(&policy, a, err);
}

/* Checks the members that must not change on replace. */
static enum rn_code check_replaced(const struct rn_json *j,
                                   const struct rn_object *old,
                                   struct rn_err *err)
{
    struct rn_buf plain = { 0 };
    struct rn_json was;
    enum rn_code rc;

    if (!old)
        return RN_OK;
    rn_json_init(&was, NULL);
    rc = parse_plain(&was, old->body, &plain, err);
    if (!rc)
        rc = rn_definition_search_check_replaced(&was, j, err);
    if (!rc)
        rc = rn_definition_check_replaced(&was, j, err);
    rn_json_release(&was);
    rn_buf_release(&plain);
    return rc;
}

static enum rn_code check_same(const struct rn_json *j,
                               const struct rn_object *old,
                               const struct rn_pkdef *def, struct rn_err *err)
{
    if (!old)
        return RN_OK;
    if (!rn_json_string_is(j, rn_json_find(j, 0, RN_LIT("id")), old->id))
        return rn_fail(err, RN_BAD_REQUEST,
                       "The id of a container cannot be replaced");
    if (!rn_pkdef_eq(def, &old->container->pkdef))
        return rn_fail(err, RN_BAD_REQUEST,
                       "The partition key of a container cannot be replaced");
    return RN_OK;
}

/* ---- printing ------------------------------------------------------------ */

/* A name may have escapes in it.  `names` end with NULL. */
static bool is_among(const struct rn_json *j, uint32_t name,
                     const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        if (rn_json_string_is(j, name, rn_view_text(names[i])))
            return true;
    }
    return false;
}

/* Statistics are computed on request; see rest/container_stats.c. */
static bool is_system(const struct rn_json *j, uint32_t name)
{
    static const char *const names[] = {
        "_rid",      "_self", "_etag",      "_ts",        "_docs", "_sprocs",
        "_triggers", "_udfs", "_conflicts", "statistics", NULL,
    };

    return is_among(j, name, names);
}

static void print_path(struct rn_json_out *o, const char *path)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("path"));
    rn_json_out_string(o, rn_view_text(path));
    rn_json_out_object_end(o);
}

static bool has_path(const struct rn_json *j, uint32_t paths, const char *path)
{
    struct rn_json_walk w = rn_json_walk_begin(j, paths);

    while (rn_json_walk_next(&w)) {
        if (rn_json_string_is(j, rn_json_find(j, w.value, RN_LIT("path")),
                              rn_view_text(path)))
            return true;
    }
    return false;
}

/* Prints a list of paths as it was sent, and one more, if any. */
static void print_paths(struct rn_json_out *o, const struct rn_json *j,
                        uint32_t policy, struct rn_view name, const char *more)
{
    struct rn_json_walk w =
        rn_json_walk_begin(j, rn_json_find(j, policy, name));

    rn_json_out_key(o, name);
    rn_json_out_array_begin(o);
    while (rn_json_walk_next(&w))
        rn_json_out_value(o, j, w.value);
    if (more)
        print_path(o, more);
    rn_json_out_array_end(o);
}

/* A policy without included paths includes everything, unless everything is
 * excluded ("/" is the legacy form of that).  Clients send an empty list
 * instead of omitting it. */
static void print_both_paths(struct rn_json_out *o, const struct rn_json *j,
                             uint32_t policy, bool is_indexed)
{
    uint32_t in = rn_json_find(j, policy, RN_LIT("includedPaths"));
    uint32_t out = rn_json_find(j, policy, RN_LIT("excludedPaths"));
    bool needs_root = is_indexed && rn_json_count(j, in) == 0 &&
                      !has_path(j, out, "/*") && !has_path(j, out, "/");
    bool needs_etag = is_indexed && !has_path(j, out, etag_path);

    print_paths(o, j, policy, RN_LIT("includedPaths"),
                needs_root ? "/*" : NULL);
    print_paths(o, j, policy, RN_LIT("excludedPaths"),
                needs_etag ? etag_path : NULL);
}

/* A spatial index serves all shapes, whichever were requested, as in the
 * service. */
static void print_spatial(struct rn_json_out *o, const struct rn_json *j,
                          uint32_t list)
{
    struct rn_json_walk v, w = rn_json_walk_begin(j, list);

    rn_json_out_key(o, RN_LIT("spatialIndexes"));
    rn_json_out_array_begin(o);
    while (rn_json_walk_next(&w)) {
        rn_json_out_object_begin(o);
        for (v = rn_json_walk_begin(j, w.value); rn_json_walk_next(&v);) {
            if (!rn_json_string_is(j, v.name, RN_LIT("types")))
                rn_json_out_member(o, j, v.name, v.value);
        }
        rn_json_out_key(o, RN_LIT("types"));
        rn_json_out_raw(o, RN_LIT("[\"Point\",\"LineString\",\"Polygon\","
                                  "\"MultiPolygon\"]"));
        rn_json_out_object_end(o);
    }
    rn_json_out_array_end(o);
}

static void print_indexing(struct rn_json_out *o, const struct rn_json *j,
                           uint32_t policy)
{
    static const char *const names[] = { "indexingMode",   "automatic",
                                         "includedPaths",  "excludedPaths",
                                         "spatialIndexes", NULL };
    struct rn_json_walk w = rn_json_walk_begin(j, policy);
    uint32_t spatial = rn_json_find(j, policy, RN_LIT("spatialIndexes"));
    uint32_t automatic = rn_json_find(j, policy, RN_LIT("automatic"));
    enum mode mode = mode_of(j, policy);

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("indexingMode"));
    assert(mode < MODES); /* it has been checked */
    rn_json_out_string(o, rn_view_text(modes[mode]));
    rn_json_out_key(o, RN_LIT("automatic"));
    rn_json_out_bool(o, rn_json_kind(j, automatic) != RN_JSON_FALSE);
    print_both_paths(o, j, policy, mode != MODE_NONE);
    while (rn_json_walk_next(&w)) {
        if (!is_among(j, w.name, names))
            rn_json_out_member(o, j, w.name, w.value);
    }
    if (is_given(j, spatial))
        print_spatial(o, j, spatial);
    rn_json_out_object_end(o);
}

/* Prints a member as it was sent, or its default. */
static void print_or(struct rn_json_out *o, const struct rn_json *j,
                     struct rn_view name, struct rn_view otherwise)
{
    uint32_t value = rn_json_find(j, 0, name);

    rn_json_out_key(o, name);
    if (is_given(j, value))
        rn_json_out_value(o, j, value);
    else
        rn_json_out_raw(o, otherwise);
}

static bool is_printed_apart(const struct rn_json *j, uint32_t name)
{
    static const char *const names[] = {
        "id",
        "indexingPolicy",
        "partitionKey",
        "uniqueKeyPolicy",
        "conflictResolutionPolicy",
        "geospatialConfig",
        NULL,
    };

    return is_among(j, name, names);
}

static enum rn_code print_all(const struct rn_json *j,
                              const struct rn_pkdef *def,
                              const struct rn_object *old, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w = rn_json_walk_begin(j, 0);
    struct rn_buf key = RN_BUF_INIT(256 << 10); /* for paths of 64 KB */
    enum rn_code rc = rn_pkdef_print(def, &key);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_value(&o, j, rn_json_find(j, 0, RN_LIT("id")));
    rn_json_out_key(&o, RN_LIT("indexingPolicy"));
    print_indexing(&o, j, rn_json_find(j, 0, RN_LIT("indexingPolicy")));
    rn_json_out_key(&o, RN_LIT("partitionKey"));
    rn_json_out_raw(&o, rn_buf_view(&key));
    print_or(&o, j, RN_LIT("uniqueKeyPolicy"),
             old ? old->container->unique.text : RN_LIT("{\"uniqueKeys\":[]}"));
    print_or(&o, j, RN_LIT("conflictResolutionPolicy"),
             RN_LIT("{\"mode\":\"LastWriterWins\",\"conflictResolutionPath\":"
                    "\"/_ts\",\"conflictResolutionProcedure\":\"\"}"));
    print_or(&o, j, RN_LIT("geospatialConfig"),
             RN_LIT("{\"type\":\"Geography\"}"));
    while (rn_json_walk_next(&w)) {
        if (!is_printed_apart(j, w.name) && !is_system(j, w.name))
            rn_json_out_member(&o, j, w.name, w.value);
    }
    rn_json_out_object_end(&o);
    rn_buf_release(&key);
    if (!rc)
        rc = rn_json_out_finish(&o);
    if (!rc)
        out->len--; /* the closing brace: system properties follow */
    return rc;
}

enum rn_code rn_definition_print(struct rn_view json,
                                 const struct rn_object *old,
                                 struct rn_buf *out, struct rn_err *err)
{
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_buf plain = { 0 };
    struct rn_history_policy history;
    struct rn_pkdef def;
    struct rn_json j;
    uint32_t key;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = parse_plain(&j, json, &plain, err);
    if (rc)
        goto out;
    key = rn_json_find(&j, 0, RN_LIT("partitionKey"));
    if (rn_json_kind(&j, key) == RN_JSON_UNDEFINED) {
        rc = rn_fail(err, RN_BAD_REQUEST,
                     "The partition key definition is missing");
        goto out;
    }
    rc = rn_pkdef_parse(&j, key, &arena, &def, err);
    if (!rc)
        rc = check_key_paths(&def, old, err);
    if (!rc)
        rc = check_ttl(&j, rn_json_find(&j, 0, RN_LIT("defaultTtl")), err);
    if (!rc)
        rc = check_indexing(&j, rn_json_find(&j, 0, RN_LIT("indexingPolicy")),
                            err);
    if (!rc)
        rc = check_others(&j, err);
    if (!rc)
        rc = rn_definition_check(&j, err);
    if (!rc)
        rc = rn_definition_search_check(&j, err);
    if (!rc)
        rc = check_replaced(&j, old, err);
    if (!rc)
        rc = check_computed(&j, &arena, err);
    if (!rc)
        rc = check_same(&j, old, &def, err);
    if (!rc)
        rc = check_unique(&j, old, &arena, err);
    if (!rc) {
        rc = rn_history_parse(
            &j, rn_json_find(&j, 0, RN_LIT("changeFeedPolicy")), &history, err);
    }
    if (!rc) {
        rc = print_all(&j, &def, old, out);
        if (rc)
            rn_fail(err, rc, "the definition of a container: %s",
                    rn_code_name(rc));
    }
out:
    rn_json_release(&j);
    rn_buf_release(&plain);
    rn_arena_release(&arena);
    return rc;
}
