/* lists.h -- paged lists of documents: in rid order if they are few, else in
 * key order. */
#ifndef RN_REST_LISTS_H
#define RN_REST_LISTS_H

#include "rest/context.h"

/* The part of the container that a request is about, and its maximum item
 * count. */
enum rn_code rn_context_scope(struct rn_context *x,
                              struct rn_documents_scan *scan) RN_CHECK;
enum rn_code rn_context_count(struct rn_context *x, size_t *out) RN_CHECK;
/* The interval of EPKs that the headers name; *found is false if they name
 * none. */
enum rn_code rn_context_epks(struct rn_context *x, struct rn_epk_range *out,
                             bool *found) RN_CHECK;
/* The number of the container, user or database whose documents or objects are
 * listed; 0: the account.  Continuations contain it, because a position in one
 * is invalid in another. */
uint64_t rn_context_whose(const struct rn_context *x);
/* The range that a request names; NULL if it names no range.  RN_GONE. */
enum rn_code rn_context_range(struct rn_context *x,
                              const struct rn_range_span **out) RN_CHECK;

rn_handler_fn rn_rest_document_list;

#endif
