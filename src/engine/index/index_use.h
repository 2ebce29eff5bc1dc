/* index_use.h -- which indexes are used, and how far queries read along them.
 *
 * Threads: reads and notes, any; clearing and dropping, the committer's.
 */
#ifndef RN_ENGINE_INDEX_INDEX_USE_H
#define RN_ENGINE_INDEX_INDEX_USE_H

#include "engine/index/index.h"

struct rn_index_set;
struct rn_index_work; /* indexer.h */

/* Drops indexes that have not been used for long; `then` is lowered to the time
 * of the next check. */
enum rn_code rn_index_look_at_uses(struct rn_index_work *w,
                                   int64_t *then) RN_CHECK;
/* Clears the uses that are recorded now, so that later uses are noted
 * again. */
void rn_index_clear_uses(struct rn_engine *e, const struct rn_index_set *was,
                         const struct rn_index_set *is);

/* Notes the use of an index. */
void rn_index_note_used(struct rn_engine *e, uint32_t container,
                        uint8_t number);
/* How many index entries queries with a text (by its hash) examine before they
 * read documents instead: 0 is few, RN_INDEX_PATIENCE_MAX is many. */
enum { RN_INDEX_PATIENCE_MAX = 2 };
unsigned rn_index_patience(struct rn_engine *e, uint64_t query);
void rn_index_set_patience(struct rn_engine *e, uint64_t query, unsigned level);

#endif
