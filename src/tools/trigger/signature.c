/* signature.c -- HMAC-SHA256 over time, idempotency key and body. */
#include "tools/trigger/signature.h"

#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>

enum { DIGEST_LEN = 32 };

enum rn_code rn_signature_print(struct rn_view key, int64_t seconds,
                                const char *id, struct rn_view body,
                                char out[RN_SIGNATURE_TEXT_MAX])
{
    char digest[] = "SHA256", head[640];
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string("digest", digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *hash = mac ? EVP_MAC_CTX_new(mac) : NULL;
    unsigned char mac_bytes[DIGEST_LEN];
    size_t len = 0;
    int at;

    snprintf(head, sizeof(head), "%lld.%s.", (long long)seconds, id);
    if (hash &&
        EVP_MAC_init(hash, (const unsigned char *)key.at, key.len, params) &&
        EVP_MAC_update(hash, (const unsigned char *)head, strlen(head)) &&
        EVP_MAC_update(hash, (const unsigned char *)body.at, body.len))
        (void)!EVP_MAC_final(hash, mac_bytes, &len, sizeof(mac_bytes));
    EVP_MAC_CTX_free(hash);
    EVP_MAC_free(mac);
    if (len != DIGEST_LEN)
        return RN_NOMEM;
    at = snprintf(out, RN_SIGNATURE_TEXT_MAX, "t=%lld,v1=", (long long)seconds);
    for (size_t i = 0; i < DIGEST_LEN; i++)
        at += snprintf(out + at, 3, "%02x", mac_bytes[i]);
    return RN_OK;
}
