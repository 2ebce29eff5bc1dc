/* certificate.c -- the server's current TLS certificate; see certificate.h. */
#include "server/certificate.h"

#include "net/authority.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WARN_DAYS = 30, DAY_S = 86400, TRY_S = 3600 };

void rn_certificate_init(struct rn_certificate *c, const struct rn_options *o)
{
    *c = (struct rn_certificate){ 0 };
    snprintf(c->ca_file, sizeof(c->ca_file), "%s/tls/ca.pem", o->data);
    pthread_mutex_init(&c->lock, NULL);
}

void rn_certificate_close(struct rn_certificate *c)
{
    rn_tls_close(c->tls);
    rn_buf_release(&c->ca);
    pthread_mutex_destroy(&c->lock);
}

void rn_certificate_name(const struct rn_options *o,
                         struct rn_certificate_files *out)
{
    if (o->tls_cert) {
        snprintf(out->cert, sizeof(out->cert), "%s", o->tls_cert);
        snprintf(out->key, sizeof(out->key), "%s",
                 o->tls_key ? o->tls_key : "");
        return;
    }
    snprintf(out->cert, sizeof(out->cert), "%s/tls/cert.pem", o->data);
    snprintf(out->key, sizeof(out->key), "%s/tls/key.pem", o->data);
}

/* False if there is no certificate, which is an error only if `err` is set:
 * there may never have been one. */
static bool find(const struct rn_certificate *c, const struct rn_options *o,
                 struct rn_certificate_files *files, struct rn_err *err)
{
    if (!o->tls_cert != !o->tls_key) {
        rn_fail(err, RN_BAD_REQUEST, "--tls-cert and --tls-key go together");
        return false;
    }
    rn_certificate_name(o, files);
    if (o->tls_cert || access(files->cert, F_OK) == 0)
        return true;
    if (errno != ENOENT &&
        errno != ENOTDIR) /* it may exist but be unreadable */
        rn_fail_errno(err, errno, "%s", files->cert);
    else if (rn_certificate_is_there(c) && !c->ca.len)
        rn_fail(err, RN_NOT_FOUND,
                "%s: missing; the old certificate stays in use", files->cert);
    return false;
}

static void name_directory(const struct rn_options *o,
                           char out[RN_CERTIFICATE_PATH])
{
    snprintf(out, RN_CERTIFICATE_PATH, "%s/tls", o->data);
}

static void take(struct rn_certificate *c, struct rn_tls *tls,
                 bool is_automatic)
{
    struct rn_tls *old;

    atomic_store(&c->not_after, rn_tls_not_after(tls));
    atomic_store(&c->is_loopback, rn_tls_covers(tls, "127.0.0.1"));
    pthread_mutex_lock(&c->lock);
    old = c->tls;
    c->tls = tls;
    c->is_automatic = is_automatic;
    pthread_mutex_unlock(&c->lock);
    rn_tls_close(old);
}

static void warn_of_end(struct rn_log *log, const char *file, int64_t left_s)
{
    if (left_s / DAY_S < WARN_DAYS)
        rn_log_warn(log, "the certificate expires soon, or has expired",
                    RN_TEXT("file", file), RN_I64("days", left_s / DAY_S));
}

enum rn_code rn_certificate_load(struct rn_certificate *c,
                                 const struct rn_options *o, struct rn_env *env,
                                 struct rn_log *log, struct rn_err *err)
{
    struct rn_certificate_files files;
    char dir[RN_CERTIFICATE_PATH];
    struct rn_tls *tls = NULL;
    bool is_automatic;
    enum rn_code rc;

    if (!find(c, o, &files, err))
        return err->code;
    rc = rn_tls_open(files.cert, files.key, &tls, err);
    if (rc)
        return rc;
    name_directory(o, dir);
    is_automatic = !o->tls_cert && rn_authority_is_automatic(env, dir);
    if (!is_automatic)
        warn_of_end(log, files.cert,
                    rn_tls_not_after(tls) - rn_wall_ms(env) / 1000);
    take(c, tls, is_automatic);
    rn_buf_release(&c->ca);
    return RN_OK;
}

/* ---- automatic ----------------------------------------------------------- */

static enum rn_code make_in_memory(struct rn_certificate *c, struct rn_env *env,
                                   struct rn_err *err)
{
    struct rn_authority_texts texts;
    struct rn_tls *tls = NULL;
    enum rn_code rc = rn_authority_make(env, &texts, err);

    if (!rc)
        rc = rn_tls_open_texts(rn_buf_view(&texts.cert),
                               rn_buf_view(&texts.key), &tls, err);
    if (!rc) {
        take(c, tls, true);
        rn_buf_release(&c->ca);
        c->ca = texts.ca;
        texts.ca = (struct rn_buf){ 0 };
    }
    rn_authority_texts_release(&texts);
    return rc;
}

bool rn_certificate_is_due(const struct rn_certificate *c, struct rn_env *env)
{
    int64_t now_s = rn_wall_ms(env) / 1000;

    return c->is_automatic && now_s >= c->tried_s + TRY_S &&
           atomic_load(&c->not_after) - now_s < (int64_t)WARN_DAYS * DAY_S;
}

void rn_certificate_ensure(struct rn_certificate *c, const struct rn_options *o,
                           struct rn_env *env, struct rn_log *log)
{
    char dir[RN_CERTIFICATE_PATH];
    struct rn_err err = { 0 };
    enum rn_code rc;

    if (o->no_auto_tls || o->tls_cert ||
        (rn_certificate_is_there(c) && !rn_certificate_is_due(c, env)))
        return;
    c->tried_s = rn_wall_ms(env) / 1000;
    if (strcmp(o->store, "mem") == 0) {
        rc = make_in_memory(c, env, &err);
    } else {
        name_directory(o, dir);
        rc = rn_authority_issue_automatic(env, dir, &err);
        if (!rc)
            rc = rn_certificate_load(c, o, env, log, &err);
    }
    if (rc)
        rn_log_warn(log, "cannot make a certificate: HTTPS is not available",
                    RN_TEXT("err", err.text));
}

bool rn_certificate_is_there(const struct rn_certificate *c)
{
    return atomic_load(&c->not_after) != 0;
}

struct rn_tls *rn_certificate_share(struct rn_certificate *c)
{
    struct rn_tls *tls;

    pthread_mutex_lock(&c->lock);
    tls = c->tls ? rn_tls_share(c->tls) : NULL;
    pthread_mutex_unlock(&c->lock);
    return tls;
}
