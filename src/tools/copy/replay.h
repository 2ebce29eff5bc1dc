/* replay.h -- the writes that repeat a batch of changes in the target.
 *
 * Each document has one write, that of its last change in the batch.  If the
 * target has another partition key, a change may move a document there: the
 * target is asked for documents of the same id, and those that came from the
 * same source document but have another key are deleted.  A document that would
 * replace one that came from another source document is refused.
 *
 * One thread.  A zeroed one may be released.
 */
#ifndef RN_TOOLS_COPY_REPLAY_H
#define RN_TOOLS_COPY_REPLAY_H

#include "tools/copy/copy_state.h"

struct rn_replay_entry;

struct rn_replay {
    struct rn_copy *copy;
    runnel_operation *operations;
    size_t count;
    uint64_t upserts, deletes; /* among them */
    uint64_t refused;          /* reported, and not among them */

    /* private */
    struct rn_replay_entry *entries;
    size_t entry_count;
    uint32_t *slots; /* of the entries, by hash */
    size_t slot_count;
    struct rn_arena arena;
    struct rn_json json, other;
    struct rn_buf list, scratch; /* the operations' memory; other texts */
};

void rn_replay_init(struct rn_replay *replay, struct rn_copy *copy);
void rn_replay_release(struct rn_replay *replay);

/* Prepares a batch, which must live as long as the operations are used. Returns
 * an enum rn_exit or RN_LANE_STOPPED. */
int rn_replay_make(struct rn_replay *replay,
                   const runnel_batch *batch) RN_CHECK;

/* Prints `document "id" with partition key "eu": why` on standard error. */
void rn_replay_refuse(struct rn_replay *replay, size_t operation,
                      const char *why);

#endif
