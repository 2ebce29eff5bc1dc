/* mixed_load.h -- clients that do all that can be done to a document, and note
 * it.
 *
 * Each step is a request: one of a document (read, create, upsert, replace,
 * patch, delete), with a condition or without; a query for one or two; or a
 * transaction that writes two.  Half of the work is on a few documents, so that
 * clients collide.  Every other client sends session tokens, some of them one
 * that they share; now and then one of what has not been yet.
 *
 * Any thread, each client in its own.
 */
#ifndef RN_TEST_MIXED_LOAD_H
#define RN_TEST_MIXED_LOAD_H

#include "history/server_process.h"

enum { MIXED_LOAD_DOCUMENTS = 300, MIXED_LOAD_KEYS = 40 };

void mixed_load_init(void);
void mixed_load_step(struct client *c);
/* Reads every document once. */
void mixed_load_read_all(struct client *c);

#endif
