/* filter.h -- `--filter PATH=VALUE`: which changes are shown.
 *
 * PATH is as in partition key definitions, the first slash may be left out.
 * VALUE is JSON; a string member also matches VALUE as it stands, so that
 * zip=12345 finds "12345" and 12345.  All filters of a command must match.
 */
#ifndef RN_TOOLS_TAIL_FILTER_H
#define RN_TOOLS_TAIL_FILTER_H

#include "tools/common/option.h"
#include "json/path.h"

struct rn_filter {
    struct rn_json_path path;
    struct rn_view text;  /* VALUE as it stands */
    struct rn_json value; /* parsed; no nodes: it is not JSON */
    struct rn_filter *next;
};

/* Parses every --filter; `*out` is in the arena.  Returns an enum rn_exit. */
int rn_filters_parse(const struct rn_args *args, struct rn_arena *arena,
                     struct rn_filter **out) RN_CHECK;
bool rn_filters_match(const struct rn_filter *first,
                      const struct rn_json *document);
void rn_filters_release(struct rn_filter *first);

#endif
