/* permission.h -- permissions of users, and the resource tokens that grant
 * them.
 *
 * A permission is a resource like any other, in JSON:
 *
 *   {"id":"p","permissionMode":"Read","resource":"dbs/shop/colls/orders",
 *    "resourcePartitionKey":["x"]}
 *
 * The mode is All, Read or none, case-insensitively.  The resource is a
 * container or a resource in one, by names or by rids.  With a partition key,
 * only the documents of that key are included.  A document by its name and
 * without a key is every document of that name, whatever its key; by its rid it
 * is one.
 *
 * A token is issued whenever the permission is read, and expires:
 *
 *   type=resource&ver=1&sig=<base64 of a signature>;<base64 of the grant>;
 *
 *   grant = version 1, permission's rid 16, LSN of its etag 8, container's rid
 *           8, last second of validity 8; all big endian
 *
 * It holds no rights: the rights are those of the permission, which must still
 * exist unchanged.  The container's rid is included so that the token is not
 * valid for another container that reuses the name.
 *
 * Any thread.
 */
#ifndef RN_COSMOS_PERMISSION_H
#define RN_COSMOS_PERMISSION_H

#include "cosmos/link.h"
#include "cosmos/pk.h"
#include "cosmos/sign.h"

enum rn_permission_mode {
    RN_PERMISSION_NONE,
    RN_PERMISSION_READ,
    RN_PERMISSION_ALL
};

enum {
    RN_PERMISSION_CLAIM_MAX = 16 << 10,
    RN_GRANT_BYTES = 41,
    RN_GRANT_TEXT_MAX = 160, /* of the whole token; no NUL */
    RN_GRANT_SECONDS = 3600, /* default lifetime */
    RN_GRANT_SECONDS_MIN = 10,
    RN_GRANT_SECONDS_MAX = 18000,
};

struct rn_permission {
    enum rn_permission_mode mode;
    struct rn_link resource;
    bool has_pk;
    struct rn_pk pk;
};

/* Parses the JSON; views point to it and to the arena.  RN_BAD_REQUEST. */
enum rn_code rn_permission_parse(struct rn_view json, struct rn_arena *arena,
                                 struct rn_permission *out,
                                 struct rn_err *err) RN_CHECK;

/* Appends the resource and key as a canonical text: two permissions for the
 * same resource have the same text. */
enum rn_code rn_permission_print_claim(const struct rn_permission *p,
                                       struct rn_buf *out) RN_CHECK;

struct rn_grant {
    struct rn_rid permission;
    uint64_t lsn;            /* of the permission's etag */
    struct rn_rid container; /* all zero: there was none */
    int64_t until;           /* seconds since 1970 */
};

/* Prints the token that is given to the user. */
enum rn_code rn_grant_print(const struct rn_grant *g, struct rn_signer *signer,
                            char out[RN_GRANT_TEXT_MAX],
                            struct rn_view *text) RN_CHECK;

/* Parses the text after sig= and finds the signer; RN_UNAUTHORIZED if it is not
 * a token, or no signer made it. */
enum rn_code rn_grant_parse(struct rn_view text,
                            struct rn_signer *const *signers, size_t count,
                            struct rn_grant *out, size_t *which,
                            struct rn_err *err) RN_CHECK;

#endif
