/* lists.h -- documents by the page, in the order of their rids if they are few,
 * else in that of their keys. */
#ifndef RN_REST_LISTS_H
#define RN_REST_LISTS_H

#include "rest/context.h"

/* What part of the container a request is about, and how many it wants
 * at most. */
enum rn_code rn_context_scope(struct rn_context *x,
                              struct rn_documents_scan *scan) RN_CHECK;
enum rn_code rn_context_count(struct rn_context *x, size_t *out) RN_CHECK;
/* What it asks for documents or objects of: the container, user or database; 0:
 * the account.  A continuation tells it: a place in one is none in another. */
uint64_t rn_context_whose(const struct rn_context *x);
/* The range that a request names; NULL if it names none.  RN_GONE. */
enum rn_code rn_context_range(struct rn_context *x,
                              const struct rn_range_span **out) RN_CHECK;

#endif
