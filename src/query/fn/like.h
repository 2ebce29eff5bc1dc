/* like.h -- LIKE: matches a text with a pattern of wildcards and character
 * classes; internal to the module. */
#ifndef RN_QUERY_FN_LIKE_H
#define RN_QUERY_FN_LIKE_H

#include "query/run/run.h"

/* LIKE; `escape` is empty or one character. */
enum rn_code rn_like(struct rn_run *r, struct rn_view text,
                     struct rn_view pattern, struct rn_view escape,
                     bool *out) RN_CHECK;
/* True, with the literal text, if the pattern has no wildcard. */
bool rn_like_is_plain(struct rn_view pattern, struct rn_view escape,
                      struct rn_arena *a, struct rn_view *out);

#endif
