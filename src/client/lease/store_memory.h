/* store_memory.h -- our lease store in memory, and the records that it shares
 * with the one in a file (store_file.h).
 *
 * Both are tables of functions as a user's store is.  The records are an array
 * by rising id, whose etags are the numbers of their last writes.
 *
 * Threads: any, for a store; one at a time, for records.
 */
#ifndef RN_CLIENT_LEASE_STORE_MEMORY_H
#define RN_CLIENT_LEASE_STORE_MEMORY_H

#include "base/env.h"
#include "client/http/error.h"

#include <runnel/processor.h>

/* A store of ours. */
struct rn_own_store {
    runnel_lease_store table; /* first: what callers get */
    void (*close)(struct rn_own_store *store);
};

/* `json` is what runnel_leases_export gave, or has a NULL `at`. */
runnel_code rn_lease_store_memory_open(struct rn_env *env, struct rn_view json,
                                       runnel_lease_store **out,
                                       runnel_error *error) RN_CHECK;

struct rn_memory_records {
    struct rn_memory_record *all; /* by rising id */
    size_t count, room;
    uint64_t version; /* of the last write */
};

void rn_memory_records_release(struct rn_memory_records *r);

/* As in runnel_lease_store. */
runnel_code rn_memory_records_list(const struct rn_memory_records *r,
                                   const char *prefix,
                                   runnel_lease_record_fn each,
                                   void *each_context);
runnel_code rn_memory_records_create(struct rn_memory_records *r,
                                     const runnel_lease_record *record,
                                     int64_t now_ms, char etag[64]);
runnel_code rn_memory_records_replace(struct rn_memory_records *r,
                                      const runnel_lease_record *record,
                                      int64_t now_ms, char etag[64]);
runnel_code rn_memory_records_remove(struct rn_memory_records *r,
                                     const char *id, const char *etag);

/* As a JSON array of {"id","version","written","record"}, and back.  An array
 * of lease documents is read too. */
runnel_code rn_memory_records_print(const struct rn_memory_records *r,
                                    struct rn_buf *out) RN_CHECK;
runnel_code rn_memory_records_parse(struct rn_memory_records *r,
                                    struct rn_view json,
                                    runnel_error *error) RN_CHECK;

#endif
