/* notify.h -- reports the server's state to the service manager (sd_notify).
 *
 * systemd passes a datagram socket in NOTIFY_SOCKET (sd_notify(3)); without
 * that variable nothing is sent.
 */
#ifndef RN_SERVER_NOTIFY_H
#define RN_SERVER_NOTIFY_H

#include "base/env.h"

void rn_notify_ready(void);
/* Until the next rn_notify_ready. */
void rn_notify_reloading(struct rn_env *env);
void rn_notify_stopping(void);

#endif
