/* live.c -- see live.h. */
#include "client/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

runnel_client *live_client(const runnel_client_options *options)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    runnel_client *client = NULL;
    runnel_error error = { 0 };

    if (options)
        o = *options;
    if (!o.endpoint && !o.connection_string)
        o.endpoint = getenv("RUNNEL_ENDPOINT");
    if (!o.ca_file)
        o.ca_file = getenv("RUNNEL_CA_FILE");
    if (!o.proxy)
        o.proxy = getenv("RUNNEL_PROXY");
    must(runnel_client_open(&o, &client, &error));
    return client;
}

void live_must(runnel_code rc, runnel_code expected, const runnel_error *error,
               const char *file, int line)
{
    if (rc == expected)
        return;
    print_error("%s, not %s: %d/%d %s\n", runnel_code_name(rc),
                runnel_code_name(expected), error->http_status,
                error->sub_status, rc ? error->message : "");
    _fail(file, line);
}

int live_set_up(void **state)
{
    struct live *l = calloc(1, sizeof(*l));
    runnel_database_definition d = { RUNNEL_DATABASE_INIT };
    runnel_error error = { 0 };
    unsigned long long random = 0;

    if (!l || getrandom(&random, sizeof(random), 0) < 0)
        return -1;
    *state = l;
    l->client = live_client(NULL);
    snprintf(l->database, sizeof(l->database), "live%016llx", random);
    d.id = l->database;
    must(runnel_database_create(l->client, &d, NULL, &error));
    l->container = live_container(l, "c", "/pk", 1);
    return 0;
}

int live_tear_down(void **state)
{
    struct live *l = *state;
    runnel_error error = { 0 };

    runnel_container_close(l->container);
    must(runnel_database_delete(l->client, l->database, &error));
    runnel_client_close(l->client);
    free(l);
    return 0;
}

runnel_container *live_container(struct live *l, const char *id,
                                 const char *partition_key, unsigned ranges)
{
    runnel_container_definition d = { RUNNEL_CONTAINER_INIT };
    runnel_container *c = NULL;
    runnel_error error = { 0 };

    d.id = id;
    d.partition_key = partition_key;
    d.throughput.units = ranges > 1 ? ranges * 10000 : 0;
    must(runnel_container_create(l->client, l->database, &d, NULL, &error));
    must(runnel_container_open(l->client, l->database, id, &c, &error));
    return c;
}

void live_control(struct live *l, const char *method, const char *path,
                  const char *json)
{
    runnel_request r = { .method = method, .path = path };
    runnel_error error = { 0 };

    r.body = runnel_text(json);
    must(runnel_client_send(l->client, &r, NULL, &error));
}

void live_fault(struct live *l, const char *json)
{
    char text[400];

    snprintf(text, sizeof(text), "{\"path\":\"/dbs/%s/colls/c/docs\",%s",
             l->database, json + 1);
    live_control(l, "POST", "/_runnel/fault", text);
}

void assert_body_has(const runnel_reply *reply, const char *text)
{
    runnel_bytes body = runnel_reply_body(reply);

    if (!memmem(body.at, body.len, text, strlen(text)))
        fail_msg("%s is not in %.*s", text, (int)body.len, body.at);
}
