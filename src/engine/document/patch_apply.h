/* patch_apply.h -- applies a patch to a document. */
#ifndef RN_ENGINE_DOCUMENT_PATCH_APPLY_H
#define RN_ENGINE_DOCUMENT_PATCH_APPLY_H

#include "engine/document/patch.h"

/* Appends the patched document to `out`, without the system properties.
 * RN_PRECONDITION if the condition is false, RN_BAD_REQUEST if an operation is
 * impossible, RN_TOO_LARGE. */
enum rn_code rn_patch_apply(const struct rn_patch *p, struct rn_view document,
                            int64_t now, struct rn_buf *out,
                            struct rn_err *err) RN_CHECK;

#endif
