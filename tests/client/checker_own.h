/* checker_own.h -- between the files of the checker. */
#ifndef RN_TESTS_CLIENT_CHECKER_OWN_H
#define RN_TESTS_CLIENT_CHECKER_OWN_H

#include "client/checker.h"
#include "client/lease/document.h"

/* Keeps the first violation. */
void checker_violated(struct checker *c, const char *fmt, ...) RN_PRINTF(2, 3);

/* Is the document a lease, and not the marker or the lock? */
bool checker_is_lease(const struct service_entry *e);
/* NULL: it is damaged. */
struct rn_lease_document *checker_parse(const struct service_entry *e);
struct rn_epk_range checker_keys(const struct checker *c,
                                 const struct rn_lease *lease);
/* The stored position; -1: it has none. */
int64_t checker_lsn(const struct rn_lease *lease);
/* The place of a session; -1: none. */
int checker_session(const struct checker *c, struct rn_view session);

#endif
