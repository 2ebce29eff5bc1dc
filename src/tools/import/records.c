/* records.c -- cuts a file into records. */
#include "tools/import/records.h"

#include "tools/transfer/document.h"
#include "json/utf8.h"

/* A search for the end of the record that begins at the input's place. */
struct search {
    size_t at;            /* bytes looked at */
    uint32_t depth;       /* array: of brackets */
    bool is_string;       /* array: inside one */
    bool is_escaped;      /* array: the next character is */
    enum rn_csv_scan csv; /* CSV */
};

/* ---- ends ---------------------------------------------------------------- */

static bool find_line_end(struct rn_view bytes, struct search *s)
{
    const char *newline =
        s->at < bytes.len ? memchr(bytes.at + s->at, '\n', bytes.len - s->at)
                          : NULL;

    s->at = newline ? (size_t)(newline - bytes.at) : bytes.len;
    return newline;
}

/* The comma or bracket behind an element. */
static bool find_element_end(struct rn_view bytes, struct search *s)
{
    for (; s->at < bytes.len; s->at++) {
        char c = bytes.at[s->at];

        if (s->is_string) {
            if (s->is_escaped)
                s->is_escaped = false;
            else if (c == '\\')
                s->is_escaped = true;
            else if (c == '"')
                s->is_string = false;
            continue;
        }
        if (s->depth == 0 && (c == ',' || c == ']'))
            return true;
        if (c == '"')
            s->is_string = true;
        else if (c == '{' || c == '[')
            s->depth++;
        else if ((c == '}' || c == ']') && s->depth)
            s->depth--;
    }
    return false;
}

static bool find_end(const struct rn_records *r, struct search *s)
{
    struct rn_view bytes = rn_input_view(&r->input);

    switch (r->format) {
    case RN_FORMAT_ARRAY:
        return find_element_end(bytes, s);
    case RN_FORMAT_CSV:
        return rn_csv_find_end(r->csv.delimiter, bytes, &s->at, &s->csv);
    default:
        return find_line_end(bytes, s);
    }
}

/* ---- records ------------------------------------------------------------- */

/* May it stand between records?  In CSV, blanks and tabs belong to cells. */
static bool is_blank(const struct rn_records *r, char c)
{
    return c == '\r' || c == '\n' ||
           (r->format != RN_FORMAT_CSV && (c == ' ' || c == '\t'));
}

/* Consumes blanks and, in an array, one comma. */
static enum rn_code skip_between(struct rn_records *r, struct rn_err *err)
{
    bool may_skip_comma = r->format == RN_FORMAT_ARRAY;

    for (;;) {
        struct rn_view bytes = rn_input_view(&r->input);
        size_t n = 0;
        enum rn_code rc;

        while (n < bytes.len && (is_blank(r, bytes.at[n]) ||
                                 (bytes.at[n] == ',' && may_skip_comma))) {
            may_skip_comma = may_skip_comma && bytes.at[n] != ',';
            n++;
        }
        rn_input_consume(&r->input, n);
        if (n < bytes.len || r->input.is_end)
            return RN_OK;
        rc = rn_input_more(&r->input, err);
        if (rc)
            return rc;
    }
}

/* Brings the whole record into the buffer; `*len` is its length without what
 * ends it.  One that is too long is consumed but for its end. */
static enum rn_code gather(struct rn_records *r, size_t *len,
                           struct rn_err *err)
{
    struct search search = { 0 };
    bool is_too_long = false;
    enum rn_code rc = RN_OK;

    while (!rc && !find_end(r, &search) && !r->input.is_end) {
        if (search.at > RN_DOCUMENT_MAX) {
            is_too_long = true;
            rn_input_consume(&r->input, search.at);
            search.at = 0;
        }
        rc = rn_input_more(&r->input, err);
    }
    *len = search.at;
    if (!rc && (is_too_long || *len > RN_DOCUMENT_MAX))
        rc = rn_fail(err, RN_BAD_REQUEST, "longer than %d MiB",
                     RN_DOCUMENT_MAX >> 20);
    return rc;
}

static struct rn_view without_blanks(const struct rn_records *r,
                                     struct rn_view text)
{
    while (text.len && is_blank(r, text.at[text.len - 1]))
        text.len--;
    return text;
}

/* Behind the last element of an array. */
static enum rn_code end_array(struct rn_records *r, struct rn_record *out,
                              struct rn_err *err)
{
    struct rn_view rest = rn_input_view(&r->input);

    if (!r->is_over && !rest.len) {
        r->is_over = true;
        return rn_fail(err, RN_BAD_REQUEST,
                       "the file ends before the array is closed");
    }
    if (!r->is_over) {
        enum rn_code rc;

        r->is_over = true;
        rn_input_consume(&r->input, 1);
        rc = skip_between(r, err);
        if (rc)
            return rc;
        rest = rn_input_view(&r->input);
        out->line = r->input.place.line;
    }
    if (!rest.len)
        return RN_NOT_FOUND;
    rn_input_consume(&r->input, rest.len);
    return rn_fail(err, RN_BAD_REQUEST, "text behind the end of the array");
}

static bool is_utf8(struct rn_view text)
{
    const char *at = text.at, *end = text.at + text.len;
    size_t n = 1;

    for (; at < end && n; at += n)
        n = rn_utf8_len(at, end);
    return n > 0;
}

/* Makes the document of a row. */
static enum rn_code convert_row(struct rn_records *r, struct rn_record *record,
                                struct rn_err *err)
{
    enum rn_code rc;

    rn_buf_clear(&r->row);
    if (!is_utf8(record->text))
        return rn_fail(err, RN_BAD_REQUEST, "not UTF-8");
    rc = rn_csv_print(&r->csv, record->text, &r->row, err);
    record->json = rn_buf_view(&r->row);
    return rc;
}

/* The text of the next record, which stays in the input; `*len` is how much of
 * that to consume. */
static enum rn_code next_text(struct rn_records *r, struct rn_record *out,
                              size_t *len, struct rn_err *err)
{
    struct rn_view bytes;
    enum rn_code rc = skip_between(r, err);

    *len = 0;
    *out = (struct rn_record){ .line = r->input.place.line };
    if (rc)
        return rc;
    bytes = rn_input_view(&r->input);
    if (r->format == RN_FORMAT_ARRAY &&
        (!bytes.len || bytes.at[0] == ']' || r->is_over))
        return end_array(r, out, err);
    if (!bytes.len)
        return RN_NOT_FOUND;
    rc = gather(r, len, err);
    out->text =
        without_blanks(r, rn_view_of(rn_input_view(&r->input).at, *len));
    out->json = out->text;
    return rc;
}

enum rn_code rn_records_next(struct rn_records *r, struct rn_record *out,
                             struct rn_err *err)
{
    size_t len;
    enum rn_code rc = next_text(r, out, &len, err);

    if (!rc && r->format == RN_FORMAT_CSV)
        rc = convert_row(r, out, err);
    rn_input_consume(&r->input, len);
    return rc;
}

/* ---- opening ------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);

    return a >= b && strcmp(text + a - b, end) == 0;
}

static enum rn_code read_header(struct rn_records *r, char delimiter,
                                struct rn_err *err)
{
    struct rn_record header;
    size_t len;
    enum rn_code rc;

    r->csv.delimiter = delimiter; /* which the search for its end needs */
    rc = next_text(r, &header, &len, err);
    if (rc == RN_NOT_FOUND)
        return rn_fail(err, RN_IO, "%s has no header", r->input.name);
    if (!rc && !is_utf8(header.text))
        rc = rn_fail(err, RN_BAD_REQUEST, "not UTF-8");
    if (!rc)
        rc = rn_csv_init(&r->csv, delimiter, header.text, err);
    rn_input_consume(&r->input, len);
    return rc;
}

/* Consumes a byte order mark and what opens an array, or reads a header. */
static enum rn_code open_format(struct rn_records *r, char delimiter,
                                struct rn_err *err)
{
    struct rn_view bytes;
    enum rn_code rc = rn_input_more(&r->input, err);

    if (rc)
        return rc;
    if (rn_view_starts(rn_input_view(&r->input), RN_LIT("\xef\xbb\xbf")))
        rn_input_consume(&r->input, 3);
    if (r->format == RN_FORMAT_AUTO && ends_with(r->input.name, ".csv"))
        r->format = RN_FORMAT_CSV;
    if (r->format == RN_FORMAT_CSV)
        return read_header(r, delimiter, err);
    rc = skip_between(r, err);
    bytes = rn_input_view(&r->input);
    if (r->format == RN_FORMAT_AUTO)
        r->format = bytes.len && bytes.at[0] == '[' ? RN_FORMAT_ARRAY
                                                    : RN_FORMAT_NDJSON;
    if (rc || r->format == RN_FORMAT_NDJSON)
        return rc;
    if (!bytes.len || bytes.at[0] != '[')
        return rn_fail(err, RN_IO, "%s:%llu: not a JSON array", r->input.name,
                       (unsigned long long)r->input.place.line);
    rn_input_consume(&r->input, 1);
    return RN_OK;
}

enum rn_code rn_records_open(struct rn_records *r, const char *name,
                             enum rn_record_format format, char delimiter,
                             struct rn_err *err)
{
    enum rn_code rc;

    *r = (struct rn_records){ .format = format,
                              .row = RN_BUF_INIT((size_t)8 * RN_DOCUMENT_MAX) };
    rc = rn_input_open(&r->input, name, err);
    if (!rc)
        rc = open_format(r, delimiter, err);
    if (rc == RN_BAD_REQUEST)
        rn_err_during(err, "%s:1", name);
    return rc;
}

void rn_records_close(struct rn_records *r)
{
    rn_input_close(&r->input);
    rn_csv_release(&r->csv);
    rn_buf_release(&r->row);
    *r = (struct rn_records){ 0 };
}

enum rn_code rn_records_skip(struct rn_records *r, struct rn_place to,
                             struct rn_err *err)
{
    return to.offset > r->input.place.offset ? rn_input_skip(&r->input, to, err)
                                             : RN_OK;
}
