/* failed_changes.h -- what becomes of changes that failed too often: they block
 * their key, are skipped, or are stored as dead letters.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_FAILED_CHANGES_H
#define RN_CLIENT_PROCESSOR_FAILED_CHANGES_H

#include <stdint.h>

struct rn_worker;

/* Returns nanoseconds to the next step. */
int64_t rn_worker_handle_failed(struct rn_worker *w, int64_t now_ns);
/* The program's dead_letter has returned. */
void rn_worker_dead_letter_returned(struct rn_worker *w);

#endif
