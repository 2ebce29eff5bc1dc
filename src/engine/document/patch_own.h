/* patch_own.h -- what reading a patch and applying it share. */
#ifndef RN_ENGINE_DOCUMENT_PATCH_OWN_H
#define RN_ENGINE_DOCUMENT_PATCH_OWN_H

#include "engine/document/patch.h"
#include "json/json.h"

enum { RN_PATCH_SHOWN = 60 }; /* of a path, in words */

/* RN_BAD_REQUEST, in the form that the service gives such words. */
enum rn_code rn_patch_refuse(struct rn_err *err, const char *fmt, ...)
    RN_PRINTF(2, 3);

/* The bytes of a value, a string's quotes included. */
struct rn_view rn_patch_value(const struct rn_json *j, uint32_t value);

bool rn_patch_path_begins(const struct rn_json_path *path,
                          const struct rn_json_path *prefix);

#endif
