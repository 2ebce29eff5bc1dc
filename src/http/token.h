/* token.h -- character classes of HTTP.
 *
 * Private to this directory.  Values, no state.
 */
#ifndef RN_HTTP_TOKEN_H
#define RN_HTTP_TOKEN_H

#include "base/mem.h"

/* A byte of a token (RFC 9110, 5.6.2) in lower case, or 0 for any other. */
extern const unsigned char rn_http_lower[256];

static inline unsigned char rn_http_token_byte(char c)
{
    return rn_http_lower[(unsigned char)c];
}

static inline bool rn_http_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Controls other than the tab, which may not appear in a line. */
static inline bool rn_http_is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* Printable and not a blank. */
static inline bool rn_http_is_visible(char c)
{
    return c > 0x20 && c < 0x7f;
}

bool rn_http_is_token(struct rn_view v);

/* Case-insensitive equality, for ASCII letters only. */
bool rn_http_same(struct rn_view a, struct rn_view b);

/* The first control byte of [at, end), or `end`. */
const char *rn_http_find_control(const char *at, const char *end);

/* The view without leading and trailing blanks and tabs. */
struct rn_view rn_http_trim(struct rn_view v);

#endif
