/* records.h -- the documents of an input file, one after the other.
 *
 *   NDJSON   one JSON object a line; blank lines are passed over
 *   array    one JSON array of objects, laid out in any way
 *   CSV      a header with the names of properties, then a row for each
 *            document (csv.h)
 *
 * Records are cut out without being parsed, so that a malformed one is refused
 * by itself and the next one is found.  An array is cut at the commas outside
 * strings and brackets.
 *
 * One thread.  A zeroed one may be closed.
 */
#ifndef RN_TOOLS_IMPORT_RECORDS_H
#define RN_TOOLS_IMPORT_RECORDS_H

#include "tools/import/csv.h"
#include "tools/import/input.h"

enum rn_record_format {
    RN_FORMAT_AUTO,
    RN_FORMAT_NDJSON,
    RN_FORMAT_ARRAY,
    RN_FORMAT_CSV,
};

struct rn_records {
    struct rn_input input;
    enum rn_record_format format;
    struct rn_csv csv;
    struct rn_buf row; /* CSV: the document of the last row */
    bool is_over;      /* an array was closed */
};

struct rn_record {
    struct rn_view text; /* as it is in the file */
    struct rn_view json; /* the document; not checked yet */
    uint64_t line;       /* where it begins */
};

/* AUTO: CSV if the name ends in .csv, an array if the first character is [,
 * else NDJSON.  Reads the header of a CSV file. */
enum rn_code rn_records_open(struct rn_records *records, const char *name,
                             enum rn_record_format format, char delimiter,
                             struct rn_err *err) RN_CHECK;
void rn_records_close(struct rn_records *records);

/* Goes on at the place of an earlier run: the input's place between two
 * records. */
enum rn_code rn_records_skip(struct rn_records *records, struct rn_place to,
                             struct rn_err *err) RN_CHECK;

/* The next record; it is valid until the next call.  RN_NOT_FOUND at the end.
 * RN_BAD_REQUEST: this record is no document; the next one may be read. */
enum rn_code rn_records_next(struct rn_records *records, struct rn_record *out,
                             struct rn_err *err) RN_CHECK;

#endif
