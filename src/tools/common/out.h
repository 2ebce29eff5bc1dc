/* out.h -- standard output: text, JSON and colours.
 *
 * Output is buffered; rn_out_flush sends it.  If standard output cannot be
 * written, the process ends at once: quietly with RN_EXIT_PIPE if the reader
 * went away, else after one line with RN_EXIT_FAILED.  So whatever comes after
 * a flush, such as a checkpoint, may rely on the output having been accepted.
 * One thread at a time.
 */
#ifndef RN_TOOLS_COMMON_OUT_H
#define RN_TOOLS_COMMON_OUT_H

#include "tools/common/option.h"
#include "json/json.h"

enum rn_color {
    RN_COLOR_NONE, /* back to normal */
    RN_COLOR_BOLD,
    RN_COLOR_DIM,
    RN_COLOR_RED,
    RN_COLOR_GREEN,
    RN_COLOR_YELLOW,
    RN_COLOR_BLUE,
    RN_COLOR_MAGENTA,
    RN_COLOR_CYAN,
};

/* Reads --color and --json; main calls it. */
void rn_out_begin(const struct rn_args *args);

/* For people: standard output is a terminal, or --color is always, and there
 * was no --json. */
bool rn_out_is_pretty(void);
/* The escape sequence of the colour, or "" without colours. */
const char *rn_color(enum rn_color color);

/* The end of a noun behind its number: "%llu document%s". */
static inline const char *rn_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void rn_out(struct rn_view text);
void rn_outf(const char *fmt, ...) RN_PRINTF(1, 2);
/* One JSON value and a newline: indented and coloured if pretty, else on one
 * line.  What is not JSON is printed as it is. */
void rn_out_json(struct rn_view json);
/* The same of a parsed value; `indent` columns before every line but the
 * first, and no newline behind it. */
void rn_out_value(const struct rn_json *json, uint32_t value, uint32_t indent);
/* The same on one line. */
void rn_out_inline(const struct rn_json *json, uint32_t value);
/* Is it a member that the server adds to every document, which views for people
 * leave out? */
bool rn_out_is_system(struct rn_view name);
void rn_out_flush(void);

/* Does the file end within a line, which a full disk or a crash has cut?  What
 * is not a regular file does not. */
bool rn_out_is_cut(int fd);

#endif
