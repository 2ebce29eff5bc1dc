/* definition_search.h -- what a container's definition says of vectors and of
 * full text. */
#ifndef RN_ENGINE_CATALOG_DEFINITION_SEARCH_H
#define RN_ENGINE_CATALOG_DEFINITION_SEARCH_H

#include "json/json.h"

/* What a definition says of vectors and full text, by
 * itself and in place of another.  Its lists lie in objects. */
enum rn_code rn_search_check(const struct rn_json *j,
                             struct rn_err *err) RN_CHECK;
enum rn_code rn_search_check_replaced(const struct rn_json *was,
                                      const struct rn_json *now,
                                      struct rn_err *err) RN_CHECK;

#endif
