/* sandbox.h -- takes from the process what a server never needs. */
#ifndef RN_SERVER_SANDBOX_H
#define RN_SERVER_SANDBOX_H

#include "base/err.h"

#include <stdbool.h>

/* For this process and all threads it will start, for good: no new rights, no
 * other program, no look into other processes and none from them into this,
 * nothing of the machine's own set-up, no sockets but TCP's and local ones.
 * False where the kernel cannot do that; then all is as before. */
bool rn_sandbox(void);

/* Becomes that user, with his groups and for good.  RN_FORBIDDEN for who is
 * neither root nor that user already.  Before any thread is started. */
enum rn_code rn_become(const char *user, struct rn_err *err) RN_CHECK;

#endif
