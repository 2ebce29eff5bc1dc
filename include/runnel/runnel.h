/* runnel.h -- librunnel: a C client for Runnel and Cosmos DB accounts.
 *
 *   runnel/client.h     client, containers, items, queries; the change feed,
 *                       pulled
 *   runnel/processor.h  the change feed, pushed: processor, leases, estimator
 *   runnel/host.h       the same processor in the style of 2017 and 2018
 *
 * Conventions, once for the whole library:
 *
 * Handles are opaque.  What `_open` or `_start` gives, `_close` or `_stop`
 * takes; both accept NULL.  A handle must not be closed while another thread is
 * inside a call on it.  A child (container, feed, processor) keeps its client
 * alive, so the order of closing does not matter.
 *
 * Options are structs.  Begin with the matching _INIT, which sets `size`; every
 * member left zero has the default written beside it.  Where zero means a
 * default, RUNNEL_OFF switches the thing off.  Strings and structs you pass are
 * copied.  Structs with `size` grow at the end; those without are frozen.
 *
 * A call that can fail returns a runnel_code, zero for success, and fills a
 * runnel_error if you gave one.  Out parameters are then untouched, unless the
 * function says otherwise.  `out` may be NULL where the answer is not wanted.
 * An `_at` function gives NULL, or no bytes, behind the last.
 *
 * JSON is text.  A partition key is JSON too: "\"eu\"", "42", "null"; an array
 * for a hierarchical key.  Times are milliseconds since 1970, UTC; durations
 * are milliseconds.
 *
 * No call exits, installs a signal handler or reads the environment, and there
 * is nothing to initialise globally.  Nothing is printed, except by a processor
 * without an event callback (runnel_processor_options.event).
 *
 * Threads are stated for each handle.  Handlers, events and lease stores are
 * called on threads of the library, with all signals blocked; `each` functions
 * inside the call that was given them.  After fork() the child must not use any
 * handle, not even close it.
 */
#ifndef RUNNEL_H
#define RUNNEL_H

#include <runnel/client.h>
#include <runnel/host.h>
#include <runnel/processor.h>

#endif
