/* show.h -- a change as it is printed.
 *
 * For people: time, kind, partition key, id, and the document or, of all
 * versions, what changed in it.  Else one line of JSON; see common/change.h.
 */
#ifndef RN_TOOLS_TAIL_SHOW_H
#define RN_TOOLS_TAIL_SHOW_H

#include "json/json.h"

#include <runnel/runnel.h>

/* `after` and `before` are the parsed documents of the change; without nodes
 * where there is none. */
struct rn_shown {
    const runnel_change *change;
    struct rn_json after, before;
};

/* Returns an enum rn_exit. */
int rn_show_pretty(const struct rn_shown *shown) RN_CHECK;
int rn_show_json(const struct rn_shown *shown, struct rn_buf *line,
                 bool all_versions) RN_CHECK;

#endif
