/* bulk.h -- writes many documents, each until it is stored or refused.
 *
 * What the server cannot do now is sent again (patience.h).  What the server
 * refuses is sent once more by itself, which tells the reason, and is given to
 * `refused`.  So when rn_bulk_write has succeeded, every operation was either
 * carried out or given to `refused`.
 *
 * A create whose answer was lost is sent again; if the document is there then
 * with the same content, it counts as created.  With `may_exist` that holds for
 * every create: an earlier run, which was killed, may have done it.
 *
 * The operations of one call are carried out in any order, so each document
 * may have one of them only.
 *
 * One thread.
 */
#ifndef RN_TOOLS_TRANSFER_BULK_H
#define RN_TOOLS_TRANSFER_BULK_H

#include "tools/transfer/schema.h"

/* `i`: of the operation. */
typedef void rn_refused_fn(void *context, size_t i, const runnel_error *error);

struct rn_bulk {
    runnel_container *container;
    const struct rn_schema *schema; /* of that container */
    bool may_exist;
    rn_refused_fn *refused;
    void *context;
};

/* Creates, upserts and deletes; to delete what is not there is no failure. */
runnel_code rn_bulk_write(const struct rn_bulk *bulk,
                          const runnel_operation *operations, size_t count,
                          runnel_error *error) RN_CHECK;

#endif
