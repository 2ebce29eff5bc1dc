/* definition.h -- container definitions: validates one and prints it as the
 * service answers it. */
#ifndef RN_ENGINE_CATALOG_DEFINITION_H
#define RN_ENGINE_CATALOG_DEFINITION_H

#include "engine/catalog/catalog.h"

/* Validates the JSON of a new or replaced container and prints it with every
 * default filled in, as the service answers it, without the system properties
 * and the closing brace.  `old` is the definition it replaces, or NULL. */
enum rn_code rn_definition_print(struct rn_view json,
                                 const struct rn_object *old,
                                 struct rn_buf *out,
                                 struct rn_err *err) RN_CHECK;

#endif
