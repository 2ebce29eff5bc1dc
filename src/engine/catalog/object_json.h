/* object_json.h -- the JSON of an object as it is served: the client's part,
 * then the system properties. */
#ifndef RN_ENGINE_CATALOG_OBJECT_JSON_H
#define RN_ENGINE_CATALOG_OBJECT_JSON_H

#include "engine/catalog/catalog.h"

/* Prints the client's part, without the closing brace (not for a container or
 * an offer), and the complete object with the system properties; rid, etag, _ts
 * and numbers are those of `like`. */
enum rn_code rn_object_json_print(enum rn_kind kind, struct rn_view json,
                                  struct rn_buf *out,
                                  struct rn_err *err) RN_CHECK;
enum rn_code rn_object_json_finish(const struct rn_object *like,
                                   struct rn_view id, struct rn_view text,
                                   struct rn_object **out) RN_CHECK;

#endif
