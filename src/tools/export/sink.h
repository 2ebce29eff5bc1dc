/* sink.h -- where exported documents go: a file or standard output, as NDJSON
 * or as a JSON array.
 *
 *   NDJSON   ROW\n ROW\n ...
 *   array    [\nROW,\nROW\n]\n
 *
 * All functions return an enum rn_exit after the line on standard error.
 *
 * One thread at a time.  A zeroed one may be closed.
 */
#ifndef RN_TOOLS_EXPORT_SINK_H
#define RN_TOOLS_EXPORT_SINK_H

#include "tools/transfer/append.h"

struct rn_export_sink {
    struct rn_append file; /* without a path: standard output */
    bool is_array;
    uint64_t rows;
};

/* `path` NULL: standard output.  `length` and `rows`: what an earlier run
 * wrote, without the end of an array. */
int rn_export_sink_open(struct rn_export_sink *sink, const char *path,
                        bool is_array, uint64_t length, uint64_t rows) RN_CHECK;

/* Appends one row to a chunk for rn_export_sink_add. */
enum rn_code rn_export_sink_print(const struct rn_export_sink *sink,
                                  struct rn_view row,
                                  struct rn_buf *chunk) RN_CHECK;
/* Writes a chunk of `rows` rows. */
int rn_export_sink_add(struct rn_export_sink *sink, struct rn_view chunk,
                       uint64_t rows) RN_CHECK;
/* Ends an array and closes the file. */
int rn_export_sink_end(struct rn_export_sink *sink) RN_CHECK;
void rn_export_sink_close(struct rn_export_sink *sink);

#endif
