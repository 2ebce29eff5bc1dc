/* reading.h -- reads a change feed in a test and writes down what came: a text
 * of ids, "a b|c" for two batches. */
#ifndef RN_TESTS_CLIENT_READING_H
#define RN_TESTS_CLIENT_READING_H

#include "client/feed/cursor.h"
#include "client/world.h"

extern const struct service_definition reading_one_range, reading_four_ranges;

/* Both fail the test if the call fails. */
struct rn_feed_cursor *reading_open(struct world *w,
                                    const runnel_feed_options *options);
runnel_batch *reading_next(struct rn_feed_cursor *c, uint32_t wait_ms);
/* Everything until an empty batch.  The text is good until the next call. */
const char *reading_rest(struct rn_feed_cursor *c, uint32_t wait_ms);
/* The same with a feed of its own. */
const char *reading_whole(struct world *w, const runnel_feed_options *options);

/* Writes a document with that key. */
void reading_put(struct world *w, const char *id, const char *pk);
/* Writes documents whose ids and keys are the numbers from `from` to `to`. */
void reading_put_many(struct world *w, int from, int to);
/* How many of them are in a text, each exactly once. */
int reading_count(const char *text, int from, int to);

#endif
