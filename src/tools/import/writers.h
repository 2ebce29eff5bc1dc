/* writers.h -- threads that write the documents that one thread reads.
 *
 * A document goes to the writer that the hash of its id names, so that two
 * documents of one id are written in the order of the file.  Each writer has
 * two batches: one is written while the other is filled.  A batch holds an id
 * once only, because a bulk call keeps no order.  The memory of all batches is
 * bounded; the reader waits for room.
 *
 *   reader                      writer i
 *   rn_writers_add ...          rn_writers_run(w, i)
 *   rn_writers_drain            returns after
 *   rn_writers_end              rn_writers_end
 */
#ifndef RN_TOOLS_IMPORT_WRITERS_H
#define RN_TOOLS_IMPORT_WRITERS_H

#include "tools/import/records.h"
#include "tools/import/rejects.h"
#include "tools/transfer/bulk.h"
#include "tools/transfer/lanes.h"

struct rn_writer;

struct rn_writers {
    runnel_container *container;
    const struct rn_schema *schema;
    runnel_operation_kind kind; /* RUNNEL_CREATE or RUNNEL_UPSERT */
    bool may_exist;             /* see bulk.h */
    struct rn_rejects *rejects;
    size_t count;

    /* private */
    struct rn_writer *writers;
    pthread_mutex_t lock; /* of what follows, and of the batches' hand-over */
    pthread_cond_t changed;
    uint64_t written;
    bool is_over;
};

/* The caller fills the members above `private` and zeros the rest. */
enum rn_code rn_writers_init(struct rn_writers *writers) RN_CHECK;
void rn_writers_release(struct rn_writers *writers);

/* Hands over a document; copies it.  All these return an enum rn_exit, or
 * RN_LANE_STOPPED. */
int rn_writers_add(struct rn_writers *writers, const struct rn_record *record,
                   struct rn_view id) RN_CHECK;
/* Waits until every document that was added is written or rejected. */
int rn_writers_drain(struct rn_writers *writers) RN_CHECK;
/* No more will be added. */
void rn_writers_end(struct rn_writers *writers);

/* What writer `i` does, on its own thread, until the end. */
int rn_writers_run(struct rn_writers *writers, size_t i) RN_CHECK;

/* How many documents were written.  Any thread. */
uint64_t rn_writers_written(struct rn_writers *writers);

#endif
