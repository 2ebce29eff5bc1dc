/* out.c -- what goes to standard output, and how it looks there. */
#include "tools/common/out.h"

#include "tools/common/report.h"
#include "json/print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_JSON_MAX = 64 << 20 };

static bool is_pretty, is_colored;

void rn_out_begin(const struct rn_args *args)
{
    const char *color = rn_args_text(args, "color");
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool is_terminal = isatty(STDOUT_FILENO);
    bool always = strcmp(color, "always") == 0;

    is_pretty = (is_terminal || always) && !rn_args_flag(args, "json");
    is_colored = strcmp(color, "auto") == 0
                     ? is_terminal && !(no_color && no_color[0]) &&
                           !(term && strcmp(term, "dumb") == 0)
                     : always;
}

bool rn_out_is_pretty(void)
{
    return is_pretty;
}

const char *rn_color(enum rn_color color)
{
    static const char *const codes[] = {
        [RN_COLOR_NONE] = "\033[0m",   [RN_COLOR_BOLD] = "\033[1m",
        [RN_COLOR_DIM] = "\033[2m",    [RN_COLOR_RED] = "\033[31m",
        [RN_COLOR_GREEN] = "\033[32m", [RN_COLOR_YELLOW] = "\033[33m",
        [RN_COLOR_BLUE] = "\033[34m",  [RN_COLOR_MAGENTA] = "\033[35m",
        [RN_COLOR_CYAN] = "\033[36m",
    };

    return is_colored ? codes[color] : "";
}

/* What is still buffered could not be written either, hence _exit. */
static void end_output(int error)
{
    if (error != EPIPE)
        rn_report(RN_EXIT_FAILED, "standard output: %s", strerror(error));
    _exit(error == EPIPE ? RN_EXIT_PIPE : RN_EXIT_FAILED);
}

void rn_out(struct rn_view text)
{
    if (fwrite(text.at, 1, text.len, stdout) != text.len)
        end_output(errno);
}

void rn_outf(const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vprintf(fmt, args);
    va_end(args);
    if (n < 0)
        end_output(errno);
}

void rn_out_flush(void)
{
    if (fflush(stdout) == EOF)
        end_output(errno);
}

/* The descriptor may be open for writing only. */
bool rn_out_is_cut(int fd)
{
    char path[32], last = '\n';
    struct stat is;
    int reader;

    if (fstat(fd, &is) || !S_ISREG(is.st_mode) || is.st_size == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    reader = open(path, O_RDONLY | O_CLOEXEC);
    if (reader < 0)
        return false;
    if (pread(reader, &last, 1, is.st_size - 1) != 1)
        last = '\n';
    close(reader);
    return last != '\n';
}

static void newline(uint32_t indent)
{
    rn_outf("\n%*s", (int)indent, "");
}

static enum rn_color color_of(enum rn_json_kind kind)
{
    switch (kind) {
    case RN_JSON_STRING:
        return RN_COLOR_GREEN;
    case RN_JSON_NUMBER:
        return RN_COLOR_CYAN;
    default:
        return RN_COLOR_MAGENTA;
    }
}

static void out_scalar(const struct rn_json *j, uint32_t value)
{
    const char *quote = rn_json_kind(j, value) == RN_JSON_STRING ? "\"" : "";

    rn_outf("%s%s", rn_color(color_of(rn_json_kind(j, value))), quote);
    rn_out(rn_json_text(j, value));
    rn_outf("%s%s", quote, rn_color(RN_COLOR_NONE));
}

static void out_name(const struct rn_json *j, uint32_t name)
{
    rn_outf("%s\"", rn_color(RN_COLOR_BLUE));
    rn_out(rn_json_text(j, name));
    rn_outf("\"%s: ", rn_color(RN_COLOR_NONE));
}

/* The nesting is that of the document, which the parser limits. */
void rn_out_value(const struct rn_json *j, uint32_t value, uint32_t indent)
{
    bool is_object = rn_json_kind(j, value) == RN_JSON_OBJECT;
    struct rn_json_walk walk = rn_json_walk_begin(j, value);
    bool is_first = true;

    if (!is_object && rn_json_kind(j, value) != RN_JSON_ARRAY) {
        out_scalar(j, value);
        return;
    }
    rn_out(is_object ? RN_LIT("{") : RN_LIT("["));
    while (rn_json_walk_next(&walk)) {
        if (!is_first)
            rn_out(RN_LIT(","));
        is_first = false;
        newline(indent + 2);
        if (is_object)
            out_name(j, walk.name);
        rn_out_value(j, walk.value, indent + 2);
    }
    if (!is_first)
        newline(indent);
    rn_out(is_object ? RN_LIT("}") : RN_LIT("]"));
}

void rn_out_inline(const struct rn_json *j, uint32_t value)
{
    bool is_object = rn_json_kind(j, value) == RN_JSON_OBJECT;
    struct rn_json_walk walk = rn_json_walk_begin(j, value);
    const char *comma = "";

    if (!is_object && rn_json_kind(j, value) != RN_JSON_ARRAY) {
        out_scalar(j, value);
        return;
    }
    rn_out(is_object ? RN_LIT("{") : RN_LIT("["));
    for (; rn_json_walk_next(&walk); comma = ", ") {
        rn_outf("%s", comma);
        if (is_object)
            out_name(j, walk.name);
        rn_out_inline(j, walk.value);
    }
    rn_out(is_object ? RN_LIT("}") : RN_LIT("]"));
}

bool rn_out_is_system(struct rn_view name)
{
    static const char *const names[] = { "_rid",         "_self", "_etag",
                                         "_attachments", "_ts",   "_lsn" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rn_view_eq(name, rn_view_text(names[i])))
            return true;
    }
    return false;
}

static void out_compact(const struct rn_json *j)
{
    struct rn_buf buf = RN_BUF_INIT(OUT_JSON_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);

    rn_json_out_value(&o, j, 0);
    rn_out(rn_json_out_finish(&o) ? j->text : rn_buf_view(&buf));
    rn_buf_release(&buf);
}

void rn_out_json(struct rn_view text)
{
    static const struct rn_json_limits limits = { .bytes = OUT_JSON_MAX,
                                                  .nodes = OUT_JSON_MAX };
    struct rn_json json;

    rn_json_init(&json, &limits);
    if ((!is_pretty && !memchr(text.at, '\n', text.len)) ||
        rn_json_parse(&json, text, NULL))
        rn_out(text);
    else if (is_pretty)
        rn_out_value(&json, 0, 0);
    else
        out_compact(&json);
    rn_out(RN_LIT("\n"));
    rn_json_release(&json);
}
