/* tls.h -- TLS for connections: a server certificate, and a session per socket.
 *
 * A context holds the server's certificate and key.  Sessions keep the context
 * they began with, so a new certificate can be put in place at any time.
 *
 * Threads: a context any; a session one at a time.
 */
#ifndef RN_NET_TLS_H
#define RN_NET_TLS_H

#include "base/mem.h"

struct rn_tls;         /* a context, with a reference count */
struct rn_tls_session; /* one connection's */

enum rn_tls_step {
    RN_TLS_OK,    /* some bytes were moved */
    RN_TLS_READ,  /* wait until the socket is readable */
    RN_TLS_WRITE, /* wait until the socket is writable */
    RN_TLS_END,   /* the peer has closed, or does not speak TLS */
};

/* OpenSSL's callback for keys with a passphrase.  OpenSSL would ask on a
 * terminal, if there is one, and wait.  This asks nobody, and sets `*asked`, a
 * bool. */
int rn_tls_refuse_passphrase(char *out, int size, int is_new, void *asked);
#define RN_TLS_HAS_PASSPHRASE "%s: wants a passphrase; give a key without one"

/* Reads PEM files; the certificate's may hold its chain. */
enum rn_code rn_tls_open(const char *cert_path, const char *key_path,
                         struct rn_tls **out, struct rn_err *err) RN_CHECK;
/* The same with PEM texts: one certificate and its key. */
enum rn_code rn_tls_open_texts(struct rn_view cert, struct rn_view key,
                               struct rn_tls **out,
                               struct rn_err *err) RN_CHECK;
struct rn_tls *rn_tls_share(struct rn_tls *tls);
void rn_tls_close(struct rn_tls *tls); /* NULL is fine */
/* When the certificate expires, seconds since 1970. */
int64_t rn_tls_not_after(const struct rn_tls *tls);
/* True if the certificate covers this IP address. */
bool rn_tls_covers(const struct rn_tls *tls, const char *address);

enum rn_code rn_tls_session_new(struct rn_tls *tls, int fd,
                                struct rn_tls_session **out) RN_CHECK;
void rn_tls_session_free(struct rn_tls_session *s); /* NULL is fine */
enum rn_tls_step rn_tls_read(struct rn_tls_session *s, char *at, size_t len,
                             size_t *moved);
enum rn_tls_step rn_tls_write(struct rn_tls_session *s, struct rn_view bytes,
                              size_t *moved);
/* True if there are decrypted bytes, which epoll cannot see. */
bool rn_tls_pending(const struct rn_tls_session *s);

#endif
