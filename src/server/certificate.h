/* certificate.h -- the certificate that the server has now, if it has one.
 *
 * It is that of the files which the options name, or of those in DIR/tls.  A
 * new one takes its place while connections go on with the old.
 *
 * Threads: any; one at a time loads.
 */
#ifndef RN_SERVER_CERTIFICATE_H
#define RN_SERVER_CERTIFICATE_H

#include "base/log.h"
#include "net/tls.h"
#include "server/options.h"

#include <pthread.h>

enum { RN_CERTIFICATE_PATH = 4096 };

struct rn_certificate {
    pthread_mutex_t lock;
    struct rn_tls *tls;        /* guarded; NULL: plain only */
    _Atomic int64_t not_after; /* 0: there is none */
};

struct rn_certificate_files {
    char cert[RN_CERTIFICATE_PATH], key[RN_CERTIFICATE_PATH];
};

void rn_certificate_init(struct rn_certificate *c);
void rn_certificate_close(struct rn_certificate *c);

/* Whether they are there or not. */
void rn_certificate_name(const struct rn_options *o,
                         struct rn_certificate_files *out);

/* Reads the files.  None in DIR/tls is no failure, unless there was one. */
enum rn_code rn_certificate_load(struct rn_certificate *c,
                                 const struct rn_options *o, struct rn_env *env,
                                 struct rn_log *log,
                                 struct rn_err *err) RN_CHECK;

bool rn_certificate_is_there(const struct rn_certificate *c);

/* For a connection, which gives it back with rn_tls_close; NULL: plain only. */
struct rn_tls *rn_certificate_share(struct rn_certificate *c);

#endif
