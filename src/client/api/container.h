/* container.h -- the handle of a container. */
#ifndef RN_CLIENT_API_CONTAINER_H
#define RN_CLIENT_API_CONTAINER_H

#include "client/account/container.h"

struct runnel_container {
    struct rn_client_container *inner;
};

#endif
