/* certificate.h -- the certificate that the server has now, if it has one.
 *
 * It is that of the files which the options name, or of those in DIR/tls.  A
 * new one takes its place while connections go on with the old.
 *
 * On loopback the server makes an automatic one (net/authority.h) if there is
 * none, so that https://localhost works at the first start; with --store mem it
 * lives in memory.  An automatic one is renewed by the server itself.
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
    struct rn_tls *tls;        /* guarded; NULL: plain only */
    _Atomic int64_t not_after; /* 0: there is none */
    atomic_bool is_loopback;   /* it is good for 127.0.0.1 */
    bool is_automatic;
    int64_t tried_s;  /* when one was last made, or could not be */
    struct rn_buf ca; /* of one in memory: PEM, for clients */
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

/* Makes an automatic certificate if there is none, or if the automatic one ends
 * soon.  A failure is logged; the server goes on with plain HTTP. */
void rn_certificate_ensure(struct rn_certificate *c, const struct rn_options *o,
                           struct rn_env *env, struct rn_log *log);
/* An automatic one that rn_certificate_ensure would renew; at most once an
 * hour, for that may fail. */
bool rn_certificate_is_due(const struct rn_certificate *c, struct rn_env *env);

bool rn_certificate_is_there(const struct rn_certificate *c);

/* For a connection, which gives it back with rn_tls_close; NULL: plain only. */
struct rn_tls *rn_certificate_share(struct rn_certificate *c);

#endif
