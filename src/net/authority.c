/* authority.c -- see authority.h. */
#include "net/authority.h"

#include "base/file.h"
#include "base/secret.h"
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    FILE_BYTES_MAX = 64 << 10,
    NAME_MAX_LEN = 253,
    CA_DAYS = 3652,
    LEAF_DAYS = 825, /* the most that Apple's clients accept */
    BACK_S = 3600,   /* clocks differ */
    RENEW_DAYS = 30, /* before an automatic authority ends */
    DAY_S = 86400,
};

#define NAME_ASKED "Runnel local authority"
#define NAME_AUTOMATIC "Runnel automatic authority"

/* The parameters of an authority and its certificate. */
struct wish {
    const char *permitted, *alternatives; /* as OpenSSL's configuration */
    bool is_automatic;
};

struct pair {
    X509 *cert;
    EVP_PKEY *key;
};

static void pair_release(struct pair *p)
{
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
}

static enum rn_code fail_ssl(struct rn_err *err, const char *what)
{
    unsigned long code = ERR_get_error();
    char words[128] = "failed";

    if (code)
        ERR_error_string_n(code, words, sizeof(words));
    ERR_clear_error();
    return rn_fail(err, RN_IO, "%s: %s", what, words);
}

/* ---- files --------------------------------------------------------------- */

static void path_of(char out[PATH_BYTES], const char *dir, const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s", dir, name);
}

static enum rn_code write_file(struct rn_env *env, const char *dir,
                               const char *name, BIO *from, struct rn_err *err)
{
    char *text = NULL;
    long len = BIO_get_mem_data(from, &text);

    return rn_file_replace(env, dir, name, rn_view_of(text, (size_t)len), err);
}

static enum rn_code publish_file(struct rn_env *env, const char *dir,
                                 const char *name, BIO *from,
                                 struct rn_err *err)
{
    char *text = NULL;
    long len = BIO_get_mem_data(from, &text);

    return rn_file_publish(env, dir, name, rn_view_of(text, (size_t)len), err);
}

static enum rn_code make_dir(struct rn_env *env, const char *dir,
                             struct rn_err *err)
{
    int error = env->ops->make_dir(env, dir);

    return error && error != EEXIST ? rn_fail_errno(err, error, "%s", dir)
                                    : RN_OK;
}

/* An existing directory stays as it is.  Uses a descriptor: in a directory of
 * another user the name may be a different file by now. */
static enum rn_code make_public_dir(struct rn_env *env, const char *dir,
                                    struct rn_err *err)
{
    int error = env->ops->make_dir(env, dir), fd;

    if (error)
        return error == EEXIST ? RN_OK : rn_fail_errno(err, error, "%s", dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0755))
        error = errno;
    if (fd >= 0)
        close(fd);
    return error ? rn_fail_errno(err, error, "%s", dir) : RN_OK;
}

/* Reads the file into a BIO; RN_NOT_FOUND if it does not exist. */
static enum rn_code read_file(struct rn_env *env, const char *path, BIO **out,
                              struct rn_err *err)
{
    struct rn_file *file = NULL;
    char *text = rn_new(FILE_BYTES_MAX);
    size_t got = 0;
    int error = text ? rn_file_open(env, path, RN_OPEN_READ, &file) : ENOMEM;

    if (!error)
        error = rn_file_read(file, text, FILE_BYTES_MAX, 0, &got);
    rn_file_close(file);
    *out = error ? NULL : BIO_new(BIO_s_mem());
    if (!error && (!*out || BIO_write(*out, text, (int)got) != (int)got))
        error = ENOMEM;
    rn_free(text);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

static enum rn_code write_pair(struct rn_env *env, const char *dir,
                               const char *cert_name, const char *key_name,
                               const struct pair *p, struct rn_err *err)
{
    BIO *cert = BIO_new(BIO_s_mem()), *key = BIO_new(BIO_s_mem());
    enum rn_code rc = RN_OK;

    if (!cert || !key || !PEM_write_bio_X509(cert, p->cert) ||
        !PEM_write_bio_PrivateKey(key, p->key, NULL, NULL, 0, NULL, NULL))
        rc = fail_ssl(err, cert_name);
    /* The key comes first: a certificate without its key would be worse than
     * the reverse. */
    if (!rc)
        rc = write_file(env, dir, key_name, key, err);
    if (!rc)
        rc = write_file(env, dir, cert_name, cert, err);
    BIO_free(cert);
    BIO_free(key);
    return rc;
}

static enum rn_code read_cert(struct rn_env *env, const char *dir, X509 **out,
                              struct rn_err *err)
{
    char path[PATH_BYTES];
    BIO *bio = NULL;
    enum rn_code rc;

    path_of(path, dir, "ca.pem");
    rc = read_file(env, path, &bio, err);
    if (!rc) {
        *out = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        rc = *out ? RN_OK : fail_ssl(err, path);
    }
    BIO_free(bio);
    return rc;
}

static enum rn_code read_authority(struct rn_env *env, const char *dir,
                                   struct pair *out, struct rn_err *err)
{
    char path[PATH_BYTES];
    bool asked = false;
    BIO *bio = NULL;
    enum rn_code rc = read_cert(env, dir, &out->cert, err);

    if (rc)
        return rc;
    path_of(path, dir, "ca-key.pem");
    rc = read_file(env, path, &bio, err);
    if (rc == RN_NOT_FOUND)
        rc = rn_fail(err, RN_IO, "%s: the authority's key is missing", path);
    if (!rc) {
        out->key = PEM_read_bio_PrivateKey(bio, NULL, rn_tls_refuse_passphrase,
                                           &asked);
        rc = out->key ? RN_OK : fail_ssl(err, path);
    }
    if (rc && asked)
        rc = rn_fail(err, RN_BAD_REQUEST, RN_TLS_HAS_PASSPHRASE, path);
    BIO_free(bio);
    return rc;
}

/* ---- names --------------------------------------------------------------- */

static bool is_host_name(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > NAME_MAX_LEN || name[0] == '.' ||
        name[len - 1] == '.')
        return false;
    for (size_t i = 0; i < len; i++) {
        bool good = (name[i] >= 'a' && name[i] <= 'z') ||
                    (name[i] >= 'A' && name[i] <= 'Z') ||
                    (name[i] >= '0' && name[i] <= '9') || name[i] == '-' ||
                    name[i] == '_' || (name[i] == '.' && name[i + 1] != '.');
        if (!good)
            return false;
    }
    return true;
}

static int family_of(const char *name)
{
    char bytes[16];

    if (inet_pton(AF_INET, name, bytes) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, name, bytes) == 1 ? AF_INET6 : AF_UNSPEC;
}

/* Appends each name in the syntax of OpenSSL's configuration, e.g.
 * "permitted;IP:127.0.0.1/255.255.255.255". */
static enum rn_code print_names(const char *const *names, size_t count,
                                const char *before, bool masks,
                                struct rn_buf *out)
{
    static const char mask4[] = "/255.255.255.255";
    static const char mask6[] = "/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        int family = family_of(names[i]);
        const char *mask = family == AF_INET ? mask4 : mask6;
        rc = rn_buf_printf(out, "%s%s%s:%s%s", out->len ? "," : "", before,
                           family == AF_UNSPEC ? "DNS" : "IP", names[i],
                           masks && family != AF_UNSPEC ? mask : "");
    }
    return rc ? rc : rn_buf_add(out, (struct rn_view){ "", 1 });
}

/* ---- issuing ------------------------------------------------------------- */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *e;
    bool good;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    good = e && X509_add_ext(cert, e, -1) == 1;
    X509_EXTENSION_free(e);
    return good;
}

static bool set_serial(X509 *cert, struct rn_env *env)
{
    unsigned char bytes[16];
    BIGNUM *number;
    bool good;

    rn_random(env, bytes, sizeof(bytes));
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive */
    number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    good = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return good;
}

/* Makes a certificate with a new key, complete but for its extensions and its
 * signature. */
static bool begin_cert(struct rn_env *env, const char *name, int days,
                       struct pair *out)
{
    time_t now = (time_t)(rn_wall_ms(env) / 1000);
    X509_NAME *subject;

    out->key = EVP_EC_gen("P-256");
    out->cert = X509_new();
    if (!out->key || !out->cert)
        return false;
    subject = X509_get_subject_name(out->cert);
    return X509_set_version(out->cert, X509_VERSION_3) &&
           set_serial(out->cert, env) &&
           X509_time_adj(X509_getm_notBefore(out->cert), -(long)BACK_S, &now) &&
           X509_time_adj_ex(X509_getm_notAfter(out->cert), days, 0, &now) &&
           X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC,
                                      (const unsigned char *)"Runnel", -1, -1,
                                      0) &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                      (const unsigned char *)name, -1, -1, 0) &&
           X509_set_pubkey(out->cert, out->key);
}

static bool sign_cert(struct pair *p, const struct pair *issuer)
{
    return X509_set_issuer_name(p->cert, X509_get_subject_name(issuer->cert)) &&
           add_extension(p->cert, issuer->cert, NID_authority_key_identifier,
                         "keyid:always") &&
           X509_sign(p->cert, issuer->key, EVP_sha256()) > 0;
}

static enum rn_code make_authority(struct rn_env *env, const struct wish *wish,
                                   struct pair *out, struct rn_err *err)
{
    unsigned char mark[4];
    char name[64], text[PATH_BYTES * 2];

    /* Two authorities of one name would confuse clients that trust both. */
    rn_random(env, mark, sizeof(mark));
    snprintf(name, sizeof(name), "%s %02x%02x%02x%02x",
             wish->is_automatic ? NAME_AUTOMATIC : NAME_ASKED, mark[0], mark[1],
             mark[2], mark[3]);
    snprintf(text, sizeof(text), "critical,%s", wish->permitted);
    if (begin_cert(env, name, CA_DAYS, out) &&
        add_extension(out->cert, out->cert, NID_basic_constraints,
                      "critical,CA:TRUE,pathlen:0") &&
        add_extension(out->cert, out->cert, NID_key_usage,
                      "critical,keyCertSign,cRLSign") &&
        add_extension(out->cert, out->cert, NID_name_constraints, text) &&
        add_extension(out->cert, out->cert, NID_subject_key_identifier,
                      "hash") &&
        sign_cert(out, out))
        return RN_OK;
    return fail_ssl(err, "making an authority");
}

static enum rn_code make_leaf(struct rn_env *env, const struct pair *authority,
                              const char *alternatives, struct pair *out,
                              struct rn_err *err)
{
    if (begin_cert(env, "localhost", LEAF_DAYS, out) &&
        add_extension(out->cert, authority->cert, NID_basic_constraints,
                      "critical,CA:FALSE") &&
        add_extension(out->cert, authority->cert, NID_key_usage,
                      "critical,digitalSignature") &&
        add_extension(out->cert, authority->cert, NID_ext_key_usage,
                      "serverAuth") &&
        add_extension(out->cert, authority->cert, NID_subject_alt_name,
                      alternatives) &&
        add_extension(out->cert, authority->cert, NID_subject_key_identifier,
                      "hash") &&
        sign_cert(out, authority))
        return RN_OK;
    return fail_ssl(err, "making a certificate");
}

/* Verifies the certificate as a client will. */
static enum rn_code check_leaf(const struct pair *authority,
                               const struct pair *leaf, struct rn_err *err)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    enum rn_code rc = RN_OK;

    if (!store || !ctx || !X509_STORE_add_cert(store, authority->cert) ||
        !X509_STORE_CTX_init(ctx, store, leaf->cert, NULL)) {
        rc = fail_ssl(err, "checking the certificate");
    } else if (X509_verify_cert(ctx) != 1) {
        rc = rn_fail(
            err, RN_FORBIDDEN,
            "the authority in ca.pem cannot vouch for this: %s; "
            "to make another authority, remove ca.pem and ca-key.pem; "
            "each client must then trust the new one",
            X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    }
    ERR_clear_error();
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return rc;
}

static bool is_automatic(X509 *cert)
{
    char name[64] = "";

    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name,
                              sizeof(name));
    return strncmp(name, NAME_AUTOMATIC, strlen(NAME_AUTOMATIC)) == 0;
}

static bool ends_soon(struct rn_env *env, X509 *cert)
{
    time_t then = (time_t)(rn_wall_ms(env) / 1000) + (time_t)RENEW_DAYS * DAY_S;

    return X509_cmp_time(X509_get0_notAfter(cert), &then) < 0;
}

/* Reads the authority that is to sign.  RN_NOT_FOUND: a new one must be made,
 * because there is none, or because the existing one must be replaced. */
static enum rn_code find_authority(struct rn_env *env, const char *dir,
                                   const struct wish *wish, struct pair *out,
                                   struct rn_err *err)
{
    enum rn_code rc = read_authority(env, dir, out, err);

    if (rc)
        return rc;
    if (wish->is_automatic && !is_automatic(out->cert))
        return rn_fail(err, RN_CONFLICT, "%s has an authority of yours", dir);
    if (wish->is_automatic ? ends_soon(env, out->cert)
                           : is_automatic(out->cert)) {
        pair_release(out);
        *out = (struct pair){ 0 };
        return RN_NOT_FOUND;
    }
    return RN_OK;
}

static enum rn_code make_pairs(struct rn_env *env, const struct wish *wish,
                               struct pair *authority, struct pair *leaf,
                               struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    if (!authority->cert)
        rc = make_authority(env, wish, authority, err);
    if (!rc)
        rc = make_leaf(env, authority, wish->alternatives, leaf, err);
    return rc ? rc : check_leaf(authority, leaf, err);
}

static enum rn_code issue(struct rn_env *env, const char *dir,
                          const struct wish *wish, bool *made,
                          struct rn_err *err)
{
    struct pair authority = { 0 }, leaf = { 0 };
    enum rn_code rc = find_authority(env, dir, wish, &authority, err);

    *made = rc == RN_NOT_FOUND;
    if (!rc || *made)
        rc = make_pairs(env, wish, &authority, &leaf, err);
    if (!rc && *made)
        rc = write_pair(env, dir, "ca.pem", "ca-key.pem", &authority, err);
    if (!rc)
        rc = write_pair(env, dir, "cert.pem", "key.pem", &leaf, err);
    pair_release(&authority);
    pair_release(&leaf);
    return rc;
}

enum rn_code rn_authority_issue(struct rn_env *env, const char *dir,
                                const char *const *names, size_t count,
                                bool *made, struct rn_err *err)
{
    const char *all[RN_AUTHORITY_NAMES_MAX + 3] = { "localhost", "127.0.0.1",
                                                    "::1" };
    struct rn_buf permitted = RN_BUF_INIT(PATH_BYTES),
                  alternatives = RN_BUF_INIT(PATH_BYTES);
    struct wish wish;
    enum rn_code rc = RN_OK;

    if (count > RN_AUTHORITY_NAMES_MAX)
        return rn_fail(err, RN_TOO_LARGE, "more than %d names",
                       RN_AUTHORITY_NAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (family_of(names[i]) == AF_UNSPEC && !is_host_name(names[i])) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "'%.64s' is neither a host name nor an address",
                           names[i]);
        }
        all[3 + i] = names[i];
    }
    rc = print_names(all, count + 3, "permitted;", true, &permitted);
    if (!rc)
        rc = print_names(all, count + 3, "", false, &alternatives);
    if (rc)
        rn_fail(err, rc, "the names are too long");
    if (!rc)
        rc = make_dir(env, dir, err);
    wish = (struct wish){ .permitted = permitted.at,
                          .alternatives = alternatives.at };
    if (!rc)
        rc = issue(env, dir, &wish, made, err);
    rn_buf_release(&permitted);
    rn_buf_release(&alternatives);
    return rc;
}

/* ---- automatic ----------------------------------------------------------- */

static const struct wish automatic = {
    .permitted = "permitted;DNS:localhost,"
                 "permitted;IP:127.0.0.1/255.255.255.255,"
                 "permitted;IP:::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    .alternatives = "DNS:localhost,IP:127.0.0.1,IP:::1",
    .is_automatic = true,
};

enum rn_code rn_authority_issue_automatic(struct rn_env *env, const char *dir,
                                          struct rn_err *err)
{
    enum rn_code rc = make_dir(env, dir, err);
    bool made;

    return rc ? rc : issue(env, dir, &automatic, &made, err);
}

bool rn_authority_is_automatic(struct rn_env *env, const char *dir)
{
    struct rn_err err;
    X509 *cert = NULL;
    bool is = !read_cert(env, dir, &cert, &err) && is_automatic(cert);

    X509_free(cert);
    return is;
}

/* One of the two is NULL. */
static enum rn_code print_pem(X509 *cert, EVP_PKEY *key, struct rn_buf *out)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long len = 0;
    enum rn_code rc = RN_NOMEM;

    *out = RN_BUF_INIT(FILE_BYTES_MAX);
    if (bio && (cert ? PEM_write_bio_X509(bio, cert)
                     : PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL,
                                                NULL))) {
        len = BIO_get_mem_data(bio, &text);
        rc = rn_buf_add(out, rn_view_of(text, (size_t)len));
    }
    BIO_free(bio);
    return rc;
}

enum rn_code rn_authority_make(struct rn_env *env,
                               struct rn_authority_texts *out,
                               struct rn_err *err)
{
    struct pair authority = { 0 }, leaf = { 0 };
    enum rn_code rc = make_pairs(env, &automatic, &authority, &leaf, err);

    *out = (struct rn_authority_texts){ 0 };
    if (!rc && (print_pem(authority.cert, NULL, &out->ca) ||
                print_pem(leaf.cert, NULL, &out->cert) ||
                print_pem(NULL, leaf.key, &out->key)))
        rc = fail_ssl(err, "printing a certificate");
    pair_release(&authority);
    pair_release(&leaf);
    return rc;
}

void rn_authority_texts_release(struct rn_authority_texts *texts)
{
    rn_wipe_secret(texts->key.at, texts->key.len);
    rn_buf_release(&texts->ca);
    rn_buf_release(&texts->cert);
    rn_buf_release(&texts->key);
}

/* ---- exporting ----------------------------------------------------------- */

/* Java trusts a certificate in a store only if its bag has an attribute of
 * Oracle's.  OpenSSL 3.0 has no call that adds one, but gives access to the
 * list of attributes once there is a name in it. */
static bool mark_trusted(PKCS12_SAFEBAG *bag)
{
    STACK_OF(X509_ATTRIBUTE) * attributes;
    ASN1_OBJECT *trust = OBJ_txt2obj("2.16.840.1.113894.746875.1.1", 1);
    X509_ATTRIBUTE *a = NULL;
    bool good = false;

    if (trust && PKCS12_add_friendlyname_utf8(bag, "runnel", -1)) {
        attributes = (STACK_OF(X509_ATTRIBUTE) *)PKCS12_SAFEBAG_get0_attrs(bag);
        a = X509_ATTRIBUTE_create_by_OBJ(NULL, trust, V_ASN1_OBJECT,
                                         OBJ_nid2obj(NID_anyExtendedKeyUsage),
                                         -1);
        good = a && sk_X509_ATTRIBUTE_push(attributes, a) > 0;
        if (!good)
            X509_ATTRIBUTE_free(a);
    }
    ASN1_OBJECT_free(trust);
    return good;
}

static PKCS12 *make_store(X509 *cert)
{
    STACK_OF(PKCS12_SAFEBAG) *bags = NULL;
    STACK_OF(PKCS7) *safes = NULL;
    PKCS12_SAFEBAG *bag = PKCS12_add_cert(&bags, cert);
    PKCS12 *store = NULL;

    if (bag && mark_trusted(bag) && PKCS12_add_safe(&safes, bags, -1, 0, NULL))
        store = PKCS12_add_safes(safes, 0);
    if (store && !PKCS12_set_mac(store, RN_AUTHORITY_PASSWORD, -1, NULL, 0,
                                 PKCS12_DEFAULT_ITER, NULL)) {
        PKCS12_free(store);
        store = NULL;
    }
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
    sk_PKCS7_pop_free(safes, PKCS7_free);
    return store;
}

enum rn_code rn_authority_export(struct rn_env *env, const char *dir,
                                 const char *to, struct rn_err *err)
{
    BIO *pem = BIO_new(BIO_s_mem()), *p12 = BIO_new(BIO_s_mem());
    PKCS12 *store = NULL;
    X509 *cert = NULL;
    enum rn_code rc = read_cert(env, dir, &cert, err);

    if (rc == RN_NOT_FOUND)
        rn_fail(err, rc,
                "%s: there is no authority; 'runnel tls init' makes one", dir);
    if (!rc) {
        store = make_store(cert);
        if (!pem || !p12 || !store || !PEM_write_bio_X509(pem, cert) ||
            !i2d_PKCS12_bio(p12, store))
            rc = fail_ssl(err, "exporting");
    }
    if (!rc)
        rc = make_public_dir(env, to, err);
    if (!rc)
        rc = publish_file(env, to, "ca.pem", pem, err);
    if (!rc)
        rc = publish_file(env, to, "ca.p12", p12, err);
    PKCS12_free(store);
    X509_free(cert);
    BIO_free(pem);
    BIO_free(p12);
    return rc;
}
