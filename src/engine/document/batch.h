/* batch.h -- batches: several document operations in one request.  A patch is a
 * batch of one.
 *
 *   RN_BATCH_ATOMIC          all or nothing, upon one partition key value, with
 *                            one LSN; the first refusal ends it
 *   RN_BATCH_EACH            each by itself, in order, each with its own LSN
 *   RN_BATCH_UNTIL_FAILURE   likewise, but none after the first refusal
 *
 * Work that grows with a document is done by the thread that starts the batch.
 * A patch is prepared from the version that is stored at that time, or that an
 * earlier operation of the batch makes.  If the committer finds another
 * version, it patches a small document anew; for a large one, or under a
 * condition, the batch comes back unfinished and must be resumed.
 */
#ifndef RN_ENGINE_DOCUMENT_BATCH_H
#define RN_ENGINE_DOCUMENT_BATCH_H

#include "engine/document/document.h"
#include "engine/document/patch.h"
#include "engine/document/snapshot.h"

enum {
    RN_BATCH_MAX = 100,           /* operations */
    RN_BATCH_BYTES_MAX = 8 << 20, /* of all writes and reads */
};

enum rn_batch_mode {
    RN_BATCH_ATOMIC,
    RN_BATCH_EACH,
    RN_BATCH_UNTIL_FAILURE,
};

struct rn_batch_operation {
    /* In; borrowed until done. */
    enum rn_document_verb verb;
    const struct rn_pk *pk; /* NULL: taken from the body */
    struct rn_view id;      /* all but CREATE and UPSERT */
    uint64_t rid;           /* of a PATCH, the document it must be; 0: any */
    struct rn_view body;    /* of a PATCH, the patch */
    bool is_linkless;       /* of a PATCH: see row.h */
    struct rn_document_conditions conditions;
    /* An error that the caller has found: the operation will fail with it. */
    enum rn_code unfit;
    struct rn_err why;

    /* Out.  `err` has a message if there is a failure. */
    enum rn_code code;
    struct rn_err err;
    bool created;
    struct rn_document_place place;
    struct rn_view stored; /* as served; empty for a DELETE */

    /* Private. */
    struct rn_version version;
    struct rn_patch *patch;
    bool is_ready; /* prepared, for good */
    size_t read_at, read_len;
    enum { RN_BASE_NONE, RN_BASE_STORED, RN_BASE_OPERATION } base;
    struct rn_etag base_etag;
    size_t base_index;
    /* Generation counters: of this operation's patch, and of its base's when it
     * was patched.  They detect that the base was patched again. */
    unsigned made, base_made;
};

struct rn_batch {
    struct rn_done done; /* set by the caller */
    void *owner;         /* for the caller */

    /* In; borrowed until done. */
    enum rn_batch_mode mode;
    const struct rn_container *container;
    const struct rn_pk *pk; /* ATOMIC: the key of all operations */
    bool has_range;
    uint32_t range; /* which the client expects to hold all operations */
    struct rn_batch_operation *operations;
    size_t count;
    bool is_light; /* the starting thread has little time */

    /* Out, when done with RN_OK.  Any other code is the outcome of the batch.
     */
    bool is_unfinished; /* to be resumed */
    struct rn_document_place place;

    /* Private. */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_arena arena;
    struct rn_buf reads;
    size_t first, at; /* operations before `first` are done */
    size_t reads_kept;
    size_t refused; /* ATOMIC: the operation that ended it */
    unsigned tries;
};

/* Prepares and queues.  If is_light is set and the batch is not light, returns
 * RN_TIMEOUT, and `done` will not be called: clear is_light and resume it on a
 * thread that has time. */
enum rn_code rn_batch_start(struct rn_engine *e, struct rn_batch *b,
                            struct rn_err *err) RN_CHECK;
enum rn_code rn_batch_resume(struct rn_batch *b, struct rn_err *err) RN_CHECK;
/* Required after a start, whatever it returned. */
void rn_batch_release(struct rn_batch *b);

/* True for a refusal of the operation, false for a failure of the store. */
static inline bool rn_batch_is_refusal(enum rn_code rc)
{
    return rc == RN_NOT_FOUND || rc == RN_CONFLICT || rc == RN_PRECONDITION ||
           rc == RN_BAD_REQUEST || rc == RN_FORBIDDEN || rc == RN_TOO_LARGE ||
           rc == RN_THROTTLED || rc == RN_TIMEOUT;
}

#endif
