/* patch_own.h -- shared by the parser of patches and their application. */
#ifndef RN_ENGINE_DOCUMENT_PATCH_OWN_H
#define RN_ENGINE_DOCUMENT_PATCH_OWN_H

#include "engine/document/patch.h"
#include "json/json.h"

enum { RN_PATCH_SHOWN = 60 }; /* bytes of a path, in a message */

/* RN_BAD_REQUEST, with a message in the service's form. */
enum rn_code rn_patch_refuse(struct rn_err *err, const char *fmt, ...)
    RN_PRINTF(2, 3);

/* The text of a value, a string's quotes included. */
struct rn_view rn_patch_value(const struct rn_json *j, uint32_t value);

bool rn_patch_path_begins(const struct rn_json_path *path,
                          const struct rn_json_path *prefix);

#endif
