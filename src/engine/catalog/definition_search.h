/* definition_search.h -- validates the vector and full-text policies of a
 * container's definition. */
#ifndef RN_ENGINE_CATALOG_DEFINITION_SEARCH_H
#define RN_ENGINE_CATALOG_DEFINITION_SEARCH_H

#include "json/json.h"

/* Validate on create, and on replace.  The caller has checked that the policies
 * are objects. */
enum rn_code rn_definition_search_check(const struct rn_json *j,
                                        struct rn_err *err) RN_CHECK;
enum rn_code rn_definition_search_check_replaced(const struct rn_json *was,
                                                 const struct rn_json *now,
                                                 struct rn_err *err) RN_CHECK;

#endif
