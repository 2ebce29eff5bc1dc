/* prefer.c -- see prefer.h. */
#include "cosmos/prefer.h"

#include <strings.h>

static struct rn_view trim(struct rn_view v)
{
    while (v.len && (v.at[0] == ' ' || v.at[0] == '\t'))
        v = rn_view_of(v.at + 1, v.len - 1);
    while (v.len && (v.at[v.len - 1] == ' ' || v.at[v.len - 1] == '\t'))
        v.len--;
    return v;
}

/* Takes the text before the separator, or all of it. */
static struct rn_view cut(struct rn_view *rest, char separator)
{
    const char *at = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
    struct rn_view first = *rest;

    if (at) {
        first.len = (size_t)(at - rest->at);
        *rest = rn_view_of(at + 1, rest->len - first.len - 1);
    } else {
        rest->len = 0;
    }
    return trim(first);
}

bool rn_prefer_find(struct rn_view header, const char *name,
                    struct rn_view *value)
{
    while (header.len) {
        struct rn_view rest = cut(&header, ',');
        struct rn_view pair = cut(&rest, ';'); /* parameters are ignored */
        struct rn_view word = cut(&pair, '=');

        if (word.len != strlen(name) ||
            strncasecmp(word.at, name, word.len) != 0)
            continue;
        *value = trim(pair);
        if (value->len >= 2 && value->at[0] == '"' &&
            value->at[value->len - 1] == '"')
            *value = rn_view_of(value->at + 1, value->len - 2);
        return true;
    }
    return false;
}

/* A number too large to represent is still a number of seconds. */
uint32_t rn_prefer_wait(struct rn_view header)
{
    struct rn_view value;
    uint64_t seconds = 0;

    if (!rn_prefer_find(header, "wait", &value) || !value.len)
        return 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return 0;
        seconds = seconds * 10 + (uint64_t)(value.at[i] - '0');
        if (seconds > UINT32_MAX)
            seconds = UINT32_MAX;
    }
    return (uint32_t)seconds;
}
