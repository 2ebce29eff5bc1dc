/* parse.c -- the one-pass JSON parser; see json.h.
 *
 * There is no recursion and no stack besides the tape.  While a container is
 * open, its node holds the parser's state:
 *
 *   span   the index of the container around it, or RN_JSON_NONE
 *   len    how many members or elements it had when one inside it was opened
 *
 * close_container replaces them with their final values.
 *
 * The take_... functions expect a token at `at` and return the position after
 * it, or NULL after fail_at has completed the message.
 */
#include "json/json.h"
#include "json/names.h"
#include "json/number.h"
#include "json/scan.h"
#include "json/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

struct parser {
    struct rn_json *json;
    struct rn_json_node *nodes; /* the tape, writable */
    uint32_t room;              /* capacity in nodes */
    uint32_t open;              /* the innermost open container, or none */
    bool is_object;             /* whether it is an object */
    uint32_t members;           /* its members so far */
    uint32_t depth;
    const char *start, *end;
    enum rn_code rc;
    struct rn_err *err;
};

/* ---- limits -------------------------------------------------------------- */

static uint32_t or_default(uint32_t given, uint32_t otherwise)
{
    return given ? given : otherwise;
}

static uint64_t process_seed;

void rn_json_seed_set(uint64_t seed)
{
    process_seed = seed;
}

void rn_json_init(struct rn_json *j, const struct rn_json_limits *limits)
{
    struct rn_json_limits l = limits ? *limits : (struct rn_json_limits){ 0 };

    l.bytes = or_default(l.bytes, 8u << 20);
    l.nodes = or_default(l.nodes, 1u << 21);
    l.names = or_default(l.names, 1u << 20);
    l.depth = or_default(l.depth, 128);
    if (l.seed == 0)
        l.seed = process_seed ? process_seed : (uintptr_t)j;
    assert(l.nodes < 1u << RN_JSON_COUNT_BITS);
    assert(l.depth <= RN_JSON_DEPTH_MAX);
    *j = (struct rn_json){
        .limits = l,
        .tape = RN_BUF_INIT(l.nodes * sizeof(struct rn_json_node)),
        .slots = RN_BUF_INIT(64 * (size_t)l.names + 1024), /* never reached */
        .name = RN_BUF_INIT(l.bytes),
    };
}

void rn_json_release(struct rn_json *j)
{
    rn_buf_release(&j->tape);
    rn_buf_release(&j->slots);
    rn_buf_release(&j->name);
    j->nodes = NULL;
    j->count = 0;
    j->text = (struct rn_view){ 0 };
}

/* ---- errors -------------------------------------------------------------- */

/* Prepends the position to the message of rn_fail and returns NULL, so that
 * failing is one statement. */
static const char *fail_at(struct parser *p, const char *at, enum rn_code rc)
{
    const char *line = p->start;
    size_t lines = 1;

    p->rc = rc;
    if (!p->err)
        return NULL;
    for (const char *c = p->start; c < at; c++) {
        if (*c == '\n') {
            line = c + 1;
            lines++;
        }
    }
    rn_err_during(p->err, "JSON at offset %zu (line %zu, byte %zu)",
                  (size_t)(at - p->start), lines, (size_t)(at - line) + 1);
    return NULL;
}

static const char *refuse(struct parser *p, const char *at, const char *why)
{
    return fail_at(p, at, rn_fail(p->err, RN_BAD_REQUEST, "%s", why));
}

static const char *exceed(struct parser *p, const char *at, uint32_t limit,
                          const char *of_what)
{
    return fail_at(
        p, at,
        rn_fail(p->err, RN_TOO_LARGE, "more than %u %s", limit, of_what));
}

static const char *refuse_depth(struct parser *p, const char *at)
{
    return fail_at(p, at,
                   rn_fail(p->err, RN_BAD_REQUEST,
                           "more than %u levels of nesting",
                           p->json->limits.depth));
}

static const char *refuse_byte(struct parser *p, const char *at,
                               const char *before, const char *behind)
{
    return fail_at(p, at,
                   rn_fail(p->err, RN_BAD_REQUEST, "%s 0x%02x %s", before,
                           (unsigned char)*at, behind));
}

static const char *expected(struct parser *p, const char *at, const char *what)
{
    char found[32];

    if (at == p->end)
        snprintf(found, sizeof(found), "but the text ends");
    else if (*at > ' ' && *at <= '~')
        snprintf(found, sizeof(found), "not '%c'", *at);
    else
        snprintf(found, sizeof(found), "not byte 0x%02x", (unsigned char)*at);
    return fail_at(
        p, at, rn_fail(p->err, RN_BAD_REQUEST, "expected %s, %s", what, found));
}

/* ---- the tape ------------------------------------------------------------ */

static bool grow(struct parser *p, const char *at)
{
    struct rn_json *j = p->json;
    enum rn_code rc;

    j->tape.len = j->count * sizeof(*p->nodes);
    rc = rn_buf_reserve(&j->tape, sizeof(*p->nodes));
    if (rc == RN_TOO_LARGE)
        exceed(p, at, j->limits.nodes, "values and names");
    else if (rc)
        fail_at(p, at, rn_fail(p->err, rc, "no memory for the next value"));
    if (rc)
        return false;
    p->nodes = (struct rn_json_node *)(void *)j->tape.at;
    p->room = (uint32_t)(j->tape.room / sizeof(*p->nodes));
    j->nodes = p->nodes;
    return true;
}

static inline struct rn_json_node scalar(enum rn_json_kind kind, bool escaped)
{
    struct rn_json_node node = { .span = 1 };

    node.kind = kind & 7;
    node.escaped = escaped;
    return node;
}

/* Appends a node for the text from `at` to before `end`; false on failure. */
static inline bool push(struct parser *p, struct rn_json_node node,
                        const char *at, const char *end)
{
    struct rn_json *j = p->json;

    if (j->count == p->room && !grow(p, at))
        return false;
    node.at = (uint32_t)(at - p->start);
    node.len = (uint32_t)(end - at);
    p->nodes[j->count++] = node;
    return true;
}

/* ---- tokens -------------------------------------------------------------- */

static const char *skip_spaces(struct parser *p, const char *at)
{
    static const char indent[8] = "        ";
    const char *from = at;

    while (at < p->end) {
        if (p->end - at >= 8 && memcmp(at, indent, 8) == 0)
            at += 8;
        else if (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
            at++;
        else
            break;
    }
    if (at > from)
        p->json->is_compact = false;
    return at;
}

/* Usually no white space follows. */
static inline const char *skip_space(struct parser *p, const char *at)
{
    if (at < p->end && (unsigned char)*at > ' ')
        return at;
    return skip_spaces(p, at);
}

/* `at` is at the u of the escape. */
static const char *take_unicode(struct parser *p, const char *at)
{
    ptrdiff_t room = p->end - at;
    int unit = room < 5 ? -1 : rn_scan_hex4(at + 1);
    int low;

    if (unit < 0)
        return refuse(p, at, "expected four hexadecimal digits after \\u");
    if (unit < 0xd800 || unit > 0xdfff)
        return at + 5;
    if (unit > 0xdbff || room < 11 || at[5] != '\\' || at[6] != 'u')
        return refuse(p, at, "half of a surrogate pair stands alone");
    low = rn_scan_hex4(at + 7);
    if (low < 0xdc00 || low > 0xdfff)
        return refuse(p, at, "half of a surrogate pair stands alone");
    return at + 11;
}

/* `at` is at the backslash. */
static const char *take_escape(struct parser *p, const char *at)
{
    if (++at == p->end)
        return expected(p, at, "an escape");
    switch (*at) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return at + 1;
    case 'u':
        return take_unicode(p, at);
    default:
        return expected(p, at, "one of \" \\ / b f n r t u after a backslash");
    }
}

/* Non-ASCII characters; they usually come in runs. */
static const char *take_foreign(struct parser *p, const char *at)
{
    do {
        size_t len = rn_utf8_len(at, p->end);
        if (len == 0)
            return refuse_byte(p, at, "byte", "is not UTF-8 here");
        at += len;
    } while (at < p->end && (signed char)*at < 0);
    return at;
}

/* A byte in a string that is neither plain nor the closing quote. */
static const char *take_odd(struct parser *p, const char *at, bool *escaped)
{
    if (*at == '\\') {
        *escaped = true;
        return take_escape(p, at);
    }
    if ((unsigned char)*at < ' ')
        return refuse_byte(p, at, "the control character", "must be escaped");
    return take_foreign(p, at);
}

/* A string whose text from `from` is plain up to `at`, but continues.  Not
 * inlined, so that the common string uses fewer registers. */
__attribute__((noinline)) static const char *
take_odd_string(struct parser *p, const char *from, const char *at)
{
    bool escaped = false;

    while (at < p->end && *at != '"') {
        at = take_odd(p, at, &escaped);
        if (!at)
            return NULL;
        at = rn_scan_plain(at, p->end);
    }
    if (at == p->end)
        return refuse(p, from - 1, "this string has no end");
    return push(p, scalar(RN_JSON_STRING, escaped), from, at) ? at + 1 : NULL;
}

/* `at` is at the opening quote. */
static inline const char *take_string(struct parser *p, const char *at)
{
    const char *from = at + 1;

    at = rn_scan_plain(from, p->end);
    if (at == p->end || *at != '"')
        return take_odd_string(p, from, at);
    return push(p, scalar(RN_JSON_STRING, false), from, at) ? at + 1 : NULL;
}

static inline bool is_digit(const struct parser *p, const char *at)
{
    return at < p->end && *at >= '0' && *at <= '9';
}

static const char *take_digits(struct parser *p, const char *at)
{
    if (!is_digit(p, at))
        return expected(p, at, "a digit");
    while (is_digit(p, at))
        at++;
    return at;
}

static const char *take_exponent(struct parser *p, const char *at)
{
    at++;
    if (at < p->end && (*at == '+' || *at == '-'))
        at++;
    return take_digits(p, at);
}

/* Two hundred digits with a two-digit or negative exponent are within the range
 * of a double; only longer numbers need to be computed. */
static bool is_finite(const char *from, const char *exponent, const char *end)
{
    if (exponent - from <= 200 && (end - exponent <= 3 || exponent[1] == '-'))
        return true;
    return isfinite(rn_number_double(rn_view_of(from, (size_t)(end - from))));
}

static const char *take_number(struct parser *p, const char *at)
{
    const char *from = at, *exponent;

    if (*at == '-')
        at++;
    if (at < p->end && *at == '0') {
        at++;
        if (is_digit(p, at))
            return refuse(p, from, "a number may not begin with a zero");
    } else {
        at = take_digits(p, at);
    }
    if (at && at < p->end && *at == '.')
        at = take_digits(p, at + 1);
    exponent = at;
    if (at && at < p->end && (*at == 'e' || *at == 'E'))
        at = take_exponent(p, at);
    if (!at)
        return NULL;
    if (!is_finite(from, exponent, at))
        return refuse(p, from, "this number exceeds what a double can hold");
    return push(p, scalar(RN_JSON_NUMBER, false), from, at) ? at : NULL;
}

static const char *take_word(struct parser *p, const char *at,
                             struct rn_view word, enum rn_json_kind kind)
{
    if ((size_t)(p->end - at) < word.len || memcmp(at, word.at, word.len) != 0)
        return expected(p, at, "a value");
    return push(p, scalar(kind, false), at, at + word.len) ? at + word.len
                                                           : NULL;
}

/* ---- containers ---------------------------------------------------------- */

/* Makes `container`, which may be RN_JSON_NONE, the innermost one. */
static void enter(struct parser *p, uint32_t container)
{
    p->open = container;
    if (container == RN_JSON_NONE)
        return;
    p->is_object = p->nodes[container].kind == RN_JSON_OBJECT;
    p->members = p->nodes[container].len;
}

static const char *open_container(struct parser *p, const char *at,
                                  enum rn_json_kind kind)
{
    struct rn_json_node node = { .span = p->open, .kind = kind & 7 };

    if (p->depth == p->json->limits.depth)
        return refuse_depth(p, at);
    if (p->open != RN_JSON_NONE)
        p->nodes[p->open].len = p->members;
    if (!push(p, node, at, at))
        return NULL;
    enter(p, p->json->count - 1);
    p->depth++;
    return at + 1;
}

static bool check_names(struct parser *p, uint32_t *count)
{
    uint32_t again = p->open + 1;
    enum rn_code rc = rn_json_names_check(p->json, p->open, count, &again);
    struct rn_view name = rn_json_text(p->json, again);

    if (!rc)
        return true;
    if (name.len > 80)
        name.len = 80;
    if (rc == RN_BAD_REQUEST)
        rn_fail(p->err, rc, "the name \"%.*s\" is there twice", RN_FMT(name));
    else
        rn_fail(p->err, rc, "no memory to compare names");
    fail_at(p, name.at - 1, rc);
    return false;
}

/* `at` is at the closing bracket. */
static const char *close_container(struct parser *p, const char *at)
{
    struct rn_json_node *node = &p->nodes[p->open];
    uint32_t around = node->span, count = p->members;

    if (p->is_object && count > 1 && !check_names(p, &count))
        return NULL;
    node->len = (uint32_t)(at + 1 - p->start) - node->at;
    node->count = count & ((1u << RN_JSON_COUNT_BITS) - 1);
    node->span = p->json->count - p->open;
    enter(p, around);
    p->depth--;
    return at + 1;
}

/* A name and its colon. */
static const char *take_name(struct parser *p, const char *at)
{
    struct rn_json *j = p->json;

    at = skip_space(p, at);
    if (at == p->end || *at != '"')
        return expected(p, at, "a name in quotes");
    if (j->names++ == j->limits.names)
        return exceed(p, at, j->limits.names, "names");
    at = take_string(p, at);
    if (!at)
        return NULL;
    at = skip_space(p, at);
    if (at == p->end || *at != ':')
        return expected(p, at, "':'");
    return at + 1;
}

static const char *take_value(struct parser *p, const char *at)
{
    at = skip_space(p, at);
    if (at == p->end)
        return expected(p, at, "a value");
    switch (*at) {
    case '"':
        return take_string(p, at);
    case '{':
        return open_container(p, at, RN_JSON_OBJECT);
    case '[':
        return open_container(p, at, RN_JSON_ARRAY);
    case 't':
        return take_word(p, at, RN_LIT("true"), RN_JSON_TRUE);
    case 'f':
        return take_word(p, at, RN_LIT("false"), RN_JSON_FALSE);
    case 'n':
        return take_word(p, at, RN_LIT("null"), RN_JSON_NULL);
    default:
        if (*at != '-' && !is_digit(p, at))
            return expected(p, at, "a value");
        return take_number(p, at);
    }
}

/* Closes the containers that end at `at`, and advances to the next value inside
 * `around`, or past the last one. */
static inline const char *take_between(struct parser *p, const char *at,
                                       uint32_t around)
{
    while (p->open != around) {
        at = skip_space(p, at);
        if (at < p->end && *at == (p->is_object ? '}' : ']')) {
            at = close_container(p, at);
            if (!at)
                return NULL;
            continue;
        }
        if (p->members++ > 0) {
            if (at == p->end || *at != ',')
                return expected(p, at,
                                p->is_object ? "',' or '}'" : "',' or ']'");
            at++;
        }
        return p->is_object ? take_name(p, at) : at;
    }
    return at;
}

/* A value with everything in it; `around` is open and stays open. */
static inline const char *take_whole(struct parser *p, const char *at,
                                     uint32_t around)
{
    do {
        at = take_value(p, at);
        if (at)
            at = take_between(p, at, around);
    } while (at && p->open != around);
    return at;
}

static enum rn_code parse(struct parser *p)
{
    const char *at = p->start;

    if (p->end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; /* a byte order mark, which some clients send */
    at = take_whole(p, at, RN_JSON_NONE);
    if (at)
        at = skip_space(p, at);
    if (at && at < p->end)
        expected(p, at, "nothing more");
    return p->rc;
}

/* ---- wanted members only ------------------------------------------------- */

static bool is_wanted(const struct rn_json_wanted *w, const char *name,
                      size_t len)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->names[i].len == len && memcmp(w->names[i].at, name, len) == 0)
            return true;
    }
    return false;
}

/* The position after a value that is not wanted. */
static const char *pass_value(struct parser *p, const char *at)
{
    if (at == p->end)
        return NULL;
    if (*at == '"')
        return rn_scan_past_string(at + 1, p->end);
    if (*at == '{' || *at == '[')
        return rn_scan_past_container(at, p->end);
    while (at < p->end && *at != ',' && *at != '}')
        at++;
    return at;
}

/* Parses the members of the object at `at` until all wanted ones are found.
 * NULL if a full parse is needed: white space, escapes in a name, or invalid
 * JSON. */
static const char *pick_members(struct parser *p, const char *at,
                                const struct rn_json_wanted *w)
{
    const char *name, *behind;
    bool is_first = true;

    while (p->members < w->count && at < p->end && *at != '}') {
        if (!is_first && *at++ != ',')
            return NULL;
        is_first = false;
        if (at == p->end || *at != '"')
            return NULL;
        name = at + 1;
        behind = rn_scan_quote(name, p->end);
        if (p->end - behind < 2 || behind[0] != '"' || behind[1] != ':')
            return NULL;
        at = behind + 2;
        if (!is_wanted(w, name, (size_t)(behind - name))) {
            at = pass_value(p, at);
        } else {
            if (!push(p, scalar(RN_JSON_STRING, false), name, behind))
                return NULL;
            p->members++;
            at = take_whole(p, at, 0);
        }
        if (!at)
            return NULL;
    }
    return at < p->end ? at : NULL;
}

static struct parser begin(struct rn_json *j, struct rn_view text,
                           struct rn_err *err)
{
    struct parser p = {
        .json = j,
        .nodes = (struct rn_json_node *)(void *)j->tape.at,
        .room = (uint32_t)(j->tape.room / sizeof(struct rn_json_node)),
        .open = RN_JSON_NONE,
        .start = text.len ? text.at : "",
        .err = err,
    };

    assert(j->limits.bytes > 0); /* rn_json_init was called */
    p.end = p.start + text.len;
    j->count = j->names = 0;
    j->is_compact = true;
    j->text = text;
    return p;
}

enum rn_code rn_json_parse_some(struct rn_json *j, struct rn_view text,
                                const struct rn_json_wanted *wanted,
                                struct rn_err *err)
{
    struct parser p = begin(j, text, NULL);
    const char *at = NULL;

    if (text.len > 1 && text.len <= j->limits.bytes && text.at[0] == '{')
        at = open_container(&p, p.start, RN_JSON_OBJECT);
    if (at)
        at = pick_members(&p, at, wanted);
    if (!at || p.rc || !j->is_compact)
        return rn_json_parse(j, text, err);
    p.nodes[0].len = (uint32_t)text.len;
    p.nodes[0].count = p.members & ((1u << RN_JSON_COUNT_BITS) - 1);
    p.nodes[0].span = j->count;
    return RN_OK;
}

/* A name with a quote or a backslash has several spellings. */
bool rn_json_may_be_wanted(struct rn_view name)
{
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.at[i] < ' ' || name.at[i] == '"' ||
            name.at[i] == '\\')
            return false;
    }
    return true;
}

enum rn_code rn_json_parse(struct rn_json *j, struct rn_view text,
                           struct rn_err *err)
{
    struct parser p = begin(j, text, err);
    enum rn_code rc;

    if (text.len > j->limits.bytes)
        return rn_fail(err, RN_TOO_LARGE, "%zu bytes of JSON; at most %u",
                       text.len, j->limits.bytes);
    rc = parse(&p);
    if (rc)
        j->count = 0;
    return rc;
}
