/* sink.c -- writes exported documents. */
#include "tools/export/sink.h"

#include "tools/common/out.h"
#include "tools/common/report.h"

int rn_export_sink_open(struct rn_export_sink *sink, const char *path,
                        bool is_array, uint64_t length, uint64_t rows)
{
    *sink = (struct rn_export_sink){ .is_array = is_array, .rows = rows };
    return path ? rn_append_open(&sink->file, path, length) : RN_EXIT_OK;
}

enum rn_code rn_export_sink_print(const struct rn_export_sink *sink,
                                  struct rn_view row, struct rn_buf *chunk)
{
    enum rn_code rc = RN_OK;

    if (sink->is_array)
        rc = rn_buf_add(chunk, RN_LIT(",\n"));
    if (!rc)
        rc = rn_buf_add(chunk, row);
    if (!rc && !sink->is_array)
        rc = rn_buf_add(chunk, RN_LIT("\n"));
    return rc;
}

static int put(struct rn_export_sink *sink, struct rn_view bytes)
{
    if (sink->file.path)
        return rn_append_write(&sink->file, bytes);
    rn_out(bytes);
    rn_out_flush();
    return RN_EXIT_OK;
}

int rn_export_sink_add(struct rn_export_sink *sink, struct rn_view chunk,
                       uint64_t rows)
{
    int status = RN_EXIT_OK;

    if (!rows)
        return RN_EXIT_OK;
    if (sink->is_array && !sink->rows) {
        /* A bracket in the place of the first comma. */
        status = put(sink, RN_LIT("["));
        chunk = rn_view_of(chunk.at + 1, chunk.len - 1);
    }
    if (!status)
        status = put(sink, chunk);
    sink->rows += status ? 0 : rows;
    return status;
}

int rn_export_sink_end(struct rn_export_sink *sink)
{
    int status = RN_EXIT_OK;

    if (sink->is_array)
        status = put(sink, sink->rows ? RN_LIT("\n]\n") : RN_LIT("[]\n"));
    return status ? status : rn_append_end(&sink->file);
}

void rn_export_sink_close(struct rn_export_sink *sink)
{
    rn_append_close(&sink->file);
}
