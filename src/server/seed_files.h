/* seed_files.h -- reads the files of a seed (seed.h) and passes their contents
 * to the seeding. */
#ifndef RN_SERVER_SEED_FILES_H
#define RN_SERVER_SEED_FILES_H

#include "base/mem.h"

struct rn_seeding;

/* Reads all of it.  Errors have file and line. */
enum rn_code rn_seed_read(struct rn_seeding *s, const char *from) RN_CHECK;

/* Appends an object with its id as the first member. */
enum rn_code rn_seed_print_id(struct rn_view id, struct rn_view object,
                              struct rn_buf *out) RN_CHECK;

#endif
