/* checker_own.h -- between the files of the checker. */
#ifndef RN_TESTS_CLIENT_CHECKER_OWN_H
#define RN_TESTS_CLIENT_CHECKER_OWN_H

#include "client/checker.h"
#include "client/lease/document.h"

/* Keeps the first violation. */
void checker_violated(struct checker *c, const char *fmt, ...) RN_PRINTF(2, 3);

/* Is the document a lease, and not the marker or the lock? */
bool checker_is_lease(const struct service_entry *e);
bool checker_is_marker(const struct service_entry *e);
/* NULL: it is damaged. */
struct rn_lease_document *checker_parse(const struct service_entry *e);
/* The lease as it was before it was damaged; NULL: it never was one. */
struct rn_lease_document *checker_sound(const struct service_entry *e);
struct rn_epk_range checker_keys(const struct checker *c,
                                 const struct rn_lease *lease);
/* The stored position; -1: it has none. */
int64_t checker_lsn(const struct rn_lease *lease);
/* The place of a session; -1: none. */
int checker_session(const struct checker *c, struct rn_view session);

/* A lease that there is: its interval and position. */
struct checker_held {
    struct rn_epk_range keys;
    int64_t lsn;
    uint64_t commit; /* of its creation */
};

enum { CHECKER_HELD_MAX = CHECKER_LEASES_MAX + CHECKER_GONE_MAX };

/* R6, after a write: which changes do `count` leases store now? */
void checker_work_stored(struct checker *c, int sender, int64_t sent_ns,
                         const struct checker_held *held, size_t count);
/* I2, and that nothing is skipped, after a write (checker_cover.c). */
void checker_cover(struct checker *c, const struct service_entry *e, int sender,
                   int64_t sent_ns);
/* A .NET host made a lease of these keys that is larger than what it replaces;
 * does an EPK lie in such a one? */
void checker_overgrow(struct checker *c, const struct rn_epk_range *keys);
bool checker_is_overgrown(const struct checker *c, struct rn_view epk);

bool checker_is_open(struct checker *c, int host, const char *lease);
/* What may come twice (checker_repeats.c): a lease was written, a call began,
 * a change was acknowledged, a host is gone.  `was` NULL: it was created. */
void checker_work_written(struct checker *c, const struct rn_lease *was,
                          const struct rn_lease *is, int sender);
void checker_work_delivered(struct checker *c, int host, const char *lease,
                            const uint64_t *commits, size_t count);
void checker_work_acked(struct checker *c, int host, const char *lease,
                        uint64_t commit);
struct checker_work *checker_find_work(struct checker *c, int host,
                                       struct rn_view lease);
/* Before a change is acknowledged (checker_order.c); 0: by a dead letter. */
void checker_note_acker(struct checker *c, unsigned acquisition,
                        uint64_t commit);
/* O1 and O2 (checker_order.c), when a call begins. */
void checker_several_delivered(struct checker *c, int host, const char *lease,
                               const uint64_t *commits, size_t count);
void checker_work_begin(struct checker *c, int host, struct rn_view lease,
                        int64_t lsn);
void checker_work_end(struct checker *c, int host);

#endif
