/* csv.h -- rows of a CSV file as JSON objects.
 *
 * Cells are separated by the delimiter and may be in double quotes, where a
 * double quote is written twice and line ends belong to the cell.  The header
 * names the properties.
 *
 *   cell                      value
 *   in quotes                 string
 *   empty                     the document lacks the property
 *   true, false, null         that literal
 *   a number as JSON has it   number, with the digits of the file
 *   anything else             string: 007, 1.2.3, eu
 *
 * The property "id" is always a string.
 *
 * One thread.  A zeroed one may be released.
 */
#ifndef RN_TOOLS_IMPORT_CSV_H
#define RN_TOOLS_IMPORT_CSV_H

#include "base/mem.h"

#include <stdint.h>

enum { RN_CSV_COLUMNS_MAX = 4096 };

struct rn_csv {
    char delimiter;
    struct rn_arena arena;
    struct rn_view *names; /* unquoted */
    uint32_t columns;
    struct rn_view header; /* as it is in the file */
};

/* Takes the header row, without its line end.  RN_BAD_REQUEST. */
enum rn_code rn_csv_init(struct rn_csv *csv, char delimiter,
                         struct rn_view header, struct rn_err *err) RN_CHECK;
void rn_csv_release(struct rn_csv *csv);

/* Appends the object of a row, which has no line end.  RN_BAD_REQUEST. */
enum rn_code rn_csv_print(const struct rn_csv *csv, struct rn_view row,
                          struct rn_buf *out, struct rn_err *err) RN_CHECK;

/* Where a scan for the end of a row is; begins as RN_CSV_CELL. */
enum rn_csv_scan { RN_CSV_CELL, RN_CSV_PLAIN, RN_CSV_QUOTED, RN_CSV_CLOSED };

/* Scans for the line end of a row; false if it is not in the bytes.  `*at` is
 * where to go on, or the line end. */
bool rn_csv_find_end(char delimiter, struct rn_view bytes, size_t *at,
                     enum rn_csv_scan *scan);

#endif
