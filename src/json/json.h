/* json.h -- a zero-copy JSON parser: text to a flat tape of values.
 *
 * rn_json_parse validates a whole text in one pass and records each value as
 * one node of an array, the tape, in the order of the text.  Nodes refer to the
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
 * A value is identified by the index of its node; the root is 0.  A missing
 * value is RN_JSON_NONE, whose kind is RN_JSON_UNDEFINED, so lookups can be
 * chained and only the last result checked.
 *
 * The parser accepts exactly RFC 8259 in UTF-8.  Where that leaves a choice:
 *
 *   - a duplicate name in an object is refused, unless the caller asks for the
 *     last to win; then the earlier members are not on the tape.  Names are
 *     compared after unescaping.
 *   - a \u escape that is half of a surrogate pair is refused: such a string
 *     has no UTF-8 form, so it could be neither compared nor sent.
 *   - a number that rounds to infinity as a double (1e400) is refused: no
 *     client could read it back.  One that rounds to zero is accepted.  The
 *     text of a number is kept as it was written.
 *   - a leading byte order mark is skipped.
 *
 * The tape takes at most eight times the text, for an array of digits.  With
 * the memory for comparing names, an object of very many empty names needs
 * thirteen times its text.
 *
 * Threads: one thread may parse; many may read the parsed tape.
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
    uint32_t at;   /* offset of its text; of a string, inside the quotes */
    uint32_t len;  /* of its text; of a string, without the quotes */
    uint32_t span; /* number of nodes, itself included */
    uint32_t kind : 3;
    uint32_t escaped : 1; /* a string whose text holds a backslash */
    uint32_t count : RN_JSON_COUNT_BITS; /* members or elements */
};

enum rn_json_twice { RN_JSON_TWICE_REFUSED, RN_JSON_TWICE_LAST_WINS };

/* Zero means the default written beside each. */
struct rn_json_limits {
    uint32_t bytes; /* of text; 0: 8 MiB */
    uint32_t nodes; /* 0: 2,097,152, which no text of 4 MiB can exceed */
    uint32_t names; /* members of all objects; 0: 1,048,576, likewise */
    uint32_t depth; /* nesting of containers; 0: 128 */
    enum rn_json_twice twice;
    /* Seeds the hash of names, so that a sender cannot force collisions; a
     * server draws it at random.  0: the process-wide seed.  Never changes a
     * result. */
    uint64_t seed;
};

struct rn_json {
    struct rn_view text; /* borrowed from the caller of parse */
    const struct rn_json_node *nodes;
    uint32_t count;  /* of nodes; 0 before the first and after a failed parse */
    uint32_t names;  /* members of all objects, dropped ones included */
    bool is_compact; /* no white space between tokens, no member dropped */
    struct rn_json_limits limits;
    struct rn_buf tape, slots, name; /* private */
};

/* The process-wide seed, to be set once, before threads start.  Until then the
 * address of the struct is used. */
void rn_json_seed_set(uint64_t seed);

/* `limits` may be NULL. */
void rn_json_init(struct rn_json *j, const struct rn_json_limits *limits);

/* The text is borrowed until the next parse or release.  RN_BAD_REQUEST if it
 * is not JSON or is nested too deeply, RN_TOO_LARGE if it exceeds another
 * limit, RN_NOMEM; the message says where.  The next parse reuses the tape's
 * memory. */
enum rn_code rn_json_parse(struct rn_json *j, struct rn_view text,
                           struct rn_err *err) RN_CHECK;

/* Parses only these members of an object, from a text that is known to be valid
 * JSON: other members may be missing from the tape, and unneeded text is
 * skipped.  Names are without escapes, each once. */
struct rn_json_wanted {
    const struct rn_view *names;
    uint32_t count;
};
enum rn_code rn_json_parse_some(struct rn_json *j, struct rn_view text,
                                const struct rn_json_wanted *wanted,
                                struct rn_err *err) RN_CHECK;
/* Whether a name may be in rn_json_wanted: it is spelled without escapes. */
bool rn_json_may_be_wanted(struct rn_view name);

/* Frees all memory.  The limits stay, so it can parse again. */
void rn_json_release(struct rn_json *j);

/* ---- values -------------------------------------------------------------- */

static inline enum rn_json_kind rn_json_kind(const struct rn_json *j,
                                             uint32_t value)
{
    return value < j->count ? (enum rn_json_kind)j->nodes[value].kind
                            : RN_JSON_UNDEFINED;
}

/* The number of members or elements; 0 for other values. */
static inline uint32_t rn_json_count(const struct rn_json *j, uint32_t value)
{
    return value < j->count ? j->nodes[value].count : 0;
}

/* The text as it was sent, white space and escapes included; a string without
 * its quotes.  Empty if undefined. */
static inline struct rn_view rn_json_text(const struct rn_json *j,
                                          uint32_t value)
{
    const struct rn_json_node *node;

    if (value >= j->count)
        return (struct rn_view){ 0 };
    node = &j->nodes[value];
    return (struct rn_view){ j->text.at + node->at, node->len };
}

/* Iterates over the members of an object or the elements of an array, in the
 * order of the text; any other value has none:
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

/* The member of that name, or RN_JSON_NONE; also if `object` is not an
 * object. */
uint32_t rn_json_find(const struct rn_json *j, uint32_t object,
                      struct rn_view name);

/* The element at that index, or RN_JSON_NONE.  Takes linear time. */
uint32_t rn_json_at(const struct rn_json *j, uint32_t array, uint32_t place);

/* True for a string that equals `other` after unescaping.  Allocates
 * nothing. */
bool rn_json_string_is(const struct rn_json *j, uint32_t value,
                       struct rn_view other);

/* The unescaped string: a view of the text if it has no escapes, else a copy in
 * the arena.  `value` must be a string. */
enum rn_code rn_json_string_get(const struct rn_json *j, uint32_t value,
                                struct rn_arena *a,
                                struct rn_view *out) RN_CHECK;

/* The same, always in the arena, so that it outlives the text. */
enum rn_code rn_json_string_copy(const struct rn_json *j, uint32_t value,
                                 struct rn_arena *a,
                                 struct rn_view *out) RN_CHECK;

/* Unescapes the text between a parsed string's quotes.  `out` has room for
 * raw.len bytes; returns the length. */
size_t rn_json_unescape(struct rn_view raw, char *out);

/* `value` must be a number.  The double is the nearest one; the integer is
 * given only if the number is integral and fits (also 1.0 and 1e3). */
double rn_json_double(const struct rn_json *j, uint32_t value);
bool rn_json_int64(const struct rn_json *j, uint32_t value, int64_t *out);

#endif
