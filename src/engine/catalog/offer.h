/* offer.h -- offers: the provisioned throughput of a container or a database.
 */
#ifndef RN_ENGINE_CATALOG_OFFER_H
#define RN_ENGINE_CATALOG_OFFER_H

#include "engine/catalog/catalog_change.h"
#include "engine/catalog/catalog_rows.h"

enum rn_code rn_offer_create(struct rn_catalog_change *c, struct rn_txn *txn,
                             struct rn_counters *n,
                             struct rn_err *err) RN_CHECK;
/* Prints the client's part of an offer that replaces `old`, and sets its new
 * numbers. */
enum rn_code rn_offer_replace(const struct rn_catalog_change *c,
                              const struct rn_object *old,
                              struct rn_object *like, struct rn_buf *text,
                              struct rn_err *err) RN_CHECK;
/* How many ranges these terms need; how many a new container gets. */
uint32_t rn_offer_terms_ranges(const struct rn_engine *e,
                               const struct rn_offer_terms *t);
uint32_t rn_offer_terms_new_ranges(const struct rn_engine *e,
                                   const struct rn_offer_terms *t);
/* A container without a partition key has one range, and at most the throughput
 * of one.  RN_BAD_REQUEST. */
enum rn_code rn_offer_terms_check_keyless(const struct rn_offer_terms *t,
                                          struct rn_err *err) RN_CHECK;

/* Parses the value of x-ms-offer-throughput, and of
 * x-ms-cosmos-offer-autopilot-settings, whose text `out` borrows.
 * RN_BAD_REQUEST. */
enum rn_code rn_offer_terms_parse_manual(struct rn_view text,
                                         struct rn_offer_terms *out,
                                         struct rn_err *err) RN_CHECK;
enum rn_code rn_offer_terms_parse_autoscale(struct rn_view json,
                                            struct rn_offer_terms *out,
                                            struct rn_err *err) RN_CHECK;

/* Parses x-ms-offer-type, and sets the RU/s that it stands for. */
enum rn_code rn_offer_terms_parse_type(struct rn_view text,
                                       struct rn_offer_terms *out,
                                       struct rn_err *err) RN_CHECK;

/* The least RU/s that an offer can be replaced with. */
uint32_t rn_offer_minimum(const struct rn_object *offer);

#endif
