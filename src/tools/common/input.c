/* input.c -- reads JSON from an argument, a file or standard input. */
#include "tools/common/input.h"

#include "tools/common/report.h"

#include <errno.h>

enum { PIECE = 65536 };

static int read_all(FILE *file, const char *name, struct rn_buf *out)
{
    size_t n;

    do {
        if (rn_buf_reserve(out, PIECE))
            return rn_report(RN_EXIT_USAGE, "%s: more than %d bytes", name,
                             RN_INPUT_MAX);
        n = fread(out->at + out->len, 1, PIECE, file);
        out->len += n;
    } while (n);
    if (ferror(file))
        return rn_report(RN_EXIT_USAGE, "%s: %s", name, strerror(errno));
    return RN_EXIT_OK;
}

static int read_text(const char *operand, const char **name, struct rn_buf *out)
{
    FILE *file;
    int status;

    if (!operand || strcmp(operand, "-") == 0) {
        *name = "standard input";
        return read_all(stdin, *name, out);
    }
    if (operand[0] == '{' || operand[0] == '[') {
        *name = "the argument";
        return rn_buf_add(out, rn_view_text(operand))
                   ? rn_report(RN_EXIT_FAILED, "out of memory")
                   : RN_EXIT_OK;
    }
    *name = operand;
    file = fopen(operand, "re");
    if (!file)
        return rn_report(RN_EXIT_USAGE, "%s: %s", operand, strerror(errno));
    status = read_all(file, operand, out);
    fclose(file);
    return status;
}

int rn_input_read(const char *operand, enum rn_json_kind kind,
                  struct rn_buf *text, struct rn_json *json)
{
    const char *name = NULL;
    struct rn_err err = { 0 };
    int status = read_text(operand, &name, text);

    if (status)
        return status;
    if (rn_json_parse(json, rn_buf_view(text), &err))
        return rn_report(RN_EXIT_USAGE, "%s: %s", name, err.text);
    if (rn_json_kind(json, 0) != kind)
        return rn_report(RN_EXIT_USAGE, "%s: not a JSON %s", name,
                         kind == RN_JSON_ARRAY ? "array" : "object");
    return RN_EXIT_OK;
}
