/* data.h -- the data of a server: checks the directory, opens the store and the
 * engine, seeds a new store. */
#ifndef RN_SERVER_DATA_H
#define RN_SERVER_DATA_H

#include "server/options.h"

struct rn_server;

bool rn_data_is_in_memory(const struct rn_options *o);
/* RN_FORBIDDEN if another user owns the directory or can write there. */
enum rn_code rn_data_check_directory(const struct rn_options *o,
                                     struct rn_err *err) RN_CHECK;
enum rn_code rn_data_open(struct rn_server *s, struct rn_err *err) RN_CHECK;
/* Does nothing to a store that has databases already. */
enum rn_code rn_data_seed(struct rn_server *s, struct rn_err *err) RN_CHECK;

#endif
