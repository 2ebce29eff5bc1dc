/* tls.c -- see tls.h. */
#include "net/tls.h"

#include "base/secret.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

struct rn_tls {
    SSL_CTX *ctx;
    atomic_uint owners;
    int64_t not_after;
};

struct rn_tls_session {
    struct rn_tls *tls;
    SSL *ssl;
};

static enum rn_code fail_ssl(struct rn_err *err, const char *path)
{
    unsigned long code = ERR_get_error();
    char words[128] = "not usable";

    if (code)
        ERR_error_string_n(code, words, sizeof(words));
    ERR_clear_error();
    return rn_fail(err, RN_BAD_REQUEST, "%s: %s", path, words);
}

int rn_tls_refuse_passphrase(char *out, int size, int is_new, void *asked)
{
    (void)out;
    (void)size;
    (void)is_new;
    *(bool *)asked = true;
    return -1;
}

/* Follows links: Kubernetes mounts a secret as a link.  A FIFO would block the
 * open until it has a writer. */
static enum rn_code check_regular(const char *path, struct rn_err *err)
{
    struct stat st;

    if (stat(path, &st))
        return rn_fail_errno(err, errno, "%s", path);
    return S_ISREG(st.st_mode)
               ? RN_OK
               : rn_fail(err, RN_BAD_REQUEST, "%s: not a regular file", path);
}

static enum rn_code read_files(SSL_CTX *ctx, const char *cert_path,
                               const char *key_path, struct rn_err *err)
{
    bool asked = false;
    enum rn_code rc = check_regular(cert_path, err);

    if (!rc)
        rc = check_regular(key_path, err);
    if (rc)
        return rc;
    SSL_CTX_set_default_passwd_cb(ctx, rn_tls_refuse_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, &asked);
    if (SSL_CTX_use_certificate_chain_file(ctx, cert_path) != 1)
        rc = fail_ssl(err, cert_path);
    else if (SSL_CTX_use_PrivateKey_file(ctx, key_path, SSL_FILETYPE_PEM) !=
                 1 ||
             SSL_CTX_check_private_key(ctx) != 1)
        rc = fail_ssl(err, key_path);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    return rc && asked
               ? rn_fail(err, RN_BAD_REQUEST, RN_TLS_HAS_PASSPHRASE, key_path)
               : rc;
}

/* The server speaks HTTP/1.1 only, and selects it by ALPN if a client offers
 * more. */
static int choose_protocol(SSL *ssl, const unsigned char **out,
                           unsigned char *out_len, const unsigned char *in,
                           unsigned in_len, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen = NULL;

    (void)ssl;
    (void)context;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in,
                              in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* For TLS 1.2: authenticated encryption and forward secrecy, so neither CBC nor
 * SHA-1.  TLS 1.3 has nothing else. */
static const char ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

static int64_t not_after(SSL_CTX *ctx)
{
    X509 *cert = SSL_CTX_get0_certificate(ctx);
    struct tm tm;

    if (!cert || !ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm))
        return 0;
    return (int64_t)timegm(&tm);
}

static void set_modes(SSL_CTX *ctx)
{
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
}

static enum rn_code context_new(struct rn_tls **out, struct rn_err *err)
{
    struct rn_tls *tls = rn_new(sizeof(*tls));

    if (!tls) {
        (void)!rn_fail(err, RN_NOMEM, "TLS: out of memory");
        return RN_NOMEM;
    }
    atomic_init(&tls->owners, 1);
    *out = tls;
    tls->ctx = SSL_CTX_new(TLS_server_method());
    if (!tls->ctx || !SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION) ||
        !SSL_CTX_set_cipher_list(tls->ctx, ciphers))
        return fail_ssl(err, "TLS");
    set_modes(tls->ctx);
    return RN_OK;
}

/* Returns a context that has its certificate, or frees it. */
static enum rn_code context_finish(struct rn_tls *tls, enum rn_code rc,
                                   struct rn_tls **out)
{
    if (rc) {
        rn_tls_close(tls);
        return rc;
    }
    tls->not_after = not_after(tls->ctx);
    *out = tls;
    return RN_OK;
}

enum rn_code rn_tls_open(const char *cert_path, const char *key_path,
                         struct rn_tls **out, struct rn_err *err)
{
    struct rn_tls *tls = NULL;
    enum rn_code rc = rn_check_secret(key_path, err);

    if (!rc)
        rc = context_new(&tls, err);
    if (!rc)
        rc = read_files(tls->ctx, cert_path, key_path, err);
    return context_finish(tls, rc, out);
}

enum rn_code rn_tls_open_texts(struct rn_view cert, struct rn_view key,
                               struct rn_tls **out, struct rn_err *err)
{
    BIO *cert_bio = BIO_new_mem_buf(cert.at, (int)cert.len);
    BIO *key_bio = BIO_new_mem_buf(key.at, (int)key.len);
    X509 *x509 =
        cert_bio ? PEM_read_bio_X509(cert_bio, NULL, NULL, NULL) : NULL;
    EVP_PKEY *pkey =
        key_bio ? PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL) : NULL;
    struct rn_tls *tls = NULL;
    enum rn_code rc = context_new(&tls, err);

    if (!rc && (!x509 || !pkey || !SSL_CTX_use_certificate(tls->ctx, x509) ||
                !SSL_CTX_use_PrivateKey(tls->ctx, pkey)))
        rc = fail_ssl(err, "the certificate");
    X509_free(x509);
    EVP_PKEY_free(pkey);
    BIO_free(cert_bio);
    BIO_free(key_bio);
    return context_finish(tls, rc, out);
}

struct rn_tls *rn_tls_share(struct rn_tls *tls)
{
    atomic_fetch_add(&tls->owners, 1);
    return tls;
}

void rn_tls_close(struct rn_tls *tls)
{
    if (!tls || atomic_fetch_sub(&tls->owners, 1) != 1)
        return;
    SSL_CTX_free(tls->ctx);
    rn_free(tls);
}

int64_t rn_tls_not_after(const struct rn_tls *tls)
{
    return tls->not_after;
}

bool rn_tls_covers(const struct rn_tls *tls, const char *address)
{
    X509 *cert = SSL_CTX_get0_certificate(tls->ctx);

    return cert && X509_check_ip_asc(cert, address, 0) == 1;
}

enum rn_code rn_tls_session_new(struct rn_tls *tls, int fd,
                                struct rn_tls_session **out)
{
    struct rn_tls_session *s = rn_new(sizeof(*s));

    if (!s)
        return RN_NOMEM;
    s->ssl = SSL_new(tls->ctx);
    if (!s->ssl || SSL_set_fd(s->ssl, fd) != 1) {
        SSL_free(s->ssl);
        rn_free(s);
        return RN_NOMEM;
    }
    SSL_set_accept_state(s->ssl); /* the first read or write shakes hands */
    s->tls = rn_tls_share(tls);
    *out = s;
    return RN_OK;
}

void rn_tls_session_free(struct rn_tls_session *s)
{
    if (!s)
        return;
    (void)SSL_shutdown(s->ssl); /* sends close_notify; awaits no answer */
    ERR_clear_error();
    SSL_free(s->ssl);
    rn_tls_close(s->tls);
    rn_free(s);
}

static enum rn_tls_step step_of(struct rn_tls_session *s, int rc)
{
    int error = SSL_get_error(s->ssl, rc);

    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ)
        return RN_TLS_READ;
    return error == SSL_ERROR_WANT_WRITE ? RN_TLS_WRITE : RN_TLS_END;
}

enum rn_tls_step rn_tls_read(struct rn_tls_session *s, char *at, size_t len,
                             size_t *moved)
{
    int rc = SSL_read_ex(s->ssl, at, len, moved);

    return rc == 1 ? RN_TLS_OK : step_of(s, rc);
}

enum rn_tls_step rn_tls_write(struct rn_tls_session *s, struct rn_view bytes,
                              size_t *moved)
{
    int rc = SSL_write_ex(s->ssl, bytes.at, bytes.len, moved);

    return rc == 1 ? RN_TLS_OK : step_of(s, rc);
}

bool rn_tls_pending(const struct rn_tls_session *s)
{
    return SSL_pending(s->ssl) > 0;
}
