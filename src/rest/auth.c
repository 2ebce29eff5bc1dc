/* auth.c -- authentication by HMAC signature, and the rights of the key that
 * signed. */
#include "rest/auth.h"

#include "rest/auth_unknown_path.h"
#include "rest/context.h"
#include "rest/keys.h"
#include "rest/permissions.h"

#include "base/secret.h"
#include "cosmos/jwt.h"

#include <ctype.h>
#include <stdio.h>

enum { TEXT_MAX = 80 << 10 }; /* more than a request line and all headers */

/* ---- signers ------------------------------------------------------------- */

static void signers_free(struct rn_signers *s)
{
    for (size_t i = 0; i < s->count; i++)
        rn_signer_free(s->of[i]);
    rn_buf_release(&s->text);
    rn_buf_release(&s->link);
    rn_buf_release(&s->claim);
    rn_buf_release(&s->right);
    rn_buf_release(&s->token);
    rn_free(s);
}

void rn_signers_free_all(struct rn_signers *s)
{
    while (s) {
        struct rn_signers *next = s->next;
        signers_free(s);
        s = next;
    }
}

static bool may_write(unsigned key)
{
    return key < 2 || key == RN_KEY_WELL_KNOWN;
}

/* Adds the signers of the read-write keys, or those of the read-only keys. */
static enum rn_code add_signers(struct rn_signers *s,
                                const struct rn_keys *keys, bool writers)
{
    enum rn_code rc = RN_OK;

    for (unsigned i = 0; !rc && i < RN_KEYS; i++) {
        if (!keys->len[i] || may_write(i) != writers)
            continue;
        rc = rn_signer_new(rn_view_of(keys->bytes[i], keys->len[i]),
                           &s->of[s->count]);
        s->which[s->count] = i;
        s->count += !rc;
    }
    return rc;
}

static enum rn_code signers_new(const struct rn_keys *keys, uint64_t version,
                                struct rn_signers **out)
{
    struct rn_signers *s = rn_new(sizeof(*s));
    enum rn_code rc = s ? add_signers(s, keys, true) : RN_NOMEM;

    if (!rc) {
        s->writers = s->count;
        rc = add_signers(s, keys, false);
    }
    if (rc) {
        rn_signers_free_all(s);
        return rc;
    }
    s->version = version;
    s->text = RN_BUF_INIT(TEXT_MAX);
    s->link = RN_BUF_INIT(TEXT_MAX);
    s->claim = RN_BUF_INIT(TEXT_MAX);
    s->right = RN_BUF_INIT(TEXT_MAX);
    s->token = RN_BUF_INIT(TEXT_MAX);
    *out = s;
    return RN_OK;
}

/* Makes signers of the current keys. */
static enum rn_code signers_make(struct rn_rest *r, struct rn_signers **out)
{
    struct rn_keys *keys = rn_secret_new(sizeof(*keys));
    uint64_t version;
    enum rn_code rc;

    if (!keys)
        return RN_NOMEM;
    pthread_mutex_lock(&r->lock);
    version = r->keys_version;
    *keys = *r->keys;
    pthread_mutex_unlock(&r->lock);
    rc = signers_new(keys, version, out);
    rn_secret_free(keys, sizeof(*keys));
    return rc;
}

/* An idle set, which always has the current keys, or a new one. */
enum rn_code rn_signers_borrow(struct rn_rest *r, struct rn_signers **out)
{
    pthread_mutex_lock(&r->lock);
    *out = r->idle;
    if (*out)
        r->idle = (*out)->next;
    pthread_mutex_unlock(&r->lock);
    return *out ? RN_OK : signers_make(r, out);
}

void rn_signers_return(struct rn_rest *r, struct rn_signers *s)
{
    bool stale;

    pthread_mutex_lock(&r->lock);
    stale = s->version != r->keys_version;
    s->next = stale ? NULL : r->idle;
    if (!stale)
        r->idle = s;
    pthread_mutex_unlock(&r->lock);
    if (stale)
        rn_signers_free_all(s);
}

/* ---- signatures ---------------------------------------------------------- */

/* Finds the key that signed `text`: the one that signed the previous request,
 * else any.  The time this takes reveals which key is in use, but nothing of
 * its bytes. */
static enum rn_code find_key(struct rn_signers *s, struct rn_view text,
                             const struct rn_auth *auth, size_t *which)
{
    size_t only = 0;
    enum rn_code rc = RN_UNAUTHORIZED;

    if (s->count)
        rc = rn_signer_match(&s->of[s->last], 1, text, auth->signature, &only);
    if (rc == RN_UNAUTHORIZED)
        rc = rn_signer_match(s->of, s->count, text, auth->signature, &s->last);
    *which = s->last;
    return rc;
}

/* The error has the expected payload, which is derived from the request
 * alone. */
static void refuse(struct rn_context *x, struct rn_view payload)
{
    rn_fail(&x->err, RN_UNAUTHORIZED,
            "The input authorization token can't serve the request. The "
            "wrong key is being used or the expected payload is not "
            "built as per the protocol. For more info: "
            "https://aka.ms/cosmosdb-tsg-unauthorized. Server used the "
            "following payload to sign: '%.*s'",
            RN_FMT(payload));
}

/* The signed fields other than the link; makes room for both. */
static struct rn_sign_parts begin_payload(struct rn_context *x,
                                          struct rn_signers *s)
{
    struct rn_sign_parts parts = {
        .verb = rn_view_text(rn_http_method_name(x->call->req->method)),
        .word = rn_link_word(&x->link),
        .x_date = rn_context_header(x, RN_HEADER_X_DATE),
    };

    if (!parts.x_date.len)
        parts.date = rn_context_header(x, RN_HEADER_DATE);
    rn_buf_clear(&s->text);
    rn_buf_clear(&s->link);
    return parts;
}

/* Prints the payload to be signed, in one of the forms in which clients name
 * the same resource.  RN_NOT_FOUND if the resource has no such form. */
static enum rn_code print_payload(struct rn_context *x, enum rn_link_form form,
                                  struct rn_signers *s)
{
    const struct rn_http_request *req = x->call->req;
    struct rn_sign_parts parts = begin_payload(x, s);
    enum rn_code rc;

    rc = x->is_control
             ? rn_buf_add(&s->link,
                          rn_view_of(req->target.at + 1, req->target.len - 1))
             : rn_link_print(&x->link, form, x->target.path, &s->link);
    parts.link = rn_buf_view(&s->link);
    return rc ? rc : rn_sign_print(&parts, &s->text);
}

/* Would the service's older gateway sign another path than was sent?  It drops
 * trailing blanks of an id and everything after a '#', and decodes escapes
 * twice. */
static bool is_lost_there(struct rn_view id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (id.at[i] == '#' || (id.at[i] == ' ' && i + 1 == id.len))
            return true;
        if (id.at[i] == '%' && i + 2 < id.len &&
            isxdigit((uint8_t)id.at[i + 1]) && isxdigit((uint8_t)id.at[i + 2]))
            return true;
    }
    return false;
}

static enum rn_code be_strict(struct rn_context *x)
{
    const struct rn_link *l = &x->link;

    if (!x->rest->opts.strict || l->kind != RN_KIND_DOCUMENT || l->is_list ||
        !is_lost_there(l->ids[l->depth - 1]))
        return RN_OK;
    return rn_fail(&x->err, RN_UNAUTHORIZED,
                   "The input authorization token can't serve the request. The "
                   "service's gateway would sign another path: the id ends "
                   "with a space, or it contains '#' or an escape (--strict)");
}

/* The same for a path that names no resource. */
static enum rn_code match_stray(struct rn_context *x, struct rn_signers *s,
                                const struct rn_auth *auth, size_t *which)
{
    enum rn_code rc = RN_UNAUTHORIZED;

    for (unsigned i = 0; rc == RN_UNAUTHORIZED && i < RN_UNKNOWN_PATH_FORMS;
         i++) {
        struct rn_sign_parts parts = begin_payload(x, s);

        rc = rn_auth_unknown_path_print(x, i, &s->link, &parts);
        if (!rc)
            rc = rn_sign_print(&parts, &s->text);
        if (!rc)
            rc = find_key(s, rn_buf_view(&s->text), auth, which);
        if (rc == RN_NOT_FOUND)
            rc = RN_UNAUTHORIZED;
    }
    if (rc == RN_UNAUTHORIZED) {
        rn_fail(&x->err, rc,
                "The input authorization token can't serve the request. The "
                "wrong key is being used or the expected payload is not built "
                "as per the protocol.");
    }
    return rc;
}

static enum rn_code match(struct rn_context *x, struct rn_signers *s,
                          const struct rn_auth *auth, size_t *which)
{
    bool names = !x->is_stray || x->link.kind != RN_KIND_ACCOUNT;
    enum rn_code rc = RN_UNAUTHORIZED;

    for (unsigned i = 0; names && rc == RN_UNAUTHORIZED && i < RN_LINK_FORMS;
         i++) {
        rc = print_payload(x, (enum rn_link_form)i, s);
        if (!rc)
            rc = find_key(s, rn_buf_view(&s->text), auth, which);
        if (rc == RN_NOT_FOUND)
            rc = RN_UNAUTHORIZED;
    }
    if (rc == RN_UNAUTHORIZED && x->is_stray)
        return match_stray(x, s, auth, which);
    if (rc == RN_UNAUTHORIZED &&
        !print_payload(x, x->link.is_rid ? RN_LINK_BY_RID : RN_LINK_BY_NAME, s))
        refuse(x, rn_buf_view(&s->text));
    return rc;
}

/* ---- signatures seen before ---------------------------------------------- */

/* Prints all fields that a signature covers, as they were sent; none of them
 * contains a newline. */
static enum rn_code print_claim(struct rn_context *x, struct rn_buf *out)
{
    const struct rn_http_request *req = x->call->req;
    const struct rn_view parts[] = {
        rn_view_text(rn_http_method_name(req->method)),
        RN_LIT("\n"),
        req->target,
        RN_LIT("\n"),
        rn_context_header(x, RN_HEADER_X_DATE),
        RN_LIT("\n"),
        rn_context_header(x, RN_HEADER_DATE),
    };
    enum rn_code rc = RN_OK;

    rn_buf_clear(out);
    for (size_t i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); i++)
        rc = rn_buf_add(out, parts[i]);
    return rc;
}

/* Is it the claim and the token that verified last?  See auth.h. */
static bool is_known(const struct rn_signers *s, struct rn_view token)
{
    return rn_view_eq(rn_buf_view(&s->claim), rn_buf_view(&s->right)) &&
           rn_equal_secret(token, rn_buf_view(&s->token));
}

static void remember(struct rn_signers *s, struct rn_view token, unsigned key)
{
    struct rn_buf before = s->right;

    s->key = key;
    s->right = s->claim;
    s->claim = before;
    rn_buf_clear(&s->token);
    if (rn_buf_add(&s->token, token))
        rn_buf_clear(&s->right);
}

/* ---- rights -------------------------------------------------------------- */

/* Lets the operator see when an old key is no longer in use. */
static void note_key(struct rn_context *x, unsigned key)
{
    _Atomic int64_t *used = &x->rest->key_used[key];

    x->call->note.key =
        key == RN_KEY_WELL_KNOWN ? "emulator" : rn_keys_name(key);
    x->call->principal = key;
    if (atomic_load_explicit(used, memory_order_relaxed) != x->now_s)
        atomic_store_explicit(used, x->now_s, memory_order_relaxed);
}

static void grant(struct rn_context *x, unsigned key)
{
    note_key(x, key);
    x->rights = RN_MAY_READ;
    if (may_write(key))
        x->rights |= RN_MAY_WRITE;
}

static enum rn_code check_date(struct rn_context *x)
{
    return rn_auth_check_date(rn_context_header(x, RN_HEADER_X_DATE),
                              rn_context_header(x, RN_HEADER_DATE), x->now_s,
                              &x->err);
}

/* A client that can make the emulator's web tokens could also sign with the
 * emulator's key. */
static enum rn_code check_web_token(struct rn_context *x, struct rn_view token)
{
    const struct rn_rest_opts *o = &x->rest->opts;
    struct rn_err why = { .text = "this server is not on loopback" };
    enum rn_code rc = o->loopback_only && o->well_known_key
                          ? rn_jwt_check(token, x->now_s, &x->call->arena, &why)
                          : RN_UNAUTHORIZED;

    if (rc) {
        return rn_fail(&x->err, rc,
                       "Microsoft Entra tokens (type=aad) are not supported by "
                       "this server, except those of the emulator (%s); use an "
                       "account key",
                       why.text);
    }
    note_key(x, RN_KEY_WELL_KNOWN);
    x->rights = RN_MAY_READ | RN_MAY_WRITE_DATA;
    return RN_OK;
}

static enum rn_code check_token(struct rn_context *x, struct rn_signers *s,
                                struct rn_view token)
{
    struct rn_auth auth;
    size_t which = 0;
    enum rn_code rc = rn_auth_parse(token, &x->call->arena, &auth, &x->err);

    if (rc)
        return rc;
    if (auth.type == RN_AUTH_AAD)
        return check_web_token(x, auth.token);
    if (auth.type == RN_AUTH_RESOURCE)
        return rn_permission_authorize(x, auth.token);
    rc = check_date(x);
    if (!rc)
        rc = match(x, s, &auth, &which);
    if (!rc)
        rc = be_strict(x);
    if (rc)
        return rc;
    remember(s, token, s->which[which]);
    grant(x, s->key);
    return RN_OK;
}

static enum rn_code authorize(struct rn_context *x)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_AUTHORIZATION);
    struct rn_signers *s = NULL;
    enum rn_code rc;

    if (!token.len ||
        rn_http_header_repeats(x->call->req, RN_LIT(RN_HEADER_AUTHORIZATION))) {
        return rn_fail(&x->err, RN_UNAUTHORIZED,
                       "Required Header authorization is missing. Ensure a "
                       "valid Authorization token is passed.");
    }
    rc = rn_signers_borrow(x->rest, &s);
    if (rc)
        return rn_fail(&x->err, rc, "out of memory");
    rc = print_claim(x, &s->claim);
    if (!rc && is_known(s, token)) {
        rc = check_date(x);
        if (!rc)
            grant(x, s->key);
    } else if (!rc) {
        rc = check_token(x, s, token);
    }
    rn_signers_return(x->rest, s);
    return rc;
}

enum rn_code rn_rest_authorize(struct rn_context *x)
{
    enum rn_code rc = authorize(x);

    if (rc) {
        bool any = rn_context_header(x, RN_HEADER_AUTHORIZATION).len > 0;
        x->is_suspect = any && rc == RN_UNAUTHORIZED;
        atomic_fetch_add(
            &x->rest->auth_failures[!any                 ? RN_AUTH_MISSING
                                    : rc == RN_FORBIDDEN ? RN_AUTH_EXPIRED
                                                         : RN_AUTH_INVALID],
            1);
    }
    return rc;
}
