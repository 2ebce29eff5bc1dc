/* authority.h -- a private certificate authority (CA) for one server.
 *
 * Clients trust the authority, which is valid for ten years; the server's
 * certificate is renewed below it without any change at the clients.  Name
 * constraints limit the authority to the names it was made for, so that a thief
 * of its key can impersonate this server and nothing else.
 *
 * In a directory:
 *
 *   ca.pem  ca-key.pem     the authority
 *   cert.pem  key.pem      the server's certificate, 825 days
 *
 * Every file has mode 0600 and is replaced by a rename.
 *
 * An automatic authority is one that a server made for itself, unasked, for
 * loopback names only.  Its name says so.  `runnel tls init` replaces it by an
 * explicit authority.
 *
 * Threads: one at a time per directory.
 */
#ifndef RN_NET_AUTHORITY_H
#define RN_NET_AUTHORITY_H

#include "base/env.h"
#include "base/mem.h"

enum { RN_AUTHORITY_NAMES_MAX = 64 };

/* The password of the exported trust store, which holds nothing secret. */
#define RN_AUTHORITY_PASSWORD "runnel"

/* Makes the authority if there is none, and a new certificate for localhost,
 * 127.0.0.1, ::1 and `names`, which are host names or addresses.
 * RN_BAD_REQUEST for an invalid name, RN_FORBIDDEN if the existing authority
 * was not made for these names. */
enum rn_code rn_authority_issue(struct rn_env *env, const char *dir,
                                const char *const *names, size_t count,
                                bool *made, struct rn_err *err) RN_CHECK;

/* Makes a certificate for localhost, 127.0.0.1 and ::1 by the automatic
 * authority, which is made if it is missing or about to expire.  RN_CONFLICT if
 * the directory has an explicit authority. */
enum rn_code rn_authority_issue_automatic(struct rn_env *env, const char *dir,
                                          struct rn_err *err) RN_CHECK;
/* False if there is no authority, or it cannot be read. */
bool rn_authority_is_automatic(struct rn_env *env, const char *dir);

/* An automatic authority and its certificate, in memory, as PEM. */
struct rn_authority_texts {
    struct rn_buf ca, cert, key;
};
enum rn_code rn_authority_make(struct rn_env *env,
                               struct rn_authority_texts *out,
                               struct rn_err *err) RN_CHECK;
/* Wipes the key first. */
void rn_authority_texts_release(struct rn_authority_texts *texts);

/* Writes ca.pem and ca.p12, a PKCS#12 store that Java trusts, to `to`. */
enum rn_code rn_authority_export(struct rn_env *env, const char *dir,
                                 const char *to, struct rn_err *err) RN_CHECK;

#endif
