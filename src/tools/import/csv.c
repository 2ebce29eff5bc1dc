/* csv.c -- see csv.h. */
#include "tools/import/csv.h"

#include "json/print.h"

enum { ARENA_MAX = 4 << 20, CELL_MAX = 16 << 20 };

struct cell {
    struct rn_view text; /* unquoted; in `scratch` if quotes were doubled */
    bool is_quoted;
};

/* Takes the inside of a quoted cell; `at` is behind the opening quote.  Returns
 * where the cell ends, or SIZE_MAX. */
static size_t take_quoted(struct rn_view row, size_t at, struct rn_buf *scratch)
{
    while (at < row.len) {
        const char *quote = memchr(row.at + at, '"', row.len - at);
        size_t end = quote ? (size_t)(quote - row.at) : row.len;

        if (!quote || rn_buf_add(scratch, rn_view_of(row.at + at, end - at)))
            return SIZE_MAX;
        if (end + 1 == row.len || row.at[end + 1] != '"')
            return end + 1;
        if (rn_buf_add(scratch, RN_LIT("\"")))
            return SIZE_MAX;
        at = end + 2;
    }
    return SIZE_MAX;
}

/* Takes the cell at `*at` and moves behind its delimiter; `*at` becomes
 * row.len + 1 behind the last one. */
static enum rn_code take_cell(const struct rn_csv *csv, struct rn_view row,
                              size_t *at, struct rn_buf *scratch,
                              struct cell *out, struct rn_err *err)
{
    const char *comma;
    size_t end;

    rn_buf_clear(scratch);
    out->is_quoted = *at < row.len && row.at[*at] == '"';
    if (out->is_quoted) {
        end = take_quoted(row, *at + 1, scratch);
        if (end == SIZE_MAX)
            return rn_fail(err, RN_BAD_REQUEST, "a quote is not closed");
        if (end < row.len && row.at[end] != csv->delimiter) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "text behind a closing quote: double the quotes "
                           "inside a quoted cell");
        }
        out->text = rn_buf_view(scratch);
    } else {
        comma = *at < row.len
                    ? memchr(row.at + *at, csv->delimiter, row.len - *at)
                    : NULL;
        end = comma ? (size_t)(comma - row.at) : row.len;
        out->text = rn_view_of(row.at + *at, end - *at);
    }
    *at = end + 1;
    return RN_OK;
}

enum rn_code rn_csv_init(struct rn_csv *csv, char delimiter,
                         struct rn_view header, struct rn_err *err)
{
    struct rn_buf scratch = RN_BUF_INIT(CELL_MAX);
    enum rn_code rc = RN_OK;
    size_t at = 0;

    *csv = (struct rn_csv){ .delimiter = delimiter,
                            .arena = RN_ARENA_INIT(ARENA_MAX) };
    csv->names =
        rn_arena_alloc(&csv->arena, RN_CSV_COLUMNS_MAX * sizeof(*csv->names));
    csv->header = rn_arena_copy(&csv->arena, header);
    if (!csv->names || !csv->header.at)
        return rn_fail(err, RN_NOMEM, "out of memory");
    while (!rc && at <= header.len) {
        struct cell cell = { 0 };

        rc = take_cell(csv, header, &at, &scratch, &cell, err);
        if (rc)
            break;
        if (!cell.text.len || csv->columns == RN_CSV_COLUMNS_MAX) {
            rc = rn_fail(err, RN_BAD_REQUEST, "column %u of the header has %s",
                         csv->columns + 1,
                         cell.text.len ? "too many before it" : "no name");
            break;
        }
        for (uint32_t i = 0; !rc && i < csv->columns; i++) {
            if (rn_view_eq(csv->names[i], cell.text)) {
                rc = rn_fail(err, RN_BAD_REQUEST,
                             "the header has the column \"%.*s\" twice",
                             RN_FMT(cell.text));
            }
        }
        csv->names[csv->columns++] = rn_arena_copy(&csv->arena, cell.text);
        if (!rc && !csv->names[csv->columns - 1].at)
            rc = rn_fail(err, RN_NOMEM, "out of memory");
    }
    rn_buf_release(&scratch);
    return rc;
}

void rn_csv_release(struct rn_csv *csv)
{
    rn_arena_release(&csv->arena);
    *csv = (struct rn_csv){ 0 };
}

/* Is the text of an unquoted cell a JSON literal or number? */
static bool is_json(struct rn_view text)
{
    struct rn_json json;
    enum rn_json_kind kind = RN_JSON_UNDEFINED;

    if (!strchr("-0123456789tfn", text.at[0]))
        return false;
    rn_json_init(&json, NULL);
    if (!rn_json_parse(&json, text, NULL))
        kind = rn_json_kind(&json, 0);
    rn_json_release(&json);
    return kind != RN_JSON_UNDEFINED &&
           !strchr(" \t\r\n", text.at[text.len - 1]);
}

static void print_cell(struct rn_json_out *o, struct rn_view name,
                       const struct cell *cell)
{
    if (!cell->text.len && !cell->is_quoted)
        return;
    rn_json_out_key(o, name);
    if (!cell->is_quoted && !rn_view_eq(name, RN_LIT("id")) &&
        is_json(cell->text))
        rn_json_out_raw(o, cell->text);
    else
        rn_json_out_string(o, cell->text);
}

enum rn_code rn_csv_print(const struct rn_csv *csv, struct rn_view row,
                          struct rn_buf *out, struct rn_err *err)
{
    struct rn_buf scratch = RN_BUF_INIT(CELL_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    enum rn_code rc = RN_OK;
    uint32_t column = 0;
    size_t at = 0;

    rn_json_out_object_begin(&o);
    while (!rc && at <= row.len) {
        struct cell cell = { 0 };

        rc = take_cell(csv, row, &at, &scratch, &cell, err);
        if (!rc && column < csv->columns)
            print_cell(&o, csv->names[column], &cell);
        column++;
    }
    rn_json_out_object_end(&o);
    rn_buf_release(&scratch);
    if (!rc && column != csv->columns)
        rc = rn_fail(err, RN_BAD_REQUEST, "%u cell%s, but the header has %u",
                     column, column == 1 ? "" : "s", csv->columns);
    if (!rc && rn_json_out_finish(&o))
        rc = rn_fail(err, RN_NOMEM, "out of memory");
    return rc;
}

bool rn_csv_find_end(char delimiter, struct rn_view bytes, size_t *at,
                     enum rn_csv_scan *scan)
{
    while (*at < bytes.len) {
        char c = bytes.at[*at];

        if (*scan == RN_CSV_QUOTED)
            *scan = c == '"' ? RN_CSV_CLOSED : RN_CSV_QUOTED;
        else if (c == '\n')
            return true;
        else if (c == delimiter)
            *scan = RN_CSV_CELL;
        else if (c == '"' && *scan != RN_CSV_PLAIN)
            *scan = RN_CSV_QUOTED; /* a doubled quote opens the cell again */
        else
            *scan = RN_CSV_PLAIN;
        ++*at;
    }
    return false;
}
