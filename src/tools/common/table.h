/* table.h -- rows in aligned columns, on standard output.
 *
 * Columns are named and come in the order in which they were first asked for.
 * A cell is cut to RN_TABLE_CELL columns of the screen.  The header is printed
 * again only when the columns have changed since the last print, so that a long
 * answer can be printed page by page.
 */
#ifndef RN_TOOLS_COMMON_TABLE_H
#define RN_TOOLS_COMMON_TABLE_H

#include "base/mem.h"

enum {
    RN_TABLE_COLUMNS = 32, /* the most; later ones are not shown */
    RN_TABLE_CELL = 40,
    RN_TABLE_MEMORY = 64 << 20,
};

struct rn_table_row {
    struct rn_table_row *next;
    struct rn_view cells[RN_TABLE_COLUMNS];
};

struct rn_table {
    struct rn_view names[RN_TABLE_COLUMNS]; /* in `kept` */
    uint32_t widths[RN_TABLE_COLUMNS];
    uint32_t count;
    uint32_t printed; /* how many columns the last header had */
    struct rn_table_row *first, *last;
    struct rn_arena kept, rows;
};

void rn_table_init(struct rn_table *t);
void rn_table_release(struct rn_table *t);

/* Adds a row.  RN_NOMEM or RN_TOO_LARGE: the caller prints and tries again. */
enum rn_code rn_table_row(struct rn_table *t) RN_CHECK;
/* Sets a cell of the last row; both texts are copied. */
enum rn_code rn_table_set(struct rn_table *t, struct rn_view column,
                          struct rn_view text) RN_CHECK;
/* Prints the rows, under a header if the columns are new, and drops them. */
void rn_table_print(struct rn_table *t);

#endif
