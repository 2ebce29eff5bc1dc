/* batch.h -- several things asked of documents in one request; and a patch,
 * which is a batch of one.
 *
 *   RN_BATCH_ATOMIC          all or nothing, upon one partition key value, with
 *                            one LSN; the first refusal ends it
 *   RN_BATCH_EACH            each by itself, in order, each with its own LSN
 *   RN_BATCH_UNTIL_FAILURE   likewise, but none after the first refusal
 *
 * What grows with a document is prepared by whoever starts the batch.  A patch
 * is prepared from the version that is there then, or that an operation before
 * it in the batch makes.  If in the committer that is no longer the version it
 * finds, a small document is patched anew there; for a large one, or under a
 * condition, the batch comes back unfinished and must be resumed.
 */
#ifndef RN_ENGINE_DOCUMENT_BATCH_H
#define RN_ENGINE_DOCUMENT_BATCH_H

#include "engine/document/document.h"
#include "engine/document/patch.h"

enum {
    RN_BATCH_MAX = 100,           /* operations */
    RN_BATCH_BYTES_MAX = 8 << 20, /* of all they write and read */
};

enum rn_batch_mode {
    RN_BATCH_ATOMIC,
    RN_BATCH_EACH,
    RN_BATCH_UNTIL_FAILURE,
};

struct rn_batch_operation {
    /* In; borrowed until done. */
    enum rn_document_verb verb;
    const struct rn_pk *pk; /* NULL: as the body says */
    struct rn_view id;      /* all but CREATE and UPSERT */
    uint64_t rid;           /* of a PATCH, the document it must be; 0: any */
    struct rn_view body;    /* of a PATCH, the patch */
    bool is_linkless;       /* of a PATCH: see row.h */
    struct rn_document_conditions conditions;
    /* What the caller finds wrong with it: it will fail with that. */
    enum rn_code unfit;
    struct rn_err why;

    /* Out.  `err` has words if there is a failure. */
    enum rn_code code;
    struct rn_err err;
    bool created;
    struct rn_document_place place;
    struct rn_view stored; /* as served; not of a DELETE */

    /* Its own. */
    struct rn_version version;
    struct rn_patch *patch;
    bool is_ready; /* prepared, once and for all */
    size_t read_at, read_len;
    enum { RN_BASE_NONE, RN_BASE_STORED, RN_BASE_OPERATION } base;
    struct rn_etag base_etag;
    size_t base_index;
    /* How often it was patched, and its base had been: whoever is patched again
     * leaves something else than those after him were patched from. */
    unsigned made, base_made;
};

struct rn_batch {
    struct rn_done done; /* set by the caller */
    void *owner;         /* for the caller */

    /* In; borrowed until done. */
    enum rn_batch_mode mode;
    const struct rn_container *container;
    const struct rn_pk *pk; /* ATOMIC: of all operations */
    bool has_range;
    uint32_t range; /* where the client thinks all of it goes */
    struct rn_batch_operation *operations;
    size_t count;
    bool is_light; /* whoever starts it has little time */

    /* Out, when done with RN_OK.  Any other code is of the whole. */
    bool is_unfinished; /* to be resumed */
    struct rn_document_place place;

    /* Its own. */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_arena arena;
    struct rn_buf reads;
    size_t first, at; /* those before `first` are done */
    size_t reads_kept;
    size_t refused; /* ATOMIC: the operation that ended it */
    unsigned tries;
};

/* Prepares and queues.  RN_TIMEOUT, and `done` will not be called, if it is to
 * be light and is not: clear is_light and resume it where there is time. */
enum rn_code rn_batch_start(struct rn_engine *e, struct rn_batch *b,
                            struct rn_err *err) RN_CHECK;
enum rn_code rn_batch_resume(struct rn_batch *b, struct rn_err *err) RN_CHECK;
/* After a start, whatever it gave. */
void rn_batch_release(struct rn_batch *b);

/* Is it about the operation, or is something wrong with the store? */
static inline bool rn_batch_is_refusal(enum rn_code rc)
{
    return rc == RN_NOT_FOUND || rc == RN_CONFLICT || rc == RN_PRECONDITION ||
           rc == RN_BAD_REQUEST || rc == RN_FORBIDDEN || rc == RN_TOO_LARGE ||
           rc == RN_THROTTLED || rc == RN_TIMEOUT;
}

#endif
