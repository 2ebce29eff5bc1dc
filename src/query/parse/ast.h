/* ast.h -- the abstract syntax tree of a query.
 *
 * The parser builds it, the checker resolves names and calls, and after that it
 * is immutable.  All of it lives in one arena.
 *
 * A frame is the array of values that an evaluation works on.  Each FROM
 * source, each aggregate call and each GROUP BY key of the whole query,
 * subqueries included, has its own index in it (its slot), so that an inner
 * query reads the outer rows through their slots.  Slot 0 is the document.
 */
#ifndef RN_QUERY_PARSE_AST_H
#define RN_QUERY_PARSE_AST_H

#include "query/check/policy.h"
#include "query/run/value.h"

enum {
    RN_QUERY_TEXT_MAX = 512 * 1024,
    RN_QUERY_DEPTH_MAX = 256, /* nesting; bounds the use of the stack */
    RN_QUERY_JOINS_MAX = 10,  /* per query, as in the service */
    /* More than any SDK sends.  To read many documents, .NET and Python send
     * four for each of up to 1,000; Java sends as many as fit in the text. */
    RN_QUERY_PARAMETERS_MAX = 16000,
    RN_QUERY_SLOTS_MAX = 4096,
};

enum rn_expr_kind {
    RN_EXPR_LITERAL,
    RN_EXPR_PARAMETER,
    RN_EXPR_NAME,
    RN_EXPR_MEMBER, /* kid 0 . name, or kid 0 ["name"] */
    RN_EXPR_INDEX,  /* kid 0 [ kid 1 ] */
    RN_EXPR_UNARY,
    RN_EXPR_BINARY,
    RN_EXPR_LOGIC,   /* AND, OR over all kids */
    RN_EXPR_BETWEEN, /* kid 0 between kid 1 and kid 2 */
    RN_EXPR_IN,      /* kid 0 among the other kids */
    RN_EXPR_LIKE,    /* kid 0 like kid 1; `name` is the escape, if any */
    RN_EXPR_CHOICE,  /* kid 0 ? kid 1 : kid 2 */
    RN_EXPR_CALL,
    RN_EXPR_ARRAY,
    RN_EXPR_OBJECT, /* names and kids */
    RN_EXPR_QUERY,
};

enum rn_op {
    RN_OP_NONE,
    RN_OP_MULTIPLY,
    RN_OP_DIVIDE,
    RN_OP_MODULO,
    RN_OP_ADD,
    RN_OP_SUBTRACT,
    RN_OP_SHIFT_LEFT,
    RN_OP_SHIFT_RIGHT,
    RN_OP_SHIFT_ZERO,
    RN_OP_LESS,
    RN_OP_LESS_EQUAL,
    RN_OP_GREATER,
    RN_OP_GREATER_EQUAL,
    RN_OP_EQUAL,
    RN_OP_NOT_EQUAL,
    RN_OP_BIT_AND,
    RN_OP_BIT_XOR,
    RN_OP_BIT_OR,
    RN_OP_CONCAT,
    RN_OP_AND,
    RN_OP_OR,
    RN_OP_COALESCE,
    RN_OP_NOT,
    RN_OP_MINUS,
    RN_OP_PLUS,
    RN_OP_BIT_NOT,
};

enum rn_subquery {
    RN_SUBQUERY_SCALAR,
    RN_SUBQUERY_EXISTS,
    RN_SUBQUERY_ARRAY,
    RN_SUBQUERY_ALL,
    RN_SUBQUERY_FIRST,
    RN_SUBQUERY_LAST,
};

enum { RN_SLOT_NONE = -1 };

struct rn_expr {
    uint8_t kind;    /* enum rn_expr_kind */
    uint8_t op;      /* enum rn_op, enum rn_subquery, or the mode of a call */
    bool is_negated; /* NOT BETWEEN, NOT IN, NOT LIKE */
    bool is_bracket; /* a member in brackets; a udf call */
    uint16_t depth;
    bool is_document;      /* a name that refers to the whole document */
    uint32_t start, end;   /* byte offsets in the text */
    uint32_t count, room;  /* of kids */
    int32_t slot;          /* of its value in the frame, if any */
    struct rn_expr **kids; /* operands, arguments, elements */
    struct rn_view name;
    union {
        struct rn_value value;   /* literal, bound parameter */
        struct rn_view *names;   /* of an object's members */
        struct rn_select *query; /* of a subquery */
        const struct rn_function *function;
        const struct rn_expr *computed; /* of a computed property */
    };
};

/* A part of the text, in bytes. */
struct rn_clause {
    uint32_t start, end;
};

struct rn_from {
    struct rn_clause at;  /* without the alias of a path or a subquery */
    struct rn_view alias; /* as written; empty if there is none */
    bool is_each;         /* alias IN ...: one row per element */
    struct rn_select *query;
    struct rn_expr *path; /* names, members and constant indexes */
    int32_t slot;
    bool is_document;     /* its rows are whole documents */
    struct rn_view bound; /* the name it binds */
};

struct rn_item {
    struct rn_expr *expr;
    struct rn_view alias; /* as written; empty if there is none */
    struct rn_view name;  /* of the member in the row */
};

enum rn_direction { RN_ORDER_UNSAID, RN_ORDER_ASC, RN_ORDER_DESC };

struct rn_order {
    struct rn_expr *expr;
    enum rn_direction direction; /* as written */
    bool is_descending;
};

enum rn_select_kind { RN_SELECT_STAR, RN_SELECT_VALUE, RN_SELECT_LIST };

struct rn_select {
    enum rn_select_kind kind;
    bool is_distinct, is_rank;
    uint16_t depth; /* bound on the stack depth of its expressions */
    uint32_t star;  /* byte offset of the * */
    struct rn_expr *top, *offset, *limit; /* a number or a parameter */
    /* FROM without its keyword, the others with theirs. */
    struct rn_clause top_at, from_at, order_at, offset_at;
    struct rn_item *items;
    uint32_t item_count, item_room;
    struct rn_from *from;
    uint32_t from_count, from_room;
    struct rn_expr *where;
    struct rn_expr **group;
    uint32_t group_count, group_room;
    int32_t group_slot; /* of the first key; the others follow */
    struct rn_order *order;
    uint32_t order_count, order_room;
    struct rn_expr **aggregates; /* the calls, found by the checker */
    uint32_t aggregate_count, aggregate_room;
};

struct rn_query {
    const struct rn_policy *policy; /* NULL: none */
    struct rn_view text;
    struct rn_select *select;
    uint32_t slots;
};

/* Makes room for one more element of `size` bytes at the end of `*list`, which
 * lives in the arena with capacity `*room`; NULL when the arena is full. */
void *rn_ast_grow(struct rn_arena *a, void *list, uint32_t count,
                  uint32_t *room, size_t size) RN_CHECK;

/* The name that a path of members and indexes starts with, or NULL. */
const struct rn_expr *rn_expr_root(const struct rn_expr *e);

/* True if both are the same expression, with the same bindings. */
bool rn_expr_equals(const struct rn_expr *a, const struct rn_expr *b);

/* True if it needs no document and is the same on every call. */
bool rn_expr_is_constant(const struct rn_expr *e);

/* The path of the document, if the expression is nothing but a path; otherwise
 * empty. */
enum rn_code rn_expr_path(const struct rn_select *s, const struct rn_expr *e,
                          struct rn_arena *a,
                          struct rn_json_path *out) RN_CHECK;

/* True if it reads exactly this path of the document that `from` binds. */
bool rn_expr_is_path(const struct rn_from *from, const struct rn_expr *e,
                     const struct rn_json_path *path);

#endif
