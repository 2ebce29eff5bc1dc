/* value.h -- the values of query expressions.
 *
 * `undefined` is a value like the others.  An array or object is either a node
 * on a parsed document's tape, so that reading a member copies nothing, or a
 * list that an expression has built:
 *
 *   form      memory                               made by
 *   TAPE      the tape of a document or parameter  rn_value_of_json
 *   LIST      an arena                             constructors, functions
 *   TEXT      an arena, as compact JSON            rn_value_keep; only printed
 *
 * Numbers are 64-bit integers where possible, else doubles; the two compare by
 * exact value.  Strings are views; they are ordered by UTF-16 code unit, since
 * the SDKs merge the sorted rows of several ranges in that order.
 *
 * Lists never hold undefined.  Arithmetic may yield NaN or an infinity, which
 * JSON cannot represent: a row that holds one is rejected, and ToString omits
 * it.
 *
 * Threads: values are immutable.
 */
#ifndef RN_QUERY_RUN_VALUE_H
#define RN_QUERY_RUN_VALUE_H

#include "json/json.h"
#include "json/print.h"

enum rn_value_kind { /* in the order of ORDER BY */
                     RN_VALUE_UNDEFINED,
                     RN_VALUE_NULL,
                     RN_VALUE_BOOL,
                     RN_VALUE_NUMBER,
                     RN_VALUE_STRING,
                     RN_VALUE_ARRAY,
                     RN_VALUE_OBJECT,
};

enum rn_value_form {
    RN_FORM_TAPE,
    RN_FORM_LIST,
    RN_FORM_TEXT,
    RN_FORM_HASH, /* only to be compared: distinct_hash.h */
};

struct rn_value {
    uint8_t kind; /* enum rn_value_kind */
    uint8_t form; /* of a container: enum rn_value_form */
    bool is_integer;
    uint32_t count; /* of elements or members */
    union {
        bool truth;
        int64_t integer;
        double real;
        struct rn_view text; /* a string; a container as TEXT or HASH */
        struct {
            const struct rn_json *json;
            uint32_t node;
        } tape;
        const struct rn_value *items;
        const struct rn_member *members;
    };
};

struct rn_member {
    struct rn_view name;
    struct rn_value value;
};

static inline struct rn_value rn_value_undefined(void)
{
    return (struct rn_value){ .kind = RN_VALUE_UNDEFINED };
}

static inline struct rn_value rn_value_bool(bool truth)
{
    return (struct rn_value){ .kind = RN_VALUE_BOOL, .truth = truth };
}

static inline struct rn_value rn_value_int(int64_t integer)
{
    return (struct rn_value){ .kind = RN_VALUE_NUMBER,
                              .is_integer = true,
                              .integer = integer };
}

static inline struct rn_value rn_value_string(struct rn_view text)
{
    /* Never NULL, so that pointer arithmetic on it is defined. */
    return (struct rn_value){ .kind = RN_VALUE_STRING,
                              .text = { text.at ? text.at : "", text.len } };
}

static inline struct rn_value rn_value_array(const struct rn_value *items,
                                             uint32_t count)
{
    return (struct rn_value){ .kind = RN_VALUE_ARRAY,
                              .form = RN_FORM_LIST,
                              .count = count,
                              .items = items };
}

static inline struct rn_value rn_value_object(const struct rn_member *members,
                                              uint32_t count)
{
    return (struct rn_value){ .kind = RN_VALUE_OBJECT,
                              .form = RN_FORM_LIST,
                              .count = count,
                              .members = members };
}

/* An array or an object of which only the 16-byte hash is known. */
static inline struct rn_value rn_value_hashed(enum rn_value_kind kind,
                                              const char *bytes)
{
    return (struct rn_value){ .kind = (uint8_t)kind,
                              .form = RN_FORM_HASH,
                              .text = { bytes, 16 } };
}

/* A double that is an integer within int64 becomes one, so that each number has
 * one representation. */
struct rn_value rn_value_double(double real);

static inline bool rn_value_is_true(const struct rn_value *v)
{
    return v->kind == RN_VALUE_BOOL && v->truth;
}

/* `v` must be a number. */
static inline double rn_value_real(const struct rn_value *v)
{
    return v->is_integer ? (double)v->integer : v->real;
}

/* True if JSON can represent it: not undefined, NaN or an infinity. */
bool rn_value_is_printable(const struct rn_value *v);

/* True if it contains no NaN or infinity, at any depth. */
bool rn_value_is_finite(const struct rn_value *v);

/* The value of a node; a string with escapes is unescaped into the arena. */
enum rn_code rn_value_of_json(const struct rn_json *j, uint32_t node,
                              struct rn_arena *a,
                              struct rn_value *out) RN_CHECK;

/* The member or element, or undefined. */
enum rn_code rn_value_member(const struct rn_value *v, struct rn_view name,
                             struct rn_arena *a, struct rn_value *out) RN_CHECK;
enum rn_code rn_value_element(const struct rn_value *v, uint32_t place,
                              struct rn_arena *a,
                              struct rn_value *out) RN_CHECK;

/* Iterates over elements or members in order; any other value has none.  Ends
 * early with `rc` set when the arena is full. */
struct rn_value_walk {
    const struct rn_value *over;
    struct rn_arena *arena;
    struct rn_json_walk tape;
    uint32_t place; /* index of the next one */
    enum rn_code rc;
    struct rn_view name; /* of the current one, in an object */
    struct rn_value value;
};

struct rn_value_walk rn_value_walk_begin(const struct rn_value *v,
                                         struct rn_arena *a);
bool rn_value_walk_next(struct rn_value_walk *w);

/* Deep and exact equality: 1 equals 1.0, and the order of members does not
 * matter.  Undefined equals undefined here; NaN equals nothing.  The arena
 * holds unescaped strings. */
enum rn_code rn_value_equals(const struct rn_value *a, const struct rn_value *b,
                             struct rn_arena *arena, bool *out) RN_CHECK;

/* Compares by kind and then by value, in the order of ORDER BY.  Arrays compare
 * with arrays, and objects with objects, by their hashes. */
enum rn_code rn_value_compare(const struct rn_value *a,
                              const struct rn_value *b, struct rn_arena *arena,
                              int *out) RN_CHECK;
int rn_value_compare_text(struct rn_view a, struct rn_view b);

/* A copy that depends only on the arena.  `copy` can be read like the original;
 * `keep` can only be printed, and is smaller. */
enum rn_code rn_value_copy(const struct rn_value *v, struct rn_arena *a,
                           struct rn_value *out) RN_CHECK;
enum rn_code rn_value_keep(const struct rn_value *v, struct rn_arena *a,
                           struct rn_value *out) RN_CHECK;

/* Omits NaN, infinities and undefined within containers; at the top level they
 * are a bug. */
void rn_value_print(const struct rn_value *v, struct rn_json_out *o);

#endif
