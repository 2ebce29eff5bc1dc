/* query_reference.h -- small expressions, and what a slow and plain reference
 * makes of them: rules simple enough to be seen to be right.
 */
#ifndef RN_TEST_QUERY_REFERENCE_H
#define RN_TEST_QUERY_REFERENCE_H

#include "base/mem.h"
#include "base/prng.h"

enum { FIELDS = 5, NODES_MAX = 64, LIST_MAX = 3 };

enum kind { UNDEFINED, NIL, BOOL, NUMBER, STRING, ARRAY };

struct value {
    enum kind kind;
    long number; /* or truth */
    char text[24];
    int count; /* of an array of numbers */
    long items[LIST_MAX];
};

struct value draw_value(struct rn_prng *c, bool may_miss);
/* As a query has it. */
void print_value(struct rn_buf *out, const struct value *v);

enum op {
    LITERAL,
    FIELD,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    ADD,
    SUB,
    MUL,
    AND,
    OR,
    COALESCE,
    NOT,
    CHOICE,
    BETWEEN,
    IN,
    IS_DEFINED,
    IS_NUMBER,
    IS_BOOL,
    LENGTH,
    CONCAT,
    LIST_LENGTH,
    CONTAINS,
    OPS,
};

struct node {
    enum op op;
    struct value value; /* or the field's place */
    const struct node *kids[3];
};

struct tree {
    struct node nodes[NODES_MAX];
    int count;
};

const struct node *draw_tree(struct tree *t, struct rn_prng *c, int depth);
/* As a query over c has it, whose fields are c.f0, c.f1 ... */
void print_tree(struct rn_buf *out, const struct node *n);

struct value evaluate(const struct node *n, const struct value *fields);

#endif
