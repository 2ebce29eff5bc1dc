/* policy.h -- the parts of a container's definition that queries use.
 *
 *   computedProperties      names of expressions
 *   indexingPolicy          which ORDER BY can be served
 *   vectorEmbeddingPolicy   the distance function of each vector path
 *   geospatialConfig        geography (ellipsoid) or geometry (plane)
 *
 * Threads: immutable after rn_policy_read.
 */
#ifndef RN_QUERY_CHECK_POLICY_H
#define RN_QUERY_CHECK_POLICY_H

#include "json/json.h"
#include "json/path.h"

enum rn_distance { RN_DISTANCE_COSINE, RN_DISTANCE_DOT, RN_DISTANCE_EUCLID };

/* False if the name is unknown. */
bool rn_distance_named(struct rn_view name, enum rn_distance *out);

struct rn_policy_computed {
    struct rn_view name, query;
};

/* "/a/?" is the value at a; "/a/<star>" also includes everything below it. */
struct rn_policy_path {
    struct rn_json_path path;
    bool is_tree;
};

struct rn_policy_key {
    struct rn_json_path path;
    bool is_descending;
};

struct rn_policy_composite {
    struct rn_policy_key *keys;
    uint32_t count;
};

struct rn_policy_vector {
    struct rn_json_path path;
    enum rn_distance distance;
};

struct rn_policy {
    bool is_planar;
    bool is_any_order; /* ORDER BY needs no index */
    bool is_unindexed; /* indexingMode none */
    const struct rn_policy_computed *computed;
    const struct rn_policy_path *included, *excluded;
    const struct rn_policy_composite *composites;
    const struct rn_policy_vector *vectors;
    uint32_t computed_count, included_count, excluded_count, composite_count,
        vector_count;
};

/* Reads the definition as it is served, which must outlive the policy.  Unknown
 * parts are skipped. */
enum rn_code rn_policy_read(const struct rn_json *definition,
                            struct rn_arena *a, struct rn_policy *out) RN_CHECK;

/* NULL if no computed property has that name. */
const struct rn_policy_computed *
rn_policy_find_computed(const struct rn_policy *p, struct rn_view name);

/* NULL if the path is not declared to hold vectors. */
const struct rn_policy_vector *
rn_policy_find_vector(const struct rn_policy *p,
                      const struct rn_json_path *path);

/* True if the values at the path are indexed. */
bool rn_policy_is_indexed(const struct rn_policy *p,
                          const struct rn_json_path *path);
/* True if a composite index has exactly these keys, in these directions or all
 * in the opposite ones. */
bool rn_policy_has_composite(const struct rn_policy *p,
                             const struct rn_policy_key *keys, uint32_t count);

#endif
