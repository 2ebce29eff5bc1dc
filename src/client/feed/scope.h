/* scope.h -- which changes a feed reads: an interval of EPKs, or the documents
 * of one partition key.
 *
 *   nothing said        "" to FF
 *   range "MIN-MAX"     that interval
 *   range "7"           the interval of that partition key range
 *   a hierarchical      the interval of all keys that begin so
 *   prefix
 *   a whole key         its own EPK.  The server is asked by the key itself,
 *                       because different keys may have one EPK
 *
 * The text of a scope, as tokens have it, is "MIN-MAX", or the key's array.
 */
#ifndef RN_CLIENT_FEED_SCOPE_H
#define RN_CLIENT_FEED_SCOPE_H

#include "client/account/container.h"

struct rn_scope {
    struct rn_epk_range keys;
    bool is_key; /* one whole partition key */
    /* The partition key header of a key, else "MIN-MAX". */
    struct rn_buf text; /* a NUL stands behind its bytes */
};

#define RN_SCOPE_INIT ((struct rn_scope){ .text = RN_BUF_INIT(16 << 10) })

/* Of the options `range` and `partition_key`, at most one of which is given.
 * `map` is needed to look a range id up.  RUNNEL_BAD_REQUEST if they make no
 * sense, RUNNEL_GONE if there is no such range id. */
runnel_code rn_scope_resolve(const char *range, const char *partition_key,
                             const struct rn_definition *definition,
                             const struct rn_routing *map, struct rn_scope *out,
                             runnel_error *error) RUNNEL_CHECK;
void rn_scope_release(struct rn_scope *s);

/* "MIN-MAX" */
runnel_code rn_scope_parse_range(struct rn_view text, struct rn_epk_range *out,
                                 runnel_error *error) RUNNEL_CHECK;
enum rn_code rn_scope_print_range(const struct rn_epk_range *range,
                                  struct rn_buf *out) RN_CHECK;

#endif
