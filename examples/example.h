/* example.h -- what the examples share: containers of the local server.
 *
 * RUNNEL_ENDPOINT names another server.  On loopback the key is the emulators'
 * public one, so none is given.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <runnel/runnel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *example_endpoint(void)
{
    const char *endpoint = getenv("RUNNEL_ENDPOINT");

    return endpoint ? endpoint : "http://localhost:8081";
}

/* Ends the program if the options are wrong.  The container keeps its client
 * alive. */
static inline runnel_container *open_container(const char *database,
                                               const char *name)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT,
                                      .endpoint = example_endpoint() };
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

/* Runs a processor until standard input ends.  The exit status. */
static inline int run_until_eof(runnel_container *source,
                                runnel_processor_options *options,
                                const runnel_observer *observer)
{
    runnel_processor *processor = NULL;
    runnel_error error;
    runnel_code rc =
        runnel_processor_start(source, options, observer, &processor, &error);

    if (rc) {
        fprintf(stderr, "%s: %s\n", options->name, error.message);
    } else {
        puts("started");
        fflush(stdout);
        while (getchar() != EOF)
            continue;
    }
    runnel_processor_stop(processor);
    return rc ? 1 : 0;
}

/* The text of the member `name` of a flat JSON object, without quotes, in
 * `out`; "" if there is none.  A real program uses a JSON library. */
static inline const char *member(runnel_bytes json, const char *name, char *out,
                                 size_t size)
{
    char key[64];
    const char *at, *end = json.at + json.len;
    size_t len = (size_t)snprintf(key, sizeof(key), "\"%s\":", name), used = 0;

    for (at = json.at; at + len <= end && memcmp(at, key, len) != 0; at++)
        continue;
    at += len;
    if (at < end && *at == '"')
        at++;
    while (at < end && used + 1 < size && *at != '"' && *at != ',' &&
           *at != '}')
        out[used++] = *at++;
    out[used] = '\0';
    return out;
}

#endif
