/* credential.c -- see credential.h. */
#include "client/account/credential.h"

#include "base/base64.h"
#include "base/secret.h"
#include "cosmos/auth.h"
#include "cosmos/header.h"

#include <pthread.h>

enum {
    KEY_BYTES_MAX = 256,
    SIGNED_MAX = 80 << 10,
    TOKEN_MAX = 64 << 10,
    RENEW_EARLY_MS = 5 * 60 * 1000,
};

/* Rank 2 of the client's locks: the token callback runs under it, so that two
 * threads do not both ask for a token; it must not call the client. */
struct rn_credential {
    pthread_mutex_t lock;
    struct rn_signer *signer; /* NULL: no key */
    struct rn_buf text;       /* what is signed; scratch */
    char *resource_token;
    runnel_token_fn token;
    void *token_context;
    char *bearer; /* the callback's last token */
    int64_t renew_ms;
};

static void free_secret(char *text)
{
    if (text)
        rn_wipe_secret(text, strlen(text));
    rn_free(text);
}

/* base64 in, a signer out. */
static runnel_code add_key(struct rn_credential *c, struct rn_view key,
                           runnel_error *error)
{
    unsigned char bytes[KEY_BYTES_MAX];
    size_t len = 0;
    enum rn_code rc;

    rc = rn_base64_decode(key, RN_BASE64_STANDARD, bytes, sizeof(bytes), &len);
    if (rc || len == 0)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "the account key is not base64");
    rc = rn_signer_new(rn_view_of(bytes, len), &c->signer);
    rn_wipe_secret(bytes, sizeof(bytes));
    return rn_error_take(error, rc, NULL);
}

runnel_code rn_credential_new(const struct rn_credential_options *options,
                              struct rn_credential **out, runnel_error *error)
{
    struct rn_credential *c = rn_new(sizeof(*c));
    runnel_code rc = RUNNEL_OK;

    if (!c)
        return rn_error_no_memory(error);
    pthread_mutex_init(&c->lock, NULL);
    c->text = RN_BUF_INIT(SIGNED_MAX);
    c->token = options->token;
    c->token_context = options->token_context;
    if (options->resource_token) {
        c->resource_token = rn_new_text(options->resource_token);
        if (!c->resource_token)
            rc = rn_error_no_memory(error);
    } else if (!options->token) {
        rc = add_key(c, options->key, error);
    }
    if (rc)
        rn_credential_free(c);
    else
        *out = c;
    return rc;
}

void rn_credential_free(struct rn_credential *c)
{
    if (!c)
        return;
    rn_signer_free(c->signer);
    rn_buf_release(&c->text);
    free_secret(c->resource_token);
    free_secret(c->bearer);
    pthread_mutex_destroy(&c->lock);
    rn_free(c);
}

bool rn_credential_has_callback(const struct rn_credential *c)
{
    return c->token != NULL;
}

bool rn_credential_renew(struct rn_credential *c)
{
    if (!c->token)
        return false;
    pthread_mutex_lock(&c->lock);
    c->renew_ms = 0;
    pthread_mutex_unlock(&c->lock);
    return true;
}

/* ---- the header ---------------------------------------------------------- */

static runnel_code add_signature(struct rn_credential *c,
                                 const struct rn_sign_parts *parts,
                                 struct rn_headers *headers,
                                 runnel_error *error)
{
    unsigned char signature[RN_SIGNATURE_LEN];
    char text[RN_AUTH_TEXT_MAX];
    enum rn_code rc;

    rn_buf_clear(&c->text);
    rc = rn_sign_print(parts, &c->text);
    if (!rc)
        rc = rn_signer_sign(c->signer, rn_buf_view(&c->text), signature);
    if (rc)
        return rn_error_take(error, rc, NULL);
    return rn_headers_add(headers, RN_HEADER_AUTHORIZATION,
                          rn_auth_print(signature, text), error);
}

/* The token behind its prefix, all escaped as one value of a URL. */
static runnel_code add_token(const char *prefix, const char *token,
                             struct rn_headers *headers, runnel_error *error)
{
    static const char hex[] = "0123456789abcdef";
    struct rn_buf out = RN_BUF_INIT(TOKEN_MAX);
    enum rn_code rc = rn_buf_add(&out, rn_view_text(prefix));
    runnel_code code;

    for (const char *at = token; !rc && *at; at++) {
        bool is_plain =
            (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || (*at != '\0' && strchr("-._~", *at));
        char escaped[3] = { '%', hex[((unsigned char)*at) >> 4],
                            hex[*at & 15] };
        rc = rn_buf_add(&out,
                        is_plain ? rn_view_of(at, 1) : rn_view_of(escaped, 3));
    }
    code = rn_error_take(error, rc, NULL);
    if (!code)
        code = rn_headers_add(headers, RN_HEADER_AUTHORIZATION,
                              rn_buf_view(&out), error);
    if (out.at)
        rn_wipe_secret(out.at, out.len);
    rn_buf_release(&out);
    return code;
}

/* A resource token is "type=resource&ver=1&sig=...", escaped or not. */
static runnel_code add_resource_token(struct rn_credential *c,
                                      struct rn_headers *headers,
                                      runnel_error *error)
{
    if (strchr(c->resource_token, '%') && !strchr(c->resource_token, '&'))
        return rn_headers_add(headers, RN_HEADER_AUTHORIZATION,
                              rn_view_text(c->resource_token), error);
    return add_token("", c->resource_token, headers, error);
}

static runnel_code get_bearer(struct rn_credential *c, int64_t now_ms,
                              runnel_error *error)
{
    runnel_token token = { 0 };
    runnel_code rc;
    char *copy;

    if (c->bearer && now_ms < c->renew_ms)
        return RUNNEL_OK;
    if (error)
        *error = (runnel_error){ .code = RUNNEL_UNAUTHORIZED,
                                 .message = "the token callback failed" };
    rc = c->token(c->token_context, &token, error);
    if (rc) {
        if (error)
            error->code = rc;
        return rc;
    }
    if (!token.text || !token.text[0])
        return rn_error_set(error, RUNNEL_UNAUTHORIZED,
                            "the token callback gave no token");
    copy = rn_new_text(token.text);
    if (!copy)
        return rn_error_no_memory(error);
    free_secret(c->bearer);
    c->bearer = copy;
    c->renew_ms = token.expires_ms ? token.expires_ms - RENEW_EARLY_MS
                                   : now_ms + RENEW_EARLY_MS;
    return RUNNEL_OK;
}

runnel_code rn_credential_authorize(struct rn_credential *c,
                                    const struct rn_sign_parts *parts,
                                    int64_t now_ms, struct rn_headers *headers,
                                    runnel_error *error)
{
    runnel_code rc;

    pthread_mutex_lock(&c->lock);
    if (c->signer) {
        rc = add_signature(c, parts, headers, error);
    } else if (c->token) {
        rc = get_bearer(c, now_ms, error);
        if (!rc)
            rc = add_token("type%3daad%26ver%3d1.0%26sig%3d", c->bearer,
                           headers, error);
    } else {
        rc = add_resource_token(c, headers, error);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}
