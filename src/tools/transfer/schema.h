/* schema.h -- what a command needs to know of a container's definition.
 *
 * One thread reads it; then any thread may use it.
 */
#ifndef RN_TOOLS_TRANSFER_SCHEMA_H
#define RN_TOOLS_TRANSFER_SCHEMA_H

#include "tools/common/target.h"
#include "json/path.h"

enum { RN_SCHEMA_PATHS_MAX = 3 };

struct rn_schema {
    const char *name; /* "shop/orders" */
    char rid[32];     /* another one if the container was created anew */
    struct rn_json_path paths[RN_SCHEMA_PATHS_MAX]; /* partition key */
    uint32_t path_count; /* 0: the container has no partition key */
    bool keeps_versions; /* offers all versions and deletes */
    struct rn_json json; /* the whole definition, in the reply */

    /* private */
    runnel_reply *reply;
    struct rn_arena arena;
};

/* Reads the definition.  Returns an enum rn_exit after the line on standard
 * error.  A zeroed one may be released. */
int rn_schema_read(const struct rn_target *target,
                   struct rn_schema *out) RN_CHECK;
void rn_schema_release(struct rn_schema *schema);

/* Have both the same partition key? */
bool rn_schema_same_key(const struct rn_schema *a, const struct rn_schema *b);

/* Appends the partition key of a document, as runnel_key wants it, and a NUL:
 * a value, or an array if the key is hierarchical.  A value that the document
 * lacks is {}. */
enum rn_code rn_schema_key(const struct rn_schema *schema,
                           const struct rn_json *document,
                           struct rn_buf *out) RN_CHECK;

/* Are the partition keys of two documents equal by this schema? */
enum rn_code rn_schema_compare_keys(const struct rn_schema *schema,
                                    const struct rn_json *a,
                                    const struct rn_json *b,
                                    bool *is_equal) RN_CHECK;

/* How many documents the container holds, for a progress bar.  The server may
 * have to read them all.  0: it does not say. */
uint64_t rn_schema_count(runnel_container *container);

#endif
