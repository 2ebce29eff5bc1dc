/* certificate.h -- the server's current TLS certificate, if it has one.
 *
 * It is loaded from the files that the options name, or from those in DIR/tls.
 * A new one replaces it while open connections keep the old one.
 *
 * On loopback the server creates an automatic one (net/authority.h) if there is
 * none, so that https://localhost works at the first start; with --store mem it
 * exists in memory only.  The server renews an automatic certificate itself.
 *
 * Threads: any; one at a time loads.
 */
#ifndef RN_SERVER_CERTIFICATE_H
#define RN_SERVER_CERTIFICATE_H

#include "base/log.h"
#include "base/mem.h"
#include "net/tls.h"
#include "server/options.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RN_CERTIFICATE_PATH = 4096 };

struct rn_certificate {
    pthread_mutex_t lock;
    struct rn_tls *tls;        /* guarded by the lock; NULL: plain HTTP only */
    _Atomic int64_t not_after; /* 0: there is none */
    atomic_bool is_loopback;   /* it is valid for 127.0.0.1 */
    bool is_automatic;
    int64_t tried_s;  /* when creating one was last tried */
    struct rn_buf ca; /* of a certificate in memory: PEM, for clients */
    char ca_file[RN_CERTIFICATE_PATH]; /* of one in DIR/tls: likewise */
};

struct rn_certificate_files {
    char cert[RN_CERTIFICATE_PATH], key[RN_CERTIFICATE_PATH];
};

void rn_certificate_init(struct rn_certificate *c, const struct rn_options *o);
void rn_certificate_close(struct rn_certificate *c);

/* The paths, whether the files exist or not. */
void rn_certificate_name(const struct rn_options *o,
                         struct rn_certificate_files *out);

/* Loads the files.  A missing certificate in DIR/tls is an error only if there
 * was one before. */
enum rn_code rn_certificate_load(struct rn_certificate *c,
                                 const struct rn_options *o, struct rn_env *env,
                                 struct rn_log *log,
                                 struct rn_err *err) RN_CHECK;

/* Creates an automatic certificate if there is none, or if the automatic one
 * expires soon.  A failure is logged; the server continues with plain HTTP. */
void rn_certificate_ensure(struct rn_certificate *c, const struct rn_options *o,
                           struct rn_env *env, struct rn_log *log);
/* Is there an automatic certificate that rn_certificate_ensure would renew?
 * True at most once an hour, because renewing may fail. */
bool rn_certificate_is_due(const struct rn_certificate *c, struct rn_env *env);

bool rn_certificate_is_there(const struct rn_certificate *c);

/* A reference for a connection, which releases it with rn_tls_close; NULL:
 * plain HTTP only. */
struct rn_tls *rn_certificate_share(struct rn_certificate *c);

#endif
