/* lex.c -- the tokenizer; see lex.h. */
#include "query/parse/lex.h"

#include "json/scan.h"
#include "json/utf8.h"

#include <strings.h>

#define WORD(name)                                                             \
    {                                                                          \
#name, sizeof(#name) - 1, RN_WORD_##name                               \
    }

static const struct {
    const char *text;
    size_t len;
    enum rn_word word;
} words[] = {
    WORD(AND),    WORD(ARRAY), WORD(AS),       WORD(ASC),    WORD(BETWEEN),
    WORD(BY),     WORD(DESC),  WORD(DISTINCT), WORD(ESCAPE), WORD(EXISTS),
    WORD(FROM),   WORD(GROUP), WORD(IN),       WORD(JOIN),   WORD(LIKE),
    WORD(LIMIT),  WORD(NOT),   WORD(OFFSET),   WORD(OR),     WORD(ORDER),
    WORD(SELECT), WORD(TOP),   WORD(VALUE),    WORD(WHERE),
};

#undef WORD

enum { WORD_MAX = 8 }; /* letters of the longest keyword */

static const struct {
    const char *text;
    enum rn_word word;
} literals[] = {
    { "true", RN_WORD_TRUE },
    { "false", RN_WORD_FALSE },
    { "null", RN_WORD_NULL },
    { "undefined", RN_WORD_UNDEFINED },
};

static enum rn_word word_of(struct rn_view name)
{
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        if (name.at[0] == literals[i].text[0] &&
            rn_view_eq(name, rn_view_text(literals[i].text)))
            return literals[i].word;
    }
    for (size_t i = 0;
         name.len <= WORD_MAX && i < sizeof(words) / sizeof(words[0]); i++) {
        if (name.len == words[i].len &&
            ((name.at[0] ^ words[i].text[0]) & ~0x20) == 0 &&
            strncasecmp(name.at, words[i].text, name.len) == 0)
            return words[i].word;
    }
    return RN_WORD_NONE;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters beyond ASCII are accepted, as the service does after a dot. */
static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static char peek(const struct rn_lexer *l, size_t ahead)
{
    if (l->at + ahead >= l->text.len)
        return '\0';
    return l->text.at[l->at + ahead];
}

/* Skips a comment that ends with the line or the text. */
static void skip_line(struct rn_lexer *l)
{
    while (l->at < l->text.len && l->text.at[l->at] != '\n')
        l->at++;
}

/* Skips a block comment; false if it is never closed, so that it is not a
 * comment. */
static bool skip_comment(struct rn_lexer *l)
{
    for (size_t i = l->at + 2; i + 1 < l->text.len; i++) {
        if (l->text.at[i] == '*' && l->text.at[i + 1] == '/') {
            l->at = i + 2;
            return true;
        }
    }
    return false;
}

static void skip_blanks(struct rn_lexer *l)
{
    for (;;) {
        char c = peek(l, 0);
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            l->at++;
        } else if (c == '-' && peek(l, 1) == '-') {
            skip_line(l);
        } else if (c != '/' || peek(l, 1) != '*' || !skip_comment(l)) {
            return;
        }
    }
}

static void digits(struct rn_lexer *l)
{
    while (is_digit(peek(l, 0)))
        l->at++;
}

static bool is_hex(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* A number may not be followed directly by a name: 12a and -0.E are errors. */
static enum rn_lex_kind number(struct rn_lexer *l)
{
    if (peek(l, 0) == '0' && (peek(l, 1) | 0x20) == 'x' && is_hex(peek(l, 2))) {
        l->at += 2;
        while (is_hex(peek(l, 0)))
            l->at++;
        return is_name(peek(l, 0)) ? RN_LEX_BAD_NUMBER : RN_LEX_NUMBER;
    }
    digits(l);
    if (peek(l, 0) == '.') {
        l->at++;
        digits(l);
    }
    if ((peek(l, 0) | 0x20) == 'e') {
        size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
        if (is_digit(peek(l, 1 + sign))) {
            l->at += 1 + sign;
            digits(l);
        }
    }
    if (!is_name(peek(l, 0)))
        return RN_LEX_NUMBER;
    while (is_name(peek(l, 0)))
        l->at++;
    return RN_LEX_BAD_NUMBER;
}

static enum rn_lex_kind string(struct rn_lexer *l)
{
    char quote = peek(l, 0);

    for (l->at++; l->at < l->text.len; l->at++) {
        char c = l->text.at[l->at];
        if (c == quote) {
            l->at++;
            return RN_LEX_STRING;
        }
        if (c == '\\')
            l->at++;
    }
    l->at = l->text.len;
    return RN_LEX_BAD_STRING;
}

static enum rn_lex_kind sign(struct rn_lexer *l, char out[4])
{
    char a = peek(l, 0), b = peek(l, 1);
    size_t n = 1;

    if (a == '>' && b == '>')
        n = peek(l, 2) == '>' ? 3 : 2;
    else if ((a == '<' && (b == '<' || b == '>')) ||
             (b == '=' && (a == '<' || a == '>' || a == '!')) ||
             (a == b && (a == '|' || a == '?')))
        n = 2;
    else if (!a || !strchr("()[]{},.:?+-*/%&|^~<>=", a))
        n = 0;
    memcpy(out, l->text.at + l->at, n);
    l->at += n ? n : 1;
    return n ? RN_LEX_SIGN : RN_LEX_BAD;
}

static enum rn_lex_kind name(struct rn_lexer *l, size_t skip)
{
    l->at += skip;
    if (!is_name_start(peek(l, 0)))
        return RN_LEX_BAD;
    while (is_name(peek(l, 0)))
        l->at++;
    return skip ? RN_LEX_PARAMETER : RN_LEX_NAME;
}

struct rn_lexeme rn_lexer_next(struct rn_lexer *l)
{
    struct rn_lexeme t = { 0 };
    char c;

    skip_blanks(l);
    t.at = l->at;
    c = peek(l, 0);
    if (l->at >= l->text.len)
        t.kind = RN_LEX_END;
    else if (is_name_start(c))
        t.kind = name(l, 0);
    else if (c == '@')
        t.kind = name(l, 1);
    else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1))))
        t.kind = number(l);
    else if (c == '"' || c == '\'')
        t.kind = string(l);
    else
        t.kind = sign(l, t.sign);
    t.text = rn_view_of(l->text.at + t.at, l->at - t.at);
    if (t.kind == RN_LEX_NAME)
        t.word = word_of(t.text);
    return t;
}

/* The code point of the \u escape at `i`, which moves past it; -1 if it is
 * malformed.  Two escapes may form a surrogate pair. */
static int64_t unicode_escape(struct rn_view raw, size_t *i)
{
    int high, low;

    if (raw.len - *i < 6 || (high = rn_scan_hex4(raw.at + *i + 2)) < 0)
        return -1;
    *i += 6;
    if (high < 0xD800 || high > 0xDFFF)
        return high;
    if (high > 0xDBFF || raw.len - *i < 6 || raw.at[*i] != '\\' ||
        raw.at[*i + 1] != 'u')
        return -1;
    low = rn_scan_hex4(raw.at + *i + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    *i += 6;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static int plain_escape(char c)
{
    static const char from[] = "\"'\\/bfnrt";
    static const char to[] = "\"'\\/\b\f\n\r\t";
    const char *found = c ? strchr(from, c) : NULL;

    return found ? to[found - from] : -1;
}

enum rn_code rn_lex_unquote(struct rn_view quoted, struct rn_arena *a,
                            struct rn_view *out)
{
    struct rn_view raw = rn_view_of(quoted.at + 1, quoted.len - 2);
    char *to = rn_arena_alloc(a, raw.len + 1);
    size_t n = 0, i = 0;

    if (!to)
        return RN_TOO_LARGE;
    while (i < raw.len) {
        if (raw.at[i] != '\\') {
            to[n++] = raw.at[i++];
        } else if (raw.at[i + 1] == 'u') {
            int64_t point = unicode_escape(raw, &i);
            if (point < 0)
                return RN_BAD_REQUEST;
            n += rn_utf8_encode((uint32_t)point, to + n);
        } else {
            int c = plain_escape(raw.at[i + 1]);
            if (c < 0)
                return RN_BAD_REQUEST;
            to[n++] = (char)c;
            i += 2;
        }
    }
    *out = rn_view_of(to, n);
    return RN_OK;
}
