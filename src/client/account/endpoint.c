/* endpoint.c -- see endpoint.h. */
#include "client/account/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

static bool is_word(struct rn_view text, const char *word)
{
    return text.len == strlen(word) &&
           strncasecmp(text.at, word, text.len) == 0;
}

static struct rn_view trim(struct rn_view text)
{
    while (text.len > 0 && text.at[0] == ' ')
        text = rn_view_of(text.at + 1, text.len - 1);
    while (text.len > 0 && text.at[text.len - 1] == ' ')
        text.len--;
    return text;
}

runnel_code rn_connection_parse(const char *text, struct rn_connection *out,
                                runnel_error *error)
{
    *out = (struct rn_connection){ 0 };
    while (*text) {
        size_t len = strcspn(text, ";");
        const char *equals = memchr(text, '=', len);
        struct rn_view name, value;

        if (equals) {
            name = trim(rn_view_of(text, (size_t)(equals - text)));
            value =
                trim(rn_view_of(equals + 1, len - (size_t)(equals + 1 - text)));
            if (is_word(name, "AccountEndpoint"))
                out->endpoint = value;
            else if (is_word(name, "AccountKey"))
                out->key = value;
            else if (is_word(name, "DisableServerCertificateValidation"))
                out->insecure_tls = is_word(value, "true");
        }
        text += len + (text[len] == ';');
    }
    if (out->endpoint.len == 0 || out->key.len == 0) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the connection string lacks AccountEndpoint or "
                            "AccountKey");
    }
    return RUNNEL_OK;
}

/* ---- URLs ---------------------------------------------------------------- */

static bool is_host_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
           byte == '_';
}

/* The host and what follows it. */
static bool split_host(struct rn_view rest, struct rn_view *host,
                       struct rn_view *port)
{
    size_t len = 0;

    if (rest.len > 0 && rest.at[0] == '[') {
        len = 1;
        while (len < rest.len && (isxdigit((unsigned char)rest.at[len]) ||
                                  rest.at[len] == ':' || rest.at[len] == '.'))
            len++;
        if (len < 3 || len == rest.len || rest.at[len] != ']')
            return false;
        len++;
    } else {
        while (len < rest.len && is_host_byte(rest.at[len]))
            len++;
    }
    *host = rn_view_of(rest.at, len);
    *port = rn_view_of(rest.at + len, rest.len - len);
    return len > 0;
}

static bool is_port(struct rn_view port)
{
    unsigned n = 0;

    if (port.len == 0)
        return true;
    if (port.at[0] != ':' || port.len < 2 || port.len > 6)
        return false;
    for (size_t i = 1; i < port.len; i++) {
        if (port.at[i] < '0' || port.at[i] > '9')
            return false;
        n = n * 10 + (unsigned)(port.at[i] - '0');
    }
    return n > 0 && n <= 65535;
}

runnel_code rn_endpoint_parse(struct rn_view text, char out[RN_REGION_URL_MAX],
                              bool *is_loopback, runnel_error *error)
{
    struct rn_view rest = trim(text), host, port;
    size_t scheme;

    while (rest.len > 0 && rest.at[rest.len - 1] == '/')
        rest.len--;
    if (rest.len > 7 && strncasecmp(rest.at, "http://", 7) == 0)
        scheme = 7;
    else if (rest.len > 8 && strncasecmp(rest.at, "https://", 8) == 0)
        scheme = 8;
    else {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the endpoint begins neither with http:// nor "
                            "with https://");
    }
    if (rest.len >= RN_REGION_URL_MAX ||
        !split_host(rn_view_of(rest.at + scheme, rest.len - scheme), &host,
                    &port) ||
        !is_port(port)) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the endpoint is not a host with an optional port "
                            "behind its scheme");
    }
    *is_loopback = is_word(host, "localhost") || is_word(host, "[::1]") ||
                   rn_view_starts(host, RN_LIT("127."));
    snprintf(out, RN_REGION_URL_MAX, "%.*s", RN_FMT(rest));
    return RUNNEL_OK;
}
