/* notify.c -- the sd_notify protocol; see notify.h. */
#include "server/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NS_PER_US = 1000 };

/* A path, or an abstract name behind an @. False if NOTIFY_SOCKET is not
 * set. */
static bool find_socket(struct sockaddr_un *to, socklen_t *len)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t n = name ? strlen(name) : 0;

    *to = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (n < 2 || n >= sizeof(to->sun_path) || (*name != '/' && *name != '@'))
        return false;
    memcpy(to->sun_path, name, n);
    if (*name == '@')
        to->sun_path[0] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return true;
}

/* The server runs even if the service manager does not listen. */
static void tell(const char *state)
{
    struct sockaddr_un to;
    socklen_t len;
    int fd;

    if (!find_socket(&to, &len))
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                  (const struct sockaddr *)&to, len);
    close(fd);
}

void rn_notify_ready(void)
{
    tell("READY=1");
}

void rn_notify_reloading(struct rn_env *env)
{
    char state[64];

    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
             rn_mono_ns(env) / NS_PER_US);
    tell(state);
}

void rn_notify_stopping(void)
{
    tell("STOPPING=1");
}
