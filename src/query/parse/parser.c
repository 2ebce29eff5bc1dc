/* parser.c -- the parser's look at its tokens, and its syntax errors. */
#include "query/parse/parser.h"

#include <strings.h>

void rn_parser_take(struct rn_parser *p)
{
    p->before = p->now;
    p->now = rn_lexer_next(&p->lexer);
}

bool rn_parser_sees(const struct rn_parser *p, const char *sign)
{
    return p->now.sign[0] == sign[0] && strcmp(p->now.sign, sign) == 0;
}

bool rn_parser_skip(struct rn_parser *p, const char *sign)
{
    if (!rn_parser_sees(p, sign))
        return false;
    rn_parser_take(p);
    return true;
}

bool rn_parser_skip_word(struct rn_parser *p, enum rn_word word)
{
    if (p->now.word != word)
        return false;
    rn_parser_take(p);
    return true;
}

bool rn_parser_name_is(const struct rn_parser *p, const char *name)
{
    return p->now.kind == RN_LEX_NAME && p->now.text.len == strlen(name) &&
           strncasecmp(p->now.text.at, name, p->now.text.len) == 0;
}

struct rn_lexeme rn_parser_peek(const struct rn_parser *p)
{
    struct rn_lexer ahead = p->lexer;

    return rn_lexer_next(&ahead);
}

size_t rn_parser_end(const struct rn_parser *p)
{
    return p->before.at + p->before.text.len;
}

enum rn_code rn_parser_refuse(struct rn_parser *p)
{
    const char *code = "SC1001", *what = "incorrect syntax near";
    size_t end = p->now.at + p->now.text.len;
    struct rn_view text = p->now.text;

    if (p->now.kind == RN_LEX_END)
        return rn_faults_add(p->faults, "SC1002", p->now.at, p->now.at,
                             "Syntax error, unexpected end-of-file.");
    if (p->now.kind == RN_LEX_BAD) {
        code = "SC1010";
        what = "invalid token";
    }
    if (p->now.kind == RN_LEX_BAD_STRING) {
        code = "SC1012";
        what = "invalid string literal token";
    }
    if (text.len > 100)
        text.len = 100;
    return rn_faults_add(p->faults, code, p->now.at, end,
                         "Syntax error, %s '%.*s'.", what, RN_FMT(text));
}

enum rn_code rn_parser_expect(struct rn_parser *p, const char *sign)
{
    return rn_parser_skip(p, sign) ? RN_OK : rn_parser_refuse(p);
}

enum rn_code rn_parser_expect_word(struct rn_parser *p, enum rn_word word)
{
    return rn_parser_skip_word(p, word) ? RN_OK : rn_parser_refuse(p);
}
