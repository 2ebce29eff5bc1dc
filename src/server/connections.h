/* connections.h -- takes in new connections, within the limits, and gives each
 * to a loop. */
#ifndef RN_SERVER_CONNECTIONS_H
#define RN_SERVER_CONNECTIONS_H

/* A listener's callback (net/listener.h): the descriptor of a new connection
 * and its address, or -1 and why there is none.  `server`: struct rn_server. */
void rn_connections_accept(void *server, int fd, const char *address);

#endif
