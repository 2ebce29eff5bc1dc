/* notify.h -- tells the service manager how far the server is.
 *
 * systemd names a datagram socket in NOTIFY_SOCKET (sd_notify(3)); who is not
 * started by it tells nobody.
 */
#ifndef RN_SERVER_NOTIFY_H
#define RN_SERVER_NOTIFY_H

#include "base/env.h"

void rn_notify_ready(void);
/* Until it is ready again. */
void rn_notify_reloading(struct rn_env *env);
void rn_notify_stopping(void);

#endif
