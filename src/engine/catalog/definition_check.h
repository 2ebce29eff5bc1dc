/* definition_check.h -- what a container's definition may not say, in the words
 * of the service where they are known. */
#ifndef RN_ENGINE_CATALOG_DEFINITION_CHECK_H
#define RN_ENGINE_CATALOG_DEFINITION_CHECK_H

#include "engine/catalog/catalog.h"
#include "json/json.h"

/* The same, of one whose members are of the right kind, by
 * itself and in place of another. */
enum rn_code rn_definition_check(const struct rn_json *j,
                                 struct rn_err *err) RN_CHECK;
/* The client encryption keys that a new container names must be there. */
enum rn_code rn_definition_check_keys(struct rn_txn *txn,
                                      struct rn_rid database,
                                      struct rn_view json,
                                      struct rn_err *err) RN_CHECK;
enum rn_code rn_definition_check_replaced(const struct rn_json *was,
                                          const struct rn_json *now,
                                          struct rn_err *err) RN_CHECK;

#endif
