/* sandbox.h -- restricts the process to what a server needs (seccomp), and
 * drops privileges. */
#ifndef RN_SERVER_SANDBOX_H
#define RN_SERVER_SANDBOX_H

#include "base/err.h"

#include <stdbool.h>

/* Applies to this process and all threads it starts, irrevocably: no new
 * privileges, no other programs, no access to other processes or from them to
 * this one, no administration of the machine, no sockets but TCP and local
 * ones.  False if the kernel does not support it; then nothing has changed. */
bool rn_sandbox(void);

/* Switches to that user and its groups, irrevocably.  RN_FORBIDDEN unless the
 * process is root or that user already.  To be called before any thread is
 * started. */
enum rn_code rn_sandbox_drop_privileges(const char *user,
                                        struct rn_err *err) RN_CHECK;

#endif
