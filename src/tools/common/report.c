/* report.c -- one line on standard error, and an exit status. */
#include "tools/common/report.h"

#include "tools/common/screen.h"
#include "tools/common/signals.h"
#include "tools/common/target.h"

#include <stdarg.h>

static const char *tool_name = "";

static const struct {
    enum rn_exit status;
    const char *meaning;
} meanings[] = {
    { RN_EXIT_OK, "done" },
    { RN_EXIT_FAILED, "failed: the server or the data refused" },
    { RN_EXIT_USAGE, "wrong usage" },
    { RN_EXIT_NOT_FOUND, "no such database, container or document" },
    { RN_EXIT_FORBIDDEN,
      "no permission: wrong key, or a key without the right" },
    { RN_EXIT_UNREACHABLE, "no connection to the server" },
    { RN_EXIT_CONFLICT, "conflict, or a precondition failed" },
    { RN_EXIT_PARTIAL, "partly done: some lines or documents failed" },
    { RN_EXIT_DIFFERENT, "a verification found differences" },
    { RN_EXIT_LAGGING, "the lag is above the limit" },
    { RN_EXIT_INTERRUPTED, "interrupted by a signal" },
    { RN_EXIT_PIPE, "the reader of standard output went away" },
};

const char *rn_exit_next(size_t *i, enum rn_exit *status)
{
    if (*i == sizeof(meanings) / sizeof(meanings[0]))
        return NULL;
    *status = meanings[*i].status;
    return meanings[(*i)++].meaning;
}

void rn_report_name(const char *name)
{
    tool_name = name;
}

/* Prints one line, whatever is in the text. */
static void print_line(const char *text)
{
    char line[1024];

    snprintf(line, sizeof(line), "runnel%s%s: %s", tool_name[0] ? " " : "",
             tool_name, text);
    for (char *at = line; *at; at++) {
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    }
    rn_screen_restore();
    fflush(stdout);
    fprintf(stderr, "%s\n", line);
}

int rn_report(enum rn_exit status, const char *fmt, ...)
{
    char text[900];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    print_line(text);
    return (int)status;
}

static enum rn_exit status_of(enum rn_code code)
{
    switch (code) {
    case RN_OK:
        return RN_EXIT_OK;
    case RN_BAD_REQUEST:
        return RN_EXIT_USAGE;
    case RN_NOT_FOUND:
        return RN_EXIT_NOT_FOUND;
    case RN_UNAUTHORIZED:
    case RN_FORBIDDEN:
        return RN_EXIT_FORBIDDEN;
    default:
        return RN_EXIT_FAILED;
    }
}

int rn_report_err(const struct rn_err *err)
{
    return rn_report(status_of(err->code), "%s",
                     err->text[0] ? err->text : rn_code_name(err->code));
}

enum rn_exit rn_exit_of(runnel_code code)
{
    switch (code) {
    case RUNNEL_OK:
        return RN_EXIT_OK;
    case RUNNEL_NOT_FOUND:
        return RN_EXIT_NOT_FOUND;
    case RUNNEL_CONFLICT:
    case RUNNEL_PRECONDITION:
        return RN_EXIT_CONFLICT;
    case RUNNEL_UNAUTHORIZED:
    case RUNNEL_FORBIDDEN:
        return RN_EXIT_FORBIDDEN;
    case RUNNEL_UNREACHABLE:
        return RN_EXIT_UNREACHABLE;
    case RUNNEL_CANCELLED:
        return RN_EXIT_INTERRUPTED;
    default:
        return RN_EXIT_FAILED;
    }
}

/* The text up to the quote that ends it, or up to its end, which was cut off.
 */
static struct rn_view quoted(const char *text)
{
    size_t len = 0;

    while (text[len] && text[len] != '"')
        len += text[len] == '\\' && text[len + 1] ? 2 : 1;
    return rn_view_of(text, len);
}

struct rn_view rn_report_sentence(const runnel_error *error)
{
    static const char *const marks[] = { "\"message\":\"", "\"Errors\":[\"" };
    const char *text = error->message, *found;
    struct rn_view all;

    if (!text[0])
        text = runnel_code_name(error->code);
    all = rn_view_text(text);
    if (strncmp(text, "Message: {", 10) == 0) {
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
            found = strstr(text, marks[i]);
            all = found ? quoted(found + strlen(marks[i])) : all;
        }
    }
    found = strstr(all.at, " Learn more: ");
    if (found && found < all.at + all.len)
        all.len = (size_t)(found - all.at);
    return all;
}

/* What to do about a certificate that nothing on this machine vouches for. */
static const char *remedy_of(const runnel_error *error)
{
    return error->code == RUNNEL_UNREACHABLE &&
                   strstr(error->message, "certificate problem")
               ? "; trust the server's authority with --ca-file FILE: a Runnel "
                 "server has it in tls/ca.pem of its data directory"
               : "";
}

int rn_report_error_at(const runnel_error *error, const char *fmt, ...)
{
    char where[512];
    va_list args;

    if (rn_interrupted())
        return RN_EXIT_INTERRUPTED;
    va_start(args, fmt);
    vsnprintf(where, sizeof(where), fmt, args);
    va_end(args);
    if (error->code == RUNNEL_UNAUTHORIZED) {
        return rn_report(RN_EXIT_FORBIDDEN,
                         "%s%sthe server does not accept the key", where,
                         where[0] ? ": " : "");
    }
    return rn_report(rn_exit_of(error->code), "%s%s%.*s%s", where,
                     where[0] ? ": " : "", RN_FMT(rn_report_sentence(error)),
                     remedy_of(error));
}

int rn_report_error(const runnel_error *error)
{
    return rn_report_error_at(error, "%s", "");
}

static bool has_container(const struct rn_target *target)
{
    runnel_reply *reply = NULL;
    runnel_code code = runnel_container_read(target->container, &reply, NULL);

    runnel_reply_close(reply);
    return code != RUNNEL_NOT_FOUND;
}

int rn_report_request(const runnel_error *error, const struct rn_target *target,
                      const char *id)
{
    bool is_unique_key = strstr(error->message, "Unique index") != NULL;

    if (error->code == RUNNEL_CONFLICT && id && !is_unique_key &&
        !rn_interrupted()) {
        return rn_report(RN_EXIT_CONFLICT,
                         "document \"%s\" exists in container \"%s/%s\"", id,
                         target->database_name, target->container_name);
    }
    if (error->code != RUNNEL_NOT_FOUND || rn_interrupted())
        return rn_report_error(error);
    if (!id || !has_container(target)) {
        return rn_report(RN_EXIT_NOT_FOUND,
                         "container \"%s\" does not exist in database \"%s\"",
                         target->container_name, target->database_name);
    }
    return rn_report(RN_EXIT_NOT_FOUND,
                     "document \"%s\" does not exist in container \"%s/%s\"",
                     id, target->database_name, target->container_name);
}
