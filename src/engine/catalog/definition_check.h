/* definition_check.h -- validates a container's definition, with the service's
 * messages where they are known. */
#ifndef RN_ENGINE_CATALOG_DEFINITION_CHECK_H
#define RN_ENGINE_CATALOG_DEFINITION_CHECK_H

#include "engine/catalog/catalog.h"
#include "json/json.h"

/* Validates a definition whose members have the right types: on create, and on
 * replace. */
enum rn_code rn_definition_check(const struct rn_json *j,
                                 struct rn_err *err) RN_CHECK;
/* The client encryption keys that a new container names must exist. */
enum rn_code rn_definition_check_keys(struct rn_txn *txn,
                                      struct rn_rid database,
                                      struct rn_view json,
                                      struct rn_err *err) RN_CHECK;
enum rn_code rn_definition_check_replaced(const struct rn_json *was,
                                          const struct rn_json *now,
                                          struct rn_err *err) RN_CHECK;

#endif
