/* table.c -- prints rows in aligned columns. */
#include "tools/common/table.h"

#include "tools/common/out.h"

void rn_table_init(struct rn_table *t)
{
    *t = (struct rn_table){ .kept = RN_ARENA_INIT(RN_TABLE_MEMORY),
                            .rows = RN_ARENA_INIT(RN_TABLE_MEMORY) };
}

void rn_table_release(struct rn_table *t)
{
    rn_arena_release(&t->kept);
    rn_arena_release(&t->rows);
    *t = (struct rn_table){ 0 };
}

enum rn_code rn_table_row(struct rn_table *t)
{
    struct rn_table_row *row = rn_arena_alloc(&t->rows, sizeof(*row));

    if (!row)
        return RN_TOO_LARGE;
    *row = (struct rn_table_row){ 0 };
    if (t->last)
        t->last->next = row;
    else
        t->first = row;
    t->last = row;
    return RN_OK;
}

/* Cuts the text after so many characters; returns how many it has then. */
static uint32_t fit(struct rn_view *text)
{
    uint32_t width = 0;

    for (size_t i = 0; i < text->len; i++) {
        if ((text->at[i] & 0xc0) == 0x80)
            continue;
        if (width == RN_TABLE_CELL) {
            text->len = i;
            break;
        }
        width++;
    }
    return width;
}

/* Its number; a new name is added.  The number of columns: there is no room. */
static uint32_t find_column(struct rn_table *t, struct rn_view name)
{
    uint32_t i = 0;

    while (i < t->count && !rn_view_eq(t->names[i], name))
        i++;
    if (i == t->count && i < RN_TABLE_COLUMNS) {
        t->names[i] = rn_arena_copy(&t->kept, name);
        if (!t->names[i].at)
            return RN_TABLE_COLUMNS;
        t->widths[i] = fit(&name);
        t->count++;
    }
    return i;
}

enum rn_code rn_table_set(struct rn_table *t, struct rn_view column,
                          struct rn_view text)
{
    uint32_t i = find_column(t, column);
    uint32_t width = fit(&text);
    struct rn_view copy;

    if (i == RN_TABLE_COLUMNS)
        return RN_OK;
    copy = rn_arena_copy(&t->rows, text);
    if (text.len && !copy.at)
        return RN_TOO_LARGE;
    t->last->cells[i] = copy;
    if (t->widths[i] < width)
        t->widths[i] = width;
    return RN_OK;
}

/* A cell, and what is missing to the width unless it is the last one. */
static void print_cell(const struct rn_table *t, uint32_t i,
                       struct rn_view text)
{
    uint32_t width = fit(&text);

    for (size_t at = 0; at < text.len; at++) {
        unsigned char c = (unsigned char)text.at[at];
        rn_outf("%c", c < 0x20 || c == 0x7f ? ' ' : c);
    }
    if (i + 1 < t->count && t->widths[i] >= width)
        rn_outf("%*s", (int)(t->widths[i] - width + 2), "");
}

void rn_table_print(struct rn_table *t)
{
    if (t->first && t->printed != t->count) {
        rn_outf("%s", rn_color(RN_COLOR_BOLD));
        for (uint32_t i = 0; i < t->count; i++)
            print_cell(t, i, t->names[i]);
        rn_outf("%s\n", rn_color(RN_COLOR_NONE));
        t->printed = t->count;
    }
    for (const struct rn_table_row *row = t->first; row; row = row->next) {
        for (uint32_t i = 0; i < t->count; i++)
            print_cell(t, i, row->cells[i]);
        rn_out(RN_LIT("\n"));
    }
    t->first = t->last = NULL;
    rn_arena_clear(&t->rows);
}
