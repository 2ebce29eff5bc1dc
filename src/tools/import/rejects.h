/* rejects.h -- the records that were not imported: named, counted, kept.
 *
 * Each is one line on standard error, "runnel import: FILE:LINE: why", and, if
 * there is a file for them, goes there as it was: rows of CSV behind the header
 * of the input, JSON as NDJSON.  So that file can be corrected and imported.
 *
 * Any thread.  A zeroed one may be closed.
 */
#ifndef RN_TOOLS_IMPORT_REJECTS_H
#define RN_TOOLS_IMPORT_REJECTS_H

#include "tools/transfer/append.h"

#include <pthread.h>

struct rn_rejects {
    const char *input; /* its name, for the lines; borrowed */
    uint64_t count;
    struct rn_append file; /* not open: none is kept */
    bool is_csv;
    pthread_mutex_t lock;
};

/* Opens the file, if `path` is not NULL.  `length`: what an earlier run wrote.
 * `header`: the first line of a CSV file; empty: JSON.  Both functions return
 * an enum rn_exit after the line on standard error. */
int rn_rejects_open(struct rn_rejects *rejects, const char *input,
                    const char *path, uint64_t length,
                    struct rn_view header) RN_CHECK;
int rn_rejects_add(struct rn_rejects *rejects, uint64_t line,
                   struct rn_view text, const char *why) RN_CHECK;
void rn_rejects_close(struct rn_rejects *rejects);

#endif
