/* options.c -- the option table and its parsers; see options.h. */
#include "server/options.h"

#include "base/env.h"
#include "base/nearest.h"
#include "json/json.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

/* A WORD is one of a few values, so that it may appear in the metrics. */
enum kind { TEXT, WORD, FLAG, COUNT, BYTES, MILLIS };

struct option {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct rn_options */
    const char *otherwise;
    uint64_t least, most; /* limits of a number */
    const char *value;    /* its placeholder in the help */
    const char *help;
};

#define AT(member) offsetof(struct rn_options, member)

/* clang-format off */
static const struct option table[] = {
    { "config", TEXT, AT(config), NULL, 0, 0, "FILE",
      "Read options from a JSON object first." },
    { "listen", TEXT, AT(listen), "localhost:8081", 0, 0, "HOST:PORT",
      "Address to serve HTTP and HTTPS on; port 0 takes any and prints it. "
      "localhost is 127.0.0.1 and ::1." },
    { "data", TEXT, AT(data), "runnel-data", 0, 0, "DIR",
      "Directory of the data; created if absent." },
    { "store", WORD, AT(store), "local", 0, 0, "NAME",
      "local stores data in DIR; mem stores it in memory only." },
    { "seed", TEXT, AT(seed), NULL, 0, 0, "FILE|DIR",
      "Load these databases, containers and documents into a new store: "
      "DIR/DATABASE/CONTAINER.json and .ndjson, or one FILE of JSON lines." },
    { "advertise", TEXT, AT(advertise), NULL, 0, 0, "URL",
      "Endpoint that clients get from the server.  Default: that of each "
      "request." },
    { "consistency", WORD, AT(consistency), "Session", 0, 0, "LEVEL",
      "Default consistency level of the account." },
    { "ranges", COUNT, AT(ranges), "0", 0, 1024, "N",
      "Partition key ranges of a new container; 0: by its throughput." },
    { "enforce-throughput", FLAG, AT(enforce_throughput), NULL, 0, 0, NULL,
      "Answer 429 to requests above a container's throughput." },
    { "tls-cert", TEXT, AT(tls_cert), NULL, 0, 0, "FILE",
      "Certificate chain (PEM) for HTTPS, on the same port.  Default: "
      "DIR/tls/cert.pem, if it exists." },
    { "tls-key", TEXT, AT(tls_key), NULL, 0, 0, "FILE",
      "Its private key (PEM), of mode 0640 at most.  Default: DIR/tls/key.pem." },
    { "no-auto-tls", FLAG, AT(no_auto_tls), NULL, 0, 0, NULL,
      "On loopback, create no certificate.  By default the server creates one "
      "for localhost in DIR/tls if there is none, and renews it; with --store "
      "mem it is in memory." },
    { "metrics-token-file", TEXT, AT(metrics_token_file), NULL, 0, 0, "FILE",
      "A file with the Bearer token for /metrics off loopback; of mode 0640 at "
      "most." },
    { "admin", FLAG, AT(admin), NULL, 0, 0, NULL,
      "Serve the control routes under /_runnel/ off loopback too." },
    { "any-order", FLAG, AT(any_order), NULL, 0, 0, NULL,
      "Serve ORDER BY whatever the container's indexing policy." },
    { "strict", FLAG, AT(strict), NULL, 0, 0, NULL,
      "Be as strict as the service.  A container of more than 10,000 RU/s "
      "begins with a range for each 6,000.  The first change of a range has "
      "LSN 2.  A query whose rows a client must merge is answered 400, "
      "sub-status 1004.  A page of any other query has rows of one range and, "
      "if it is full, a continuation.  Ids that the service's older gateway "
      "cannot serve are answered 401 or 400.  404 does not name the owner of "
      "its session token.  A create needs the partition key header." },
    { "latency-ms", MILLIS, AT(latency_ms), "0", 0, 60000, "MS",
      "Minimum time from a request to its response, to test time-outs or to "
      "simulate a distant region." },
    { "test-mode", FLAG, AT(test_mode), NULL, 0, 0, NULL,
      "Serve the test routes, which advance the clock or an LSN and inject "
      "faults." },
    { "allow-well-known-key-on-network", FLAG, AT(allow_well_known_key), NULL,
      0, 0, NULL, "Accept the emulators' public key off loopback." },
    { "allow-plain-http-on-network", FLAG, AT(allow_plain_http), NULL, 0, 0,
      NULL, "Serve without TLS off loopback." },
    { "user", TEXT, AT(user), NULL, 0, 0, "NAME",
      "Become this user once the address is bound." },
    { "allow-root", FLAG, AT(allow_root), NULL, 0, 0, NULL,
      "Serve off loopback as root." },
    { "log-format", WORD, AT(log_format), "auto", 0, 0, "json|text|auto",
      "One JSON object a line, or text; auto is text on a terminal, JSON "
      "elsewhere." },
    { "log-level", WORD, AT(log_level), "info", 0, 0, "LEVEL",
      "error, warn or info." },
    { "log-requests", FLAG, AT(log_requests), NULL, 0, 0, NULL,
      "Log every request." },
    { "slow-ms", MILLIS, AT(slow_ms), "100", 0, 3600000, "MS",
      "Log requests that take longer; 0: none." },
    { "loops", COUNT, AT(loops), "0", 0, 64, "N",
      "Threads that serve connections; 0: one for each core but one." },
    { "workers", COUNT, AT(workers), "2", 1, 64, "N",
      "Queries that run at the same time, in turns of 100 ms." },
    { "queries-max", COUNT, AT(queries_max), "16", 1, 256, "N",
      "Queries in progress, at least as many as run at the same time; one key "
      "or permission has half of them at most." },
    { "queries-waiting-max", COUNT, AT(queries_waiting_max), "1000", 1, 1000000,
      "N", "Queries of one key or permission that wait to begin; more are "
      "answered 429." },
    { "query-ms", MILLIS, AT(query_ms), "30000", 100, 3600000, "MS",
      "Time that a page of a query may run; waiting does not count." },
    { "connections-max", COUNT, AT(connections_max), "10000", 1, 1000000, "N",
      "Connections at once; more are closed." },
    { "connections-per-address", COUNT, AT(connections_per_address), "0", 0,
      1000000, "N",
      "Connections from one client address; 0: 1000, and no limit for loopback, "
      "where a proxy may serve many clients." },
    { "auth-delay-ms", MILLIS, AT(auth_delay_ms), "0", 0, 3600000, "MS",
      "Time before a wrong signature or token is refused; 0: 100, and none on "
      "loopback." },
    { "requests-max", COUNT, AT(requests_max), "10000", 1, 4000000000, "N",
      "Requests on one connection; then it is closed." },
    { "body-bytes-max", BYTES, AT(body_bytes_max), "4M", 1024, 64 << 20,
      "BYTES", "Size of a request's body." },
    { "bodies-bytes-max", BYTES, AT(bodies_bytes_max), "256M", 1 << 20,
      UINT64_C(1) << 40, "BYTES",
      "Memory for bodies of all requests that are being received, at least "
      "twice the largest; more are answered 503." },
    { "head-ms", MILLIS, AT(head_ms), "10000", 100, 3600000, "MS",
      "Time for a request to arrive; a body of which 1 KiB comes every second "
      "has longer." },
    { "idle-ms", MILLIS, AT(idle_ms), "120000", 100, 86400000, "MS",
      "Time between requests." },
    { "stall-ms", MILLIS, AT(stall_ms), "30000", 100, 3600000, "MS",
      "Time that a client may take to read a response." },
    { "drain-ms", MILLIS, AT(drain_ms), "5000", 0, 3600000, "MS",
      "Time for requests to finish when stopping." },
    { "reserve-bytes", BYTES, AT(reserve_bytes), "64M", 1 << 20, UINT64_MAX,
      "BYTES", "Free disk space below which writes are refused." },
    { "wal-bytes", BYTES, AT(wal_bytes), "0", 96 << 20, UINT64_MAX, "BYTES",
      "Limit of the write-ahead log.  A memtable has half of it, 256M at most, "
      "and under load three times as much.  0: 1/64 of the machine's memory, "
      "from 96M to 320M." },
    { "checkpoint-ms", MILLIS, AT(checkpoint_ms), "5000", 100, 3600000, "MS",
      "Longest time between checkpoints." },
};
/* clang-format on */

enum { OPTIONS = sizeof(table) / sizeof(table[0]), CONFIG_MAX = 1 << 20 };

/* Former names, which are still accepted. */
static const struct {
    const char *old, *name;
} renamed[] = { { "log-bytes", "wal-bytes" } };

enum { RENAMED = sizeof(renamed) / sizeof(renamed[0]) };

static const struct option *find(struct rn_view name)
{
    for (size_t i = 0; i < RENAMED; i++) {
        if (rn_view_eq(rn_view_text(renamed[i].old), name))
            name = rn_view_text(renamed[i].name);
    }
    for (size_t i = 0; i < OPTIONS; i++) {
        if (rn_view_eq(rn_view_text(table[i].name), name))
            return &table[i];
    }
    return NULL;
}

/* ---- values -------------------------------------------------------------- */

/* By how many bits K, M and G shift a number; 0 for any other letter. */
static unsigned shift_of(char suffix)
{
    switch (suffix) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    default:
        return 0;
    }
}

static bool read_number(const struct option *o, const char *text, uint64_t *out)
{
    char *end = NULL;
    unsigned shift = 0;
    uint64_t n;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno)
        return false;
    if (o->kind == BYTES)
        shift = shift_of(*end);
    if (shift)
        end++;
    if (*end || n > UINT64_MAX >> shift)
        return false;
    *out = n << shift;
    if (o->otherwise && strcmp(text, o->otherwise) == 0)
        return true; /* 0 may stand for a default taken from the machine */
    return *out >= o->least && *out <= o->most;
}

static bool read_flag(const char *text, bool *out)
{
    *out = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *out || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static enum rn_code set(struct rn_options *options, const struct option *o,
                        const char *text, struct rn_err *err)
{
    char *at = (char *)options + o->offset;
    bool good = true;

    if (o->kind == TEXT || o->kind == WORD)
        memcpy(at, &text, sizeof(text));
    else if (o->kind == FLAG)
        good = read_flag(text, (bool *)(void *)at);
    else
        good = read_number(o, text, (uint64_t *)(void *)at);
    if (good)
        return RN_OK;
    if (o->kind == FLAG)
        return rn_fail(err, RN_BAD_REQUEST, "--%s is true or false, not '%s'",
                       o->name, text);
    return rn_fail(err, RN_BAD_REQUEST,
                   "--%s is a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
                   o->name, o->least, o->most, text);
}

static void set_defaults(struct rn_options *out)
{
    *out = (struct rn_options){ 0 };
    for (size_t i = 0; i < OPTIONS; i++) {
        struct rn_err err;
        if (table[i].otherwise)
            (void)!set(out, &table[i], table[i].otherwise, &err);
    }
}

/* ---- sources ------------------------------------------------------------- */

/* NULL if out of memory, or if it contains a NUL. */
static const char *text_of(const struct rn_json *j, uint32_t value,
                           struct rn_arena *arena)
{
    struct rn_view text = rn_json_text(j, value);
    char *copy;

    if (rn_json_kind(j, value) == RN_JSON_STRING &&
        rn_json_string_get(j, value, arena, &text))
        return NULL;
    copy = rn_arena_alloc(arena, text.len + 1);
    if (!copy || !text.at || memchr(text.at, '\0', text.len))
        return NULL;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return copy;
}

/* TEXT must be a string; other kinds may be one too, as on the command line. */
static bool is_of_kind(const struct option *o, enum rn_json_kind kind)
{
    switch (kind) {
    case RN_JSON_STRING:
        return true;
    case RN_JSON_TRUE:
    case RN_JSON_FALSE:
        return o->kind == FLAG;
    case RN_JSON_NUMBER:
        return o->kind != TEXT && o->kind != WORD && o->kind != FLAG;
    default:
        return false;
    }
}

static enum rn_code set_json(const struct rn_json *j, uint32_t value,
                             const struct option *o, struct rn_arena *arena,
                             struct rn_options *out, struct rn_err *err)
{
    const char *text;

    if (!is_of_kind(o, rn_json_kind(j, value)))
        return rn_fail(err, RN_BAD_REQUEST, "%s cannot be '%.*s'", o->name,
                       RN_FMT(rn_json_text(j, value)));
    text = text_of(j, value, arena);
    return text ? set(out, o, text, err)
                : rn_fail(err, RN_BAD_REQUEST,
                          "%s is too long, or has a zero "
                          "byte",
                          o->name);
}

static enum rn_code from_json(const struct rn_json *j, struct rn_arena *arena,
                              struct rn_options *out, struct rn_err *err)
{
    struct rn_json_walk w = rn_json_walk_begin(j, 0);
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, 0) != RN_JSON_OBJECT)
        return rn_fail(err, RN_BAD_REQUEST, "not a JSON object");
    while (!rc && rn_json_walk_next(&w)) {
        struct rn_view name = rn_json_text(j, w.name);
        const struct option *o = find(name);

        if (!o) {
            rc = rn_fail(err, RN_BAD_REQUEST, "there is no option '%.*s'",
                         RN_FMT(name));
        } else if (rn_view_eq(name, RN_LIT("config"))) {
            rc = rn_fail(err, RN_BAD_REQUEST,
                         "config is not allowed in a configuration file");
        } else {
            rc = set_json(j, w.value, o, arena, out, err);
        }
    }
    return rc;
}

static enum rn_code read_config(const char *path, char text[CONFIG_MAX],
                                size_t *got, struct rn_err *err)
{
    struct rn_file *file = NULL;
    uint64_t size = 0;
    int error = rn_file_open(rn_env_real(), path, RN_OPEN_FOLLOW, &file);

    if (!error)
        error = rn_file_size(file, &size);
    if (!error)
        error = rn_file_read(file, text, CONFIG_MAX, 0, got);
    rn_file_close(file);
    if (error)
        return rn_fail_errno(err, error, "%s", path);
    return size > CONFIG_MAX
               ? rn_fail(err, RN_BAD_REQUEST, "%s: larger than 1 MiB", path)
               : RN_OK;
}

static enum rn_code from_file(const char *path, struct rn_arena *arena,
                              struct rn_options *out, struct rn_err *err)
{
    char *text = rn_arena_alloc(arena, CONFIG_MAX);
    struct rn_json json;
    size_t got = 0;
    enum rn_code rc;

    if (!text)
        return RN_NOMEM;
    rc = read_config(path, text, &got, err);
    if (rc)
        return rc;
    rn_json_init(&json, NULL);
    rc = rn_json_parse(&json, rn_view_of(text, got), err);
    if (!rc)
        rc = from_json(&json, arena, out, err);
    rn_json_release(&json);
    if (rc)
        rn_err_during(err, "%s", path);
    return rc;
}

static bool starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static int as_in_variable(char c)
{
    return c == '-' ? '_' : toupper((unsigned char)c);
}

/* RUNNEL_LOG_FORMAT for log-format. */
static bool is_variable_for(const char *variable, const char *name,
                            const char **value)
{
    const char *at = variable + strlen("RUNNEL_");

    if (!starts(variable, "RUNNEL_"))
        return false;
    for (; *name; name++, at++) {
        if (*at != as_in_variable(*name))
            return false;
    }
    *value = at + 1;
    return *at == '=';
}

static bool is_variable_of(const char *variable, const struct option *o,
                           const char **value)
{
    for (size_t i = 0; i < RENAMED; i++) {
        if (strcmp(renamed[i].name, o->name) == 0 &&
            is_variable_for(variable, renamed[i].old, value))
            return true;
    }
    return is_variable_for(variable, o->name, value);
}

static enum rn_code from_environment(char **environment, struct rn_options *out,
                                     struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    for (; !rc && *environment; environment++) {
        for (size_t i = 0; !rc && i < OPTIONS; i++) {
            const char *value;
            if (is_variable_of(*environment, &table[i], &value))
                rc = set(out, &table[i], value, err);
        }
    }
    return rc;
}

/* A variable of the command-line tools, which run in the same environment as
 * the server. */
static bool is_variable_of_tools(const char *variable)
{
    static const char *const names[] = { "RUNNEL_ACCOUNT=", "RUNNEL_KEY=",
                                         "RUNNEL_DB=", "RUNNEL_CONTAINER=",
                                         "RUNNEL_CA_FILE=" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (starts(variable, names[i]))
            return true;
    }
    return false;
}

bool rn_options_is_stray(const char *variable)
{
    const char *value;

    if (is_variable_of_tools(variable))
        return false;
    for (size_t i = 0; i < OPTIONS; i++) {
        if (is_variable_of(variable, &table[i], &value))
            return false;
    }
    return starts(variable, "RUNNEL_") &&
           !starts(variable, "RUNNEL_SERVICE_") &&
           !starts(variable, "RUNNEL_PORT=") &&
           !starts(variable, "RUNNEL_PORT_");
}

static enum rn_code fail_unknown(struct rn_view name, struct rn_err *err)
{
    struct rn_nearest near = { .word = name };

    for (size_t i = 0; i < OPTIONS; i++)
        rn_nearest_offer(&near, table[i].name);
    if (near.found) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "there is no option '--%.*s'; did you mean '--%s'?",
                       RN_FMT(name), near.found);
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "there is no option '--%.*s'; see 'runnel serve --help'",
                   RN_FMT(name));
}

/* Parses the option and value at argv[*at] and advances behind them. */
static enum rn_code next_argument(int argc, char **argv, int *at,
                                  const struct option **o, const char **value,
                                  struct rn_err *err)
{
    const char *text = argv[*at];
    const char *equals = strchr(text, '=');
    struct rn_view name = { text + 2, equals ? (size_t)(equals - text) - 2
                                             : strlen(text) - 2 };

    if (!starts(text, "--"))
        return rn_fail(err, RN_BAD_REQUEST, "'%s' is not an option", text);
    *o = find(name);
    if (!*o)
        return fail_unknown(name, err);
    *at += 1;
    *value = equals ? equals + 1 : (*o)->kind == FLAG ? "true" : NULL;
    if (!*value && *at < argc)
        *value = argv[(*at)++];
    return *value
               ? RN_OK
               : rn_fail(err, RN_BAD_REQUEST, "--%s needs a value", (*o)->name);
}

static enum rn_code from_arguments(int argc, char **argv,
                                   struct rn_options *out, struct rn_err *err)
{
    enum rn_code rc = RN_OK;
    int at = 1;

    while (!rc && at < argc) {
        const struct option *o = NULL;
        const char *value = NULL;
        rc = next_argument(argc, argv, &at, &o, &value, err);
        assert(rc || (o && value));
        if (!rc)
            rc = set(out, o, value, err);
    }
    return rc;
}

/* http or https, a host, an optional port, and no path. */
static enum rn_code check_advertised(struct rn_options *o, struct rn_err *err)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const char *host = o->advertise, *end;

    if (!host)
        return RN_OK;
    host += starts(host, "https://") ? 8 : starts(host, "http://") ? 7 : 0;
    end = host +
          strspn(host, host[0] == '[' ? "[0123456789abcdefABCDEF:." : name);
    if (host[0] == '[' && end[0] == ']')
        end++;
    if (host > o->advertise && end > host &&
        (size_t)(end - host) < sizeof(o->advertised_host) &&
        (host[0] != '[' || end[-1] == ']')) {
        size_t len = (size_t)(end - host);
        char *after = NULL;

        memcpy(o->advertised_host, host, len);
        o->advertised_host[len] = '\0';
        if (end[0] == ':' && end[1] >= '0' && end[1] <= '9' &&
            strtoul(end + 1, &after, 10) - 1 < UINT16_MAX)
            end = after;
        if (end[0] == '\0' || strcmp(end, "/") == 0)
            return RN_OK;
    }
    return rn_fail(err, RN_BAD_REQUEST,
                   "--advertise is http[s]://HOST[:PORT]/, not '%s'",
                   o->advertise);
}

static enum rn_code read_all(int argc, char **argv, char **environment,
                             struct rn_arena *arena, struct rn_options *out,
                             struct rn_err *err)
{
    const char *config;
    enum rn_code rc;

    /* First to find the file, then again so that the file has the lowest
     * precedence. */
    set_defaults(out);
    rc = from_environment(environment, out, err);
    if (!rc)
        rc = from_arguments(argc, argv, out, err);
    config = out->config;
    if (rc || !config)
        return rc;
    set_defaults(out);
    rc = from_file(config, arena, out, err);
    if (!rc)
        rc = from_environment(environment, out, err);
    if (!rc)
        rc = from_arguments(argc, argv, out, err);
    return rc;
}

enum rn_code rn_options_read(int argc, char **argv, char **environment,
                             struct rn_arena *arena, struct rn_options *out,
                             struct rn_err *err)
{
    enum rn_code rc = read_all(argc, argv, environment, arena, out, err);

    return rc ? rc : check_advertised(out, err);
}

/* The words of `text`, in lines of 80 columns behind eight blanks. */
static size_t print_words(FILE *to, const char *text, size_t column)
{
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column == 0 || column + 1 + len > 80) {
            column = (size_t)fprintf(to, "%s%8s%.*s", column ? "\n" : "", "",
                                     (int)len, text) -
                     (column ? 1 : 0);
        } else {
            column += (size_t)fprintf(to, " %.*s", (int)len, text);
        }
        text += len;
        text += *text == ' ';
    }
    return column;
}

void rn_options_print_help(FILE *to)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &table[i];
        size_t column;

        fprintf(to, "  --%s%s%s\n", o->name, o->value ? " " : "",
                o->value ? o->value : "");
        column = print_words(to, o->help, 0);
        if (o->otherwise) {
            char text[64];
            snprintf(text, sizeof(text), "Default: %s.", o->otherwise);
            print_words(to, text, column);
        }
        fprintf(to, "\n");
    }
}

/* ---- labels -------------------------------------------------------------- */

static enum rn_code print_value(const struct rn_options *options,
                                const struct option *o, struct rn_buf *out)
{
    const char *at = (const char *)options + o->offset, *text;

    if (o->kind == WORD) {
        memcpy(&text, at, sizeof(text));
        return rn_buf_printf(out, "%s", text);
    }
    if (o->kind == FLAG)
        return rn_buf_printf(out, "%d", *(const bool *)(const void *)at);
    return rn_buf_printf(out, "%" PRIu64, *(const uint64_t *)(const void *)at);
}

enum rn_code rn_options_print_labels(const struct rn_options *options,
                                     struct rn_buf *out)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < OPTIONS; i++) {
        const struct option *o = &table[i];

        if (o->kind == TEXT)
            continue;
        if (out->len)
            rc = rn_buf_add(out, RN_LIT(","));
        for (const char *at = o->name; !rc && *at; at++)
            rc = rn_buf_add(out, *at == '-' ? RN_LIT("_") : rn_view_of(at, 1));
        if (!rc)
            rc = rn_buf_add(out, RN_LIT("=\""));
        if (!rc)
            rc = print_value(options, o, out);
        if (!rc)
            rc = rn_buf_add(out, RN_LIT("\""));
    }
    return rc;
}
