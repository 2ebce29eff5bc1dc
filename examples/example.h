/* example.h -- what the examples share: a container of the local server. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <runnel/runnel.h>

#include <stdio.h>
#include <stdlib.h>

/* Ends the program if the options are wrong.  The container keeps its client
 * alive. */
static inline runnel_container *open_container(const char *database,
                                               const char *name)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT,
                                      .endpoint = "http://localhost:8081" };
    runnel_container *container = NULL;
    runnel_client *client = NULL;
    runnel_error error;
    runnel_code rc = runnel_client_open(&options, &client, &error);

    if (!rc)
        rc = runnel_container_open(client, database, name, &container, &error);
    if (rc) {
        fprintf(stderr, "%s/%s: %s\n", database, name, error.message);
        exit(1);
    }
    runnel_client_close(client);
    return container;
}

#endif
