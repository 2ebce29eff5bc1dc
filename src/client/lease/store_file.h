/* store_file.h -- our lease store in a file, for the processes of one machine.
 *
 * Threads: any, in any process.
 */
#ifndef RN_CLIENT_LEASE_STORE_FILE_H
#define RN_CLIENT_LEASE_STORE_FILE_H

#include "client/lease/store_memory.h"

/* The file is made at the first write. */
runnel_code rn_lease_store_file_open(struct rn_env *env, const char *path,
                                     runnel_lease_store **out,
                                     runnel_error *error) RN_CHECK;

#endif
