/* certificate.c -- see certificate.h. */
#include "server/certificate.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { WARN_DAYS = 30, DAY_S = 86400 };

void rn_certificate_init(struct rn_certificate *c)
{
    *c = (struct rn_certificate){ 0 };
    pthread_mutex_init(&c->lock, NULL);
}

void rn_certificate_close(struct rn_certificate *c)
{
    rn_tls_close(c->tls);
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

/* False without, which is a failure only if `err` says so: there may never have
 * been one. */
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
    if (errno != ENOENT && errno != ENOTDIR) /* it may well be there */
        rn_fail_errno(err, errno, "%s", files->cert);
    else if (rn_certificate_is_there(c))
        rn_fail(err, RN_NOT_FOUND, "%s: gone; the old one stays in use",
                files->cert);
    return false;
}

static void warn_of_end(struct rn_log *log, const char *file, int64_t left_s)
{
    if (left_s / DAY_S < WARN_DAYS)
        rn_log_warn(log, "the certificate ends soon, or has ended",
                    RN_TEXT("file", file), RN_I64("days", left_s / DAY_S));
}

enum rn_code rn_certificate_load(struct rn_certificate *c,
                                 const struct rn_options *o, struct rn_env *env,
                                 struct rn_log *log, struct rn_err *err)
{
    struct rn_certificate_files files;
    struct rn_tls *tls = NULL, *old;
    int64_t not_after;
    enum rn_code rc;

    if (!find(c, o, &files, err))
        return err->code;
    rc = rn_tls_open(files.cert, files.key, &tls, err);
    if (rc)
        return rc;
    not_after = rn_tls_not_after(tls);
    warn_of_end(log, files.cert, not_after - rn_wall_ms(env) / 1000);
    atomic_store(&c->not_after, not_after);
    pthread_mutex_lock(&c->lock);
    old = c->tls;
    c->tls = tls;
    pthread_mutex_unlock(&c->lock);
    rn_tls_close(old);
    return RN_OK;
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
