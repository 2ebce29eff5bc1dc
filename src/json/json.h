/* json.h -- JSON text as a flat tape of values, read without copying.
 *
 * rn_json_parse checks a whole text in one pass and notes each value as one
 * node of an array, the tape, in the order of the text.  Nodes point into the
 * text by offset; nothing is copied and nothing is allocated per value.  The
 * name of a member is a string node just before its value:
 *
 *   {"id":"a","n":[1,2]}     node  kind    text   count  span
 *                            0     object  {...}  2      7
 *                            1     string  id            1
 *                            2     string  a             1
 *                            3     string  n             1
 *                            4     array   [1,2]  2      3
 *                            5     number  1             1
 *                            6     number  2             1
 *
 * A value is named by the index of its node; the root is 0, a value that is
 * not there is RN_JSON_NONE, whose kind is RN_JSON_UNDEFINED.  So lookups can
 * be chained and only the end looked at.
 *
 * What is taken is RFC 8259 and UTF-8, strictly.  Where that leaves a choice:
 *
 *   - a name twice in one object is refused, unless the caller asks for the
 *     last to win; then the earlier members are not on the tape.  Names are
 *     compared after unescaping.
 *   - a \u escape that is half of a surrogate pair is refused: such a string
 *     has no UTF-8 form, so it could be neither compared nor sent.
 *   - a number that rounds to infinity as a double (1e400) is refused: no
 *     client could read it back.  One that rounds to zero is taken.  The text
 *     of a number is kept as it was written.
 *   - a byte order mark in front is passed over.
 *
 * The tape takes at most eight times the text, of an array of digits; with what
 * it takes to compare names, an object of very many empty ones needs thirteen
 * times its text.
 *
 * Threads: one at a time may parse; many may read what has been parsed.
 */
#ifndef RN_JSON_JSON_H
#define RN_JSON_JSON_H

#include "base/mem.h"

#include <stdint.h>

enum {
    RN_JSON_DEPTH_MAX = 1024, /* the most a caller may allow */
    RN_JSON_COUNT_BITS = 28,
};

#define RN_JSON_NONE UINT32_MAX

enum rn_json_kind {
    RN_JSON_UNDEFINED, /* never on the tape */
    RN_JSON_NULL,
    RN_JSON_FALSE,
    RN_JSON_TRUE,
    RN_JSON_NUMBER,
    RN_JSON_STRING,
    RN_JSON_ARRAY,
    RN_JSON_OBJECT,
};

struct rn_json_node {
    uint32_t at;   /* where its text begins; of a string, inside the quotes */
    uint32_t len;  /* of its text; of a string, without the quotes */
    uint32_t span; /* how many nodes it takes, itself included */
    uint32_t kind : 3;
    uint32_t escaped : 1; /* a string whose text holds a backslash */
    uint32_t count : RN_JSON_COUNT_BITS; /* members or elements */
};

enum rn_json_twice { RN_JSON_TWICE_REFUSED, RN_JSON_TWICE_LAST_WINS };

/* Zero means the default written beside each. */
struct rn_json_limits {
    uint32_t bytes; /* of text; 0: 8 MiB */
    uint32_t nodes; /* 0: 2,097,152, which no text of 4 MiB can exceed */
    uint32_t names; /* members of all objects together; 0: 1,048,576: so, too */
    uint32_t depth; /* of containers in containers; 0: 128 */
    enum rn_json_twice twice;
    /* Keeps the cost of finding a repeated name out of a sender's hands; a
     * server draws it at random.  0: that of the process.  Never changes a
     * result. */
    uint64_t seed;
};

struct rn_json {
    struct rn_view text; /* borrowed from whoever called parse */
    const struct rn_json_node *nodes;
    uint32_t count;  /* of nodes; 0 before the first and after a failed parse */
    uint32_t names;  /* members of all objects, dropped ones included */
    bool is_compact; /* no white space between tokens, no member dropped */
    struct rn_json_limits limits;
    struct rn_buf tape, slots, name; /* private */
};

/* The process' seed, to be set once, before there are threads.  Until then it
 * is where the struct lies in memory. */
void rn_json_seed_set(uint64_t seed);

/* `limits` may be NULL. */
void rn_json_init(struct rn_json *j, const struct rn_json_limits *limits);

/* The text is borrowed until the next parse or release.  RN_BAD_REQUEST if it
 * is not JSON or is nested too deeply, RN_TOO_LARGE if it exceeds another
 * limit, RN_NOMEM; the sentence says where.  The tape's memory is used again by
 * the next parse. */
enum rn_code rn_json_parse(struct rn_json *j, struct rn_view text,
                           struct rn_err *err) RN_CHECK;

/* The same of a text that is known to be JSON, for who wants only these members
 * of the object it is: others may be missing from the tape.  What need not be
 * looked at is not.  Names are without escapes, each once. */
struct rn_json_wanted {
    const struct rn_view *names;
    uint32_t count;
};
enum rn_code rn_json_parse_some(struct rn_json *j, struct rn_view text,
                                const struct rn_json_wanted *wanted,
                                struct rn_err *err) RN_CHECK;
/* Can a name be wanted: is it in every text as it is, without escapes? */
bool rn_json_may_be_wanted(struct rn_view name);

/* Gives all memory back.  The limits stay, so it can parse again. */
void rn_json_release(struct rn_json *j);

/* ---- values -------------------------------------------------------------- */

static inline enum rn_json_kind rn_json_kind(const struct rn_json *j,
                                             uint32_t value)
{
    return value < j->count ? (enum rn_json_kind)j->nodes[value].kind
                            : RN_JSON_UNDEFINED;
}

/* How many members or elements; 0 for what has none. */
static inline uint32_t rn_json_count(const struct rn_json *j, uint32_t value)
{
    return value < j->count ? j->nodes[value].count : 0;
}

/* The text as it was sent, spaces and escapes included; a string's without the
 * quotes.  Empty if undefined. */
static inline struct rn_view rn_json_text(const struct rn_json *j,
                                          uint32_t value)
{
    const struct rn_json_node *node;

    if (value >= j->count)
        return (struct rn_view){ 0 };
    node = &j->nodes[value];
    return (struct rn_view){ j->text.at + node->at, node->len };
}

/* Walks the members of an object or the elements of an array, in the order of
 * the text; over anything else it ends at once:
 *
 *   struct rn_json_walk w = rn_json_walk_begin(&j, object);
 *   while (rn_json_walk_next(&w))
 *       ... w.name, w.value ...
 */
struct rn_json_walk {
    const struct rn_json *json;
    uint32_t name, value; /* name is RN_JSON_NONE in an array */
    uint32_t next, end;
    bool is_object;
};

static inline struct rn_json_walk rn_json_walk_begin(const struct rn_json *j,
                                                     uint32_t container)
{
    bool any = rn_json_count(j, container) > 0;

    return (struct rn_json_walk){
        .json = j,
        .name = RN_JSON_NONE,
        .value = RN_JSON_NONE,
        .next = container + 1,
        .end = any ? container + j->nodes[container].span : 0,
        .is_object = rn_json_kind(j, container) == RN_JSON_OBJECT,
    };
}

static inline bool rn_json_walk_next(struct rn_json_walk *w)
{
    if (w->next >= w->end)
        return false;
    if (w->is_object)
        w->name = w->next++;
    w->value = w->next;
    w->next += w->json->nodes[w->value].span;
    return true;
}

/* The member of that name, or RN_JSON_NONE; also if `object` is none. */
uint32_t rn_json_find(const struct rn_json *j, uint32_t object,
                      struct rn_view name);

/* The element at that place, or RN_JSON_NONE.  Counts from the start. */
uint32_t rn_json_at(const struct rn_json *j, uint32_t array, uint32_t place);

/* True for a string which, unescaped, is `other`.  Allocates nothing. */
bool rn_json_string_is(const struct rn_json *j, uint32_t value,
                       struct rn_view other);

/* The unescaped string: a view of the text where nothing had to be unescaped,
 * else a copy in the arena.  `value` must be a string. */
enum rn_code rn_json_string_get(const struct rn_json *j, uint32_t value,
                                struct rn_arena *a,
                                struct rn_view *out) RN_CHECK;

/* The same, always in the arena, so that it outlives the text. */
enum rn_code rn_json_string_copy(const struct rn_json *j, uint32_t value,
                                 struct rn_arena *a,
                                 struct rn_view *out) RN_CHECK;

/* Unescapes what stands between a parsed string's quotes.  `out` has room for
 * raw.len bytes; returns how many were written. */
size_t rn_json_unescape(struct rn_view raw, char *out);

/* The text with the control characters in its strings escaped, which the parser
 * refuses; in the arena, unless there is none.  RN_TOO_LARGE if it does not fit
 * there. */
enum rn_code rn_json_escape_raw(struct rn_view text, struct rn_arena *a,
                                struct rn_view *out) RN_CHECK;

/* `value` must be a number.  The double is the nearest one; the integer is
 * given only if the number is one and fits (so for 1.0 and 1e3 too). */
double rn_json_double(const struct rn_json *j, uint32_t value);
bool rn_json_int64(const struct rn_json *j, uint32_t value, int64_t *out);

#endif
