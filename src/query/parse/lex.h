/* lex.h -- the tokenizer: splits the text of a query into tokens. */
#ifndef RN_QUERY_PARSE_LEX_H
#define RN_QUERY_PARSE_LEX_H

#include "base/mem.h"

#include <stdint.h>

enum rn_lex_kind {
    RN_LEX_END,
    RN_LEX_BAD,        /* a character that begins no token */
    RN_LEX_BAD_NUMBER, /* a number followed directly by a name */
    RN_LEX_BAD_STRING, /* unterminated, or with an invalid escape */
    RN_LEX_NAME,
    RN_LEX_PARAMETER, /* with its @ */
    RN_LEX_NUMBER,
    RN_LEX_STRING, /* with its quotes */
    RN_LEX_SIGN,
};

/* Keywords; case-insensitive and never names. */
enum rn_word {
    RN_WORD_NONE,
    RN_WORD_AND,
    RN_WORD_ARRAY,
    RN_WORD_AS,
    RN_WORD_ASC,
    RN_WORD_BETWEEN,
    RN_WORD_BY,
    RN_WORD_DESC,
    RN_WORD_DISTINCT,
    RN_WORD_ESCAPE,
    RN_WORD_EXISTS,
    RN_WORD_FROM,
    RN_WORD_GROUP,
    RN_WORD_IN,
    RN_WORD_JOIN,
    RN_WORD_LIKE,
    RN_WORD_LIMIT,
    RN_WORD_NOT,
    RN_WORD_OFFSET,
    RN_WORD_OR,
    RN_WORD_ORDER,
    RN_WORD_SELECT,
    RN_WORD_TOP,
    RN_WORD_VALUE,
    RN_WORD_WHERE,
    /* These three are case-sensitive. */
    RN_WORD_TRUE,
    RN_WORD_FALSE,
    RN_WORD_NULL,
    RN_WORD_UNDEFINED,
};

struct rn_lexeme {
    enum rn_lex_kind kind;
    enum rn_word word;   /* of a name */
    struct rn_view text; /* as written */
    size_t at;           /* byte offset of its first byte */
    char sign[4];        /* the operator's characters, padded with NULs */
};

struct rn_lexer {
    struct rn_view text;
    size_t at;
};

/* The next token, skipping white space and comments.  Never fails: an error is
 * returned as a token of kind RN_LEX_BAD... */
struct rn_lexeme rn_lexer_next(struct rn_lexer *l);

/* The value of a string token: unescaped, in the arena.  RN_BAD_REQUEST if an
 * escape is invalid, RN_TOO_LARGE. */
enum rn_code rn_lex_unquote(struct rn_view quoted, struct rn_arena *a,
                            struct rn_view *out) RN_CHECK;

#endif
