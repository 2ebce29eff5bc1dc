/* sign.c -- see sign.h. */
#include "cosmos/sign.h"

#include "base/secret.h"

#include <assert.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

/* ---- the string ---------------------------------------------------------- */

/* Appends `text` and a newline, ASCII letters in lower case. */
static enum rn_code add_lower(struct rn_view text, struct rn_buf *out)
{
    enum rn_code rc = rn_buf_reserve(out, text.len + 1);

    if (rc)
        return rc;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        out->at[out->len++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    out->at[out->len++] = '\n';
    return RN_OK;
}

enum rn_code rn_sign_print(const struct rn_sign_parts *parts,
                           struct rn_buf *out)
{
    struct rn_view date = parts->x_date.len > 0 ? RN_LIT("") : parts->date;
    size_t before = out->len;
    enum rn_code rc = add_lower(parts->verb, out);

    if (!rc)
        rc = add_lower(parts->word, out);
    if (!rc)
        rc = rn_buf_add(out, parts->link);
    if (!rc)
        rc = rn_buf_add(out, RN_LIT("\n"));
    if (!rc)
        rc = add_lower(parts->x_date, out);
    if (!rc)
        rc = add_lower(date, out);
    if (rc)
        out->len = before;
    return rc;
}

/* ---- the signature ------------------------------------------------------- */

struct rn_signer {
    EVP_MAC *mac;
    EVP_MAC_CTX *keyed;
};

/* With a valid key only memory can run out.  OpenSSL keeps an error queue per
 * thread, which a TLS connection would otherwise read as its own. */
static enum rn_code fail(void)
{
    ERR_clear_error();
    return RN_NOMEM;
}

enum rn_code rn_signer_new(struct rn_view key, struct rn_signer **out)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    struct rn_signer *s = rn_new(sizeof(*s));

    assert(key.len > 0);
    if (!s)
        return RN_NOMEM;
    s->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    s->keyed = s->mac ? EVP_MAC_CTX_new(s->mac) : NULL;
    if (!s->keyed || !EVP_MAC_init(s->keyed, (const unsigned char *)key.at,
                                   key.len, params)) {
        rn_signer_free(s);
        return fail();
    }
    *out = s;
    return RN_OK;
}

void rn_signer_free(struct rn_signer *s)
{
    if (!s)
        return;
    EVP_MAC_CTX_free(s->keyed); /* clears the key */
    EVP_MAC_free(s->mac);
    rn_free(s);
}

/* Init without a key reuses the previous one, whose two blocks are already
 * hashed. */
enum rn_code rn_signer_sign(struct rn_signer *s, struct rn_view text,
                            unsigned char out[RN_SIGNATURE_LEN])
{
    size_t len = 0;

    if (!EVP_MAC_init(s->keyed, NULL, 0, NULL) ||
        !EVP_MAC_update(s->keyed, (const unsigned char *)text.at, text.len) ||
        !EVP_MAC_final(s->keyed, out, &len, RN_SIGNATURE_LEN) ||
        len != RN_SIGNATURE_LEN)
        return fail();
    return RN_OK;
}

enum rn_code rn_signer_match(struct rn_signer *const *signers, size_t count,
                             struct rn_view text,
                             const unsigned char signature[RN_SIGNATURE_LEN],
                             size_t *which)
{
    size_t found = count;

    for (size_t i = count; i-- > 0;) {
        unsigned char made[RN_SIGNATURE_LEN];
        enum rn_code rc = rn_signer_sign(signers[i], text, made);
        if (rc)
            return rc;
        if (rn_equal_secret(rn_view_of(made, sizeof(made)),
                            rn_view_of(signature, sizeof(made))))
            found = i;
    }
    if (found == count)
        return RN_UNAUTHORIZED;
    *which = found;
    return RN_OK;
}
