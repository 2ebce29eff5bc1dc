/* merged.h -- all clients of a load, once their threads have ended: what they
 * noted is one history.
 */
#ifndef RN_TEST_MERGED_H
#define RN_TEST_MERGED_H

#include "history/check.h"
#include "history/search.h"
#include "history/server_process.h"

/* Checks it, and prints violations on stdout; false without memory.  First
 * it is searched, unless `what` is NULL. */
bool merged_check(struct client *clients, size_t count,
                  struct history_verdict *out, const struct search *what,
                  struct search_verdict *searched);

/* Prints the clients that met an error which must not occur; false if there are
 * any. */
bool merged_report(const struct client *clients, size_t count);
/* The same, and releases them all. */
bool merged_release(struct client *clients, size_t count);

#endif
