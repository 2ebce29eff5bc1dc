/* authority.h -- a certificate authority of one's own, for one server.
 *
 * Clients trust the authority, which lives ten years; the server's certificate
 * is renewed below it without their noticing.  The authority may speak only for
 * the names it was made for (name constraints), so that whoever steals its key
 * can pretend to be this server and nothing else.
 *
 * In a directory:
 *
 *   ca.pem  ca-key.pem     the authority
 *   cert.pem  key.pem      the server's certificate, 825 days
 *
 * Every file has mode 0600 and is replaced by a rename.
 *
 * Threads: one at a time per directory.
 */
#ifndef RN_NET_AUTHORITY_H
#define RN_NET_AUTHORITY_H

#include "base/env.h"

enum { RN_AUTHORITY_NAMES_MAX = 64 };

/* What a store of trusted certificates is locked with: it holds nothing
 * secret. */
#define RN_AUTHORITY_PASSWORD "runnel"

/* Makes the authority if there is none, and a new certificate for localhost,
 * 127.0.0.1, ::1 and `names`, which are host names or addresses.
 * RN_BAD_REQUEST for what is neither, RN_FORBIDDEN if the authority that is
 * there was not made for them. */
enum rn_code rn_authority_issue(struct rn_env *env, const char *dir,
                                const char *const *names, size_t count,
                                bool *made, struct rn_err *err) RN_CHECK;

/* Writes ca.pem and ca.p12, a PKCS#12 store that Java trusts, to `to`. */
enum rn_code rn_authority_export(struct rn_env *env, const char *dir,
                                 const char *to, struct rn_err *err) RN_CHECK;

#endif
