/* offer.h -- offers: how much throughput a container or a database has. */
#ifndef RN_ENGINE_CATALOG_OFFER_H
#define RN_ENGINE_CATALOG_OFFER_H

#include "engine/catalog/catalog_rows.h"

enum rn_code rn_offer_create(struct rn_catalog_change *c, struct rn_txn *txn,
                             struct rn_counters *n,
                             struct rn_err *err) RN_CHECK;
/* The client's part of an offer that replaces `old`, and its new numbers. */
enum rn_code rn_offer_replace(const struct rn_catalog_change *c,
                              const struct rn_object *old,
                              struct rn_object *like, struct rn_buf *text,
                              struct rn_err *err) RN_CHECK;
/* How many ranges these terms want; how many a new container has by them. */
uint32_t rn_terms_ranges(const struct rn_engine *e, const struct rn_terms *t);
uint32_t rn_terms_new_ranges(const struct rn_engine *e,
                             const struct rn_terms *t);
/* A container without a partition key has one range, and no more throughput
 * than a range gives.  RN_BAD_REQUEST. */
enum rn_code rn_terms_check_keyless(const struct rn_terms *t,
                                    struct rn_err *err) RN_CHECK;

#endif
