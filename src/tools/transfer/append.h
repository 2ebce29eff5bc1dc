/* append.h -- an output file that grows and can be cut to an earlier length.
 *
 * All functions return an enum rn_exit after the line on standard error.
 *
 * One thread at a time.  A zeroed one may be closed.
 */
#ifndef RN_TOOLS_TRANSFER_APPEND_H
#define RN_TOOLS_TRANSFER_APPEND_H

#include "base/mem.h"

#include <stdint.h>

struct rn_append {
    const char *path; /* borrowed */
    uint64_t length;
    bool is_open;
    int fd; /* private */
};

/* Creates or empties the file, or with `length` not 0 cuts it to that length,
 * which an earlier run wrote. */
int rn_append_open(struct rn_append *file, const char *path,
                   uint64_t length) RN_CHECK;
int rn_append_write(struct rn_append *file, struct rn_view bytes) RN_CHECK;
/* Makes all that was written durable.  May run beside a write. */
int rn_append_sync(const struct rn_append *file) RN_CHECK;
/* Reports what the file system noticed late. */
int rn_append_end(struct rn_append *file) RN_CHECK;
void rn_append_close(struct rn_append *file);

#endif
